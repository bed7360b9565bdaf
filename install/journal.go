package install

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/rootpath"
)

// journal is the written form of a Transaction. It is machine-local and short-lived, so
// its paths are absolute.
type journal struct {
	Version int      `json:"v"`
	Root    string   `json:"root"`            // real path of the root it belongs to
	Base    uint64   `json:"base,omitempty"`  // inode of Site.Base, so that another directory of the same path is told apart; 0 means unknown
	Roots   []string `json:"roots,omitempty"` // others that skills are installed in
	Stage   string   `json:"stage"`           // directory that holds staged directories and replaced content
	Made    []string `json:"made"`            // directories this transaction created, outermost first
	Ops     []op     `json:"ops"`
	Commit  op       `json:"commit"`
	Old     string   `json:"old"`              // sha256 of the commit target's content before, "" if it did not exist
	New     string   `json:"new"`              // and after
	Undone  bool     `json:"undone,omitempty"` // rolled back; only cleaning is left
}

// An op replaces Target by Staged, or removes it if Staged is empty.
type op struct {
	Target string `json:"target"`
	Staged string `json:"staged,omitempty"`
	Backup string `json:"backup"`          // where the old content goes when the two cannot be exchanged
	Inode  uint64 `json:"inode,omitempty"` // of Staged (of Target for a removal), to tell afterwards which is which; 0 means unknown
	Was    bool   `json:"was,omitempty"`   // something was at Target before
}

const journalVersion = 2

// maxJournalBytes bounds a journal: 5,000 skills with links need less than 8 MiB.
const maxJournalBytes = 64 << 20

// Names of what a transaction stages: directories aside of a root, and, for targets on other
// file systems, entries beside their target.
const (
	stagePrefix  = "stage-"
	besidePrefix = ".skl-"
)

// readJournal returns the journal of s. Its error is [fs.ErrNotExist] when there is none. Whatever
// it says is checked before anything is done: see check.
func (s Site) readJournal() (journal, fs.FileInfo, error) {
	own, path := within.Anywhere(), s.journalPath()
	info, err := own.Lstat(path)
	if err != nil {
		return journal{}, nil, err
	}
	if owner, mine, err := ownerOf(path); err != nil || !mine {
		return journal{}, nil, diag.New(diag.Refused, "E_OWNER", "%s belongs to %s; it was not read", path, owner).Hint("remove that file")
	}
	text, err := own.ReadFile(path, maxJournalBytes)
	if err != nil {
		return journal{}, nil, err
	}
	j, err := s.parseJournal(text)
	if err != nil {
		return journal{}, nil, err
	}
	if base, err := s.Dir.Inode(s.Base); j.Base != 0 && (err != nil || base != j.Base) {
		return journal{}, nil, diag.New(diag.Refused, "E_JOURNAL", "%s belongs to another directory that was at %s before", path, s.Base).
			Hint("nothing of it applies here: remove that file")
	}
	return j, info, nil
}

func (s Site) parseJournal(text []byte) (journal, error) {
	var j journal
	path := s.journalPath()
	if err := json.Unmarshal(text, &j); err != nil || j.Version != journalVersion {
		return journal{}, diag.New(diag.Failed, "journal_corrupt", "%s is not a journal this skl can read", path).
			Hint("finish the install with the skl that started it, or move the file away and run skl install")
	}
	if bad, ok := j.check(s); !ok {
		return journal{}, diag.New(diag.Refused, "E_JOURNAL", "%s names a path that no install here writes to: %q", path, diag.Printable(bad)).
			Hint("move the file away and run skl install")
	}
	return j, nil
}

// check reports whether j is one of s, or which path no transaction of s would have: targets are
// below the places of s, and all else lies in the stage, in the backups or beside its target.
func (j journal) check(s Site) (bad string, ok bool) {
	if j.Root != s.realRoot() {
		return j.Root, false
	}
	if len(s.Places) > 1 || s.Places[0] != s.Base { // not confined to a project: its own configuration says where skills go
		for _, root := range j.Roots {
			if !filepath.IsAbs(root) || filepath.Clean(root) != root || rootpath.Check(filepath.ToSlash(root)) != nil {
				return root, false
			}
		}
		s.Places = slices.Concat(s.Places, j.Roots)
	}
	asides := []string{roots.Aside(s.Root), filepath.Join(s.Root, ".skl")}
	stages := func(path string) bool {
		return strings.HasPrefix(filepath.Base(path), stagePrefix) && (filepath.Dir(path) == asides[0] || filepath.Dir(path) == asides[1])
	}
	if !s.allows(j.Stage) || !stages(j.Stage) {
		return j.Stage, false
	}
	for _, dir := range j.Made {
		if !s.allows(dir) && !s.above(dir) {
			return dir, false
		}
	}
	beside := besidePrefix + filepath.Base(j.Stage) + "-"
	for i, o := range append(j.Ops[:len(j.Ops):len(j.Ops)], j.Commit) {
		scratch := func(path string) bool {
			return s.allows(path) && (filepath.Dir(path) == j.Stage ||
				filepath.Dir(path) == filepath.Dir(o.Target) && strings.HasPrefix(filepath.Base(path), beside))
		}
		kept := s.allows(o.Backup) && (filepath.Dir(o.Backup) == filepath.Join(asides[0], backups) || filepath.Dir(o.Backup) == filepath.Join(asides[1], backups))
		switch {
		case !s.allows(o.Target):
			return o.Target, false
		case o.Staged != "" && !scratch(o.Staged), o.Staged == "" && i == len(j.Ops):
			return o.Staged, false
		case !scratch(o.Backup) && !(o.Staged == "" && kept):
			return o.Backup, false
		}
	}
	return "", true
}

