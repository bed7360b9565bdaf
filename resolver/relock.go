package resolver

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// A Named is what a manifest asks for under one name.
type Named struct {
	Name  string
	Skill string // what the ref calls it, where that is not Name
	Want
	Root string // where the manifest wants it installed, as lock.Skill has it
}

// Called is the name by which the ref knows the skill.
func (w *Named) Called() string { return cmp.Or(w.Skill, w.Name) }

// Stale returns the names whose lock entry does not follow from the manifest: missing, of another ref or root, or neither
// wanted nor required by what is. A lock with none is fresh. That a skill requires others is what its entry says: whether its
// files say so is for whoever has them. Whether the entry of a ref is also of the source that owns the ref, [Resolver.Agree] says.
func Stale(wants []Named, l *lock.Lock) []string {
	stale := map[string]bool{}
	wanted := map[string]bool{}
	for _, w := range wants {
		wanted[w.Name] = true
		if s, ok := l.Skill(w.Name); !ok || s.Ref != w.Ref.String() || s.Root != w.Root || s.Skill != w.Skill {
			stale[w.Name] = true
		}
	}
	reached, by, roots := Reached(wants, l), RequiredBy(l), requiredRoots(wants, l)
	for i := range l.Skills {
		s := &l.Skills[i]
		if !reached[s.Name] || !wanted[s.Name] && (s.Skill != "" || s.Root != roots[s.Name] || s.RefKind == lock.Range && s.Ref != Unranged(*s)) || !slices.Equal(s.RequiredBy, by[s.Name]) {
			stale[s.Name] = true
		}
		for _, name := range s.Requires {
			if _, ok := l.Skill(name); !ok {
				stale[s.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(stale))
}

// Reached are the names of the entries that wants lead to, by what entries say that they require.
func Reached(wants []Named, l *lock.Lock) map[string]bool {
	reached := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		s, ok := l.Skill(name)
		if !ok || reached[name] {
			return
		}
		reached[name] = true
		for _, other := range s.Requires {
			visit(other)
		}
	}
	for _, w := range wants {
		visit(w.Name)
	}
	return reached
}

// RequiredBy are, by the name of a skill, those whose entries say that they require it, sorted.
func RequiredBy(l *lock.Lock) map[string][]string {
	by := map[string][]string{}
	for i := range l.Skills {
		for _, name := range l.Skills[i].Requires {
			by[name] = append(by[name], l.Skills[i].Name)
		}
	}
	return by
}

// requiredRoots are, by name, the roots of entries that are required only: that of the wants that lead to them, if it is one.
func requiredRoots(wants []Named, l *lock.Lock) map[string]string {
	roots, several := map[string]string{}, map[string]bool{}
	for i := range wants {
		w := &wants[i]
		if s, _ := l.Skill(w.Name); len(s.Requires) == 0 {
			continue
		}
		for name := range Reached(wants[i:i+1], l) {
			root, met := roots[name]
			several[name] = several[name] || met && root != w.Root
			if roots[name] = w.Root; several[name] {
				roots[name] = ""
			}
		}
	}
	return roots
}

// Settle notes in the entries of l who requires them, and in those that are required only where they are installed.
func Settle(wants []Named, l *lock.Lock) {
	by, roots := RequiredBy(l), requiredRoots(wants, l)
	for i := range l.Skills {
		s := &l.Skills[i]
		if s.RequiredBy = by[s.Name]; !slices.ContainsFunc(wants, func(w Named) bool { return w.Name == s.Name }) {
			s.Root = roots[s.Name]
		}
	}
}

// Prune takes the entries that nothing leads to any more out of l, and notes in each of the others who requires it. It returns
// the names of those that are gone.
func Prune(wants []Named, l *lock.Lock) (gone []string) {
	reached := Reached(wants, l)
	for i := range l.Skills {
		if name := l.Skills[i].Name; !reached[name] {
			gone = append(gone, name)
		}
	}
	for _, name := range gone {
		l.Remove(name)
	}
	Settle(wants, l)
	return gone
}

// Unranged is the ref of an entry without its range: of what is required only, the ranges are in the files of those who require it.
func Unranged(s lock.Skill) string {
	if r, err := ref.Parse(s.Ref); err == nil && s.RefKind == lock.Range {
		return r.WithoutVersion().String()
	}
	return s.Ref
}

// Required are the entries of l that none of wants is about, as what asks for them: an entry that a skill requires says its ref itself.
// They follow the wants in the result.
func Required(wants []Named, l *lock.Lock) ([]Named, error) {
	all := slices.Clip(wants)
	for i := range l.Skills {
		s := &l.Skills[i]
		if slices.ContainsFunc(wants, func(w Named) bool { return w.Name == s.Name }) {
			continue
		}
		r, err := ref.Parse(s.Ref)
		if err != nil {
			return nil, err
		}
		n := Named{Name: s.Name, Want: Want{Ref: r}}
		if r.Version != "" {
			n.Kind = s.RefKind
		}
		all = append(all, n)
	}
	return all, nil
}

// A Release is what came of one want: an entry for the lock, or why there is none.
type Release struct {
	Skill lock.Skill // chosen, or the locked one if that is kept; its tree is "" if its bundle was not fetched
	Gone  string     // the place no longer holds the skill: since when, as of [Resolver.GoneSince]; then Skill is the locked one
	Err   error
	Entry bool // Err is about the locked entry itself, which is not what its ref means
}

// Releases chooses a release for every want. An entry of old that still follows from its want is kept as it is, unless renew holds
// its name, and is an error if it does not [Resolver.Agree]. With dropped, the entry of a skill that its place dropped is kept, too, and Gone says
// so. The results are in the order of wants.
func (rs *Resolver) Releases(ctx context.Context, wants []Named, old *lock.Lock, renew func(name string) bool, dropped bool) []Release {
	out := make([]Release, len(wants))
	var g errgroup.Group
	g.SetLimit(8)
	for i, w := range wants {
		have, ok := old.Skill(w.Name)
		kept := ok && Keeps(have, w)
		if kept {
			have = restated(have, w)
		}
		g.Go(func() error {
			switch {
			case kept && !renew(w.Name):
				out[i] = rs.kept(ctx, w, have)
			default:
				out[i] = rs.renewed(ctx, w, have, kept, kept && dropped)
			}
			out[i].Skill.Root = w.Root
			return nil
		})
	}
	g.Wait()
	return out
}

// kept is the release of a locked entry that stays.
func (rs *Resolver) kept(ctx context.Context, w Named, have lock.Skill) Release {
	err := rs.Agree(ctx, w, have)
	return Release{Skill: have, Err: err, Entry: diag.ClassOf(err) == diag.Refused}
}

// renewed chooses the release of w, whose locked entry is have, and follows from w if it could be kept; with dropped, that one stays where the
// place holds the skill no longer.
func (rs *Resolver) renewed(ctx context.Context, w Named, have lock.Skill, kept, dropped bool) Release {
	s, err := rs.Choose(ctx, w)
	if err == nil && kept {
		err = diag.Located(Down(have, s), w.Where)
	}
	if kept {
		err = Staying(err, have)
	}
	if why := Withdrawn(have, err); dropped && why != "" {
		return Release{Skill: have, Gone: "now: " + why}
	}
	if dropped && Dropped(err) {
		out := rs.kept(ctx, w, have)
		if out.Err == nil {
			out.Gone, err = rs.GoneSince(ctx, w, have)
			out.Err = diag.Located(err, w.Where)
		}
		return out
	}
	if err == nil {
		s.Moved, err = rs.Unmoved(ctx, have, s, w.Ref.Version)
		err = diag.Located(err, w.Where)
	}
	if err != nil {
		return Release{Err: err}
	}
	if have.Name != "" {
		s = settle(have, s)
	}
	return Release{Skill: s}
}

// restated is a locked entry that w keeps, as w says it now: the range may have been edited since.
func restated(have lock.Skill, w Named) lock.Skill {
	if want := w.Ref.String(); have.Ref != want {
		have.Ref = want
		if w.Kind != "" {
			have.RefKind = w.Kind
		}
	}
	return have
}

// A broken error is that of a release whose SKILL.md cannot be used.
type broken struct{ error }

func (b *broken) Unwrap() error { return b.error }

// Broken reports whether err is that a release cannot be used as it was published.
func Broken(err error) bool {
	_, ok := errors.AsType[*broken](err)
	return ok
}

// Staying is err; that of a broken release with the way to stay with the locked one.
func Staying(err error, have lock.Skill) error {
	e, ok := diag.Own(err)
	if !ok || !Broken(err) || have.Name == "" {
		return err
	}
	return &broken{e.Hint("tell its author. To stay with %s and hear no more of it: skl update --hold %s --reason TEXT", have.Version, have.Name)}
}

// CodeOther is the code of an entry of skl.toml whose reference names another skill than its key.
const CodeOther = "other_skill"

// CodeDown is the code of a version that would be chosen and is older than the locked one, which is no longer there.
const CodeDown = "version_gone"

// Down refuses to go from a locked version to an older one of the same place, which happens where a tag was deleted: nobody asked for that. A
// registry takes versions back by saying so, and is believed. Nil is no step down.
func Down(have, now lock.Skill) error {
	if have.Source != now.Source || have.URL != now.URL || have.Source == "registry" || have.RefKind != lock.Range || now.RefKind != lock.Range {
		return nil
	}
	if compare(now.Version, have.Version) >= 0 {
		return nil
	}
	r, err := ref.Parse(now.Ref)
	if err != nil {
		return err
	}
	r.Version = "=" + now.Version
	return diag.New(diag.Unmet, CodeDown, "version %s of %s is no longer in %s: the newest that is left is %s", have.Version, have.Name, diag.Printable(have.URL), now.Version).
		Hint("ask its publisher, or take that one: skl install %s", r)
}

// Keeps reports whether the locked release is one that w could mean, by its ref, name and version alone.
func Keeps(s lock.Skill, w Named) bool {
	if s.Skill != w.Skill {
		return false
	}
	if s.Ref == w.Ref.String() {
		return true
	}
	base, _, _ := strings.Cut(s.Ref, "@")
	if r, err := ref.Parse(s.Ref); err == nil && r.Kind == ref.OCI {
		base = r.WithoutVersion().String()
	} else if strings.HasPrefix(s.Ref, "git+") {
		base = strings.TrimSuffix(s.Ref, "@"+afterVersion(s.Ref))
	}
	return base == w.Ref.WithoutVersion().String() && Satisfies(s, w.Ref.Version, w.Kind)
}

// afterVersion is the version part of a written git ref, whose user may hold an "@" as well.
func afterVersion(s string) string { return s[strings.LastIndexByte(s, '@')+1:] }

// settle carries the digests of an entry over to a newly chosen one of the same
// commit or manifest, so that it is not fetched again to find them out.
func settle(have, chosen lock.Skill) lock.Skill {
	if have.SameBytes(chosen) {
		chosen.Tree, chosen.Files, chosen.Bytes = have.Tree, have.Files, have.Bytes
		chosen.Permissions = have.Permissions
		if have.Version == chosen.Version {
			chosen.Moved = cmp.Or(chosen.Moved, have.Moved)
		}
		if a, b := have.Log, chosen.Log; a != nil && b != nil && a.Origin == b.Origin && a.Entry == b.Entry {
			chosen.Log = a // a newer checkpoint proves nothing more
		}
	}
	return chosen
}

// Choose resolves one want to a lock entry.
func (rs *Resolver) Choose(ctx context.Context, w Named) (lock.Skill, error) {
	o, err := rs.Open(ctx, w.Want)
	if err != nil {
		return lock.Skill{}, diag.Located(err, w.Where)
	}
	found, err := o.Skills(ctx, []string{w.Called()})
	if err == nil {
		err = rs.named(ctx, o, w, found[0])
	}
	if err != nil {
		return lock.Skill{}, diag.Located(err, w.Where)
	}
	err = found[0].Invalid
	if other := found[0].Broken(); err == nil && other != nil {
		err = other.Invalid // what was asked for by name does not move to another place because its own broke
	}
	if err == nil {
		err = source.CheckDirectory(w.Name)
	}
	if err != nil {
		return lock.Skill{}, &broken{diag.Prefixed(err, strings.TrimSpace(w.Name+" "+found[0].Lock.Version))}
	}
	s := found[0].Lock
	s.Name, s.Skill = w.Name, w.Skill
	if o.Kind == lock.Range && o.Release.Version != "" && s.Version != o.Release.Version {
		return lock.Skill{}, diag.Located(diag.New(diag.Misuse, source.CodeNoVersion, "%s: version %s is not one of %s, but of another skill there", w.Ref.WithoutVersion(), o.Release.Version, w.Name), w.Where)
	}
	s.Ref = w.Ref.String()
	return s, nil
}

// named refuses a skill, found by the key of its entry in skl.toml, where the reference names another one.
func (rs *Resolver) named(ctx context.Context, o *Opened, w Named, found source.Found) error {
	if name := cmp.Or(o.Place.Ref.Skill, o.Place.Word); name == "" || name == w.Called() {
		return nil
	}
	meant, err := o.Skills(ctx, nil)
	if err != nil || slices.ContainsFunc(meant, func(f source.Found) bool { return f.Lock.Path == found.Lock.Path && f.Lock.URL == found.Lock.URL }) {
		return err
	}
	return diag.New(diag.Misuse, CodeOther, "%s names the skill %s, and skl.toml calls it %s", w.Ref, diag.Printable(meant[0].Lock.Name), w.Called()).
		Hint("skl install %s --as %s --force", w.Ref, w.Name)
}
