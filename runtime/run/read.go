package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// visitRead loads a file; what that means is said by its category. Files of the skill are part of the plan, and reading
// one is no effect.
func (m *Machine) visitRead(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	m.begin(n, path, nil)
	value, err := m.read(ctx, n, path)
	if err != nil {
		return err
	}
	var bound map[string]any
	if len(n.Outs) > 0 {
		if bound, err = m.bindTargets(n, path, targetNames(n.Outs), n.Outs, nil, value, nil); err != nil {
			return err
		}
	}
	m.finish(f, n, began, OK, values(bound))
	return nil
}

// read gives the value of a Read node, and keeps it for the leaves that follow where no name takes it.
func (m *Machine) read(ctx context.Context, n *tree.Node, path string) (any, error) {
	file, err := m.shown(n, n.Path)
	if err != nil {
		return nil, err
	}
	sibling := strings.HasPrefix(file, "../") || strings.HasPrefix(file, "<skills-root>/")
	if resource.CategoryOf(file) == resource.Project && !sibling {
		text, err := m.readProject(ctx, n, path, file)
		if err != nil {
			return nil, err
		}
		return m.keep(n, document{Path: file, Text: text})
	}
	r, err := m.s.plan.Resource(m.home(), file)
	if err != nil {
		return nil, placed(err, n)
	}
	if r.Legacy {
		m.warn("path_legacy", "there is no "+file+"; "+r.Path+" is read")
	}
	d := document{Path: r.Path, Text: r.Text}
	if d.Section, err = plan.Part(r, n); n.Section != "" {
		d.Section, err = m.section(n)
	}
	if err != nil {
		return nil, placed(err, n)
	}
	if d.Section != "" {
		text, ok := plan.Section(r, d.Section)
		if !ok {
			return nil, diag.New(diag.Unmet, CodeFile, "%s has no section %q", r.Path, d.Section).At(position(n))
		}
		d.Text = text
	}
	switch r.Category {
	case resource.Script:
		return m.script(ctx, n, path, d)
	case resource.Template:
		return m.template(ctx, n, path, d)
	case resource.Policy:
		s, i := m.scope()
		s.Policies = append(s.Policies, d)
		if i < m.base {
			d.Policy = true
			m.kept = append(m.kept, d)
		}
		return d.Text, nil
	case resource.VerifyDoc:
		m.warn("verify_read", r.Path+" is a checklist of VERIFY_EXPECTED, and a Read does not check it")
	}
	return m.keep(n, d)
}

// section is the name of the section that n reads.
func (m *Machine) section(n *tree.Node) (string, error) {
	if !n.Matching {
		return m.shown(n, n.Section)
	}
	v, ok := m.lookup(strings.Trim(n.Section, "`"))
	if !ok {
		return "", diag.New(diag.Unmet, CodeUnbound, "the section of %s is named by %s, which has no value", n.Path, n.Section).At(position(n))
	}
	text, ok := v.(string)
	if !ok {
		return "", diag.New(diag.Unmet, CodeValue, "the section of %s is named by %s, which is not text", n.Path, n.Section).At(position(n))
	}
	return text, nil
}

// keep gives the value of a file's text, and shows it to the leaves that follow when no name takes it.
func (m *Machine) keep(n *tree.Node, d document) (any, error) {
	if len(n.Outs) == 0 {
		m.load(d)
		return nil, nil
	}
	if resource.CategoryOf(d.Path) == resource.Checks {
		items := []any{}
		for _, item := range resource.ParseChecklist(d.Text).Items {
			items = append(items, item.Text)
		}
		return items, nil
	}
	if strings.HasSuffix(d.Path, ".json") && d.Section == "" {
		if v, err := decode(json.RawMessage(d.Text)); err == nil {
			return v, nil
		}
	}
	return strings.TrimRight(d.Text, "\r\n"), nil
}

