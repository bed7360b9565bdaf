package tool

import (
	"path"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A glob is a pattern for paths with slashes: * and ? and […] as in [path.Match] within a name, ** for
// any number of names, {a,b} for either.
type glob struct {
	alternatives [][]string // each split at slashes
}

const (
	maxGlob         = 1024 // bytes
	maxAlternatives = 64
)

func parseGlob(s string) (glob, error) {
	bad := func(why string) (glob, error) {
		return glob{}, diag.New(diag.Misuse, CodeInput, "the pattern %q %s", diag.Brief(s, 200), why)
	}
	if s == "" || len(s) > maxGlob {
		return bad("is empty, or longer than 1,024 bytes")
	}
	texts, ok := braces(s)
	if !ok {
		return bad("has more than 64 alternatives, or a brace without its other half")
	}
	var g glob
	for _, text := range texts {
		var names []string
		for name := range strings.SplitSeq(strings.TrimPrefix(text, "./"), "/") {
			if name == "" || name == "**" && len(names) > 0 && names[len(names)-1] == "**" {
				continue
			}
			if _, err := path.Match(name, ""); err != nil {
				return bad("is not well formed")
			}
			names = append(names, name)
		}
		g.alternatives = append(g.alternatives, names)
	}
	return g, nil
}

// braces writes out the alternatives.
func braces(s string) ([]string, bool) {
	open := strings.IndexByte(s, '{')
	if open < 0 {
		return []string{s}, !strings.Contains(s, "}")
	}
	depth, start := 0, open+1
	var items []string
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				items = append(items, s[start:i])
				start = i + 1
			}
		case '}':
			if depth--; depth > 0 {
				continue
			}
			var out []string
			for _, item := range append(items, s[start:i]) {
				more, ok := braces(s[:open] + item + s[i+1:])
				if out = append(out, more...); !ok || len(out) > maxAlternatives {
					return nil, false
				}
			}
			return out, true
		}
	}
	return nil, false
}

// match reports whether g means a path, which is relative and has slashes.
func (g glob) match(p string) bool {
	names := strings.Split(p, "/")
	for _, pattern := range g.alternatives {
		if matchNames(pattern, names) {
			return true
		}
	}
	return false
}

// matchNames takes time proportional to the product of the lengths.
func matchNames(pattern, names []string) bool {
	// After each name, reached[i] says whether pattern[:i] means all names so far.
	reached := make([]bool, len(pattern)+1)
	reached[0] = true
	skip := func(r []bool) {
		for i, p := range pattern {
			if p == "**" && r[i] {
				r[i+1] = true
			}
		}
	}
	skip(reached)
	for _, name := range names {
		next := make([]bool, len(pattern)+1)
		for i, p := range pattern {
			if !reached[i] {
				continue
			}
			if p == "**" {
				next[i] = true
			} else if ok, _ := path.Match(p, name); ok {
				next[i+1] = true
			}
		}
		skip(next)
		reached = next
	}
	return reached[len(pattern)]
}

// matchPath is the pattern of the tools of files. A pattern that is not well formed means nothing
// when it allows, and everything when it denies. A denial does not regard case, as some file systems do not,
// and means what is below a directory too.
func matchPath(pattern, part string, strict bool) bool {
	if strict {
		pattern, part = strings.ToLower(pattern), strings.ToLower(part)
	}
	g, err := parseGlob(pattern)
	if err != nil {
		return strict
	}
	if g.match(part) {
		return true
	}
	for strict && strings.Contains(part, "/") {
		part = part[:strings.LastIndexByte(part, '/')]
		if g.match(part) {
			return true
		}
	}
	return false
}

// matchStar reports whether pattern, in which * is any text, means s. It takes time proportional to the product of the lengths at worst.
func matchStar(pattern, s string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && pattern[i] == s[j]:
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}
