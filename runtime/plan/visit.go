package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// How a walker visits the nodes that read, ask, loop and call.

// literal fills text with what is known; the rest stays as written.
func (w *walker) literal(text string) string {
	text, _ = w.fill(text, w.args)
	return text
}

func (w *walker) ask(in Callee, n *tree.Node, path string) flow {
	w.emit(Effect{Kind: "ask", Node: w.p.idIn(in.Skill, n.ID), Path: path, What: w.literal(n.Question), Options: n.Options})
	w.answer = &question{}
	if len(n.Options) <= maxOptions {
		w.answer.options = n.Options
	}
	w.unknown(n, 1)
	if len(n.Options) == 0 {
		w.bind("answer", symbol{})
		return toNext
	}
	var ways []branch
	for i, c := range n.Children {
		for _, option := range n.Options {
			if !tree.SameOption(c.Text, option) {
				continue
			}
			at := path + "/" + strconv.Itoa(i)
			ways = append(ways, w.try("answer is "+strings.TrimSpace(option), func() flow { return w.body(in, c.Children, at) }))
		}
	}
	if len(ways) < len(n.Options) {
		ways = append(ways, branch{flow: toNext, answer: w.answer})
	}
	return w.join(ways)
}

func (w *walker) showPlan(in Callee, n *tree.Node, path string) {
	var missing []string
	for _, f := range n.Fields {
		if f.Value != "" {
			if name := f.Name(); isPath(name) {
				w.bind(name, w.text(n, strings.Trim(f.Value, `"`)))
			}
			continue
		}
		if _, ok := w.lookup(f.Name()); !ok {
			missing = append(missing, f.Text)
			if name := f.Name(); isPath(name) {
				w.bind(name, symbol{})
			}
		}
	}
	if len(missing) > 0 {
		w.at(in, n, path, "model", "fields", strings.Join(missing, ", "))
	}
}

func (w *walker) read(in Callee, n *tree.Node, path string) {
	name := w.literal(n.Path)
	if resource.CategoryOf(n.Path) != resource.Project && !Dynamic(name) {
		if r, err := w.p.Resource(in.Skill, name); err == nil && r.Legacy {
			name = r.Path
		}
	}
	if resource.CategoryOf(n.Path) == resource.Script {
		section := w.literal(n.Section)
		if r, err := w.p.Resource(in.Skill, name); err == nil && section == "" {
			section, _ = Part(r, n)
		}
		if section != "" {
			name += " § " + section
		}
		w.at(in, n, path, "command", "", name)
	} else {
		w.at(in, n, path, "file", "read", name)
	}
	if target := WriteTarget(n); target != "" {
		w.at(in, n, path, "file", "write", w.literal(target))
	}
	w.unknown(n, single(n))
}

// verify lists the checklist, and the call that judges what cannot be checked without a model.
func (w *walker) verify(in Callee, n *tree.Node, path string) {
	name := n.Path
	if name == "" {
		name = DefaultVerify
	}
	name = w.literal(name)
	w.at(in, n, path, "file", "read", name)
	r, err := w.p.Resource(in.Skill, name)
	if err != nil { // the path is known only in the run
		w.at(in, n, path, "model", "checklist", name)
		return
	}
	judged := 0
	for _, item := range resource.ParseChecklist(r.Text).Items {
		claim, ok := resource.ParseClaim(item.Text)
		switch {
		case !ok || len(item.Subs) > 0:
			judged++
		case claim.Kind == resource.FileExists:
			w.at(in, n, path, "file", "exists", w.literal(claim.Path))
		case claim.Kind == resource.FileContains:
			w.at(in, n, path, "file", "read", w.literal(claim.Path))
		}
	}
	if judged > 0 {
		w.at(in, n, path, "model", "checklist", fmt.Sprintf("%s: %d of its items", r.Path, judged))
	}
}

// loop walks FOR_EACH: a known list element by element, another once, with what it changes unknown.
func (w *walker) loop(in Callee, n *tree.Node, path string) flow {
	defer func(tail bool) { w.tail = tail }(w.tail)
	w.tail = false
	c := w.p.Collection(n)
	vague, open := false, true
	items, filter, _, err := c.Elements(w.env(n, "", &vague))
	switch {
	case filter, c.Kind == cond.Prose, c.Kind == cond.Named && w.undecided(n, cond.Ref{Of: c.Of}), err != nil && c.Kind == cond.Filtered, vague && c.Kind == cond.Filtered:
		w.at(in, n, path, "model", "filter", line(n.In))
	case err == nil && !vague && len(items) <= maxItems:
		open = false
	}
	if !open {
		return w.items(in, n, path, items)
	}
	w.forget(n.Children)
	b := w.try("", func() flow {
		w.push(map[string]symbol{n.Var: {}})
		way := w.body(in, n.Children, path+"[*]")
		w.pop()
		return way
	})
	if b.flow&toBreak != 0 {
		b.flow = b.flow&^toBreak | toNext
	}
	// It may also run not at all.
	return w.join([]branch{b, {flow: toNext, answer: w.answer}})
}

