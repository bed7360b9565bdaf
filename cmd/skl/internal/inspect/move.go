package inspect

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

// A MoveRequest asks to put a copy where no agent loads it, or back.
type MoveRequest struct {
	Name   string
	Back   bool // enable a copy that was put aside
	DryRun bool
}

// A Moved is a copy that was, or would be, moved.
type Moved struct {
	OK   bool   `json:"ok"`
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
	// Links are the links to the copy, and the copies of it that skl made, which went along: where they were, or are again.
	Links []string `json:"links"`
}

// Move renames the copy of this scope between its root and what lies aside of it. Links to it in other roots of the scope,
// and copies of it that skl made, go along.
func (in *Inspector) Move(ctx context.Context, q MoveRequest) (Moved, error) {
	end, err := in.Applier.Scope.Begin(ctx, q.DryRun)
	if err != nil {
		return Moved{}, err
	}
	defer end()
	l, err := in.Applier.Scope.Discover(ctx, nil)
	if err != nil {
		return Moved{}, err
	}
	found, err := scope.Copies(l, q.Name)
	if err != nil {
		return Moved{}, err
	}
	i := slices.IndexFunc(found, func(r roots.Record) bool {
		return (r.State == roots.Disabled) == q.Back && (r.Scope == string(in.Applier.Scope.Kind) || r.Qualified == q.Name)
	})
	if i < 0 {
		return Moved{}, diag.New(diag.Misuse, "no_such_copy", "%s has no %s copy in scope %s", q.Name, map[bool]string{true: "disabled", false: "enabled"}[q.Back], in.Applier.Scope.Kind).
			Hint("skl list --all").Hint("name the scope: --scope project or --scope user")
	}
	at := found[i]
	root := at.Path
	for _, r := range l.Roots {
		if r.ID == at.Root {
			root = r.Path
		}
	}
	for _, own := range in.Applier.Scope.Site.All() { // by the name that installs look for it with
		if scope.Resolved(own) == scope.Resolved(root) {
			root = own
		}
	}
	to := filepath.Join(roots.Aside(root), "disabled", filepath.Base(at.Path))
	if q.Back {
		to = filepath.Join(root, filepath.Base(at.Path))
	}
	if scope.Exists(to) {
		return Moved{}, diag.New(diag.Unmet, "in_the_way", "%s exists already", in.Applier.Scope.Short(to)).Hint("move it away")
	}
	out := Moved{true, at.Name, at.Path, to, []string{}}
	if !q.DryRun {
		site := in.Applier.Scope.Site
		site.Root = root
		if err := site.Move(at.Path, to); err != nil {
			return Moved{}, err
		}
	}
	enabled := at.Path
	if q.Back {
		enabled = to
	}
	out.Links, err = in.moveLinks(l, at, root, enabled, q)
	return out, err
}

// moveLinks moves what leads to the copy whose place is enabled, in the other roots of its scope.
func (in *Inspector) moveLinks(l roots.Listing, at roots.Record, root, enabled string, q MoveRequest) ([]string, error) {
	moved := []string{}
	for _, r := range l.Roots {
		if r.Scope != at.Scope || r.Path == root || r.State == roots.RootAlias {
			continue
		}
		path, aside := filepath.Join(r.Path, filepath.Base(enabled)), filepath.Join(roots.Aside(r.Path), "disabled", filepath.Base(enabled))
		from, to := path, aside
		if q.Back {
			from, to = aside, path
		}
		if !in.belongs(from, path, enabled) || scope.Exists(to) {
			continue
		}
		if !q.DryRun {
			site := in.Applier.Scope.Site
			site.Root = r.Path
			if err := site.Move(from, to); err != nil {
				return moved, err
			}
		}
		moved = append(moved, path)
	}
	return moved, nil
}

// belongs reports whether what lies at from is a link to the skill at enabled, as it is read at path, or a copy of it that
// skl made.
func (in *Inspector) belongs(from, path, enabled string) bool {
	dir := in.Applier.Scope.Site.Dir
	info, err := dir.Lstat(from)
	switch {
	case err != nil:
		return false
	case info.Mode()&os.ModeSymlink != 0:
		text, err := dir.Readlink(from)
		return err == nil && install.Target(path, text) == install.Target(path, enabled)
	}
	r, err := roots.ReadReceipt(filepath.Dir(path), filepath.Base(path))
	return err == nil && info.IsDir() && r.CopyOf != "" && strings.HasSuffix(enabled, string(filepath.Separator)+filepath.FromSlash(r.CopyOf))
}
