package form

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// A LintRequest says what is checked, and how strictly.
type LintRequest struct {
	Paths []string // skills, or folders with skills; none is the working directory and the instruction files of the project
	skill.LintOptions
	Fix    bool // mend what needs no judgement; what is mended is told
	DryRun bool
}

// A Linted is what was found.
type Linted struct {
	OK       bool           `json:"ok"`
	Skills   int            `json:"skills"`
	Findings []diag.Finding `json:"findings"`
	Migrated []Migrated     `json:"migrated,omitempty"`
}

// Migrated are the files that a migration writes in a skill, as a difference.
type Migrated struct {
	Skill string `json:"skill"`
	Diff  string `json:"diff"`
}

// Lint checks skills against the formats, each by itself and then together.
func (l *Linter) Lint(q LintRequest) (Linted, error) {
	dirs, err := l.dirs(q.Paths)
	if err != nil {
		return Linted{}, err
	}
	var copies map[string]bool
	if q.Fix {
		if copies, err = l.copies(q.Paths, dirs); err != nil {
			return Linted{}, err
		}
	}
	out := Linted{Skills: len(dirs), Findings: []diag.Finding{}}
	shared := sharedOps(dirs)
	around := l.around()
	for i, dir := range dirs {
		lint := findings(dir, around, q.LintOptions)
		found := lint(scope.FilesIn(dir))
		if q.Fix && !copies[dir] {
			if found, err = l.mend(dir, lint, found, q.DryRun, &out); err != nil {
				return Linted{}, err
			}
		}
		for _, f := range append(found, shared[i]...) {
			f.File = filepath.ToSlash(l.Scope.Short(filepath.Join(dir, filepath.FromSlash(f.File))))
			out.Findings = append(out.Findings, f)
		}
	}
	if len(q.Paths) == 0 {
		out.Findings = append(out.Findings, l.lintBlocks()...)
	}
	diag.SortFindings(out.Findings)
	out.OK = diag.Worst(out.Findings) != diag.SeverityError
	return out, nil
}

// mend mends a skill, tells of what it mends, and gives what is left; of a dry run, what there is.
func (l *Linter) mend(dir string, lint author.Linter, found []diag.Finding, dry bool, out *Linted) ([]diag.Finding, error) {
	d := author.Over(filepath.Base(dir), scope.FilesIn(dir))
	agent, why, err := author.MigrateAgent(d)
	if err != nil {
		return nil, err
	}
	if why != "" {
		l.Scope.Tell.Warn("%s: %s", l.Scope.Short(dir), why)
	}
	if agent {
		m := Migrated{Skill: filepath.ToSlash(l.Scope.Short(dir))}
		for _, c := range d.Changes() {
			diff, _, _ := trees.Lines(string(c.Was), string(c.Now))
			m.Diff += "--- " + c.Path + "\n+++ " + c.Path + "\n" + diff
		}
		out.Migrated = append(out.Migrated, m)
	}
	fixed := author.Mender{Lint: lint, Mended: func(f diag.Finding) {
		l.Scope.Tell.Note("%s:%d: %s [%s]", l.Scope.Short(filepath.Join(dir, filepath.FromSlash(f.File))), f.Line, f.Fix.Note, f.Rule)
	}}
	left, err := fixed.Mend(d)
	if err != nil || dry {
		return found, err
	}
	return left, l.Scope.EditFolder(dir, d.Changes())
}

// Findings gives the findings of what the folder dir holds, or would hold.
func (l *Linter) Findings(dir string, opt skill.LintOptions) author.Linter {
	return findings(dir, l.around(), opt)
}

// findings checks what the folder dir holds, or would hold, by the rules of its format, and of its tree if it has one.
func findings(dir string, around finder, opt skill.LintOptions) author.Linter {
	return func(fsys fs.FS) []diag.Finding { return lintSkill(fsys, dir, around, opt) }
}

func lintSkill(fsys fs.FS, dir string, around finder, opt skill.LintOptions) []diag.Finding {
	base := filepath.Base(dir)
	found := audited(fsys, skill.Lint(fsys, base, opt))
	s, err := tree.Load(fsys, base)
	if err != nil {
		diag.SortFindings(found)
		return found // why it cannot be loaded is among the findings
	}
	for _, f := range checkCalls(s, filepath.Dir(dir), around) {
		if opt.Strict && f.Severity == diag.SeverityWarning {
			f.Severity = diag.SeverityError
		}
		found = append(found, f)
	}
	diag.SortFindings(found)
	return found
}

// sameAs are the rules of the format that the rules of an audit repeat.
var sameAs = map[string][]string{
	skill.RuleHiddenText: {"AUD-HIDDEN-TEXT", "AUD-REORDERED-TEXT"},
	skill.RuleZeroWidth:  {"AUD-ZERO-WIDTH", "AUD-HIDDEN-TEXT"},
	skill.RuleBytecode:   {"AUD-COMPILED"},
}

// audited adds what an audit finds to the findings of the format. What both find in a file is said once, by the audit, unless the other
// can mend it. What skl:allow names is information.
func audited(fsys fs.FS, found []diag.Finding) []diag.Finding {
	t, err := trees.Read(fsys)
	if err != nil {
		return found // it is no bundle, which is among the findings
	}
	for _, f := range t.Findings() {
		one := f.Lint()
		if f.Allowed != "" && f.Severity != content.Refuse {
			one.Severity, one.Message = diag.SeverityInfo, one.Message+" (allowed: "+f.Allowed+")"
		}
		same := func(o diag.Finding) bool { return o.File == f.File && slices.Contains(sameAs[o.Rule], f.Rule) }
		if slices.ContainsFunc(found, func(o diag.Finding) bool { return same(o) && o.Fix != nil }) {
			continue
		}
		found = append(slices.DeleteFunc(found, same), one)
	}
	return found
}

