package plan

import (
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/tree"
)

// An Expr is the right side of a Bind node.
type Expr struct {
	Parts  []tree.Value // one value, or several that "+" joins; nil for a phrase
	Phrase string       // natural language: a model gives the value
}

// parseExpr reads text as values; what is no value is a phrase.
func parseExpr(text string) Expr {
	text = strings.TrimSpace(text)
	if text == "" {
		return Expr{}
	}
	pieces := splitFree(text, '+')
	parts := make([]tree.Value, 0, len(pieces))
	for _, piece := range pieces {
		v, ok := parseValue(strings.TrimSpace(piece))
		if !ok {
			return Expr{Phrase: text}
		}
		parts = append(parts, v)
	}
	return Expr{Parts: parts}
}

// parseValue reads one value; ok is false for text of several words, which only a model can read.
func parseValue(text string) (tree.Value, bool) {
	if text == "" {
		return tree.Value{}, false
	}
	if n := len(text); n >= 2 {
		inner := text[1 : n-1]
		switch q := text[0]; {
		case (q == '"' || q == '\'') && text[n-1] == q && strings.IndexByte(inner, q) < 0:
			return tree.Value{Kind: tree.String, Text: inner}, true
		case q == '`' && text[n-1] == q && isPath(inner):
			return tree.Value{Kind: tree.Ref, Text: inner}, true
		case q == '`' && text[n-1] == q && strings.IndexByte(inner, q) < 0:
			return tree.Value{Kind: tree.Word, Text: inner}, true
		case q == '[' && text[n-1] == ']':
			return parseList(inner)
		}
	}
	switch text {
	case "$ARGUMENTS":
		return tree.Value{Kind: tree.Arguments, Text: text}, true
	case "true", "false":
		return tree.Value{Kind: tree.Bool, Text: text}, true
	case "null":
		return tree.Value{Kind: tree.Null, Text: text}, true
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil && strings.IndexByte("-.0123456789", text[0]) >= 0 {
		return tree.Value{Kind: tree.Number, Text: text}, true
	}
	if isPath(text) && strings.ContainsAny(text, ".[") {
		return tree.Value{Kind: tree.Ref, Text: text}, true
	}
	if strings.ContainsAny(text, " \t\"'`<>{}") {
		return tree.Value{}, false
	}
	return tree.Value{Kind: tree.Word, Text: text}, true
}

func parseList(inner string) (tree.Value, bool) {
	list := tree.Value{Kind: tree.List, Text: "[" + inner + "]", Items: []tree.Value{}}
	if strings.TrimSpace(inner) == "" {
		return list, true
	}
	for _, piece := range splitFree(inner, ',') {
		piece = strings.TrimSpace(piece)
		v, ok := parseValue(piece)
		if !ok { // an element of several words is the text itself
			v = tree.Value{Kind: tree.Word, Text: piece}
		}
		list.Items = append(list.Items, v)
	}
	return list, true
}

// splitFree splits at sep outside quotes, backticks and brackets. A plus joins only between blanks.
func splitFree(text string, sep byte) []string {
	var out []string
	var quote byte
	depth, start := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`' || c == '\'' && (i == 0 || text[i-1] == ' ' || text[i-1] == ',' || text[i-1] == '['):
			quote = c
		case c == '[' || c == '(' || c == '{':
			depth++
		case c == ']' || c == ')' || c == '}':
			depth--
		case c == sep && depth == 0:
			if sep == '+' && (i == 0 || i == len(text)-1 || text[i-1] != ' ' || text[i+1] != ' ') {
				continue
			}
			out = append(out, text[start:i])
			start = i + 1
		}
	}
	return append(out, text[start:])
}

// isPath reports whether s is a name, or a path into a binding: a.b, a[0].
func isPath(s string) bool {
	if s == "" || !letter(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case letter(c), c >= '0' && c <= '9':
		case c == '.' && i+1 < len(s) && letter(s[i+1]):
		case c == '[':
			end := strings.IndexByte(s[i:], ']')
			if end < 2 {
				return false
			}
			if _, err := strconv.Atoi(s[i+1 : i+end]); err != nil {
				return false
			}
			i += end
		default:
			return false
		}
	}
	return true
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
