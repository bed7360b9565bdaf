package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// flow says where a walk can go on from a node: to the next, out of the loop or op, nowhere.
type flow uint8

const (
	toNext flow = 1 << iota
	toBreak
	toEnd
)

const (
	maxEntries = 2    // of one op that are walked, one inside the other
	maxOps     = 32   // ops inside ops, the limit of a run
	maxItems   = 1000 // of a list that is walked element by element
	maxOptions = 32   // of a question whose answers are tried one by one
)

// A walker collects the effects of a plan.
type walker struct {
	*symbols
	p      *Plan
	args   string
	out    []Effect
	when   []string // conditions on the way
	ops    []entered
	tail   bool      // nothing of the op is visited after this node
	answer *question // most recent ASK of the op or around it
	visits int
	writes map[*tree.Op][]string
}

// A question is an ASK whose answer is not known.
type question struct{ options []string } // nil: free

// A branch is one way that a walk may have taken.
type branch struct {
	flow    flow
	changes map[slot]symbol
	answer  *question
}

// Effects walks the plan symbolically: nothing runs, unknown values stay unknown, and a condition on them
// explores both branches (ruling 5.32). args are the skill's arguments. The order is that of the walk, the
// same every time. A second entry of an op into itself is walked, the third is a note.
func (p *Plan) Effects(args string) []Effect {
	w := &walker{p: p, args: args, symbols: &symbols{frames: []map[string]symbol{{}}}, writes: map[*tree.Op][]string{}}
	w.arguments()
	w.body(Callee{Skill: p.Skill}, p.Main(), "")
	if p.Whole == nil {
		w.respond()
	}
	return w.out
}

// arguments binds what the preamble makes of the arguments.
func (w *walker) arguments() {
	given, err := w.p.Arguments(w.args)
	if err == nil {
		w.args = given.Text
	}
	values, understood := resource.ParseArguments(w.p.Preamble(), w.args)
	for name, value := range values {
		if name == "$ARGUMENTS" {
			w.args = value
			continue
		}
		w.set(name, symbol{known: true, value: value})
	}
	for name, value := range given.Bindings() {
		w.set(name, symbol{known: true, value: value})
	}
	if err != nil && w.p.arguer != nil { // whoever runs it gives others
		for _, name := range w.p.arguer.names {
			w.set(resource.ArgumentName(name), symbol{})
		}
	}
	if understood {
		return
	}
	var asked []string
	for _, name := range w.p.free {
		if _, ok := values[name]; !ok {
			w.set(name, symbol{maybe: !w.p.Argument(name)})
			asked = append(asked, name)
		}
	}
	if len(asked) > 0 {
		w.emit(Effect{Kind: "model", Node: w.p.Skill.File + "#arguments", Path: "arguments", What: strings.Join(asked, ", "), Mode: "arguments"})
	}
}

// respond adds the call that fills fields of the response which nothing binds.
func (w *walker) respond() {
	var missing []string
	for _, name := range w.p.Skill.Response {
		if _, ok := w.lookup(tree.NameOf(name)); !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		w.emit(Effect{Kind: "model", Node: w.p.Skill.File + "#response", Path: "response", What: strings.Join(missing, ", "), Mode: "respond"})
	}
}

func (w *walker) emit(e Effect) {
	e.When = strings.Join(w.when, "; ")
	w.out = append(w.out, e)
}

// at emits an effect of a node.
func (w *walker) at(in Callee, n *tree.Node, path, kind, mode, what string) {
	w.emit(Effect{Kind: kind, Node: w.p.idIn(in.Skill, n.ID), Path: path, What: what, Mode: mode})
}

