package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// unit is a child of PARALLEL: a node, or an IF with the rest of its chain.
type unit struct {
	first      int
	nodes      []*tree.Node
	dispatched bool // works in a context of its own, at the same time as others
	sub        *Machine
	err        error
	ran        bool
}

// A block is a visit of PARALLEL.
type block struct {
	visit
	units []*unit
}

// run runs the children, each on a copy of what is bound now, and merges what they bind in the order in which they are written
// (rulings 5.22, 5.23, 5.26). It is one step: when a child has to wait, all others run to their end, and the block is done again from the journal.
func (at block) run(ctx context.Context) error {
	at.begin(nil)
	if err := at.checkInputs(); err != nil {
		return err
	}
	sequential, err := at.dispatch(ctx)
	if err != nil {
		return err
	}
	for _, u := range at.units {
		u.sub = at.fork(u)
	}
	switch {
	case sequential:
		for _, u := range at.units {
			u.run(ctx)
			if u.err != nil && !at.s.r.DispatchSettle {
				break
			}
		}
	case at.s.past != nil && at.s.past.strict: // in canonical order; nothing has to be waited for
		for _, u := range at.units {
			u.run(ctx)
		}
	default:
		at.together(ctx)
	}
	if err := at.merge(ctx, sequential); err != nil {
		return err
	}
	at.finish(OK, nil)
	return nil
}

func units(n *tree.Node) []*unit {
	var out []*unit
	for i, c := range n.Children {
		if k := c.Kind; (k == tree.ElseIf || k == tree.Else) && len(out) > 0 {
			last := out[len(out)-1]
			last.nodes = append(last.nodes, c)
			continue
		}
		d := c.Kind == tree.Prose || c.Kind == tree.Explore || c.Kind == tree.Call && c.Bold
		out = append(out, &unit{first: i, nodes: []*tree.Node{c}, dispatched: d})
	}
	return out
}

// binds are the names that the nodes of the unit may bind, those below them included.
func (u *unit) binds() []string {
	var names []string
	var visit func(nodes []*tree.Node)
	visit = func(nodes []*tree.Node) {
		for _, n := range nodes {
			for _, t := range n.Outs {
				names = append(names, t.Name)
			}
			if n.Kind == tree.Bind {
				names = append(names, n.Var)
			}
			visit(n.Children)
		}
	}
	visit(u.nodes)
	slices.Sort(names)
	return slices.Compact(names)
}

