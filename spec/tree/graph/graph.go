// Package graph draws a skill's tree: as text for a terminal, as a Mermaid, DOT or
// JSON graph, and as an SVG picture for a document.
//
//   - All five show the same: the steps, who decides each condition (a rule of
//     spec/tree/cond or a model), and the body of each op once.
//   - Output depends on the skill and the options alone. Time and size are linear in
//     the number of nodes; text of a step is cut at MaxText characters in
//     pictures, and is complete in Text and JSON.
//   - Text of a skill is hostile: it cannot leave its label in any format, and control
//     characters appear as \x1b and so on. A picture holds no script, no link out of
//     itself, and asks for no font or file.
//
// The control flow that is drawn is that of spec/canopy-tree.md.
package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
)

// MaxText is how many characters of a step's text a picture shows.
const MaxText = 400

// Options choose what is drawn. The zero value draws the whole tree without the bodies of ops.
type Options struct {
	Ops   bool // the bodies of the ops that are called, too
	Depth int  // levels of nesting shown; 0 means all

	// Status says what became of steps in a run, by Node.ID: ok, passed (a condition that did not hold), failed, ended,
	// skipped, running or waiting. Other words are shown where text is, and have no colour.
	Status map[string]string
}

// Deciders of a condition, of a case and of the range of a loop.
const (
	byRule  = "rule"  // the grammar of conditions
	byModel = "model" // a model, for all or a part of it
)

// A part is what is drawn as one: the main tree, or the body of an op.
type part struct {
	op    *tree.Op // nil for the main tree
	nodes []*tree.Node
}

func (p part) name() string {
	if p.op == nil {
		return ""
	}
	return p.op.Name
}

// A figure is a skill cut down to what the options show.
type figure struct {
	skill *tree.Skill
	opt   Options
	parts []part          // the main tree, then ops in the order of their first call
	drawn map[string]bool // ops among parts
	facts check.Facts
}

func newFigure(s *tree.Skill, opt Options) *figure {
	f := &figure{skill: s, opt: opt, drawn: map[string]bool{}, facts: check.FindFacts(s)}
	main := part{}
	if s.Tree != nil {
		main.nodes = s.Tree.Nodes
	}
	f.parts = append(f.parts, f.prune(main))
	for i := 0; opt.Ops && i < len(f.parts); i++ {
		tree.Walk(f.parts[i].nodes, func(n *tree.Node) bool {
			if op := f.callee(n); op != nil && !f.drawn[op.Name] && !op.CallsTool() {
				f.drawn[op.Name] = true
				f.parts = append(f.parts, f.prune(part{op, opNodes(op)}))
			}
			return true
		})
	}
	return f
}

// callee returns the op whose body a step runs, nil if there is none.
func (f *figure) callee(n *tree.Node) *tree.Op {
	switch {
	case n.Kind == tree.Call:
		return f.skill.Op(n.Name)
	case n.Kind != tree.Explore:
		return nil
	case f.skill.Agent != nil && f.skill.Agent.Shape == tree.ShapeC:
		return f.skill.Op(f.skill.Agent.Op)
	}
	return f.skill.Op("EXPLORE")
}

// subagent reports whether a step runs in a context of its own.
func (f *figure) subagent(n *tree.Node) bool {
	return n.Kind == tree.Explore || n.Kind == tree.Call && n.Bold
}

// tool is the tool that a step calls without a model, "" if it calls none. The body of such an op is for readers, and not drawn.
func (f *figure) tool(n *tree.Node) string {
	if op := f.callee(n); op != nil && op.CallsTool() {
		return op.Tool
	}
	return ""
}

// card describes a step, and the tool that it calls.
func (f *figure) card(n *tree.Node) card {
	c := cardOf(n)
	if tool := f.tool(n); tool != "" {
		c.notes = append(c.notes, short("calls the tool "+tool))
	}
	return c
}

// opNodes are the steps of an op; a body without a tree is one step.
func opNodes(op *tree.Op) []*tree.Node {
	if op.Kind == tree.TreeBody && op.Tree != nil {
		return op.Tree.Nodes
	}
	if op.Prose == "" {
		return nil
	}
	text := strings.Join(strings.Fields(op.Prose), " ")
	return []*tree.Node{{Kind: tree.Prose, ID: op.Pos.File + "#" + op.Name + "/text", Pos: op.Pos, Text: text, Body: text}}
}

