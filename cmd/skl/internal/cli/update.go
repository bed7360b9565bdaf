package cli

import (
	"cmp"
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/diag"
)

func updateCommand() command {
	return command{name: "update", aliases: []string{"upgrade"}, args: "[NAME…]", group: "Skills", complete: "skill",
		usage: "choose newer releases within the constraints", output: report.Installed{},
		example: "skl update\nskl update pdf --latest\nskl update --dry-run\nskl update --hold pdf --reason 'waiting for review'",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "latest", Usage: "go beyond the constraints in skl.toml, and rewrite them"},
			&cli.BoolFlag{Name: "safe", Usage: "leave skills with local edits, and those that ask for more, as they are and update the rest"},
			&cli.StringFlag{Name: "hold", Usage: "do not update `NAME` from now on"},
			&cli.StringFlag{Name: "unhold", Usage: "update `NAME` again"},
			&cli.StringFlag{Name: "reason", Usage: "why, of a hold or of what is accepted: skl.toml keeps that"},
			forceFlag(), acceptFlag(), unsignedFlag(), dryRunFlag(),
		},
		run: runUpdate}
}

func runUpdate(ctx context.Context, w *world, c *cli.Context) error {
	if hold := cmp.Or(c.String("hold"), c.String("unhold")); hold != "" {
		if c.Args().Present() || c.String("hold") != "" && c.String("unhold") != "" {
			return diag.New(diag.Misuse, "usage", "--hold and --unhold take one skill at a time, and nothing is updated meanwhile").Hint("skl update --help")
		}
		return w.hold(ctx, apply.HoldRequest{Name: hold, Hold: c.String("hold") != "", Reason: c.String("reason"), DryRun: c.Bool("dry-run")})
	}
	return w.installed(w.apply.Update(ctx, apply.UpdateRequest{
		Names: c.Args().Slice(), Latest: c.Bool("latest"), Safe: c.Bool("safe"),
		Agreed: agreed(c), DryRun: c.Bool("dry-run"),
	}))
}

func (w *world) hold(ctx context.Context, r apply.HoldRequest) error {
	if err := w.apply.Hold(ctx, r); err != nil {
		return err
	}
	return w.show(report.Installed{OK: true, Changes: []install.Change{}, Lock: "unchanged"}, nil, func(say *report.Text) {
		say.Print("%s %s held", r.Name, map[bool]string{true: "is", false: "is no longer"}[r.Hold])
	})
}

func outdatedCommand() command {
	return command{name: "outdated", args: "[NAME…]", group: "Team", usage: "show newer releases", output: report.Outdated{}, complete: "skill",
		example: "skl outdated\nskl outdated --json",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			list, of, err := w.apply.Outdated(ctx, c.Args().Slice())
			if err != nil {
				return err
			}
			return report.OutdatedOf(list, of).Write(w.ui)
		}}
}
