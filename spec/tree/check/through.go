package check

import (
	"slices"

	"github.com/skl-project/skl/spec/tree"
)

// An op without contracts passes values through: its results are the names its own tree binds, its parameters the values of
// its calls. So the contracts of the ops that it calls, and of those whose results it gets, hold through it.

// sources are the names whose values a call binds to other names, by these.
type sources map[string][]string

// bindThrough records what the call n of op, whose tree binds its results, gives to names of the caller. A result that the
// tree never binds is known to nobody.
func (c *checker) bindThrough(n *tree.Node, op *tree.Op, from sources, untyped map[string]bool) {
	inside := c.binds(op)
	for i, t := range n.Outs {
		switch {
		case t.Group || i >= len(op.Outs) || op.Outs[i].Group || !inside[op.Outs[i].Name]:
			untyped[t.Name] = true
		case op.Outs[i].Name != t.Name && !slices.Contains(from[t.Name], op.Outs[i].Name):
			from[t.Name] = append(from[t.Name], op.Outs[i].Name)
		}
	}
}

// binds are the names that the tree of op binds.
func (c *checker) binds(op *tree.Op) map[string]bool {
	if c.opBinds != nil {
		return c.opBinds[op]
	}
	c.opBinds = map[*tree.Op]map[string]bool{}
	for i := range c.bodies {
		names := map[string]bool{}
		c.bodies[i].each(func(n *tree.Node, _ []*tree.Node, _ int) {
			for _, t := range n.Outs {
				names[t.Name] = true
			}
			if n.Var != "" {
				names[n.Var] = true
			}
		})
		c.opBinds[c.bodies[i].op] = names
	}
	return c.opBinds[op]
}

// follow gives names what is known of their sources. One that has a source of which nothing is known is not known itself.
func (from sources) follow(types flowMap, untyped map[string]bool) {
	for range len(from) + 1 {
		changed := false
		for name, list := range from {
			for _, source := range list {
				if untyped[source] || len(types[source]) == 0 && len(from[source]) == 0 {
					changed = changed || !untyped[name]
					untyped[name] = true
				}
				for _, p := range types[source] {
					same := func(q producer) bool { return q.by == p.by && q.name == p.name }
					if len(types[name]) < maxProducers && !slices.ContainsFunc(types[name], same) {
						types[name] = append(types[name], p)
						changed = true
					}
				}
			}
		}
		if !changed {
			return
		}
	}
}

// maxDepth is how many ops are followed into each other.
const maxDepth = 8

// parameters works out what calls give to the parameters of ops without an input contract: of those where every call gives
// something that is known.
func (c *checker) parameters(types flowMap) {
	for range maxDepth {
		next, unknown := map[*tree.Op]flowMap{}, map[*tree.Op]map[string]bool{}
		for i := range c.bodies {
			b := &c.bodies[i]
			b.each(func(n *tree.Node, _ []*tree.Node, _ int) {
				if op := c.skill.Op(n.Name); n.Kind == tree.Call && op != nil && op.Input == nil && op.Tree != nil {
					c.give(n, op, types, b, next, unknown)
				}
			})
		}
		for op, names := range unknown {
			for name := range names {
				delete(next[op], name)
			}
		}
		if sameKnown(c.params, next) {
			return
		}
		c.params = next
	}
	c.params = nil // deeper than anybody writes: nothing is said
}

// give records what the call n gives to the parameters of op.
func (c *checker) give(n *tree.Node, op *tree.Op, types flowMap, b *body, next map[*tree.Op]flowMap, unknown map[*tree.Op]map[string]bool) {
	if next[op] == nil {
		next[op], unknown[op] = flowMap{}, map[string]bool{}
	}
	given, inside := map[string]bool{}, c.binds(op)
	for i, a := range n.Args {
		name := a.Name
		if name == "" && i < len(op.Params) {
			name = op.Params[i].Name
		}
		var found []producer
		if a.Value.Kind == tree.Ref || a.Value.Kind == tree.Word {
			found, _ = c.typeOf(a.Value.Text, types, b)
		}
		if given[name] = true; len(found) == 0 || inside[name] {
			unknown[op][name] = true
		}
		for _, p := range found {
			same := func(q producer) bool { return q.by == p.by && q.name == p.name }
			if !slices.ContainsFunc(next[op][name], same) {
				next[op][name] = append(next[op][name], p)
			}
		}
		if len(next[op][name]) > maxProducers {
			unknown[op][name] = true
		}
	}
	for _, p := range op.Params {
		if !given[p.Name] {
			unknown[op][p.Name] = true
		}
	}
}

// sameKnown reports whether a and b know the same parameters, from as many places.
func sameKnown(a, b map[*tree.Op]flowMap) bool {
	count := func(m map[*tree.Op]flowMap) (names, places int) {
		for _, f := range m {
			for _, p := range f {
				names, places = names+1, places+len(p)
			}
		}
		return names, places
	}
	an, ap := count(a)
	bn, bp := count(b)
	return an == bn && ap == bp
}
