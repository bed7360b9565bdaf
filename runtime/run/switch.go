package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

func (m *Machine) visitSwitch(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	m.begin(n, path, nil)
	read := m.reading()
	take, value, how, err := m.choose(ctx, n, path, read)
	if err != nil {
		return err
	}
	m.emit(Event{Kind: Decided, Path: path, Node: m.id(n), Type: n.Kind.String(), Text: n.Cond, Value: encode(value), How: how, Read: read.json()})
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

// choose picks the CASE or DEFAULT, -1 for none. read gets what it goes by.
func (m *Machine) choose(ctx context.Context, n *tree.Node, path string, read *reading) (take int, value any, how string, err error) {
	env := read.from(m.env(ctx, n, path))
	x := m.s.plan.Subject(n)
	if raw, ok := m.override(n, path); ok {
		m.set = true
		if value, err = decode(raw); err == nil {
			take, err = m.match(n, value, env)
		}
		return take, value, bySet, placed(err, n)
	}
	if !x.Natural {
		if value, err = x.Value(env); err == nil {
			take, err = m.match(n, value, env)
		}
		if !errors.Is(err, diag.Code(CodeUndecided)) || !m.mayJudge() {
			return take, value, string(cond.ByRule), placed(err, n)
		}
	}
	take, value, err = m.chooseByModel(ctx, n, path)
	return take, value, string(cond.ByModel), placed(err, n)
}

// match is the first CASE that value equals, else DEFAULT, -1 for none. A case that has no value leaves it open what those behind it mean.
func (m *Machine) match(n *tree.Node, value any, env cond.Env) (int, error) {
	for i, c := range n.Children {
		if c.Kind != tree.Case {
			continue
		}
		if same, err := cond.Match(value, m.s.plan.Case(c), env); err != nil || same {
			return i, placed(err, c)
		}
	}
	return fallback(n), nil
}

// fallback is the DEFAULT of a SWITCH, -1 if it has none.
func fallback(n *tree.Node) int {
	return slices.IndexFunc(n.Children, func(c *tree.Node) bool { return c.Kind == tree.Default })
}

// chooseByModel lets the model choose among the texts of the cases; the value of none is null.
func (m *Machine) chooseByModel(ctx context.Context, n *tree.Node, path string) (take int, value any, err error) {
	if m.s.r.Deterministic {
		return -1, nil, diag.New(diag.Refused, CodeNatural, "the choice by %q needs a model, and models may not decide here", n.Cond).At(position(n))
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
		return -1, nil, err
	}
	var said struct {
		Value any `json:"value"`
	}
	if json.Unmarshal(got.Output, &said) != nil || !slices.Contains(enum, said.Value) {
		return -1, nil, diag.New(diag.Unmet, CodeUndecided, "the model chose none of the cases of %q", n.Cond).At(position(n))
	}
	for i, c := range n.Children {
		if c.Kind == tree.Case && m.s.plan.Case(c).Text == said.Value {
			return i, said.Value, nil
		}
	}
	return fallback(n), nil, nil
}