// implicit is the ID of what is drawn and not written: the end that an answer leads to which nothing tests for.
const implicit = "/ends"

// drawEnds gives questions the branches that end the skill without being written.
func (f *figure) drawEnds(nodes []*tree.Node) []*tree.Node {
	if len(f.facts.Ends) == 0 {
		return nodes
	}
	out := make([]*tree.Node, len(nodes))
	for i, n := range nodes {
		whole := *n
		out[i] = &whole
		whole.Children = f.drawEnds(n.Children)
		for k, option := range f.facts.Ends[n.ID] {
			id := fmt.Sprintf("%s%s/%d", n.ID, implicit, k)
			end := &tree.Node{Kind: tree.End, ID: id + "/0", Pos: n.Pos, Text: "END Cancelled.", Message: "Cancelled."}
			whole.Children = append(whole.Children, &tree.Node{Kind: tree.Prose, ID: id, Pos: n.Pos, Text: option, Body: option, Children: []*tree.Node{end}})
		}
	}
	return out
}

// prune leaves out what is deeper than the options allow, after what is not written was added.
func (f *figure) prune(p part) part {
	p.nodes = f.drawEnds(p.nodes)
	if f.opt.Depth > 0 {
		p.nodes = pruned(p.nodes, f.opt.Depth)
	}
	return p
}

func pruned(nodes []*tree.Node, depth int) []*tree.Node {
	out := make([]*tree.Node, len(nodes))
	for i, n := range nodes {
		if len(n.Children) == 0 {
			out[i] = n
			continue
		}
		short := *n
		out[i] = &short
		if depth > 1 {
			short.Children = pruned(n.Children, depth-1)
			continue
		}
		count := 0
		tree.Walk(n.Children, func(*tree.Node) bool { count++; return true })
		text := fmt.Sprintf("… %d more steps", count)
		if count == 1 {
			text = "… 1 more step"
		}
		short.Children = []*tree.Node{{Kind: tree.Prose, ID: n.ID + "/more", Pos: n.Pos, Text: text, Body: text}}
	}
	return out
}

// decided says who decides n, "" if there is nothing to decide.
func (f *figure) decided(n *tree.Node) string {
	if f.tool(n) != "" {
		return byRule
	}
	model := len(f.facts.Undecided(n)) > 0
	switch n.Kind {
	case tree.If, tree.ElseIf:
		model = model || natural(cond.Parse(n.Cond))
	case tree.Switch:
		model = model || cond.ParseExpression(n.Cond).Natural
	case tree.ForEach:
		c := cond.ParseCollection(n.In)
		model = model || c.Kind == cond.Filtered || c.Kind == cond.Prose
	default:
		return ""
	}
	if model {
		return byModel
	}
	return byRule
}

// natural reports whether a part of e is natural language.
func natural(e cond.Expr) bool {
	switch e := e.(type) {
	case cond.Natural:
		return true
	case cond.Not:
		return natural(e.Of)
	case cond.And:
		return slices.ContainsFunc(e.Of, natural)
	case cond.Or:
		return slices.ContainsFunc(e.Of, natural)
	}
	return false
}

// chain returns how many of nodes, from the first, are one IF with its ELSE_IFs and ELSE.
// A branch whose IF is missing starts a chain of its own.
func chain(nodes []*tree.Node) int {
	if k := nodes[0].Kind; k != tree.If && k != tree.ElseIf {
		return 1
	}
	i := 1
	for i < len(nodes) && nodes[i].Kind == tree.ElseIf {
		i++
	}
	if i < len(nodes) && nodes[i].Kind == tree.Else {
		i++
	}
	return i
}

// leaf reports whether what hangs below a prose step is only its detail.
func leaf(n *tree.Node) bool {
	if n.Kind != tree.Prose && n.Kind != tree.Read {
		return false
	}
	plain := true
	tree.Walk(n.Children, func(n *tree.Node) bool {
		plain = plain && (n.Kind == tree.Prose || n.Kind == tree.Read)
		return plain
	})
	return plain
}

