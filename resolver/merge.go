package resolver

import (
	"cmp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
)

// A MergedEntry is what [Merge] made of two entries that are not the same, or of one that one side alone has.
type MergedEntry struct {
	Name         string
	Ours, Theirs *lock.Skill // nil where a side has none
	Took         *lock.Skill // one of these; nil if neither can stay
	Barred       bool        // the other one does not follow from the manifest
}

// Merge makes one lock of the two sides of a merge. Of two entries of a name it takes the one that follows from the manifest, and of two
// that do the one that changed since base, the lock that both come from, or else the higher version; base is nil where nobody knows it. Where neither does, or nobody can tell which is higher, none is in the lock, so that it is chosen anew, as are the names for which anew
// says so. Two that are one version and not one release are refused, as is a release that moved. Whether an entry is of the source that owns its ref, [Resolver.Agree] says,
// as of any lock.
func Merge(wants []Named, base, ours, theirs *lock.Lock, anew func(name string) bool) (*lock.Lock, []MergedEntry, error) {
	out := ours.Clone()
	var told []MergedEntry
	for _, name := range mergedNames(ours, theirs) {
		e := MergedEntry{Name: name, Ours: entry(ours, name), Theirs: entry(theirs, name)}
		if e.Ours != nil && e.Theirs != nil && lock.Equal(*e.Ours, *e.Theirs) {
			continue
		}
		i := slices.IndexFunc(wants, func(w Named) bool { return w.Name == name })
		if err := e.choose(wants, i, entry(base, name), anew(name)); err != nil {
			return nil, nil, err
		}
		out.Remove(name) // with what only that entry has
		if e.Took != nil {
			out.Set(*e.Took)
		}
		if e.Ours == nil || e.Theirs == nil || !e.Ours.SameRelease(*e.Theirs) || e.Ours.Version != e.Theirs.Version || e.Took == nil {
			told = append(told, e)
		}
	}
	if err := oneCommit(out, base, ours, theirs); err != nil {
		return nil, nil, err
	}
	return out, told, nil
}

// oneCommit refuses a merge of which one entry has the commit that a tag of its repository named before, and another entry the one that it names
// since: each side knew one of them. Two commits of one version alone are no such thing, since a repository may have tags for each skill.
func oneCommit(out *lock.Lock, sides ...*lock.Lock) error {
	for i := range out.Skills {
		now := &out.Skills[i]
		if now.Source != "git" || identity(*now) == "" {
			continue
		}
		before := []string{now.Moved}
		for _, l := range sides {
			if s := entry(l, now.Name); s != nil && sameRelease(*s, *now) && identity(*s) != identity(*now) {
				before = append(before, identity(*s))
			}
		}
		for j := range out.Skills {
			old := &out.Skills[j]
			if old.Source != "git" || old.URL != now.URL || old.Version != now.Version || identity(*old) == "" || !slices.Contains(before, identity(*old)) {
				continue
			}
			if slices.ContainsFunc(sides, func(l *lock.Lock) bool { return holds(l, old) && holds(l, now) }) {
				continue // it was so before
			}
			return diag.New(diag.Refused, CodeMoved, "%s %s is %s, which its tag named before it moved, and %s is %s", old.Name, diag.Printable(old.Version), pinText(old), now.Name, pinText(now)).
				Hint("to take the release that the tag names now: skl lock --upgrade %s --accept %s", old.Name, AcceptMoved)
		}
	}
	return nil
}

// holds reports whether l has the release of s under its name.
func holds(l *lock.Lock, s *lock.Skill) bool {
	e := entry(l, s.Name)
	return e != nil && sameRelease(*e, *s) && identity(*e) == identity(*s)
}

