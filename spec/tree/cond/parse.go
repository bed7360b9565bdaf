package cond

import (
	"slices"
	"strings"
)

// Parse reads a condition. It never fails: text outside the grammar is a
// [Natural]. The expression of SWITCH is read by [ParseExpression].
func Parse(text string) Expr {
	text = collapse(text)
	if len(text) > MaxText || tooDeep(text) {
		return Natural{text}
	}
	return condition(text)
}

// condition reads a whole text, or what stands in parentheses.
func condition(text string) Expr {
	js, wrapped := joints(text)
	if wrapped {
		if inner := strings.TrimSpace(text[1 : len(text)-1]); inner != "" {
			return condition(inner)
		}
	}
	if len(js) == 0 {
		if e := operand(text); e != nil {
			return e
		}
		return Natural{text}
	}
	parts := split(text, js)
	all := true
	read := make([]Expr, len(parts)) // nil: natural language
	for i, p := range parts {
		if p != "" {
			read[i] = operand(p)
		}
		if read[i] == nil && !(i > 0 && js[i-1].or && literal(p)) {
			all = false
			continue
		}
		all = all && (read[i] == nil || !Model(read[i]))
	}
	if all {
		if e := tree(text, parts, read, js); e != nil {
			return e
		}
	}
	if !slices.ContainsFunc(js, func(j joint) bool { return !j.lower }) {
		if e := test(text); e != nil {
			return e
		}
	}
	return mixed(text, js, parts, read)
}

// mixed splits text at AND and OR in upper case (ruling 5.4), and at those in lower case that join
// only what needs no model; otherwise what they join stays whole. So does all
// of the text unless some operand of it needs no model.
func mixed(text string, js []joint, parts []string, read []Expr) Expr {
	var joints []joint
	var ops []Expr
	var texts []string
	some := false
	for from := 0; from < len(parts); {
		to := from
		for to < len(js) && js[to].lower {
			to++
		}
		whole := slices.ContainsFunc(read[from:to+1], func(e Expr) bool { return e == nil || Model(e) })
		if from < to && whole {
			p := span(text, from, to, js)
			texts, ops = append(texts, p), append(ops, test(p))
		} else {
			texts, ops = append(texts, parts[from:to+1]...), append(ops, read[from:to+1]...)
			joints = append(joints, js[from:to]...)
		}
		if to < len(js) {
			joints = append(joints, js[to])
		}
		from = to + 1
	}
	for i, e := range ops {
		switch {
		case texts[i] == "":
			return Natural{text}
		case e == nil:
			ops[i] = Natural{texts[i]}
		}
		some = some || !Model(ops[i])
	}
	if !some || len(joints) == 0 {
		return Natural{text}
	}
	return tree(text, texts, ops, joints)
}

func split(text string, js []joint) []string {
	parts := make([]string, 0, len(js)+1)
	from := 0
	for _, j := range js {
		parts = append(parts, strings.TrimSpace(text[from:max(from, j.from)]))
		from = j.to
	}
	return append(parts, strings.TrimSpace(text[from:]))
}

// tree builds Or of Ands: AND binds closer. It is nil if a part has no reading.
func tree(text string, parts []string, read []Expr, js []joint) Expr {
	var ors []Expr
	var last *Equal // that "or b" adds a value to
	for i := 0; i < len(parts); {
		end := i
		for end < len(js) && !js[end].or {
			end++
		}
		var e Expr
		if end > i {
			for _, o := range read[i : end+1] {
				if o == nil {
					return nil
				}
			}
			e = And{span(text, i, end, js), read[i : end+1]}
			last = nil
		} else if e = read[i]; last != nil && alternative(parts[i], e) {
			right, _ := ParseOperand(parts[i])
			e = Alternative{parts[i], last.Left, right}
		} else {
			last = nil
			if eq, ok := e.(Equal); ok && !eq.Not {
				last = &eq
			}
		}
		if e == nil {
			return nil
		}
		ors = append(ors, e)
		i = end + 1
	}
	if len(ors) == 1 {
		return ors[0]
	}
	return Or{text, ors}
}

// span is the text of the operands from to to.
func span(text string, from, to int, js []joint) string {
	start, end := 0, len(text)
	if from > 0 {
		start = js[from-1].to
	}
	if to < len(js) {
		end = js[to].from
	}
	return strings.TrimSpace(text[start:end])
}

// alternative reports whether an operand of Or can be one more value for the equality before it: a literal, or
// one bare word.
func alternative(part string, e Expr) bool {
	if e == nil {
		return literal(part)
	}
	r, ok := e.(Ref)
	return ok && r.Of.Kind == Word
}

// literal reports whether text is a quoted text or a number alone.
func literal(text string) bool {
	o, ok := ParseOperand(text)
	return ok && (o.Kind == Quoted || o.Kind == Number)
}

// operand reads one operand of AND and OR; nil is natural language.
func operand(text string) Expr {
	rest, n := text, 0
	for n < maxNots && (strings.HasPrefix(rest, "NOT ") || strings.HasPrefix(rest, "not ")) {
		rest = strings.TrimSpace(rest[4:])
		n++
	}
	e := group(rest)
	if e == nil && n < maxNots {
		e = test(rest)
	}
	if e == nil {
		return nil
	}
	for ; n > 0; n-- {
		e = Not{negated(text, n), e}
	}
	return e
}

// negated is the text after the first n-1 of its words "not".
func negated(text string, n int) string {
	for ; n > 1; n-- {
		text = strings.TrimSpace(text[4:])
	}
	return text
}

// group reads "( … )"; nil if text is none, or only natural language.
func group(text string) Expr {
	if text == "" || text[0] != '(' {
		return nil
	}
	if _, wrapped := joints(text); !wrapped {
		return nil
	}
	inner := strings.TrimSpace(text[1 : len(text)-1])
	if inner == "" {
		return nil
	}
	e := condition(inner)
	if _, ok := e.(Natural); ok {
		return nil
	}
	return e
}
