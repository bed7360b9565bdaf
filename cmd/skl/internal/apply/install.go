package apply

import (
	"context"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/ref"
)

// An InstallRequest asks for skills besides those of skl.toml.
type InstallRequest struct {
	Refs          []ref.Ref // as the person writes them, local ones relative to the working directory
	Names         []string  // skills of the one ref
	All           bool      // all skills of the refs that can be installed; the others are held
	Strict        bool      // with All: all or nothing
	Pin           bool      // write exact versions
	Hosts         []string  // agents besides the recorded ones
	Root          string    // install the skills of Refs in this root, and record that; relative to the working directory, "" where skl.toml says
	Accept        []string  // permissions
	AllowUnsigned bool      // take releases without a signature where one is wanted
	Force         bool      // replace local edits, after a backup
	DryRun        bool
	Gate          bool // offer what keeps skills from agents that ignore their limits
}

// Install resolves, locks and installs what is asked for and what skl.toml says.
func (a *Applier) Install(ctx context.Context, r InstallRequest) (_ Result, err error) {
	defer unknownFirst(r.Accept, &err)
	if err := acceptable(r.Accept); err != nil {
		return Result{}, err
	}
	f, end, err := a.Scope.Edit(ctx, r.DryRun)
	if err != nil {
		return Result{}, err
	}
	defer end()
	if len(r.Names) > 0 && len(r.Refs) == 0 {
		return Result{}, a.oneWord(r.Names, f)
	}
	refs := make([]ref.Ref, len(r.Refs))
	for i := range refs {
		refs[i] = a.Rebase(r.Refs[i])
	}
	a.Scope.AcceptMoved(slices.Contains(r.Accept, resolver.AcceptMoved), nil)
	root := ""
	if r.Root != "" {
		if root, err = a.Scope.RootText(r.Root); err != nil {
			return Result{}, err
		}
	}
	req := &request{mode: installs, refs: refs, all: r.All && !r.Strict, hosts: r.Hosts, gate: r.Gate, dry: r.DryRun, agreed: consents{r.Accept, r.AllowUnsigned, r.Force}}
	j := a.newJob(f, req)
	if j.picked, err = a.pickAll(ctx, f, r, refs, root); err != nil {
		return Result{}, err
	}
	req.plan = plan.Request{Edits: j.picked.edits, Compares: true}
	return j.run(ctx)
}

// Passed is what looks like a skill at a place, and is none to skl.
type Passed = source.Passed

// Holdings lists the skills of one reference, all paths of a name, and what is passed over there. It changes nothing.
func (a *Applier) Holdings(ctx context.Context, r ref.Ref) ([]source.Found, []source.Passed, error) {
	f, err := a.Scope.Load()
	if err != nil {
		return nil, nil, err
	}
	o, err := a.Scope.Resolver(f.Manifest).Open(ctx, resolver.Want{Ref: a.Rebase(r)})
	if err != nil {
		return nil, nil, err
	}
	best, err := o.Skills(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	var found []source.Found
	for _, f := range best {
		found = append(append(found, f), f.Also...)
	}
	passed, err := a.passed(ctx, o, best)
	return found, passed, err
}

// passed is what discovery passes over at the place of a reference that names no skill of it.
func (a *Applier) passed(ctx context.Context, o *resolver.Opened, listed []source.Found) ([]source.Passed, error) {
	if o.Place.Ref.Skill != "" || o.Place.Word != "" {
		return nil, nil
	}
	return o.Passed(ctx, listed)
}
