package scope

import (
	"errors"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

// Own is the rule for residue (compiled Python, .DS_Store) in the roots of a scope: what git ignores and does not track, and what came to be
// after this user trusted the project, was written on this machine. An archive brings files that no git tracks, and they are older.
// Without git nobody can tell, so that it passes in the user's own roots and those of the machine, and not in a project.
func (sc *Scope) Own(scope string) roots.Own {
	return func(dir string, paths []string) []string {
		since, known := time.Time{}, true
		if scope != roots.ScopeUser && scope != roots.ScopeManaged {
			since, known = sc.trustedSince()
		}
		if !known {
			return nil
		}
		untracked, err := sc.Tracker.Untracked(dir, paths)
		switch {
		case errors.Is(err, files.ErrNoRepository):
			if scope == roots.ScopeUser || scope == roots.ScopeManaged {
				untracked = paths
			}
		case err != nil:
			sc.untold.Do(func() {
				sc.Tell.Warn("which files git tracks is not known, so that none of compiled Python and .DS_Store passes: %s", diag.Clip(err.Error(), 300))
			})
		}
		return roots.WrittenSince(dir, untracked, since)
	}
}
