package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/report"
)

func disableCommand() command {
	return command{name: "disable", args: "NAME", group: "Copies", usage: "put a copy where no agent loads it", output: inspect.Moved{}, complete: "skill",
		example: "skl disable pdf\nskl disable pdf --scope user",
		flags:   []cli.Flag{dryRunFlag()},
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			return w.move(ctx, c, false)
		}}
}

func enableCommand() command {
	return command{name: "enable", args: "NAME", group: "Copies", usage: "put a disabled copy back", output: inspect.Moved{}, complete: "skill",
		example: "skl enable pdf",
		flags:   []cli.Flag{dryRunFlag()},
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			return w.move(ctx, c, true)
		}}
}

func (w *world) move(ctx context.Context, c *cli.Context, back bool) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	out, err := w.inspect.Move(ctx, inspect.MoveRequest{Name: name, Back: back, DryRun: c.Bool("dry-run")})
	return w.show(out, err, func(say *report.Text) {
		say.Print("%s: %s → %s", out.Name, w.scope.Short(out.From), w.scope.Short(out.To))
	})
}
