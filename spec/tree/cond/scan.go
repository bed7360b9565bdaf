package cond

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// collapse trims text and makes blanks single, outside quotes and backticks.
func collapse(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "  ") && !strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }) {
		return text
	}
	var b strings.Builder
	var q quotes
	for i := 0; i < len(text); {
		if end := q.end(text, i); end > i {
			b.WriteString(text[i:end])
			i = end
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if unicode.IsSpace(r) {
			for i < len(text) {
				r, n := utf8.DecodeRuneInString(text[i:])
				if !unicode.IsSpace(r) {
					break
				}
				i += n
			}
			b.WriteByte(' ')
			continue
		}
		b.WriteString(text[i : i+n])
		i += n
	}
	return b.String()
}

// quotes finds quoted parts of one text from left to right. It remembers which marks have no partner
// any more, so that a text of many lone quotes costs no more than its length.
type quotes struct{ none [3]bool }

// end returns the end of the quoted part that starts at text[i], or i. A single quote within a word is an apostrophe.
func (q *quotes) end(text string, i int) int {
	k := 0
	switch text[i] {
	case '`':
	case '"':
		k = 1
	case '\'':
		k = 2
		// Every blank counts, since all of them become the same one.
		if before, _ := utf8.DecodeLastRuneInString(text[:i]); i > 0 && !unicode.IsSpace(before) && !strings.ContainsRune("(=[,", before) {
			return i
		}
	default:
		return i
	}
	if q.none[k] {
		return i
	}
	n := strings.IndexByte(text[i+1:], text[i])
	if n < 0 {
		q.none[k] = true
		return i
	}
	return i + n + 2
}

// A joint is an AND or OR between operands.
type joint struct {
	from, to int // of the word in the text
	or       bool
	lower    bool
}

// joints finds the connectives outside quotes and brackets. wrapped reports that text[0] and the
// last byte are one pair of parentheses.
func joints(text string) (out []joint, wrapped bool) {
	var q quotes
	depth, zero := 0, 0 // zero: how often the depth came back to 0
	for i := 0; i < len(text); {
		if end := q.end(text, i); end > i {
			i = end
			continue
		}
		switch c := text[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth > 0 {
				if depth--; depth == 0 {
					zero++
					wrapped = zero == 1 && i == len(text)-1 && c == ')' && text[0] == '('
				}
			}
		case ' ':
			if depth == 0 {
				if j, ok := jointAt(text, i); ok {
					out = append(out, j)
					i = j.to - 1 // the blank after it may begin the next
				}
			}
		}
		i++
	}
	return out, wrapped
}

// jointAt reads a connective after the blank text[i].
func jointAt(text string, i int) (joint, bool) {
	rest := text[i+1:]
	n := strings.IndexByte(rest, ' ')
	if n != 2 && n != 3 || i == 0 {
		return joint{}, false
	}
	j := joint{from: i + 1, to: i + 1 + n}
	switch rest[:n] {
	case "AND":
	case "and":
		j.lower = true
	case "OR":
		j.or = true
	case "or":
		j.or, j.lower = true, true
		// "missing or empty" is one test.
		if (strings.HasSuffix(text[:i], " missing") && hasWord(rest[3:], "empty")) ||
			(strings.HasSuffix(text[:i], " empty") && hasWord(rest[3:], "missing")) {
			return joint{}, false
		}
	default:
		return joint{}, false
	}
	return j, true
}

// hasWord reports whether s starts with word and ends there or goes on with a blank or bracket.
func hasWord(s, word string) bool {
	rest, ok := strings.CutPrefix(s, word)
	return ok && (rest == "" || rest[0] == ' ' || rest[0] == ')')
}

// tooDeep reports whether text nests parentheses deeper than MaxDepth, wherever they stand.
func tooDeep(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			if depth++; depth > MaxDepth {
				return true
			}
		case ')':
			depth = max(0, depth-1)
		}
	}
	return false
}
