package inspect

import (
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

// readForModel reads the active copy among found, if models may have its text. Nothing is read of any other skill.
// A skill that searches of agents withhold is withheld here, too.
func readForModel(found []roots.Record, gate *apply.ModelGate, read func(fs.FS) (trees.Tree, error)) (roots.Record, trees.Tree, error) {
	r, err := gate.Active(found)
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
		return roots.Record{}, nil, apply.InvocationError(r.Name, doc.Invocation)
	}
	return r, t, nil
}