func (w *walker) items(in Callee, n *tree.Node, path string, items []any) flow {
	way := toNext
	broke, mark := false, len(w.log)
	for i, item := range items {
		w.push(map[string]symbol{n.Var: {known: true, value: item}})
		f := w.body(in, n.Children, path+"["+strconv.Itoa(i)+"]")
		w.pop()
		broke = broke || f&toBreak != 0
		way = way&^toNext | f&(toNext|toEnd)
		if f&toNext == 0 || w.visits >= MaxVisits {
			break
		}
	}
	if broke { // where it stopped is not known
		w.forget(n.Children)
		w.breakOff(mark)
		w.unsure(mark)
		way |= toNext
	}
	return way
}

// call walks a call, EXPLORE and a bold call.
func (w *walker) call(in Callee, n *tree.Node, path string) flow {
	c, ok := w.p.Callee(n)
	if !ok {
		if n.Kind == tree.Explore && in.Skill.Agent != nil {
			w.at(in, n, path, "subagent", "", "Agent")
			w.at(in, n, path+">EXPLORE", "model", "explore", agentLine(in.Skill.Agent.Text))
		}
		w.unknown(n, single(n))
		return toNext
	}
	isolated := c.Op.Subagent && n.Bold || n.Kind == tree.Explore
	if isolated {
		w.at(in, n, path, "subagent", "", c.Op.Name)
	}
	way, given := toNext, true
	if c.Op.Kind == tree.TreeBody && c.Op.Tree != nil && !c.Op.CallsTool() {
		way = w.enter(in, n, path, c, isolated)
		given = way&toBreak == 0
		if !given {
			way = way&^toBreak | toNext
		}
	} else if c.Op.CallsTool() {
		w.at(in, n, path, "tool", c.Op.Name, c.Op.Tool)
	} else {
		text := c.Op.Prose
		if strings.TrimSpace(text) == "" {
			text = n.Text
		}
		w.at(in, n, path+">"+c.Op.Name, "model", "leaf", c.Op.Name+": "+line(text))
	}
	sure := single(n)
	switch {
	case !given:
		sure = 0
	case len(c.Op.Outs) <= 1:
	case c.Op.Output != nil || slices.ContainsFunc(n.Outs, func(t tree.Target) bool { return t.Group }):
		sure = 0
	default:
		sure = len(n.Outs)
	}
	w.unknown(n, sure)
	return way
}

// agentLine is the first line of an Agent section without its marker.
func agentLine(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), "**explore**")
	return line(strings.TrimLeft(text, " —–-"))
}

// entered is an op whose body is being walked.
type entered struct {
	op       *tree.Op
	outs     []string // the names that it gives
	frame    int      // of its parameters
	isolated bool     // what it binds is nobody else's
}

// Slots in the frame of an op that say what it has bound so far; no name can be like them.
const (
	wrote    = "\x00wrote "
	gaveBack = "\x00returned"
)

// bind binds a name, and records it for each op around that gives this name. A loop variable or parameter
// keeps what is bound from those further out.
func (w *walker) bind(name string, v symbol) {
	w.set(name, v)
	holder, _ := w.symbols.at(name)
	for i := len(w.ops) - 1; i >= 0 && w.ops[i].frame >= holder; i-- {
		op := w.ops[i]
		if slices.Contains(op.outs, name) {
			w.put(slot{op.frame, wrote + name}, symbol{known: true, value: true})
		}
		if op.isolated {
			break
		}
	}
}

// unsure takes back what was recorded of results since mark, a length of the log: a BREAK may have come before.
func (w *walker) unsure(mark int) {
	for _, c := range w.log[mark:] {
		if strings.HasPrefix(c.name, wrote) && !c.old.known && c.frame < len(w.frames) {
			w.put(c.slot, symbol{})
		}
	}
}

// returned records that the last leaf of an op gives its result.
func (w *walker) returned() {
	if len(w.ops) > 0 {
		w.put(slot{w.ops[len(w.ops)-1].frame, gaveBack}, symbol{known: true, value: true})
	}
}

// gives reports whether an op surely has its result when its body ends.
func (w *walker) gives(op entered) bool {
	frame := w.frames[op.frame]
	if frame[gaveBack].known {
		return true
	}
	for _, name := range op.outs {
		if !frame[wrote+name].known {
			return false
		}
	}
	return true
}