func (m *Machine) readProject(ctx context.Context, n *tree.Node, path, file string) (string, error) {
	file = m.projectPath(file)
	got, err := m.do(ctx, effect{kind: "read", path: path, node: m.id(n), digest: digest(file)}, func(context.Context, string) (reply, error) {
		if m.s.r.Tools == nil {
			return reply{}, diag.New(diag.Failed, CodeTools, "%s is a file of the project, and there are no tools to read it with", file).At(position(n))
		}
		data, err := m.s.r.Tools.ReadFile(file)
		switch {
		case err != nil:
			return reply{}, failedFile(n, "reading", file, err)
		case !utf8.Valid(data):
			return reply{}, diag.New(diag.Failed, CodeFile, "%s is not text", file).At(position(n))
		case len(data) > plan.MaxFile:
			return reply{}, diag.New(diag.Failed, CodeFile, "%s is larger than %d KiB, the limit of a file that a tree reads", file, plan.MaxFile>>10).At(position(n))
		}
		return reply{Text: string(data)}, nil
	})
	return got.Text, err
}

func failedFile(n *tree.Node, verb, file string, err error) error {
	if class := diag.ClassOf(err); class == diag.Refused || class == diag.NeedsInput {
		return err
	}
	return diag.New(diag.Failed, CodeFile, "%s %s: %w", verb, file, err).At(position(n))
}

// placed adds the place of a node to an error that has none.
func placed(err error, n *tree.Node) error {
	if e, ok := errors.AsType[*diag.Error](err); ok && e.Where.File == "" {
		c := *e
		return c.At(position(n))
	}
	return err
}

// script runs a script, or the section of one that the node names.
func (m *Machine) script(ctx context.Context, n *tree.Node, path string, d document) (any, error) {
	s := Script{Path: d.Path, Section: d.Section, Text: d.Text, Env: m.scriptEnv(n, d.Text)}
	e := effect{kind: "script", path: path, node: m.id(n), acts: true, digest: digest(d.Path, d.Section, d.Text, string(encode(s.Env))), gives: strings.Join(targetNames(n.Outs), ", "), take: takeText}
	got, err := m.do(ctx, e, func(ctx context.Context, key string) (reply, error) {
		if m.s.r.Tools == nil {
			return reply{}, diag.New(diag.Refused, CodeScriptDeny, "the script %s may not run: there is nothing to run it with", d.Path).At(position(n))
		}
		if err := m.s.timeLeft(); err != nil { // it did not begin
			return reply{}, cmp.Or(m.s.journal(Record{Type: ReleasedRecord, Key: key}, true), err)
		}
		ctx, cancel := m.s.timed(ctx)
		defer cancel()
		result, deed, err := m.s.r.Tools.Script(ctx, s)
		did := &deed
		switch cause := context.Cause(ctx); {
		case cause != nil && (err != nil || result.IsError):
			return reply{Did: did}, m.cut(e, "the script "+d.Path+d.section(), cause)
		case diag.ClassOf(err) == diag.NeedsInput:
			return reply{}, err
		case err != nil:
			return reply{}, diag.New(diag.Refused, CodeScriptDeny, "the script %s%s may not run: %s", d.Path, d.section(), diag.Clip(err.Error(), 500)).At(position(n)).Hint("skl run %s --dry-run shows which tools are allowed, and why not", m.s.called())
		case result.IsError:
			return reply{Did: did}, diag.New(diag.Failed, CodeScript, "the script %s%s failed: %s", d.Path, d.section(), diag.Clip(result.Text, 2000)).At(position(n))
		}
		return reply{Text: result.Text, Did: did}, nil
	})
	m.acts(n, path, "script", d.Path+d.section(), got, err)
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(got.Text, "\r\n")
	switch {
	case len(n.Outs) == 0:
		m.note(path, text)
		return nil, nil
	case len(n.Outs) == 1 && !n.Outs[0].Group:
		return text, nil
	}
	return several(n, text), nil
}

// acts tells of a script that ran, or of a file that was written: done, failed, or stopped in the middle. Of one that did not begin it tells nothing.
func (m *Machine) acts(n *tree.Node, path, kind, what string, got reply, err error) {
	e := Event{Kind: Acted, Path: path, Node: m.id(n), Name: kind, Text: what, Status: OK, Did: got.Did}
	switch {
	case err == nil:
	case got.Did == nil && !errors.Is(err, diag.Code(CodeScript)):
		return
	case errors.Is(err, diag.Code(CodeScript)):
		e.Status = Errored
	default:
		e.Status = Suspended
	}
	m.emit(e)
}

