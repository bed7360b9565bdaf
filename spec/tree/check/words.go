package check

import (
	"iter"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/spell"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// A Word is what a bare word stands for where nothing has given it a value.
type Word uint8

const (
	Text  Word = iota // a text
	Guess             // a text for whoever reads it, and perhaps a name that was misspelt: no rule decides by it
	Name              // a name without a value, which is never a text
)

// Words tells of the bare words of a skill what they stand for. It is safe for concurrent use.
type Words struct {
	bound func(name string) bool
	names *neighbours              // those that are bound
	uses  map[string][2]*tree.Node // by folded word: nodes that use it as a text, two at most
	says  map[string]*tree.Node    // by folded word: a condition or case that has it
	enums map[string]bool          // by folded word: a contract has it among its values
}

// near is how long a word is at least that may be a name with a slip in it.
const near = 5

// FindWords looks through nodes. names are those that something binds, bound reports that something binds one, and enums are the texts of AddEnums.
func FindWords(nodes iter.Seq[*tree.Node], names []string, bound func(string) bool, enums map[string]bool) *Words {
	w := &Words{bound, newNeighbours(names), map[string][2]*tree.Node{}, map[string]*tree.Node{}, enums}
	use := func(n *tree.Node, word string) {
		word = strings.ToLower(strings.Trim(word, "`"))
		if u := w.uses[word]; u[0] == nil {
			w.uses[word] = [2]*tree.Node{n}
		} else if u[0] != n {
			w.uses[word] = [2]*tree.Node{u[0], n}
		}
	}
	for n := range nodes {
		switch n.Kind {
		case tree.If, tree.ElseIf, tree.Case:
			for _, word := range strings.FieldsFunc(n.Cond, func(r rune) bool { return strings.ContainsRune(" \t\"'()=!<>,", r) }) {
				use(n, word)
				w.says[strings.ToLower(word)] = n
			}
		case tree.Call:
			for _, a := range n.Args {
				if a.Value.Kind == tree.Word || a.Value.Kind == tree.String {
					use(n, a.Value.Text)
				}
			}
		case tree.Bind:
			if o, ok := cond.ParseOperand(n.Body); ok && (o.Kind == cond.Word || o.Kind == cond.Quoted) {
				use(n, o.Text)
			}
		case tree.Ask:
			for _, o := range n.Options {
				use(n, o)
			}
		}
	}
	return w
}

// Of is what a bare word in n stands for. It is a text where another node uses it as one: for an input or what a bind node takes that is a condition
// or a case. Without that it is a name if something binds it, or it is written like one, or differs in one letter from one; with a capital it is
// a text.
func (w *Words) Of(n *tree.Node, word string) Word {
	if name, dollar := strings.CutPrefix(word, "$"); dollar && IsName(name) && name != "ARGUMENTS" {
		return Name
	}
	if !IsName(word) || n == nil {
		return Text
	}
	if w.bound(word) {
		return Name
	}
	if w.text(n, strings.ToLower(word)) {
		return Text
	}
	switch {
	case SureName(word) || w.Near(word) != "":
		return Name
	case 'A' <= word[0] && word[0] <= 'Z':
		return Text
	}
	return Guess
}

func (w *Words) text(n *tree.Node, word string) bool {
	if n.Kind == tree.If || n.Kind == tree.ElseIf {
		u := w.uses[word]
		return u[0] != nil && u[0] != n || u[1] != nil || w.enums[word]
	}
	return w.says[word] != nil
}

// Hole reports whether a place that nothing fills in a literal text of n stands for a name: then the text is not what its author means. What a
// person is to agree to has no other places.
func (w *Words) Hole(n *tree.Node, h resource.Hole) bool {
	name := strings.ReplaceAll(cond.Root(h.Path), "-", "_")
	switch {
	case h.Slot, h.Code:
		return w.bound(name) || w.Near(name) != ""
	case h.Sure, n.Kind == tree.Ask, n.Kind == tree.ShowPlan:
		return true
	}
	return w.Of(n, name) == Name
}

// Near is the name that word differs from in one letter, "" if there is none: it is that name with a slip in it. Short words are other words.
func (w *Words) Near(word string) string { return w.names.near(word) }

// slipped reports whether two words differ in one letter, and are long enough for that to be a slip.
func slipped(a, b string) bool {
	return max(len(a), len(b)) >= near && min(len(a), len(b)) >= near-1 && spell.Distance(strings.ToLower(a), strings.ToLower(b), 2) == 1
}

// SureName reports whether a bare word is written like a name, and no text: in lower case with an underscore, or behind a dollar sign.
func SureName(word string) bool {
	if name, ok := strings.CutPrefix(word, "$"); ok {
		return IsName(name) && name != "ARGUMENTS"
	}
	return IsName(word) && strings.Contains(word, "_") && strings.ToLower(word) == word
}

// meantBy is the name that a word with a slip in it means, for a finding that asks after it.
func (c *checker) meantBy(word string) string {
	near := c.words.Near(word)
	if near != "" {
		if c.meant == nil {
			c.meant = map[string]bool{}
		}
		c.meant[near] = true
	}
	return near
}

// AddEnums adds to texts, in lower case, what a schema lists as values, as decoded from JSON.
func AddEnums(texts map[string]bool, schema any) { addEnums(texts, schema, maxHops) }

func addEnums(texts map[string]bool, schema any, depth int) {
	if depth == 0 {
		return
	}
	switch v := schema.(type) {
	case []any:
		for _, e := range v {
			addEnums(texts, e, depth-1)
		}
	case map[string]any:
		list, _ := v["enum"].([]any)
		for _, e := range append(slices.Clip(list), v["const"]) {
			if text, ok := e.(string); ok {
				texts[strings.ToLower(text)] = true
			}
		}
		for _, e := range v {
			addEnums(texts, e, depth-1)
		}
	}
}

// enums are the values that the contracts of the skill list.
func (c *checker) enums() map[string]bool {
	texts := map[string]bool{}
	for _, op := range c.skill.Ops {
		for _, contract := range [...]*tree.Contract{op.Input, op.Output} {
			if contract == nil {
				continue
			}
			if s := c.schema(contract.Path); s != nil {
				AddEnums(texts, s.root)
			}
		}
	}
	if c.skill.Agent != nil {
		if s := c.schema(c.skill.Agent.Schema); s != nil {
			AddEnums(texts, s.root)
		}
	}
	return texts
}
