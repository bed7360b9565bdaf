package inspect

import (
	"cmp"
	"context"
	"io/fs"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// copiesOf finds the copies of an installed skill that an agent named.
func (in *Inspector) copiesOf(ctx context.Context, name string) ([]roots.Record, error) {
	if !ref.IsWord(name) {
		return nil, diag.New(diag.Refused, "mcp_path", "%q is a path or a reference; agents read installed skills by name", name).Hint("skl list")
	}
	l, err := in.Applier.Scope.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	return scope.Copies(l, name)
}

// readForModel reads the active copy among found, if models may have its text: its project is trusted, no registry blocked
// a release among taken, and no copy has a model_invocation that keeps models out. Nothing is read of any other skill.
// A skill that searches of agents withhold is withheld here, too.
func readForModel(found []roots.Record, taken []apply.Withdrawal, read func(fs.FS) (trees.Tree, error)) (roots.Record, trees.Tree, error) {
	r, err := forModel(found, taken)
	if err != nil {
		return roots.Record{}, nil, err
	}
	files, err := scope.FilesOf(r)
	if err != nil {
		return roots.Record{}, nil, err
	}
	t, err := read(files)
	if err != nil {
		return roots.Record{}, nil, err
	}
	// The listing may be older than the file.
	if doc, err := skill.ReadWith(t[skill.FileName].Data, t.Sidecar()); err == nil && !doc.Invocation.ByModel() {
		return roots.Record{}, nil, invocationError(r.Name, doc.Invocation)
	}
	return r, t, nil
}

// forModel is the active copy among found, as far as models may have it.
func forModel(found []roots.Record, taken []apply.Withdrawal) (roots.Record, error) {
	at := active(found)
	if at < 0 {
		r := found[0]
		if r.State == roots.Untrusted {
			return roots.Record{}, diag.New(diag.Refused, "untrusted", "%s lies in a project that is not trusted", r.Name).Hint("skl trust allow")
		}
		return roots.Record{}, diag.New(diag.Refused, "not_active", "%s is %s", r.Name, r.State).Hint("skl list --all")
	}
	for _, r := range found {
		if (r.State == roots.Active || r.State == roots.Untrusted) && !r.ByModel() {
			return roots.Record{}, invocationError(r.Name, skill.Invocation(cmp.Or(r.ModelInvocation, string(skill.Disabled))))
		}
	}
	if err := apply.Blocked(taken); err != nil {
		return roots.Record{}, err
	}
	return found[at], nil
}

// invocationError refuses a skill that models may not start.
func invocationError(name string, invocation skill.Invocation) error {
	e := diag.New(diag.Refused, "invocation_deny", "%s may not be read by a model: its model_invocation is %s", name, invocation)
	if !invocation.ByUser() {
		return e.Hint("%s is disabled: neither models nor people start it", name)
	}
	return e.Hint("a person starts it: skl run %s", name)
}
