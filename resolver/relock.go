package resolver

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// A Named is what a manifest asks for under one name.
type Named struct {
	Name string
	Want
	Root  string        // where the manifest wants it installed, as lock.Skill has it
	Where diag.Position // of the manifest's entry
}

// Stale returns the names whose lock entry does not follow from the manifest: missing,
// of another ref or root, or not wanted. A lock with none is fresh. What an entry says of who requires it
// counts for nothing. Whether the entry of a ref is also of the source that owns the ref, [Resolver.Agree] says.
func Stale(wants []Named, l *lock.Lock) []string {
	var stale []string
	for _, w := range wants {
		if s, ok := l.Skill(w.Name); !ok || s.Ref != w.Ref.String() || s.Root != w.Root {
			stale = append(stale, w.Name)
		}
	}
	for _, s := range l.Skills {
		if !slices.ContainsFunc(wants, func(w Named) bool { return w.Name == s.Name }) {
			stale = append(stale, s.Name)
		}
	}
	slices.Sort(stale)
	return stale
}

// Relock chooses a release for every want and returns the new lock. An entry of old
// that still follows from its want is kept as it is, unless upgrade holds
// its name, and refused if it does not [Resolver.Agree]; entries that nothing wants are left out. Errors of
// several wants are joined; then there is no lock.
//
// A new entry has no tree digest yet: its bundle was not fetched.
func (rs *Resolver) Relock(ctx context.Context, wants []Named, old *lock.Lock, upgrade func(name string) bool) (*lock.Lock, error) {
	next := old.Clone()
	for _, s := range old.Skills {
		if !slices.ContainsFunc(wants, func(w Named) bool { return w.Name == s.Name }) {
			next.Remove(s.Name)
		}
	}
	entries := make([]lock.Skill, len(wants))
	errs := make([]error, len(wants))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, w := range wants {
		have, ok := old.Skill(w.Name)
		if ok && !upgrade(w.Name) && Keeps(have, w) {
			if want := w.Ref.String(); have.Ref != want {
				have.Ref = want
				if w.Kind != "" {
					have.RefKind = w.Kind
				}
			}
			entries[i] = have
			g.Go(func() error {
				errs[i] = rs.agree(gctx, w, have)
				return nil
			})
			continue
		}
		g.Go(func() error {
			entries[i], errs[i] = rs.Choose(gctx, w)
			if ok && rs.Gone != nil && Keeps(have, w) && Dropped(errs[i]) {
				entries[i], errs[i] = have, rs.gone(gctx, w, have)
				return nil
			}
			if errs[i] == nil {
				errs[i] = diag.Located(rs.Unmoved(gctx, have, entries[i], w.Ref.Version), w.Where)
			}
			if ok && rs.Moved != nil && Keeps(have, w) && errors.Is(errs[i], diag.Code(CodeMoved)) {
				rs.Moved(have, errs[i])
				entries[i], errs[i] = have, nil
				return nil
			}
			if errs[i] == nil && ok {
				entries[i] = settle(have, entries[i])
			}
			return nil
		})
	}
	g.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, first(errs)
	}
	for i, e := range entries {
		e.Root = wants[i].Root
		next.Set(e)
	}
	return next, nil
}

// gone checks the entry of a skill that its place dropped, which is kept, and tells that.
func (rs *Resolver) gone(ctx context.Context, w Named, have lock.Skill) error {
	if err := rs.agree(ctx, w, have); err != nil {
		return err
	}
	since, err := rs.GoneSince(ctx, w, have)
	if err != nil {
		return diag.Located(err, w.Where)
	}
	rs.Gone(have, since)
	return nil
}

// first gives a single error its own class and hints; of several, the first leads.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Keeps reports whether the locked release is one that w could mean, by its ref and version alone.
func Keeps(s lock.Skill, w Named) bool {
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
	found, err := o.Skills(ctx, []string{w.Name})
	if err != nil {
		return lock.Skill{}, diag.Located(err, w.Where)
	}
	if err := found[0].Invalid; err != nil {
		return lock.Skill{}, diag.Located(err, w.Where)
	}
	s := found[0].Lock
	s.Ref = w.Ref.String()
	return s, nil
}
