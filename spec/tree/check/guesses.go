package check

import (
	"iter"
	"maps"
	"strings"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// Guesses are the names that hold an unbound name: `bind size = big` gives size the text "big" where nothing binds big, since trees
// write texts so. No rule decides by that text, unless a condition or case has the same word and so says that it is a text.
type Guesses struct {
	words map[string]map[string]bool // by binding: the words that it may hold
	sure  map[string]bool            // bindings that something else binds as well
}

// FindGuesses looks through nodes. op is what a call means, or nil; bound reports whether something binds a name.
func FindGuesses(nodes iter.Seq[*tree.Node], op func(*tree.Node) *tree.Op, bound func(name string) bool) Guesses {
	g := Guesses{map[string]map[string]bool{}, map[string]bool{}}
	said := map[string]bool{} // words of conditions and cases
	var from []handed
	for n := range nodes {
		for _, t := range n.Outs {
			g.sure[t.Name] = true
		}
		switch n.Kind {
		case tree.If, tree.ElseIf, tree.Case:
			for _, word := range strings.FieldsFunc(n.Cond, func(r rune) bool { return strings.ContainsRune(" \t\"'()=!<>,", r) }) {
				said[strings.ToLower(word)] = true
			}
		case tree.ForEach:
			g.sure[n.Var] = true
		case tree.Bind:
			switch o, ok := cond.ParseOperand(n.Body); {
			case ok && o.Kind == cond.Word && IsName(o.Text) && !bound(o.Text):
				g.words[n.Var] = with(g.words[n.Var], map[string]bool{o.Text: true})
			case ok && (o.Kind == cond.Word || o.Kind == cond.Path) && bound(plainName(o.Text)):
				from = append(from, handed{plainName(o.Text), n.Var})
			default:
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
	for name, words := range g.words {
		for word := range words {
			if said[strings.ToLower(word)] {
				delete(words, word)
				g.sure[name] = true
			}
		}
	}
	return g
}

// handed is that a binding takes its value from another.
type handed struct{ from, to string }

// These bound what a hostile tree can ask for. Names are handed on in the order of the page, so that one pass finds most.
const (
	maxPasses = 32
	maxWords  = 64
)

// passed adds which names give the parameters of an op their values.
func (g *Guesses) passed(n *tree.Node, op *tree.Op, from []handed) []handed {
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
		if name := plainName(v.Text); (v.Kind == tree.Word || v.Kind == tree.Ref) && IsName(name) {
			from = append(from, handed{name, param})
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

// Only reports whether name holds nothing but unbound names, and returns one.
func (g Guesses) Only(name string) (word string, ok bool) {
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

// Holds reports whether value is an unbound name that name holds.
func (g Guesses) Holds(name string, value any) bool {
	text, ok := value.(string)
	return ok && g.words[name][text]
}

// unboundIn is the first name on the right side of a bind node that is sure to be a name and that nothing binds: a reference, a word with
// an underscore or a dollar sign, a part of a sum.
func (c *checker) unboundIn(body string) string {
	parts := strings.Split(body, " + ")
	for _, part := range parts {
		o, ok := cond.ParseOperand(part)
		if name, dollar := strings.CutPrefix(strings.TrimSpace(part), "$"); dollar && IsName(name) && name != "ARGUMENTS" {
			return "$" + name
		}
		switch {
		case !ok:
			return "" // natural language, or a list
		case o.Kind == cond.Path && !c.bound[root(o.Text)] && !c.bound[plainName(o.Text)],
			o.Kind == cond.Word && IsName(o.Text) && !c.bound[o.Text] && (len(parts) > 1 || SureName(o.Text)):
			return o.Text
		}
	}
	return ""
}

// SureName reports whether a bare word is written like a name, and no text: in lower case with an underscore, or behind a dollar sign.
func SureName(word string) bool {
	if name, ok := strings.CutPrefix(word, "$"); ok {
		return IsName(name) && name != "ARGUMENTS"
	}
	return IsName(word) && strings.Contains(word, "_") && strings.ToLower(word) == word
}
