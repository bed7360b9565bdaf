package cond

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// numeric gives the number that v is, or that a text spells.
func numeric(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case json.Number:
		return number(string(v))
	case string:
		return number(v)
	}
	return 0, false
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}

// Truth reports whether v counts as true: neither null, false, 0, "", [] nor {}.
func Truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return strings.TrimSpace(v) != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	f, ok := numeric(v)
	return !ok || f != 0
}

// hollow reports whether v has no content: null, "", [] or {}.
func hollow(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// Text is how v is written into literal text: strings as they are, null as
// nothing, numbers in their shortest form, lists and objects as JSON.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return string(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		if v > -1e15 && v < 1e15 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "" // not a JSON value: Lookup broke its promise
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Same reports whether two values are equal: texts without surrounding blanks, numbers by value however
// they are typed or spelled, lists and objects element by element. A text equals a number or a
// boolean that is spelled so; null equals only null.
func Same(a, b any) bool { return equal(a, b, false) }

// equal compares values; fold compares texts without case.
func equal(a, b any, fold bool) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		switch y := b.(type) {
		case string:
			return sameText(x, y, fold)
		case bool:
			return strings.EqualFold(strings.TrimSpace(x), strconv.FormatBool(y))
		}
	case bool:
		switch y := b.(type) {
		case bool:
			return x == y
		case string:
			return strings.EqualFold(strings.TrimSpace(y), strconv.FormatBool(x))
		}
		return false
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, Same)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, Same)
	}
	x, okX := numeric(a)
	y, okY := numeric(b)
	if okX && okY {
		return x == y
	}
	return !okX && !okY && reflect.DeepEqual(a, b)
}

func sameText(a, b string, fold bool) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a == b || fold && strings.EqualFold(a, b)
}

// equalLiteral compares a value with an operand as written (ruling 5.5): words
// without case, numbers as numbers also when the value spells one.
func equalLiteral(v any, o Operand) bool {
	switch o.Kind {
	case Null:
		return v == nil
	case Bool:
		return equal(v, o.Text == "true", true)
	case Number:
		want, _ := number(o.Text)
		got, ok := numeric(v)
		return ok && got == want
	}
	return equal(v, o.Text, o.Kind != Quoted)
}

// Match reports whether the value of a SWITCH matches a case. Words and phrases compare without case,
// quoted texts with it, numbers as numbers. A reference without a value is an error with code condition_undecided.
func Match(value any, c Operand, env Env) (bool, error) {
	if !c.sure() {
		return equalLiteral(value, c), nil
	}
	v, ok := c.lookup(env)
	if !ok {
		return false, undecided("case names %q, which has no value", c.Text)
	}
	return Same(value, v), nil
}

// ParseCase reads the value of a CASE: a literal, unless it starts with
// context. or ctx. or stands in backticks (ruling 5.10). Text of several words
// is a literal as well.
func ParseCase(text string) Operand {
	text = strings.TrimSpace(text)
	o, ok := ParseOperand(text)
	switch {
	case !ok:
		return Operand{Phrase, text}
	case o.Kind == Path && text[0] != '`' && !strings.HasPrefix(text, "context.") && !strings.HasPrefix(text, "ctx."):
		o.Kind = Word // "a.b" is a literal here
	}
	return o
}

// ParseExpression reads the expression of SWITCH.
func ParseExpression(text string) Expression {
	text = collapse(text)
	o, ok := ParseOperand(text)
	if !ok || o.Kind == Word && keyword(o.Text) {
		return Expression{Text: text, Natural: true}
	}
	return Expression{Text: text, Operand: o}
}

// Value returns what a SWITCH compares its cases with. It fails for natural language, and with
// code condition_undecided for a name that has no value. A field that a value lacks is null, which no case but null matches.
func (x Expression) Value(env Env) (any, error) {
	if x.Natural {
		return nil, undecided("expression %q is natural language, which only a model decides", x.Text)
	}
	switch o := x.Operand; o.Kind {
	case Word:
		v, ok := o.lookup(env)
		if !ok {
			return nil, undecided("expression names %q, which has no value", o.Text)
		}
		return v, nil
	default:
		if ev := (evaluation{env: env}); ev.unbound(o) {
			return nil, undecided("expression names %q, which has no value", o.Text)
		}
		v, _ := o.Value(env)
		return v, nil
	}
}