// body walks the siblings of one body or branch; base is the path of what they hang on.
func (w *walker) body(in Callee, nodes []*tree.Node, base string) flow {
	way, tail := toNext, w.tail
	defer func() { w.tail = tail }()
	for i := 0; i < len(nodes) && way&toNext != 0; i++ {
		n := nodes[i]
		w.tail = tail && lastOf(nodes[i+1:])
		path := strconv.Itoa(i)
		if base != "" {
			path = base + "/" + path
		}
		if w.visits++; w.visits >= MaxVisits {
			if w.visits == MaxVisits {
				w.at(in, n, path, "note", "", fmt.Sprintf("more than %d nodes are visited; the rest is not listed", MaxVisits))
			}
			return way
		}
		way &^= toNext
		if n.Kind != tree.If {
			way |= w.node(in, n, path)
			continue
		}
		end := i + 1
		for end < len(nodes) && nodes[end].Kind == tree.ElseIf {
			end++
		}
		if end < len(nodes) && nodes[end].Kind == tree.Else {
			end++
		}
		way |= w.chain(in, nodes[i:end], base, i)
		i = end - 1
	}
	return way
}

// lastOf reports whether only the rest of a chain follows.
func lastOf(rest []*tree.Node) bool {
	for _, n := range rest {
		if n.Kind != tree.ElseIf && n.Kind != tree.Else {
			return false
		}
	}
	return true
}

// node walks one node that is no chain of IF.
func (w *walker) node(in Callee, n *tree.Node, path string) flow {
	switch n.Kind {
	case tree.Prose, tree.Else, tree.ElseIf: // the latter without an IF is refused before
		return w.leaf(in, n, path)
	case tree.Call, tree.Explore:
		return w.call(in, n, path)
	case tree.Bind:
		e := w.p.Expr(n)
		if len(e.Parts) == 0 {
			w.at(in, n, path, "model", "leaf", line(n.Text))
		}
		w.bind(n.Var, w.sum(n, e))
	case tree.Read:
		w.read(in, n, path)
	case tree.Switch:
		return w.choose(in, n, path)
	case tree.ForEach:
		return w.loop(in, n, path)
	case tree.Parallel:
		return w.parallel(in, n, path)
	case tree.Break:
		return toBreak
	case tree.End:
		return toEnd
	case tree.Ask:
		return w.ask(in, n, path)
	case tree.ShowPlan:
		w.showPlan(in, n, path)
	case tree.Verify:
		w.verify(in, n, path)
	}
	return toNext
}

// unknown binds the targets of n to values that only a run has. The first sure of them get one in every run,
// the others perhaps not.
func (w *walker) unknown(n *tree.Node, sure int) {
	for i, t := range n.Outs {
		if i < sure {
			w.bind(t.Name, symbol{})
		} else {
			w.loosen(t.Name)
		}
	}
}

// single is 1 where the whole of a result is bound, and 0 where it is taken apart, and may lack a part.
func single(n *tree.Node) int {
	if len(n.Outs) == 1 {
		return 1
	}
	return 0
}

func (w *walker) leaf(in Callee, n *tree.Node, path string) flow {
	if n == w.p.Whole {
		w.at(in, n, path, "model", "whole", n.Text)
		return toNext
	}
	l := w.p.Leaf(n)
	if l.Kind == Ask || l.Kind == Header {
		w.at(in, n, path, "model", "leaf", line(l.Text))
	}
	w.unknown(n, len(n.Outs))
	if l.Kind == Header || l.Kind == Title {
		return w.body(in, n.Children, path)
	}
	if l.Kind == Ask && w.tail && len(n.Outs) == 0 {
		w.returned()
	}
	return toNext
}

// line is the first line of a prompt.
func line(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(text)
}

// try walks one way that a run may take, and goes back to where it began.
func (w *walker) try(when string, f func() flow) branch {
	mark, answer, depth := len(w.log), w.answer, len(w.when)
	if when != "" {
		w.when = append(w.when, when)
	}
	way := f()
	b := branch{way, w.undo(mark), w.answer}
	w.answer, w.when = answer, w.when[:depth]
	return b
}

// join goes on from where the branches lead.
func (w *walker) join(branches []branch) flow {
	var way flow
	var changes []map[slot]symbol
	var answers []*question
	for _, b := range branches {
		way |= b.flow
		if b.flow&toNext != 0 {
			changes = append(changes, b.changes)
			answers = append(answers, b.answer)
		}
	}
	w.merge(changes)
	for i, a := range answers {
		switch {
		case i == 0:
			w.answer = a
		case a != w.answer:
			w.answer = either(w.answer, a)
		}
	}
	return way
}

