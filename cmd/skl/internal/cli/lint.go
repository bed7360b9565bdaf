package cli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

type lintResult struct {
	OK       bool           `json:"ok"`
	Skills   int            `json:"skills"`
	Findings []diag.Finding `json:"findings"`
}

func lintCommand() command {
	return command{name: "lint", aliases: []string{"validate"}, args: "[PATH…]", group: "Author", usage: "check skills against the formats", output: lintResult{}, complete: "dir",
		example: "skl lint\nskl lint skills/pdf --portable\nskl lint --fix\nskl lint --sarif > lint.sarif",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "fix", Usage: "fix findings that need no judgement"},
			&cli.BoolFlag{Name: "strict", Usage: "warnings are errors"},
			&cli.BoolFlag{Name: "portable", Usage: "report features that only some agents understand"},
			&cli.BoolFlag{Name: "publish", Usage: "as strict as publish"},
			&cli.BoolFlag{Name: "sarif", Usage: "print SARIF"},
			&cli.BoolFlag{Name: "rules", Usage: "list the rules"},
			dryRunFlag(),
		},
		run: runLint}
}

func runLint(_ context.Context, w *world, c *cli.Context) error {
	if c.Bool("rules") {
		return w.printRules()
	}
	dirs, err := w.skillDirs(c.Args().Slice())
	if err != nil {
		return err
	}
	opt := skill.LintOptions{Portable: c.Bool("portable"), Strict: c.Bool("strict"), Publish: c.Bool("publish")}
	out := lintResult{OK: true, Skills: len(dirs), Findings: []diag.Finding{}}
	shared := sharedOps(dirs)
	for i, dir := range dirs {
		found := lintSkill(scope.FilesIn(dir), filepath.Base(dir), opt)
		for pass := 0; c.Bool("fix") && len(skill.Fixes(found)) > 0 && pass < maxPasses; pass++ { // a fix can hide another below it
			if found, err = w.mendSkill(dir, found, opt, c.Bool("dry-run")); err != nil {
				return err
			}
			if c.Bool("dry-run") {
				break
			}
		}
		for _, f := range append(found, shared[i]...) {
			f.File = filepath.ToSlash(w.Short(filepath.Join(dir, filepath.FromSlash(f.File))))
			out.Findings = append(out.Findings, f)
		}
	}
	if !c.Args().Present() {
		out.Findings = append(out.Findings, w.lintBlocks()...)
	}
	diag.SortFindings(out.Findings)
	out.OK = diag.Worst(out.Findings) != diag.SeverityError
	switch {
	case c.Bool("sarif"):
		err = w.ui.Result(diag.SARIF(out.Findings, build.Current().Version))
	case w.ui.JSON:
		err = w.ui.Result(out)
	default:
		w.printFindings(out)
	}
	if err == nil && !out.OK {
		err = unmet("findings")
	}
	return err
}

// skillDirs finds the skills below the given paths; by default below skills/, the
// canonical root, or the working directory itself.
func (w *world) skillDirs(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var dirs []string
	for _, arg := range args {
		top := scope.Absolute(w.Cwd, arg)
		if w.Project != "" && scope.Below(w.Project, top) && !scope.Holds(w.Project, top) {
			return nil, diag.New(diag.Refused, "E_ROOT_ESCAPE", "%s leads out of the project, to %s", arg, scope.Resolved(top)).Hint("name the folder itself")
		}
		if filepath.Base(top) == skill.FileName {
			top = filepath.Dir(top)
		}
		if scope.Exists(filepath.Join(top, skill.FileName)) {
			dirs = append(dirs, top)
			continue
		}
		info, err := os.Stat(top)
		if err != nil || !info.IsDir() {
			return nil, diag.New(diag.Misuse, "no_such_directory", "%s is not a folder with skills", arg)
		}
		below, err := skillsBelow(top)
		if err != nil {
			return nil, err
		}
		if len(below) == 0 {
			if hasLowerCase(top) {
				dirs = append(dirs, top)
				continue
			}
			return nil, diag.New(diag.Misuse, "no_skill", "there is no SKILL.md in %s or below", arg).Hint("skl new NAME starts a skill")
		}
		dirs = append(dirs, below...)
	}
	return dirs, nil
}

// hasLowerCase reports a folder whose only manifest is called skill.md, which lint explains.
func hasLowerCase(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), skill.FileName) })
}

func skillsBelow(top string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == ".skl"):
			return filepath.SkipDir
		case d.Name() == skill.FileName:
			rel, err := filepath.Rel(top, path)
			files = append(files, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	var dirs []string
	for _, d := range source.Discover(files, nil) {
		dirs = append(dirs, filepath.Join(top, filepath.FromSlash(d.Path)))
	}
	return dirs, err
}

// maxPasses is how often --fix looks again at what it mended.
const maxPasses = 10

// mendSkill applies the fixes that were found, writes the files that changed, and looks again.
func (w *world) mendSkill(dir string, found []diag.Finding, opt skill.LintOptions, dry bool) ([]diag.Finding, error) {
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
			w.ui.Note("%s:%d: %s [%s]", w.Short(path), f.Line, f.Fix.Note, f.Rule)
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
func (w *world) lintBlocks() []diag.Finding {
	base := w.Project
	if base == "" {
		base = w.Cwd
	}
	var found []diag.Finding
	for _, name := range []string{"CLAUDE.md", ".github/copilot-instructions.md"} {
		path := filepath.Join(base, filepath.FromSlash(name))
		if src, err := scope.ReadIn(base, name); err == nil && bytes.Contains(src, []byte("canopy-runtime-")) {
			found = append(found, skills.CheckBlock(src, filepath.ToSlash(w.Short(path)))...)
		}
	}
	return found
}

// allRules are the rules of lintSkill: those of the format, then those of trees, each sorted by id.
func allRules() []skill.RuleDoc {
	trees := append(check.Rules(), check.SharedRule(), skill.RuleDoc{ID: skills.BlockRule, Severity: diag.SeverityWarning, Text: "the block for agents in an instruction file is doubled, broken or old"})
	slices.SortFunc(trees, func(a, b skill.RuleDoc) int { return strings.Compare(a.ID, b.ID) })
	return append(skill.Rules(), trees...)
}

func (w *world) printFindings(out lintResult) {
	count := map[diag.Severity]int{}
	for _, f := range out.Findings {
		count[f.Severity]++
		at := diag.Position{File: f.File, Line: f.Line, Column: f.Column}
		w.ui.Print("%s: %s: %s [%s]", at, string(f.Severity), f.Message, f.Rule)
		if f.Fix != nil {
			w.ui.Print("    fix: %s", f.Fix.Note)
		}
	}
	w.ui.Note("%s, %s, %s", diag.Count(out.Skills, "skill"), diag.Count(count[diag.SeverityError], "error"), diag.Count(count[diag.SeverityWarning], "warning"))
	if len(skill.Fixes(out.Findings)) > 0 {
		w.ui.Hint("skl lint --fix")
	}
}

func (w *world) printRules() error {
	if w.ui.JSON {
		return w.ui.Result(map[string]any{"rules": allRules()})
	}
	rows := [][]string{{"RULE", "SEVERITY", "MEANS"}}
	for _, r := range allRules() {
		rows = append(rows, []string{r.ID, string(r.Severity), r.Text})
	}
	w.ui.Rows(rows)
	return nil
}
