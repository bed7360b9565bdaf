package tool

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/spec/skill"
)

func parseGlob(s string) (glob.Glob, error) {
	g, err := glob.Exact(s)
	if err != nil {
		return glob.Glob{}, diag.New(diag.Misuse, CodeInput, "%w", err)
	}
	return g, nil
}

// wrongPattern says why the pattern of a tool of files means nothing; nil of one that is well formed, and of other tools.
func wrongPattern(e skill.Tool) error {
	if e.Namespace != "" || e.Pattern == "" {
		return nil
	}
	switch name, _ := canonicalOf(e.Name); name {
	case "read", "write", "edit", "glob", "grep", "list":
		_, err := glob.Exact(e.Pattern)
		return err
	}
	return nil
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
	if g.Match(part) {
		return true
	}
	for strict && strings.Contains(part, "/") {
		part = part[:strings.LastIndexByte(part, '/')]
		if g.Match(part) {
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
