package apply

import (
	"context"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/resolver"
)

// A LockRequest asks for a new skl.lock, and nothing else.
type LockRequest struct {
	Upgrade []string // names whose release is chosen anew
	Accept  []string // permissions
	DryRun  bool
}

// Lock writes skl.lock from skl.toml. Of a lock with merge conflicts it keeps both sides where they agree with skl.toml.
func (a *Applier) Lock(ctx context.Context, r LockRequest) (_ Result, err error) {
	defer unknownFirst(r.Accept, &err)
	if err := acceptable(r.Accept); err != nil {
		return Result{}, err
	}
	end, err := a.Begin(ctx, r.DryRun)
	if err != nil {
		return Result{}, err
	}
	defer end()
	f, err := a.LoadConflicted()
	if err != nil {
		return Result{}, err
	}
	if err := a.CheckLocal(f); err != nil {
		return Result{}, err
	}
	for _, name := range r.Upgrade {
		if !f.Has(name) {
			return Result{}, a.NotInManifest(name, f)
		}
	}
	a.AcceptMoved(slices.Contains(r.Accept, resolver.AcceptMoved), r.Upgrade)
	renews := func(name string) bool { return slices.Contains(r.Upgrade, name) }
	return a.newJob(f, &request{mode: locks, dry: r.DryRun, agreed: consents{accept: r.Accept}, plan: plan.Request{Renews: renews, Compares: true}}).run(ctx)
}
