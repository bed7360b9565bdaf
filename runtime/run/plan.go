package run

import (
	"context"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

func (m *Machine) visitPlan(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	m.begin(n, path, nil)
	bound, err := m.showPlan(ctx, n, path, false)
	if err != nil {
		return err
	}
	m.owner().Plan = m.id(n)
	m.finish(f, n, began, OK, values(bound))
	return nil
}

// A planValue is one row of a plan that is shown.
type planValue struct {
	Field string `json:"field"`
	Value any    `json:"value"`
}

// showPlan shows the fields: literal values, bindings of that name, and the rest by one request (ruling 5.19). What it shows and nothing bound
// before is bound by it, so that what a person agrees to is what is done. again is for a plan that is to be adjusted: what an earlier one bound is
// asked for anew.
func (m *Machine) showPlan(ctx context.Context, n *tree.Node, path string, again bool) (map[string]any, error) {
	rows := make([]planValue, len(n.Fields))
	fresh := map[int]bool{} // rows that nothing bound
	var missing []string
	s, _ := m.scope()
	for i, field := range n.Fields {
		rows[i].Field = field.Text
		if field.Value != "" {
			text, err := m.shown(n, field.Value)
			if err != nil {
				return nil, err
			}
			rows[i].Value, fresh[i] = strings.Trim(text, `"`), true
			continue
		}
		v, ok := m.named(field.Text)
		if !ok || again && s.Planned[field.Name()] {
			fresh[i] = true
			missing = append(missing, field.Text)
		}
		rows[i].Value = v
	}
	if len(missing) > 0 {
		filled, err := m.fields(ctx, n, path, model.Fields, missing, "Give each field of this plan its value, before anything is changed: what a person has to know to agree to it, and later steps take it as it is.")
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if v, ok := filled[rows[i].Field]; ok && fresh[i] {
				rows[i].Value = v
			}
		}
	}
	if m.s.sink {
		m.emit(Event{Kind: PlanShown, Path: path, Node: m.id(n), Value: encode(rows)})
	}
	return m.planned(n, path, rows, fresh), nil
}

// planned binds what a plan shows and nothing bound.
func (m *Machine) planned(n *tree.Node, path string, rows []planValue, fresh map[int]bool) map[string]any {
	bound := map[string]any{}
	for i, row := range rows {
		name := tree.NameOf(row.Field)
		if !fresh[i] || row.Value == nil || !check.IsName(name) {
			continue
		}
		bound[name] = row.Value
		m.assign(name, row.Value, "")
		m.outcome(name, outcome{Status: OK})
		s, _ := m.scope()
		s.Planned = with(s.Planned, name)
		if m.s.sink {
			m.emit(Event{Kind: Bound, Path: path, Node: m.id(n), Name: name, Value: encode(row.Value)})
		}
	}
	return bound
}

func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}
