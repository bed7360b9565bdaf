package scope

import (
	"errors"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/install/roots"
)

// Own is the rule for residue (compiled Python, .DS_Store) in the roots of a scope: what git ignores and does not track was written on this
// machine. Without git nobody can tell, so that it passes in the user's own roots and those of the machine, and not in a project.
func (sc *Scope) Own(scope string) roots.Own {
	return func(dir string, paths []string) []string {
		untracked, err := files.Untracked(dir, paths, sc.Getenv)
		if errors.Is(err, files.ErrNoRepository) && (scope == roots.ScopeUser || scope == roots.ScopeManaged) {
			return paths
		}
		return untracked
	}
}
