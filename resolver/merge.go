package resolver

import (
	"cmp"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// A MergedEntry is what [Merge] made of two entries that are not the same, or of one that one side alone has.
type MergedEntry struct {
	Name         string
	Ours, Theirs *lock.Skill // nil where a side has none
	Took         *lock.Skill // one of these; nil if neither can stay
	Barred       bool        // the other one does not follow from the manifest
}

// Merge makes one lock of the two sides of a merge. Of two entries of a name it takes the one that follows from the manifest, and of two
// that do the higher version. Where neither does, or nobody can tell which is higher, none is in the lock, so that it is chosen anew, as are the names for which anew
// says so. Two that are one version and not one release are refused, as is a release that moved. Whether an entry is of the source that owns its ref, [Resolver.Agree] says,
// as of any lock.
func Merge(wants []Named, ours, theirs *lock.Lock, anew func(name string) bool) (*lock.Lock, []MergedEntry, error) {
	out := ours.Clone()
	var told []MergedEntry
	for _, name := range mergedNames(ours, theirs) {
		e := MergedEntry{Name: name, Ours: entry(ours, name), Theirs: entry(theirs, name)}
		if e.Ours != nil && e.Theirs != nil && lock.Equal(*e.Ours, *e.Theirs) {
			continue
		}
		i := slices.IndexFunc(wants, func(w Named) bool { return w.Name == name })
		if err := e.choose(wants, i, anew(name)); err != nil {
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
	return out, told, nil
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
	if s, ok := l.Skill(name); ok {
		return &s
	}
	return nil
}

// choose sets what is taken. i is the index of the want of the name, -1 if the manifest does not name it.
func (e *MergedEntry) choose(wants []Named, i int, anew bool) error {
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
		return diag.New(diag.Refused, CodeMoved, "%s %s is %s in what is ours, and %s in what is theirs", e.Name, diag.Printable(e.Ours.Version), pinText(e.Ours), pinText(e.Theirs)).
			Hint("to ask its source which it is: skl lock --upgrade %s", e.Name)
	}
	return nil
}

// pinText is the bytes that an entry is pinned to, as people read it.
func pinText(s *lock.Skill) string {
	return cmp.Or(string(s.Commit), string(s.Manifest), string(s.Artifact), string(s.Tree)) + " of " + diag.Brief(cmp.Or(s.URL, s.Source), 200)
}
