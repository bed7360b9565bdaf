package rd

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// A Renderer writes the text of a page as Markdown. Links to other pages become plain names: who assembles pages knows where they lie.
// Pictures are their alternative text, equations their LaTeX in code, raw text for HTML and LaTeX is left out.
type Renderer struct {
	// Computed counts the uses of \Sexpr, whose code would have to be run.
	Computed int
}

// Markdown is the text of nodes: paragraphs, lists, tables and fenced code, without an empty line at its end.
func (r *Renderer) Markdown(nodes []Node) string {
	return strings.Join(r.blocks(nodes, 0), "\n\n")
}

// Line is the text of nodes as one line.
func (r *Renderer) Line(nodes []Node) string {
	b := builder{r: r}
	b.nodes(nodes, 0)
	b.flush()
	return strings.Join(strings.Fields(strings.Join(b.out, " ")), " ")
}

func (r *Renderer) blocks(nodes []Node, depth int) []string {
	b := builder{r: r}
	b.nodes(nodes, depth)
	b.flush()
	return b.out
}

// A builder collects paragraphs.
type builder struct {
	r    *Renderer
	out  []string
	line strings.Builder // the paragraph so far; a line break that was asked for is hard
}

const hard = "\x01" // no Rd file holds it: see flush

var paragraphs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\n[ \t]*\n`) })

// flush ends a paragraph.
func (b *builder) flush() {
	text := b.line.String()
	b.line.Reset()
	if strings.TrimSpace(text) == "" {
		return
	}
	for _, p := range paragraphs().Split(text, -1) {
		lines := strings.Split(p, hard)
		kept := lines[:0]
		for _, l := range lines {
			if l = strings.Join(strings.Fields(l), " "); l != "" {
				kept = append(kept, opening(l))
			}
		}
		if len(kept) > 0 {
			b.out = append(b.out, strings.Join(kept, "\\\n"))
		}
	}
}

var blockMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([-+#>=~|]|[0-9]+[.)]( |$))`) })

// opening is a line that opens no list, heading or quotation by how it begins.
func opening(l string) string {
	if m := blockMark().FindString(l); m != "" {
		if '0' <= m[0] && m[0] <= '9' {
			at := strings.IndexAny(l, ".)")
			return l[:at] + `\` + l[at:]
		}
		return `\` + l
	}
	return l
}

// escape is text that means nothing to Markdown.
func escape(s string) string {
	s = strings.ReplaceAll(s, hard, "")
	if !strings.ContainsAny(s, "\\`*_[]<>&|~!$") {
		return s
	}
	var w strings.Builder
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\', '`', '*', '[', ']', '<', '|':
			w.WriteByte('\\')
		case '_', '~':
			if i == 0 || i+1 == len(s) || !word(s[i-1]) || !word(s[i+1]) {
				w.WriteByte('\\')
			}
		case '&':
			if i+1 < len(s) && (word(s[i+1]) || s[i+1] == '#') {
				w.WriteByte('\\')
			}
		}
		w.WriteByte(s[i])
	}
	return w.String()
}

func word(c byte) bool { return letter(c) || '0' <= c && c <= '9' || c >= 0x80 }

// span is code in a line.
func span(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return ""
	}
	return pkgdoc.Code(s)
}

// around puts a mark on both sides of text that is not empty.
func (b *builder) around(mark string, nodes []Node, depth int) {
	inner := builder{r: b.r}
	inner.nodes(nodes, depth+1)
	inner.flush()
	if text := strings.Join(inner.out, " "); text != "" {
		b.line.WriteString(mark + text + mark)
	}
}

func (b *builder) block(text string) {
	b.flush()
	if text != "" {
		b.out = append(b.out, text)
	}
}

func (b *builder) nodes(nodes []Node, depth int) {
	if depth > MaxDepth {
		return
	}
	for i := range nodes {
		b.node(&nodes[i], depth)
	}
}

// node adds one node. Names of macros that are not here are left out and what they hold is text.
func (b *builder) node(n *Node, depth int) {
	switch n.Tag {
	case Text, Code, Verbatim:
		b.line.WriteString(escape(n.Str))
	case `\cr`:
		b.line.WriteString(hard)
	case `\tab`:
		b.line.WriteByte(' ')
	case `\R`:
		b.line.WriteString("R")
	case `\dots`, `\ldots`:
		b.line.WriteString("...")
	case `\code`, `\verb`, `\samp`, `\kbd`, `\command`, `\option`, `\env`, `\file`:
		b.line.WriteString(span(Plain(n.Children)))
	case `\preformatted`:
		b.block(pkgdoc.Fence("", strings.TrimRight(Plain(n.Children), " \t\n")))
	case `\emph`, `\dfn`, `\var`, `\cite`:
		b.around("*", n.Children, depth)
	case `\strong`, `\bold`:
		b.around("**", n.Children, depth)
	case `\sQuote`:
		b.around("'", n.Children, depth)
	case `\dQuote`:
		b.around(`"`, n.Children, depth)
	case `\url`:
		b.line.WriteString(link("", Plain(n.Children)))
	case `\href`:
		if len(n.Children) == 2 {
			b.line.WriteString(link(b.r.Line(n.Children[1].Children), Plain(n.Children[0].Children)))
		}
	case `\doi`:
		b.line.WriteString(escape("doi:" + Plain(n.Children)))
	case `\eqn`:
		b.line.WriteString(span(equation(n)))
	case `\deqn`:
		b.block(pkgdoc.Fence("", strings.Join(strings.Fields(equation(n)), " ")))
	case `\figure`:
		b.line.WriteString(escape(alternative(n)))
	case `\if`, `\ifelse`:
		b.nodes(chosen(n), depth+1)
	case `\enc`:
		b.nodes(second(n), depth+1)
	case `\Sexpr`:
		b.r.Computed++
	case `\out`:
	default:
		b.structure(n, depth)
	}
}

