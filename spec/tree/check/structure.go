package check

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/resource"
)

// structure checks where primitives stand and what they are written with.
func (c *checker) structure(b *body) {
	if b.op == nil {
		c.labelOf(c.skill.Tree, b)
		c.earlyReads(b.nodes)
		c.breaks(b.nodes)
	} else {
		c.labelOf(b.op.Tree, b)
	}
	c.branches(b.nodes, tree.Prose)
	c.beginners(b.nodes, nil)
	beside := map[*tree.Node]bool{} // children of PARALLEL, which follow nothing
	b.each(func(n *tree.Node, list []*tree.Node, i int) {
		c.branches(n.Children, n.Kind)
		c.primitive(n)
		if len(n.Children) > 0 && !mayHave(n.Kind) {
			c.report(Chain, n.Children[0].Pos, "nothing stands below "+word(n)+", which opens no branch: indent the step as that is")
		}
		if n.Kind == tree.Parallel {
			c.parallel(n)
			for _, child := range n.Children {
				beside[child] = true
			}
		}
		if !beside[n] && (n.Kind == tree.End || n.Kind == tree.Break) && i+1 < len(list) && !branch(list[i+1].Kind) {
			c.report(DeadNodes, list[i+1].Pos, "the step never runs: it follows "+n.Kind.String())
		}
		if n.Kind == tree.Switch || n.Kind == tree.Ask {
			c.options(n)
		}
	})
}

func branch(k tree.Kind) bool {
	return k == tree.ElseIf || k == tree.Else || k == tree.Case || k == tree.Default
}

// mayHave reports whether something may stand below a step: what depends on it, the options of a question, the details of a text.
func mayHave(k tree.Kind) bool {
	switch k {
	case tree.Call, tree.Read, tree.Bind, tree.End, tree.Break, tree.Verify, tree.ShowPlan, tree.Explore:
		return false
	}
	return true
}

// branches checks the chains in a list of siblings below a node of kind parent.
func (c *checker) branches(list []*tree.Node, parent tree.Kind) {
	open, closed := false, false // a chain that goes on, one that had its ELSE
	for i, n := range list {
		switch n.Kind {
		case tree.If:
			open, closed = true, false
			continue
		case tree.ElseIf, tree.Else:
			switch {
			case open:
			case n.Kind == tree.Else && parent == tree.Switch: // see beginner
			case closed:
				c.report(Chain, n.Pos, n.Kind.String()+" follows the ELSE of its chain")
			case i > 0 && (strings.HasPrefix(list[i-1].Text, "IF ") || strings.HasPrefix(list[i-1].Text, "ELSE_IF ")):
				c.report(Chain, n.Pos, n.Kind.String()+" belongs to no IF: the line before is prose, because << is missing")
			default:
				c.report(Chain, n.Pos, n.Kind.String()+" belongs to no IF: it must follow one as the next sibling")
			}
			// A stray branch is reported once, and what follows it is judged as if it stood well.
			if n.Kind == tree.Else {
				open, closed = false, true
			} else if !closed {
				open = true
			}
			continue
		case tree.Case, tree.Default:
			if parent != tree.Switch {
				c.report(Chain, n.Pos, n.Kind.String()+" stands outside of SWITCH")
			} else if n.Kind == tree.Default && i+1 < len(list) {
				c.report(Chain, n.Pos, "DEFAULT must be the last branch of SWITCH")
			}
		}
		open, closed = false, false
	}
}

// options checks the children of SWITCH and ASK, which are its branches.
func (c *checker) options(n *tree.Node) {
	for _, child := range n.Children {
		switch {
		case n.Kind == tree.Switch && child.Kind != tree.Case && child.Kind != tree.Default && !branch(child.Kind):
			c.report(Chain, child.Pos, "only CASE and DEFAULT stand below SWITCH")
		case n.Kind == tree.Ask && !isOption(n, child) && !branch(child.Kind):
			c.report(Chain, child.Pos, "a step below ASK starts with one of its options")
		}
	}
}

// isOption reports whether child is the branch of an option of ask.
func isOption(ask, child *tree.Node) bool {
	return slices.ContainsFunc(ask.Options, func(o string) bool { return tree.SameOption(o, child.Text) })
}

