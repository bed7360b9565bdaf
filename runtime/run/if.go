package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// byCache is how a condition was decided that the model had decided before in this run.
const byCache = "cache"

// bySet is how something was decided that Runner.Set gives.
const bySet = "set"

func (m *Machine) visitIf(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	if n.Kind != tree.If && f.Chain != chainOpen {
		m.skip(f, n, path)
		return nil
	}
	m.begin(n, path, nil)
	value, by := true, f.ChainAnswer
	if n.Kind != tree.Else {
		c := m.s.plan.Cond(n)
		by = by || m.aboutAnswer(c)
		v, how, err := m.decide(ctx, n, path, c)
		if err != nil {
			return err
		}
		m.emit(Event{Kind: Decided, Path: path, Node: m.id(n), Type: n.Kind.String(), Text: n.Cond, Value: encode(v), How: how})
		value = v
	}
	f.ChainAnswer = by
	if !value {
		f.Chain = chainOpen
		m.skip(f, n, path)
		return nil
	}
	f.Chain = chainTaken
	m.push(&frame{Kind: branchFrame, Base: path, Owner: n.ID, ByAnswer: by, node: n, nodes: branchNodes(n, 0)})
	m.top().started = began
	return nil
}

// decide evaluates a condition.
func (m *Machine) decide(ctx context.Context, n *tree.Node, path string, c cond.Expr) (bool, string, error) {
	if raw, ok := m.override(n, path); ok {
		v, err := decode(raw)
		m.set = true
		return cond.Truth(v), bySet, err
	}
	cached := false
	env := m.env(ctx, n, path)
	env.Model = func(ctx context.Context, text string) (bool, error) {
		v, fromCache, err := m.judge(ctx, n, path, text)
		cached = fromCache
		return v, err
	}
	v, how, err := cond.Eval(ctx, c, env)
	if err != nil {
		return false, "", placed(err, n)
	}
	if cached {
		return v, byCache, nil
	}
	return v, string(how), nil
}

// env is what conditions, cases and collections are decided against, without a model.
func (m *Machine) env(ctx context.Context, n *tree.Node, path string) cond.Env {
	return cond.Env{
		Lookup:    m.lookup,
		Arguments: m.s.args,
		Answer: func() (string, []string, bool) {
			a, ok := m.answer()
			if !ok {
				return "", nil, false
			}
			return a.Text, a.Options, true
		},
		Exists: func(file string) (bool, error) { return m.exists(ctx, n, path, file) },
		Outcome: func(name string) string {
			s, _ := m.scope()
			return string(s.Outcomes[name].Status)
		},
	}
}

// aboutAnswer reports whether a condition looks at what a person answered.
func (m *Machine) aboutAnswer(c cond.Expr) bool {
	if a, ok := m.answer(); ok && slices.ContainsFunc(a.Options, func(o string) bool { return cond.Offers(c, o) }) {
		return true
	}
	s, _ := m.scope()
	return len(s.Asked) > 0 && slices.ContainsFunc(cond.Names(c), func(name string) bool { return s.Asked[cond.Root(name)] })
}

var conditionSchema = json.RawMessage(`{"type":"object","properties":{"value":{"type":["boolean","null"]},"reason":{"type":"string"}},"required":["value","reason"],"additionalProperties":false}`)

// judge asks the model about one condition in natural language (ruling 5.3).
func (m *Machine) judge(ctx context.Context, n *tree.Node, path, text string) (value, cached bool, err error) {
	if m.s.r.Deterministic {
		return false, false, diag.New(diag.Refused, CodeNatural, "the condition %q needs a model, and models may not decide conditions here", text).At(position(n))
	}
	var p prompt
	p.line("Decide whether this condition holds now.")
	p.part("Condition", text)
	m.values(&p, text, nil, true)
	if a, ok := m.answer(); ok {
		p.part("The person's last answer", a.Text)
	}
	p.line("Answer with value true or false and a short reason. If it cannot be decided, value is null.")
	key := digest(p.String())
	if v, ok := m.st.Cache[key]; ok {
		return v, true, nil
	}
	req := model.Request{Purpose: model.Condition, Path: path, Isolated: m.top().Agent, System: m.system(""), Prompt: p.String(), Schema: conditionSchema}
	got, err := m.fill(ctx, n, req, true)
	if err != nil {
		return false, false, err
	}
	var said struct {
		Value  *bool  `json:"value"`
		Reason string `json:"reason"`
	}
	if json.Unmarshal(got.Output, &said) != nil || said.Value == nil {
		return false, false, diag.New(diag.Unmet, CodeUndecided, "the model could not decide the condition %q: %s", text, diag.Clip(said.Reason, 200)).At(position(n))
	}
	if m.st.Cache == nil {
		m.st.Cache = map[string]bool{}
	}
	m.st.Cache[key] = *said.Value
	return *said.Value, false, nil
}

func position(n *tree.Node) diag.Position {
	if n == nil {
		return diag.Position{}
	}
	return diag.Position{File: n.Pos.File, Line: n.Pos.Line, Column: n.Pos.Column}
}

