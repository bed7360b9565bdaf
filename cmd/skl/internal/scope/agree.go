package scope

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// Disagreements are, by name, the refusals of lock entries that are not of the source that owns their ref, and why nobody could say that of
// others. Entries that do not follow from the manifest are left to [resolver.Stale].
// Without ask, tags that this machine has not seen are told and not asked for. Whoever calls it has to call CheckLocal
// before: a project that is not trusted makes nobody ask an address of this machine.
func (sc *Scope) Disagreements(ctx context.Context, f *Files, all []resolver.Named, ask bool) (refused, undecided map[string]error, err error) {
	refused, undecided = map[string]error{}, map[string]error{}
	for i, err := range sc.disagreements(ctx, f, all, ask) {
		switch {
		case err != nil && diag.ClassOf(err) != diag.Refused:
			undecided[all[i].Name] = err
		case err != nil:
			refused[all[i].Name] = err
		}
	}
	return refused, undecided, ctx.Err()
}

// disagreements are the errors of all, in their order.
func (sc *Scope) disagreements(ctx context.Context, f *Files, all []resolver.Named, ask bool) []error {
	rs := sc.Resolver(f.Manifest)
	rs.AskNoTags = !ask
	found := make([]error, len(all))
	var g errgroup.Group
	g.SetLimit(8)
	for i, want := range all {
		s, ok := f.Lock.Skill(want.Name)
		if !ok || s.Ref != want.Ref.String() {
			continue
		}
		g.Go(func() error {
			found[i] = rs.Agree(ctx, want, s)
			return nil
		})
	}
	g.Wait()
	return found
}

// Agree refuses, exit 4, a lock of which an entry is not of the source that owns its ref. Every command that
// uses entries of the lock calls it, or disagreements, before it fetches or writes.
func (sc *Scope) Agree(ctx context.Context, f *Files) error {
	all, err := AllWants(f)
	if err != nil {
		return err
	}
	return sc.AgreeOn(ctx, f, all)
}

// AgreeOn is agree for some of the manifest's wants.
func (sc *Scope) AgreeOn(ctx context.Context, f *Files, all []resolver.Named) error {
	unsure, err := sc.AgreeApart(ctx, f, all)
	if err == nil {
		err = firstOf(all, unsure)
	}
	return err
}

// AgreeApart is AgreeOn where what nobody could say of one skill does not stop the others: that is returned by name.
func (sc *Scope) AgreeApart(ctx context.Context, f *Files, all []resolver.Named) (unsure map[string]error, err error) {
	refused, unsure, err := sc.Disagreements(ctx, f, all, true)
	if err == nil {
		err = firstOf(all, refused)
	}
	return unsure, err
}

// firstOf is the error of the first of all that has one.
func firstOf(all []resolver.Named, errs map[string]error) error {
	for _, want := range all {
		if err := errs[want.Name]; err != nil {
			return err
		}
	}
	return nil
}

// undecided is what becomes of an entry whose owner cannot be computed because nobody answers. What this project is known to have got by its
// reference is that. Otherwise, what was bound or installed stays usable without a network, and that it was not checked is said; of a marketplace or
// a collection, which lead anywhere, nothing is fetched then. A namespace that nothing binds is refused, since who owns it is recorded on
// first use.
func (sc *Scope) undecided(want resolver.Named, bound, known bool, err error) error {
	r := want.Ref.WithoutVersion()
	leads := want.Ref.Kind == ref.Market || want.Ref.Kind == ref.OCI && want.Ref.Skill != ""
	switch {
	case !sc.Offline() && known:
		sc.tags.warnOnce("did not check that %s still leads to the locked release of %s, as it did when that was installed here: %s", r, want.Name, err)
		return nil
	case !sc.Offline():
		if e, ok := errors.AsType[*diag.Error](err); ok && leads {
			return e.Hint("to use the local copy without asking: add --offline")
		}
		return err
	case want.Ref.Kind == ref.Name && !bound:
		return err
	case leads && !known:
		sc.unvouched.Store(want.Name, r.String())
	}
	sc.Tell.Warn("offline: did not check that %s still leads to the locked release of %s", r, want.Name)
	return nil
}

// vouched refuses to fetch by an entry of which nobody could say whether it is what its reference means.
func (sc *Scope) vouched(s lock.Skill) error {
	r, unsure := sc.unvouched.Load(s.Name)
	if !unsure {
		return nil
	}
	return diag.New(diag.Unmet, "unvouched", "nobody could say whether the release of %s in skl.lock is what %s means, so nothing is fetched by it", s.Name, r).
		Hint("run the command again without --offline")
}

// untagged is undecided for the pin of a version.
func (sc *Scope) untagged(want resolver.Named, s lock.Skill, err error) error {
	why := "skl is offline"
	switch {
	case err == nil:
		why = "skl ci asks it"
	case !sc.Offline():
		if e, ok := errors.AsType[*diag.Error](err); ok {
			return e.Hint("to go on without asking: add --offline")
		}
		return err
	}
	sc.tags.warnOnce("%s %s was not compared with the tags of %s: %s", want.Name, s.Version, s.URL, why)
	return nil
}

// Usable refuses the entry of name, which something is going to be fetched by, as a whole lock is refused.
func (sc *Scope) Usable(ctx context.Context, f *Files, name string) error {
	stale, err := StaleNames(f)
	if err != nil {
		return err
	}
	if slices.Contains(stale, name) {
		return diag.New(diag.Unmet, "stale_lock", "%s does not follow from %s: %s", sc.Short(f.LockPath), sc.Short(f.ManifestPath), name).Hint("skl lock")
	}
	all, err := AllWants(f)
	if err != nil {
		return err
	}
	return sc.AgreeOn(ctx, f, slices.DeleteFunc(all, func(n resolver.Named) bool { return n.Name != name }))
}
