package run

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// A place is a node where a machine stands: what its names mean there.
type place struct {
	*Machine
	*stack // the machine's
	n      *tree.Node
}

// A visit is one pass over a node.
type visit struct {
	place
	f     *frame // walks the nodes that n is among
	path  string // of the visit, unique in the run
	began time.Time
}

// visitOf is the visit of n, or of its rest, by the frame f.
func (m *Machine) visitOf(f *frame, n *tree.Node, path string, began time.Time) visit {
	return visit{place{m, &m.st.stack, n}, f, path, began}
}

// to is a visit of another node on the way, such as a CASE.
func (at visit) to(n *tree.Node, path string) visit {
	at.n, at.path = n, path
	return at
}

// run does the node. A node that has a body pushes a frame and is finished when that is left.
func (at visit) run(ctx context.Context) error {
	if at.n.Kind != tree.ElseIf && at.n.Kind != tree.Else {
		at.f.Chain, at.f.ChainAnswer = noChain, false
	}
	if at.n.Kind != tree.Explore && at.n.Kind != tree.Verify && (at.st.Shown == "Initialize" || at.st.Shown == "Explore") {
		at.phase("Tree Execution")
	}
	if done, err := at.applySet(); done || err != nil {
		return err
	}
	switch at.n.Kind {
	case tree.If, tree.ElseIf, tree.Else:
		return condition{at}.run(ctx)
	case tree.Switch:
		return choice{at}.run(ctx)
	case tree.ForEach:
		return loop{at}.run(ctx)
	case tree.Parallel:
		return block{at, units(at.n)}.run(ctx)
	case tree.Call:
		return call{visit: at}.run(ctx)
	case tree.Explore:
		return call{visit: at, isolated: true}.explore(ctx)
	case tree.Ask:
		return asking{at}.run(ctx)
	case tree.ShowPlan:
		return showing{at}.run(ctx)
	case tree.Verify:
		return checking{at}.run(ctx)
	case tree.Read:
		return reader{at}.run(ctx)
	case tree.Bind:
		return at.bind(ctx)
	case tree.Prose:
		return prose{at}.run(ctx)
	case tree.End:
		return at.end()
	}
	at.begin(nil)
	if at.n.Kind == tree.Break {
		return breakSignal{}
	}
	at.finish(OK, nil) // a label, or a CASE outside SWITCH: nothing to do
	return nil
}

// begin tells that a visit starts.
func (at visit) begin(inputs map[string]any) {
	if at.s.sink {
		var value json.RawMessage
		if len(inputs) > 0 {
			value = encode(inputs)
		}
		at.tell(Event{Kind: NodeStarted, Type: at.n.Kind.String(), Text: at.n.Text, Value: value, Agent: at.agent()})
	}
}

// finish ends the visit of the node that f is at, and goes on to the next.
func (at visit) finish(status Status, value json.RawMessage) {
	at.done(status, value)
	at.f.Index++
}

// done tells how a visit ended.
func (at visit) done(status Status, value json.RawMessage) {
	var took time.Duration
	id := at.id()
	if at.s.sink {
		took = time.Since(at.began)
		at.emit(Event{Kind: NodeDone, Path: at.path, Node: id, Type: at.n.Kind.String(), Text: at.n.Text, Status: status, Value: value, Agent: at.agent(), Took: took})
	}
	at.st.Tally.add(id, at.n.Kind.String(), status, took)
	if u := at.s.r.Until; u != "" && (u == at.path || u == id) {
		at.st.Stop = true
	}
}

// skip tells of a branch that is not taken, and goes on.
func (at visit) skip() {
	at.pass()
	at.f.Index++
}

// pass tells of a branch that is not taken.
func (at visit) pass() {
	at.tell(Event{Kind: NodeSkipped, Type: at.n.Kind.String(), Text: at.n.Text, Status: Skipped})
	at.st.Tally.add(at.id(), at.n.Kind.String(), Skipped, 0)
}

// agent reports whether the node is done in a context of its own, or below one.
func (at visit) agent() bool {
	return len(at.Frames) > 0 && at.top().Agent || at.n.Kind == tree.Explore || at.n.Kind == tree.Call && at.n.Bold
}

// into begins a body of the node.
func (at visit) into(body *frame) {
	body.Owner, body.node, body.started = at.n.ID, at.n, at.began
	at.push(body)
}

// tell tells an event of the visit.
func (at visit) tell(e Event) {
	if !at.s.sink {
		return
	}
	e.Path, e.Node = at.path, at.id()
	at.emit(e)
}

// bound tells that a name has a value.
func (at visit) bound(name string, v any) {
	if at.s.sink {
		at.tell(Event{Kind: Bound, Name: name, Value: encode(v)})
	}
}

// do carries out e as an effect of the visit, or takes what the journal has of it.
func (at visit) do(ctx context.Context, e effect, live func(ctx context.Context, key string) (reply, error)) (reply, error) {
	e.path, e.node = at.path, at.id()
	got, err := at.eff.do(ctx, e, live)
	if err == nil && got.How == byWord {
		at.warn("effect_done", "visit "+e.path+": "+e.kind+" is taken as done, as --done says; nobody saw it end")
	}
	return got, err
}

// id names the node in the whole run.
func (at place) id() string { return at.nodeID(at.n) }

// position is where the node is written.
func (at place) position() diag.Position { return position(at.n) }

// placed adds the place of the node to an error that has none.
func (at place) placed(err error) error { return placed(err, at.n) }

// nodeID names a node in the whole run.
func (m *Machine) nodeID(n *tree.Node) string {
	if m.home() != m.s.plan.Skill {
		if id := m.s.plan.ID(n); id != "" {
			return id
		}
	}
	return n.ID
}

// placed adds the place of a node to an error that has none.
func placed(err error, n *tree.Node) error {
	if e, ok := errors.AsType[*diag.Error](err); ok && e.Where.File == "" {
		c := *e
		return c.At(position(n))
	}
	return err
}

func position(n *tree.Node) diag.Position {
	if n == nil {
		return diag.Position{}
	}
	return diag.Position{File: n.Pos.File, Line: n.Pos.Line, Column: n.Pos.Column}
}

func (at place) badValue(what string) error {
	return diag.New(diag.Failed, CodeValue, "the model's answer for %q is not what was asked for: %s", diag.Clip(at.n.Text, 80), what).At(at.position())
}
