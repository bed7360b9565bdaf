package apply

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// Mend puts right what needs no decision, in skills that are as skl.lock says: links and copies that are missing or that a
// checkout changed, what git does not carry of files, and skills that are missing as a whole. It returns the paths. What someone edited, and what is not skl's, stays;
// so does a skill of which files are missing that ci would not install, and that is said.
// The caller holds the lock of the installation.
func (a *Applier) Mend(ctx context.Context) (mended []string, err error) {
	f, err := a.Scope.Load()
	if err != nil || !f.HasLock {
		return nil, err
	}
	in, err := a.installer(knownHosts(f.Manifest.Targets.Hosts), f.Manifest.Targets.Links)
	if err != nil {
		return nil, err
	}
	in.Spares = func(string) bool { return true } // what nobody can read of them is said elsewhere
	have, err := in.Survey(ctx, f.Lock.Skills, f.Lock, true)
	if err != nil {
		return nil, err
	}
	want := slices.DeleteFunc(slices.Clone(f.Lock.Skills), func(s lock.Skill) bool {
		h := have[s.Name]
		if h.Spared {
			return true
		}
		if missing(h) {
			return false
		}
		return !h.Present || !h.Managed || h.Edits != nil || otherRelease(h.Receipt, s) != ""
	})
	want = slices.DeleteFunc(want, func(s lock.Skill) bool {
		if h := have[s.Name]; !missing(h) && (h.Damaged == nil || !h.Lacks && in.Store.Has(s.Tree)) {
			return false
		}
		err := a.restorable(ctx, in, f, s, have)
		if err != nil {
			way := "; skl ci puts it back"
			if diag.ClassOf(err) == diag.Refused {
				way = "" // ci refuses it too
			}
			a.Scope.Tell.Warn("%s is not mended: %s%s", s.Name, diag.Clip(diag.Printable(err.Error()), 300), way)
		}
		return err != nil
	})
	changes := in.Diff(want, have, install.Options{})
	changes.List = slices.DeleteFunc(changes.List, func(c install.Change) bool {
		return slices.ContainsFunc(changes.Conflicts, func(x install.Conflict) bool { return x.Name == c.Name })
	})
	changes.Conflicts = nil
	if !changes.Any() {
		return nil, nil
	}
	if _, err := in.Apply(ctx, changes, install.Files{LockPath: f.LockPath, Lock: f.LockText}); err != nil {
		return nil, install.Explain(err, a.Scope.Root)
	}
	for _, c := range changes.List {
		if h := have[c.Name]; h.Damaged != nil || missing(h) {
			mended = append(mended, filepath.Join(c.Root, c.Name))
		}
		mended = append(mended, c.Linked()...)
	}
	return mended, refreshCaches(a.Scope.Site, changes)
}

// missing reports whether nothing of a skill is there, in this root or in another.
func missing(h install.Have) bool { return !h.Present && !h.Disabled && len(h.Strays) == 0 }

// restorable fetches what is missing of s, and reports why ci would not install it.
func (a *Applier) restorable(ctx context.Context, in *installer, f *scope.Files, s lock.Skill, have map[string]install.Have) error {
	if err := a.usableWhole(ctx, f); err != nil {
		return err
	}
	if err := a.RefuseBlocked(ctx, Insist, a.Releases(&lock.Lock{Skills: []lock.Skill{s}}, nil, nil)); err != nil {
		return err
	}
	return a.admit(ctx, in, f, []lock.Skill{s}, have, signature.Checking{Keep: true})
}
