package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// A request is one question to the model, which a visit has: its events, the tools that may be called for it, the budget and
// the journal.
type request struct {
	visit
	model.Request
	e        effect
	key      string
	readOnly bool // the tools may change nothing
}

// fill asks the model. The visit gives the request its place.
func (at visit) fill(ctx context.Context, req model.Request, readOnly bool) (reply, error) {
	req.Skill, req.Path, req.Node = at.s.plan.Skill.Name, at.path, at.id()
	return request{visit: at, Request: req, readOnly: readOnly}.fill(ctx)
}

func (q request) fill(ctx context.Context) (reply, error) {
	keys := schemaKeys(q.Schema)
	q.e = effect{kind: "model", path: q.Path, node: q.Node, digest: digest(string(q.Purpose), q.System, marked(q.Prompt, shownMark), string(q.Schema)), whole: q.Purpose == model.Whole}
	if q.Schema != nil {
		q.e.gives = cmp.Or(strings.Join(keys, ", "), "an answer")
	}
	q.e.take = takeAnswer(q.e, q.Schema, keys)
	q.key = q.eff.key(q.Path)
	q.e.begun = q.eff.begun(q.e, q.key)
	q.eff.live = q.eff.live || q.s.past != nil && !q.s.past.has(q.key)
	q.tell(Event{Kind: ModelCalled, Name: string(q.Purpose), Text: marked(q.Prompt, shownMark), Agent: q.Isolated})
	replayed, began := true, q.s.now()
	got, err := q.do(ctx, q.e, func(ctx context.Context, _ string) (reply, error) {
		replayed = false
		return q.live(ctx)
	})
	if replayed {
		q.retell(false)
	}
	if err != nil {
		if _, ok := errors.AsType[suspendSignal](err); !ok {
			err = q.placed(err)
		}
		return got, err
	}
	replied := Event{Kind: ModelReplied, Name: string(q.Purpose), Text: got.Text, Value: got.Output, Usage: got.Usage, Model: got.Model, Agent: q.Isolated}
	if !replayed && !began.IsZero() {
		replied.Took = time.Since(began)
	}
	q.tell(replied)
	return got, nil
}

// live asks now.
func (q request) live(ctx context.Context) (reply, error) {
	s := q.s
	if q.e.begun != nil {
		q.retell(true)
		if said, err := q.settle(); said != nil || err != nil {
			return reply{Output: said}, err
		}
	}
	if s.r.Model == nil {
		return reply{}, diag.New(diag.NeedsInput, CodeModel, "node %s needs a model, and there is none", q.Node)
	}
	if err := s.budget.left(model.Usage{}); err != nil {
		return reply{}, err
	}
	ctx, cancel := s.budget.timed(ctx)
	defer cancel()
	if s.r.Tools != nil && (q.Purpose == model.Leaf || q.Purpose == model.Whole || q.Purpose == model.Explore || q.Purpose == model.Condition || q.Purpose == model.Checklist) {
		q.Tools = s.r.Tools.For(q.readOnly)
	}
	ctx, wait := context.WithCancelCause(ctx)
	defer wait(nil)
	calls := &caller{request: q, wait: wait, calls: q.e.begun.calls()}
	q.eff.acted[q.key] = q.e.begun.acts()
	if q.e.begun != nil {
		prompt, err := q.goOn(ctx, calls)
		if calls.stopped() != "" {
			return reply{waits: true}, s.cut(q.e, calls.stopped(), context.Cause(ctx))
		} else if err != nil {
			return reply{waits: true}, s.budget.inTime(err)
		}
		q.Prompt = prompt
	}
	if strings.Contains(q.Prompt, fence) {
		q.Mark = model.Mark(q.System, q.Prompt)
		q.Prompt = marked(q.Prompt, q.Mark)
	}
	if len(q.Tools) > 0 {
		q.Call, q.Turned = calls.call, calls.turned
	}
	q.Again = func(spent model.Usage) error {
		err := s.budget.left(spent)
		if err != nil {
			wait(err)
		}
		return err
	}
	got, err := s.r.Model.Fill(ctx, q.Request)
	return q.answer(ctx, calls, got, err)
}

// answer is what the request came to.
func (q request) answer(ctx context.Context, calls *caller, got model.Reply, err error) (reply, error) {
	if cut := calls.stopped(); cut != "" {
		return reply{Usage: &got.Usage}, q.s.cut(q.e, cut, context.Cause(ctx))
	}
	if calls.final != nil && ctx.Err() == nil {
		return reply{Output: calls.final, Model: got.Model, Usage: &got.Usage}, nil
	}
	cause := context.Cause(ctx)
	if _, ok := errors.AsType[suspendSignal](cause); ok || diag.ClassOf(cause) == diag.NeedsInput { // a tool waits for a person, or the budget ended
		return reply{Usage: &got.Usage, waits: calls.waiting}, cause
	}
	if err != nil && cause == errTime {
		return reply{Usage: &got.Usage}, q.s.budget.inTime(cause)
	}
	usage := got.Usage
	if usage.Calls == 0 && err == nil {
		usage.Calls = 1
	}
	out := reply{Text: got.Text, Model: got.Model, Usage: &usage}
	if err == nil && q.Schema != nil {
		out.Text = ""
		if !json.Valid(got.Value) {
			return out, diag.New(diag.Failed, model.CodeBadAnswer, "the model's answer for node %s is not a JSON value", q.Node)
		}
		v, _ := decode(got.Value)
		out.Output = encode(v) // in one spelling, so that the journal and the events do not depend on the provider's
	}
	return out, err
}

// replied tells how a tool's call ended.
func (q request) replied(rec Record) {
	q.tell(Event{Kind: ToolReplied, Name: cmp.Or(rec.Tool, rec.Name), Text: diag.Clip(rec.Text, maxTold), Status: rec.Status, Call: rec.Call, Did: rec.Did, Agent: q.Isolated})
}

// called tells that a tool is called.
func (q request) called(call int, name string, input json.RawMessage) {
	q.tell(Event{Kind: ToolCalled, Name: name, Value: input, Call: call, Agent: q.Isolated})
}

// refused keeps a tool call that was denied, for the result.
func (q request) refused(rec Record) {
	if rec.Status == Denied {
		q.s.deny(DeniedCall{Path: q.Path, Node: q.Node, Tool: cmp.Or(rec.Tool, rec.Name), Why: diag.Clip(rec.Text, maxTold), Code: rec.How})
	}
}

// retell tells of the tool calls that the journal has for a leaf, but for those that wait where they are made now.
func (q request) retell(now bool) {
	if q.s.past == nil || q.s.past.effects[q.key] == nil {
		return
	}
	for _, t := range q.s.past.effects[q.key].tools {
		if now && t.waits() && q.s.r.Tools != nil {
			continue
		}
		q.called(t.started.Call, t.started.Name, t.started.Input)
		if t.done != nil {
			q.replied(*t.done)
			q.refused(*t.done)
		}
	}
}
