package run

import (
	"context"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/tree"
)

func (m *Machine) visitPlan(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	m.begin(n, path, nil)
	if err := m.showPlan(ctx, n, path); err != nil {
		return err
	}
	m.owner().Plan = m.id(n)
	m.finish(f, n, began, OK, nil)
	return nil
}

// A planValue is one row of a plan that is shown.
type planValue struct {
	Field string `json:"field"`
	Value any    `json:"value"`
}

// showPlan shows the fields: literal values, bindings of that name, and the rest by one request (ruling 5.19).
func (m *Machine) showPlan(ctx context.Context, n *tree.Node, path string) error {
	rows := make([]planValue, len(n.Fields))
	var missing []string
	for i, field := range n.Fields {
		rows[i].Field = field.Text
		if field.Value != "" {
			rows[i].Value = strings.Trim(m.literal(field.Value), `"`)
			continue
		}
		v, ok := m.named(field.Text)
		if !ok {
			missing = append(missing, field.Text)
		}
		rows[i].Value = v
	}
	if len(missing) > 0 {
		filled, err := m.fields(ctx, n, path, model.Fields, missing, "Say in a few words what each field of this plan is, before anything is changed.", true)
		if err != nil {
			return err
		}
		for i := range rows {
			if v, ok := filled[rows[i].Field]; ok && rows[i].Value == nil {
				rows[i].Value = v
				m.agreed(n, path, rows[i].Field, v)
			}
		}
	}
	if m.s.sink {
		m.emit(Event{Kind: PlanShown, Path: path, Node: m.id(n), Value: encode(rows)})
	}
	return nil
}

// agreed binds a field that was filled to what was shown, if a call of the skill passes a name of that spelling: what a person agreed to is
// then what is done. It would be the word itself otherwise.
func (m *Machine) agreed(n *tree.Node, path, name string, v any) {
	passed := false
	look := func(c *tree.Node) bool {
		if c.Kind == tree.Call {
			for _, a := range c.Args {
				passed = passed || (a.Value.Kind == tree.Word || a.Value.Kind == tree.Ref) && strings.TrimPrefix(a.Value.Text, "context.") == name
			}
		}
		return !passed
	}
	s := m.home()
	if s.Tree != nil {
		tree.Walk(s.Tree.Nodes, look)
	}
	for _, op := range s.Ops {
		if op.Tree != nil {
			tree.Walk(op.Tree.Nodes, look)
		}
	}
	if !passed {
		return
	}
	m.assign(name, v)
	m.outcome(name, outcome{Status: OK})
	if m.s.sink {
		m.emit(Event{Kind: Bound, Path: path, Node: m.id(n), Name: name, Value: encode(v)})
	}
}
