package plan

import (
	"regexp"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// LeafKind says what happens at a node that holds natural language.
type LeafKind uint8

const (
	NoLeaf  LeafKind = iota // control flow, a call, a file: no prose to fill
	Ask                     // a model is asked; Children are its detail
	Header                  // a model is asked, then Children run as siblings (ruling 5.14)
	Title                   // the text ends with a colon: no model; Children run as siblings
	Say                     // the text is shown as it is (ruling 5.35)
	Nothing                 // continue or skip alone (ruling 5.34)
)

// A Leaf is how a prose node is filled.
type Leaf struct {
	Kind   LeafKind
	Text   string       // without the prefix "natural language:"
	Report bool         // "Report: …": the answer is output
	Detail []*tree.Node // children that are steps of the same leaf
}

var literalLeaf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:cancelled|skip|continue)\b`) })

// Leaf decides about a node. Prose nodes are leaves, and a Bind of a phrase is one.
func (p *Plan) Leaf(n *tree.Node) Leaf {
	switch n.Kind {
	case tree.Prose:
		text := n.Body
		if text == "" && len(n.Outs) == 0 {
			text = n.Text
		}
		return leafOf(text, n)
	case tree.Bind:
		if e := p.Expr(n); e.Phrase != "" {
			return Leaf{Kind: Ask, Text: n.Text}
		}
	}
	return Leaf{}
}

func leafOf(text string, n *tree.Node) Leaf {
	text = strings.TrimSpace(text)
	word := strings.ToLower(strings.Trim(text, ". "))
	switch {
	case controls(n.Children):
		l := Leaf{Kind: Header, Text: strip(text)}
		if strings.HasSuffix(text, ":") {
			l.Kind = Title
		}
		return l
	case len(n.Outs) > 0: // something must be bound, so the text is not literal
	case word == "continue" || word == "skip":
		return Leaf{Kind: Nothing, Text: text}
	case literalLeaf().MatchString(text):
		return Leaf{Kind: Say, Text: text}
	}
	text = strip(text)
	return Leaf{Kind: Ask, Text: text, Report: strings.HasPrefix(text, "Report:"), Detail: n.Children}
}

func strip(text string) string {
	text = strings.TrimSpace(text)
	const prefix = "natural language:"
	if len(text) > len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
		text = strings.TrimSpace(text[len(prefix):])
	}
	return text
}

// controls reports whether anything below is more than prose without a result.
func controls(nodes []*tree.Node) bool {
	for _, n := range nodes {
		if n.Kind != tree.Prose || len(n.Outs) > 0 || controls(n.Children) {
			return true
		}
	}
	return false
}

// Mentions returns the names that the text of n, and of its detail, refers to: those that the plan binds
// somewhere, in order, without duplicates.
//
//go:noinline
func (p *Plan) Mentions(n *tree.Node) []string {
	var text strings.Builder
	text.WriteString(n.Text)
	tree.Walk(p.Leaf(n).Detail, func(c *tree.Node) bool {
		text.WriteByte('\n')
		text.WriteString(c.Text)
		return true
	})
	return resource.Mentions(text.String(), func(name string) bool { return p.names[cond.Root(name)] })
}

var targetPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)(?:\\b(?:to|into|as)|→)\\s+`([^`]+)`")
})

// WriteTarget returns the path that a Read of a template writes the filled text to, as written; "" if it names none.
func WriteTarget(n *tree.Node) string {
	if n.Kind != tree.Read || resource.CategoryOf(n.Path) != resource.Template {
		return ""
	}
	_, rest, _ := strings.Cut(n.Text, n.Path)
	if m := targetPath().FindStringSubmatch(rest); m != nil && strings.ContainsAny(m[1], "./<{$") {
		return m[1]
	}
	return ""
}
