package skillsearch

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// line makes one line of at most limit bytes of s, which is a stranger's text: spaces are single, what is cut is cut
// behind a word where one ends soon enough, and nothing is left that a terminal or a model reads but a person does
// not see.
func line(s string, limit int) string {
	s = diag.Head(s, 8*limit) // spaces and what is invisible may be most of it
	var b strings.Builder
	b.Grow(min(len(s), limit+utf8.UTFMax))
	space, last := false, 0 // last is the end of a whole word, with room for an ellipsis
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || r == '\u2028' || r == '\u2029':
			space = b.Len() > 0
			continue
		case r == utf8.RuneError || !unicode.IsPrint(r) || diag.Invisible(r):
			continue
		}
		more := utf8.RuneLen(r)
		if space {
			more++
		}
		if b.Len()+more > limit {
			return cut(b.String(), last, space, limit)
		}
		if space {
			if b.Len() <= limit-len(ellipsis) {
				last = b.Len()
			}
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

const ellipsis = "…"

// cut shortens a line that is full so that an ellipsis has a place.
func cut(s string, last int, whole bool, limit int) string {
	if limit < 2*len(ellipsis) {
		return s
	}
	switch {
	case whole && len(s)+len(ellipsis) <= limit:
	case last > limit/2:
		s = s[:last]
	default:
		s = diag.Head(s, limit-len(ellipsis))
	}
	return strings.TrimRight(s, " ,;:-") + ellipsis
}
