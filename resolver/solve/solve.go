// Package solve chooses one version of each skill, so that all that is wanted, and all that the chosen versions need, is there.
//
// It is PubGrub over finite lists: what is known of a skill is always the set of its versions that may still be chosen, as a
// bitmap, with one member more for "not installed". Facts are combinations of such sets that cannot be; each conflict teaches another
// one, and a conflict that is left without a way out is explained by the facts that led to it: see [Conflict].
//
// It does no input and output: a [Source] answers, and is asked about the versions that are tried only. Equal answers give
// equal results.
package solve

import (
	"context"
	"slices"
	"sort"

	"github.com/skl-project/skl/spec/diag"
)

// MaxSteps is how many versions are tried, and conflicts met, before a search is given up with code too_hard.
const MaxSteps = 1_000_000

// A Source knows the versions of skills. Its answers do not change while a search goes on. It is asked by one goroutine.
type Source interface {
	// Versions lists the versions of a skill, each once, newest first. A skill that nobody has gives none. An error ends the search.
	Versions(ctx context.Context, name string) ([]string, error)
	// Needs lists what a version needs. An error ends the search.
	Needs(ctx context.Context, name, version string) ([]Need, error)
}

// A Need asks for one skill, in some of its versions.
type Need struct {
	Name   string
	Allows func(version string) bool // nil allows all
	Text   string                    // as it is written: "^1.2"
	Where  string                    // who asks, if it is no version of a skill: "skl.toml:4:1"
}

// allows reports whether a version meets n.
func (n Need) allows(version string) bool { return n.Allows == nil || n.Allows(version) }

// Options say what is preferred among what is allowed. The zero value prefers the newest.
type Options struct {
	// First is the version of a skill that is taken if it can be, such as the one in a lock; "" for none.
	First func(name string) string
	// Last reports versions that are taken only if no other can be, such as pre-releases. Nil is none.
	Last func(version string) bool
}

// A Choice is one version of one skill.
type Choice struct {
	Name, Version string
	Needs         []Need
}

