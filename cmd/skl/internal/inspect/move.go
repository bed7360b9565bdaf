package inspect

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
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
}

// Move renames the copy of this scope between its root and what lies aside of it.
// Links that lead to it are left: they point nowhere until it is back.
func (in *Inspector) Move(ctx context.Context, q MoveRequest) (Moved, error) {
	end, err := in.Applier.Begin(ctx, q.DryRun)
	if err != nil {
		return Moved{}, err
	}
	defer end()
	l, err := in.Applier.Discover(ctx, nil)
	if err != nil {
		return Moved{}, err
	}
	found, err := scope.Copies(l, q.Name)
	if err != nil {
		return Moved{}, err
	}
	i := slices.IndexFunc(found, func(r roots.Record) bool {
		return (r.State == roots.Disabled) == q.Back && (r.Scope == string(in.Applier.Kind) || r.Qualified == q.Name)
	})
	if i < 0 {
		return Moved{}, diag.New(diag.Misuse, "no_such_copy", "%s has no %s copy in scope %s", q.Name, map[bool]string{true: "disabled", false: "enabled"}[q.Back], in.Applier.Kind).
			Hint("skl list --all").Hint("name the scope: --scope project or --scope user")
	}
	at := found[i]
	root := at.Path
	for _, r := range l.Roots {
		if r.ID == at.Root {
			root = r.Path
		}
	}
	to := filepath.Join(roots.Aside(root), "disabled", filepath.Base(at.Path))
	if q.Back {
		to = filepath.Join(root, filepath.Base(at.Path))
	}
	if scope.Exists(to) {
		return Moved{}, diag.New(diag.Unmet, "in_the_way", "%s exists already", in.Applier.Short(to)).Hint("move it away")
	}
	if !q.DryRun {
		site := in.Applier.Site
		site.Root = root
		if err := site.Move(at.Path, to); err != nil {
			return Moved{}, err
		}
	}
	return Moved{true, at.Name, at.Path, to}, nil
}
