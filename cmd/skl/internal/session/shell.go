package session

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
)

// maxShell is how long consents of one login session are believed at most.
const maxShell = 24 * time.Hour

// shells are what this user allowed in each login session: a terminal, an agent that started skl.
type shells struct {
	Version int              `json:"version"`
	Shells  map[string]shell `json:"sessions"`
}

// A shell is one login session.
type shell struct {
	Since  time.Time           `json:"since"`
	Skills map[string][]string `json:"skills"` // by digest
}

func (rs *Runs) shellsPath() string { return filepath.Join(rs.Scope.Dirs.State, "sessions.json") }

// readShells leaves out sessions that are too old.
func (rs *Runs) readShells() (shells, error) {
	s := shells{Version: 1, Shells: map[string]shell{}}
	if err := scope.ReadState(rs.shellsPath(), &s); err != nil || s.Version != 1 || s.Shells == nil {
		return shells{}, diag.New(diag.Failed, "consents_corrupt", "%s cannot be read", rs.shellsPath()).Hint("move it away; skills are then asked about again")
	}
	for id, sh := range s.Shells {
		if age := time.Since(sh.Since); age > maxShell || age < 0 || sh.Skills == nil {
			delete(s.Shells, id)
		}
	}
	return s, nil
}

// rememberHere records what the user allowed to the skill with digest, for this login session.
func (rs *Runs) rememberHere(digest string, what ...string) error {
	return rs.Scope.ChangeState(rs.shellsPath(), func() (any, error) {
		s, err := rs.readShells()
		if err != nil {
			return nil, err
		}
		id := loginSession()
		here, ok := s.Shells[id]
		if !ok {
			here = shell{Since: time.Now().UTC(), Skills: map[string][]string{}}
		}
		here.Skills[digest] = union(here.Skills[digest], what)
		s.Shells[id] = here
		return s, nil
	})
}

// union is a with what it lacks of b, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