// Solve returns a version for each wanted skill and for each that a chosen version needs, sorted by name. If there is no such
// choice the error is a [*Conflict].
func Solve(ctx context.Context, src Source, wants []Need, opt Options) ([]Choice, error) {
	s := &solver{src: src, opt: opt, ids: map[string]int{}}
	for _, w := range wants {
		if err := s.need(ctx, -1, 0, w); err != nil {
			return nil, err
		}
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	var out []Choice
	for i, p := range s.skills {
		if s.decided[i] >= 0 {
			out = append(out, Choice{Name: p.name, Version: p.versions[s.decided[i]], Needs: p.needs[s.decided[i]]})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name }) // slices.SortFunc is 15 kB of program for each large type
	return out, nil
}

// A skill is what the search knows of one.
type skill struct {
	name     string
	versions []string
	order    []int // of versions, best first
	needs    map[int][]Need
	facts    []*fact
	byNeed   map[string][]*fact // those about what it needs, by the name of the other
	trail    []int              // indexes of the assignments about it
	met      bool               // it was needed once
	touched  bool               // its facts are to be looked at
}

// size is the number of members of the sets of p, of which the last is "not installed".
func (p *skill) size() int { return len(p.versions) + 1 }

// A fact says that its terms do not all hold. It is given, by a need, or learned from two others.
type fact struct {
	terms []term

	skill       int // that needs, -1 for what is wanted
	need        Need
	left, right *fact // or what it was learned from
}

// A term holds if the skill's version is in the set.
type term struct {
	skill int
	in    set
}

// An assignment narrows what may be chosen of one skill.
type assignment struct {
	skill int
	in    set // what it says by itself
	may   set // what is left after it
	level int // number of decisions up to it
	cause *fact
}

type solver struct {
	src     Source
	opt     Options
	ids     map[string]int
	skills  []*skill
	may     []set // of each skill: what the assignments leave
	decided []int // of each skill: the index of its version, or -1
	trail   []assignment
	level   int
	met     []int // skills that were needed once
	touched []int // skills whose facts are to be looked at
	failed  *fact // one without a term, which nothing can satisfy
	steps   int
}

// id returns the number of a skill, and asks for its versions the first time.
func (s *solver) id(ctx context.Context, name string) (int, error) {
	if i, ok := s.ids[name]; ok {
		return i, nil
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	versions, err := s.src.Versions(ctx, name)
	if err != nil {
		return 0, err
	}
	p := &skill{name: name, versions: versions, needs: map[int][]Need{}, byNeed: map[string][]*fact{}}
	first := ""
	if s.opt.First != nil {
		first = s.opt.First(name)
	}
	var last []int
	for i, v := range versions {
		switch {
		case v == first:
			p.order = slices.Insert(p.order, 0, i)
		case s.opt.Last != nil && s.opt.Last(v):
			last = append(last, i)
		default:
			p.order = append(p.order, i)
		}
	}
	p.order = append(p.order, last...)
	i := len(s.skills)
	s.ids[name] = i
	s.skills, s.may, s.decided = append(s.skills, p), append(s.may, full(p.size())), append(s.decided, -1)
	return i, nil
}

// need adds the fact that a version of the skill by needs n; by is -1 for what is wanted.
func (s *solver) need(ctx context.Context, by, version int, n Need) error {
	on, err := s.id(ctx, n.Name)
	if err != nil {
		return err
	}
	p := s.skills[on]
	forbidden := full(p.size())
	for i, v := range p.versions {
		if n.allows(v) {
			one := only(p.size(), i)
			one = one.not(p.size())
			forbidden = forbidden.and(&one)
		}
	}
	f := &fact{skill: by, need: n}
	if by >= 0 {
		q := s.skills[by]
		this := only(q.size(), version)
		if by == on && !forbidden.has(version) {
			return nil // it is the version that it needs
		}
		for _, same := range q.byNeed[n.Name] {
			if by != on && same.need.Text == n.Text && (len(same.terms) == 1 || same.terms[1].in.within(&forbidden) && forbidden.within(&same.terms[1].in)) {
				same.terms[0].in = same.terms[0].in.or(&this)
				s.touch(by)
				s.touch(on)
				return nil
			}
		}
		f.terms = append(f.terms, term{by, this})
		q.byNeed[n.Name] = append(q.byNeed[n.Name], f)
	}
	if by != on && forbidden.count() < p.size() { // a term that always holds says nothing
		f.terms = append(f.terms, term{on, forbidden})
	}
	s.add(f)
	return nil
}

// add makes f one of the facts of its skills.
func (s *solver) add(f *fact) {
	for _, t := range f.terms {
		s.skills[t.skill].facts = append(s.skills[t.skill].facts, f)
		s.touch(t.skill)
	}
	if len(f.terms) == 0 {
		s.failed = f
	}
}

// touch has the facts of a skill looked at.
func (s *solver) touch(i int) {
	if !s.skills[i].touched {
		s.skills[i].touched = true
		s.touched = append(s.touched, i)
	}
}

// run decides until everything that is needed is decided.
func (s *solver) run(ctx context.Context) error {
	for s.failed == nil {
		if s.steps++; s.steps > MaxSteps {
			return diag.New(diag.Failed, "too_hard", "which versions fit together was not found in %d steps", MaxSteps).
				Hint("narrower ranges in skl.toml leave less to try")
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if f := s.propagate(); f != nil {
			s.learn(f)
			continue
		}
		if done, err := s.decide(ctx); done || err != nil {
			return err
		}
	}
	return s.conflict(s.failed)
}

// propagate draws the conclusions of all facts that may have changed. It returns a fact all of whose terms hold, if there is one.
func (s *solver) propagate() *fact {
	for len(s.touched) > 0 {
		i := s.touched[len(s.touched)-1]
		s.touched = s.touched[:len(s.touched)-1]
		s.skills[i].touched = false
		for _, f := range slices.Backward(s.skills[i].facts) { // what was learned last first
			switch open := s.open(f); {
			case open == allHold:
				s.touch(i) // the rest was not looked at
				return f
			case open != noMatter:
				t := &f.terms[open]
				s.assign(t.skill, t.in.not(s.skills[t.skill].size()), f)
			}
		}
	}
	return nil
}

const (
	allHold  = -1
	noMatter = -2
)

// open is the index of the one term of f that may or may not hold while all others do; allHold if there is none; noMatter
// if there are several, or one that cannot hold.
func (s *solver) open(f *fact) int {
	open := allHold
	for j := range f.terms {
		t := &f.terms[j]
		may := &s.may[t.skill]
		if may.within(&t.in) {
			continue
		}
		if open != allHold || !may.meets(&t.in) {
			return noMatter
		}
		open = j
	}
	return open
}

// assign narrows what may be chosen of a skill.
func (s *solver) assign(i int, in set, cause *fact) {
	p := s.skills[i]
	s.may[i] = s.may[i].and(&in)
	p.trail = append(p.trail, len(s.trail))
	s.trail = append(s.trail, assignment{skill: i, in: in, may: s.may[i], level: s.level, cause: cause})
	if !p.met && !s.may[i].has(len(p.versions)) {
		p.met = true
		s.met = append(s.met, i)
	}
	s.touch(i)
}

// decide chooses a version of the needed skill with the fewest left, or learns what that version needs. It is done if
// there is no such skill.
func (s *solver) decide(ctx context.Context) (done bool, err error) {
	pick, fewest := -1, 0
	for _, i := range s.met {
		if s.decided[i] >= 0 || s.may[i].has(len(s.skills[i].versions)) {
			continue
		}
		if n := s.may[i].count(); pick < 0 || n < fewest || n == fewest && s.skills[i].name < s.skills[pick].name {
			pick, fewest = i, n
		}
	}
	if pick < 0 {
		return true, nil
	}
	p := s.skills[pick]
	v := p.order[slices.IndexFunc(p.order, s.may[pick].has)]
	if _, known := p.needs[v]; !known {
		needs, err := s.src.Needs(ctx, p.name, p.versions[v])
		if err != nil {
			return false, err
		}
		p.needs[v] = needs
		for _, n := range needs {
			if err := s.need(ctx, pick, v, n); err != nil {
				return false, err
			}
		}
		if len(needs) > 0 {
			return false, nil // what it needs may forbid it
		}
	}
	s.level++
	s.decided[pick] = v
	s.assign(pick, only(p.size(), v), nil)
	return false, nil
}

// learn finds out which decision led to a fact all of whose terms hold, takes it back, and keeps the fact that would have
// prevented it. If no decision did, the search has failed.
func (s *solver) learn(f *fact) {
	for given := f; ; {
		if len(f.terms) == 0 {
			s.failed = f
			return
		}
		last, at, level := -1, 0, 0 // the assignment that made it hold, which term that is, and the level at which the others did
		for j := range f.terms {
			if i := s.since(&f.terms[j], nil); i > last {
				if last >= 0 {
					level = max(level, s.trail[last].level)
				}
				last, at = i, j
			} else {
				level = max(level, s.trail[i].level)
			}
		}
		a, t := &s.trail[last], &f.terms[at]
		if !a.in.within(&t.in) {
			level = max(level, s.trail[s.since(t, &a.in)].level) // it needed another one about the same skill
		}
		if a.cause == nil || level < a.level {
			s.back(level)
			if f != given {
				s.add(f)
			}
			for _, t := range f.terms {
				s.touch(t.skill)
			}
			return
		}
		f = s.join(f, a.cause, t.skill)
	}
}

// since is the index of the first assignment after which t holds, together with also if that is not nil.
func (s *solver) since(t *term, also *set) int {
	trail := s.skills[t.skill].trail
	k, _ := slices.BinarySearchFunc(trail, 0, func(i, _ int) int {
		may := s.trail[i].may
		if also != nil {
			may = may.and(also)
		}
		if may.within(&t.in) {
			return 0
		}
		return -1
	})
	return trail[k]
}

// join is what f and the cause of the last assignment about a skill say together.
func (s *solver) join(f, cause *fact, about int) *fact {
	out := &fact{left: f, right: cause}
	var either *set
	for _, t := range slices.Concat(f.terms, cause.terms) {
		if t.skill == about {
			if either != nil {
				t.in = t.in.or(either)
			}
			either = &t.in
			continue
		}
		if i := slices.IndexFunc(out.terms, func(u term) bool { return u.skill == t.skill }); i >= 0 {
			out.terms[i].in = out.terms[i].in.and(&t.in)
		} else {
			out.terms = append(out.terms, t)
		}
	}
	if either != nil && either.count() < s.skills[about].size() {
		out.terms = append(out.terms, term{about, *either})
	}
	return out
}

// back takes all decisions above a level back, and what was concluded since.
func (s *solver) back(level int) {
	for len(s.trail) > 0 && s.trail[len(s.trail)-1].level > level {
		a := &s.trail[len(s.trail)-1]
		s.trail = s.trail[:len(s.trail)-1]
		p := s.skills[a.skill]
		p.trail = p.trail[:len(p.trail)-1]
		if n := len(p.trail); n > 0 {
			s.may[a.skill] = s.trail[p.trail[n-1]].may
		} else {
			s.may[a.skill] = full(p.size())
		}
		if a.cause == nil {
			s.decided[a.skill] = -1
		}
	}
	s.level = level
}
