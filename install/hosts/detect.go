package hosts

import (
	"path/filepath"
	"slices"
)

// A Detected is a host that left traces.
type Detected struct {
	Host     Host
	User     string // absolute path that shows the host is used on this machine; "" if none
	Evidence string // path in the project, relative to it, that shows it is used there; "" if none
}

// Detect returns the hosts that left traces on the machine or in the project,
// in the order of the table. A directory that several hosts share
// (.agents/skills) is evidence of none.
func Detect(env Env) []Detected {
	var found []Detected
	for _, h := range table() {
		d := Detected{Host: h, Evidence: env.evidence(h.Evidence)}
		for _, p := range h.Detect {
			if p = env.Expand(p); env.exists(p) {
				d.User = p
				break
			}
		}
		if d.User != "" || d.Evidence != "" {
			found = append(found, d)
		}
	}
	return found
}

// HasSkills reports whether h has skills in that scope at all: some agents read those of a project only.
func (h Host) HasSkills(scope Scope) bool { return scope != User || h.UserWrite != "" }

// WriteDirs says where a skill goes so that h loads it: canonical is the root
// that holds the real copy, link the root that holds a link to it. Link is ""
// when h reads the canonical root itself, or has no root in that scope.
// Both are absolute, or relative where env names no project or home. Neither depends
// on what lies on the disk, so that two clones of a project get the same links.
func WriteDirs(h Host, env Env, scope Scope) (canonical, link string) {
	if scope == User {
		canonical = filepath.Join(env.Home, filepath.FromSlash(Canonical))
		if h.UserWrite == "" || slices.Contains(h.UserReads, "~/"+Canonical) {
			return canonical, ""
		}
		return canonical, env.Expand(h.UserWrite)
	}
	canonical = filepath.Join(env.Project, filepath.FromSlash(Canonical))
	if !slices.Contains(h.ProjectReads, Canonical) {
		return canonical, filepath.Join(env.Project, filepath.FromSlash(h.ProjectWrite))
	}
	return canonical, ""
}
