package apply

import (
	"context"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// An InstallRequest asks for skills besides those of skl.toml.
type InstallRequest struct {
	Refs   []ref.Ref // as the person writes them, local ones relative to the working directory
	Names  []string  // skills of the one ref
	All    bool      // all skills of the refs that can be installed; the others are held
	Strict bool      // with All: all or nothing
	As     string    // what the one skill is called here; "" is what it calls itself
	Pin    bool      // write exact versions
	Hosts  []string  // agents besides the recorded ones
	Root   string    // install the skills of Refs in this root, and record that; relative to the working directory, "" where skl.toml says
	Agreed Agreed
	DryRun bool
	Gate   bool // offer what keeps skills from agents that ignore their limits
}

// checkAs refuses a name of --as by which nothing can be installed; "" is none.
func checkAs(name string) error {
	if name == "" {
		return nil
	}
	err := source.CheckName(name)
	if err == nil {
		return nil
	}
	e := diag.New(diag.Misuse, "usage", "--as: %w", err)
	if as := skill.Respell(name); as != "" {
		e = e.Hint("--as %s", as)
	}
	return e
}

// Install resolves, locks and installs what is asked for and what skl.toml says.
func (a *Applier) Install(ctx context.Context, r InstallRequest) (_ Result, err error) {
	defer unknownFirst(r.Agreed.Accept, &err)
	if err := acceptable(r.Agreed.Accept, r.Agreed.Reason); err != nil {
		return Result{}, err
	}
	if err := checkAs(r.As); err != nil {
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
	a.Scope.AcceptMoved(slices.Contains(r.Agreed.Accept, resolver.AcceptMoved), nil)
	root := ""
	if r.Root != "" {
		if root, err = a.Scope.RootText(r.Root); err != nil {
			return Result{}, err
		}
	}
	picked, err := a.pickAll(ctx, f, r, refs, root)
	if err != nil {
		return Result{}, err
	}
	j := a.newJob(f, &request{mode: installs, refs: refs, all: (r.All || picked.all) && !r.Strict, hosts: r.Hosts, gate: r.Gate, dry: r.DryRun, agreed: r.Agreed,
		plan: plan.Request{Edits: picked.edits, Compares: true}})
	j.picked = picked
	return j.run(ctx)
}
