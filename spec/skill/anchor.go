package skill

import (
	"strconv"
	"strings"
	"unicode"
)

// Anchors are those of the headings of one text so far, with how many have each. The zero value is none; make it before use.
type Anchors map[string]int

// Of is the anchor of the next heading, in lower case, as forges make it: the second of one name gets "-1". The heading is without markup but
// for signs that an anchor leaves out.
func (a Anchors) Of(heading string) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
	n := a[slug]
	a[slug]++
	if n > 0 {
		return slug + "-" + strconv.Itoa(n)
	}
	return slug
}