// enter walks the body of an op. The flow has toBreak when a BREAK may end it without its result.
func (w *walker) enter(in Callee, n *tree.Node, path string, c Callee, isolated bool) flow {
	entries := 0
	for _, e := range w.ops {
		if e.op == c.Op {
			entries++
		}
	}
	if entries >= maxEntries || len(w.ops) >= maxOps {
		why := " calls itself"
		if entries < maxEntries {
			why = fmt.Sprintf(" is called inside %d ops", maxOps)
		}
		w.at(in, n, path, "note", "", c.Op.Name+why+"; its further steps are not listed")
		w.forgetOp(c.Op)
		return toNext
	}
	params := w.parameters(c.Op, n)
	outside, answer, tail, mark := w.symbols, w.answer, w.tail, len(w.log)
	if isolated {
		w.symbols, w.answer = &symbols{frames: []map[string]symbol{{}}}, nil
	}
	w.push(params)
	op := entered{op: c.Op, frame: len(w.frames) - 1, isolated: isolated}
	for _, t := range c.Op.Outs {
		op.outs = append(op.outs, t.Name)
	}
	if len(op.outs) == 0 {
		for _, t := range n.Outs {
			op.outs = append(op.outs, t.Name)
		}
	}
	w.ops, w.tail = append(w.ops, op), true
	base := path + ">" + c.Op.Name
	way := w.body(c, c.Op.Tree.Nodes, base)
	wants := len(n.Outs) > 0 || c.Op.Output != nil && w.p.Skill.Strict
	if wants && way&toNext != 0 && !w.gives(op) {
		w.at(in, n, base+"/return", "model", "leaf", "Give the result of "+c.Op.Name+": "+strings.Join(op.outs, ", "))
	}
	w.ops = w.ops[:len(w.ops)-1]
	w.pop()
	w.symbols, w.answer, w.tail = outside, answer, tail
	if way&toBreak != 0 && !isolated { // what ran before it is not known
		w.forgetOp(c.Op)
		w.breakOff(mark)
		w.unsure(mark)
	}
	return way
}

// parameters are the values of a call's inputs, by name or by position.
func (w *walker) parameters(op *tree.Op, n *tree.Node) map[string]symbol {
	params := make(map[string]symbol, len(op.Params))
	args, next := n.Args, 0
	if len(args) == 0 && n.Inline != "" {
		args = []tree.Arg{{Value: tree.Value{Kind: tree.Word, Text: n.Inline}}}
	}
	for _, a := range args {
		name := a.Name
		if name == "" && next < len(op.Params) {
			name = op.Params[next].Name
			next++
		}
		if name != "" {
			params[name] = w.eval(n, a.Value)
		}
	}
	return params
}

// forget makes every name unknown that the nodes, and the ops that they call, may bind.
func (w *walker) forget(nodes []*tree.Node) {
	for _, name := range w.written(nodes, nil) {
		w.loosen(name)
	}
}

func (w *walker) forgetOp(op *tree.Op) {
	for _, name := range w.opWrites(op, map[*tree.Op]bool{}) {
		w.loosen(name)
	}
}

func (w *walker) opWrites(op *tree.Op, seen map[*tree.Op]bool) []string {
	if names, ok := w.writes[op]; ok {
		return names
	}
	if seen[op] || op.Tree == nil {
		return nil
	}
	seen[op] = true
	outermost := len(seen) == 1
	names := w.written(op.Tree.Nodes, seen)
	if outermost { // of an op inside, a recursion may have been left out
		w.writes[op] = names
	}
	return names
}

// written returns the names that nodes may bind outside themselves, in order, without duplicates.
func (w *walker) written(nodes []*tree.Node, seen map[*tree.Op]bool) []string {
	if seen == nil {
		seen = map[*tree.Op]bool{}
	}
	var names []string
	have := map[string]bool{}
	add := func(name string) {
		if name != "" && !have[name] {
			have[name] = true
			names = append(names, name)
		}
	}
	tree.Walk(nodes, func(n *tree.Node) bool {
		for _, t := range n.Outs {
			add(t.Name)
		}
		switch n.Kind {
		case tree.Bind:
			add(n.Var)
		case tree.Ask:
			if len(n.Options) == 0 {
				add("answer")
			}
		case tree.Call:
			if c, ok := w.p.Callee(n); ok && !(c.Op.Subagent && n.Bold) {
				for _, name := range w.opWrites(c.Op, seen) {
					add(name)
				}
			}
		}
		return true
	})
	return names
}
