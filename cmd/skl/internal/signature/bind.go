package signature

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/cmd/skl/internal/scope"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// A signature is about a manifest or a commit, and a lock says which files that is. Files that came with the lock could be
// others, so no release counts as signed before its files were compared with those of its source, once on each machine.

// compared reports whether that was done for s.
func (a *Judge) compared(s *lock.Skill) (bool, error) {
	a.trusts.mu.Lock()
	defer a.trusts.mu.Unlock()
	if a.trusts.compared != nil && a.trusts.compared(s) {
		return true, nil
	}
	var err error
	if a.trusts.compared, err = scope.Compared(a.scope); err != nil {
		a.trusts.compared = nil
		return false, err
	}
	return a.trusts.compared(s), nil
}

// CompareFiles fetches the release that s pins, and refuses s if that has other files.
func (a *Judge) CompareFiles(ctx context.Context, s *lock.Skill) error {
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := a.scope.Fetch(ctx, *s, guard); err != nil {
		return err
	}
	sum, err := guard.Close()
	if err == nil && sum.Tree != s.Tree {
		err = diag.New(diag.Refused, "E_DIGEST", "%s: %s has other files for the release that skl.lock names", s.Name, s.URL).
			Hint("see who changed it: git diff skl.lock").Hint("to write what the files say: skl lock --upgrade %s", s.Name)
	}
	return err
}

// Bind makes sure that the files of s are those of the release that was signed. It refuses others, and, where skl is offline, what was
// never compared.
func (a *Judge) Bind(ctx context.Context, s *lock.Skill) error {
	if a.Proven(s) { // a plan may be judged more than once
		return nil
	}
	known, err := a.compared(s)
	if err != nil || known {
		return err
	}
	if a.scope.Offline() {
		return diag.New(diag.Refused, "signature_offline", "the files of %s were never compared on this machine with the release that was signed, and skl is offline", release(s)).
			Hint("skl ci, once with a network, compares them")
	}
	return a.prove(ctx, s)
}

// prove compares the files of s with those of its source, and notes that that was done.
func (a *Judge) prove(ctx context.Context, s *lock.Skill) error {
	if err := a.CompareFiles(ctx, s); err != nil {
		return err
	}
	a.Prove(*s)
	return nil
}

// Prove notes that the files of s were compared with those of its source.
func (a *Judge) Prove(s lock.Skill) {
	a.trusts.mu.Lock()
	defer a.trusts.mu.Unlock()
	a.proven = append(a.proven, s)
}

// Proven reports whether the files of s were compared with those of its source by this command.
func (a *Judge) Proven(s *lock.Skill) bool {
	a.trusts.mu.Lock()
	defer a.trusts.mu.Unlock()
	for i := range a.proven {
		if p := &a.proven[i]; p.Name == s.Name && p.Tree == s.Tree && p.SameRelease(*s) {
			return true
		}
	}
	return false
}

// uncompared are those of skills whose files a lock and a folder alone vouch for: their source was not asked on this machine, now or before.
func (a *Judge) uncompared(skills []lock.Skill) (out []*lock.Skill, err error) {
	for i := range skills {
		s := &skills[i]
		if s.Source == "local" || s.Source == "embedded" || a.Proven(s) {
			continue
		}
		known, err := a.compared(s)
		if err != nil {
			return nil, err
		}
		if !known {
			out = append(out, s)
		}
	}
	return out, nil
}

// CompareKept compares the files of skills that came with the project with those of their source, once on each machine. Without a
// network it says which were not.
func (a *Judge) CompareKept(ctx context.Context, skills []lock.Skill) error {
	if a.scope.Offline() {
		return a.SayUncompared(skills)
	}
	list, err := a.uncompared(skills)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for _, s := range list {
		g.Go(func() error { return a.prove(gctx, s) })
	}
	return g.Wait()
}

// SayUncompared says which of skills nobody compared with their source on this machine.
func (a *Judge) SayUncompared(skills []lock.Skill) error {
	list, err := a.uncompared(skills)
	if err != nil || len(list) == 0 {
		return err
	}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.Name
	}
	a.scope.Tell.Warn("the files of %s came with the project, and were not compared with their source on this machine: skl ci does", diag.Brief(strings.Join(names, ", "), 200))
	return nil
}

// BindAll is Bind for those of skills that count as signed, or whose missing signature was accepted. What fetched says was fetched just now needs none:
// its pin was compared as it was read.
func (a *Judge) BindAll(ctx context.Context, fetched func(*lock.Skill) bool, skills []lock.Skill) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i := range skills {
		s := &skills[i]
		if s.Source == "local" || s.Source == "embedded" {
			continue
		}
		if fetched(s) && !a.scope.Offline() {
			a.Prove(*s)
		} else if known, ok := a.signed[s.Name]; ok && known.SameRelease(*s) {
			g.Go(func() error { return a.Bind(gctx, s) })
		}
	}
	return g.Wait()
}

// Forget makes the next fetch find out which files s has, where only a lock says it of a release that can be signed.
func (a *Judge) Forget(s *lock.Skill, old lock.Skill) error {
	if s == nil || !CanBeSigned(*s) || s.Tree == "" || s.Tree != old.Tree {
		return nil
	}
	known, err := a.compared(s)
	if err == nil && !known {
		s.Tree, s.Files, s.Bytes, s.Permissions = "", 0, 0, nil
	}
	return err
}
