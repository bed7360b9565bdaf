package audit

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A token of Python, JavaScript, TypeScript or Go.
type token struct {
	kind byte   // 'a' word, 's' string, '0' number, 'n' end of line, '.' what joins a chain, else the first byte of an operator
	text string // of a string its value, with a hole for each substitution
	line int32
	subs []part // of a string with substitutions
}

// A part of a string: a text, and the expression behind it.
type part struct {
	text string
	expr []token
}

const maxTemplates = 6 // strings in strings

// A lexer cuts a text into tokens. It accepts all texts: a string that is not closed ends with its line.
type lexer struct {
	l     lang
	src   string
	at    int
	line  int32
	depth int
	out   []token
}

func tokens(l lang, src string, line int32, depth int) []token {
	x := &lexer{l: l, src: src, line: line, depth: depth}
	for x.at < len(x.src) {
		x.next()
	}
	return x.out
}

//go:noinline
func (x *lexer) add(kind byte, text string) {
	x.out = append(x.out, token{kind: kind, text: text, line: x.line})
}

//go:noinline
func wordByte(c byte) bool {
	return c == '_' || c == '$' || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c >= 0x80
}

//go:noinline
func (x *lexer) peek(n int) byte {
	if x.at+n < len(x.src) {
		return x.src[x.at+n]
	}
	return 0
}

func (x *lexer) next() {
	c := x.src[x.at]
	switch {
	case c == '\n':
		x.add('n', "\n")
		x.line++
		x.at++
	case c <= ' ' || c == 0x7f:
		x.at++
	case c == '\\':
		if x.at++; x.peek(0) == '\r' {
			x.at++
		}
		if x.peek(0) == '\n' {
			x.at++
			x.line++
		}
	case c == '#' && (x.l == python || x.at == 0), c == '/' && x.peek(1) == '/' && x.l != python:
		if i := strings.IndexByte(x.src[x.at:], '\n'); i >= 0 {
			x.at += i
		} else {
			x.at = len(x.src)
		}
	case c == '/' && x.peek(1) == '*' && x.l != python:
		end := strings.Index(x.src[x.at+2:], "*/")
		text := x.src[x.at:]
		if end >= 0 {
			text = text[:end+4]
		}
		x.line += int32(strings.Count(text, "\n"))
		x.at += len(text)
	case c == '"' || c == '\'' || c == '`' && x.l != python:
		x.str("")
	case '0' <= c && c <= '9':
		from := x.at
		for x.at < len(x.src) && (wordByte(x.src[x.at]) || x.src[x.at] == '.' && '0' <= x.peek(1) && x.peek(1) <= '9') {
			x.at++
		}
		x.add('0', x.src[from:x.at])
	case wordByte(c):
		from := x.at
		for x.at < len(x.src) && wordByte(x.src[x.at]) {
			x.at++
		}
		word := x.src[from:x.at]
		if q := x.peek(0); x.l == python && len(word) <= 2 && (q == '"' || q == '\'') && strings.Trim(strings.ToLower(word), "rbfut") == "" {
			x.str(strings.ToLower(word))
			return
		}
		if x.l == python && strings.IndexFunc(word, func(r rune) bool { return r >= 0x80 }) >= 0 {
			word = norm.NFKC.String(word) // as Python takes it
		}
		x.add('a', word)
	case c == '/' && x.l == script && x.regexp():
	default:
		x.operator(c)
	}
}

// regexp skips a regular expression, if there is one.
func (x *lexer) regexp() bool {
	if n := len(x.out); n > 0 {
		switch t := x.out[n-1]; {
		case t.kind == 'a':
			if !slices.Contains([]string{"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await", "yield"}, t.text) {
				return false
			}
		case t.kind == '0' || t.kind == 's' || t.kind == ')' || t.kind == ']' || t.kind == '}':
			return false
		}
	}
	class := false
	for i := x.at + 1; i < len(x.src) && x.src[i] != '\n'; i++ {
		switch c := x.src[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for i++; i < len(x.src) && wordByte(x.src[i]); i++ {
			}
			x.add('/', "/regexp/")
			x.at = i
			return true
		}
		if i-x.at > 2000 {
			return false
		}
	}
	return false
}

