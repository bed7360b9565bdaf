package check

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// agentOp is the op that takes the text of an Agent section.
const agentOp = "EXPLORE_CONTEXT"

// A Rewrite is a file of a skill with another text. A file that was not there has no Old.
type Rewrite struct {
	File     string
	Old, New string
}

// MigrateAgent writes the section "## Agent" of s as an op with the marker > **Subagent.** and calls it in bold. The task, its contract,
// and the name that its result is bound to stay, and so does every byte of the skill outside of the section, the call and the op. The
// op's file comes first, so that a skill of which only that was written still means what it did.
//
// It is nil for a skill without such a section. Its error says why one has to be written by a person: the result is read again, and
// refused unless it says the same and has no error that s has not.
func MigrateAgent(s *tree.Skill) ([]Rewrite, error) {
	if s.Agent == nil || s.Tree == nil {
		return nil, nil
	}
	m := &migration{checker: newChecker(s, nil), agent: s.Agent}
	var files []Rewrite
	why := "agent files have no ops of their own; make it a " + skill.FileName
	if strings.EqualFold(s.File, skill.FileName) {
		files, why = m.files()
	}
	if why == "" {
		why = m.differs(files)
	}
	if why != "" {
		return nil, diag.New(diag.Unmet, "cannot_migrate", "the Agent section has to be migrated by hand: %s", why).
			At(diag.Position{File: s.File, Line: s.Agent.Pos.Line, Column: s.Agent.Pos.Column})
	}
	return files, nil
}

type migration struct {
	*checker
	agent  *tree.Agent
	call   *tree.Node // EXPLORE
	op     string
	schema string
}

func (m *migration) files() (out []Rewrite, why string) {
	s := m.skill
	calls := 0
	look := func(n *tree.Node) bool {
		if n.Kind == tree.Explore {
			calls++
			m.call = n
		}
		return true
	}
	tree.Walk(s.Tree.Nodes, look)
	for _, op := range s.Ops {
		if op.Tree != nil {
			tree.Walk(op.Tree.Nodes, look)
		}
	}
	if calls != 1 || s.Tree.Nodes[0] != m.call {
		return nil, "EXPLORE is not the first step of the tree, and nowhere else"
	}
	for _, at := range []string{m.agent.Schema, strings.TrimPrefix(m.agent.Schema, "assets/"), "assets/" + m.agent.Schema} {
		if _, ok := m.read(at); ok && m.schema == "" {
			m.schema = at
		}
	}
	if m.schema == "" {
		return nil, "its output contract " + m.agent.Schema + " is not there"
	}
	definition, why := m.definition()
	if why != "" {
		return nil, why
	}
	main := m.source(s.File)
	fix := m.replace(m.call, "", func(old string) (string, bool) {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(old, "**"), tree.Explore.String())
		return "**" + m.op + "**" + strings.TrimPrefix(rest, "**"), ok
	})
	if main == nil || fix == nil {
		return nil, "EXPLORE is written so that it cannot be replaced"
	}
	i := slices.IndexFunc(s.Sections, func(sec tree.Section) bool { return sec.Pos == m.agent.Pos })
	if i < 0 {
		return nil, "its end is not clear"
	}
	// With the line that parts it from the next section, as one stands above it.
	cut := diag.Fix{Start: main.offset(m.agent.Pos.Line), End: main.offset(s.Sections[i].Last + 1)}
	if i+1 < len(s.Sections) {
		cut.End = main.offset(s.Sections[i+1].Pos.Line)
	}
	text := string(skill.Apply([]byte(main.text), []diag.Fix{cut, *fix}))
	return append(definition, Rewrite{s.File, main.text, text}), ""
}

