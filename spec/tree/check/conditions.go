package check

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// Facts are what a tree does that its steps do not say.
type Facts struct {
	// Undecided returns what no rule decides an IF, ELSE_IF, SWITCH or FOR_EACH by: names that nothing in the skill binds. A name
	// that may come from elsewhere, such as the caller of an op, is among them. It is for one goroutine.
	Undecided func(n *tree.Node) []cond.Unbound

	// Ends are the options of a question, by its Node.ID, that end the skill, since nothing tests for them.
	Ends map[string][]string
}

// FindFacts looks through the bodies of s.
func FindFacts(s *tree.Skill) Facts {
	c := newChecker(s, nil)
	c.ends = map[string][]string{}
	c.collect()
	c.bound = c.boundNames()
	c.answers()
	for i := range c.bodies {
		c.questions(&c.bodies[i])
	}
	return Facts{c.undecided, c.ends}
}

// nodesOf yields the nodes of all bodies.
func (c *checker) nodesOf() iter.Seq[*tree.Node] {
	return func(yield func(*tree.Node) bool) {
		on := true
		for i := range c.bodies {
			c.bodies[i].each(func(n *tree.Node, _ []*tree.Node, _ int) { on = on && yield(n) })
		}
	}
}

// undecided returns the names that no rule decides n by.
func (c *checker) undecided(n *tree.Node) []cond.Unbound {
	has := func(path string) bool {
		_, only := c.guesses.only(path)
		return c.knows(n, path) && !only
	}
	var o cond.Operand
	switch n.Kind {
	case tree.If, tree.ElseIf:
		return cond.FindUnbound(cond.Parse(n.Cond), cond.Scope{Has: has, Binds: has, Option: c.option, Name: func(word string) bool { return c.words.Of(n, word) == Name }})
	case tree.Switch:
		o = cond.ParseExpression(n.Cond).Operand
	case tree.Case:
		if o = cond.ParseCase(n.Cond); o.Kind != cond.Path {
			return nil
		}
	case tree.ForEach:
		col := cond.ParseCollection(n.In)
		if col.Kind != cond.Named {
			return c.elements(n, col, has)
		}
		o = col.Of
	default:
		return nil
	}
	if o.Text == "" || o.Kind != cond.Word && o.Kind != cond.Path {
		return nil
	}
	found := cond.FindUnbound(cond.Ref{Text: o.Text, Of: o}, cond.Scope{Has: has})
	for i := range found {
		found[i].Plain = false // no sentence and no option stands here
	}
	return found
}

// elements are the names of a list in brackets that nothing binds.
func (c *checker) elements(n *tree.Node, col cond.Collection, has func(string) bool) (out []cond.Unbound) {
	for _, o := range col.Items {
		if o.Kind == cond.Path || o.Kind == cond.Word && c.words.Of(n, o.Text) == Name {
			out = append(out, cond.FindUnbound(cond.Ref{Text: o.Text, Of: o}, cond.Scope{Has: has})...)
		}
	}
	return out
}

// answers collects the options of all questions, and finds out whether names can have values that nothing here binds.
func (c *checker) answers() {
	c.offered = map[string]bool{}
	c.words = FindWords(c.nodesOf(), slices.Sorted(maps.Keys(c.bound)), func(name string) bool { return c.bound[name] }, c.enums())
	c.guesses = findGuesses(c.nodesOf(), func(n *tree.Node) *tree.Op { return c.skill.Op(n.Name) }, c.words)
	for i := range c.bodies {
		c.bodies[i].each(func(n *tree.Node, _ []*tree.Node, _ int) {
			for _, o := range n.Options {
				c.offered[fold(o)] = true
			}
			if n.Kind == tree.Call && c.skill.Op(n.Name) == nil {
				c.guess = "unless " + diag.Clip(n.Name, 60) + " does, which is not of this skill"
			}
		})
	}
	object := c.bound["context"] || c.bound["ctx"]
	if object && c.skill.Agent != nil {
		sch := c.schema(c.skill.Agent.Schema)
		object = sch == nil || sch.sample || len(sch.properties) == 0
	}
	if object {
		c.guess = "unless context has such a field"
	}
	if _, understood := resource.ParseArguments(c.skill.Preamble, ""); !understood {
		c.guess = "unless a model finds it in the arguments"
	}
}

func fold(option string) string { return strings.ToLower(strings.Join(strings.Fields(option), " ")) }

// option reports whether some question offers text.
func (c *checker) option(text string) bool { return c.offered[fold(text)] }

// conditions reports the names that leave the condition of n undecided, and returns them.
func (c *checker) conditions(b *body, n *tree.Node) map[string]bool {
	found := map[string]bool{}
	for _, u := range c.undecided(n) {
		base := root(u.Name)
		if found[base] {
			continue
		}
		found[base] = true
		what := map[tree.Kind]string{tree.Switch: "choice", tree.Case: "case", tree.ForEach: "loop"}[n.Kind]
		if what == "" {
			what = "condition"
		}
		name := diag.Clip(base, 60)
		near := c.meantBy(base)
		word, only := c.guesses.only(base)
		if u.Plain && near == "" && !only {
			c.report(Unbound, n.Pos, "nothing binds "+name+", and no question offers it: a model decides the condition from its text").Severity = diag.SeverityWarning
			continue
		}
		hint := ": write >> " + name + " behind the step that gives it"
		if only {
			near, hint = c.meantBy(word), ": write >> "+diag.Clip(word, 60)+" behind the step that gives it, or quotes around it if it is a text"
			name = diag.Clip(word, 60) + ", which " + name + " holds"
		} else if u.Right {
			hint += ", or quotes around it if it is a text"
		}
		if near != "" {
			hint = ": did you mean " + diag.Clip(near, 60) + "?"
		}
		c.soften(b, c.report(Unbound, n.Pos, "nothing binds "+name+", so no rule decides this "+what+hint))
	}
	return found
}

// soften makes a finding about an unbound name a warning where the name may have a value all the same.
func (c *checker) soften(b *body, f *diag.Finding) {
	switch {
	case c.guess != "":
		f.Severity = diag.SeverityWarning
		f.Message += " (" + c.guess + ")"
	case !b.reached:
		f.Severity = diag.SeverityWarning
		f.Message += " (nothing calls this op)"
	}
}