func (x *lexer) operator(c byte) {
	rest := x.src[x.at:min(x.at+3, len(x.src))]
	for _, op := range []string{"===", "!==", "**=", "...", "?.", "??", "=>", "==", "!=", "<=", ">=", ":=", "+=", "-=", "&&", "||", "->", "//", "**", "++", "--"} {
		if strings.HasPrefix(rest, op) {
			kind := c
			switch op {
			case "?.":
				kind = '.'
			case ":=":
				kind = '='
			case "==", "===", "=>", "!=", "!==", "<=", ">=", "->", "...":
				kind = 'o'
			case "||", "??":
				kind = '|'
			case "++", "--", "//", "**", "-=", "**=":
				kind = 'o'
			}
			x.add(kind, op)
			x.at += len(op)
			return
		}
	}
	x.add(c, string(c))
	x.at++
}

// str reads a string behind its prefix.
func (x *lexer) str(prefix string) {
	quote := x.src[x.at]
	end := string(quote)
	raw := strings.IndexByte(prefix, 'r') >= 0 || quote == '`' && x.l == golang
	format := strings.ContainsAny(prefix, "ft") || quote == '`' && x.l == script
	many := quote == '`'
	if x.l == python && strings.HasPrefix(x.src[x.at:], strings.Repeat(end, 3)) {
		end, many = strings.Repeat(end, 3), true
	}
	t := token{kind: 's', line: x.line}
	x.at += len(end)
	var text, all strings.Builder
	from := x.at
	flush := func(to int) {
		piece := x.src[from:to]
		if !raw {
			piece = unescape(piece)
		}
		piece = strings.ReplaceAll(piece, holeText, "")
		text.WriteString(piece)
		all.WriteString(piece)
	}
	for x.at < len(x.src) {
		c := x.src[x.at]
		switch {
		case c == '\\' && !(quote == '`' && x.l == golang):
			if x.peek(1) == '\n' {
				x.line++
			}
			x.at = min(x.at+2, len(x.src))
		case c == '\n' && !many:
			flush(x.at)
			x.finish(t, all.String(), text.String())
			return
		case strings.HasPrefix(x.src[x.at:], end):
			flush(x.at)
			x.at += len(end)
			x.finish(t, all.String(), text.String())
			return
		case format && (c == '{' && x.l == python || c == '$' && x.peek(1) == '{' && x.l == script):
			if x.l == python && x.peek(1) == '{' {
				flush(x.at + 1)
				x.at += 2
				from = x.at
				continue
			}
			flush(x.at)
			open := x.at + 1
			if x.l == script {
				open++
			}
			stop := closing(x.src, open)
			p := part{text: text.String()}
			expr := x.src[open:stop]
			if x.l == python {
				expr = field(expr)
			}
			if x.depth < maxTemplates {
				p.expr = tokens(x.l, expr, x.line, x.depth+1)
			}
			t.subs = append(t.subs, p)
			text.Reset()
			all.WriteString(holeText)
			x.line += int32(strings.Count(x.src[open:stop], "\n"))
			x.at = min(stop+1, len(x.src))
			from = x.at
		case c == '}' && format && x.l == python && x.peek(1) == '}':
			flush(x.at + 1)
			x.at += 2
			from = x.at
		default:
			if c == '\n' {
				x.line++
			}
			x.at++
		}
	}
	flush(len(x.src))
	x.finish(t, all.String(), text.String())
}

func (x *lexer) finish(t token, all, rest string) {
	t.text = all
	if t.subs != nil {
		t.subs = append(t.subs, part{text: rest})
	}
	x.out = append(x.out, t)
}

// closing is the place of the brace that closes one that was opened before i, or of the end of the text; what it spans
// is bounded.
func closing(src string, i int) int {
	depth := 1
	limit := min(len(src), i+4096)
	for ; i < limit; i++ {
		switch src[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		case '\'', '"':
			if j := strings.IndexByte(src[i+1:limit], src[i]); j >= 0 && !strings.Contains(src[i+1:i+1+j], "\n") {
				i += j + 1
			}
		}
	}
	return limit
}

// field is the expression of a replacement field, without its conversion and format.
func field(s string) string {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ':', '!':
			if depth == 0 && !(s[i] == '!' && i+1 < len(s) && s[i+1] == '=') {
				return s[:i]
			}
		case '\'', '"':
			if j := strings.IndexByte(s[i+1:], s[i]); j >= 0 {
				i += j + 1
			}
		}
	}
	return s
}
