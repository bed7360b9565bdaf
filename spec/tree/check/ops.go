package check

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
	"github.com/skl-project/skl/spec/tree"
)

// ops checks the definitions of ops.
func (c *checker) ops() {
	first := map[string]*tree.Op{}
	for i := range c.bodies {
		op := c.bodies[i].op
		if op == nil {
			continue
		}
		if k, reserved := tree.Primitive(op.Name); reserved && !(k == tree.Explore && op.Subagent) {
			c.report(PrimitiveOp, op.Pos, op.Name+" is a primitive, and this definition of it is ignored")
			continue
		}
		if was := first[op.Name]; was != nil {
			c.report(DuplicateOp, op.Pos, diag.Clip(op.Name, 60)+" is defined in "+place(was)+" already")
		} else {
			first[op.Name] = op
		}
		if op.Kind == tree.EmptyBody {
			c.report(EmptyOp, op.Pos, diag.Clip(op.Name, 60)+" has no body")
		}
		dir, base := path.Split(op.Pos.File)
		if path.Base(dir) == "ops" {
			want := strings.ReplaceAll(strings.ToUpper(strings.TrimSuffix(base, path.Ext(base))), "-", "_")
			if op.Name != want && c.skill.Op(want) == nil {
				c.report(OpName, op.Pos, "the file is called "+base+", so its op is called "+diag.Clip(want, 60)+", not "+diag.Clip(op.Name, 60))
			}
		}
		if path.Base(dir) == "ops" && c.calledFromElsewhere(op, base) {
			c.report(SeveralInFile, op.Pos, diag.Clip(op.Name, 60)+" is called from outside of "+base+": it belongs into a file of its own")
		}
		if !c.bodies[i].reached && means(c.skill, op) {
			c.report(OpName, op.Pos, "nothing uses "+diag.Clip(op.Name, 60))
		}
		if n := alwaysCalls(c.bodies[i].nodes, op.Name); n != nil {
			c.report(OpName, n.Pos, diag.Clip(op.Name, 60)+" calls itself without a condition: it never ends")
		}
	}
}

// calledFromElsewhere reports whether op, which is not the one that its file is named for, is called from another file, while the one
// it is named for stands beside it.
func (c *checker) calledFromElsewhere(op *tree.Op, base string) (yes bool) {
	want := strings.ReplaceAll(strings.ToUpper(strings.TrimSuffix(base, path.Ext(base))), "-", "_")
	named := c.skill.Op(want)
	if op.Name == want || named == nil || named.Pos.File != op.Pos.File || c.skill.Op(op.Name) != op {
		return false
	}
	for _, b := range c.bodies {
		if b.file == op.Pos.File {
			continue
		}
		tree.Walk(b.nodes, func(n *tree.Node) bool {
			yes = yes || n.Kind == tree.Call && n.Name == op.Name
			return true
		})
	}
	return yes
}

// means reports whether op is the definition that its name means.
func means(s *tree.Skill, op *tree.Op) bool { return s.Op(op.Name) == op }

// alwaysCalls finds a call of name that no branch or loop guards, before any END or BREAK.
func alwaysCalls(list []*tree.Node, name string) *tree.Node {
	for _, n := range list {
		switch n.Kind {
		case tree.Call:
			if n.Name == name {
				return n
			}
		case tree.Parallel:
			if found := alwaysCalls(n.Children, name); found != nil {
				return found
			}
		case tree.If, tree.Switch, tree.ForEach, tree.End, tree.Break:
			return nil // an exit may stand there
		}
	}
	return nil
}

// calls checks every call against the op that it means.
func (c *checker) calls(b *body) {
	b.each(func(n *tree.Node, _ []*tree.Node, _ int) {
		if n.Kind == tree.Explore && c.skill.Agent == nil && c.skill.Op(tree.Explore.String()) == nil {
			c.report(UnknownOp, n.Pos, NoAgent)
		}
		if n.Kind != tree.Call {
			return
		}
		op := c.skill.Op(n.Name)
		if op == nil {
			c.unknown(n.Name, n.Pos)
			return
		}
		if other := c.otherForm(op); other != nil {
			c.report(TwoForms, n.Pos, diag.Clip(n.Name, 60)+" is defined in "+place(op)+" and, "+form(op, other)+", in "+place(other)+": which one is meant is not sure, so rename one")
		}
		if n.Bold && !op.Subagent {
			message := " is called in bold, and its definition has no marker > **Subagent.**"
			if op.CallsTool() {
				message = " is called in bold, and is the call of a tool and no subagent"
			}
			f := c.report(BoldUnmarked, n.Pos, diag.Clip(n.Name, 60)+message)
			if op.CallsTool() || op.Input == nil && op.Output == nil {
				f.Fix = c.replace(n, "call it in this context", func(old string) (string, bool) {
					rest, ok := strings.CutPrefix(old, "**"+n.Name+"**")
					return n.Name + rest, ok
				})
			}
		}
		if !n.Bold && op.Subagent {
			c.report(PlainMarked, n.Pos, diag.Clip(n.Name, 60)+" is a subagent, and the call is not in bold").
				Fix = c.replace(n, "write the call in bold", func(old string) (string, bool) {
				rest, ok := strings.CutPrefix(old, n.Name)
				return "**" + n.Name + "**" + rest, ok
			})
		}
		c.arity(n, op)
	})
}