// above reports whether dir leads to one of the places of s but not to Base, as .agents does in a
// home directory.
func (s Site) above(dir string) bool {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
		return false
	}
	if rel, err := filepath.Rel(dir, s.Base); err == nil && filepath.IsLocal(rel) {
		return false
	}
	for _, place := range s.Places {
		if rel, err := filepath.Rel(dir, place); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// committed reports whether the commit target has its new content. If old and new are the same, the staged one tells; where
// the stage is gone too, it never counts: rolling back is always safe.
func (j journal) committed(dir *within.Dir) bool {
	if j.New == "" || j.New == j.Old {
		return j.New != "" && dir.Exists(filepath.Dir(j.Commit.Staged)) && !dir.Exists(j.Commit.Staged)
	}
	data, err := dir.ReadFile(j.Commit.Target, lock.MaxBytes)
	return err == nil && sum(data) == j.New
}

// do replaces the target. Where paths can be exchanged there is no moment without a target.
func (o op) do(dir *within.Dir) error {
	if o.Staged == "" {
		return dir.Rename(o.Target, o.Backup)
	}
	if _, err := dir.Lstat(o.Target); errors.Is(err, fs.ErrNotExist) {
		return dir.Rename(o.Staged, o.Target)
	}
	err := dir.Exchange(o.Staged, o.Target)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := dir.Rename(o.Target, o.Backup); err != nil {
		return err
	}
	return dir.Rename(o.Staged, o.Target)
}

// undo puts the old content back, whichever of do's renames took effect. Of a transaction that is torn, nothing is taken away.
func (o op) undo(dir *within.Dir, torn bool) error {
	target, staged, backup := dir.Exists(o.Target), o.Staged != "" && dir.Exists(o.Staged), dir.Exists(o.Backup)
	switch {
	case o.Staged == "":
		if backup && !target {
			return dir.Rename(o.Backup, o.Target)
		}
		return nil
	case torn && isDir(dir, o.Target) && !(isDir(dir, o.Staged) || isDir(dir, o.Backup)):
		return nil // perhaps a skill that moved here, and what would come back is a link to it
	case backup: // moved aside, and perhaps already replaced
		if target {
			if err := dir.Rename(o.Target, o.Staged); err != nil {
				return err
			}
		}
		return dir.Rename(o.Backup, o.Target)
	case !target && staged && o.Was && o.stagedOld(dir): // exchanged, and the new content taken away since
		return dir.Rename(o.Staged, o.Target)
	case !o.holdsNew(dir):
		return nil
	case staged: // exchanged
		return dir.Exchange(o.Staged, o.Target)
	case o.Was || torn:
		return nil
	}
	return dir.Rename(o.Target, o.Staged)
}

// torn reports whether someone took away something that j would put back, or the stage.
func (j journal) torn(dir *within.Dir) bool {
	if !dir.Exists(j.Stage) {
		return true
	}
	return slices.ContainsFunc(j.Ops, func(o op) bool {
		if o.Staged != "" && dir.Exists(o.Staged) || dir.Exists(o.Backup) {
			return false
		}
		return o.Was && (!dir.Exists(o.Target) || o.Staged != "" && o.holdsNew(dir))
	})
}

// stagedOld reports whether Staged is known to be what was at Target.
func (o op) stagedOld(dir *within.Dir) bool {
	ino, err := dir.Inode(o.Staged)
	return err == nil && ino != 0 && o.Inode != 0 && ino != o.Inode
}

// unsettled tells, after undo or redo, what became of a target whose other content someone took away: lost, if it is nowhere any
// more, or left with what was to be taken back.
func (o op) unsettled(dir *within.Dir, finished bool) (lost, left bool) {
	if dir.Exists(o.Backup) || o.Staged != "" && dir.Exists(o.Staged) {
		return false, false
	}
	if dir.Exists(o.Target) {
		return false, !finished && o.Staged != "" && o.holdsNew(dir)
	}
	return o.Was && !(finished && o.Staged == ""), false
}

// holdsNew reports whether the target is what was staged.
func (o op) holdsNew(dir *within.Dir) bool {
	ino, err := dir.Inode(o.Target)
	if err != nil {
		return false
	}
	if ino == 0 || o.Inode == 0 {
		return !dir.Exists(o.Staged)
	}
	return ino == o.Inode
}
