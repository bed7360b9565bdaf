package tree_test

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/spec/tree"
)

// dump writes a tree as one line for each node: its kind, then each field that is set.
func dump(t *tree.Tree) string {
	if t == nil {
		return "no tree\n"
	}
	var b strings.Builder
	head := "list " + t.Bullet
	if t.Syntax == tree.BoxSyntax {
		head = "box"
	}
	if t.Fenced {
		head += ", fenced"
	}
	fmt.Fprintf(&b, "%s, lines %d-%d\n", head, t.First, t.Last)
	if t.Label != nil {
		b.WriteString(dumpNode(t.Label) + "\n")
	}
	dumpNodes(&b, t.Nodes, 1)
	return b.String()
}

func dumpNodes(b *strings.Builder, nodes []*tree.Node, depth int) {
	for _, n := range nodes {
		b.WriteString(strings.Repeat("  ", depth) + dumpNode(n) + "\n")
		dumpNodes(b, n.Children, depth+1)
	}
}

func dumpNode(n *tree.Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d %s", n.Pos.Line, n.Pos.Column, n.Kind)
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, " %s=‹%s›", name, value)
		}
	}
	flag := func(name string, on bool) {
		if on {
			b.WriteString(" " + name)
		}
	}
	field("name", n.Name)
	flag("bold", n.Bold)
	field("inline", n.Inline)
	field("cond", n.Cond)
	field("var", n.Var)
	field("in", n.In)
	field("question", n.Question)
	for _, o := range n.Options {
		field("option", o)
	}
	field("message", n.Message)
	for _, f := range n.Fields {
		field("field", f.Text)
		field("value", f.Value)
	}
	for _, a := range n.Args {
		name := "arg"
		if a.Name != "" {
			name += "." + a.Name
		}
		field(name, dumpValue(a.Value))
	}
	field("path", n.Path)
	field("section", n.Section)
	flag("matching", n.Matching)
	for _, o := range n.Outs {
		name := "out"
		if o.Group {
			name = "group"
		}
		field(name, o.Name)
	}
	field("body", n.Body)
	field("note", n.Note)
	if n.Kind == tree.Label {
		field("text", n.Text)
	}
	return b.String()
}

var valueKinds = [...]string{"word", "string", "number", "bool", "null", "list", "arguments", "ref"}

func dumpValue(v tree.Value) string {
	if v.Kind != tree.List {
		return valueKinds[v.Kind] + " " + v.Text
	}
	var items []string
	for _, i := range v.Items {
		items = append(items, dumpValue(i))
	}
	return "list [" + strings.Join(items, "; ") + "]"
}