// optionOf returns the option that a child of ASK belongs to; "" for a child that belongs to none.
func optionOf(ask, child *tree.Node) string {
	for _, o := range ask.Options {
		if tree.SameOption(o, child.Text) {
			return o
		}
	}
	return ""
}

// one makes s a single line that is safe to print.
func one(s string) string {
	return diag.Printable(strings.Join(strings.Fields(s), " "))
}

// short is one, cut at MaxText.
func short(s string) string {
	s = one(s)
	count := 0
	for i := range s {
		if count++; count > MaxText {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// A card is what a step's box says.
type card struct {
	head  string // word or name, "" for prose
	body  string
	notes []string // small print: inputs, outputs, options
	list  []string // detail of a leaf
}

// cardOf describes a step. Its strings are safe to print, and at most MaxText long.
func cardOf(n *tree.Node) card {
	c := card{body: n.Body}
	switch n.Kind {
	case tree.Call:
		c = card{head: n.Name, body: n.Inline}
		if len(n.Args) > 0 {
			args := make([]string, len(n.Args))
			for i, a := range n.Args {
				args[i] = argText(a)
			}
			c.notes = append(c.notes, "with "+strings.Join(args, ", "))
		}
	case tree.Bind:
		c = card{head: "SET", body: n.Var + " = " + n.Body}
	case tree.Read:
		c = card{head: "READ", body: strings.TrimPrefix(n.Body, "Read ")}
	case tree.If, tree.ElseIf, tree.Switch:
		c = card{body: n.Cond}
	case tree.ForEach:
		c = card{head: "FOR EACH", body: n.Var + " in " + n.In}
	case tree.Ask:
		c = card{head: "ASK", body: n.Question}
		if len(n.Options) > 0 {
			c.notes = append(c.notes, strings.Join(n.Options, "  /  "))
		}
	case tree.ShowPlan:
		c = card{head: "SHOW PLAN"}
		for _, f := range n.Fields {
			text := f.Text
			if f.Value != "" {
				text += ": " + f.Value
			}
			c.list = append(c.list, short(text))
		}
	case tree.Verify:
		c = card{head: "VERIFY", body: n.Path}
	case tree.End:
		c = card{head: "END", body: n.Message}
	case tree.Explore:
		c = card{head: "EXPLORE"}
	case tree.Break, tree.Parallel:
		c = card{head: n.Kind.String()}
	case tree.Case:
		c = card{body: n.Cond}
	case tree.Prose:
	default:
		c = card{head: strings.ToUpper(n.Kind.String()), body: n.Body}
	}
	if len(n.Outs) > 0 && n.Kind != tree.ShowPlan {
		names := make([]string, len(n.Outs))
		for i, o := range n.Outs {
			names[i] = o.Name
		}
		c.notes = append(c.notes, "gives "+strings.Join(names, ", "))
	}
	if c.head == "" && c.body == "" {
		c.body = n.Text
	}
	c.head, c.body = short(c.head), short(c.body)
	for i := range c.notes {
		c.notes[i] = short(c.notes[i])
	}
	return c
}

func argText(a tree.Arg) string {
	text := valueText(a.Value)
	if a.Name != "" {
		return a.Name + " = " + text
	}
	return text
}

func valueText(v tree.Value) string {
	switch v.Kind {
	case tree.String:
		return `"` + v.Text + `"`
	case tree.List:
		items := make([]string, len(v.Items))
		for i, item := range v.Items {
			items[i] = valueText(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return v.Text
}

// label is a card as one line, for formats that wrap themselves.
func (c card) label() string {
	s := c.head
	if c.body != "" {
		s = strings.TrimPrefix(s+" "+c.body, " ")
	}
	if len(c.list) > 0 {
		s += ": " + strings.Join(c.list, ", ")
	}
	return short(strings.Join(append([]string{s}, c.notes...), "; "))
}

// signature is an op's heading.
func signature(op *tree.Op) string {
	s := op.Name
	for i, p := range op.Params {
		sep := " | "
		if i == 0 {
			sep = " << "
		}
		if p.Optional {
			s += sep + "[" + p.Name + "]"
		} else {
			s += sep + p.Name
		}
	}
	for i, o := range op.Outs {
		sep := " | "
		if i == 0 {
			sep = " >> "
		}
		s += sep + o.Name
	}
	return short(s)
}
