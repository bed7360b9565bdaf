package tree

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// escapable are the characters that a backslash protects from Markdown.
const escapable = "<>|`*_"

// unescape removes the backslashes before escapable characters, but in code spans.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	open := true // a backtick may still find another
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte(escapable, s[i+1]) >= 0:
			i++
		case s[i] == '`' && open:
			j := strings.IndexByte(s[i+1:], '`')
			if open = j >= 0; open {
				b = append(b, s[i:i+1+j+1]...)
				i += 1 + j
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// escape is the inverse of unescape: unescape(escape(s)) == s.
func escape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	open := true
	for i := 0; i < len(s); i++ {
		switch {
		case i > 0 && s[i-1] == '\\' && strings.IndexByte(escapable, s[i]) >= 0:
			b = append(b, '\\')
		case s[i] == '`' && open:
			j := strings.IndexByte(s[i+1:], '`')
			if open = j >= 0; open {
				b = append(b, s[i:i+1+j+1]...)
				i += 1 + j
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

type span struct{ start, end int }

// A scanner finds operators outside quotes, backticks and brackets. Its buffers
// serve one text after the other.
type scanner struct {
	text  string
	spans []span // protected, in order, apart from each other
	stack []span // open brackets: start, and the bracket's byte as end
}

// reset makes text the one that is searched, in time linear in its length. A
// quote, backtick or bracket without its counterpart protects nothing.
func (sc *scanner) reset(text string) {
	sc.text, sc.spans, sc.stack = text, sc.spans[:0], sc.stack[:0]
	if !strings.ContainsAny(text, "\"'`([{") {
		return
	}
	var count [3]int
	var none [128]bool // no closing quote of this kind is left
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '`', '\'':
			if none[c] || c == '\'' && i > 0 && wordByte(text[i-1]) {
				continue
			}
			j := closingQuote(text, i)
			if none[c] = j < 0; none[c] {
				continue
			}
			sc.spans = append(sc.spans, span{i, j + 1})
			i = j
		case '(', '[', '{':
			sc.stack = append(sc.stack, span{i, int(c)})
			count[bracket(c)]++
		case ')', ']', '}':
			if count[bracket(c)] > 0 {
				sc.close(c, i, &count)
			}
		}
	}
}

func bracket(c byte) int {
	switch c {
	case '(', ')':
		return 0
	case '[', ']':
		return 1
	}
	return 2
}

// close pairs the bracket c at i with the innermost one of its kind, and forgets
// what was opened in between.
func (sc *scanner) close(c byte, i int, count *[3]int) {
	for {
		top := sc.stack[len(sc.stack)-1]
		sc.stack = sc.stack[:len(sc.stack)-1]
		kind := bracket(byte(top.end))
		count[kind]--
		if kind != bracket(c) {
			continue
		}
		n := len(sc.spans)
		for n > 0 && sc.spans[n-1].start > top.start {
			n--
		}
		sc.spans = append(sc.spans[:n], span{top.start, i + 1})
		return
	}
}

// closingQuote returns the place of the quote that closes the one at i, or -1. An
// apostrophe inside a word closes nothing.
func closingQuote(text string, i int) int {
	c := text[i]
	for j := i + 1; j < len(text); j++ {
		if text[j] == c && (c != '\'' || j+1 == len(text) || !wordByte(text[j+1])) {
			return j
		}
	}
	return -1
}

func wordByte(c byte) bool {
	return c == '_' || c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// after returns the first span that ends behind i.
func (sc *scanner) after(i int) int {
	if n := len(sc.spans); n == 0 || sc.spans[n-1].end <= i {
		return n
	}
	return sort.Search(len(sc.spans), func(k int) bool { return sc.spans[k].end > i })
}

// find returns the first free occurrence of sub in text[from:to], or -1.
func (sc *scanner) find(sub string, from, to int) int {
	for k := -1; from < to; {
		i := strings.Index(sc.text[from:to], sub)
		if i < 0 {
			return -1
		}
		i += from
		if k < 0 {
			k = sc.after(i)
		}
		for k < len(sc.spans) && sc.spans[k].end <= i {
			k++
		}
		if k == len(sc.spans) || sc.spans[k].start >= i+len(sub) {
			return i
		}
		from = sc.spans[k].end
	}
	return -1
}

// findPair returns the first free pair of c, which is '<' or '>', that belongs to no interpolation, or -1.
func (sc *scanner) findPair(c byte, from int) int {
	text := sc.text
	for k := sc.after(from); from+1 < len(text); {
		if text[from] != text[from+1] || text[from] != '<' && text[from] != '>' {
			from++
			continue
		}
		for k < len(sc.spans) && sc.spans[k].end <= from {
			k++
		}
		switch end := 0; {
		case k < len(sc.spans) && sc.spans[k].start < from+2:
			from = sc.spans[k].end
		case text[from] == '<':
			if end = interpolation(text, from); end > 0 {
				from = end
			} else if c == '<' {
				return from
			} else {
				from++
			}
		case c == '>':
			return from
		default:
			from++
		}
	}
	return -1
}

// maxPieces is how many pieces an operator has at most; the last holds the rest.
const maxPieces = 1024

// split cuts text[from:to] at each free separator and trims the pieces. A blank text has none.
func (sc *scanner) split(sep string, from, to int) []string {
	if trim(sc.text[from:to]) == "" {
		return nil
	}
	var out []string
	for {
		i := -1
		if len(out) < maxPieces-1 {
			i = sc.find(sep, from, to)
		}
		if i < 0 {
			return append(out, trim(sc.text[from:to]))
		}
		out = append(out, trim(sc.text[from:i]))
		from = i + len(sep)
	}
}

// interpolation returns the end of a "<<path>>" that starts at i, or 0.
func interpolation(text string, i int) int {
	if !strings.HasPrefix(text[i:], "<<") {
		return 0
	}
	for j := i + 2; j < len(text); j++ {
		switch c := text[j]; {
		case c == '>':
			if j > i+2 && strings.HasPrefix(text[j:], ">>") {
				return j + 2
			}
			return 0
		case !wordByte(c) && strings.IndexByte("$.-[]", c) < 0:
			return 0
		}
	}
	return 0
}

// isOpName: at least two of A-Z, 0-9 and _, the first a letter.
func isOpName(s string) bool {
	if len(s) < 2 || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	for i := 1; i < len(s); i++ {
		if c := s[i]; c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// identLen is the length of the identifier that s starts with: a letter or _,
// then letters, digits, _ and single hyphens inside.
func identLen(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		letter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		hyphen := c == '-' && n+1 < len(s) && wordByte(s[n+1]) && s[n+1] < utf8.RuneSelf
		if !letter && (n == 0 || !digit && !hyphen) {
			break
		}
		n++
	}
	return n
}

func isIdent(s string) bool { return s != "" && identLen(s) == len(s) }

// isPath: IDENT ( "." IDENT | "[" digits "]" )*.
func isPath(s string) bool {
	n := identLen(s)
	if n == 0 {
		return false
	}
	for s = s[n:]; s != ""; {
		switch s[0] {
		case '.':
			n = identLen(s[1:])
			if n == 0 {
				return false
			}
			s = s[1+n:]
		case '[':
			n = 1
			for n < len(s) && '0' <= s[n] && s[n] <= '9' {
				n++
			}
			if n == 1 || n == len(s) || s[n] != ']' {
				return false
			}
			s = s[n+1:]
		default:
			return false
		}
	}
	return true
}

// isKebab: one word of lower-case letters, digits and single hyphens.
func isKebab(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || i == 0 || i == len(s)-1 || s[i-1] == '-') {
			return false
		}
	}
	return s != ""
}

// unquote returns what is between a pair of the quotes c around the whole of s.
func unquote(s string, c byte) (string, bool) {
	if len(s) >= 2 && s[0] == c && strings.IndexByte(s[1:], c) == len(s)-2 {
		return s[1 : len(s)-1], true
	}
	return s, false
}

// bare is s without backticks around it.
//
//go:noinline
func bare(s string) string {
	s, _ = unquote(s, '`')
	return s
}

// withoutContext is s without the namespace that every binding has.
func withoutContext(s string) string {
	for _, prefix := range [...]string{"context.", "ctx."} {
		if rest, ok := strings.CutPrefix(s, prefix); ok && rest != "" {
			return rest
		}
	}
	return s
}

// isNumber: a JSON number without an exponent.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole, frac, dot := strings.Cut(s, ".")
	return digits(whole) && (!dot || digits(frac))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// maxValueDepth is how deep list literals nest; what is deeper is a Word.
const maxValueDepth = 8

// parseValue reads a value as it is written.
func parseValue(s string, depth int) Value {
	if v, ok := unquote(s, '"'); ok {
		return Value{Kind: String, Text: v}
	}
	if v, ok := unquote(s, '\''); ok {
		return Value{Kind: String, Text: v}
	}
	if v, ok := unquote(s, '`'); ok {
		if isPath(v) {
			return Value{Kind: Ref, Text: v}
		}
		return Value{Kind: Word, Text: v}
	}
	switch s {
	case "true", "false":
		return Value{Kind: Bool, Text: s}
	case "null":
		return Value{Kind: Null, Text: s}
	case "$ARGUMENTS":
		return Value{Kind: Arguments, Text: s}
	}
	if isNumber(s) {
		return Value{Kind: Number, Text: s}
	}
	if strings.ContainsAny(s, ".[") && isPath(s) {
		return Value{Kind: Ref, Text: s}
	}
	if len(s) >= 2 && s[0] == '[' && s[len(s)-1] == ']' && depth < maxValueDepth {
		v := Value{Kind: List, Text: s}
		var sc scanner
		sc.reset(s[1 : len(s)-1])
		for _, item := range sc.split(",", 0, len(sc.text)) {
			v.Items = append(v.Items, parseValue(item, depth+1))
		}
		return v
	}
	return Value{Kind: Word, Text: s}
}

// parseArg reads one input of a call. "a == b" is no named one.
func parseArg(s string) Arg {
	n := identLen(s)
	if rest := strings.TrimLeft(s[n:], blanks); n > 0 && strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==") {
		return Arg{Name: s[:n], Value: parseValue(trim(rest[1:]), 0)}
	}
	return Arg{Value: parseValue(s, 0)}
}

// appendTargets adds what one piece after >> binds.
func appendTargets(out []Target, s string) []Target {
	if len(s) >= 2 && s[0] == '{' && s[len(s)-1] == '}' {
		for _, name := range strings.Split(s[1:len(s)-1], ",") {
			if name = targetName(name); name != "" {
				out = append(out, Target{Name: name, Group: true})
			}
		}
		return out
	}
	if s = targetName(s); s != "" {
		out = append(out, Target{Name: s})
	}
	return out
}

func targetName(s string) string { return withoutContext(bare(trim(s))) }
