package tree

import "strings"

// Print writes t in its own syntax, canonically: that is what "skl fmt" makes of it.
func Print(t *Tree) string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	if t.Fenced {
		b.WriteString("```\n")
	}
	printLines(t, func(_ *Node, indent, text string) {
		b.WriteString(indent)
		b.WriteString(text)
		b.WriteByte('\n')
	})
	if t.Fenced {
		b.WriteString("```\n")
	}
	return b.String()
}

// printLines calls put with each line of t, in order, in two parts.
func printLines(t *Tree, put func(n *Node, indent, text string)) {
	p := printer{box: t.Syntax == BoxSyntax, bullet: t.Bullet, put: put}
	if p.bullet == "" {
		p.bullet = "*"
	}
	if t.Label != nil {
		if p.box {
			put(t.Label, "", lineText(t.Label))
		} else {
			put(t.Label, p.bullet+" ", lineText(t.Label))
			p.indent = append(p.indent, "  "...)
		}
	}
	p.nodes(t.Nodes)
}

type printer struct {
	box    bool
	bullet string
	indent []byte
	put    func(*Node, string, string)
}

func (p *printer) nodes(nodes []*Node) {
	depth := len(p.indent)
	for i, n := range nodes {
		head, rail := p.bullet+" ", "  "
		if p.box {
			head, rail = "├── ", "│   "
			if i == len(nodes)-1 {
				head, rail = "└── ", "    "
			}
		}
		p.indent = append(p.indent[:depth], head...)
		p.put(n, string(p.indent), lineText(n))
		p.indent = append(p.indent[:depth], rail...)
		p.nodes(n.below())
	}
	p.indent = p.indent[:depth]
}

// below are the children of n that have lines of their own.
func (n *Node) below() []*Node {
	if len(n.Children) > 0 && n.Children[0].OnLine != "" {
		return n.Children[1:]
	}
	return n.Children
}

// lineText is the text of n as it stands in a file, with the step on its line.
func lineText(n *Node) string {
	text, note := n.Text, n.Note
	for up := n; len(up.Children) > 0 && up.Children[0].OnLine != ""; {
		up = up.Children[0]
		text, note = text+up.OnLine+up.Text, note+up.Note
	}
	if strings.IndexByte(text, '\n') >= 0 { // of a node that a program made
		text = strings.ReplaceAll(text, "\n", " ")
	}
	if note != "" {
		text += " ← " + note
	}
	return escape(text)
}
