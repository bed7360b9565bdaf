package plan

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/solve"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// The needs of a skill are in its files, so a release is chosen, checked and fetched before it is known what else has
// to be there. The solver takes releases whose files are not known yet for such that need nothing; those that it chose
// are read, and it decides anew, until it chooses what is known. What is here is preferred, so that a place is asked
// for its versions only where it has to be: for a skill that is new, that is renewed, or that is in a conflict.
//
// The solver's names are those of skl.toml, and for what is needed only, the place: "acme/tools/base", with the branch, tag or
// commit if it is pinned to one.

// Words for the one release of a place that has no versions to choose from.
const (
	idHere    = "(as it is)"
	idDefault = "(default branch)"
)

const mostRequired = 256 // skills besides those of skl.toml, which agents could not tell apart long before

// ThisCommand is who asks for what is added.
const ThisCommand = "this command"

// errAsk is met where questions have to be answered first.
var errAsk = errors.New("a question is open")

// Candidates are the releases of one skill that the solver may choose from.
type candidates struct {
	name    string // of the skill
	ref     ref.Ref
	kind    lock.RefKind // of the version in ref, if it has one
	ids     []string     // newest first
	whole   bool         // there are no others
	wanted  bool         // skl.toml has it
	hold    bool         // and holds it
	instead string       // of which release another one is taken, since that fits
	by      string       // who needs it: "top needs acme/tools/base@^1 (skl.toml:2:8)"
}

// complete chooses what the entries need, and other releases of entries where they do not fit.
func (p *planner) complete(ctx context.Context) {
	if !slices.ContainsFunc(p.out.Lock.Skills, func(s lock.Skill) bool { return len(s.Requires) > 0 }) {
		return
	}
	for {
		choices, err := p.solve(ctx)
		if err == nil {
			err = p.oneEach(choices)
		}
		if err != nil {
			if err != errAsk {
				p.faulty(err)
			}
			return
		}
		changed := p.choose(choices)
		if p.stuck() {
			return
		}
		if !changed {
			p.tellInstead()
			if err := p.bindNeeded(); err != nil {
				p.fault("", err)
			}
			return
		}
		if p.read(ctx); p.stuck() {
			return
		}
	}
}

// faulty notes an error, which may be that of a skill.
func (p *planner) faulty(err error) {
	if f, ok := errors.AsType[*Fault](err); ok {
		p.faults = append(p.faults, *f)
		return
	}
	p.fault("", err)
}

// id names the release of an entry of the next lock.
func (p *planner) id(s *lock.Skill) string {
	if id := p.ids[s.Name]; id != "" {
		return id
	}
	return cmp.Or(s.Version, idHere)
}

// solve chooses among what is known.
func (p *planner) solve(ctx context.Context) ([]solve.Choice, error) {
	var wants []solve.Need
	for _, w := range p.wants {
		s := entryIn(p.out.Lock, w.Name)
		list := p.lists[w.Name]
		if list == nil {
			list = &candidates{name: w.Name, ref: w.Ref.WithoutVersion(), wanted: true, ids: []string{p.id(s)}}
			p.lists[w.Name] = list
		}
		id := p.id(s)
		if !slices.Contains(list.ids, id) {
			list.ids = append([]string{id}, list.ids...)
		}
		n := solve.Need{Name: w.Name, Text: w.Ref.Version, Where: w.Where.String()}
		if p.base.Place != nil {
			n.Where = p.base.Place(w.Where)
		}
		if slices.Contains(p.out.Added, w.Name) {
			n.Where = ThisCommand
		}
		if c, err := semver.NewConstraint(w.Ref.Version); w.Kind == lock.Range && err == nil {
			n.Allows = func(version string) bool { return version == id || InRange(c, version) }
		}
		wants = append(wants, n)
	}
	choices, err := p.among(ctx, wants)
	if c, ok := errors.AsType[*solve.Conflict](err); ok {
		return nil, &Conflict{Conflict: c, planner: p, wants: wants}
	}
	return choices, err
}

// among solves for wants. Of what is in a conflict all versions are asked for, before it is one.
func (p *planner) among(ctx context.Context, wants []solve.Need) ([]solve.Choice, error) {
	for {
		choices, err := solve.Solve(ctx, p.universe(), wants, solve.Options{First: p.first, Last: IsPrerelease})
		conflict, ok := errors.AsType[*solve.Conflict](err)
		if !ok {
			return choices, err
		}
		wider := false
		p.facts.because = headline(conflict)
		for _, given := range conflict.Core {
			for _, name := range []string{given.Name, given.Need.Name} {
				if list := p.lists[name]; list != nil && !list.whole {
					if wider, err = true, p.list(list); err != nil && err != errAsk {
						return nil, err
					}
				}
			}
		}
		switch {
		case p.ask.Any():
			return nil, errAsk
		case !wider:
			return nil, conflict
		}
	}
}

