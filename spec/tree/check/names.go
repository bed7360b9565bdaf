package check

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
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

// knows reports whether something binds name where n may see it.
func (c *checker) knows(n *tree.Node, name string) bool {
	return c.bound[name] && !(c.inside[name] && c.main[n])
}

// boundNames returns every name that something in the skill binds, wherever.
func (c *checker) boundNames() map[string]bool {
	s := c.skill
	bound := map[string]bool{"answer": true, "adjustment": true}
	values, _ := resource.ParseArguments(s.Preamble, "")
	for name := range values {
		bound[name] = true
	}
	// A model reads the prose about $ARGUMENTS above the tree, and binds the names that it has in backticks.
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
	var params []string
	explored := false
	planned := map[string][]*tree.Node{}
	c.main = map[*tree.Node]bool{}
	for i := range c.bodies {
		b := &c.bodies[i]
		if b.op != nil {
			for _, p := range b.op.Params {
				params = append(params, p.Name)
			}
		}
		b.each(func(n *tree.Node, _ []*tree.Node, _ int) {
			c.main[n] = b.op == nil
			explored = explored || n.Kind == tree.Explore && len(n.Outs) > 0
			for _, t := range n.Outs {
				bound[t.Name] = true
			}
			for _, field := range n.Fields {
				planned[field.Name()] = append(planned[field.Name()], n)
			}
			if n.Kind == tree.Bind || n.Kind == tree.ForEach {
				bound[n.Var] = true
			}
		})
	}
	if s.Agent != nil {
		bound["context"] = bound["context"] || !explored
		if sch := c.schema(s.Agent.Schema); sch != nil && (bound["context"] || bound["ctx"]) {
			for name := range sch.properties {
				bound[name] = true
			}
		}
	}
	c.planned = map[string]*tree.Node{}
	for name, nodes := range planned {
		if !bound[name] && len(nodes) == 1 {
			c.planned[name] = nodes[0]
		}
		bound[name] = true
	}
	c.inside = map[string]bool{}
	for _, name := range params {
		c.inside[name] = c.inside[name] || !bound[name]
		bound[name] = true
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
				if c.knows(n, f) || object || decides[f] {
					continue
				}
				base = f
			case c.knows(n, base) || seen[base] || !IsName(base):
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
				c.bareWords(b, n, a.Value)
			}
		}
		c.holes(b, n, seen)
		c.slips(b, n, seen)
	})
}

// boundOnward reports what a bind node takes and nothing binds.
func (c *checker) boundOnward(b *body, n *tree.Node, seen map[string]bool) {
	if name := c.unboundIn(n); name != "" {
		seen[root(name)], seen[plainName(name)] = true, true
		c.nobodyBinds(b, n, name)
		return
	}
	if o, ok := cond.ParseOperand(n.Body); ok && o.Kind == cond.Word && IsName(o.Text) {
		c.bareWords(b, n, tree.Value{Kind: tree.Word, Text: o.Text})
	}
}

