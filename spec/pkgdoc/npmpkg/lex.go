package npmpkg

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a piece of a declaration file. Comments are none; the one of documentation before a token is its doc.
type token struct {
	kind     byte // 'a' a word, 's' a string, '0' a number, else the first byte of a sign
	text     string
	at, end  int
	line     int
	doc      string // "/** … */" just before it
	newline  bool   // a line ends before it
	matching int    // of a bracket: the index of the other one, -1 if there is none
}

const maxTokens = 4_000_000

// lex splits a text into tokens. A template is a string as a whole. ok is false for a text that is longer than is read.
func lex(src string) (out []token, ok bool) {
	line, doc, newline := 1, "", true
	add := func(kind byte, from, to int) {
		out = append(out, token{kind, src[from:to], from, to, line, doc, newline, -1})
		doc, newline = "", false
	}
	for at := 0; at < len(src); {
		if len(out) > maxTokens {
			return nil, false
		}
		c, from := src[at], at
		switch {
		case c == '\n':
			line++
			at++
			newline = true
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			at++
		case strings.HasPrefix(src[at:], "//"):
			at = endOf(src, at, "\n")
			if at > from && src[at-1] == '\n' {
				at--
			}
		case strings.HasPrefix(src[at:], "/*"):
			at = endOf(src, at+2, "*/")
			if strings.HasPrefix(src[from:], "/**") && at-from > 4 {
				doc = src[from:at]
			}
			if n := strings.Count(src[from:at], "\n"); n > 0 {
				line, newline = line+n, true
			}
		case c == '"' || c == '\'' || c == '`':
			at = quoted(src, at)
			add('s', from, at)
			line += strings.Count(src[from:at], "\n")
		case c >= '0' && c <= '9':
			for at < len(src) && (word(src, at) || src[at] == '.') {
				at++
			}
			add('0', from, at)
		case word(src, at) || c == '#' || c == '@':
			for at++; at < len(src) && word(src, at); {
				_, size := utf8.DecodeRuneInString(src[at:])
				at += size
			}
			for at < len(src) && src[at]&0xc0 == 0x80 {
				at++
			}
			add('a', from, at)
		case strings.HasPrefix(src[at:], "=>"), strings.HasPrefix(src[at:], "?."):
			at += 2
			add(src[from], from, at)
		case strings.HasPrefix(src[at:], "..."):
			at += 3
			add('.', from, at)
		default:
			_, size := utf8.DecodeRuneInString(src[at:])
			at += size
			add(c, from, at)
		}
	}
	match(out)
	return out, true
}

func endOf(src string, at int, mark string) int {
	if n := strings.Index(src[at:], mark); n >= 0 {
		return at + n + len(mark)
	}
	return len(src)
}

func quoted(src string, at int) int {
	q := src[at]
	for at++; at < len(src); at++ {
		switch src[at] {
		case '\\':
			at++
		case q:
			return at + 1
		case '\n':
			if q != '`' {
				return at
			}
		}
	}
	return len(src)
}

func word(s string, at int) bool {
	if c := s[at]; c < utf8.RuneSelf {
		return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	r, _ := utf8.DecodeRuneInString(s[at:])
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// match finds the other one of each bracket. One that has none stays alone.
func match(tokens []token) {
	var open []int
	pair := map[byte]byte{')': '(', ']': '[', '}': '{'}
	for i := range tokens {
		switch k := tokens[i].kind; k {
		case '(', '[', '{':
			open = append(open, i)
		case ')', ']', '}':
			if n := len(open); n > 0 && tokens[open[n-1]].kind == pair[k] {
				tokens[open[n-1]].matching, tokens[i].matching = i, open[n-1]
				open = open[:n-1]
			}
		}
	}
}

// value is a string without its quotes, as far as names need it.
func (t *token) value() string {
	if t.kind != 's' || len(t.text) < 2 {
		return t.text
	}
	return strings.ReplaceAll(t.text[1:len(t.text)-1], `\`, "")
}

// name is the value of a name in a list. One that says nothing, as "" may, is as it is written.
func (t *token) name() string { return cmp.Or(t.value(), t.text) }
