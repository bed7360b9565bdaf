package main

import (
	"bufio"
	"fmt"
	"regexp"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	javascript "github.com/tree-sitter/tree-sitter-javascript/bindings/go"
	python "github.com/tree-sitter/tree-sitter-python/bindings/go"
	rust "github.com/tree-sitter/tree-sitter-rust/bindings/go"
	typescript "github.com/tree-sitter/tree-sitter-typescript/bindings/go"
)

// A node is one node of the syntax tree, copied out of C.
type node struct {
	kind       string
	field      string
	start, end int
	named      bool
	bad        bool
	children   []*node
}

type parser struct {
	*sitter.Parser
	language *sitter.Language
}

func newParser(name string) (*parser, error) {
	var l *sitter.Language
	switch name {
	case "python":
		l = sitter.NewLanguage(python.Language())
	case "rust":
		l = sitter.NewLanguage(rust.Language())
	case "javascript":
		l = sitter.NewLanguage(javascript.Language())
	case "typescript":
		l = sitter.NewLanguage(typescript.LanguageTypescript())
	case "tsx":
		l = sitter.NewLanguage(typescript.LanguageTSX())
	default:
		return nil, fmt.Errorf("no language %q: python, rust, javascript, typescript, tsx", name)
	}
	p := &parser{sitter.NewParser(), l}
	return p, p.SetLanguage(l)
}

func (p *parser) parse(src []byte) *node {
	tree := p.Parse(src, nil)
	defer tree.Close()
	c := tree.Walk()
	defer c.Close()
	return p.copy(c)
}

func (p *parser) copy(c *sitter.TreeCursor) *node {
	n := c.Node()
	out := &node{
		kind: p.language.NodeKindForId(n.KindId()), field: c.FieldName(), named: n.IsNamed(),
		start: int(n.StartByte()), end: int(n.EndByte()), bad: n.IsError() || n.IsMissing(),
	}
	if n.IsError() {
		out.kind = "ERROR"
	}
	if c.GotoFirstChild() {
		for {
			out.children = append(out.children, p.copy(c))
			if !c.GotoNextSibling() {
				break
			}
		}
		c.GotoParent()
	}
	return out
}

func (n *node) broken() bool {
	if n.bad {
		return true
	}
	for _, c := range n.children {
		if c.broken() {
			return true
		}
	}
	return false
}

// get returns the first child of that field, nil for none (also of a nil node).
func (n *node) get(field string) *node {
	if n != nil {
		for _, c := range n.children {
			if c.field == field {
				return c
			}
		}
	}
	return nil
}

// first returns the first named child that is no comment.
func (n *node) first() *node {
	if n != nil {
		for _, c := range n.children {
			if c.named && !c.is("comment", "line_comment", "block_comment") {
				return c
			}
		}
	}
	return nil
}

func (n *node) is(kinds ...string) bool {
	if n != nil {
		for _, k := range kinds {
			if n.kind == k {
				return true
			}
		}
	}
	return false
}

// has says whether an unnamed child is the given word.
func (n *node) has(word string) bool {
	for _, c := range n.children {
		if !c.named && c.kind == word {
			return true
		}
	}
	return false
}

func (n *node) print(out *bufio.Writer, src []byte, depth int) {
	if n.named {
		fmt.Fprintf(out, "%s%s %s [%d-%d]", strings.Repeat("  ", depth), n.field, n.kind, n.start, n.end)
		if len(n.children) == 0 {
			fmt.Fprintf(out, " %q", src[n.start:n.end])
		}
		fmt.Fprintln(out)
	}
	for _, c := range n.children {
		c.print(out, src, depth+1)
	}
}

// A scope is what surrounds a node.
type scope struct {
	inFunction bool // within the body of a function, anonymous ones included
	inType     bool // the nearest definition around is a type, and no function stands between
	annotation bool // in an annotation
}

type walker struct {
	src        []byte
	symbols    []symbol
	references []reference
	refSeen    map[reference]bool
}

func (w *walker) text(n *node) string {
	if n == nil {
		return ""
	}
	return string(w.src[n.start:n.end])
}

func (w *walker) define(kind string, n, name *node) {
	if n == nil || name == nil || name.start == name.end {
		return
	}
	start := n.start
	for _, c := range n.children {
		if c.kind != "decorator" && !c.is("comment") {
			start = c.start
			break
		}
	}
	w.symbols = append(w.symbols, symbol{Kind: kind, Name: w.text(name), Start: start, End: n.end,
		NameStart: name.start, NameEnd: name.end})
}

var plainPath = regexp.MustCompile(`^[#\w$.:?\x{80}-\x{10ffff}]+$`)

func (w *walker) refer(kind string, name *node, qualifier string) {
	if name == nil || name.start == name.end {
		return
	}
	if !plainPath.MatchString(qualifier) && kind != "import" {
		qualifier = ""
	}
	r := reference{Kind: kind, Name: w.text(name), Qualifier: qualifier, Start: name.start, End: name.end}
	if !w.refSeen[r] {
		w.refSeen[r] = true
		w.references = append(w.references, r)
	}
}
