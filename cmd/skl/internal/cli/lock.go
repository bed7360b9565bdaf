package cli

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/spec/diag"
)

func lockCommand() command {
	return command{name: "lock", instead: "skl lock --upgrade %s", usage: "write skl.lock from skl.toml, and nothing else", output: installResult{},
		example: "skl lock\nskl lock --upgrade pdf\nskl lock            # after a merge conflict in skl.toml or skl.lock",
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "upgrade", Usage: "choose the newest release of `NAME` again (repeatable)"},
			acceptFlag(), dryRunFlag(),
		},
		run: runLock}
}

func runLock(ctx context.Context, w *world, c *cli.Context) error {
	result, err := w.apply.Lock(ctx, apply.LockRequest{Upgrade: c.StringSlice("upgrade"), Accept: accepted(c), DryRun: c.Bool("dry-run")})
	if err != nil || w.ui.JSON {
		return w.printInstall(result, err)
	}
	for _, wish := range result.Asks.Wishes {
		wish.Warn(w.ui)
	}
	for _, m := range result.Remarks.Merged {
		w.ui.Print("%s", m)
	}
	if at := filepath.Join(w.scope.Base, "skl.toml"); slices.Contains(result.Remarks.Resolved, at) {
		w.ui.Print("%s: both sides in one", w.scope.Short(at))
	}
	w.ui.Print("%s: %s, %s", w.scope.Short(filepath.Join(w.scope.Base, "skl.lock")), diag.Count(len(result.Lock.Skills), "skill"), result.LockState)
	if !result.DryRun {
		for _, next := range result.Remarks.Next {
			w.ui.Hint("%s", next)
		}
	}
	return nil
}