// ParseCollection reads the collection of FOR_EACH. It never fails.
func ParseCollection(text string) Collection {
	text = collapse(text)
	c := Collection{Text: text, Kind: Prose}
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		if items, ok := listItems(inner[:len(inner)-1]); ok {
			c.Kind, c.Items = Listed, items
		}
		return c
	}
	if o, ok := ParseOperand(text); ok {
		if o.reference() {
			c.Kind, c.Of = Named, o
		}
		return c
	}
	i := strings.LastIndexByte(text, ' ')
	if i < 0 || strings.Count(text, " ") > 3 {
		return c
	}
	o, ok := ParseOperand(text[i+1:])
	if !ok || !o.reference() || o.Kind == Arguments {
		return c
	}
	for _, w := range strings.Split(text[:i], " ") {
		if !isPath(w) {
			return c
		}
	}
	c.Kind, c.Of, c.Filter = Filtered, o, text[:i]
	return c
}

// listItems splits the elements of a list at commas outside quotes.
func listItems(inner string) ([]Operand, bool) {
	items := []Operand{}
	if strings.TrimSpace(inner) == "" {
		return items, true
	}
	var q quotes
	from := 0
	add := func(to int) bool {
		part := strings.TrimSpace(inner[from:to])
		o, ok := ParseOperand(part)
		if !ok {
			if part == "" || strings.ContainsAny(part, "[]{}") {
				return false
			}
			o = Operand{Phrase, part}
		}
		items = append(items, o)
		return true
	}
	for i := 0; i < len(inner); {
		if end := q.end(inner, i); end > i {
			i = end
			continue
		}
		if inner[i] == ',' {
			if !add(i) {
				return nil, false
			}
			from = i + 1
		}
		i++
	}
	return items, add(len(inner))
}

// Elements returns what c iterates over. For a Filtered collection these
// are all elements of the named list, and filter is true: a model must choose among them; it is false
// if the whole phrase is the name of a binding ("critical findings" is critical_findings). scalar
// is true if the value was no list and is the only element, which deserves a
// warning. A name without value and a Prose collection are errors with code condition_undecided.
func (c Collection) Elements(env Env) (items []any, filter, scalar bool, err error) {
	switch c.Kind {
	case Listed:
		items = make([]any, len(c.Items))
		for i, o := range c.Items {
			v, ok := o.Value(env)
			if word := o.Kind == Word && o.reference() && env.Name != nil; word && env.Name(o.Text) {
				_, has := o.lookup(env)
				ok = has
			}
			if !ok && o.Kind != Phrase {
				return nil, false, false, undecided("list %q names %q, which has no value", c.Text, o.Text)
			}
			if items[i] = v; !ok {
				items[i] = o.Text
			}
		}
		return items, false, false, nil
	case Filtered:
		if v, ok := (Operand{Phrase, c.Text}).lookup(env); ok {
			items, scalar = Spread(v)
			return items, false, scalar, nil
		}
		filter = true
		fallthrough
	case Named:
		v, ok := c.Of.lookup(env)
		if !ok {
			return nil, false, false, undecided("collection %q has no value, as nothing binds %q", c.Text, c.Of.name())
		}
		items, scalar = Spread(v)
		return items, filter && len(items) > 0, scalar, nil
	}
	return nil, false, false, undecided("collection %q is natural language, which only a model decides", c.Text)
}

// Spread returns the elements of a value: of a list, the values of an object in the order of its keys, of a
// text that is a JSON array, none for null; else v alone, and scalar is true.
func Spread(v any) ([]any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case []any:
		return v, false
	case map[string]any:
		out := make([]any, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, v[k])
		}
		return out, false
	case string:
		t := strings.TrimSpace(v)
		if t == "" {
			return nil, false
		}
		var list []any
		if t[0] == '[' && json.Unmarshal([]byte(t), &list) == nil {
			return list, false
		}
	}
	return []any{v}, true
}

// Parts is the list or object that v is, or that v spells as a text of JSON: scripts print such texts. nil: it has no parts.
func Parts(v any) any {
	switch v := v.(type) {
	case map[string]any, []any:
		return v
	case string:
		text := strings.TrimSpace(v)
		if len(text) < 2 || len(text) > maxParts || text[0] != '{' && text[0] != '[' {
			return nil
		}
		var parts any
		if json.Unmarshal([]byte(text), &parts) != nil {
			return nil
		}
		return parts
	}
	return nil
}

const maxParts = 1 << 20 // bytes of a text that is read as JSON
