package run

import (
	"context"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// A showing is a visit of SHOW_PLAN.
type showing struct{ visit }

func (at showing) run(ctx context.Context) error {
	at.begin(nil)
	bound, err := at.show(ctx, false)
	if err != nil {
		return err
	}
	at.owner().Plan = at.id()
	at.finish(OK, values(bound))
	return nil
}

// A planValue is one row of a plan that is shown.
type planValue struct {
	Field string `json:"field"`
	Value any    `json:"value"`
}

// show shows the fields: literal values, bindings of that name, and the rest by one request (ruling 5.19). What it shows and nothing bound
// before is bound by it, so that what a person agrees to is what is done. again is for a plan that is to be adjusted: what an earlier one bound is
// asked for anew.
func (at showing) show(ctx context.Context, again bool) (map[string]any, error) {
	rows := make([]planValue, len(at.n.Fields))
	fresh := map[int]bool{} // rows that nothing bound
	var missing []string
	s, _ := at.scope()
	for i, field := range at.n.Fields {
		rows[i].Field = field.Text
		if field.Value != "" {
			text, err := at.shown(field.Value)
			if err != nil {
				return nil, err
			}
			rows[i].Value, fresh[i] = strings.Trim(text, `"`), true
			continue
		}
		v, ok := at.named(field.Text)
		if !ok || again && s.Planned[field.Name()] {
			fresh[i] = true
			missing = append(missing, field.Text)
		}
		rows[i].Value = v
	}
	if len(missing) > 0 {
		filled, err := at.fields(ctx, model.Fields, missing, "Give each field of this plan its value, before anything is changed: what a person has to know to agree to it, and later steps take it as it is.")
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if v, ok := filled[rows[i].Field]; ok && fresh[i] {
				rows[i].Value = v
			}
		}
	}
	if at.s.sink {
		at.tell(Event{Kind: PlanShown, Value: encode(rows)})
	}
	return at.bind(rows, fresh), nil
}

// bind binds what a plan shows and nothing bound.
func (at showing) bind(rows []planValue, fresh map[int]bool) map[string]any {
	bound := map[string]any{}
	for i, row := range rows {
		name := tree.NameOf(row.Field)
		if !fresh[i] || row.Value == nil || !check.IsName(name) {
			continue
		}
		bound[name] = row.Value
		at.assign(name, row.Value, "")
		at.outcome(name, outcome{Status: OK})
		s, _ := at.scope()
		s.Planned = with(s.Planned, name)
		at.bound(name, row.Value)
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
