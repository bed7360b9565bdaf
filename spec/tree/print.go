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
		p.nodes(n.Children)
	}
	p.indent = p.indent[:depth]
}

// lineText is the text of n as it stands in a file.
func lineText(n *Node) string {
	text := n.Text
	if strings.IndexByte(text, '\n') >= 0 { // of a node that a program made
		text = strings.ReplaceAll(text, "\n", " ")
	}
	if n.Note != "" {
		text += " ← " + n.Note
	}
	return escape(text)
}
