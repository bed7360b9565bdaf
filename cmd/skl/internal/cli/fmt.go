package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

type fmtResult struct {
	OK       bool           `json:"ok"`
	Changed  []string       `json:"changed"`
	Findings []diag.Finding `json:"findings"`
}

func fmtCommand() command {
	return command{name: "fmt", args: "[PATH…]", group: "Author", usage: "lay out trees canonically, and touch nothing else", output: fmtResult{}, complete: "dir",
		example: "skl fmt\nskl fmt skills/review --check",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "check", Usage: "change nothing; exit 3 if something would change"}, dryRunFlag()},
		run:     runFmt}
}

func runFmt(_ context.Context, w *world, c *cli.Context) error {
	dirs, err := w.skillDirs(c.Args().Slice())
	if err != nil {
		return err
	}
	out := fmtResult{OK: true, Changed: []string{}, Findings: []diag.Finding{}}
	for _, dir := range dirs {
		files, err := treeFiles(durable.DirFS(dir))
		if err != nil {
			return err
		}
		for _, name := range files {
			full := filepath.Join(dir, filepath.FromSlash(name))
			src, err := durable.ReadFile(full)
			if err != nil {
				return err
			}
			text, findings := tree.Format(src, name)
			for _, f := range findings {
				f.File = filepath.ToSlash(w.short(full))
				out.Findings = append(out.Findings, f)
			}
			if bytes.Equal(text, src) {
				continue
			}
			out.Changed = append(out.Changed, w.short(full))
			if c.Bool("check") || c.Bool("dry-run") {
				continue
			}
			info, err := os.Lstat(full)
			if err != nil || !info.Mode().IsRegular() {
				return errors.Join(err, diag.New(diag.Failed, "not_a_file", "%s is not a regular file, so it is not changed", w.short(full)))
			}
			if err := durable.WriteFile(full, text, info.Mode().Perm()); err != nil {
				return err
			}
		}
	}
	out.OK = len(out.Findings) == 0 && !(c.Bool("check") && len(out.Changed) > 0)
	if err := w.printFmt(out, c.Bool("check") || c.Bool("dry-run")); err != nil {
		return err
	}
	if !out.OK {
		return unmet("findings")
	}
	return nil
}

func (w *world) printFmt(out fmtResult, only bool) error {
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	for _, name := range out.Changed {
		w.ui.Print("%s", name)
	}
	for _, f := range out.Findings {
		w.ui.Note("%s: %s [%s]; left as it is", diag.Position{File: f.File, Line: f.Line}, f.Message, f.Rule)
	}
	verb := "changed"
	if only {
		verb = "would change"
	}
	w.ui.Note("%s %s", ui.Count(len(out.Changed), "file"), verb)
	return nil
}

// treeFiles are the files of a skill that may hold trees: SKILL.md and the op files of both layouts.
func treeFiles(fsys fs.FS) ([]string, error) {
	var out []string
	for _, pattern := range []string{skill.FileName, "ops.md", "ops/*.md", "references/ops.md", "references/ops/*.md"} {
		found, err := fs.Glob(fsys, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if info, err := fs.Stat(fsys, name); err == nil && info.Mode().IsRegular() && !slices.Contains(out, path.Clean(name)) {
				out = append(out, path.Clean(name))
			}
		}
	}
	return out, nil
}