func (m *Machine) visitSwitch(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	m.begin(n, path, nil)
	take, value, how, err := m.choose(ctx, n, path)
	if err != nil {
		return err
	}
	m.emit(Event{Kind: Decided, Path: path, Node: m.id(n), Type: n.Kind.String(), Text: n.Cond, Value: encode(value), How: how})
	for i, c := range n.Children {
		if i != take {
			m.skipNode(c, path+"/"+strconv.Itoa(i))
		}
	}
	if take < 0 {
		m.finish(f, n, began, OK, nil)
		return nil
	}
	s, _ := m.scope()
	by := false
	if x := m.s.plan.Subject(n); !x.Natural {
		by = s.Asked[cond.Root(x.Operand.Text)]
	}
	m.push(&frame{Kind: branchFrame, Base: path + "/" + strconv.Itoa(take), Owner: n.ID, Take: take + 1, ByAnswer: by, node: n, nodes: branchNodes(n, take+1)})
	m.top().started = began
	m.begin(n.Children[take], path+"/"+strconv.Itoa(take), nil)
	return nil
}

// choose picks the CASE or DEFAULT, -1 for none.
func (m *Machine) choose(ctx context.Context, n *tree.Node, path string) (take int, value any, how string, err error) {
	env := m.env(ctx, n, path)
	how = string(cond.ByGrammar)
	x := m.s.plan.Subject(n)
	raw, set := m.override(n, path)
	switch {
	case set:
		how, m.set = bySet, true
		value, err = decode(raw)
	case x.Natural:
		how = string(cond.ByModel)
		value, err = m.chooseByModel(ctx, n, path)
		if value == "none" {
			value = nil
		}
	default:
		value, err = x.Value(env)
	}
	if err != nil {
		return -1, nil, how, placed(err, n)
	}
	take = -1
	for i, c := range n.Children {
		if c.Kind == tree.Case && cond.Match(value, m.s.plan.Case(c), env) {
			return i, value, how, nil
		}
		if c.Kind == tree.Default && take < 0 {
			take = i
		}
	}
	return take, value, how, nil
}

func (m *Machine) chooseByModel(ctx context.Context, n *tree.Node, path string) (any, error) {
	if m.s.r.Deterministic {
		return nil, diag.New(diag.Refused, CodeNatural, "the choice by %q needs a model, and models may not decide here", n.Cond).At(position(n))
	}
	enum := []any{}
	for _, c := range n.Children {
		if c.Kind == tree.Case {
			enum = append(enum, m.s.plan.Case(c).Text)
		}
	}
	enum = append(enum, "none")
	var p prompt
	p.line("Choose the case that fits, or none.")
	p.part("By", n.Cond)
	p.part("Cases", string(encode(enum)))
	m.values(&p, n.Cond, nil, true)
	schema := encode(map[string]any{"type": "object", "properties": map[string]any{"value": map[string]any{"enum": enum}}, "required": []any{"value"}, "additionalProperties": false})
	got, err := m.fill(ctx, n, model.Request{Purpose: model.Choice, Path: path, Isolated: m.top().Agent, System: m.system(""), Prompt: p.String(), Schema: schema}, true)
	if err != nil {
		return nil, err
	}
	var said struct {
		Value any `json:"value"`
	}
	if json.Unmarshal(got.Output, &said) != nil || !slices.Contains(enum, said.Value) {
		return nil, diag.New(diag.Unmet, CodeUndecided, "the model chose none of the cases of %q", n.Cond).At(position(n))
	}
	return said.Value, nil
}

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
	how = string(cond.ByGrammar)
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
	if err != nil {
		return nil, how, placed(err, n)
	}
	if scalar {
		m.warn("loop_scalar", fmt.Sprintf("%s is no list: the loop runs once", n.In))
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
	p.part("List", diag.Clip(string(encode(items)), maxValue))
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

func badValue(n *tree.Node, what string) error {
	return diag.New(diag.Failed, CodeValue, "the model's answer for %q is not what was asked for: %s", diag.Clip(n.Text, 80), what).At(position(n))
}

// exists asks whether a file of the project is there.
func (m *Machine) exists(ctx context.Context, n *tree.Node, path, file string) (bool, error) {
	file = m.projectPath(file)
	got, err := m.do(ctx, effect{kind: "exists", path: path, node: m.id(n), digest: digest(file)}, func(context.Context, string) (reply, error) {
		if m.s.r.Tools == nil {
			return reply{}, diag.New(diag.Failed, CodeTools, "a condition asks for the file %s, and there are no tools to look with", file).At(position(n))
		}
		ok, err := m.s.r.Tools.Exists(file)
		if err != nil {
			return reply{}, diag.New(diag.Failed, CodeFile, "looking for %s: %w", file, err).At(position(n))
		}
		return reply{Output: encode(ok)}, nil
	})
	return string(got.Output) == "true", err
}