// structure adds lists, tables and sections, and what is in macros of no meaning.
func (b *builder) structure(n *Node, depth int) {
	switch n.Tag {
	case `\itemize`:
		b.list(n, "- ", depth)
	case `\enumerate`:
		b.list(n, "1. ", depth)
	case `\describe`, `\arguments`:
		b.block(strings.Join(b.r.described(n.Children, depth), "\n"))
	case `\item`: // outside lists, and in \value
		if len(n.Children) > 1 {
			b.block(b.r.entry(n, depth))
		}
	case `\tabular`:
		b.block(b.r.table(n, depth))
	case `\subsection`, `\section`:
		if len(n.Children) == 2 {
			b.block("**" + b.r.Line(n.Children[0].Children) + "**")
			b.nodes(n.Children[1].Children, depth+1)
			b.flush()
		}
	default:
		b.nodes(n.Children, depth+1)
	}
}

func equation(n *Node) string {
	if len(n.Children) > 0 && n.Children[0].Tag == List {
		return Plain(n.Children[0].Children)
	}
	return Plain(n.Children)
}

var alt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`alt\s*=\s*['"]([^'"]{1,200})`) })

func alternative(n *Node) string {
	if len(n.Children) != 2 {
		return ""
	}
	options := Plain(n.Children[1].Children)
	if m := alt().FindStringSubmatch(options); m != nil {
		return m[1]
	}
	if options = strings.TrimSpace(options); strings.HasPrefix(options, "options:") {
		return ""
	}
	return options
}

// link is a link to an address of the web, else its text.
func link(text, address string) string {
	address = strings.Join(strings.Fields(address), "")
	plainText := text == ""
	if plainText {
		text = escape(address)
	}
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") || strings.ContainsAny(address, "<>\"\\`") {
		return text
	}
	if plainText {
		return "<" + address + ">"
	}
	return "[" + text + "](<" + address + ">)"
}

// list writes the items of \itemize and \enumerate: each goes from one \item to the next.
func (b *builder) list(n *Node, mark string, depth int) {
	var items []string
	var item []Node
	opened := false
	add := func() {
		if opened {
			if text := indent(mark, strings.Join(b.r.blocks(item, depth+1), "\n\n")); text != "" {
				items = append(items, text)
			}
		}
		item = nil
	}
	for _, c := range n.Children {
		if c.Tag == `\item` {
			add()
			opened = true
			for _, arg := range c.Children {
				item = append(item, arg.Children...)
			}
			continue
		}
		item = append(item, c)
	}
	add()
	b.block(strings.Join(items, "\n"))
}

// indent is text behind the mark of a list.
func indent(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(mark))), "\n"+strings.Repeat(" ", len(mark))+"\n", "\n\n")
}

// described are the entries of \describe; text between them is left as paragraphs of its own.
func (r *Renderer) described(nodes []Node, depth int) (out []string) {
	for i := range nodes {
		if n := &nodes[i]; n.Tag == `\item` && len(n.Children) > 0 {
			out = append(out, r.entry(n, depth))
		}
	}
	return out
}

// entry is one \item{term}{text}.
func (r *Renderer) entry(n *Node, depth int) string {
	term := strings.Join(r.blocks(n.Children[0].Children, depth+1), " ")
	var text string
	if len(n.Children) > 1 {
		text = strings.Join(r.blocks(n.Children[1].Children, depth+1), "\n\n")
	}
	if !strings.HasPrefix(term, "`") && !strings.HasPrefix(term, "*") && term != "" {
		term = "**" + term + "**"
	}
	return indent("- ", strings.TrimSuffix(term+": "+text, ": "))
}

// table is a \tabular as a table of Markdown, whose head is empty.
func (r *Renderer) table(n *Node, depth int) string {
	if len(n.Children) < 2 {
		return ""
	}
	var rows [][]string
	var row []string
	var cell []Node
	end := func() {
		row = append(row, strings.ReplaceAll(r.Line(cell), "\n", " "))
		cell = nil
	}
	width := 0
	for _, c := range append(n.Children[1].Children, Node{Tag: `\cr`}) {
		switch c.Tag {
		case `\tab`:
			end()
		case `\cr`:
			end()
			if strings.Join(row, "") != "" {
				rows, width = append(rows, row), max(width, len(row))
			}
			row = nil
		default:
			cell = append(cell, c)
		}
	}
	if width == 0 || width > 100 {
		return ""
	}
	var w strings.Builder
	fmt.Fprintf(&w, "|%s\n|%s", strings.Repeat("  |", width), strings.Repeat("---|", width))
	for _, row := range rows {
		w.WriteString("\n|")
		for i := range width {
			text := ""
			if i < len(row) {
				text = row[i]
			}
			w.WriteString(" " + text + " |")
		}
	}
	return w.String()
}
