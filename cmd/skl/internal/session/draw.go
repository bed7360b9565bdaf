package session

import (
	"context"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/graph"
)

// A Drawing says how the tree of a skill is drawn.
type Drawing struct {
	Format string // text, mermaid, svg, dot or json
	Ops    bool   // with the bodies of ops
	Run    string // colour the nodes by what happened in this run; "" for no colours
}

// Draw draws the tree of a skill.
func (rs *Runs) Draw(ctx context.Context, arg string, d Drawing) (string, error) {
	r, err := rs.Runnable(ctx, arg)
	if err != nil {
		return "", err
	}
	opt := graph.Options{Ops: d.Ops}
	if d.Run != "" {
		if opt.Status, err = rs.nodeStatus(d.Run); err != nil {
			return "", err
		}
	}
	switch d.Format {
	case "text":
		return graph.Text(r.Skill, opt), nil
	case "mermaid":
		return graph.Mermaid(r.Skill, opt), nil
	case "svg":
		return graph.SVG(r.Skill, opt), nil
	case "dot":
		return graph.DOT(r.Skill, opt), nil
	case "json":
		return graph.JSON(r.Skill, opt), nil
	}
	return "", diag.New(diag.Misuse, "usage", "there is no format %q", d.Format).Meant("text", "mermaid", "svg", "dot", "json")
}

// nodeStatus is how each node ended in a recorded run, by its id.
func (rs *Runs) nodeStatus(name string) (map[string]string, error) {
	traced, err := rs.Traced(name, "")
	if err != nil {
		return nil, err
	}
	return statusOf(traced.Events), nil
}

// statusOf is how each node ended, by its id, in the words of graph.Options. Of several visits, one that was taken counts.
func statusOf(events []run.Event) map[string]string {
	out, decided := map[string]string{}, map[string]bool{}
	for _, e := range events {
		if e.Kind == run.Decided {
			decided[e.Node] = true
		}
		if e.Kind == run.RunSuspended {
			for node, word := range out {
				if word == "running" {
					out[node] = "waiting"
				}
			}
		}
		if e.Node == "" || e.Kind != run.NodeStarted && e.Kind != run.NodeDone && e.Kind != run.NodeSkipped {
			continue
		}
		was := out[e.Node]
		switch {
		case e.Kind == run.NodeStarted:
			if was == "" || was == "skipped" {
				out[e.Node] = "running"
			}
		case e.Kind == run.NodeDone:
			out[e.Node] = wordOf(e)
		case decided[e.Node] && (was == "" || was == "running" || was == "skipped"):
			out[e.Node] = "passed"
		case was == "" || was == "running":
			out[e.Node] = "skipped"
		}
	}
	return out
}

func wordOf(e run.Event) string {
	switch {
	case e.Status == run.Suspended:
		return "waiting"
	case e.Status == run.Halted && e.Type == tree.End.String():
		return string(run.Ended)
	}
	return string(e.Status)
}
