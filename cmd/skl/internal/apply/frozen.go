package apply

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// A FrozenRequest asks for exactly what skl.lock says.
type FrozenRequest struct {
	Hosts         []string // instead of the recorded agents
	AllowUnsigned bool     // take here what skl.lock says was taken without a signature
	DryRun        bool
}

// Frozen installs the lock and nothing else. It refuses before anything is
// written to a root: a lock that does not cover the manifest, and local edits,
// with exit 3; bytes that are not what is locked with exit 4.
func (a *Applier) Frozen(ctx context.Context, r FrozenRequest) (Result, error) {
	if r.DryRun {
		if err := a.Scope.Settled(); err != nil {
			return Result{}, err
		}
	}
	f, end, err := a.frozenFiles(ctx, r.DryRun)
	if err != nil {
		return Result{}, err
	}
	defer end()
	if err := a.RefuseBlocked(ctx, Insist, a.Releases(f.Lock, nil, nil)); err != nil {
		return Result{}, err
	}
	hostIDs := f.Manifest.Targets.Hosts
	if len(r.Hosts) > 0 {
		if hostIDs, err = scope.ExpandHosts(r.Hosts); err != nil {
			return Result{}, err
		}
	}
	in, err := a.installer(hostIDs, f.Manifest.Targets.Links)
	if err != nil {
		return Result{}, err
	}
	have, err := in.Survey(ctx, f.Lock.Skills, f.Lock, true)
	if err != nil {
		return Result{}, err
	}
	changes := in.Diff(f.Lock.Skills, have, install.Options{Prune: true})
	if err := a.conflicts(changes); err != nil {
		return Result{}, err
	}
	if err := edited(changes); err != nil {
		return Result{}, err
	}
	if err := a.admit(ctx, in, f, f.Lock.Skills, have, signature.Checking{Keep: !r.DryRun, AllowUnsigned: r.AllowUnsigned}); err != nil {
		return Result{}, err
	}
	if len(in.unsaid) > 0 {
		a.Scope.Tell.Note("%s does not say yet what %s for; skl install writes it", a.Scope.Short(f.LockPath), diag.Count(len(in.unsaid), "skill")+map[bool]string{true: " asks", false: " ask"}[len(in.unsaid) == 1])
	}
	result, err := a.deliver(ctx, in.Installer, changes, delivery{files: f, lock: f.Lock, hosts: hostIDs, dry: r.DryRun})
	result.Asks.Asked = in.asked
	return result, err
}

// frozenFiles are the files of the scope, which skl.lock covers, with its lock held; end gives that back. What an interrupted install left is settled.
func (a *Applier) frozenFiles(ctx context.Context, dry bool) (f *scope.Files, end func(), err error) {
	if f, err = a.Scope.Load(); err != nil {
		return nil, nil, err
	}
	if !f.HasLock {
		e := diag.New(diag.Unmet, "no_lock", "there is no %s", a.Scope.Short(f.LockPath))
		if !f.HasManifest {
			return nil, nil, begin(e)
		}
		return nil, nil, e.Hint("skl install")
	}
	if err := cmp.Or(a.Lost(f), a.Scope.CheckHosts(f.Manifest)); err != nil {
		return nil, nil, err
	}
	if err := a.usableWhole(ctx, f); err != nil {
		return nil, nil, err
	}
	if _, err := a.Scope.Policy(ctx); err != nil {
		return nil, nil, err // before anything is fetched
	}
	if dry {
		return f, func() {}, nil
	}
	if end, err = a.Scope.Begin(ctx, false); err != nil {
		return nil, nil, err
	}
	if a.Scope.Changed(f) { // an interrupted install was settled, or another skl was at work
		if f, err = a.Scope.Load(); err == nil {
			err = a.usableWhole(ctx, f)
		}
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return f, end, nil
}

// admit fetches what is missing of skills, entries of the lock of f, and checks them as ci does: their signatures, what their files say, and
// the policy in force. Nothing is written to a root.
func (a *Applier) admit(ctx context.Context, in *installer, f *scope.Files, skills []lock.Skill, have map[string]install.Have, c signature.Checking) error {
	errs, err := a.Signatures.CheckLocked(ctx, skills, c)
	if err = cmp.Or(err, first(errs)); err != nil {
		return err
	}
	if err := a.Scope.Prefetch(ctx, in.Installer, skills, have); err != nil {
		return err
	}
	wishes, err := a.materialise(ctx, in, materials{want: skills, errs: errs, old: f.Lock, have: have, dry: !c.Keep, chosen: func(string) bool { return false }})
	if err != nil {
		return err
	}
	for i := range skills {
		s := &skills[i]
		front, _, err := in.front(s, have[s.Name])
		if err == nil {
			err = a.checkNeeds(f, *s, front)
		}
		if err != nil {
			return err
		}
	}
	if err := a.Signatures.BindAll(ctx, in.fetched, skills); err != nil {
		return err
	}
	if err := a.Signatures.CompareKept(ctx, skills); err != nil {
		return err
	}
	refused, err := a.obey(ctx, in, skills, have)
	if err := cmp.Or(err, PolicyError(refused)); err != nil {
		return err
	}
	for i, mine := range wishes {
		if len(mine) > 0 {
			return unsaidRefusal(mine, skills[i].Version, "skl install")
		}
	}
	return nil
}

// usableWhole is fresh for a project that may be a stranger's.
func (a *Applier) usableWhole(ctx context.Context, f *scope.Files) error {
	if err := a.Scope.CheckLocal(f); err != nil {
		return err
	}
	return a.fresh(ctx, f)
}

// fresh refuses a lock that does not follow from the manifest, and one whose entries are not of the sources that
// own their refs.
func (a *Applier) fresh(ctx context.Context, f *scope.Files) error {
	stale, err := scope.StaleNames(f)
	if err != nil {
		return err
	}
	if len(stale) > 0 {
		return a.stale(f, stale)
	}
	err = a.Scope.Agree(ctx, f)
	if errors.Is(err, diag.Code(resolver.CodeSource)) {
		// A registry does not name the tag of what it blocked any more: that is no change of the lock.
		if taken, asked := a.TakenBack(ctx, Look, a.Releases(f.Lock, nil, nil)); asked == nil {
			return cmp.Or(Blocked(taken), err)
		}
	}
	return err
}

// stale is the refusal of a lock of which entries do not follow from the manifest.
func (a *Applier) stale(f *scope.Files, names []string) error {
	return diag.New(diag.Unmet, "stale_lock", "%s does not follow from %s: %s", a.Scope.Short(f.LockPath), a.Scope.Short(f.ManifestPath), strings.Join(names, ", ")).
		Hint("skl lock")
}

// edited refuses skills with local edits, all of them in one sentence.
func edited(c install.Changes) error {
	var names []string
	for _, change := range c.List {
		if change.Action == install.Held || len(change.Stays()) > 0 {
			names = append(names, change.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return diag.New(diag.Unmet, "local_edits", "%s with local edits: %s", diag.Count(len(names), "skill"), strings.Join(names, ", ")).
		Hint("skl diff %s", names[0]).Hint("skl install --force replaces them, after a backup")
}

// first is the first error of several, nil if there is none.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