// checkInputs holds the input contracts of all children before any of them starts.
func (at block) checkInputs() error {
	if !at.s.plan.Skill.Strict {
		return nil
	}
	at.quiet = true
	defer func() { at.quiet = false }()
	for _, u := range at.units {
		child := at.to(u.nodes[0], "")
		c, ok := at.s.callee(child.n)
		if !ok || child.n.Kind != tree.Call {
			continue
		}
		inputs, _, err := child.inputs(c)
		if err == nil {
			err = child.checkInput(c, inputs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dispatch decides whether children that want a context of their own run one after another, because the model can do no
// more. That is not done without leave: by a flag, or by a person.
func (at block) dispatch(ctx context.Context) (sequential bool, err error) {
	own := 0
	for _, u := range at.units {
		if u.dispatched {
			own++
		}
	}
	if own < 2 {
		return false, nil
	}
	q := Question{ID: at.path, Node: at.id(), Question: plan.Sequential + " Run the " + strconv.Itoa(own) + " steps one after another?", Options: []string{"Yes", "No"}}
	got, err := at.do(ctx, effect{kind: "dispatch", digest: digest(strconv.Itoa(own))}, func(ctx context.Context, _ string) (reply, error) {
		switch {
		case at.s.r.Model == nil || at.s.r.Model.Capabilities().Parallel:
			return reply{Text: "parallel"}, nil
		case at.s.r.AllowSequential:
			return reply{Text: "sequential"}, nil
		}
		a, err := at.s.answer(ctx, q)
		return reply{Text: "sequential", Output: encode(a.Text), How: a.How}, err
	})
	if err != nil {
		return false, err
	}
	if got.Output != nil {
		at.tell(Event{Kind: Asked, Text: q.Question, Value: encode(q.Options)})
		at.tell(Event{Kind: Answered, Text: q.Question, Value: got.Output, How: got.How})
		if string(got.Output) != `"Yes"` {
			err := diag.New(diag.Unmet, CodeSequential, "the model cannot run the steps of %s in parallel, and running them one after another was declined", at.path)
			return false, endSignal{Status: Halted, Exit: exitHalted, Message: err.Message}
		}
	}
	return got.Text == "sequential", nil
}

// fork makes the machine of a child: copies of the frames, which it reads and writes for itself alone.
func (at block) fork(u *unit) *Machine {
	sub := &Machine{s: at.s, eff: at.eff.fork(at.path + "/" + strconv.Itoa(u.first))}
	sub.st = state{Phase: phaseWalk, Shown: at.st.Shown, Cache: maps.Clone(at.st.Cache)}
	sub.st.base = len(at.Frames)
	for _, f := range at.Frames {
		sub.st.Frames = append(sub.st.Frames, f.clone())
	}
	sub.st.push(&frame{Kind: childFrame, Base: at.path, Index: u.first, Owner: at.n.ID, node: at.n, nodes: at.n.Children, started: at.s.now()})
	sub.st.top().end = u.first + len(u.nodes)
	return sub
}

// together runs the units: those of their own at once, as many as the limit allows, beside them the plain ones one after another.
func (at block) together(ctx context.Context) {
	width := at.s.r.Limits.Parallel
	if width <= 0 {
		width = 8
	}
	var wg sync.WaitGroup
	strand := func(work func()) {
		at.s.strands(1)
		wg.Go(func() {
			defer at.s.strands(-1)
			work()
		})
	}
	slots := make(chan struct{}, width)
	strand(func() {
		for _, u := range at.units {
			if !u.dispatched {
				u.run(ctx)
			}
		}
	})
	for _, u := range at.units {
		if u.dispatched {
			at.s.await(func() { slots <- struct{}{} })
			strand(func() {
				u.run(ctx)
				<-slots
			})
		}
	}
	at.s.await(wg.Wait)
}

// run steps the machine of a unit to its end.
func (u *unit) run(ctx context.Context) {
	m := u.sub
	u.ran = true
	for len(m.st.Frames) > m.st.base && u.err == nil {
		if m.st.Stop {
			u.err = suspendSignal{message: "stopped after " + m.s.r.Until}
			return
		}
		m.eff.step()
		u.err = m.walk(ctx)
	}
	if m.st.Stop && u.err == nil {
		u.err = suspendSignal{message: "stopped after " + m.s.r.Until}
	}
}

// merge takes over what the children did, in the order in which they are written.
func (at block) merge(ctx context.Context, sequential bool) error {
	for _, u := range at.units {
		at.eff.live, at.eff.set = at.eff.live || u.sub.eff.live, at.eff.set || u.sub.eff.set
		at.events = append(at.events, u.sub.events...)
	}
	if err := stops(ctx, at.units); err != nil {
		return err
	}
	var end error
	failed, by := 0, map[string]int{}
	for i, u := range at.units {
		at.takeOver(u.sub, i, by)
		first := u.nodes[0]
		o := outcome{Status: OK}
		switch e, ended := errors.AsType[endSignal](u.err); {
		case !u.ran:
			o.Status = Skipped
		case u.err == nil:
			continue // its own calls have recorded theirs
		case ended && !e.Agent:
			end = cmp.Or(end, u.err)
			continue
		case ended:
			o = outcome{Ended, e.Message}
			failed++
		default:
			o = outcome{Failed, u.err.Error()}
			failed++
			at.eff.failed = u.sub.eff.failed
			at.warn("child_failed", fmt.Sprintf("%s: %v", diag.Clip(first.Text, 60), u.err))
		}
		for _, name := range u.binds() {
			if _, ok := by[name]; !ok { // what it bound before it failed stands
				at.outcome(name, o)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if by[name] < 0 {
			at.warn("parallel_overwrite", "two children bind "+name+": the later one as written counts")
		}
	}
	if end != nil {
		return end
	}
	if failed == len(at.units) && failed > 0 {
		at.warn("parallel_all_failed", "every child failed")
	}
	if sequential && !at.s.r.DispatchSettle {
		for _, u := range at.units {
			if u.err != nil {
				return u.err
			}
		}
	}
	return nil
}

// stops is the first thing that stops the block before anything is merged: an interruption, a child that waits, a
// violated contract, a run that is not sound.
func stops(ctx context.Context, units []*unit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var waits error
	for _, u := range units {
		if u.err == nil {
			continue
		}
		if fatal(u.err) {
			return u.err
		}
		if _, ok := errors.AsType[suspendSignal](u.err); ok && waits == nil {
			waits = u.err
		}
	}
	if waits != nil {
		return waits
	}
	for _, u := range units {
		if e, ok := errors.AsType[endSignal](u.err); ok && e.err != nil {
			e.Agent = false
			return e
		}
	}
	return nil
}

// takeOver applies what a child wrote. by counts which child bound a name; a negative number is a name that two bind.
func (at block) takeOver(sub *Machine, child int, by map[string]int) {
	for _, w := range sub.st.over.writes {
		if prev, ok := by[w.name]; ok && prev != child+1 {
			by[w.name] = -1
		} else {
			by[w.name] = child + 1
		}
		at.assign(w.name, w.value, w.lack)
	}
	for _, o := range sub.st.over.ended {
		at.outcome(o.name, o.outcome)
	}
	for _, d := range sub.st.over.docs {
		switch {
		case d.Policy:
			at.adopt(d)
		case d.Path == "":
			at.noted(d.Text)
		default:
			at.load(d)
		}
	}
	for key, v := range sub.st.Cache {
		at.decided(key, v)
	}
	at.st.Tally.merge(sub.st.Tally)
	at.st.Checks = append(at.st.Checks, sub.st.Checks...)
}