// primitive checks what a primitive is written with.
func (c *checker) primitive(n *tree.Node) {
	k := n.Kind
	if n.Bold && k != tree.Call {
		c.report(BoldPrimitive, n.Pos, k.String()+" is not an op: bold means nothing there")
	}
	switch k {
	case tree.If, tree.ElseIf:
		if n.Cond == "" {
			c.report(NoCondition, n.Pos, k.String()+" has no condition")
		}
	case tree.Switch, tree.Case:
		if n.Cond == "" {
			c.report(NoInput, n.Pos, k.String()+" has no value")
		}
	case tree.ForEach:
		if n.Var == "" || n.In == "" {
			c.report(NoInput, n.Pos, "FOR_EACH is written FOR_EACH << item in collection")
		}
	case tree.Else, tree.Break, tree.Default:
		if operated(n) {
			c.report(StrayOperators, n.Pos, k.String()+" takes neither << nor >>")
		}
	case tree.Parallel:
		if operated(n) {
			c.report(ParallelOperators, n.Pos, "PARALLEL takes neither << nor >>: its children bind their own results")
		}
	case tree.Ask:
		if n.Question == "" {
			c.report(NoQuestion, n.Pos, "ASK has no question")
		}
	case tree.ShowPlan:
		if len(n.Fields) == 0 {
			c.report(NoPlanFields, n.Pos, "SHOW_PLAN shows nothing: write SHOW_PLAN >> field | field")
		} else if len(n.Args) > 0 {
			c.report(NoPlanFields, n.Pos, "SHOW_PLAN takes no inputs: its fields stand behind >>").Severity = diag.SeverityWarning
		}
	case tree.Verify:
		if n.Path == "" {
			c.report(VerifyPath, n.Pos, "VERIFY_EXPECTED names no file, and takes "+resource.DefaultVerify)
		} else if _, ok := local(n.Path); ok && resource.CategoryOf(n.Path) != resource.VerifyDoc {
			c.report(VerifyPath, n.Pos, "the checklist "+diag.Clip(n.Path, 60)+" stands outside of assets/verify")
		}
	case tree.Explore:
		if len(n.Outs) == 0 {
			c.report(ExploreOutput, n.Pos, "EXPLORE binds nothing: write EXPLORE >> context")
		}
	}
}

func operated(n *tree.Node) bool {
	return len(n.Args) > 0 || len(n.Outs) > 0 || strings.HasSuffix(n.Text, "<<") || strings.HasSuffix(n.Text, ">>")
}

// parallel checks a PARALLEL block.
func (c *checker) parallel(n *tree.Node) {
	plain := len(n.Children) > 0
	bound := map[string]*tree.Node{}
	for _, child := range n.Children {
		plain = plain && child.Kind == tree.Call && !child.Bold
		if child.Kind == tree.Break || child.Kind == tree.End {
			c.report(ParallelJump, child.Pos, child.Kind.String()+" is a child of PARALLEL: the other children run all the same")
		} else {
			c.jumps(child.Children, child.Kind == tree.ForEach)
		}
		for name := range binds(child) {
			if first := bound[name]; first != nil && first != child {
				c.report(ParallelShare, child.Pos, "two children of PARALLEL bind "+diag.Clip(name, 60)+": the later one wins")
			} else {
				bound[name] = child
			}
		}
	}
	for _, child := range n.Children {
		mine := binds(child)
		tree.Walk([]*tree.Node{child}, func(m *tree.Node) bool {
			for _, name := range reads(m) {
				if first := bound[root(name)]; first != nil && first != child && !mine[root(name)] {
					c.report(ParallelShare, m.Pos, "the step reads "+diag.Clip(name, 60)+", which another child of PARALLEL binds: it has its value only behind the block")
				}
			}
			return true
		})
	}
	if len(n.Children) < 2 {
		c.report(ParallelFew, n.Pos, "PARALLEL has "+count(len(n.Children), "child")+": nothing runs at the same time")
	} else if plain {
		c.report(ParallelFew, n.Pos, "all children of PARALLEL are plain calls, which run one after the other").Severity = diag.SeverityWarning
	}
}

