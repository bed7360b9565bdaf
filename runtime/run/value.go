package run

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
)

// given is what a tree gives an input or a binding.
type given struct {
	value any
	lack  string // what has no value: then no rule decides by the text in value
	none  bool   // there is no value at all
}

// value evaluates what n writes as an input or binds onward (rulings 5.6 and 5.10).
func (at place) value(v tree.Value) given {
	switch v.Kind {
	case tree.String:
		return at.text(v.Text)
	case tree.Number:
		if f, err := strconv.ParseFloat(v.Text, 64); err == nil {
			return given{value: f}
		}
		return given{value: v.Text}
	case tree.Bool:
		return given{value: v.Text == "true"}
	case tree.Null:
		return given{}
	case tree.Arguments:
		return given{value: at.s.args}
	case tree.List:
		return at.list(v.Items)
	}
	x, lack, ok := at.find(v.Text)
	if ok {
		return given{value: x, lack: lack}
	}
	word := check.Name
	if v.Kind == tree.Word {
		word = at.s.plan.Word(at.n, v.Text)
	}
	switch word {
	case check.Name:
		return given{lack: cmp.Or(lack, v.Text), none: true}
	case check.Guess:
		return given{value: v.Text, lack: v.Text}
	}
	return at.text(v.Text)
}

// list evaluates a list, in which bare words are texts unless they are names.
func (at place) list(items []tree.Value) given {
	list := make([]any, 0, len(items))
	for _, item := range items {
		x := at.value(item)
		if x.none {
			return x
		}
		list = append(list, x.value)
	}
	return given{value: list}
}

// text fills literal text of n. No rule decides by one that keeps a place.
func (at place) text(text string) given {
	filled, hole := at.told(text)
	return given{value: filled, lack: hole}
}

// sum evaluates the right side of a bind node; ok is false for natural language. A name without a value is an error: bound onward, it
// would be a value that nobody gave.
func (at place) sum(e plan.Expr) (total given, ok bool, err error) {
	if e.Phrase != "" || len(e.Parts) == 0 {
		return given{}, false, nil
	}
	for i, part := range e.Parts {
		x := at.value(part)
		if x.none || len(e.Parts) > 1 && part.Kind == tree.Word && x.lack == part.Text {
			return given{}, true, at.unbound(x.lack)
		}
		if i == 0 {
			total = x
			continue
		}
		total.value = plus(total.value, x.value)
		total.lack = cmp.Or(total.lack, x.lack)
	}
	return total, true, nil
}

// unbound is the error of a name that has no value where something acts on it.
func (at place) unbound(name string) error {
	why, lost := at.lost(name)
	if lost {
		why = ": " + why
	}
	return diag.New(diag.Unmet, CodeUnbound, "%s has no value%s", diag.Printable(name), why).At(at.position())
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

// encode is v as JSON without HTML escapes. Values come from JSON, so that it cannot fail.
func encode(v any) json.RawMessage {
	switch v := v.(type) {
	case nil:
		return json.RawMessage("null")
	case bool:
		return strconv.AppendBool(nil, v)
	case string:
		if plain(v) {
			return append(append([]byte{'"'}, v...), '"')
		}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// plain reports whether s is itself between quotes, in JSON.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
