package policy

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/spec/internal/tomledit"
)

// maxPattern is the length of a pattern in bytes.
const maxPattern = 256

// A pattern matches texts with "*", a run without "/", and "**", a run with.
type pattern struct {
	text  string
	exact bool // it has no star
	colon bool
}

// newPattern reads one. fold makes it match texts in lower case.
func newPattern(s string, fold bool) (pattern, error) {
	switch {
	case s == "" || len(s) > maxPattern || !tomledit.Visible(s):
		return pattern{}, fmt.Errorf("a pattern has 1 to %d visible characters", maxPattern)
	case strings.ContainsAny(s, `?[]{}\`) || strings.Contains(s, "***"):
		return pattern{}, fmt.Errorf("in the pattern %q only * and ** stand for other characters", s)
	case strings.Trim(s, "/ ") == "" || strings.TrimSpace(s) != s:
		return pattern{}, fmt.Errorf("the pattern %q matches nothing", s)
	}
	if fold {
		s = strings.ToLower(s)
	}
	s = strings.TrimRight(s, "/")
	return pattern{s, !strings.Contains(s, "*"), strings.Contains(s, ":")}, nil
}

// whole reports whether p matches all of s.
func (p pattern) whole(s string) bool {
	if p.exact {
		return p.text == s
	}
	return match(p.text, s, func(rest string) bool { return rest == "" })
}

// begins reports whether p matches all of s or s up to a "/". A pattern without ":" also matches a scheme: "local".
func (p pattern) begins(s string) bool {
	ends := func(rest string) bool {
		return rest == "" || rest[0] == '/' || !p.colon && rest[0] == ':'
	}
	if p.exact {
		rest, ok := strings.CutPrefix(s, p.text)
		return ok && ends(rest)
	}
	return match(p.text, s, ends)
}

// match compares s with p, which has a star. It ends where ends says so of what is left of s. The time is at most len(p) times
// len(s).
func match(p, s string, ends func(rest string) bool) bool {
	star := strings.IndexByte(p, '*')
	rest, ok := strings.CutPrefix(s, p[:star])
	if !ok {
		return false
	}
	if behind := p[star+1:]; strings.IndexByte(behind, '*') < 0 { // one star, as most have
		for i := 0; ; i++ {
			if left, ok := strings.CutPrefix(rest[i:], behind); ok && ends(left) {
				return true
			}
			if i == len(rest) || rest[i] == '/' {
				return false
			}
		}
	}
	return stars(p[star:], rest, ends)
}

// stars matches what is from the first star on. It keeps all positions that can be reached, so that many stars cost no more than
// their number.
func stars(p, s string, ends func(string) bool) bool {
	var few [256]bool
	at := few[:] // at[i]: p up to here can match s[:i]
	if len(s) >= len(few) {
		at = make([]bool, len(s)+1)
	}
	at = at[:len(s)+1]
	at[0] = true
	for p != "" {
		if p[0] == '*' {
			deep := strings.HasPrefix(p, "**")
			p = strings.TrimLeft(p, "*")
			for i := range len(s) {
				if at[i] && (deep || s[i] != '/') {
					at[i+1] = true
				}
			}
			continue
		}
		for i := len(s); i > 0; i-- {
			at[i] = at[i-1] && s[i-1] == p[0]
		}
		at[0] = false
		p = p[1:]
	}
	for i, ok := range at {
		if ok && ends(s[i:]) {
			return true
		}
	}
	return false
}

func anyWhole(list []pattern, texts []string) bool {
	for _, p := range list {
		for _, s := range texts {
			if p.whole(s) {
				return true
			}
		}
	}
	return false
}

func anyBegins(list []pattern, s string) bool {
	for i := range list {
		if list[i].begins(s) {
			return true
		}
	}
	return false
}
