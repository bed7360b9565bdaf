package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func checkCommand() command {
	return command{name: "check", group: "Team", usage: "the one line for CI: lock fresh, files verified, no open conflicts, no findings", output: inspect.Checked{},
		example: "skl check\nskl check --base origin/main\nskl check --budget\nskl check --sarif",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "base", Usage: "also refuse a lower trust than at the git revision `REV` (exit 4)"},
			&cli.BoolFlag{Name: "budget", Usage: "also refuse more skills than an agent tells its model of in full (exit 3)"},
			&cli.BoolFlag{Name: "sarif", Usage: "print findings as SARIF"},
		},
		run: runCheck}
}

func runCheck(ctx context.Context, w *world, c *cli.Context) error {
	out, err := w.inspect.Check(ctx, c.String("base"), c.Bool("budget"))
	if err != nil {
		return err
	}
	r := report.Check(out)
	if c.Bool("sarif") {
		r = report.Report{Result: diag.SARIF(out.Findings(), build.Current().Version), End: r.End}
		return r.JSON(w.ui)
	}
	return r.Write(w.ui)
}

func statusCommand() command {
	return command{name: "status", group: "Team", usage: "manifest, lock, disk and agents at a glance", output: inspect.Status{},
		example: "skl status\nskl status -g",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			s, err := w.inspect.Status(ctx)
			if err != nil {
				return err
			}
			return w.desk.Status(s).Write(w.ui)
		}}
}
