package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree/check"
)

type newResult struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

func newCommand() command {
	return command{name: "new", args: "NAME", group: "Author", usage: "start a skill that passes lint", output: newResult{},
		example: "skl new release-notes\nskl new review --tree",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "tree", Usage: "a skill with a tree, for skl run"}, dryRunFlag()},
		run:     runNew}
}

func runNew(_ context.Context, w *world, c *cli.Context) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	if err := skill.CheckPublishName(name); err != nil {
		return diag.New(diag.Misuse, "invalid_name", "%q cannot be the name of a skill: %w", name, err).
			Hint("names are 1-64 of a-z, 0-9 and single hyphens")
	}
	here, err := within.Open(w.Cwd) // a folder called skills may be a link that came with a clone
	if err != nil {
		return err
	}
	defer here.Close()
	dir := filepath.Join(w.Cwd, name)
	for _, parent := range []string{"skills", filepath.Join(".agents", "skills")} {
		info, err := here.Stat(filepath.Join(w.Cwd, parent))
		if errors.Is(err, diag.Code("E_ROOT_ESCAPE")) {
			return err
		}
		if err == nil && info.IsDir() {
			dir = filepath.Join(w.Cwd, parent, name)
			break
		}
	}
	if here.Exists(dir) {
		return diag.New(diag.Misuse, "exists", "%s exists already", w.Short(dir)).Hint("skl lint %s", w.Short(dir))
	}
	text := starter(name)
	if c.Bool("tree") {
		text = treeStarter(name)
	}
	if !c.Bool("dry-run") {
		if err := here.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := here.WriteFile(filepath.Join(dir, skill.FileName), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(newResult{name, dir})
	}
	w.ui.Print("%s", w.Short(filepath.Join(dir, skill.FileName)))
	if c.Bool("tree") {
		w.ui.Hint("edit it, then: skl lint %s    skl run ./%s --dry-run", w.Short(dir), w.Short(dir))
		return nil
	}
	w.ui.Hint("edit it, then: skl lint %s    skl install ./%s", w.Short(dir), w.Short(dir))
	return nil
}

func starter(name string) string {
	title := strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ")
	return fmt.Sprintf(`---
name: %s
description: Say what this skill does. Use when the user asks for it; name the words they would use.
---

# %s

## When to use

Name the situation in one or two sentences.

## Steps

1. Say what to do first, and with which files or tools.
2. Say how to check that it worked.
`, name, title)
}

// treeStarter is a skill that asks before it does something.
func treeStarter(name string) string {
	return fmt.Sprintf(`---
name: %s
description: Say what this skill does. Use when the user asks for it; name the words they would use.
compatibility: %s
metadata:
  canopy-features: [interaction]
---

%s
Topic: $ARGUMENTS

## Tree

* %s
  * Say in one sentence what should be done about $ARGUMENTS >> plan
  * SHOW_PLAN >> plan
  * ASK << Proceed? | Yes | No
  * IF << No
    * END
  * Do what `+"`plan`"+` says, and say what changed >> summary

## Rules

- Change nothing that the plan does not name.

## Response: summary
`, name, check.CanonicalCompatibility, check.CanonicalGuard, name)
}

type digestResult struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
}

func digestCommand() command {
	return command{name: "digest", args: "DIR", usage: "print the tree digest of a folder", output: digestResult{}, complete: "dir",
		example: "skl digest skills/pdf",
		run: func(_ context.Context, w *world, c *cli.Context) error {
			dir, root, err := w.openSkill(c)
			if err != nil {
				return err
			}
			defer root.Close()
			guard := bundle.NewGuard(nil, bundle.InstallLimits)
			if err := bundle.FromFS(durable.RootFS(root), guard); err != nil {
				return fmt.Errorf("%s: %w", w.Short(dir), err)
			}
			sum, err := guard.Close()
			if err != nil {
				return fmt.Errorf("%s: %w", w.Short(dir), err)
			}
			if w.ui.JSON {
				return w.ui.Result(digestResult{dir, string(sum.Tree), sum.Files, sum.Bytes})
			}
			w.ui.Print("%s", string(sum.Tree))
			w.ui.Detail("%s, %s", diag.Count(sum.Files, "file"), ui.Size(sum.Bytes))
			return nil
		}}
}

// openSkill opens the one folder argument of digest and pack.
func (w *world) openSkill(c *cli.Context) (string, *os.Root, error) {
	if c.Args().Len() != 1 {
		return "", nil, diag.New(diag.Misuse, "usage", "name one folder with a SKILL.md")
	}
	dir := scope.Absolute(w.Cwd, c.Args().First())
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", nil, diag.New(diag.Misuse, "no_such_directory", "%s is not a folder", c.Args().First())
	}
	return dir, root, nil
}

type packResult struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
}

func packCommand() command {
	return command{name: "pack", args: "DIR -o FILE", usage: "write a reproducible archive (.tar.gz, .skill or .zip)", output: packResult{}, complete: "dir",
		example: "skl pack skills/pdf -o pdf.tar.gz",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write `FILE`"},
			dryRunFlag(),
		},
		run: runPack}
}

func runPack(_ context.Context, w *world, c *cli.Context) error {
	out := c.String("output")
	if out == "" {
		return diag.New(diag.Misuse, "usage", "skl pack needs -o FILE").Hint("skl pack DIR -o NAME.tar.gz")
	}
	dir, root, err := w.openSkill(c)
	if err != nil {
		return err
	}
	defer root.Close()
	pack := bundle.Pack
	switch {
	case strings.HasSuffix(out, ".zip"), strings.HasSuffix(out, ".skill"):
		pack = bundle.PackZip
	case !strings.HasSuffix(out, ".tar.gz") && !strings.HasSuffix(out, ".tgz"):
		return diag.New(diag.Misuse, "unknown_format", "%s: archives end in .tar.gz, .tgz, .zip or .skill", out)
	}
	path := scope.Absolute(w.Cwd, out)
	tmp, err := os.CreateTemp(filepath.Dir(path), ".skl-pack-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	sum, err := pack(tmp, durable.RootFS(root))
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", w.Short(dir), err)
	}
	if !c.Bool("dry-run") {
		if err := os.Chmod(tmp.Name(), 0o644); err != nil {
			return err
		}
		if err := os.Rename(tmp.Name(), path); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(packResult{path, string(sum.Tree), sum.Files, sum.Bytes})
	}
	w.ui.Print("%s  %s, %s, %s", w.Short(path), diag.Count(sum.Files, "file"), ui.Size(sum.Bytes), string(sum.Tree))
	return nil
}
