package solve

import (
	"fmt"
	"slices"
	"strings"
)

// A Conflict says why nothing fits. It is an error.
type Conflict struct {
	Lines []string // the derivation, from what is given to what cannot be; each is a sentence without a full stop
	Core  []Given  // the facts that it stands on: these alone have no solution
}

// A Given is a fact of a [Conflict]: versions of a skill that need another, or what is wanted.
type Given struct {
	Name     string   // of the skill that needs; "" for what is wanted
	Versions []string // of it
	Need     Need
	Has      int // how many versions of what is needed are allowed
}

func (c *Conflict) Error() string { return strings.Join(c.Lines, "\n") }

// conflict explains a fact that nothing can satisfy.
func (s *solver) conflict(f *fact) *Conflict {
	e := &explainer{solver: s, sizes: map[*fact]int{}, numbers: map[*fact]int{}, uses: map[*fact]int{}, given: map[*fact]bool{}}
	e.count(f)
	e.explain(f)
	for _, f := range e.order {
		g := Given{Need: f.need, Has: len(s.allowed(f))}
		if f.skill >= 0 {
			p := s.skills[f.skill]
			g.Name = p.name
			for i, v := range p.versions {
				if f.terms[0].in.has(i) {
					g.Versions = append(g.Versions, v)
				}
			}
		}
		e.core = append(e.core, g)
	}
	return &Conflict{Lines: e.lines, Core: e.core}
}

// allowed are the versions that the need of a given fact allows.
func (s *solver) allowed(f *fact) []string {
	var out []string
	for _, v := range s.skills[s.ids[f.need.Name]].versions {
		if f.need.allows(v) {
			out = append(out, v)
		}
	}
	return out
}

type explainer struct {
	*solver
	sizes   map[*fact]int // number of learned facts below
	uses    map[*fact]int
	numbers map[*fact]int // of the line that says it
	given   map[*fact]bool
	order   []*fact // the given ones, as met
	lines   []string
	core    []Given
}

func learned(f *fact) bool { return f.left != nil }

// count finds out how large each derivation is, and what is used twice.
func (e *explainer) count(f *fact) int {
	if e.uses[f]++; e.uses[f] > 1 || !learned(f) {
		return e.sizes[f]
	}
	e.sizes[f] = 1 + e.count(f.left) + e.count(f.right)
	return e.sizes[f]
}

// explain writes the lines that lead to a learned fact, the shorter derivation first.
func (e *explainer) explain(f *fact) {
	if !learned(f) {
		e.lines = append(e.lines, e.text(f))
		return
	}
	if e.numbers[f] != 0 {
		return
	}
	a, b := f.left, f.right
	if e.sizes[b] < e.sizes[a] {
		a, b = b, a
	}
	before := len(e.lines)
	for _, part := range []*fact{a, b} {
		if learned(part) {
			e.explain(part)
		}
	}
	var because []string
	for _, part := range []*fact{a, b} {
		switch n := e.numbers[part]; {
		case !learned(part):
			because = append(because, e.text(part))
		case n == len(e.lines) && before < n:
			// the line before says it
		default:
			because = append(because, fmt.Sprintf("%s (%d)", e.text(part), n))
		}
	}
	line := e.text(f)
	if len(because) > 0 {
		line = strings.Join(because, ", and ") + ": so " + line
	}
	e.lines = append(e.lines, line)
	e.numbers[f] = len(e.lines)
}

// text says a fact.
func (e *explainer) text(f *fact) string {
	if !learned(f) {
		if !e.given[f] {
			e.given[f] = true
			e.order = append(e.order, f)
		}
		who := f.need.Where + " asks for "
		if f.skill >= 0 {
			who = e.versions(f.skill, f.terms[0].in) + " needs "
		}
		text := who + strings.TrimSpace(f.need.Name+" "+f.need.Text)
		switch p := e.skills[e.ids[f.need.Name]]; {
		case len(p.versions) == 0:
			return text + ", which does not exist"
		case len(e.allowed(f)) == 0:
			return text + fmt.Sprintf(", and no version of it is (the newest is %s)", p.versions[0])
		}
		return text
	}
	var with, needs []string
	for _, t := range f.terms {
		if p := e.skills[t.skill]; t.in.has(len(p.versions)) {
			needs = append(needs, e.versions(t.skill, t.in.not(p.size())))
		} else {
			with = append(with, e.versions(t.skill, t.in))
		}
	}
	switch {
	case len(with)+len(needs) == 0:
		return "nothing fits"
	case len(with) == 0:
		return strings.Join(needs, " or ") + " has to be installed"
	case len(needs) == 0 && len(with) == 1:
		return with[0] + " cannot be installed"
	case len(needs) == 0:
		return strings.Join(with, " and ") + " cannot be installed together"
	}
	return strings.Join(with, " together with ") + " needs " + strings.Join(needs, " or ")
}

// versions names some versions of a skill: all, one, an interval, or the first few.
func (e *explainer) versions(i int, in set) string {
	p := e.skills[i]
	var at []int
	for k := range p.versions {
		if in.has(k) {
			at = append(at, k)
		}
	}
	slices.Reverse(at) // oldest first
	n := len(at)
	switch {
	case n == 0:
		return "no version of " + p.name
	case n == len(p.versions) && n > 1:
		return "every version of " + p.name
	case n == 1:
		return p.name + " " + p.versions[at[0]]
	case at[0]-at[n-1] == n-1:
		return fmt.Sprintf("%s %s to %s", p.name, p.versions[at[0]], p.versions[at[n-1]])
	case n <= 3:
		var names []string
		for _, k := range at {
			names = append(names, p.versions[k])
		}
		return p.name + " " + strings.Join(names, " or ")
	}
	return fmt.Sprintf("%s %s, %s and %d more", p.name, p.versions[at[0]], p.versions[at[1]], n-2)
}
