package chunk

import (
	"fmt"

	"strings"
)

// dump prints an Outline: nodes indented by their depth, then pieces and references.
func dump(o Outline) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d lines\n", o.Language, o.Lines)
	depth := make([]int, len(o.Nodes))
	label := func(p Part) string {
		s := p.Type.String()
		if p.Name != "" {
			s += " " + p.Name
		}
		if p.Owner != "" {
			s += " of " + p.Owner
		}
		return s
	}
	for i, n := range o.Nodes {
		if n.Parent >= 0 {
			depth[i] = depth[n.Parent] + 1
		}
		fmt.Fprintf(&b, "%s%s :%d-%d\n", strings.Repeat("  ", depth[i]), label(n), n.FirstLine, n.LastLine)
	}
	for _, p := range o.Pieces {
		fmt.Fprintf(&b, "piece :%d-%d %s\n", p.FirstLine, p.LastLine, label(o.Nodes[p.Node]))
	}
	for _, r := range o.References {
		fmt.Fprintf(&b, "%s %s :%d", r.Kind, r.Name, r.FirstLine)
		if r.Source >= 0 {
			fmt.Fprintf(&b, " in %s", label(o.Nodes[r.Source]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
