// Package refactor finds what several skills hold alike, and moves it to a skill that they share.
//
//   - Ops are equal when their signature and body are: line ends, blanks at line ends and the units of indentation aside, and
//     nothing else. An op moves with the files that it alone uses, if these are the same bytes in all of the skills.
//   - A name with several meanings, and a body under several names, are conflicts: they are listed and never merged.
//   - An op that would mean something else in another skill stays, and the report says why: it reads bindings of its caller or
//     binds for it, calls ops that stay, or uses files that stay. So does one whose move would give a skill an error of lint.
//   - Files are edited by splices. Calls stay as they are, since the language finds ops by their bare names
//     (spec/canopy-tree.md 8.3): the skills that called an op name the shared skill in metadata.skl-requires.
//   - The same skills give the same report and the same bytes. Skills are hostile input: time is linear in their size, and
//     a skill of more than maxFiles files or maxBytes bytes (64 MiB) is not read, which the report says.
//
// Skills that are required and not among those compared are not seen: two of them that define one name are refused when a tree
// runs, as ever.
package refactor

import (
	"cmp"
	"io/fs"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// DefaultMin is the least number of skills that hold something alike before it is worth a skill of its own.
const DefaultMin = 3

// CodeNothing is the code of the error when no op can be moved.
const CodeNothing = "nothing_shared"

// CodeChanged is the code of the error when a candidate is not in the skills as the report has it.
const CodeChanged = "skill_changed"

// A Report says what skills hold alike. Its lists are sorted.
type Report struct {
	Compared   Compared    `json:"compared"`
	Candidates []Candidate `json:"candidates"`
	Conflicts  []Conflict  `json:"conflicts"`
	Left       []Alike     `json:"left"`
	Unread     []Unread    `json:"unread"`
}

// Compared counts what was looked at.
type Compared struct {
	Skills int `json:"skills"`
	Ops    int `json:"ops"`
	Files  int `json:"files"` // op files and SKILL.md aside
	Min    int `json:"min"`   // skills that have to hold something
}

// A Place is where an op is defined, or a file that is alike: its line is 0 then.
type Place struct {
	Skill string `json:"skill"`
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"`
}

// A Candidate is an op that can be moved.
type Candidate struct {
	Name   string   `json:"name"`
	Digest string   `json:"digest"` // of the signature and the normalised body
	Skills []string `json:"skills"`
	Places []Place  `json:"places"`
	Files  []string `json:"files"` // that move with it, at the same paths
}

// The kinds of a conflict.
const (
	OneName = "one_name" // with several bodies
	OneBody = "one_body" // under several names
)

// A Conflict is a name with several meanings, or a body with several names.
type Conflict struct {
	Kind     string    `json:"kind"`
	Name     string    `json:"name,omitempty"` // OneName
	Meanings []Meaning `json:"meanings"`
}

// A Meaning is one body under one name.
type Meaning struct {
	Name   string  `json:"name"`
	Digest string  `json:"digest"`
	Places []Place `json:"places"`
}

// An Alike is an op or a file that enough skills hold, and that stays.
type Alike struct {
	Kind   string  `json:"kind"` // "op" or "file"
	Name   string  `json:"name"` // of the op, or the path in the first place
	Digest string  `json:"digest"`
	Places []Place `json:"places"`
	Reason string  `json:"reason"` // a clause: "it reads branch, which its caller binds"
}

// An Unread skill was not compared.
type Unread struct {
	Skill  string `json:"skill"`
	Reason string `json:"reason"`
}

// Find compares skills: by name, each a file system of its files. min is the least number of skills that hold something alike,
// 0 for DefaultMin and never below two. A skill that cannot be read is in Unread and hides no other.
func Find(skills map[string]fs.FS, min int) (Report, error) {
	if min == 0 {
		min = DefaultMin
	}
	if min < 2 {
		return Report{}, diag.New(diag.Misuse, "invalid_request", "something alike is in 2 skills at least, and %d is asked for", min)
	}
	c := compare(skills, min)
	c.look(c.groups)
	moving := c.settle(c.groups)
	moving = c.proven(moving, c.free())
	c.report.Candidates = []Candidate{}
	for _, g := range moving {
		c.report.Candidates = append(c.report.Candidates, g.candidate())
	}
	c.filesAlike(moving)
	c.report.sort()
	return c.report, nil
}

// sort orders all lists, and makes those that are nil empty.
func (r *Report) sort() {
	byPlace := func(a, b []Place) int {
		return cmp.Or(cmp.Compare(a[0].Skill, b[0].Skill), cmp.Compare(a[0].File, b[0].File), a[0].Line-b[0].Line)
	}
	order.Sort(r.Candidates, func(a, b Candidate) int { return cmp.Compare(a.Name, b.Name) })
	order.Sort(r.Conflicts, func(a, b Conflict) int {
		return cmp.Or(strings.Compare(b.Kind, a.Kind), cmp.Compare(a.Name, b.Name), byPlace(a.Meanings[0].Places, b.Meanings[0].Places))
	})
	order.Sort(r.Left, func(a, b Alike) int {
		return cmp.Or(strings.Compare(b.Kind, a.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	r.Candidates, r.Conflicts = append([]Candidate{}, r.Candidates...), append([]Conflict{}, r.Conflicts...)
	r.Left, r.Unread = append([]Alike{}, r.Left...), append([]Unread{}, r.Unread...)
}
