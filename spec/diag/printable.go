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
		case !shown(r) && joins(s, i, n):
			b.WriteString(s[i : i+n])
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
		if !shown(r) && !joins(s, i, utf8.RuneLen(r)) {
			return true
		}
	}
	return false
}

// shown reports whether r has a harmless visible form.
func shown(r rune) bool { return r == ' ' || unicode.IsGraphic(r) && !Invisible(r) }

// Invisible reports whether r is one of the characters that Unicode calls Default_Ignorable_Code_Point: a text looks the same with and
// without it. Joiners, fillers of Hangul and variation selectors are among them. So are two symbols that Unicode has for a blank
// and that fonts print as one: the empty pattern of Braille and the empty head of a note.
func Invisible(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case 0xfff9 <= r && r <= 0xfffb, 0x13430 <= r && r <= 0x1343f, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	case r == brailleBlank, r == 0x1d159:
		return true
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector)
}

const (
	brailleBlank = 0x2800
	selector     = 0xfe0f // of the form of an emoji that has colours
)

// letter reports whether r is shown and no ASCII. What becomes an escape is nothing to join, and a text that went through Printable stays as it is.
func letter(r rune) bool { return r >= utf8.RuneSelf && r != utf8.RuneError && shown(r) }

// isDots reports whether r is a pattern of Braille with a dot.
func isDots(r rune) bool { return brailleBlank < r && r <= 0x28ff }

// joins reports whether the invisible rune of n bytes at i in s belongs to what is around it: emoji and several scripts are
// written with joiners, emoji with a selector, and Braille with a blank between words. In or beside ASCII text there is nothing to join.
func joins(s string, i, n int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	switch r {
	case 0x200c, 0x200d:
		return (letter(before) || before == selector && joins(s, i-len("\ufe0f"), len("\ufe0f"))) && letter(after)
	case selector:
		return letter(before) || before != utf8.RuneError && shown(before) && after == 0x20e3 // a keycap is of a digit
	case brailleBlank:
		return isDots(before) || isDots(after)
	}
	return false
}
