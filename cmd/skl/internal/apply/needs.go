package apply

import (
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/skill"
)

// needsIn are the skills that the front of a skill says it needs, sorted by name: those that it names as such, and those whose files it reads.
func needsIn(f Front) ([]resolver.Need, error) {
	doc, err := skill.ReadWith(f.Text, f.Sidecar)
	if err != nil {
		doc = nil // whoever installs it is told
	}
	all, err := resolver.Needs(f.Manifest, f.APM, doc)
	if err != nil || doc == nil {
		return all, err
	}
	for _, n := range resolver.Neighbours(f.Text, doc) {
		if at, found := slices.BinarySearchFunc(all, n.Name, func(o resolver.Need, name string) int { return strings.Compare(o.Name, name) }); !found {
			all = slices.Insert(all, at, n)
		}
	}
	return all, nil
}

// requiredFrom reports whether one of skills, of which a lock says that they require name, says where that is had.
func (a *Applier) requiredFrom(l *lock.Lock, skills []string, name string) bool {
	for _, by := range skills {
		s, _ := l.Skill(by)
		front := a.frontHere(s)
		all, err := needsIn(front)
		if err != nil || front.Text == nil || slices.ContainsFunc(all, func(n resolver.Need) bool { return n.Name == name && n.Placed() }) {
			return true
		}
	}
	return false
}

func unreadNeeds(err error) string { return "its needs cannot be read: " + err.Error() }

// checkNeeds refuses a lock whose entries are not what the release of s needs: from another place with exit 4, else with exit 3.
func (a *Applier) checkNeeds(f *scope.Files, s lock.Skill, front Front) error {
	all, err := needsIn(front)
	if err != nil {
		a.Scope.Tell.Warn("%s: %s", s.Name, unreadNeeds(err)) // it is installed without
		return nil
	}
	for i := range all {
		n := &all[i]
		if !n.Placed() || n.Name == s.Name {
			continue
		}
		dep, ok := f.Lock.Skill(n.Name)
		_, wanted := f.Manifest.Skill(n.Name)
		c := n.Range()
		stale := func(format string, args ...any) error {
			return diag.New(diag.Unmet, "stale_lock", format, args...).Hint("skl lock")
		}
		switch from := n.Text(); {
		case !ok || !slices.Contains(s.Requires, n.Name):
			return stale("skl.lock does not say that %s needs %s (%s)", s.Name, n.Want.Ref, n.File)
		case !wanted && dep.Ref != from && resolver.Unranged(dep) == from:
			return stale("skl.lock has %s as if skl.toml asked for it", n.Name)
		case !wanted && dep.Ref != from:
			return lockDiffers(s, "where "+n.Name+" is", dep.Ref, from)
		case c != nil && (!wanted || dep.RefKind == lock.Range) && !plan.InRange(c, dep.Version):
			return stale("%s needs %s (%s), and skl.lock has %s %s", s.Name, n.Want.Ref, n.File, n.Name, orNone(dep.Version))
		}
	}
	return nil
}

// An Unmet is something that an installed skill says it needs, and that is not there: where it is to be had is not said, so skl does not
// install it.
type Unmet struct {
	Name  string `json:"name"`          // of the skill that says it
	File  string `json:"file"`          // that says it, with the place in it: "skl.toml:2:1"
	Needs string `json:"needs"`         // the name of the other; "" if what is said cannot be read
	Why   string `json:"why,omitempty"` // the place that is said is none, or why nothing can be read
}

// unmet lists what the skills that changes add or update say they need without a place, and that is neither in the lock nor a skill that
// is active here.
func (j *job) unmet(ctx context.Context, in *plan.Intent, changes install.Changes) ([]Unmet, error) {
	var out []Unmet
	for i := range changes.List {
		c := &changes.List[i]
		if c.Action != install.Add && c.Action != install.Update {
			continue
		}
		if err := j.seen.unread[c.Name]; err != nil {
			out = append(out, Unmet{Name: c.Name, Why: unreadNeeds(err)})
			continue
		}
		for _, n := range in.Needs(c.Name) {
			if !n.Placed() && in.Entry(n.Name) == nil {
				out = append(out, Unmet{Name: c.Name, File: n.File, Needs: diag.Printable(n.Name), Why: n.Not})
			}
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	found, err := j.a.Scope.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	return notActive(out, found), nil
}

// Unmets lists what the skills of a lock say they need, and that is neither in it nor a skill that is active.
func (a *Applier) Unmets(l *lock.Lock, found roots.Listing) (out []Unmet) {
	for i := range l.Skills {
		s := &l.Skills[i]
		all, _ := needsIn(a.frontHere(*s)) // what cannot be read is said where it is installed
		for _, n := range all {
			if _, ok := l.Skill(n.Name); !ok && n.Name != s.Name {
				out = append(out, Unmet{Name: s.Name, File: n.File, Needs: diag.Printable(n.Name), Why: n.Not})
			}
		}
	}
	return notActive(out, found)
}

// notActive are those of all that no active skill meets.
func notActive(all []Unmet, found roots.Listing) []Unmet {
	active := map[string]bool{}
	for i := range found.Skills {
		if r := &found.Skills[i]; r.State == roots.Active {
			active[r.Name] = true
		}
	}
	return slices.DeleteFunc(all, func(u Unmet) bool { return u.Needs != "" && active[u.Needs] })
}

func (u Unmet) String() string {
	return u.Name + " needs " + u.Needs + " (" + u.File + "), which is not installed"
}
