package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/report"
)

func ciCommand() command {
	return command{name: "ci", instead: "skl ci installs what skl.lock says; skl install %s adds to it", group: "Team", usage: "install exactly what skl.lock says, or nothing", output: report.Installed{},
		example: "skl ci\nskl ci --offline",
		flags:   []cli.Flag{hostFlag("install for the agent `HOST` only"), unsignedFlag(), dryRunFlag()},
		run:     runFrozen}
}

func runFrozen(ctx context.Context, w *world, c *cli.Context) error {
	return w.installed(w.apply.Frozen(ctx, apply.FrozenRequest{Hosts: namesIn(c, "host"), AllowUnsigned: c.Bool("allow-unsigned"), DryRun: c.Bool("dry-run")}))
}