// cut is the end of a script, or of a tool's call, that was stopped in the middle: by the time budget, or by a person. What it did
// until then nobody knows.
func (m *Machine) cut(e effect, what string, cause error) error {
	message, more, why := "interrupted", "", "the run was interrupted"
	if cause == errTime {
		message = m.s.inTime(cause).Error()
		more, why = " --budget time="+(10*m.s.r.Limits.Time).String(), "the time budget of "+m.s.r.Limits.Time.String()+" was spent"
	}
	done := e.path
	if e.gives != "" {
		done += "=VALUE"
	}
	stopped := diag.New(diag.NeedsInput, CodeUnfinished, "%s was stopped in the middle when %s, at node %s (visit %s): what it did until then stays", what, why, e.node, e.path).
		Hint("%s", m.s.again("--rerun", e.path)+more+", if it may run again").
		Hint("%s", m.s.again("--done", done)+more+", if it did all that it should")
	stopped.Err = cause
	return suspendSignal{message: message, err: stopped}
}

// several reads what a script printed for several names: a JSON object, or one line each.
func several(n *tree.Node, text string) any {
	if v, err := decode(json.RawMessage(text)); err == nil {
		if _, ok := v.(map[string]any); ok {
			return v
		}
	}
	if lines := strings.Split(text, "\n"); len(lines) == len(n.Outs) {
		object := map[string]any{}
		for i, t := range n.Outs {
			object[t.Name] = strings.TrimRight(lines[i], "\r")
		}
		return object
	}
	return text
}

// scriptEnv is what a script gets in its environment: the names that the node mentions, and the variables of the script that
// are spelled like a bound name ("$NEW_VERSION" is new_version). Nothing is filled into the script's text.
func (m *Machine) scriptEnv(n *tree.Node, text string) map[string]string {
	env := map[string]string{"ARGUMENTS": m.s.args}
	for _, name := range resource.Mentions(n.Text, m.known) {
		if v, ok := m.lookupText(name); ok && isName(name) {
			env[name] = v
		}
	}
	bound := map[string]string{}
	for _, name := range m.names() {
		bound[tree.NameOf(name)] = name
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		rest := strings.TrimPrefix(text[i+1:], "{")
		if len(rest) > 4 && strings.EqualFold(rest[:4], "env:") {
			rest = rest[4:]
		}
		end := 0
		for end < len(rest) && wordByte(rest[end]) {
			end++
		}
		if name, ok := bound[tree.NameOf(rest[:end])]; ok && end > 0 {
			env[rest[:end]], _ = m.lookupText(name)
		}
	}
	return env
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !wordByte(s[i]) {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

// template fills the slots, and writes the text where the node says so.
func (m *Machine) template(ctx context.Context, n *tree.Node, path string, d document) (any, error) {
	text, unknown := resource.Fill(d.Text, m.slot)
	if len(unknown) > 0 {
		m.warn("slot_unknown", d.Path+" keeps the slots "+strings.Join(unknown, ", "))
	}
	target := plan.WriteTarget(n)
	if target == "" {
		d.Text = text
		return m.keep(n, d)
	}
	target, err := m.shown(n, target)
	if err != nil {
		return nil, err
	}
	target = m.projectPath(target)
	tools := m.s.r.Tools
	m.already = func() bool {
		if tools == nil {
			return false
		}
		data, err := tools.ReadFile(target)
		return err == nil && string(data) == text
	}
	defer func() { m.already = nil }()
	got, err := m.do(ctx, effect{kind: "write", path: path, node: m.id(n), acts: true, digest: digest(target, text)}, func(ctx context.Context, _ string) (reply, error) {
		if tools == nil {
			return reply{}, diag.New(diag.Failed, CodeTools, "%s is to be written, and there are no tools to write with", target).At(position(n))
		}
		if m.s.past != nil && m.already() {
			return reply{Text: target}, nil // written just before an interruption
		}
		did, err := tools.WriteFile(ctx, target, []byte(text))
		if err != nil {
			return reply{}, failedFile(n, "writing", target, err)
		}
		return reply{Text: target, Did: &did}, nil
	})
	m.acts(n, path, "write", target, got, err)
	if err != nil {
		return nil, err
	}
	m.emit(Event{Kind: Output, Path: path, Node: m.id(n), Text: "wrote " + target})
	return text, nil
}

// slot is the value for a slot, whose name may have "-" for "_".
func (m *Machine) slot(name string) (string, bool) {
	if v, ok := m.lookupText(name); ok {
		return v, true
	}
	if v, ok := m.named(name); ok {
		return cond.Text(v), true
	}
	return "", false
}
