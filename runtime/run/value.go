package run

import (
	"encoding/json"
	"strconv"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
)

// value evaluates what a tree writes as an input (rulings 5.6 and 5.10). missing is the reference that has no value, which is then null.
func (m *Machine) value(v tree.Value) (value any, missing string) {
	switch v.Kind {
	case tree.String:
		return m.literal(v.Text), ""
	case tree.Number:
		if f, err := strconv.ParseFloat(v.Text, 64); err == nil {
			return f, ""
		}
		return v.Text, ""
	case tree.Bool:
		return v.Text == "true", ""
	case tree.Null:
		return nil, ""
	case tree.Arguments:
		return m.s.args, ""
	case tree.List:
		list := make([]any, 0, len(v.Items))
		for _, item := range v.Items {
			x, miss := m.value(item)
			if miss != "" {
				missing = miss
			}
			list = append(list, x)
		}
		return list, missing
	case tree.Ref:
		if x, ok := m.lookup(v.Text); ok {
			return x, ""
		}
		return nil, v.Text
	}
	if x, ok := m.lookup(v.Text); ok {
		return x, ""
	}
	return m.literal(v.Text), ""
}

// sum evaluates the right side of a bind node; ok is false for natural language. A name without a value is an error: bound onward, it
// would be a value that nobody gave. A bare word is such a name if some node binds it, or it is written like one.
func (m *Machine) sum(e plan.Expr) (total any, ok bool, err error) {
	if e.Phrase != "" || len(e.Parts) == 0 {
		return nil, false, nil
	}
	for i, part := range e.Parts {
		x, missing := m.value(part)
		if missing == "" {
			missing = m.unboundWord(part)
		}
		if _, ok := m.lookup(part.Text); missing == "" && !ok && part.Kind == tree.Word && (check.SureName(part.Text) || len(e.Parts) > 1 && check.IsName(part.Text)) {
			missing = part.Text
		}
		if missing != "" {
			why, lost := m.lost(missing)
			if lost {
				why = ": " + why
			}
			return nil, true, diag.New(diag.Unmet, CodeUnbound, "%s has no value%s", diag.Printable(missing), why)
		}
		if i == 0 {
			total = x
		} else {
			total = plus(total, x)
		}
	}
	return total, true, nil
}

// unboundWord is a bare word in v that some node binds and that has no value now, "" if there is none.
func (m *Machine) unboundWord(v tree.Value) string {
	switch v.Kind {
	case tree.Word:
		if _, ok := m.lookup(v.Text); !ok && m.s.plan.Names(v.Text) {
			return v.Text
		}
	case tree.List:
		for _, item := range v.Items {
			if name := m.unboundWord(item); name != "" {
				return name
			}
		}
	}
	return ""
}

// plus adds numbers, joins lists, and puts all else together as text.
func plus(a, b any) any {
	if x, ok := a.(float64); ok {
		if y, ok := b.(float64); ok {
			return x + y
		}
	}
	if x, ok := a.([]any); ok {
		out := append(make([]any, 0, len(x)+1), x...)
		if y, ok := b.([]any); ok {
			return append(out, y...)
		}
		return append(out, b)
	}
	return cond.Text(a) + cond.Text(b)
}

// decode reads one JSON value into Go's types of JSON.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var v any
	err := json.Unmarshal(raw, &v)
	return v, err
}