// headline is the first step of a derivation.
func headline(c *solve.Conflict) string {
	because, _, _ := strings.Cut(c.Lines[0], ": so ")
	return because
}

// InRange reports whether a version is in a range, as [resolver.Pick] has it.
func InRange(c *semver.Constraints, version string) bool {
	v, err := semver.StrictNewVersion(version)
	return err == nil && c.Check(v)
}

// IsPrerelease reports whether a version is a prerelease.
func IsPrerelease(version string) bool {
	v, err := semver.StrictNewVersion(version)
	return err == nil && v.Prerelease() != ""
}

// first is the release that is taken if it can be: the one that is chosen or locked.
func (p *planner) first(name string) string {
	list := p.lists[name]
	if s := entryIn(p.out.Lock, list.name); s != nil && (list.wanted || s.Ref == list.text()) {
		return p.id(s)
	}
	if old, ok := p.base.Lock.Skill(list.name); ok && !p.renews(list.name) && of(old, list) {
		return old.Version
	}
	return ""
}

// list takes in all versions of a list. Its error is errAsk where they are not known.
func (p *planner) list(list *candidates) error {
	want := resolver.Want{Ref: list.ref, Kind: list.kind}
	old, had := p.base.Lock.Skill(list.name)
	switch {
	case p.held[list.name] && (list.wanted || had && of(old, list)):
		list.whole = true
		if !list.wanted {
			list.ids = []string{old.Version}
		}
		return nil
	case list.wanted:
		w := p.want(list.name)
		entry, _ := p.out.Manifest.Skill(list.name)
		if list.hold = entry.Hold; entry.Hold || !p.ranged(list.name) {
			list.whole = true // it is what it is
			return nil
		}
		want.Ref.Version, want.Kind, want.Where = w.Ref.Version, w.Kind, w.Where
	case list.ref.Version != "" || list.ref.Digest != "":
		list.whole, list.ids = true, []string{cmp.Or(list.ref.Version, string(list.ref.Digest))}
		return nil
	}
	l := Listing{Want: want, Key: want.Ref.String() + "\x00" + string(want.Kind)}
	is, known := p.facts.Versions[l.Key]
	switch {
	case !known:
		p.ask.Versions = append(p.ask.Versions, l)
		return errAsk
	case is.Err != nil && list.by != "":
		return &Fault{Name: list.name, Err: diag.Prefixed(is.Err, list.by)}
	case is.Err != nil:
		return &Fault{Name: list.name, Err: is.Err}
	}
	list.whole = true
	if len(is.List) == 0 && !list.wanted {
		list.ids = []string{idDefault}
		return nil
	}
	versions := slices.Clone(is.List)
	for _, id := range list.ids {
		if !slices.Contains(versions, id) {
			versions = append(versions, id)
		}
	}
	list.ids = versions
	return nil
}

// want is what skl.toml asks for under a name.
func (p *planner) want(name string) *resolver.Named {
	for i := range p.wants {
		if p.wants[i].Name == name {
			return &p.wants[i]
		}
	}
	return nil
}

// tellInstead says which skills of skl.toml are not of the release that they would be of alone.
func (p *planner) tellInstead() {
	for i := range p.out.Lock.Skills {
		s := &p.out.Lock.Skills[i]
		if list := p.lists[s.Name]; list != nil && list.wanted && list.instead != "" && list.instead != p.id(s) {
			p.note(s.Name + " " + p.id(s) + " is taken, and not " + list.instead + ": " + p.facts.because)
		}
	}
}

// note notes what a person may not expect, once.
func (p *planner) note(text string) {
	if !slices.Contains(p.out.Notes, text) {
		p.out.Notes = append(p.out.Notes, text)
	}
}