func mergedNames(ours, theirs *lock.Lock) (names []string) {
	for _, l := range []*lock.Lock{ours, theirs} {
		for i := range l.Skills {
			names = append(names, l.Skills[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func entry(l *lock.Lock, name string) *lock.Skill {
	if l == nil {
		return nil
	}
	if s, ok := l.Skill(name); ok {
		return &s
	}
	return nil
}

// choose sets what is taken. i is the index of the want of the name, -1 if the manifest does not name it; was is
// the entry that both come from, nil if there is none, or nobody knows it.
func (e *MergedEntry) choose(wants []Named, i int, was *lock.Skill, anew bool) error {
	fits := func(s *lock.Skill) bool { return s != nil && (i < 0 || Keeps(*s, wants[i])) }
	a, b := fits(e.Ours), fits(e.Theirs)
	switch {
	case anew || !a && !b:
		return nil
	case a != b:
		e.Barred = e.Ours != nil && e.Theirs != nil
		if e.Took = e.Ours; b {
			e.Took = e.Theirs
		}
		return nil
	case was != nil && lock.Equal(*was, *e.Theirs):
		e.Took = e.Ours
		return nil
	case was != nil && lock.Equal(*was, *e.Ours):
		e.Took = e.Theirs
		return nil
	case e.Ours.SameRelease(*e.Theirs) && e.Ours.Version == e.Theirs.Version:
		if e.Ours.Tree == e.Theirs.Tree || e.Ours.Commit != "" || e.Ours.Manifest != "" || e.Ours.Artifact != "" {
			e.Took = e.Ours // with what we accepted; a folder is read anew
		}
		return nil
	case i < 0 && len(e.Ours.RequiredBy)+len(e.Theirs.RequiredBy) == 0:
		return nil // nothing leads to it
	}
	mine, err := semver.NewVersion(e.Ours.Version)
	its, other := semver.NewVersion(e.Theirs.Version)
	if err != nil || other != nil {
		return nil
	}
	switch c := mine.Compare(its); {
	case c > 0:
		e.Took = e.Ours
	case c < 0:
		e.Took = e.Theirs
	default:
		return diag.New(diag.Refused, CodeMoved, "%s %s is %s in ours, and %s in theirs", e.Name, diag.Printable(e.Ours.Version), pinText(e.Ours), pinText(e.Theirs)).
			Hint("to ask its source which it is: skl lock --upgrade %s", e.Name)
	}
	return nil
}

// pinText is the bytes that an entry is pinned to, as people read it.
func pinText(s *lock.Skill) string {
	return cmp.Or(string(s.Commit), string(s.Manifest), string(s.Artifact), string(s.Tree)) + " of " + diag.Brief(cmp.Or(s.URL, s.Source), 200)
}

// MergeApart is Merge where nobody has the manifest: what it says of a skill is in the entries, and where both sides changed that, the
// narrower of two ranges is meant. Nothing is chosen anew. An error says what only the manifest, a source or a person can tell.
func MergeApart(base, ours, theirs *lock.Lock) (*lock.Lock, []MergedEntry, error) {
	if base == nil {
		base = &lock.Lock{}
	}
	var wants []Named
	for _, name := range mergedNames(ours, theirs) {
		s, err := meantBy(entry(base, name), entry(ours, name), entry(theirs, name))
		switch {
		case err != nil:
			return nil, nil, err
		case s == nil || len(s.RequiredBy) > 0:
			continue // removed, or whoever requires it says so
		}
		r, err := ref.Parse(s.Ref)
		if err != nil {
			return nil, nil, err
		}
		w := Named{Name: name, Skill: s.Skill, Want: Want{Ref: r}, Root: s.Root}
		if r.Version != "" {
			w.Kind = s.RefKind
		}
		wants = append(wants, w)
	}
	l, told, err := Merge(wants, base, ours, theirs, func(string) bool { return false })
	if err != nil {
		return nil, nil, err
	}
	for _, w := range wants {
		s, ok := l.Skill(w.Name)
		if !ok {
			return nil, nil, diag.New(diag.Unmet, "stale_lock", "neither side has a release of %s that both allow", w.Name)
		}
		s = restated(s, w)
		s.Root = w.Root
		l.Set(s)
	}
	Prune(wants, l)
	Settle(wants, l)
	if stale := Stale(wants, l); len(stale) > 0 {
		return nil, nil, diag.New(diag.Unmet, "stale_lock", "the requirements of skills differ: %s", strings.Join(stale, ", "))
	}
	return l, told, nil
}

// meantBy is the entry whose ref and root are what the manifest of a merge says of a skill, nil if it is in none.
func meantBy(was, mine, its *lock.Skill) (*lock.Skill, error) {
	same := func(a, b *lock.Skill) bool {
		return a != nil && b != nil && a.Ref == b.Ref && a.Skill == b.Skill && a.RefKind == b.RefKind && a.Root == b.Root && (len(a.RequiredBy) > 0) == (len(b.RequiredBy) > 0) || a == nil && b == nil
	}
	switch {
	case same(was, its), same(mine, its):
		return mine, nil
	case same(was, mine):
		return its, nil
	case mine != nil && its != nil && mine.RefKind == lock.Range && its.RefKind == lock.Range && mine.Root == its.Root && mine.Skill == its.Skill:
		base, a, _ := strings.Cut(mine.Ref, "@")
		other, b, _ := strings.Cut(its.Ref, "@")
		switch {
		case base == other && manifest.Within(a, b):
			return mine, nil
		case base == other && manifest.Within(b, a):
			return its, nil
		}
	}
	e := cmp.Or(mine, its)
	return nil, diag.New(diag.Unmet, manifest.CodeConflict, "the sides do not want the same of %s", e.Name)
}
