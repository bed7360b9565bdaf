package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/report"
)

func lockCommand() command {
	return command{name: "lock", instead: "skl lock --upgrade %s", group: "Team", usage: "write skl.lock from skl.toml, and nothing else", output: report.Installed{},
		example: "skl lock\nskl lock --upgrade pdf\nskl lock            # after a merge conflict in skl.toml or skl.lock",
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "upgrade", Usage: "choose the newest release of `NAME` again (repeatable)"},
			acceptFlag(), reasonFlag(), dryRunFlag(),
		},
		run: runLock}
}

func runLock(ctx context.Context, w *world, c *cli.Context) error {
	result, err := w.apply.Lock(ctx, apply.LockRequest{Upgrade: namesIn(c, "upgrade"), Accept: accepted(c), Reason: c.String("reason"), DryRun: c.Bool("dry-run")})
	if err != nil {
		return err
	}
	return w.desk.Lock(result).Write(w.ui)
}
