package inspect

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
)

// badPlaces are the places of agents' own directories that are not as they should be.
func (in *Inspector) badPlaces(f *scope.Files) ([]install.Place, error) {
	receipts, _, err := in.Applier.Receipts() // those that cannot be used are said of their skills
	if err != nil {
		return nil, err
	}
	places, err := in.Applier.LinkPlaces(f, receipts)
	return slices.DeleteFunc(places, func(p install.Place) bool { return p.Fault == "" }), err
}

// mendPlace is what puts a place right that is not as it should be.
func (in *Inspector) mendPlace(p *install.Place) string {
	switch {
	case p.Mendable():
		return "skl install" + in.scopeFlag() + ", or skl doctor" + in.scopeFlag() + " --fix"
	case p.State == install.LinkEdited:
		return apply.MendOf(in.Applier, "drift", p.Name, true, "")
	}
	return apply.MendOf(in.Applier, "foreign", p.Name, true, p.At())
}

// scopeFlag is the flag that a command needs to be about the same scope from wherever it is typed.
func (in *Inspector) scopeFlag() string {
	if in.Applier.Scope.Kind == hosts.User {
		return " --scope user"
	}
	return ""
}

// linkProblems says which links and copies are not as they should be, and which agents of skl.toml see nothing of a skill, and
// what mends that.
func (in *Inspector) linkProblems(f *scope.Files, l roots.Listing) (out, mends []string, err error) {
	bad, err := in.badPlaces(f)
	if err != nil {
		return nil, nil, err
	}
	for i := range bad {
		p := &bad[i]
		out, mends = append(out, in.Applier.Scope.Short(p.At())+" "+p.Why), append(mends, in.mendPlace(p))
	}
	for _, b := range in.blind(f, l) {
		if !slices.ContainsFunc(bad, func(p install.Place) bool { return slices.Contains(b.Skills, p.Name) }) {
			out, mends = append(out, b.String()), append(mends, "skl list --host "+b.Host.ID)
		}
	}
	for _, s := range f.Manifest.Skills {
		for _, id := range in.Applier.Scope.Overseen(f.Manifest, s) {
			out = append(out, fmt.Sprintf("%s reads %s, although hosts of it in skl.toml leaves that agent out; root = \"tools/skills\" beside hosts moves it to where only links lead", id, in.Applier.Scope.Short(filepath.Join(in.Applier.Scope.Site.Home(s.Name), s.Name))))
		}
	}
	return out, mends, nil
}

// A blindSpot is an agent of skl.toml and the skills of skl.lock of which it sees no copy.
type blindSpot struct {
	Host   hosts.Host
	Skills []string
}

func (b blindSpot) String() string {
	if len(b.Skills) == 1 {
		return fmt.Sprintf("%s does not see %s", b.Host.ID, b.Skills[0])
	}
	return fmt.Sprintf("%s does not see %s and %d more", b.Host.ID, b.Skills[0], len(b.Skills)-1)
}

// blind finds the agents of skl.toml that see no copy of a skill that is installed here and not disabled. An agent
// that waits for a person's trust in the folder sees it: that is another matter.
func (in *Inspector) blind(f *scope.Files, l roots.Listing) (out []blindSpot) {
	for _, id := range f.Manifest.Targets.Hosts {
		h, ok := hosts.Find(id)
		if !ok || h.CwdOnly && in.Applier.Scope.Cwd != in.Applier.Scope.Project {
			continue // what it sees from a sub-directory is not a matter of what is installed
		}
		b := blindSpot{Host: h}
		for _, s := range f.Lock.Skills {
			if e, _ := f.Manifest.Skill(s.Name); e.Hosts != nil && !slices.Contains(e.Hosts, id) {
				continue // it is not to see it
			}
			here, seen := false, false
			for _, r := range l.Lookup(s.Name) {
				here = here || filepath.Dir(r.Path) == in.Applier.Scope.Site.Home(r.Name) && r.State != roots.Disabled && r.State != roots.Invalid
				u := use(r, id)
				seen = seen || r.Scope == string(in.Applier.Scope.Kind) && u != hosts.Unread && u != ""
			}
			if here && !seen {
				b.Skills = append(b.Skills, s.Name)
			}
		}
		if len(b.Skills) > 0 {
			out = append(out, b)
		}
	}
	return out
}
