package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
)

func doctorCommand() command {
	return command{name: "doctor", group: "Copies", usage: "look at the environment, the agents and the copies they load", output: report.Diagnosis{},
		example: "skl doctor\nskl doctor --fix\nskl doctor --hosts",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "hosts", Usage: "only list the agents that skl knows, with their ids"}, &cli.BoolFlag{Name: "fix", Usage: "mend links, copies and line endings, settle an interrupted install"}, dryRunFlag()},
		run:     runDoctor}
}

func runDoctor(ctx context.Context, w *world, c *cli.Context) error {
	if c.Bool("hosts") {
		if c.Bool("fix") {
			return diag.New(diag.Misuse, "usage", "--hosts only lists, so it does not go with --fix")
		}
		return report.KnownHosts(w.inspect.KnownHosts()).Write(w.ui)
	}
	out, err := w.inspect.Doctor(ctx, c.Bool("fix") && !c.Bool("dry-run"))
	if err != nil {
		return err
	}
	return report.Doctor(out).Write(w.ui)
}
