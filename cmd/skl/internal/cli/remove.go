package cli

import (
	"context"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/spec/diag"
	"github.com/urfave/cli/v2"
)

func removeCommand() command {
	return command{name: "remove", aliases: []string{"rm", "uninstall"}, args: "NAME…", group: "Skills", complete: "skill",
		usage: "remove skills with their links and lock entries", output: installResult{},
		example: "skl remove pdf\nskl remove pdf --dry-run",
		flags:   []cli.Flag{forceFlag(), dryRunFlag()},
		run:     runRemove}
}

func runRemove(ctx context.Context, w *world, c *cli.Context) error {
	if !c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "skl remove needs the name of a skill").Hint("skl list")
	}
	return w.printInstall(w.Remove(ctx, apply.RemoveRequest{Names: c.Args().Slice(), Force: c.Bool("force"), DryRun: c.Bool("dry-run")}))
}
