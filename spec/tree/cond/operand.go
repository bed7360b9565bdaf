package cond

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// keyword reports whether word belongs to the grammar, so that it is no name.
func keyword(word string) bool {
	switch word {
	case "is", "not", "NOT", "and", "AND", "or", "OR", "equals", "contains", "exists", "found", "provided", "present", "set",
		"failed", "succeeded", "empty", "non-empty", "missing", "valid", "does", "already", "a", "an", "the", "in", "user":
		return true
	}
	return false
}

// ParseOperand reads text as one operand: a reference, a literal or a bare word;
// ok is false for anything longer.
func ParseOperand(text string) (Operand, bool) {
	text = strings.TrimSpace(text)
	o, rest := head(text)
	if rest != "" || text == "" {
		return Operand{}, false
	}
	return o, o.Text != "" || o.Kind == Quoted
}

// head reads the operand at the start of text, and gives what follows it. A zero
// Operand with the whole text as rest means that there is none.
func head(text string) (o Operand, rest string) {
	if text == "" {
		return Operand{}, ""
	}
	switch q := text[0]; q {
	case '"', '\'', '`':
		n := strings.IndexByte(text[1:], q)
		if n < 0 {
			return Operand{}, text
		}
		in, rest := text[1:n+1], text[n+2:]
		if rest != "" && rest[0] != ' ' && !strings.ContainsRune("=!<>", rune(rest[0])) {
			return Operand{}, text
		}
		if q != '`' {
			return Operand{Quoted, in}, strings.TrimSpace(rest)
		}
		if in == "$ARGUMENTS" {
			return Operand{Arguments, in}, strings.TrimSpace(rest)
		}
		if !isPath(in) {
			return Operand{}, text
		}
		return Operand{Path, in}, strings.TrimSpace(rest)
	}
	end := wordEnd(text)
	word := text[:end]
	if k, ok := classify(word); ok {
		return Operand{k, word}, strings.TrimSpace(text[end:])
	}
	return Operand{}, text
}

// wordEnd ends a bare word before a blank or an operator.
func wordEnd(text string) int {
	for i := range len(text) {
		switch text[i] {
		case ' ', '=', '<', '>':
			return i
		case '!':
			if i+1 < len(text) && text[i+1] == '=' {
				return i
			}
		}
	}
	return len(text)
}

func classify(word string) (Kind, bool) {
	switch word {
	case "":
		return 0, false
	case "$ARGUMENTS":
		return Arguments, true
	case "true", "false":
		return Bool, true
	case "null":
		return Null, true
	}
	if c := word[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if _, ok := number(word); ok {
			return Number, true
		}
	}
	if isPath(word) {
		if strings.ContainsAny(word, ".[") {
			return Path, true
		}
		return Word, true
	}
	// A word that cannot be a name can be a literal: 1.2.3, chart/defaults, @latest.
	last, _ := utf8.DecodeLastRuneInString(word)
	if strings.ContainsAny(word, "\"'`()[]{}|,;:$") || !unicode.IsLetter(last) && !unicode.IsDigit(last) && !strings.ContainsRune("+#*/%", last) {
		return 0, false
	}
	return Word, true
}

// number reads a decimal number. Words that Go reads as numbers, such as "Inf" and "0x1", are none.
func number(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s, "xXpPiInN_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// isPath reports whether s is IDENT ("." IDENT | "[" digits "]")*. Names may
// hold hyphens, but not end with one.
func isPath(s string) bool {
	for {
		n := 0
		for i, r := range s {
			if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r) && r != '-') {
				break
			}
			n = i + utf8.RuneLen(r)
		}
		if n == 0 || s[n-1] == '-' {
			return false
		}
		s = s[n:]
		for strings.HasPrefix(s, "[") {
			end := strings.IndexByte(s, ']')
			if end < 2 || strings.Trim(s[1:end], "0123456789") != "" {
				return false
			}
			s = s[end+1:]
		}
		if s == "" {
			return true
		}
		if s[0] != '.' {
			return false
		}
		s = s[1:]
	}
}

// Root returns the name of the binding that a path leads into: "x" for
// context.x.y[0]. It is "context" or "ctx" for those words alone.
func Root(path string) string {
	for _, p := range [...]string{"context.", "ctx."} {
		if rest, ok := strings.CutPrefix(path, p); ok {
			path = rest
			break
		}
	}
	if i := strings.IndexAny(path, ".["); i > 0 {
		return path[:i]
	}
	return path
}

// reference reports whether o can have a value: all but literals, and words that cannot be names.
func (o Operand) reference() bool {
	switch o.Kind {
	case Word:
		return isPath(o.Text) && !keyword(o.Text)
	case Path, Arguments, Phrase:
		return true
	}
	return false
}

// sure reports whether o is a reference even where a literal may stand.
func (o Operand) sure() bool { return o.Kind == Path || o.Kind == Arguments }

// plain reports whether o is a bare word that a sentence or a question's option could hold.
func (o Operand) plain() bool { return o.Kind == Word && !strings.Contains(o.Text, "_") }

// name is what Lookup gets.
func (o Operand) name() string {
	if o.Kind == Phrase {
		return strings.ReplaceAll(strings.ToLower(o.Text), " ", "_")
	}
	return o.Text
}

// lookup is the value of a reference; ok is false if it is missing.
func (o Operand) lookup(env Env) (any, bool) {
	if o.Kind == Arguments {
		return strings.TrimSpace(env.Arguments), true
	}
	if env.Lookup == nil {
		return nil, false
	}
	if v, ok := env.Lookup(o.name()); ok {
		return v, true
	}
	if o.Kind == Phrase {
		return env.Lookup(strings.ReplaceAll(o.name(), "_", "-"))
	}
	return nil, false
}

// Value returns what o stands for. A Word that is not bound is its own text (ruling 5.10). ok is false for
// a reference that has no value.
func (o Operand) Value(env Env) (any, bool) {
	switch o.Kind {
	case Quoted:
		return o.Text, true
	case Number:
		f, _ := number(o.Text)
		return f, true
	case Bool:
		return o.Text == "true", true
	case Null:
		return nil, true
	case Word:
		if isPath(o.Text) {
			if v, ok := o.lookup(env); ok {
				return v, true
			}
		}
		return o.Text, true
	}
	return o.lookup(env)
}