// either is the question when one of two was asked.
func either(a, b *question) *question {
	if a == nil || b == nil || a.options == nil || b.options == nil {
		return &question{}
	}
	q := &question{options: slices.Clone(a.options)}
	for _, o := range b.options {
		if !slices.Contains(q.options, o) {
			q.options = append(q.options, o)
		}
	}
	return q
}

// chain walks IF, ELSE_IF and ELSE.
func (w *walker) chain(in Callee, nodes []*tree.Node, base string, first int) flow {
	var ways []branch
	var not []string // conditions that did not hold, if they are not known
	decided := false
	for i, n := range nodes {
		path := strconv.Itoa(first + i)
		if base != "" {
			path = base + "/" + path
		}
		depth := len(w.when)
		w.when = append(w.when, not...)
		t := holds
		if n.Kind != tree.Else {
			t = w.decide(in, n, path)
		}
		if t == fails {
			w.when = w.when[:depth]
			continue
		}
		when := ""
		if t == open {
			when = strings.TrimSpace(n.Cond)
			not = append(not, "not ("+when+")")
		}
		ways = append(ways, w.try(when, func() flow {
			return w.body(in, n.Children, path)
		}))
		w.when = w.when[:depth]
		if t == holds {
			decided = true
			break
		}
	}
	if !decided {
		ways = append(ways, branch{flow: toNext, answer: w.answer})
	}
	return w.join(ways)
}

// truth is what is known of a condition.
type truth uint8

const (
	open truth = iota
	holds
	fails
)

var errOpen = errors.New("not known before a run")

// decide evaluates a condition on what is known. Of an answer only the options are: when all
// of them lead to the same result, it is known.
func (w *walker) decide(in Callee, n *tree.Node, path string) truth {
	e := w.p.Cond(n)
	for _, file := range cond.Files(e) {
		w.at(in, n, path, "file", "exists", w.literal(file))
	}
	answers := []string{""}
	if w.answer != nil && w.answer.options != nil {
		answers = w.answer.options
	}
	result := open
	for i, answer := range answers {
		t := w.evaluate(n, e, answer)
		if t == open || i > 0 && t != result {
			if cond.Model(e) || w.undecided(n, e) {
				w.at(in, n, path, "model", "condition", line(n.Cond))
			}
			return open
		}
		result = t
	}
	return result
}

// undecided reports whether a name of e has no value, so that a model decides it.
func (w *walker) undecided(n *tree.Node, e cond.Expr) bool {
	has := func(path string) bool {
		v, bound := w.given(path)
		return bound && !v.maybe && !v.open
	}
	binds := func(path string) bool { v, bound := w.given(path); return bound && !v.open || w.p.Binds(path) }
	name := func(word string) bool { return w.p.Word(n, word) == check.Name }
	return len(cond.FindUnbound(e, cond.Scope{Has: has, Binds: binds, Option: w.p.Offers, Name: name})) > 0
}

// given is lookup for conditions: an optional input that a call leaves out is null.
func (w *walker) given(path string) (symbol, bool) {
	v, bound := w.lookup(path)
	if bound {
		return v, true
	}
	if w.p.Argument(path) {
		return symbol{known: true}, true
	}
	for _, op := range w.ops {
		if slices.Contains(op.op.Params, tree.Param{Name: path, Optional: true}) {
			return symbol{known: true}, true
		}
	}
	return w.inContext(path)
}

func (w *walker) evaluate(n *tree.Node, e cond.Expr, answer string) truth {
	vague := false
	yes, _, err := cond.Eval(context.Background(), e, w.env(n, answer, &vague))
	switch {
	case err != nil || vague:
		return open
	case yes:
		return holds
	}
	return fails
}

