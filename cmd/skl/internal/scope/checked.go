package scope

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// A checkedFile says where trees came from when this user installed them and the source of each was checked. What a lock says later
// of a tree counts for rules about sources if it is what was checked: a lock comes with its project.
type checkedFile struct {
	Version int                 `json:"v"`
	Trees   map[string][]string `json:"trees"` // claims by tree digest
}

// maxChecked is how many places of one tree are remembered.
const maxChecked = 16

//go:noinline
func (sc *Scope) checkedPath() string { return filepath.Join(sc.Dirs.State, "checked.json") }

func (sc *Scope) readChecked() (checkedFile, error) {
	f := checkedFile{Version: 1}
	if err := ReadState(sc.checkedPath(), &f); err != nil || f.Version != 1 {
		return checkedFile{}, diag.New(diag.Failed, "checked_corrupt", "%s cannot be read", sc.checkedPath()).Hint("move it away, then skl ci")
	}
	if f.Trees == nil {
		f.Trees = map[string][]string{}
	}
	return f, nil
}

// claim is what an entry says of where it comes from.
func claim(s *lock.Skill) string {
	return strings.Join([]string{s.Source, s.URL, s.Path, s.Ref, string(s.Commit), string(s.Manifest)}, " ")
}

// NoteChecked remembers where skills come from that were installed after that was checked.
func NoteChecked(sc *Scope, skills []lock.Skill) error {
	if len(skills) == 0 {
		return nil
	}
	f, err := sc.readChecked()
	if err != nil || !f.add(skills) {
		return err
	}
	return sc.ChangeState(sc.checkedPath(), func() (any, error) {
		f, err := sc.readChecked()
		f.add(skills)
		return f, err
	})
}

// add notes skills, and reports whether one is new.
func (f checkedFile) add(skills []lock.Skill) (any bool) {
	for i := range skills {
		text, tree := claim(&skills[i]), string(skills[i].Tree)
		if list := f.Trees[tree]; f.Trees != nil && tree != "" && !slices.Contains(list, text) {
			f.Trees[tree], any = append(list[max(0, len(list)-maxChecked+1):], text), true
		}
	}
	return any
}

// WasChecked reports whether this user installed s from where its entry says.
func WasChecked(sc *Scope, s *lock.Skill) (bool, error) {
	f, err := sc.readChecked()
	return slices.Contains(f.Trees[string(s.Tree)], claim(s)), err
}

// Compared returns a function that reports whether this user once compared the files of a skill with those of the release that its
// entry pins, wherever that came from.
func Compared(sc *Scope) (func(*lock.Skill) bool, error) {
	f, err := sc.readChecked()
	return func(s *lock.Skill) bool {
		pin := string(s.Commit) + " " + string(s.Manifest)
		return pin != " " && slices.ContainsFunc(f.Trees[string(s.Tree)], func(claim string) bool { return strings.HasSuffix(claim, " "+pin) })
	}, err
}
