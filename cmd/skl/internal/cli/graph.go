package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/graph"
)

func graphCommand() command {
	return command{name: "graph", args: "NAME|PATH", usage: "draw a skill's tree", output: graph.Flow{}, complete: "skill",
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
	r, err := w.runs.Runnable(ctx, arg)
	if err != nil {
		return err
	}
	opt := graph.Options{Ops: !c.Bool("no-ops")}
	if name := c.String("run"); name != "" {
		if opt.Status, err = w.nodeStatus(name); err != nil {
			return err
		}
	}
	format := c.String("format")
	if w.ui.JSON {
		format = "json"
	}
	var text string
	switch format {
	case "text":
		text = graph.Text(r.Skill, opt)
	case "mermaid":
		text = graph.Mermaid(r.Skill, opt)
	case "svg":
		text = graph.SVG(r.Skill, opt)
	case "dot":
		text = graph.DOT(r.Skill, opt)
	case "json":
		text = graph.JSON(r.Skill, opt)
	default:
		return diag.New(diag.Misuse, "usage", "there is no format %q", format).Meant("text", "mermaid", "svg", "dot", "json")
	}
	if file := c.String("output"); file != "" {
		return durable.WriteFile(scope.Absolute(w.Cwd, file), []byte(text), 0o644)
	}
	w.ui.Raw([]byte(text))
	return nil
}

// nodeStatus is how each node ended in a recorded run, by its id.
func (w *world) nodeStatus(name string) (map[string]string, error) {
	rec, err := w.runs.Find(name)
	if err != nil {
		return nil, err
	}
	events, err := w.runs.RunEvents(rec.ID)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, e := range events {
		if e.Node != "" && e.Status != "" {
			out[e.Node] = string(e.Status)
		}
	}
	return out, nil
}
