package form

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/diag"
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
}

// maxPasses is how often Lint looks again at what it mended.
const maxPasses = 10

// Lint checks skills against the formats, each by itself and then together.
func (l *Linter) Lint(q LintRequest) (Linted, error) {
	dirs, err := l.dirs(q.Paths)
	if err != nil {
		return Linted{}, err
	}
	out := Linted{Skills: len(dirs), Findings: []diag.Finding{}}
	shared := sharedOps(dirs)
	for i, dir := range dirs {
		found, err := l.lintDir(dir, q)
		if err != nil {
			return Linted{}, err
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

// lintDir checks one skill, and mends it if that is asked for.
func (l *Linter) lintDir(dir string, q LintRequest) ([]diag.Finding, error) {
	found := lintSkill(scope.FilesIn(dir), filepath.Base(dir), q.LintOptions)
	if !q.Fix {
		return found, nil
	}
	var err error
	for pass := 0; len(skill.Fixes(found)) > 0 && pass < maxPasses; pass++ { // a fix can hide another below it
		if found, err = l.mend(dir, found, q.LintOptions, q.DryRun); err != nil || q.DryRun {
			break
		}
	}
	return found, err
}

// mend applies the fixes that were found, writes the files that changed, and looks again.
func (l *Linter) mend(dir string, found []diag.Finding, opt skill.LintOptions, dry bool) ([]diag.Finding, error) {
	byFile := map[string][]diag.Finding{}
	for _, f := range found {
		if f.Fix != nil {
			byFile[f.File] = append(byFile[f.File], f)
		}
	}
	for file, fs := range byFile {
		path := filepath.Join(dir, filepath.FromSlash(file))
		src, err := scope.ReadIn(dir, file)
		if err != nil {
			return nil, err
		}
		for _, f := range fs {
			l.Scope.Tell.Note("%s:%d: %s [%s]", l.Scope.Short(path), f.Line, f.Fix.Note, f.Rule)
		}
		if dry {
			continue
		}
		if err := scope.WriteIn(dir, file, skill.Apply(src, skill.Fixes(fs))); err != nil {
			return nil, err
		}
	}
	if dry {
		return found, nil
	}
	return lintSkill(scope.FilesIn(dir), filepath.Base(dir), opt), nil
}

// lintSkill checks a skill by the rules of its format, and of its tree if it has one.
func lintSkill(fsys fs.FS, dir string, opt skill.LintOptions) []diag.Finding {
	found := skill.Lint(fsys, dir, opt)
	s, err := tree.Load(fsys, dir)
	if err != nil {
		return found // why it cannot be loaded is among the findings
	}
	for _, f := range check.Check(s) {
		if opt.Strict && f.Severity == diag.SeverityWarning {
			f.Severity = diag.SeverityError
		}
		found = append(found, f)
	}
	diag.SortFindings(found)
	return found
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

// Rules are the rules of Lint: those of the format, then those of trees, each sorted by id.
func Rules() []skill.RuleDoc {
	trees := append(check.Rules(), check.SharedRule(), skill.RuleDoc{ID: skills.BlockRule, Severity: diag.SeverityWarning, Text: "the block for agents in an instruction file is doubled, broken or old"})
	slices.SortFunc(trees, func(a, b skill.RuleDoc) int { return strings.Compare(a.ID, b.ID) })
	return append(skill.Rules(), trees...)
}
