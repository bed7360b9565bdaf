package diag

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns s made safe for a terminal: control characters (escape
// sequences among them), bidirectional overrides, invisible format characters
// and invalid UTF-8 appear as \x1b, \u202e and so on. Newline and tab become \n and
// \t, so the result is one line. Text that is already safe is returned as it is.
//
// Everything that comes from outside goes through it once, where it is printed.
func Printable(s string) string {
	if !needsEscape(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case !shown(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case !shown(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case !shown(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func needsEscape(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return true
			}
		}
		if !shown(r) {
			return true
		}
	}
	return false
}

// shown reports whether r has a harmless visible form. The zero-width joiners
// are kept: emoji and several scripts need them.
func shown(r rune) bool {
	return r == ' ' || r == 0x200c || r == 0x200d || unicode.IsGraphic(r) && !(r >= 0xfe00 && r <= 0xfe0e) && !(r >= 0xe0100 && r <= 0xe01ef)
}