// nobodyBinds reports a name that a step takes and nothing binds.
func (c *checker) nobodyBinds(b *body, n *tree.Node, name string) {
	shown := diag.Clip(name, 60)
	message := "nothing binds " + shown + ": bind it first, or write \"" + shown + "\" if it is a text"
	if word, dollar := strings.CutPrefix(name, "$"); dollar {
		message = shown + " is not a name, since only $ARGUMENTS has a dollar sign: write " + diag.Clip(word, 60) + ", or \"" + shown + "\" if it is a text"
	} else if near := c.meantBy(root(name)); near != "" {
		message = "nothing binds " + shown + ": did you mean " + diag.Clip(near, 60) + "?"
	}
	c.soften(b, c.report(Unbound, n.Pos, message))
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

// bareWords reports a bare word that nothing binds: one that is a name, and one that may be.
func (c *checker) bareWords(b *body, n *tree.Node, v tree.Value) {
	switch {
	case v.Kind == tree.List:
		for _, item := range v.Items {
			if item.Kind == tree.Word && !c.knows(n, root(item.Text)) && c.words.Of(n, item.Text) == Name {
				c.nobodyBinds(b, n, item.Text)
			}
		}
	case v.Kind != tree.Word || v.Text == "" || c.knows(n, root(v.Text)):
	case c.words.Of(n, v.Text) == Name:
		c.nobodyBinds(b, n, v.Text)
	default:
		c.report(BareWord, n.Pos, diag.Clip(v.Text, 60)+" is bound by nothing and is given as text: write \""+diag.Clip(v.Text, 60)+"\" if it is meant so")
	}
}

// slips reports what differs in one letter from a name where any name may stand: a field of a plan, which would be asked of a model and not be the
// value of that name, and a name in the text of a step, which a model would not find among the values.
func (c *checker) slips(b *body, n *tree.Node, seen map[string]bool) {
	slip := func(name string) *diag.Finding {
		if seen[name] {
			return nil
		}
		near := c.meantBy(name)
		if near == "" {
			return nil
		}
		seen[name] = true
		return c.report(Unbound, n.Pos, "nothing binds "+diag.Clip(name, 60)+": did you mean "+diag.Clip(near, 60)+"?")
	}
	switch n.Kind {
	case tree.ShowPlan:
		for _, field := range n.Fields {
			name := field.Name()
			if c.planned[name] == n {
				if f := slip(name); f != nil {
					c.soften(b, f)
				}
			}
		}
	case tree.Prose, tree.Read, tree.Bind, tree.Else:
		for _, path := range resource.Mentions(n.Body, nil) {
			if name := cond.Root(path); !c.knows(n, name) {
				if f := slip(name); f != nil {
					f.Severity = diag.SeverityWarning
				}
			}
		}
	}
}

// unread reports a binding that nothing reads, where a word that the skill does use differs from it in one letter.
func (c *checker) unread() {
	uses, binds := map[string]int{}, map[string]int{}
	count := func(text string) {
		for word := range words(text) {
			uses[word]++
		}
	}
	count(c.skill.Preamble + "\n" + strings.Join(c.skill.Rules, "\n"))
	for _, field := range c.skill.Response {
		count(strings.ReplaceAll(field, " ", "_"))
	}
	for i := range c.bodies {
		b := &c.bodies[i]
		if b.op != nil {
			count(b.op.Prose)
			for _, o := range b.op.Outs {
				uses[o.Name]++
			}
		}
		b.each(func(n *tree.Node, _ []*tree.Node, _ int) {
			count(n.Text)
			for _, name := range bindings(n) {
				binds[name]++
			}
		})
	}
	left := maxUnread
	for i := range c.bodies {
		c.bodies[i].each(func(n *tree.Node, _ []*tree.Node, _ int) {
			for _, name := range bindings(n) {
				if c.meant[name] || uses[name] > binds[name] && !(n.Kind == tree.ForEach && !mentioned(n.Children, name)) {
					continue
				}
				if left--; left < 0 {
					return
				}
				meant := ""
				for word := range uses {
					loop := n.Kind == tree.ForEach && len(name) > 2 && len(word) > 2 && spell.Distance(name, word, 2) == 1 && mentioned(n.Children, word)
					if (loop || n.Kind != tree.ForEach && slipped(name, word)) && (meant == "" || word < meant) {
						meant = word
					}
				}
				if meant != "" {
					c.report(Unbound, n.Pos, "nothing reads "+diag.Clip(name, 60)+": did you mean "+diag.Clip(meant, 60)+"?").Severity = diag.SeverityWarning
				}
			}
		})
	}
}

// maxUnread is how many bindings that nothing reads are compared with all words.
const maxUnread = 128

// bindings are the names that n binds for steps after it.
func bindings(n *tree.Node) (names []string) {
	for _, t := range n.Outs {
		names = append(names, t.Name)
	}
	if n.Kind == tree.Bind || n.Kind == tree.ForEach {
		names = append(names, n.Var)
	}
	return names
}

// mentioned reports whether nodes, or those below them, have word.
func mentioned(nodes []*tree.Node, word string) bool {
	found := false
	tree.Walk(nodes, func(n *tree.Node) bool {
		for w := range words(n.Text) {
			found = found || w == word
		}
		return !found
	})
	return found
}

// holes reports names in the literal texts of n that nothing binds: the text would keep the place. A person cannot answer such a question, and a
// file of such a name is not meant; elsewhere it is only shown.
func (c *checker) holes(b *body, n *tree.Node, seen map[string]bool) {
	texts, acts := literals(n)
	for _, text := range texts {
		for _, h := range resource.Holes(text, nil) {
			name := strings.ReplaceAll(cond.Root(h.Path), "-", "_")
			inside := contextField(h.Path) != "" && (c.bound["context"] || c.bound["ctx"])
			if c.knows(n, name) || c.knows(n, cond.Root(h.Path)) || inside || seen[name] || h.Path == "skills-root" || !c.words.Hole(n, h) {
				continue
			}
			seen[name] = true
			message := "nothing binds " + diag.Clip(h.Path, 60) + ", so the text keeps its place: bind it first, or write it in backticks if it is meant so"
			if near := c.meantBy(name); near != "" {
				message = "nothing binds " + diag.Clip(h.Path, 60) + ", so the text keeps its place: did you mean " + diag.Clip(near, 60) + "?"
			}
			f := c.report(Unbound, n.Pos, message)
			if c.soften(b, f); !acts {
				f.Severity = diag.SeverityWarning
			}
		}
	}
}

// literals are the texts of n that are filled with values; acts says that more is done with them than to show them.
func literals(n *tree.Node) (texts []string, acts bool) {
	switch n.Kind {
	case tree.Ask:
		return append([]string{n.Question}, n.Options...), true
	case tree.ShowPlan:
		for _, f := range n.Fields {
			texts = append(texts, f.Value)
		}
		return texts, true
	case tree.Read, tree.Verify:
		return []string{n.Path, n.Section}, true
	case tree.End:
		return []string{n.Message}, false
	case tree.Call:
		for _, a := range n.Args {
			if a.Value.Kind == tree.String {
				texts = append(texts, a.Value.Text)
			}
		}
	case tree.Bind:
		if o, ok := cond.ParseOperand(n.Body); ok && o.Kind == cond.Quoted {
			texts = []string{o.Text}
		}
	}
	return texts, false
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
				if readsAnswer(ask, []string{n.Cond}) || slices.ContainsFunc(n.Children, func(k *tree.Node) bool { return k.Kind == tree.Case && tree.SameOption(k.Cond, option) }) {
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
