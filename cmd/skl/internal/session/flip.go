package session

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// A Flipped is the way that a recorded run would have taken with one other decision, as far as its record reaches.
type Flipped struct {
	Record  Record
	Node    string      // visit of the decision
	Text    string      // what was decided
	Was     string      // and how it came out
	By      string      // by whom
	Instead string      // what is taken in its place
	Before  []run.Event // of the run
	Events  []run.Event // with the other decision
	Stops   string      // why it goes no further; "" if it comes to an end
	At      string      // the visit where it stops

	id string // of the node
}

// Flip runs the control flow of a recorded run again with another outcome of the decision that node names, as "2/0" or "2/0=VALUE". Nothing
// outside is touched, and nothing is recorded: where the other way needs what the record does not have, it stops.
func (rs *Runs) Flip(ctx context.Context, name, node string) (Flipped, error) {
	traced, err := rs.Traced(name, "")
	if err != nil {
		return Flipped{}, err
	}
	f := Flipped{Record: traced.Record, Before: traced.Events}
	node, value, given := strings.Cut(node, "=")
	options, err := f.find(node)
	if err != nil {
		return Flipped{}, err
	}
	r, err := rs.ranAs(ctx, f.Record)
	if err != nil {
		return Flipped{}, err
	}
	if options == nil {
		options = casesOf(r, f.id)
	}
	if f.Instead, err = f.other(options, value, given); err != nil {
		return Flipped{}, err
	}
	journal, err := run.ReadFile(rs.RunDir(f.Record.journalled()))
	if err != nil {
		return Flipped{}, err
	}
	again := &run.Runner{Called: rs.called(ctx, f.Record), Set: map[string]json.RawMessage{f.Node: SetTo(f.Instead)}, Events: func(e run.Event) { f.Events = append(f.Events, e) }}
	result, err := again.Replay(ctx, r.Plan, journal)
	switch e, ok := diag.Own(err); {
	case err != nil && (len(f.Events) == 0 || diag.ClassOf(err) == diag.Misuse): // what is taken instead is none of the outcomes
		return Flipped{}, err
	case ok:
		f.Stops = e.Message
	case err != nil:
		f.Stops = err.Error()
	case result.Status == run.Suspended:
		f.Stops = result.Message
	}
	if f.Stops != "" {
		f.unwind()
	}
	return f, nil
}

// unwind takes the end of the walk away, in which everything that was begun failed for want of a record.
func (f *Flipped) unwind() {
	for len(f.Events) > 0 {
		last := f.Events[len(f.Events)-1]
		switch {
		case last.Kind == run.RunEnded, last.Kind == run.RunSuspended, last.Kind == run.NodeDone && last.Status == run.Failed, last.Kind == run.ModelCalled:
			f.Events = f.Events[:len(f.Events)-1]
		case last.Path == "":
			return
		default:
			f.At = last.Path
			return
		}
	}
}

// find looks the decision up, and what it could choose among; nil if that is not in the trace.
func (f *Flipped) find(node string) (options []string, err error) {
	var known []string
	asked := map[string][]string{}
	for _, e := range f.Before {
		switch {
		case e.Kind == run.Asked:
			var of []string
			_ = json.Unmarshal(e.Value, &of) // none for a free answer
			asked[e.Path] = of
			continue
		case e.Kind != run.Decided && e.Kind != run.Answered:
			continue
		}
		known = append(known, e.Path)
		if f.Node != "" || e.Path != node && e.Node != node {
			continue
		}
		f.Node, f.id, f.Text, f.Was, f.By = e.Path, e.Node, strings.TrimSpace(e.Type+" "+e.Text), cond.Text(decoded(e.Value)), e.How
		switch {
		case e.Kind == run.Answered:
			options, f.Text = append([]string{}, asked[e.Path]...), "ASK "+e.Text
		case e.Type == tree.If.String() || e.Type == tree.ElseIf.String():
			options = []string{"true", "false"}
		case e.Type != tree.Switch.String():
			return nil, diag.New(diag.Misuse, "usage", "%s of %s is not a choice between branches: %s", node, f.Record.ID, f.Text).Hint("skl run %s --model replay:%s --set %s=VALUE", f.Record.Skill, f.Record.ID, node)
		}
	}
	if f.Node == "" {
		return nil, diag.New(diag.Misuse, "unknown_node", "nothing was decided at node %q of run %s", node, f.Record.ID).Meant(spell.Nearest(node, known, 3)...).Hint("skl trace %s --nodes", f.Record.ID)
	}
	return options, nil
}

func decoded(raw json.RawMessage) any {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	return v
}

// SetTo is what stands behind NODE= as a value: JSON, or a text.
func SetTo(value string) json.RawMessage {
	if raw := json.RawMessage(value); json.Valid(raw) {
		return raw
	}
	raw, _ := json.Marshal(value) // a string always can
	return raw
}

// casesOf are the values of the cases of a SWITCH.
func casesOf(r *Runnable, id string) (cases []string) {
	n, _, ok := r.Plan.NodeByID(id)
	if !ok {
		return nil
	}
	for _, c := range n.Children {
		if c.Kind == tree.Case {
			cases = append(cases, r.Plan.Case(c).Text)
		}
	}
	return cases
}

// other is the outcome that is taken in place of the one that there was.
func (f *Flipped) other(options []string, value string, given bool) (string, error) {
	left := slices.DeleteFunc(slices.Clone(options), func(o string) bool { return strings.EqualFold(o, f.Was) })
	hint := func(o string) string { return diag.Quote(f.Node + "=" + o) }
	switch {
	case given && strings.EqualFold(value, f.Was):
		return "", diag.New(diag.Misuse, "usage", "%s was %q in this run, so that there is no other way to show", f.Text, diag.Brief(f.Was, 60)).Hint("skl trace %s", f.Record.ID)
	case given:
		return value, nil
	case len(left) == 1:
		return left[0], nil
	case len(left) == 0:
		return "", diag.New(diag.Misuse, "usage", "%s was %q, and what else it could be has to be said", f.Text, diag.Brief(f.Was, 60)).Hint("skl trace %s --flip %s", f.Record.ID, hint("VALUE"))
	}
	return "", diag.New(diag.Misuse, "usage", "%s was %q, and could be: %s", f.Text, diag.Brief(f.Was, 60), diag.Brief(strings.Join(left, ", "), 200)).Hint("skl trace %s --flip %s", f.Record.ID, hint(left[0]))
}
