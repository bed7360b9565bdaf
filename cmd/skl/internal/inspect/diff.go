package inspect

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/spec/diag"
)

// A Diff is how two trees of a skill differ.
type Diff struct {
	Name  string           `json:"name"`
	From  string           `json:"from"`
	To    string           `json:"to"`
	Files []trees.FileDiff `json:"files"`

	Permissions []apply.PermissionChange `json:"permissions"`
}

// diffOf compares two trees.
func diffOf(name, fromName, toName string, from, to trees.Tree) Diff {
	return Diff{name, fromName, toName, trees.Diff(from, to), apply.PermissionDiff(from.Asks(), to.Asks())}
}

// A LocksDiff is how skl.lock differs from that of a git revision.
type LocksDiff struct {
	OK     bool             `json:"ok"` // nothing is trusted less
	Base   string           `json:"base"`
	Skills []apply.LockDiff `json:"skills"`
}

// Diff compares the installed copy of a skill with its release, or with the release of another version. A skill that is
// not in the lock is compared with its other copy.
func (in *Inspector) Diff(ctx context.Context, name, version string) (Diff, error) {
	if err := in.Applier.Scope.Settled(); err != nil {
		return Diff{}, err
	}
	f, err := in.Applier.Scope.Load()
	if err != nil {
		return Diff{}, err
	}
	dir, _ := in.Applier.Scope.Site.Place(name)
	if strings.Contains(name, "@") { // one copy of several
		if name, dir, err = in.qualified(ctx, name); err != nil {
			return Diff{}, err
		}
	}
	s, ok := f.Lock.Skill(name)
	if !ok {
		return in.diffCopies(ctx, name)
	}
	if err := in.Applier.Scope.Usable(ctx, f, name); err != nil {
		return Diff{}, err
	}
	installed, err := trees.Read(scope.FilesIn(dir))
	if errors.Is(err, fs.ErrNotExist) {
		e := diag.New(diag.Unmet, "missing", "%s is not there: %s", name, in.Applier.Scope.Short(dir))
		return Diff{}, e.Hint("%s", apply.MendOf(in.Applier, "missing", name, false, dir))
	}
	if err != nil {
		return Diff{}, err
	}
	other := s
	if version != "" {
		if other, err = in.Applier.AtVersion(ctx, f, name, version); err != nil {
			return Diff{}, err
		}
	}
	release, err := trees.Release(ctx, in.Applier.Scope, other)
	if err != nil {
		return Diff{}, err
	}
	if version == "" {
		// The published files come first: the edits are newer.
		return diffOf(name, s.Version, "installed", release, installed), nil
	}
	return diffOf(name, s.Version, other.Version, installed, release), nil
}

// qualified finds the copy with a qualified name: the name of its skill, and where it is.
func (in *Inspector) qualified(ctx context.Context, name string) (plain, dir string, err error) {
	l, err := in.Applier.Scope.Discover(ctx, nil)
	if err != nil {
		return "", "", err
	}
	found, err := scope.Copies(l, name)
	if err != nil {
		return "", "", err
	}
	if _, err := scope.FilesOf(found[0]); err != nil { // a link that leads out
		return "", "", err
	}
	return found[0].Name, found[0].Path, nil
}

// diffCopies compares two copies of a skill that is not in the lock.
func (in *Inspector) diffCopies(ctx context.Context, name string) (Diff, error) {
	l, err := in.Applier.Scope.Discover(ctx, nil)
	if err != nil {
		return Diff{}, err
	}
	found, err := scope.Copies(l, name)
	if err != nil {
		return Diff{}, err
	}
	if len(found) < 2 {
		return Diff{}, diag.New(diag.Misuse, "one_copy", "%s is not in skl.lock and has one copy only, so there is nothing to compare", name)
	}
	var both [2]trees.Tree
	for i := range both {
		files, err := scope.FilesOf(found[i])
		if err != nil {
			return Diff{}, err
		}
		if both[i], err = trees.Read(files); err != nil {
			return Diff{}, err
		}
	}
	return diffOf(name, found[0].Qualified, found[1].Qualified, both[0], both[1]), nil
}

// DiffLocks compares skl.lock with that of a git revision.
func (in *Inspector) DiffLocks(ctx context.Context, rev string) (LocksDiff, error) {
	if err := in.Applier.Scope.Settled(); err != nil {
		return LocksDiff{}, err
	}
	f, err := in.Applier.Scope.Load()
	if err != nil {
		return LocksDiff{}, err
	}
	return in.diffLocks(ctx, f, rev)
}

func (in *Inspector) diffLocks(ctx context.Context, f *scope.Files, rev string) (LocksDiff, error) {
	old, err := in.Applier.LockAt(ctx, f, rev)
	if err != nil {
		return LocksDiff{}, err
	}
	accepted, err := in.Applier.Acceptances(ctx, f, rev)
	if err != nil {
		return LocksDiff{}, err
	}
	list, err := in.Applier.CompareLocks(ctx, f, old, accepted)
	if err != nil {
		return LocksDiff{}, err
	}
	lower := slices.ContainsFunc(list, func(d apply.LockDiff) bool { return d.Downgrade != "" })
	return LocksDiff{OK: !lower, Base: rev, Skills: list}, nil
}