// A finder finds a skill by name for one in a directory beside it: the neighbour of that name, else the installed one; nil if
// there is none.
type finder func(beside, name string) (*tree.Skill, error)

// around looks for installed skills once, and only when one is asked for.
func (l *Linter) around() finder {
	listing := sync.OnceValues(func() (roots.Listing, error) { return l.Scope.Discover(context.Background(), []string{}) })
	return func(beside, name string) (*tree.Skill, error) {
		if !ref.IsWord(name) {
			return nil, nil // who requires it wrote a path, or nothing that a directory could be called
		}
		at := filepath.Join(beside, name)
		if files := l.Beside[at]; files != nil {
			return tree.Load(files, name)
		}
		if scope.Exists(filepath.Join(at, skill.FileName)) {
			return tree.Load(scope.FilesIn(at), name)
		}
		installed, err := listing()
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(installed.Skills, func(r roots.Record) bool { return r.Name == name && r.State == roots.Active })
		if i < 0 {
			return nil, nil
		}
		files, err := scope.FilesOf(installed.Skills[i])
		if err != nil {
			return nil, err
		}
		return tree.Load(files, name)
	}
}

// checkCalls checks the tree of a skill. Of calls that its own ops do not answer to, it says what a run would, which looks into the
// skills that this one requires.
func checkCalls(s *tree.Skill, beside string, around finder) []diag.Finding {
	found := check.Check(s)
	requires := s.Doc.Required()
	about := func(f diag.Finding) bool { return f.Rule == check.UnknownOp || f.Rule == check.Arity }
	if s.Tree == nil || len(requires) == 0 && !slices.ContainsFunc(found, about) {
		return found
	}
	_, err := plan.New(context.Background(), s, plan.Options{Depends: requires, Find: func(name string) (*tree.Skill, error) { return around(beside, name) }})
	refusal, _ := errors.AsType[plan.Refusal](err)
	isHere := func(f diag.Finding) bool { return about(f) && !strings.HasPrefix(f.File, "../") }
	said := slices.DeleteFunc(slices.Clone(refusal.Findings), func(f diag.Finding) bool { return !isHere(f) })
	var out []diag.Finding
	for _, f := range found { // an op that nothing calls may call what is not there: binding says nothing of it
		if !about(f) {
			out = append(out, f)
			continue
		}
		if i := slices.IndexFunc(said, func(o diag.Finding) bool { return o.File == f.File && o.Line == f.Line }); i >= 0 {
			f.Message = said[i].Message
			said = slices.Delete(said, i, i+1)
			out = append(out, f)
		} else if op := calledAt(s, f); op == "" || !provided(op, requires, beside, around) {
			out = append(out, f)
		}
	}
	return append(out, said...)
}

// calledAt is the op that the node at the place of a finding calls, "" if none does.
func calledAt(s *tree.Skill, f diag.Finding) (op string) {
	look := func(n *tree.Node) bool {
		if n.Kind == tree.Call && n.Pos.File == f.File && n.Pos.Line == f.Line {
			op = n.Name
		}
		return true
	}
	if s.Tree != nil {
		tree.Walk(s.Tree.Nodes, look)
	}
	for _, o := range s.Ops {
		if o.Tree != nil {
			tree.Walk(o.Tree.Nodes, look)
		}
	}
	return op
}

// provided reports whether exactly one of the skills that are required has the op.
func provided(op string, requires []string, beside string, around finder) bool {
	n := 0
	for _, name := range requires {
		if other, err := around(beside, name); err == nil && other != nil && other.Op(op) != nil {
			n++
		}
	}
	return n == 1
}

// sharedOps is what can be said of the skills in dirs only when they are looked at together, by the index of dirs.
func sharedOps(dirs []string) [][]diag.Finding {
	loaded := make([]*tree.Skill, len(dirs))
	for i, dir := range dirs {
		s, err := tree.Load(scope.FilesIn(dir), filepath.Base(dir))
		if err != nil {
			s = &tree.Skill{} // why it cannot be loaded is among its own findings
		}
		loaded[i] = s
	}
	return check.Shared(loaded)
}

// lintBlocks checks the marker block in the instruction files of the project, where there is one.
func (l *Linter) lintBlocks() []diag.Finding {
	base := l.Scope.Project
	if base == "" {
		base = l.Scope.Cwd
	}
	var found []diag.Finding
	for _, name := range []string{"CLAUDE.md", ".github/copilot-instructions.md"} {
		path := filepath.Join(base, filepath.FromSlash(name))
		if src, err := scope.ReadIn(base, name); err == nil && bytes.Contains(src, []byte("canopy-runtime-")) {
			found = append(found, skills.CheckBlock(src, filepath.ToSlash(l.Scope.Short(path)))...)
		}
	}
	return found
}

// Rules are the rules of Lint: those of the format, then those of trees and of an audit, each sorted by id.
func Rules() []skill.RuleDoc {
	trees := append(check.Rules(), check.SharedRule(), skill.RuleDoc{ID: skills.BlockRule, Severity: diag.SeverityWarning, Text: "the block for agents in an instruction file is doubled, broken or old"})
	sort.Slice(trees, func(i, j int) bool { return trees[i].ID < trees[j].ID })
	all := append(skill.Rules(), trees...)
	for _, r := range content.Rules() {
		all = append(all, skill.RuleDoc{ID: r.ID, Severity: content.Finding{Severity: r.Severity}.Lint().Severity, Text: r.About})
	}
	return all
}
