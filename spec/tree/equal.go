package tree

import "slices"

// Equal reports whether two trees say the same in the same syntax. Positions and
// IDs do not count.
func Equal(a, b *Tree) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Syntax == b.Syntax && a.Fenced == b.Fenced && a.Bullet == b.Bullet &&
		(a.Label == nil) == (b.Label == nil) && (a.Label == nil || a.Label.equal(b.Label)) &&
		slices.EqualFunc(a.Nodes, b.Nodes, (*Node).equal)
}

func (n *Node) equal(m *Node) bool {
	return n.Kind == m.Kind && n.Text == m.Text && n.Note == m.Note &&
		n.Name == m.Name && n.Bold == m.Bold && n.Inline == m.Inline &&
		slices.EqualFunc(n.Args, m.Args, func(a, b Arg) bool { return a.Name == b.Name && a.Value.equal(b.Value) }) &&
		slices.Equal(n.written(), m.written()) && n.Body == m.Body &&
		n.Cond == m.Cond && n.Var == m.Var && n.In == m.In &&
		n.Question == m.Question && slices.Equal(n.Options, m.Options) && n.Message == m.Message &&
		slices.Equal(n.Fields, m.Fields) && n.Path == m.Path && n.Section == m.Section && n.Matching == m.Matching &&
		slices.EqualFunc(n.Children, m.Children, (*Node).equal)
}

// written are the outputs that stand behind >>. Those that words imply depend on the rest of the skill.
func (n *Node) written() []Target {
	if n.Implied {
		return nil
	}
	return n.Outs
}

func (v Value) equal(w Value) bool {
	return v.Kind == w.Kind && v.Text == w.Text && slices.EqualFunc(v.Items, w.Items, Value.equal)
}
