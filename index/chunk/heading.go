package chunk

import "bytes"

// plain returns the text of a heading without markup: the text of links and code, no emphasis, tags and escapes. White space
// is single.
func plain(b []byte) string {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case '\\':
			if i+1 < len(b) && isMark(b[i+1]) {
				i++
			}
			out = append(out, b[i])
			i++
		case '`':
			n := run(b[i:], '`')
			if end := closingRun(b[i+n:], n); end >= 0 {
				out = append(out, bytes.TrimSpace(b[i+n:i+n+end])...)
				i += n + end + n
			} else {
				out = append(out, b[i:i+n]...)
				i += n
			}
		case '*', '~':
			n := run(b[i:], c)
			if c == '~' && n != 2 || c == '*' && !flanks(b, i, n) {
				out = append(out, b[i:i+n]...)
			}
			i += n
		case '_':
			n := run(b[i:], c)
			if !flanks(b, i, n) || i > 0 && isWord(b[i-1]) && i+n < len(b) && isWord(b[i+n]) {
				out = append(out, b[i:i+n]...)
			}
			i += n
		case '!':
			if i+1 < len(b) && b[i+1] == '[' && link(b[i+1:]) > 0 {
				i++
				continue
			}
			out = append(out, c)
			i++
		case '[':
			if link(b[i:]) > 0 {
				i++
				continue
			}
			out = append(out, c)
			i++
		case ']':
			if n := target(b[i:]); n > 0 {
				i += n
				continue
			}
			out = append(out, c)
			i++
		case '<':
			if n := tag(b[i:]); n > 0 {
				if inner := b[i+1 : i+n-1]; bytes.Contains(inner, []byte("://")) && !bytes.ContainsAny(inner, " \"=") {
					out = append(out, inner...) // an address
				}
				i += n
				continue
			}
			out = append(out, c)
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return string(bytes.Join(bytes.Fields(out), []byte{' '}))
}

func isMark(c byte) bool {
	return '!' <= c && c <= '/' || ':' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}

func isWord(c byte) bool { return c >= 0x80 || isLetter(c) || '0' <= c && c <= '9' }

// flanks says whether a run of signs at i stands beside text, as emphasis does.
func flanks(b []byte, i, n int) bool {
	before := i > 0 && !isSpace(b[i-1])
	after := i+n < len(b) && !isSpace(b[i+n])
	return before || after
}

// closingRun returns where a run of just n backticks starts, -1 for nowhere.
func closingRun(b []byte, n int) int {
	for i := 0; i < len(b); {
		k := run(b[i:], '`')
		if k == n {
			return i
		}
		i += max(k, 1)
	}
	return -1
}

const maxLink = 1000 // bytes of a link in a heading

// link says whether b, which starts with "[", is a link with a target: where its text ends, 0 for none.
func link(b []byte) int {
	depth := 0
	for i := 0; i < min(len(b), maxLink); i++ {
		switch b[i] {
		case '\\':
			i++
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				if target(b[i:]) > 0 {
					return i
				}
				return 0
			}
		}
	}
	return 0
}

// target returns the length of "](…)" or "][…]" at the start of b, 0 for neither.
func target(b []byte) int {
	if len(b) < 3 || b[1] != '(' && b[1] != '[' {
		return 0
	}
	open, end := b[1], byte(')')
	if open == '[' {
		end = ']'
	}
	depth := 0
	for i := 1; i < min(len(b), maxLink); i++ {
		switch b[i] {
		case '\\':
			i++
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// tag returns the length of the HTML tag, comment or address at the start of b, 0 for none.
func tag(b []byte) int {
	if len(b) < 3 || !isLetter(b[1]) && b[1] != '/' && b[1] != '!' {
		return 0
	}
	return bytes.IndexByte(b[:min(len(b), maxLink)], '>') + 1
}