// bindNeeded records who owns the namespaces of what is installed because something needs it.
func (p *planner) bindNeeded() error {
	for i := range p.out.Lock.Skills {
		r, err := ref.Parse(p.out.Lock.Skills[i].Ref)
		if err != nil {
			return err
		}
		ns := r.Namespace()
		if ns == "" || p.want(p.out.Lock.Skills[i].Name) != nil {
			continue
		}
		for _, v := range p.facts.Versions {
			if v.Namespace != ns {
				continue
			}
			if err := p.bind(ns, v.Binding); err != nil {
				return err
			}
			market, _ := strings.CutPrefix(v.Binding, "market:")
			if market != v.Binding {
				if err := p.market(market); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A universe is the [solve.Source] of a planner.
type universe struct {
	versions func(name string) []string
	needs    func(ctx context.Context, name, id string) ([]solve.Need, error)
}

func (u universe) Versions(_ context.Context, name string) ([]string, error) {
	return u.versions(name), nil
}

func (u universe) Needs(ctx context.Context, name, id string) ([]solve.Need, error) {
	return u.needs(ctx, name, id)
}

func (p *planner) universe() universe {
	return universe{needs: p.needed, versions: func(name string) []string {
		if list := p.lists[name]; list != nil {
			return list.ids
		}
		return nil
	}}
}

// needed is what a release needs, in the solver's words. One whose files are not known is taken for one that needs nothing.
func (p *planner) needed(_ context.Context, name, id string) ([]solve.Need, error) {
	by := p.lists[name]
	var out []solve.Need
	open := false
	for _, n := range p.facts.Needs[release(by.name, id)] {
		if !n.Placed() || n.Name == by.name {
			continue
		}
		key, err := p.place(by.name, &n)
		if err == errAsk {
			open = true // and whatever else it needs is asked for at once
			continue
		}
		if err != nil {
			return nil, err
		}
		s := solve.Need{Name: key, Text: n.Want.Ref.Version}
		if p.want(n.Name) != nil && (n.Pinned() || !p.ranged(n.Name)) {
			s.Text = "" // the project's skl.toml decides
		} else if c := n.Range(); c != nil {
			s.Allows = func(version string) bool { return InRange(c, version) }
		}
		out = append(out, s)
	}
	if open {
		return nil, errAsk
	}
	return out, nil
}

// place is the solver's name of what a skill needs. The first time, the place is asked for its versions, unless one is locked.
func (p *planner) place(by string, n *resolver.Need) (string, error) {
	text := by + " needs " + n.Want.Ref.String() + " (" + n.File + ")"
	if w := p.want(n.Name); w != nil {
		other := w.Ref.WithoutVersion().String() != n.Want.Ref.WithoutVersion().String()
		if (other || n.Range() != nil && !p.ranged(n.Name)) && (p.out.Chosen(by) || p.out.Chosen(n.Name)) {
			at := w.Ref
			if other {
				at = at.WithoutVersion()
			}
			p.note(text + "; skl.toml takes " + n.Name + " from " + at.String())
		}
		return n.Name, nil
	}
	if p.base.Check != nil {
		if err := p.base.Check(by, p.from(by), n); err != nil {
			return "", err
		}
	}
	if len(p.lists)-len(p.wants) >= mostRequired {
		return "", diag.New(diag.Failed, "too_large", "%s, which is one of more than %d skills that others need", text, mostRequired)
	}
	list := &candidates{name: n.Name, ref: n.Want.Ref.WithoutVersion(), by: text}
	if n.Pinned() {
		list.ref, list.kind = n.Want.Ref, n.Want.Kind
	}
	key := list.text()
	if n.Name != nameOf(list.ref) {
		key += " as " + n.Name
	}
	if p.lists[key] != nil {
		return key, nil
	}
	if old, ok := p.base.Lock.Skill(n.Name); ok && !p.renews(n.Name) && of(old, list) && list.ref.Version == "" && list.ref.Digest == "" && old.RefKind == lock.Range {
		list.ids = []string{old.Version}
	} else if err := p.list(list); err != nil {
		return "", err
	}
	p.lists[key] = list
	return key, nil
}

// from is the URL that a skill comes from; "" for a folder.
func (p *planner) from(name string) string {
	if s := entryIn(p.out.Lock, name); s != nil {
		if s.Source == "local" || s.Source == "embedded" {
			return ""
		}
		return s.URL
	}
	for _, list := range p.lists {
		if list.name == name && list.ref.URL != "" {
			return list.ref.URL
		}
	}
	return name // no URL: of the same place is nothing
}

// ranged reports whether skl.toml asks for a skill by its versions, and not for a folder, a branch or the like.
func (p *planner) ranged(name string) bool {
	s := entryIn(p.out.Lock, name)
	return s != nil && s.RefKind == lock.Range
}

// nameOf is what the skill of a ref is called, if it is called as the last part of it.
func nameOf(r ref.Ref) string {
	text := strings.TrimSuffix(r.WithoutVersion().String(), "/")
	return text[strings.LastIndexAny(text, "/#:")+1:]
}

// choose puts what was chosen into the lock. It reports whether anything has to be read.
func (p *planner) choose(choices []solve.Choice) (changed bool) {
	keep := map[string]bool{}
	for _, c := range choices {
		list := p.lists[c.Name]
		keep[list.name] = true
		s := entryIn(p.out.Lock, list.name)
		if s != nil && p.id(s) == c.Version && (list.wanted || s.Ref == list.text()) {
			continue
		}
		is, ok := p.chosen(list, c.Version)
		if !ok {
			continue
		}
		if s != nil && list.wanted && list.instead == "" {
			list.instead = p.id(s)
		}
		if old, had := p.base.Lock.Skill(list.name); !had || p.renews(list.name) || !old.SameRelease(is) {
			if !p.out.Chosen(list.name) {
				p.out.Anew = append(p.out.Anew, list.name)
			}
		}
		p.ids[list.name] = c.Version
		p.out.Lock.Set(is)
		changed = true
	}
	if p.stuck() {
		return false
	}
	for _, s := range slices.Clone(p.out.Lock.Skills) {
		if !keep[s.Name] {
			p.out.Lock.Remove(s.Name)
			delete(p.ids, s.Name)
			p.out.Anew = slices.DeleteFunc(p.out.Anew, func(name string) bool { return name == s.Name })
		}
	}
	resolver.Settle(p.wants, p.out.Lock)
	return changed
}

// chosen is one release of a list, if it is known.
func (p *planner) chosen(list *candidates, id string) (lock.Skill, bool) {
	old, had := p.base.Lock.Skill(list.name)
	renew := !had || !of(old, list) || !resolver.Keeps(old, list.named(id)) || p.renews(list.name)
	is, known := p.answered(list.choice(id, renew))
	switch {
	case !known:
		return lock.Skill{}, false
	case is.Err != nil:
		err := is.Err
		if list.by != "" {
			err = diag.Prefixed(err, list.by)
		}
		p.faults = append(p.faults, Fault{list.name, err, is.Entry})
		return lock.Skill{}, false
	}
	s := is.Skill
	s.Ref, s.Root = list.text(), ""
	if w := p.want(list.name); list.wanted && w != nil {
		s.Ref, s.Root = w.Ref.String(), w.Root
	}
	return s, true
}

// of reports whether a locked entry is of the place of a list.
func of(s lock.Skill, list *candidates) bool {
	return list.wanted || resolver.Unranged(s) == list.text()
}

// text is the ref that the lock has for what is needed only.
func (c *candidates) text() string { return c.ref.String() }

// named asks for one release of a list.
func (c *candidates) named(id string) resolver.Named {
	n := resolver.Named{Name: c.name, Want: resolver.Want{Ref: c.ref, Kind: c.kind}}
	if c.wanted || c.ref.Version == "" && c.ref.Digest == "" && id != idDefault {
		n.Ref.Version, n.Kind = "="+id, lock.Range
	}
	return n
}

// choice asks for one release of a list.
func (c *candidates) choice(id string, renew bool) Choice {
	return newChoice(c.named(id), c.name+"\x00"+c.text()+"\x00"+id, renew)
}

// oneEach refuses that one name is taken from two places.
func (p *planner) oneEach(choices []solve.Choice) error {
	seen := map[string]*candidates{}
	for _, c := range choices {
		list := p.lists[c.Name]
		if other := seen[list.name]; other != nil {
			return diag.New(diag.Unmet, "same_name", "%s, and %s: one name means one skill", other.by, list.by).
				Hint("to take one of them for both: skl install %s", diag.Quote(other.text())).
				Hint("or: skl install %s", diag.Quote(list.text()))
		}
		seen[list.name] = list
	}
	return nil
}

// LockedNeeds are the needs of a release whose files are nowhere here: what a lock says of it.
func LockedNeeds(l *lock.Lock, s *lock.Skill) (all []resolver.Need) {
	for _, name := range s.Requires {
		n := resolver.Need{Name: name, File: "skl.lock"}
		if other, ok := l.Skill(name); ok {
			n.Want.Ref, _ = ref.Parse(resolver.Unranged(other)) // the lock was parsed
			if all = append(all, n); other.RefKind != lock.Range {
				all[len(all)-1].Want.Kind = other.RefKind
			}
		}
	}
	return all
}
