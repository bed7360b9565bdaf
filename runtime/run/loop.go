package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

func (m *Machine) visitLoop(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	m.begin(n, path, nil)
	items, how, err := m.elements(ctx, n, path)
	if err != nil {
		return err
	}
	limit := m.s.r.Limits.Iterations
	if limit == 0 {
		limit = 1000
	}
	if len(items) > limit {
		return suspendSignal{message: fmt.Sprintf("out of budget, iterations: %q has %d elements, and a loop has at most %d (%s)", n.In, len(items), limit, position(n))}
	}
	m.emit(Event{Kind: Decided, Path: path, Node: m.id(n), Type: n.Kind.String(), Text: n.In, Value: encode(len(items)), How: how})
	if len(items) == 0 {
		m.finish(f, n, began, OK, nil)
		return nil
	}
	loop := &frame{Kind: loopFrame, Base: path, Owner: n.ID, Var: n.Var, Items: items, node: n, nodes: n.Children}
	m.bindItem(loop)
	m.push(loop)
	loop.started = began
	return nil
}

func (m *Machine) bindItem(f *frame) { f.Locals = map[string]any{f.Var: f.Items[f.Item]} }

// elements finds what a loop goes over.
func (m *Machine) elements(ctx context.Context, n *tree.Node, path string) (items []any, how string, err error) {
	how = string(cond.ByRule)
	if raw, ok := m.override(n, path); ok {
		m.set = true
		v, err := decode(raw)
		items, _ = cond.Spread(v)
		return items, bySet, err
	}
	c := m.s.plan.Collection(n)
	if c.Kind == cond.Prose {
		items, err = m.listByModel(ctx, n, path)
		return items, string(cond.ByModel), err
	}
	items, filter, scalar, err := c.Elements(m.env(ctx, n, path))
	if errors.Is(err, diag.Code(CodeUndecided)) && m.mayJudge() {
		items, err = m.listByModel(ctx, n, path)
		return items, string(cond.ByModel), err
	}
	if err != nil {
		return nil, how, placed(err, n)
	}
	if scalar {
		m.warn("loop_scalar", fmt.Sprintf("%s is not a list: the loop runs once", n.In))
	}
	if filter {
		items, err = m.filterByModel(ctx, n, path, items)
		how = string(cond.ByModel)
	}
	return items, how, err
}

func (m *Machine) filterByModel(ctx context.Context, n *tree.Node, path string, items []any) ([]any, error) {
	if len(items) == 0 {
		return nil, nil
	}
	var p prompt
	p.line("Choose the elements of the list that the words mean, by their index, which counts from 0.")
	p.part("Words", n.In)
	p.foreign("List", diag.Clip(string(encode(items)), maxValue))
	m.values(&p, n.In, nil, false)
	schema := encode(map[string]any{"type": "object", "required": []any{"indices"}, "additionalProperties": false, "properties": map[string]any{
		"indices": map[string]any{"type": "array", "items": map[string]any{"type": "integer", "minimum": 0, "maximum": len(items) - 1}}}})
	got, err := m.fill(ctx, n, model.Request{Purpose: model.Filter, Path: path, Isolated: m.top().Agent, System: m.system(""), Prompt: p.String(), Schema: schema}, true)
	if err != nil {
		return nil, err
	}
	var said struct {
		Indices []int `json:"indices"`
	}
	if err := json.Unmarshal(got.Output, &said); err != nil {
		return nil, badValue(n, "no list of indices")
	}
	slices.Sort(said.Indices)
	out := []any{}
	for _, i := range slices.Compact(said.Indices) {
		if i < 0 || i >= len(items) {
			return nil, badValue(n, fmt.Sprintf("index %d of a list of %d", i, len(items)))
		}
		out = append(out, items[i])
	}
	return out, nil
}

func (m *Machine) listByModel(ctx context.Context, n *tree.Node, path string) ([]any, error) {
	var p prompt
	p.line("List what the words mean, one element each.")
	p.part("Words", n.In)
	m.values(&p, n.In, nil, true)
	schema := json.RawMessage(`{"type":"object","properties":{"items":{"type":"array"}},"required":["items"],"additionalProperties":false}`)
	got, err := m.fill(ctx, n, model.Request{Purpose: model.Filter, Path: path, Isolated: m.top().Agent, System: m.system(""), Prompt: p.String(), Schema: schema}, true)
	if err != nil {
		return nil, err
	}
	v, _ := decode(got.Output)
	object, _ := v.(map[string]any)
	items, ok := object["items"].([]any)
	if !ok {
		return nil, badValue(n, "no list")
	}
	return items, nil
}
