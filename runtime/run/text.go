package run

import (
	"strings"

	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// literal fills text that is shown or used as it is (ruling 5.11).
func (at place) literal(text string) string {
	if !strings.ContainsAny(text, "$<{.") {
		return text
	}
	return resource.Interpolate(text, at.s.args, at.lookupText)
}

// filled is literal for text of n, and names what has no value in it, "" if nothing.
func (at place) filled(text string) (filled, hole string) {
	filled = at.literal(text)
	if !strings.ContainsAny(text, "<{.") {
		return filled, ""
	}
	for _, h := range resource.Holes(text, at.lookupText) {
		if at.s.plan.Hole(at.n, h) {
			return filled, h.Path
		}
	}
	return filled, ""
}

// shown is literal for text of n that somebody answers, or that names a file or section: every name in it must have a value.
func (at place) shown(text string) (string, error) {
	filled, hole := at.filled(text)
	if hole != "" && hole != "skills-root" {
		return "", at.unbound(hole)
	}
	return filled, nil
}

// told is filled, with a warning of what has no value.
func (at place) told(text string) (filled, hole string) {
	if filled, hole = at.filled(text); hole != "" {
		at.warn(CodeUnbound, hole+" has no value, and stays as it is written")
	}
	return filled, hole
}

func (at place) lookupText(path string) (string, bool) {
	if v, ok := at.lookup(path); ok {
		return cond.Text(v), true
	}
	return "", false
}

// slot is the value for a slot, whose name may have "-" for "_".
func (at place) slot(name string) (string, bool) {
	if v, ok := at.lookupText(name); ok {
		return v, true
	}
	if v, ok := at.named(name); ok {
		return cond.Text(v), true
	}
	return "", false
}

// projectPath fills <skills-root> in a path of the project.
func (at place) projectPath(file string) string {
	if at.s.r.SkillsRoot == "" {
		return file
	}
	return strings.ReplaceAll(file, "<skills-root>", at.s.r.SkillsRoot)
}