// NoAgent is the message about an EXPLORE that means nothing.
const NoAgent = "EXPLORE has nothing to explore with: there is no Agent section, and no subagent EXPLORE"

// otherForm is a definition of op's name that differs from it in how it is run, nil if there is none.
func (c *checker) otherForm(op *tree.Op) *tree.Op {
	if c.forms == nil {
		c.forms = map[string][3]*tree.Op{}
		for _, o := range c.skill.Ops {
			if f, i := c.forms[o.Name], formOf(o); f[i] == nil {
				f[i] = o
				c.forms[o.Name] = f
			}
		}
	}
	for i, other := range c.forms[op.Name] {
		if other != nil && i != formOf(op) {
			return other
		}
	}
	return nil
}

// formOf is how an op is run: 0 without a marker, 1 as a subagent, 2 as the call of a tool.
func formOf(op *tree.Op) int {
	switch {
	case op.Subagent:
		return 1
	case op.CallsTool():
		return 2
	}
	return 0
}

func place(op *tree.Op) string { return op.Pos.File + " line " + strconv.Itoa(op.Pos.Line) }

// form says how other is run, which op is not.
func form(op, other *tree.Op) string {
	switch {
	case other.Subagent:
		return "as a subagent"
	case other.CallsTool():
		return "as the call of a tool"
	case op.Subagent:
		return "as no subagent"
	}
	return "as no call of a tool"
}

func (c *checker) unknown(name string, at tree.Pos) {
	if c.provides != nil && c.provides(name) {
		return
	}
	message := "no op " + diag.Clip(name, 60)
	if c.opNames == nil {
		for _, op := range c.skill.Ops {
			c.opNames = append(c.opNames, op.Name)
		}
		for k := tree.If; k <= tree.Verify; k++ {
			c.opNames = append(c.opNames, k.String())
		}
		slices.Sort(c.opNames)
		c.opNames = slices.Compact(c.opNames)
	}
	if says := Meant(name); says != "" {
		message = "there is no " + name + ": write " + says
	} else if c.budget.near--; c.budget.near >= 0 {
		if near := spell.Nearest(name, c.opNames, 1); len(near) > 0 {
			message += "; did you mean " + diag.Clip(near[0], 60) + "?"
		}
	}
	c.report(UnknownOp, at, message)
}

// arity compares the inputs and outputs of a call with the op's signature.
func (c *checker) arity(n *tree.Node, op *tree.Op) {
	name := diag.Clip(op.Name, 60)
	required, given := 0, len(n.Args)
	for _, p := range op.Params {
		if !p.Optional {
			required++
		}
	}
	switch {
	case n.Inline != "": // text that a model reads
	case len(op.Params) == 0 && given > 0:
		c.report(Arity, n.Pos, name+" declares no inputs, and the call gives "+count(given, "input"))
	case given == 0 && required > 0:
		c.report(Arity, n.Pos, name+" takes "+count(required, "input")+", and the call gives none")
	case given > len(op.Params) || given < required:
		c.report(Arity, n.Pos, name+" takes "+count(len(op.Params), "input")+", and the call gives "+strconv.Itoa(given)).Severity = diag.SeverityWarning
	default:
		for _, a := range n.Args {
			if a.Name != "" && !slices.ContainsFunc(op.Params, func(p tree.Param) bool { return p.Name == a.Name }) {
				c.report(Arity, n.Pos, name+" has no input "+diag.Clip(a.Name, 60)).Severity = diag.SeverityWarning
			}
		}
	}
	group := slices.ContainsFunc(n.Outs, func(t tree.Target) bool { return t.Group })
	switch {
	case len(op.Outs) > 0 && len(n.Outs) == 0:
		c.report(Arity, n.Pos, name+" has a result, and the call binds nothing")
	case len(op.Outs) == 0 && len(n.Outs) > 0:
		c.report(Arity, n.Pos, name+" declares no result, and the call binds "+diag.Clip(n.Outs[0].Name, 60))
	case len(n.Outs) > len(op.Outs) && !group:
		c.report(Arity, n.Pos, name+" has "+count(len(op.Outs), "result")+", and the call binds "+strconv.Itoa(len(n.Outs))).Severity = diag.SeverityError
	}
}

// count writes a number of things.
func count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case thing == "child":
		return strconv.Itoa(n) + " children"
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
