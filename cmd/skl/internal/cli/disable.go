package cli

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

type disableResult struct {
	OK   bool   `json:"ok"`
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
}

func disableCommand() command {
	return command{name: "disable", args: "NAME", group: "Copies", usage: "put a copy where no agent loads it", output: disableResult{}, complete: "skill",
		example: "skl disable pdf\nskl disable pdf --scope user",
		flags:   []cli.Flag{dryRunFlag()},
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			return w.move(ctx, c, true)
		}}
}

func enableCommand() command {
	return command{name: "enable", args: "NAME", usage: "put a disabled copy back", output: disableResult{}, complete: "skill",
		example: "skl enable pdf",
		flags:   []cli.Flag{dryRunFlag()},
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			return w.move(ctx, c, false)
		}}
}

// move renames the copy of this scope between its root and what lies aside of it.
// Links that lead to it are left: they point nowhere until it is enabled again.
func (w *world) move(ctx context.Context, c *cli.Context, disable bool) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	end, err := w.Begin(ctx, dry)
	if err != nil {
		return err
	}
	defer end()
	l, err := w.Discover(ctx, nil)
	if err != nil {
		return err
	}
	found, err := scope.Copies(l, name)
	if err != nil {
		return err
	}
	var at *roots.Record
	for i, r := range found {
		if (r.State == roots.Disabled) != disable && (r.Scope == string(w.Kind) || r.Qualified == name) {
			at = &found[i]
			break
		}
	}
	if at == nil {
		return diag.New(diag.Misuse, "no_such_copy", "%s has no %s copy in scope %s", name, map[bool]string{true: "enabled", false: "disabled"}[disable], w.Kind).
			Hint("skl list --all").Hint("name the scope: --scope project or --scope user")
	}
	root := at.Path
	for _, r := range l.Roots {
		if r.ID == at.Root {
			root = r.Path
		}
	}
	to := filepath.Join(roots.Aside(root), "disabled", filepath.Base(at.Path))
	if !disable {
		to = filepath.Join(root, filepath.Base(at.Path))
	}
	if scope.Exists(to) {
		return diag.New(diag.Unmet, "in_the_way", "%s exists already", w.Short(to)).Hint("move it away")
	}
	if !dry {
		site := w.Site
		site.Root = root
		if err := site.Move(at.Path, to); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(disableResult{true, at.Name, at.Path, to})
	}
	w.ui.Print("%s: %s → %s", at.Name, w.Short(at.Path), w.Short(to))
	return nil
}
