package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/cond"
)

// A loop is a visit of FOR_EACH.
type loop struct{ visit }

func (at loop) run(ctx context.Context) error {
	at.begin(nil)
	items, how, err := at.elements(ctx)
	if err != nil {
		return err
	}
	limit := at.s.r.Limits.Iterations
	if limit == 0 {
		limit = 1000
	}
	if len(items) > limit {
		return out("iterations: %q has %d elements, and a loop has at most %d (%s)", at.n.In, len(items), limit, at.position())
	}
	at.tell(Event{Kind: Decided, Type: at.n.Kind.String(), Text: at.n.In, Value: encode(len(items)), How: how})
	if len(items) == 0 {
		at.finish(OK, nil)
		return nil
	}
	body := &frame{Kind: loopFrame, Base: at.path, Var: at.n.Var, Items: items, nodes: at.n.Children}
	body.bindItem()
	at.into(body)
	return nil
}

// bindItem binds the element that a loop is at.
func (f *frame) bindItem() { f.Locals = map[string]any{f.Var: f.Items[f.Item]} }

// elements finds what a loop goes over.
func (at loop) elements(ctx context.Context) (items []any, how string, err error) {
	how = string(cond.ByRule)
	if raw, ok := at.override(); ok {
		at.eff.set = true
		v, err := decode(raw)
		items, _ = cond.Spread(v)
		return items, bySet, err
	}
	c := at.s.plan.Collection(at.n)
	if c.Kind == cond.Prose {
		items, err = at.list(ctx)
		return items, string(cond.ByModel), err
	}
	items, filter, scalar, err := c.Elements(at.env(ctx))
	if errors.Is(err, diag.Code(CodeUndecided)) && at.mayJudge() {
		items, err = at.list(ctx)
		return items, string(cond.ByModel), err
	}
	if err != nil {
		return nil, how, at.placed(err)
	}
	if scalar {
		at.warn("loop_scalar", fmt.Sprintf("%s is not a list: the loop runs once", at.n.In))
	}
	if filter {
		items, err = at.filter(ctx, items)
		how = string(cond.ByModel)
	}
	return items, how, err
}

// filter has the model choose among elements.
func (at loop) filter(ctx context.Context, items []any) ([]any, error) {
	if len(items) == 0 {
		return nil, nil
	}
	var p prompt
	p.line("Choose the elements of the list that the words mean, by their index, which counts from 0.")
	p.part("Words", at.n.In)
	p.foreign("List", diag.Clip(string(encode(items)), maxValue))
	at.writeValues(&p, at.n.In, nil, false)
	schema := encode(map[string]any{"type": "object", "required": []any{"indices"}, "additionalProperties": false, "properties": map[string]any{
		"indices": map[string]any{"type": "array", "items": map[string]any{"type": "integer", "minimum": 0, "maximum": len(items) - 1}}}})
	got, err := at.fill(ctx, model.Request{Purpose: model.Filter, Isolated: at.top().Agent, System: at.system(""), Prompt: p.String(), Schema: schema}, true)
	if err != nil {
		return nil, err
	}
	var said struct {
		Indices []int `json:"indices"`
	}
	if err := json.Unmarshal(got.Output, &said); err != nil {
		return nil, at.badValue("no list of indices")
	}
	slices.Sort(said.Indices)
	out := []any{}
	for _, i := range slices.Compact(said.Indices) {
		if i < 0 || i >= len(items) {
			return nil, at.badValue(fmt.Sprintf("index %d of a list of %d", i, len(items)))
		}
		out = append(out, items[i])
	}
	return out, nil
}

// list has the model say what the elements are.
func (at loop) list(ctx context.Context) ([]any, error) {
	var p prompt
	p.line("List what the words mean, one element each.")
	p.part("Words", at.n.In)
	at.writeValues(&p, at.n.In, nil, true)
	schema := json.RawMessage(`{"type":"object","properties":{"items":{"type":"array"}},"required":["items"],"additionalProperties":false}`)
	got, err := at.fill(ctx, model.Request{Purpose: model.Filter, Isolated: at.top().Agent, System: at.system(""), Prompt: p.String(), Schema: schema}, true)
	if err != nil {
		return nil, err
	}
	v, _ := decode(got.Output)
	object, _ := v.(map[string]any)
	items, ok := object["items"].([]any)
	if !ok {
		return nil, at.badValue("no list")
	}
	return items, nil
}
