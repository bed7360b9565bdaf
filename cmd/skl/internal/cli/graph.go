package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/tree/graph"
)

func graphCommand() command {
	return command{name: "graph", args: "NAME|PATH", group: "Run", usage: "draw a skill's tree", output: graph.Flow{}, complete: "skill",
		example: "skl graph review\nskl graph ./review --format svg -o review.svg\nskl graph review --run last",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT`: text, mermaid, svg, dot or json"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`"},
			&cli.BoolFlag{Name: "no-ops", Usage: "leave out the bodies of ops"},
			&cli.StringFlag{Name: "run", Usage: "colour the nodes by what happened in `RUN`"},
		},
		run: runGraph}
}

func runGraph(ctx context.Context, w *world, c *cli.Context) error {
	arg, err := oneName(c)
	if err != nil {
		return err
	}
	d := session.Drawing{Format: c.String("format"), Ops: !c.Bool("no-ops"), Run: c.String("run")}
	if w.ui.JSON {
		d.Format = "json"
	}
	text, err := w.runs.Draw(ctx, arg, d)
	if err != nil {
		return err
	}
	if file := c.String("output"); file != "" {
		return durable.WriteFile(scope.Absolute(w.scope.Cwd, file), []byte(text), 0o644)
	}
	if d.Format == "text" {
		w.ui.Tree(text)
	} else {
		w.ui.Raw([]byte(text))
	}
	return nil
}
