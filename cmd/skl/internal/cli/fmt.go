package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
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
		files, err := treeFiles(scope.FilesIn(dir))
		if err != nil {
			return err
		}
		for _, name := range files {
			full := filepath.Join(dir, filepath.FromSlash(name))
			src, err := scope.ReadIn(dir, name)
			if err != nil {
				return err
			}
			text, findings := tree.Format(src, name)
			for _, f := range findings {
				f.File = filepath.ToSlash(w.Short(full))
				out.Findings = append(out.Findings, f)
			}
			if bytes.Equal(text, src) {
				continue
			}
			out.Changed = append(out.Changed, w.Short(full))
			if c.Bool("check") || c.Bool("dry-run") {
				continue
			}
			if err := scope.WriteIn(dir, name, text); err != nil {
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
	w.ui.Note("%s %s", diag.Count(len(out.Changed), "file"), verb)
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
		if len(found) == 0 && !strings.Contains(pattern, "*") { // Glob passes over what cannot be looked at
			if _, err := fs.Stat(fsys, pattern); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		for _, name := range found {
			if info, err := fs.Stat(fsys, name); err == nil && info.Mode().IsRegular() && !slices.Contains(out, path.Clean(name)) {
				out = append(out, path.Clean(name))
			}
		}
	}
	return out, nil
}
