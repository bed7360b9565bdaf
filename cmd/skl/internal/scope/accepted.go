package scope

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// acceptances are the releases without a signature that this user took where one is wanted. That skl.lock
// says "unsigned = true" is a record for others to read: it comes with the project, so it gives nobody leave.
type acceptances struct {
	Version  int      `json:"version"`
	Releases []string `json:"releases"` // as releaseKey spells them, sorted
}

//go:noinline
func (sc *Scope) acceptancePath() string { return filepath.Join(sc.Dirs.State, "unsigned.json") }

// releaseKey is the place and the pin of a release on one line.
func releaseKey(s lock.Skill) string {
	return strings.Join([]string{s.Source, s.URL, s.Path, cmp.Or(string(s.Commit), string(s.Manifest), string(s.Tree))}, " ")
}

func (sc *Scope) acceptances() (acceptances, error) {
	a := acceptances{Version: 1}
	if err := ReadState(sc.acceptancePath(), &a); err != nil || a.Version != 1 {
		return acceptances{}, diag.New(diag.Failed, "consents_corrupt", "%s cannot be read: %v", sc.Short(sc.acceptancePath()), err).
			Hint("remove it and accept again what you still want")
	}
	return a, nil
}

// AcceptedUnsigned reports whether this user took the release s without a signature.
func (sc *Scope) AcceptedUnsigned(s lock.Skill) (bool, error) {
	a, err := sc.acceptances()
	_, found := slices.BinarySearch(a.Releases, releaseKey(s))
	return found, err
}

// AcceptUnsigned remembers that this user took the releases without a signature.
func (sc *Scope) AcceptUnsigned(skills []lock.Skill) error {
	if len(skills) == 0 {
		return nil
	}
	return sc.ChangeState(sc.acceptancePath(), func() (any, error) {
		a, err := sc.acceptances()
		if err != nil {
			return nil, err
		}
		before := len(a.Releases)
		for _, s := range skills {
			a.Releases = append(a.Releases, releaseKey(s))
		}
		slices.Sort(a.Releases)
		if a.Releases = slices.Compact(a.Releases); len(a.Releases) == before {
			return nil, nil
		}
		return a, nil
	})
}
