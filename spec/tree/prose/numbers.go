package prose

import (
	"regexp"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/tree"
)

// numberedStep is a step that is named by its number.
var numberedStep = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bsteps? #?\d`) })

// numbers reports the text outside of the list that names a step by its number. in reports whether a line is of the list.
func (c *reader) numbers(in func(line int) bool) {
	for n := c.doc.BodyLine; n <= c.lastLine(); n++ {
		if c.kinds[n] == textLine && !in(n) && numberedStep().MatchString(c.line(n)) {
			c.lose(n, "it names a step by its number, and the steps of a tree have none")
		}
	}
}

const newNumbers = "%s:%d: it names a step by its number, and the steps have new numbers: see which one is meant"

// numbers reports what names a step by its number: nodes, prose of ops that has no numbers of its own, and text around the tree.
func (w *writer) numbers(p *paper) {
	each := func(n *tree.Node) bool {
		if numberedStep().MatchString(n.Text) {
			w.lose(newNumbers, n.Pos.File, n.Pos.Line)
		}
		return true
	}
	s := w.skill
	tree.Walk(s.Tree.Nodes, each)
	for _, op := range s.Ops {
		if op.Tree != nil {
			tree.Walk(op.Tree.Nodes, each)
		}
		if numberedStep().MatchString(op.Prose) && !hasNumbers(op.Prose) {
			w.lose(newNumbers, op.Pos.File, op.Pos.Line)
		}
	}
	for n := s.Doc.BodyLine; n < len(p.starts); n++ {
		if n >= s.Tree.First && n <= s.Tree.Last || s.Guard != nil && n >= s.Guard.Pos.Line && n <= s.Guard.Last {
			continue
		}
		if l := p.src[p.start(n):p.start(n+1)]; headLevel(string(l)) == 0 && numberedStep().Match(l) {
			w.lose(newNumbers, s.File, n)
		}
	}
}

// hasNumbers reports whether a text has a numbered list of its own.
func hasNumbers(text string) bool {
	for l := range strings.Lines(text) {
		if _, _, ordered := marker(strings.TrimRight(l, "\r\n")); ordered {
			return true
		}
	}
	return false
}
