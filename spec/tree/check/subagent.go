package check

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// subagents checks the definitions that have a marker, or look as if they should.
func (c *checker) subagents() {
	owners := c.owners()
	for i := range c.bodies {
		op := c.bodies[i].op
		if op == nil {
			continue
		}
		c.marker(op)
		if !op.Subagent {
			continue
		}
		if op.Output == nil {
			c.report(NoOutput, op.MarkerPos, "the subagent "+diag.Clip(op.Name, 60)+" has no output contract: nothing says what it returns")
		}
		w := strictWalk{checker: c, op: op, owners: owners, allowed: map[string]bool{}, seen: map[strictSeen]bool{}, open: map[*tree.Op]bool{}}
		for _, o := range op.Outs {
			w.allowed[o.Name] = true
		}
		w.enter(op)
	}
}

// marker looks for markers that the parser could not take for one.
func (c *checker) marker(op *tree.Op) {
	f := c.source(op.Pos.File)
	for _, contract := range [...]*tree.Contract{op.Input, op.Output} {
		if contract == nil || f == nil {
			continue
		}
		line, _ := f.line(contract.Pos.Line)
		i := strings.Index(line, contract.Path)
		if i > 0 && line[i-1] != '`' {
			p := c.report(MarkerForm, contract.Pos, "the path of the contract stands without backticks")
			_, start := f.line(contract.Pos.Line)
			p.Fix = &diag.Fix{Note: "write the path in backticks", Start: start + i, End: start + i + len(contract.Path), Text: "`" + contract.Path + "`"}
		}
	}
	if f == nil {
		return
	}
	kinds := f.kinds(1)
	inMarker := op.Subagent || op.CallsTool() || op.Input != nil || op.Output != nil
	for n := op.Pos.Line + 1; n <= min(op.Last, f.lines()); n++ {
		if kinds[n] != quoteLine {
			continue
		}
		if inMarker { // the first blockquote is the marker
			for n < f.lines() && kinds[n+1] == quoteLine {
				n++
			}
			inMarker = false
			continue
		}
		line, _ := f.line(n)
		text := strings.TrimLeft(strings.TrimSpace(line), "> *_")
		if _, ok := cutFold(text, "subagent"); ok || strings.HasPrefix(text, "Output contract:") || strings.HasPrefix(text, "Input contract:") {
			c.report(MarkerForm, tree.Pos{File: op.Pos.File, Line: n, Column: 1}, "the blockquote is not a marker: that is the first thing below the heading, and starts with > **Subagent.**")
			break
		}
	}
}

// owners says which ops bind each name by their steps; nil stands for the skill's tree.
func (c *checker) owners() map[string][]*tree.Op {
	out := map[string][]*tree.Op{}
	for i := range c.bodies {
		b := &c.bodies[i]
		add := func(name string) {
			if list := out[name]; len(list) == 0 || list[len(list)-1] != b.op {
				out[name] = append(list, b.op)
			}
		}
		b.each(func(n *tree.Node, _ []*tree.Node, _ int) {
			for _, t := range n.Outs {
				add(t.Name)
			}
			if n.Kind == tree.Bind {
				add(n.Var)
			}
		})
	}
	return out
}

// A strictWalk goes through the body of a subagent, and through the ops that run in
// its context, and looks for names that are not there.
type strictWalk struct {
	*checker
	op      *tree.Op
	owners  map[string][]*tree.Op
	allowed map[string]bool
	seen    map[strictSeen]bool
	open    map[*tree.Op]bool
	args    bool // $ARGUMENTS was reported
}

type strictSeen struct {
	at   tree.Pos
	name string
}

func (w *strictWalk) enter(op *tree.Op) {
	if w.open[op] {
		return
	}
	w.open[op] = true
	var added []string
	for _, p := range op.Params {
		if !w.allowed[p.Name] {
			w.allowed[p.Name] = true
			added = append(added, p.Name)
		}
	}
	if !op.CallsTool() { // no run reads the prose of such an op
		w.text(op.Pos, op.Prose, op)
	}
	if op.Tree != nil {
		if op.Tree.Label != nil {
			w.text(op.Tree.Label.Pos, op.Tree.Label.Text, op)
		}
		w.nodes(op.Tree.Nodes, op)
	}
	for _, name := range added {
		delete(w.allowed, name)
	}
}

func (w *strictWalk) nodes(list []*tree.Node, in *tree.Op) {
	for _, n := range list {
		if w.budget.strict--; w.budget.strict < 0 {
			return
		}
		w.text(n.Pos, n.Text, in)
		for _, name := range reads(n) {
			if contextField(name) == "" {
				w.name(n.Pos, root(name), in)
			}
		}
		if n.Kind == tree.Call && !n.Bold {
			if op := w.skill.Op(n.Name); op != nil && !op.Subagent {
				w.enter(op)
			}
		}
		shadowed := n.Kind == tree.ForEach && w.allowed[n.Var]
		if n.Kind == tree.ForEach || n.Kind == tree.Bind {
			w.allowed[n.Var] = true
		}
		w.nodes(n.Children, in)
		if n.Kind == tree.ForEach && !shadowed {
			delete(w.allowed, n.Var)
		}
		for _, t := range n.Outs {
			w.allowed[t.Name] = true
		}
	}
}

// text looks for context.x, backticked names and $ARGUMENTS in a text.
func (w *strictWalk) text(at tree.Pos, text string, in *tree.Op) {
	if text == "" {
		return
	}
	plain := blank(text, `"`)
	for _, prefix := range [...]string{"context.", "ctx."} {
		for rest := plain; ; {
			before, after, ok := strings.Cut(rest, prefix)
			if !ok {
				break
			}
			rest = after
			field := contextField("context." + after)
			if i := len(before) - 1; field == "" || i >= 0 && (isWordByte(before[i]) || strings.IndexByte("-./", before[i]) >= 0) {
				continue
			}
			if !w.allowed[field] && !w.allowed["context"] && !w.allowed["ctx"] {
				w.found(at, prefix+field, in)
			}
		}
	}
	for code := range spans(plain) {
		if IsName(code) {
			w.name(at, code, in)
		}
	}
	if strings.Contains(plain, "$ARGUMENTS") && !w.args {
		w.args = true
		w.report(StrictInput, at, "the subagent "+diag.Clip(w.op.Name, 60)+" uses $ARGUMENTS: make it an input").Severity = diag.SeverityWarning
	}
}

// name reports a name that only steps outside of this context bind.
func (w *strictWalk) name(at tree.Pos, name string, in *tree.Op) {
	if w.allowed[name] {
		return
	}
	for _, op := range w.owners[name] {
		if op != w.op && op != in {
			w.found(at, name, in)
			return
		}
	}
}

func (w *strictWalk) found(at tree.Pos, name string, in *tree.Op) {
	key := strictSeen{at, strings.TrimPrefix(strings.TrimPrefix(name, "context."), "ctx.")}
	if w.seen[key] {
		return
	}
	w.seen[key] = true
	message := "the subagent " + diag.Clip(w.op.Name, 60) + " does not get " + diag.Clip(name, 60) + ": it is not among its inputs"
	if in != w.op {
		message = diag.Clip(in.Name, 60) + " runs inside of the subagent " + diag.Clip(w.op.Name, 60) + ", which does not get " + diag.Clip(name, 60)
	}
	w.report(StrictInput, at, message)
}
