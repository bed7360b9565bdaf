package run

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/resource"
)

// arguments begins the run: it binds what the preamble makes of $ARGUMENTS. A model reads the preamble only when it says more
// than the usual and a node needs a name that nothing binds.
func (m *Machine) arguments(ctx context.Context) error {
	if m.s.sink {
		m.emit(Event{Kind: RunStarted, Text: m.s.plan.Skill.Name, Value: encode(map[string]any{"arguments": m.s.args})})
	}
	m.phase("Initialize")
	given, err := m.s.plan.Arguments(m.s.args)
	if err != nil {
		return err
	}
	m.s.args = given.Text
	values, understood := resource.ParseArguments(m.s.plan.Preamble(), m.s.args)
	if v, ok := values["$ARGUMENTS"]; ok {
		m.s.args = v
		delete(values, "$ARGUMENTS")
	}
	bound := map[string]any{}
	for name, v := range values {
		bound[name] = v
	}
	maps.Copy(bound, given.Bindings())
	if !understood {
		said, err := m.readArguments(ctx, slices.DeleteFunc(slices.Clone(m.s.plan.Unbound()), func(name string) bool { _, ok := values[name]; return ok }))
		if err != nil {
			return err
		}
		maps.Copy(bound, said)
	}
	for _, name := range sorted(bound) {
		m.st.assign(name, bound[name], "")
		m.emit(Event{Kind: Bound, Path: "arguments", Name: name, Value: encode(bound[name])})
	}
	return nil
}

// readArguments has the model read the values of names from the arguments.
func (m *Machine) readArguments(ctx context.Context, names []string) (map[string]any, error) {
	bound := map[string]any{}
	if len(names) == 0 {
		return bound, nil
	}
	skill := m.s.plan.Skill
	var p prompt
	p.line("Read these values from the arguments of the skill. A value that they do not say is null.")
	p.part("What the skill says of its arguments", skill.Preamble)
	p.foreign("Arguments", m.s.args)
	p.part("Values", strings.Join(names, "\n"))
	at := m.visitOf(nil, &tree.Node{ID: skill.File + "#arguments"}, "arguments", time.Time{})
	got, err := at.fill(ctx, model.Request{Purpose: model.Arguments, System: at.system(""), Prompt: p.String(), Schema: keysSchema(names)}, true)
	if err != nil {
		return nil, err
	}
	said, _ := decode(got.Output)
	object, _ := said.(map[string]any)
	for _, name := range names {
		if v, ok := object[name]; ok && v != nil {
			bound[name] = v
		}
	}
	return bound, nil
}

// respond puts the response together: from bindings where names match, and when the tree came to its end, the rest by one request.
// A field that a child of PARALLEL would have bound, had it not failed, is null: a model would only make one up.
func (m *Machine) respond(ctx context.Context, whole bool) error {
	m.phase("Response")
	if m.s.plan.Whole != nil {
		return nil // what the text came to
	}
	skill := m.s.plan.Skill
	out := map[string]any{}
	var missing []string
	m.st.Unfilled = nil
	for _, field := range skill.Response {
		name := strings.Trim(strings.TrimSpace(field), "`")
		switch v, ok := m.st.named(name); {
		case ok:
			out[name] = v
		default:
			why, failed := m.st.lost(name)
			if !failed {
				missing = append(missing, name)
				continue
			}
			out[name] = nil
			if m.st.Unfilled == nil {
				m.st.Unfilled = map[string]string{}
			}
			m.st.Unfilled[name] = why
			m.warn("response_null", name+" of the response is null: "+why)
		}
	}
	m.st.Response = out
	if len(missing) == 0 || !whole {
		return nil
	}
	task := "Give the fields of the skill's response that are still missing."
	if guide := strings.TrimSpace(skill.Guide); guide != "" {
		task += "\n\n" + guide
	}
	at := m.visitOf(nil, &tree.Node{ID: skill.File + "#response"}, "response", time.Time{})
	filled, err := at.fields(ctx, model.Respond, missing, task)
	if err != nil {
		return err
	}
	for name, v := range filled {
		out[name] = v
	}
	return nil
}

