package check

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// reads returns the names and paths that a node refers to beyond doubt, as written:
// references among its inputs and in its condition, and what its text marks as one.
func reads(n *tree.Node) []string {
	var out []string
	switch n.Kind {
	case tree.Call, tree.Explore, tree.ShowPlan:
		for _, a := range n.Args {
			out = appendRefs(out, a.Value)
		}
	case tree.If, tree.ElseIf:
		out = append(out, cond.Names(cond.Parse(n.Cond))...)
	case tree.Switch:
		if x := cond.ParseExpression(n.Cond); !x.Natural && (x.Operand.Kind == cond.Word || x.Operand.Kind == cond.Path) {
			out = append(out, x.Operand.Text)
		}
	case tree.ForEach:
		col := cond.ParseCollection(n.In)
		if o := col.Of; (o.Kind == cond.Word || o.Kind == cond.Path) && o.Text != "" {
			out = append(out, o.Text)
		}
		for _, o := range col.Items { // a bare word in a list can be text (5.10)
			if o.Kind == cond.Path {
				out = append(out, o.Text)
			}
		}
	case tree.Prose, tree.Read, tree.Bind, tree.Else:
		out = append(out, resource.Mentions(n.Body, nil)...)
	}
	return out
}

func appendRefs(out []string, v tree.Value) []string {
	switch {
	case v.Kind == tree.Ref, v.Kind == tree.Word && IsName(v.Text):
		out = append(out, v.Text)
	case v.Kind == tree.List:
		for _, item := range v.Items {
			out = appendRefs(out, item)
		}
	}
	return out
}

// contextField is the name behind context. or ctx., "" without such a prefix.
func contextField(path string) string {
	path = strings.Trim(path, "`")
	rest, ok := strings.CutPrefix(path, "context.")
	if !ok {
		if rest, ok = strings.CutPrefix(path, "ctx."); !ok {
			return ""
		}
	}
	end := 0
	for end < len(rest) && isWordByte(rest[end]) {
		end++
	}
	return rest[:end]
}

// root is the name of the binding that a path starts at.
func root(path string) string { return cond.Root(strings.Trim(path, "`")) }

// boundNames returns every name that something in the skill binds, wherever.
func (c *checker) boundNames() map[string]bool {
	s := c.skill
	bound := map[string]bool{"answer": true, "adjustment": true}
	values, _ := resource.ParseArguments(s.Preamble, "")
	for name := range values {
		bound[name] = true
	}
	// What the text above the tree says of $ARGUMENTS in other words, a model reads: it names in backticks what it will bind.
	for _, line := range strings.Split(s.Preamble, "\n") {
		if strings.Contains(line, "$ARGUMENTS") {
			for code := range spans(line) {
				if IsName(code) {
					bound[code] = true
				}
			}
		}
	}
	for _, name := range skill.Properties(s.Doc) {
		bound[resource.ArgumentName(name)] = true
	}
	shown, passed := map[string]bool{}, []string(nil) // fields of SHOW_PLAN, and inputs of calls: what is both is bound
	for i := range c.bodies {
		b := &c.bodies[i]
		if b.op != nil {
			for _, p := range b.op.Params {
				bound[p.Name] = true
			}
			for _, o := range b.op.Outs {
				bound[o.Name] = true
			}
		}
		b.each(func(n *tree.Node, _ []*tree.Node, _ int) {
			for _, t := range n.Outs {
				bound[t.Name] = true
			}
			for _, field := range n.Fields {
				shown[field.Text] = true
			}
			if n.Kind == tree.Call {
				for _, a := range n.Args {
					passed = append(passed, strings.TrimPrefix(a.Value.Text, "context."))
				}
			}
			if n.Kind == tree.Bind || n.Kind == tree.ForEach {
				bound[n.Var] = true
			}
		})
	}
	for _, name := range passed {
		if shown[name] {
			bound[name] = true
		}
	}
	if s.Agent != nil {
		bound["context"] = true
		if sch := c.schema(s.Agent.Schema); sch != nil {
			for name := range sch.properties {
				bound[name] = true
			}
		}
	}
	return bound
}

// names looks for names that nothing binds. It is forgiving: a name that is bound
// anywhere in the skill counts, since ops share the bindings of their callers.
func (c *checker) names(b *body) {
	object := c.bound["context"] || c.bound["ctx"] // context.x is a field of that, and flow knows which it has
	b.each(func(n *tree.Node, _ []*tree.Node, _ int) {
		seen := map[string]bool{}
		decides := c.conditions(b, n)
		if n.Kind == tree.Bind {
			c.boundOnward(b, n, seen)
		}
		for _, name := range reads(n) {
			base := root(name)
			f := contextField(name)
			switch {
			case f != "":
				if c.bound[f] || object || decides[f] {
					continue
				}
				base = f
			case c.bound[base] || seen[base] || !IsName(base):
				continue
			case asText(n, name):
				continue
			case n.Kind == tree.ForEach && c.bound[strings.Join(strings.Fields(n.In), "_")]:
				continue // "critical findings" is critical_findings
			case decides[base]:
				continue
			}
			if !seen[base] {
				seen[base] = true
				c.report(Unbound, n.Pos, "nothing binds "+diag.Clip(base, 60)).Severity = diag.SeverityWarning
			}
		}
		if n.Kind == tree.Call {
			for _, a := range n.Args {
				c.bareWords(n, a.Value)
			}
		}
	})
}

