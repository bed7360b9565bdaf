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
	"time"

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

// visitParallel runs the children, each on a copy of what is bound now, and merges what they bind in the order in which they
// are written (rulings 5.22, 5.23, 5.26). It is one step: when a child has to wait, all others run to their end, and the block is done again from the journal.
func (m *Machine) visitParallel(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	m.begin(n, path, nil)
	units := units(n)
	if err := m.checkInputs(units); err != nil {
		return err
	}
	sequential, err := m.dispatch(ctx, n, path, units)
	if err != nil {
		return err
	}
	for _, u := range units {
		u.sub = m.fork(n, u, path)
	}
	switch {
	case sequential:
		for _, u := range units {
			u.run(ctx)
			if u.err != nil && !m.s.r.DispatchSettle {
				break
			}
		}
	case m.s.past != nil && m.s.past.strict: // in canonical order; nothing has to be waited for
		for _, u := range units {
			u.run(ctx)
		}
	default:
		m.together(ctx, units)
	}
	if err := m.merge(ctx, units, sequential); err != nil {
		return err
	}
	m.finish(f, n, began, OK, nil)
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
func (m *Machine) checkInputs(units []*unit) error {
	if !m.s.plan.Skill.Strict {
		return nil
	}
	m.quiet = true
	defer func() { m.quiet = false }()
	for _, u := range units {
		c, ok := m.s.callee(u.nodes[0])
		if !ok || u.nodes[0].Kind != tree.Call {
			continue
		}
		inputs, _, err := m.inputs(u.nodes[0], c)
		if err == nil {
			err = m.checkInput(u.nodes[0], c, inputs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dispatch decides whether children that want a context of their own run one after another, because the model can do no
// more. That is not done without leave: by a flag, or by a person.
func (m *Machine) dispatch(ctx context.Context, n *tree.Node, path string, units []*unit) (sequential bool, err error) {
	own := 0
	for _, u := range units {
		if u.dispatched {
			own++
		}
	}
	if own < 2 {
		return false, nil
	}
	q := Question{ID: path, Node: m.id(n), Question: plan.Sequential + " Run the " + strconv.Itoa(own) + " steps one after another?", Options: []string{"Yes", "No"}}
	got, err := m.do(ctx, effect{kind: "dispatch", path: path, node: m.id(n), digest: digest(strconv.Itoa(own))}, func(ctx context.Context, _ string) (reply, error) {
		switch {
		case m.s.r.Model == nil || m.s.r.Model.Capabilities().Parallel:
			return reply{Text: "parallel"}, nil
		case m.s.r.AllowSequential:
			return reply{Text: "sequential"}, nil
		}
		a, err := m.s.answer(ctx, q)
		return reply{Text: "sequential", Output: encode(a.Text), How: a.How}, err
	})
	if err != nil {
		return false, err
	}
	if got.Output != nil {
		m.emit(Event{Kind: Asked, Path: path, Node: q.Node, Text: q.Question, Value: encode(q.Options)})
		m.emit(Event{Kind: Answered, Path: path, Node: q.Node, Text: q.Question, Value: got.Output, How: got.How})
		if string(got.Output) != `"Yes"` {
			err := diag.New(diag.Unmet, CodeSequential, "the model cannot run the steps of %s in parallel, and running them one after another was declined", path)
			return false, endSignal{Status: Halted, Exit: exitHalted, Message: err.Message}
		}
	}
	return got.Text == "sequential", nil
}

// fork makes the machine of a child: copies of the frames, which it reads and writes for itself alone.
func (m *Machine) fork(n *tree.Node, u *unit, path string) *Machine {
	sub := &Machine{s: m.s, live: m.live, set: m.set, acted: map[string]int{}, base: len(m.st.Frames), prefix: path + "/" + strconv.Itoa(u.first)}
	sub.st = state{Phase: phaseWalk, Shown: m.st.Shown, Cache: maps.Clone(m.st.Cache)}
	for _, f := range m.st.Frames {
		sub.st.Frames = append(sub.st.Frames, f.clone())
	}
	sub.push(&frame{Kind: childFrame, Base: path, Index: u.first, Owner: n.ID, node: n, nodes: n.Children})
	sub.top().end = u.first + len(u.nodes)
	return sub
}

// together runs the units: those of their own at once, as many as the limit allows, beside them the plain ones one after another.
func (m *Machine) together(ctx context.Context, units []*unit) {
	width := m.s.r.Limits.Parallel
	if width <= 0 {
		width = 8
	}
	var wg sync.WaitGroup
	strand := func(work func()) {
		m.s.strands(1)
		wg.Go(func() {
			defer m.s.strands(-1)
			work()
		})
	}
	slots := make(chan struct{}, width)
	strand(func() {
		for _, u := range units {
			if !u.dispatched {
				u.run(ctx)
			}
		}
	})
	for _, u := range units {
		if u.dispatched {
			m.s.await(func() { slots <- struct{}{} })
			strand(func() {
				u.run(ctx)
				<-slots
			})
		}
	}
	m.s.await(wg.Wait)
}

// strands tells the Runner how many more parts of the run are at work.
func (s *session) strands(more int) {
	if s.r.Strands != nil {
		s.r.Strands(more)
	}
}

// await waits for other parts of the run, and does not count as one that is at work meanwhile.
func (s *session) await(wait func()) {
	s.strands(-1)
	wait()
	s.strands(1)
}

// run steps the machine of a unit to its end.
func (u *unit) run(ctx context.Context) {
	m := u.sub
	u.ran = true
	for len(m.st.Frames) > m.base && u.err == nil {
		if m.st.Stop {
			u.err = suspendSignal{message: "stopped after " + m.s.r.Until}
			return
		}
		m.ordinal, m.failedKey = 0, ""
		u.err = m.walk(ctx)
	}
	if m.st.Stop && u.err == nil {
		u.err = suspendSignal{message: "stopped after " + m.s.r.Until}
	}
}

// merge takes over what the children did, in the order in which they are written.
func (m *Machine) merge(ctx context.Context, units []*unit, sequential bool) error {
	for _, u := range units {
		m.live, m.set = m.live || u.sub.live, m.set || u.sub.set
		m.events = append(m.events, u.sub.events...)
	}
	if err := stops(ctx, units); err != nil {
		return err
	}
	var end error
	failed, by := 0, map[string]int{}
	for i, u := range units {
		m.takeOver(u.sub, i, by)
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
			m.failedKey = u.sub.failedKey
			m.warn("child_failed", fmt.Sprintf("%s: %v", diag.Clip(first.Text, 60), u.err))
		}
		for _, name := range u.binds() {
			if _, ok := by[name]; !ok { // what it bound before it failed stands
				m.outcome(name, o)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if by[name] < 0 {
			m.warn("parallel_overwrite", "two children bind "+name+": the later one as written counts")
		}
	}
	if end != nil {
		return end
	}
	if failed == len(units) && failed > 0 {
		m.warn("parallel_all_failed", "every child failed")
	}
	if sequential && !m.s.r.DispatchSettle {
		for _, u := range units {
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
func (m *Machine) takeOver(sub *Machine, child int, by map[string]int) {
	for _, w := range sub.writes {
		if prev, ok := by[w.name]; ok && prev != child+1 {
			by[w.name] = -1
		} else {
			by[w.name] = child + 1
		}
		m.assign(w.name, w.value, w.lack)
	}
	for _, o := range sub.ended {
		m.outcome(o.name, o.outcome)
	}
	for _, d := range sub.kept {
		switch {
		case d.Policy:
			s, i := m.scope()
			s.Policies = append(s.Policies, d)
			if i < m.base {
				m.kept = append(m.kept, d)
			}
		case d.Path == "":
			o := m.owner()
			o.Notes = append(slices.Clip(o.Notes), d.Text)
			if m.outlives() {
				m.kept = append(m.kept, d)
			}
		default:
			m.load(d)
		}
	}
	for key, v := range sub.st.Cache {
		if m.st.Cache == nil {
			m.st.Cache = map[string]bool{}
		}
		m.st.Cache[key] = v
	}
	m.st.Tally.merge(sub.st.Tally)
	m.st.Checks = append(m.st.Checks, sub.st.Checks...)
}
