// Package rd reads R documentation: the text of an Rd file, and its rendering as Markdown. It follows "Parsing Rd files" and "Writing
// R Extensions" of R 4: text is LaTeX-like, R-like or verbatim, as the macro that holds it says. Nothing is run: the code of \Sexpr is
// left out and counted.
//
// A file of up to [MaxBytes] is read, nested to [MaxDepth]; macros that a file or a package defines may produce as much text again.
// What is beyond that, or a brace that is not closed, is an [Error] with its line.
package rd

import (
	"fmt"
	"strings"
)

const (
	MaxBytes = 4 << 20 // of one file, and of all that its own macros produce
	MaxDepth = 100     // braces within braces
	maxCalls = 20_000  // uses of macros that a file or a package defines
)

// An Error says what cannot be read of an Rd file. Line counts from 1; it is 0 where the file as a whole is meant.
type Error struct {
	Line int
	Text string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// A Node is a piece of a file: a leaf with text, or a macro with what stands in its braces.
type Node struct {
	// Tag is Text, Code or Verbatim for a leaf, List for a group or one argument of several, else the macro's name with its backslash.
	Tag string
	Str string // of a leaf

	Option   []Node // what stands in the brackets of a macro
	Children []Node // of a macro with one argument its content; with several one List each
}

// Tags of leaves and groups.
const (
	Text     = "TEXT"
	Code     = "RCODE"
	Verbatim = "VERB"
	List     = "LIST"
)

// Plain is the text of nodes with all markup left out.
func Plain(nodes []Node) string {
	var w strings.Builder
	plain(&w, nodes, 0)
	return w.String()
}

func plain(w *strings.Builder, nodes []Node, depth int) {
	if depth > MaxDepth {
		return
	}
	for i := range nodes {
		n := &nodes[i]
		switch n.Tag {
		case Text, Code, Verbatim:
			w.WriteString(n.Str)
		case `\dots`, `\ldots`:
			w.WriteString("...")
		case `\R`:
			w.WriteString("R")
		case `\cr`, `\tab`:
			w.WriteByte(' ')
		case `\Sexpr`, `\out`, `\figure`:
		case `\if`, `\ifelse`:
			plain(w, chosen(n), depth+1)
		case `\href`, `\enc`, `\eqn`, `\deqn`:
			plain(w, second(n), depth+1)
		default:
			plain(w, n.Children, depth+1)
		}
	}
}

// chosen is the branch of \if or \ifelse that plain text takes.
func chosen(n *Node) []Node {
	if len(n.Children) < 2 {
		return nil
	}
	for _, format := range strings.FieldsFunc(Plain(n.Children[0].Children), func(c rune) bool { return c == ',' || c == ' ' }) {
		if format == "text" || format == "TRUE" {
			return n.Children[1].Children
		}
	}
	if len(n.Children) > 2 {
		return n.Children[2].Children
	}
	return nil
}

// second is the argument of a macro that people read: the last one that holds something. \href has its address first, an equation
// its LaTeX, \enc what not every encoding can hold.
func second(n *Node) []Node {
	for i := len(n.Children) - 1; i >= 0; i-- {
		if c := n.Children[i]; c.Tag != List {
			return n.Children
		} else if n.Tag == `\enc` && i > 0 {
			continue
		} else if len(c.Children) > 0 {
			return c.Children
		}
	}
	return nil
}