// boundOnward reports what a bind node takes and nothing binds.
func (c *checker) boundOnward(b *body, n *tree.Node, seen map[string]bool) {
	if name := c.unboundIn(n.Body); name != "" {
		seen[root(name)], seen[plainName(name)] = true, true
		shown := diag.Clip(name, 60)
		message := "nothing binds " + shown + ": bind it first, or write \"" + shown + "\" if it is a text"
		if word, dollar := strings.CutPrefix(name, "$"); dollar {
			message = shown + " is no name, since only $ARGUMENTS has a dollar sign: write " + diag.Clip(word, 60) + ", or \"" + shown + "\" if it is a text"
		}
		c.soften(b, c.report(Unbound, n.Pos, message))
		return
	}
	if o, ok := cond.ParseOperand(n.Body); ok && o.Kind == cond.Word && IsName(o.Text) {
		c.bareWords(n, tree.Value{Kind: tree.Word, Text: o.Text})
	}
}

// asText reports whether an unbound name in a node may be meant as text: a bare
// word in a condition can be an option, and one among inputs is rule T20.
func asText(n *tree.Node, name string) bool {
	switch n.Kind {
	case tree.If, tree.ElseIf:
		return !strings.Contains(name, "_") || strings.ToLower(name) != name
	case tree.Prose, tree.Read, tree.Bind, tree.Else:
		return !strings.Contains(n.Text, "<<"+name+">>")
	case tree.Call:
		for _, a := range n.Args {
			if a.Value.Kind == tree.Word && a.Value.Text == name || a.Value.Kind == tree.List {
				return true
			}
		}
	}
	return false
}

func (c *checker) bareWords(n *tree.Node, v tree.Value) {
	if v.Kind == tree.Word && v.Text != "" && !c.bound[root(v.Text)] {
		c.report(BareWord, n.Pos, diag.Clip(v.Text, 60)+" is bound by nothing and is given as text: write \""+diag.Clip(v.Text, 60)+"\" if it is meant so")
	}
}

// negatives are the options that mean to stop.
var negatives = [...]string{"no", "cancel", "abort", "stop", "quit", "decline"}

// negative reports whether an option means to stop: "No" or "No, stop".
func negative(option string) bool {
	option = strings.ToLower(strings.Trim(strings.TrimSpace(option), "\"'`"))
	for _, word := range negatives {
		if rest, ok := strings.CutPrefix(option, word); ok && (rest == "" || strings.IndexByte(",.!:;", rest[0]) >= 0 || strings.HasPrefix(rest, " —") || strings.HasPrefix(rest, " -")) {
			return true
		}
	}
	return false
}

// questions looks for questions whose answer to stop nothing tests.
func (c *checker) questions(b *body) { c.asks(b.nodes, nil) }

// asks looks through a list; after are the steps that follow its ancestors.
func (c *checker) asks(list []*tree.Node, after [][]*tree.Node) {
	for i, n := range list {
		rest := append(slices.Clip(after), list[i+1:])
		if n.Kind == tree.Ask {
			for _, o := range n.Options {
				if negative(o) && !tested(n, o, rest, &c.budget.asks) {
					if c.ends != nil {
						c.ends[n.ID] = append(c.ends[n.ID], o)
					}
					c.report(NoNegative, n.Pos, "nothing tests for the answer "+diag.Clip(o, 60)+": write IF << "+diag.Clip(o, 60)+" and an END below it")
				}
			}
		}
		if len(n.Children) > 0 {
			c.asks(n.Children, rest)
		}
	}
}

// tested reports whether a branch of the question or a step behind it is about option.
func tested(ask *tree.Node, option string, rest [][]*tree.Node, budget *int) bool {
	for _, child := range ask.Children {
		if isOption(&tree.Node{Options: []string{option}}, child) {
			return true
		}
	}
	for k := len(rest) - 1; k >= 0; k-- {
		list := rest[k]
		for i, n := range list {
			if *budget--; *budget < 0 {
				return true
			}
			switch n.Kind {
			case tree.Ask:
				return false // what follows is about its answer
			case tree.If, tree.ElseIf:
				e := cond.Parse(n.Cond)
				if cond.Offers(e, option) || strings.Contains(strings.ToLower(n.Cond), "user chose") || readsAnswer(ask, cond.Names(e)) {
					return true
				}
				if slices.ContainsFunc(ask.Options, func(o string) bool { return cond.Offers(e, o) }) && elseBehind(list[i+1:]) {
					return true
				}
			case tree.Switch:
				if readsAnswer(ask, []string{n.Cond}) || slices.ContainsFunc(n.Children, func(k *tree.Node) bool { return k.Kind == tree.Case && sameText(k.Cond, option) }) {
					return true
				}
			}
		}
	}
	return false
}

func elseBehind(list []*tree.Node) bool {
	for _, n := range list {
		if n.Kind != tree.ElseIf {
			return n.Kind == tree.Else
		}
	}
	return false
}

// readsAnswer reports whether names hold the answer of ask.
func readsAnswer(ask *tree.Node, names []string) bool {
	for _, name := range names {
		name = root(name)
		if name == "answer" || slices.ContainsFunc(ask.Outs, func(t tree.Target) bool { return t.Name == name }) {
			return true
		}
	}
	return false
}