// Result tells how the run stands. It may be called between steps.
func (m *Machine) Result() Result {
	s := m.s
	usage, _ := s.budget.spent()
	denied := s.denials()
	order.Stable(denied, func(a, b DeniedCall) int { return strings.Compare(a.Path, b.Path) }) // children of PARALLEL end in any order
	r := Result{Skill: s.plan.Skill.Name, Status: OK, Usage: usage, Checks: m.st.Checks, Response: m.st.Response, Unfilled: m.st.Unfilled, Denied: denied, Bindings: map[string]any{}, Nodes: []NodeResult{}}
	if r.Response == nil {
		r.Response = map[string]any{}
	}
	if len(m.st.Frames) > 0 && m.st.Frames[0].Scope != nil {
		for name, v := range m.st.Frames[0].Scope.Vars {
			r.Bindings[name] = v
		}
	}
	for i, n := range m.st.Tally.Nodes {
		n.Millis = m.st.Tally.Took[i].Milliseconds()
		r.Nodes = append(r.Nodes, n)
	}
	if e := m.st.End; e != nil {
		r.Status, r.ExitCode, r.Message, r.Pending = e.Status, e.Exit, e.Message, e.Pending
		r.refused(s.plan.Whole != nil)
	}
	if s.r.KeepEvents {
		r.Events = Canonical(m.events)
	}
	return r
}

// Run executes p with args. A run that is suspended has no error, unless something has to be decided before it can go on.
// With a Journal it can be resumed.
func (r *Runner) Run(ctx context.Context, p *plan.Plan, args string) (Result, error) {
	if err := new(history).words(r); err != nil { // they are of a run that is gone on with
		result := notBegun(p, err)
		result.Untouched = true
		return result, err
	}
	m, err := r.Start(p, args)
	if err != nil {
		m.finishRun(failure(err, ""))
		return m.Result(), err
	}
	return m.Run(ctx)
}

// Resume goes on with the run that records are of: the tree is walked from its beginning with what the journal has, and from its
// end live. The Runner's Journal, if any, is the one that the records were read from, opened for appending. Records are those of [Open].
func (r *Runner) Resume(ctx context.Context, p *plan.Plan, records []Record) (Result, error) {
	m, err := r.again(p, records, false)
	if err == nil {
		err = m.s.past.words(r)
	}
	if err == nil {
		err = m.s.journal.append(Record{Type: ResumeRecord}, true)
	}
	if err != nil {
		r := notBegun(p, err)
		r.Untouched = true
		return r, err
	}
	return m.Run(ctx)
}

// notBegun is the result of a run that err keeps from going on.
func notBegun(p *plan.Plan, err error) Result {
	return Result{Skill: p.Skill.Name, Status: Failed, ExitCode: failure(err, "").Exit, Message: err.Error(), Response: map[string]any{}, Bindings: map[string]any{}, Nodes: []NodeResult{}}
}

// Replay walks the tree with what the journal has, and does nothing else: no model, person, tool or file is touched, and nothing is
// written. Events come in canonical order. With Set the visits after the changed value may go on live where the Runner has what they
// need; an effect whose input is still the same is taken from the journal also then.
func (r *Runner) Replay(ctx context.Context, p *plan.Plan, records []Record) (Result, error) {
	m, err := r.again(p, records, true)
	if err != nil {
		return notBegun(p, err), err
	}
	result, err := m.Run(ctx)
	if err == nil && !m.eff.set && r.Until == "" && result.Status != Suspended {
		if left := m.s.past.leftUnder(""); left != "" {
			err = diag.New(diag.Unmet, CodeDiverged, "the run differs from its journal: it ended without %s, which the journal has", left)
			result.Status, result.ExitCode, result.Message = Failed, exitHalted, err.Error()
		}
	}
	return result, err
}

// again makes a machine with a history.
func (r *Runner) again(p *plan.Plan, records []Record, strict bool) (*Machine, error) {
	if len(records) == 0 || records[0].Type != HeaderRecord {
		return nil, diag.New(diag.Failed, CodeJournal, "the journal has no head")
	}
	head := records[0]
	if head.Plan != p.Digest && !r.AnyPlan {
		return nil, OtherPlan(p.Skill.Name, cmp.Or(r.Called, p.Skill.Name))
	}
	m := r.machine(p, head.Args)
	m.s.past = newHistory(records, strict)
	m.s.budget.usage = m.s.past.spent
	if strict { // nothing is written
		m.s.journal.to = nil
	}
	return m, nil
}
