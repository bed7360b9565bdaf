package session

import (
	"context"

	"github.com/skl-project/skl/spec/diag"
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
	out := map[string]string{}
	for _, e := range traced.Events {
		if e.Node != "" && e.Status != "" {
			out[e.Node] = string(e.Status)
		}
	}
	return out, nil
}