// jumps looks for a BREAK that leaves a PARALLEL block.
func (c *checker) jumps(list []*tree.Node, loop bool) {
	for _, n := range list {
		if n.Kind == tree.Break && !loop {
			c.report(ParallelJump, n.Pos, "BREAK cannot leave a PARALLEL block")
		}
		if n.Kind != tree.Parallel { // has its own turn
			c.jumps(n.Children, loop || n.Kind == tree.ForEach)
		}
	}
}

// breaks looks for a BREAK of the skill's tree that no loop holds. What leaves a
// PARALLEL block is a finding of jumps.
func (c *checker) breaks(list []*tree.Node) {
	for _, n := range list {
		switch n.Kind {
		case tree.Break:
			c.report(BreakTree, n.Pos, "BREAK ends the whole tree here, since no FOR_EACH is around it: write END, or let the branch hold the steps that depend on it")
		case tree.ForEach, tree.Parallel:
		default:
			c.breaks(n.Children)
		}
	}
}

// binds returns the names that a node and what hangs below it bind.
func binds(n *tree.Node) map[string]bool {
	out := map[string]bool{}
	tree.Walk([]*tree.Node{n}, func(m *tree.Node) bool {
		for _, t := range m.Outs {
			out[t.Name] = true
		}
		if m.Kind == tree.Bind {
			out[m.Var] = true
		}
		return true
	})
	return out
}

// labelOf compares the label of a tree with what it repeats.
func (c *checker) labelOf(t *tree.Tree, b *body) {
	if t == nil {
		return
	}
	if t.Label == nil {
		c.besideLabel(t, b)
		return
	}
	l := t.Label
	if b.op == nil {
		if l.Text != c.skill.Name {
			c.report(LabelDiffers, l.Pos, "the label "+diag.Clip(l.Text, 60)+" is not the skill's name, "+diag.Clip(c.skill.Name, 60))
		}
		return
	}
	rest, outs, hasOuts := strings.Cut(l.Text, ">>")
	_, ins, hasIns := strings.Cut(rest, "<<")
	var params, names []string
	for _, p := range b.op.Params {
		params = append(params, p.Name)
	}
	for _, o := range b.op.Outs {
		names = append(names, o.Name)
	}
	if hasIns && !sameWords(ins, strings.Join(params, " ")) || hasOuts && !sameWords(outs, strings.Join(names, " ")) {
		c.report(LabelDiffers, l.Pos, "the label says "+diag.Clip(l.Text, 60)+", and the heading of "+diag.Clip(b.op.Name, 60)+" says otherwise")
	}
}

// besideLabel reports a step that stands at the column of the label, which is none then.
func (c *checker) besideLabel(t *tree.Tree, b *body) {
	name := c.skill.Name
	if b.op != nil {
		name = b.op.Name
	}
	if len(t.Nodes) < 2 {
		return
	}
	first, rest, _ := strings.Cut(t.Nodes[0].Text, " ")
	if first == name && (rest == "" || len(t.Nodes[0].Children) > 0) {
		c.report(Layout, t.Nodes[1].Pos, "the step stands beside the label "+diag.Clip(name, 60)+" and not below it: indent it")
	}
}

// sameWords compares the words of two texts, whatever stands between them.
func sameWords(a, b string) bool {
	var x, y []string
	for s := range words(a) {
		x = append(x, s)
	}
	for s := range words(b) {
		y = append(y, s)
	}
	return strings.Join(x, " ") == strings.Join(y, " ")
}

func (c *checker) earlyReads(nodes []*tree.Node) {
	n := 0
	for n < len(nodes) && nodes[n].Kind == tree.Read {
		n++
	}
	if n < 2 || n == len(nodes) {
		return
	}
	for _, rest := range nodes[n:] {
		later := false
		tree.Walk([]*tree.Node{rest}, func(m *tree.Node) bool { later = later || m.Kind == tree.Read; return !later })
		if later {
			return
		}
	}
	c.report(EarlyReads, nodes[0].Pos, "all "+count(n, "file")+" are read before the first step: read each where it is used")
}
