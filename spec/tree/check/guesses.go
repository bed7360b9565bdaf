package check

import (
	"iter"
	"maps"
	"strings"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// guesses are the names that hold an unbound name: `bind size = big` gives size the text "big" where nothing binds big, since trees
// write texts so, and `OP << size = big` gives it to a parameter. No rule decides by that text.
type guesses struct {
	words map[string]map[string]bool // by binding: the words that it may hold
	sure  map[string]bool            // bindings that something else binds as well
	of    *Words
}

// findGuesses looks through nodes. op is what a call means, or nil.
func findGuesses(nodes iter.Seq[*tree.Node], op func(*tree.Node) *tree.Op, words *Words) guesses {
	g := guesses{map[string]map[string]bool{}, map[string]bool{}, words}
	var from []handed
	for n := range nodes {
		for _, t := range n.Outs {
			g.sure[t.Name] = true
		}
		switch n.Kind {
		case tree.ForEach:
			g.sure[n.Var] = true
		case tree.Bind:
			if o, ok := cond.ParseOperand(n.Body); ok && (o.Kind == cond.Word || o.Kind == cond.Path) {
				from = g.take(n, n.Var, o.Text, o.Kind == cond.Path, from)
			} else {
				g.sure[n.Var] = true
			}
		case tree.Call:
			if callee := op(n); callee != nil {
				from = g.passed(n, callee, from)
			}
		}
	}
	for pass, changed := 0, true; changed && pass < maxPasses; pass++ { // a word goes from name to name
		changed = false
		for _, h := range from {
			if before := len(g.words[h.to]); before < maxWords {
				g.words[h.to] = with(g.words[h.to], g.words[h.from])
				changed = changed || len(g.words[h.to]) > before
			}
		}
	}
	for pass, changed := 0, true; changed && pass < maxPasses; pass++ {
		changed = false
		for _, h := range from {
			if !g.sure[h.to] && (g.sure[h.from] || len(g.words[h.from]) == 0) {
				g.sure[h.to], changed = true, true
			}
		}
	}
	return g
}

// take adds that name gets the value of what is written: of another name, or of a word that nothing binds.
func (g *guesses) take(n *tree.Node, name, written string, ref bool, from []handed) []handed {
	word := plainName(written)
	switch {
	case ref && g.of.bound(root(written)), g.of.bound(word):
		return append(from, handed{word, name})
	case contextField(written) != "" && (g.of.bound("context") || g.of.bound("ctx")): // a field of that, perhaps
		g.sure[name] = true
	case ref && n.Kind == tree.Call, g.of.Of(n, word) == Guess: // other names are errors where they are written
		g.words[name] = with(g.words[name], map[string]bool{word: true})
	default:
		g.sure[name] = true
	}
	return from
}

// handed is that a binding takes its value from another.
type handed struct{ from, to string }

// These bound what a hostile tree can ask for. Names are handed on in the order of the page, so that one pass finds most.
const (
	maxPasses = 32
	maxWords  = 64
)

// passed adds which names give the parameters of an op their values.
func (g *guesses) passed(n *tree.Node, op *tree.Op, from []handed) []handed {
	given := map[string]tree.Value{}
	var free []string
	for _, a := range n.Args {
		given[a.Name] = a.Value
	}
	for _, p := range op.Params {
		if _, ok := given[p.Name]; !ok {
			free = append(free, p.Name)
		}
	}
	take := func(param string, v tree.Value) {
		if name := plainName(v.Text); v.Kind == tree.Ref || v.Kind == tree.Word && IsName(name) {
			from = g.take(n, param, v.Text, v.Kind == tree.Ref, from)
		} else {
			g.sure[param] = true
		}
	}
	for _, a := range n.Args {
		switch {
		case a.Name != "":
			take(a.Name, a.Value)
		case len(free) > 0:
			take(free[0], a.Value)
			free = free[1:]
		}
	}
	return from
}

// plainName is a reference without context.
func plainName(text string) string {
	text = strings.Trim(text, "`")
	if f := contextField(text); f != "" {
		return f
	}
	return text
}

func with(a, b map[string]bool) map[string]bool {
	if a == nil {
		a = map[string]bool{}
	}
	maps.Copy(a, b)
	return a
}

// only reports whether name holds nothing but unbound names, and returns one.
func (g guesses) only(name string) (word string, ok bool) {
	if g.sure[name] {
		return "", false
	}
	for w := range g.words[name] {
		if !ok || w < word {
			word, ok = w, true
		}
	}
	return word, ok
}

// unboundIn is the first name on the right side of a bind node that is sure to be a name and that nothing binds: a reference, a word with
// an underscore or a dollar sign, a part of a sum.
func (c *checker) unboundIn(n *tree.Node) string {
	parts := strings.Split(n.Body, " + ")
	for _, part := range parts {
		o, ok := cond.ParseOperand(part)
		if name, dollar := strings.CutPrefix(strings.TrimSpace(part), "$"); dollar && IsName(name) && name != "ARGUMENTS" {
			return "$" + name
		}
		switch {
		case !ok:
			return "" // natural language, or a list
		case o.Kind == cond.Path && !c.knows(n, root(o.Text)) && !c.knows(n, plainName(o.Text)),
			o.Kind == cond.Word && IsName(o.Text) && !c.knows(n, o.Text) && (len(parts) > 1 || c.words.Of(n, o.Text) == Name):
			return o.Text
		}
	}
	return ""
}