// definition is the op that is called for the section: one of its own, or the marker on the op that it executes.
func (m *migration) definition() (out []Rewrite, why string) {
	s, marker := m.skill, "> **Subagent.** Output contract: `"+m.schema+"`"
	if m.agent.Shape == tree.ShapeC {
		op := s.Op(m.agent.Op)
		switch {
		case op == nil:
			return nil, "it executes " + m.agent.Op + ", which is not an op of this skill"
		case slices.ContainsFunc(op.Params, func(p tree.Param) bool { return !p.Optional }):
			return nil, m.agent.Op + " has inputs, and the section gives it none"
		case op.CallsTool():
			return nil, m.agent.Op + " is the call of a tool, which needs no context of its own"
		case m.called(op.Name):
			return nil, m.agent.Op + " is also called by a step, in the context of that step"
		}
		m.op = op.Name
		if op.Subagent && op.Output != nil && op.Output.Path == m.schema {
			return nil, ""
		}
		if op.Subagent || op.Input != nil || op.Output != nil {
			return nil, m.agent.Op + " has contracts already, which may differ"
		}
		f := m.source(op.Pos.File)
		if f == nil {
			return nil, op.Pos.File + " cannot be read"
		}
		at := f.offset(op.Pos.Line + 1)
		nl := f.newline()
		before := ""
		if !strings.HasSuffix(f.text[:at], "\n") {
			before = nl
		}
		return []Rewrite{{op.Pos.File, f.text, f.text[:at] + before + nl + marker + nl + f.text[at:]}}, ""
	}
	m.op = agentOp
	file := path.Join("references", "ops.md")
	if entries, err := fs.ReadDir(s.FS, "references/ops"); err == nil && len(entries) > 0 {
		file = "references/ops/" + strings.ToLower(strings.ReplaceAll(agentOp, "_", "-")) + ".md"
	} else if _, ok := m.read("ops.md"); ok {
		if _, both := m.read(file); !both {
			file = "ops.md"
		}
	}
	heading := "## " + m.op
	if call, ok := strings.CutPrefix(strings.Trim(m.call.Text, "* "), tree.Explore.String()); ok {
		heading += " " + strings.TrimSpace(strings.Trim(call, "*"))
	}
	text := strings.TrimSpace(heading) + "\n\n" + marker + "\n\n" + m.text() + "\n"
	old, nl := "", m.source(s.File).newline()
	if f := m.source(file); f != nil {
		old, nl = f.text, f.newline()
	}
	if nl != "\n" {
		text = strings.ReplaceAll(text, "\n", nl)
	}
	if old != "" {
		if op := s.Op(m.op); op != nil && op.Pos.File == file && strings.Contains(old, text) {
			return nil, "" // an earlier migration came as far as this
		}
		text = strings.TrimRight(old, "\r\n") + nl + nl + text
	}
	if s.Op(m.op) != nil {
		return nil, "the skill has an op " + m.op + " already"
	}
	return []Rewrite{{file, old, text}}, ""
}

// text is the task as it is written, comments too.
func (m *migration) text() string {
	main := m.source(m.skill.File)
	i := slices.IndexFunc(m.skill.Sections, func(sec tree.Section) bool { return sec.Pos == m.agent.Pos })
	raw := main.text[main.offset(m.agent.Pos.Line+1):main.offset(m.skill.Sections[i].Last+1)]
	lines := strings.Split(strings.ReplaceAll(raw, "\r\n", "\n"), "\n")
	for len(lines) > 0 && strings.Trim(lines[len(lines)-1], "- \t") == "" {
		lines = lines[:len(lines)-1]
	}
	return task(strings.Join(lines, "\n"))
}

// task is the text of a section without what the op's marker says.
func task(text string) string {
	if before, rest, ok := strings.Cut(text, "**explore**"); ok && strings.TrimSpace(before) == "" {
		text = strings.TrimLeft(rest, " \t\n—–-")
	}
	if i := strings.Index(text, "Output contract: `"); i >= 0 {
		rest := text[i+len("Output contract: `"):]
		if _, tail, ok := strings.Cut(rest, "`"); ok {
			text = strings.TrimRight(text[:i], " ") + strings.TrimPrefix(tail, ".")
		}
	}
	return strings.TrimSpace(text)
}

// called reports whether a step calls the op.
func (m *migration) called(name string) (yes bool) {
	look := func(n *tree.Node) bool {
		yes = yes || n.Kind == tree.Call && n.Name == name
		return true
	}
	tree.Walk(m.skill.Tree.Nodes, look)
	for _, op := range m.skill.Ops {
		if op.Tree != nil {
			tree.Walk(op.Tree.Nodes, look)
		}
	}
	return yes
}

// differs says what the result does not say that the skill said, "" if nothing.
func (m *migration) differs(files []Rewrite) string {
	after, err := tree.Load(Rewritten(m.skill.FS, files), m.skill.Dir)
	if err != nil || after.Tree == nil || len(after.Tree.Nodes) == 0 {
		return "the result could not be read"
	}
	first, op := after.Tree.Nodes[0], after.Op(m.op)
	before := m.skill.Op(m.op)
	switch {
	case after.Agent != nil:
		return "there are two"
	case first.Kind != tree.Call || first.Name != m.op || !first.Bold || op == nil || !op.Subagent || op.Output == nil || op.Output.Path != m.schema:
		return "the result does not call " + m.op + " as a subagent"
	case m.agent.Shape == tree.ShapeC && (op.Kind != before.Kind || op.Prose != before.Prose):
		return "the body of " + m.op + " would be read as something else"
	case m.agent.Shape != tree.ShapeC && (op.Tree != nil || squeeze(op.Prose) != squeeze(task(m.agent.Text))):
		return "its text would be read as something else in an op"
	case len(after.Ops) < len(m.skill.Ops) || !slices.EqualFunc(first.Outs, m.call.Outs, func(a, b tree.Target) bool { return a == b }):
		return "its result would be bound to another name"
	}
	for _, f := range diag.Gained(Check(m.skill), Check(after), func(f diag.Finding) string { return f.Rule }) {
		if f.Severity == diag.SeverityError {
			return f.Message
		}
	}
	return ""
}

// squeeze makes one blank of each run of them.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// Rewritten is a skill with the new texts of some files.
func Rewritten(fsys fs.FS, files []Rewrite) fs.FS {
	now := bundle.Memory{}
	for _, f := range files {
		now[f.File] = bundle.MemoryFile{Data: []byte(f.New)}
	}
	return bundle.Overlay{Below: fsys, Files: now}
}
