package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

func removeCommand() command {
	return command{name: "remove", aliases: []string{"rm", "uninstall"}, args: "[NAME…]", group: "Skills", complete: "skill",
		usage: "remove skills with their links and lock entries", output: report.Installed{},
		example: "skl remove pdf\nskl remove --from obra/superpowers\nskl remove --all --dry-run",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "remove all skills that come from `REF`"},
			&cli.BoolFlag{Name: "all", Usage: "remove all skills of skl.toml"},
			forceFlag(), dryRunFlag(),
		},
		run: runRemove}
}

func runRemove(ctx context.Context, w *world, c *cli.Context) error {
	q := apply.RemoveRequest{Names: c.Args().Slice(), All: c.Bool("all"), Force: c.Bool("force"), DryRun: c.Bool("dry-run")}
	ways := 0
	for _, given := range []bool{c.Args().Present(), q.All, c.IsSet("from")} {
		if given {
			ways++
		}
	}
	switch {
	case ways == 0:
		return diag.New(diag.Misuse, "usage", "skl remove needs the name of a skill").Hint("skl list")
	case ways > 1:
		return diag.New(diag.Misuse, "usage", "names, --from and --all exclude each other: use one")
	case c.IsSet("from"):
		from, err := ref.Parse(c.String("from"))
		if err != nil {
			return err
		}
		q.From = &from
	}
	return w.installed(w.apply.Remove(ctx, q))
}
