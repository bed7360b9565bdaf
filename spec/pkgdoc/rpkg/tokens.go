package rpkg

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a piece of R code. Comments and blanks are left out.
type token struct {
	kind tokenKind
	text string // as it stands; of a string or a name in backquotes what it says
	at   int    // offset in the code
	end  int
	line int
}

type tokenKind uint8

const (
	name tokenKind = iota
	literal
	str
	op
	open // ( [ { [[
	shut
	newline
)

// scan splits R code into tokens. What is no R is a token of kind op, of one character.
func scan(src string) (out []token) {
	line := 1
	for at := 0; at < len(src); {
		start, c := at, src[at]
		add := func(kind tokenKind, text string) {
			out = append(out, token{kind, text, start, at, line})
			line += strings.Count(src[start:at], "\n")
		}
		switch {
		case c == '\n':
			at++
			add(newline, "\n")
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			at++
		case c == '#':
			for at < len(src) && src[at] != '\n' {
				at++
			}
		case (c == 'r' || c == 'R') && at+1 < len(src) && (src[at+1] == '"' || src[at+1] == '\'') && raw(src[at:]) > 0:
			at += raw(src[at:])
			add(str, rawText(src[start:at]))
		case c == '"' || c == '\'' || c == '`':
			text := ""
			text, at = quoted(src, at)
			add(map[bool]tokenKind{true: name, false: str}[c == '`'], text)
		case c >= '0' && c <= '9' || c == '.' && at+1 < len(src) && src[at+1] >= '0' && src[at+1] <= '9':
			at = number(src, at)
			add(literal, src[start:at])
		case nameStart(src, at):
			for at < len(src) && namePart(src, at) {
				_, size := utf8.DecodeRuneInString(src[at:])
				at += size
			}
			add(name, src[start:at])
		case c == '%':
			end := strings.IndexAny(src[at+1:], "%\n")
			if end < 0 || src[at+1+end] == '\n' {
				at++
			} else {
				at += end + 2
			}
			add(op, src[start:at])
		case strings.IndexByte("([{", c) >= 0:
			at++
			add(open, src[start:at])
		case strings.IndexByte(")]}", c) >= 0:
			at++
			add(shut, src[start:at])
		default:
			at += operator(src[at:])
			add(op, src[start:at])
		}
	}
	return out
}

// operators are those of more than one character, longest first.
var operators = []string{"<<-", "->>", ":::", "|>", "<-", "->", "<=", ">=", "==", "!=", "&&", "||", "::", ":="}

func operator(s string) int {
	for _, o := range operators {
		if strings.HasPrefix(s, o) {
			return len(o)
		}
	}
	_, size := utf8.DecodeRuneInString(s)
	return size
}

func nameStart(s string, at int) bool {
	c, _ := utf8.DecodeRuneInString(s[at:])
	return c == '.' || c == '_' || unicode.IsLetter(c)
}

func namePart(s string, at int) bool {
	c, _ := utf8.DecodeRuneInString(s[at:])
	return c == '.' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c)
}

func number(s string, at int) int {
	for at < len(s) && (s[at] == '.' || s[at] >= '0' && s[at] <= '9' || s[at] >= 'a' && s[at] <= 'z' || s[at] >= 'A' && s[at] <= 'Z' ||
		(s[at] == '-' || s[at] == '+') && (s[at-1] == 'e' || s[at-1] == 'E')) {
		at++
	}
	return at
}

// quoted is a string or name in quotes with its escapes read as far as names need them, and where it ends.
func quoted(s string, at int) (string, int) {
	q := s[at]
	var w strings.Builder
	for at++; at < len(s); at++ {
		switch c := s[at]; {
		case c == q:
			return w.String(), at + 1
		case c == '\\' && at+1 < len(s):
			at++
			switch e := s[at]; e {
			case 'n':
				w.WriteByte('\n')
			case 't':
				w.WriteByte('\t')
			default:
				w.WriteByte(e)
			}
		default:
			w.WriteByte(c)
		}
	}
	return w.String(), at
}

// raw is the length of a raw string at the start of s, 0 if there is none: r"(text)", r"--[text]--".
func raw(s string) int {
	q := s[1]
	dashes := 0
	for 2+dashes < len(s) && s[2+dashes] == '-' {
		dashes++
	}
	if 2+dashes >= len(s) {
		return 0
	}
	bracket := strings.IndexByte("([{", s[2+dashes])
	if bracket < 0 {
		return 0
	}
	end := string(")]}"[bracket]) + strings.Repeat("-", dashes) + string(q)
	if n := strings.Index(s, end); n >= 0 {
		return n + len(end)
	}
	return 0
}

func rawText(s string) string {
	from, to := strings.IndexAny(s, "([{"), strings.LastIndexAny(s, ")]}")
	if from < 0 || to <= from {
		return ""
	}
	return s[from+1 : to]
}

// matching is the index behind the bracket that closes the one at tokens[i], or the end.
func matching(tokens []token, i int) int {
	depth := 0
	for ; i < len(tokens); i++ {
		switch tokens[i].kind {
		case open:
			depth++
		case shut:
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return i
}

// arguments splits what stands between two brackets at its commas.
func arguments(tokens []token) (out [][]token) {
	depth, from := 0, 0
	for i, t := range tokens {
		switch {
		case t.kind == open:
			depth++
		case t.kind == shut:
			depth--
		case t.kind == op && t.text == "," && depth == 0:
			out, from = append(out, tokens[from:i]), i+1
		}
	}
	if rest := visible(tokens[from:]); len(rest) > 0 || len(out) > 0 {
		out = append(out, tokens[from:])
	}
	return out
}

// visible are tokens without line ends.
func visible(tokens []token) (out []token) {
	for _, t := range tokens {
		if t.kind != newline {
			out = append(out, t)
		}
	}
	return out
}

// statements splits code where R does: at line ends outside brackets and behind what is complete, and at semicolons.
func statements(tokens []token) (out [][]token) {
	depth, from := 0, 0
	end := func(i int) {
		if s := tokens[from:i]; len(visible(s)) > 0 {
			out = append(out, s)
		}
		from = i + 1
	}
	for i, t := range tokens {
		switch {
		case t.kind == open:
			depth++
		case t.kind == shut:
			depth = max(depth-1, 0)
		case depth > 0:
		case t.kind == op && t.text == ";":
			end(i)
		case t.kind == newline:
			if before := visible(tokens[from:i]); len(before) > 0 && before[len(before)-1].kind != op {
				end(i)
			}
		}
	}
	end(len(tokens))
	return out
}

// source is the code of tokens on one line: line ends and runs of blanks between tokens are one blank.
func source(src string, tokens []token) string {
	var w strings.Builder
	last := -1
	for _, t := range tokens {
		if t.kind == newline {
			continue
		}
		if last >= 0 && t.at > last {
			w.WriteByte(' ')
		}
		w.WriteString(src[t.at:t.end])
		last = t.end
	}
	return strings.ReplaceAll(w.String(), "( ", "(")
}
