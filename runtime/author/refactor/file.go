package refactor

import (
	"maps"
	"path"
	"slices"

	"github.com/skl-project/skl/spec/tree"
)

// filesAlike reports the files that enough skills hold and that no op takes along.
func (c *comparison) filesAlike(moving []*group) {
	takes := map[Place]bool{}
	for _, g := range moving {
		for _, o := range g.ops {
			for _, file := range g.files {
				takes[Place{Skill: o.in.name, File: file}] = true
			}
		}
	}
	same := map[string][]Place{}
	for _, name := range c.names {
		h := c.holders[name]
		for _, file := range slices.Sorted(maps.Keys(h.files)) {
			if len(h.files[file].Data) > 0 && !h.isFixed(file) {
				key := digest(string(h.files[file].Data))
				same[key] = append(same[key], Place{Skill: name, File: file})
			}
		}
	}
	for key, places := range same {
		in := map[string]bool{}
		staying := false
		for _, p := range places {
			in[p.Skill] = true
			staying = staying || !takes[p]
		}
		if len(in) >= c.report.Compared.Min && staying {
			first := places[0]
			c.report.Left = append(c.report.Left, Alike{"file", first.File, key, places, c.holders[first.Skill].fileStays(first.File)})
		}
	}
}

// fileStays says why a file has no place in another skill.
func (h *holder) fileStays(file string) string {
	if h.readers == nil {
		h.readers = map[string]string{}
		read := func(nodes []*tree.Node, reason string) {
			tree.Walk(nodes, func(n *tree.Node) bool {
				if name := path.Clean(n.Path); n.Path != "" && h.readers[name] == "" {
					h.readers[name] = reason
				}
				return true
			})
		}
		if h.tree.Tree != nil {
			read(h.tree.Tree.Nodes, "the tree of "+h.name+" reads it, and no path of a tree leads into another skill")
		}
		for _, o := range h.ops {
			if o.Tree != nil {
				read(o.Tree.Nodes, "the op "+shown(o.Name)+" of "+h.name+" reads it and stays")
			}
		}
	}
	if reason := h.readers[file]; reason != "" {
		return reason
	}
	return "no op alone uses it, and only ops can be called from another skill"
}
