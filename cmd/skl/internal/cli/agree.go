package cli

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// disagreements are, by name, the refusals of lock entries that are not of the source that owns their ref.
// Entries that do not follow from the manifest are left to [resolver.Stale]. An error is of those that could not be
// decided.
func (w *world) disagreements(ctx context.Context, f *files, all []resolver.Named) (map[string]error, error) {
	rs := w.resolver(f.manifest)
	found := make([]error, len(all))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, want := range all {
		s, ok := f.lock.Skill(want.Name)
		if !ok || s.Ref != want.Ref.String() {
			continue
		}
		g.Go(func() error {
			err := rs.Agree(gctx, want, s)
			if err == nil || diag.ClassOf(err) == diag.Refused {
				found[i] = err
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := map[string]error{}
	for i, err := range found {
		if err != nil {
			out[all[i].Name] = err
		}
	}
	return out, nil
}

// agree refuses, exit 4, a lock of which an entry is not of the source that owns its ref. Every command that
// uses entries of the lock calls it, or disagreements, before it fetches or writes.
func (w *world) agree(ctx context.Context, f *files) error {
	all, err := wants(f.manifest)
	if err != nil {
		return err
	}
	return w.agreeOn(ctx, f, all)
}

// agreeOn is agree for some of the manifest's wants.
func (w *world) agreeOn(ctx context.Context, f *files, all []resolver.Named) error {
	bad, err := w.disagreements(ctx, f, all)
	if err != nil {
		return err
	}
	for _, want := range all {
		if err := bad[want.Name]; err != nil {
			return err
		}
	}
	return nil
}

// undecided is what becomes of an entry whose owner cannot be computed because nobody answers. What was
// bound or installed stays usable without a network, and that it was not checked is said; a namespace that nothing
// binds is refused, since who owns it is recorded on first use.
func (w *world) undecided(want resolver.Named, err error) error {
	if !w.offline() || want.Ref.Kind == ref.Name && w.config.Namespaces[want.Ref.Owner] == "" && !w.bound(want.Ref.Owner) {
		return err
	}
	w.ui.Warn("whether %s still leads to what skl.lock has for %s was not checked: skl is offline", want.Ref.WithoutVersion(), want.Name)
	return nil
}

// untagged is undecided for the pin of a version.
func (w *world) untagged(want resolver.Named, s lock.Skill, err error) error {
	if !w.offline() || diag.ClassOf(err) == diag.Refused {
		return err
	}
	w.ui.Warn("whether %s %s is what skl.lock pins in %s was not checked: skl is offline", want.Name, s.Version, s.URL)
	return nil
}

// bound reports whether the manifest says who owns a namespace.
func (w *world) bound(namespace string) bool {
	f, err := w.load()
	return err == nil && f.manifest.Namespaces[namespace] != ""
}

// staleNames are the names of entries and wants that do not fit each other.
func staleNames(f *files) ([]string, error) {
	all, err := wants(f.manifest)
	if err != nil {
		return nil, err
	}
	return resolver.Stale(all, f.lock), nil
}

// usable refuses the entry of name, which something is going to be fetched by, as a whole lock is refused.
func (w *world) usable(ctx context.Context, f *files, name string) error {
	all, err := wants(f.manifest)
	if err != nil {
		return err
	}
	if slices.Contains(resolver.Stale(all, f.lock), name) {
		return diag.New(diag.Unmet, "stale_lock", "%s does not follow from %s: %s", w.short(f.lockPath), w.short(f.manifestPath), name).Hint("skl lock")
	}
	return w.agreeOn(ctx, f, slices.DeleteFunc(all, func(n resolver.Named) bool { return n.Name != name }))
}