// env is what can be said before a run. vague is set when something is asked for that cannot.
func (w *walker) env(n *tree.Node, answer string, vague *bool) cond.Env {
	return cond.Env{
		Arguments: w.args,
		Lookup: func(path string) (any, bool) {
			v, bound := w.given(path)
			if bound && !v.known {
				*vague = true
				return nil, false
			}
			return v.value, bound && !v.open
		},
		Answer: func() (string, []string, bool) {
			switch {
			case w.answer == nil:
				return "", nil, false
			case w.answer.options == nil:
				*vague = true
				return "", nil, false
			}
			return answer, w.answer.options, true
		},
		Exists: func(string) (bool, error) { *vague = true; return false, errOpen },
		Outcome: func(name string) string {
			if _, bound := w.lookup(name); bound {
				*vague = true
			}
			return ""
		},
		Model:  func(context.Context, string) (bool, error) { return false, errOpen },
		Binds:  func(path string) bool { v, _ := w.given(path); return !v.open && w.p.Binds(path) },
		Option: w.p.Offers,
		Name:   func(word string) bool { return w.p.Word(n, word) == check.Name },
	}
}

// choose walks SWITCH.
func (w *walker) choose(in Callee, n *tree.Node, path string) flow {
	x := w.p.Subject(n)
	var subject symbol
	if x.Natural {
		w.at(in, n, path, "model", "choice", line(n.Cond))
	} else {
		vague := false
		v, err := x.Value(w.env(n, "", &vague))
		subject = symbol{known: err == nil && !vague, value: v}
		if w.undecidedChoice(n, x) {
			subject.known = false
			w.at(in, n, path, "model", "choice", line(n.Cond))
		}
	}
	var ways []branch
	sure := false // one branch is surely taken
	fallback := -1
	for i, c := range n.Children {
		if sure {
			break
		}
		when := strings.TrimSpace(n.Cond) + " is " + strings.TrimSpace(c.Cond)
		switch c.Kind {
		case tree.Default:
			fallback = i
			continue
		case tree.Case:
		default:
			continue
		}
		if subject.known {
			vague := false
			match, err := cond.Match(subject.value, w.p.Case(c), w.env(n, "", &vague))
			if !vague && err == nil && !match {
				continue
			}
			if sure = !vague && err == nil; sure && len(ways) == 0 {
				when = ""
			}
		}
		ways = append(ways, w.try(when, func() flow { return w.body(in, c.Children, path+"/"+strconv.Itoa(i)) }))
	}
	if !sure && fallback >= 0 {
		when := strings.TrimSpace(n.Cond) + " is none of them"
		if subject.known && len(ways) == 0 {
			when = ""
		}
		c := n.Children[fallback]
		ways = append(ways, w.try(when, func() flow { return w.body(in, c.Children, path+"/"+strconv.Itoa(fallback)) }))
	} else if !sure {
		ways = append(ways, branch{flow: toNext, answer: w.answer})
	}
	return w.join(ways)
}

// undecidedChoice reports whether what SWITCH goes by, or one of its cases, is a name without a value.
func (w *walker) undecidedChoice(n *tree.Node, x cond.Expression) bool {
	return w.undecided(n, cond.Ref{Of: x.Operand}) || slices.ContainsFunc(n.Children, func(c *tree.Node) bool {
		if c.Kind != tree.Case {
			return false
		}
		of := w.p.Case(c)
		return of.Kind == cond.Path && w.undecided(c, cond.Ref{Of: of})
	})
}

// parallel walks the children, each on what was known before the block.
func (w *walker) parallel(in Callee, n *tree.Node, path string) flow {
	way, tail := toNext, w.tail
	w.tail = false
	var all []map[slot]symbol
	for i, c := range n.Children {
		b := w.try("", func() flow { return w.node(in, c, path+"/"+strconv.Itoa(i)) })
		way |= b.flow & toEnd
		all = append(all, b.changes)
	}
	for _, changes := range all { // a child may have failed, and bound nothing
		for at := range changes {
			before, bound := w.frames[at.frame][at.name]
			w.put(at, symbol{maybe: !bound || before.maybe})
		}
	}
	w.tail = tail
	return way
}
