package install

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/diag"
)

// Outcome is how an interrupted transaction ended.
type Outcome string

const (
	Clean      Outcome = ""            // there was none
	Finished   Outcome = "finished"    // it had committed; its leftovers are gone
	RolledBack Outcome = "rolled back" // the state before it is back
)

// A Recovery is what Recover did.
type Recovery struct {
	Result Outcome
	Kept   []string // half-installed directories that someone edited since, moved to backups
	Lost   []string // what the transaction replaced or removed, and someone took away with what it had staged: nothing is there now
	Left   []string // what it put in place and could not take back, because someone took away what it had staged
}

// Recover finishes or rolls back an interrupted transaction and removes staged
// garbage. The caller holds the lock of the installation. A journal that came with the
// root, or that names paths elsewhere, is refused with code E_JOURNAL before anything is done.
func Recover(s Site) (Recovery, error) {
	if err := s.CheckPlanted(); err != nil {
		return Recovery{}, err
	}
	t := &Transaction{site: s}
	var info fs.FileInfo
	var err error
	t.j, info, err = s.readJournal()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Recovery{}, s.removeStages()
	case err != nil:
		return Recovery{}, err
	}
	out := Recovery{Result: Finished}
	settle := t.redo
	if t.j.Undone || !t.j.committed(s.Dir) {
		out.Result, settle = RolledBack, t.undo
	}
	if err := settle(); err != nil {
		return Recovery{}, fmt.Errorf("settling the interrupted install in %s: %w", s.Root, err)
	}
	if out.Result == RolledBack {
		if out.Kept, err = t.keepEdited(info.ModTime()); err != nil {
			return Recovery{}, err
		}
	}
	for _, o := range t.j.Ops {
		switch lost, left := o.unsettled(s.Dir, out.Result == Finished || t.j.New == t.j.Old); {
		case lost:
			out.Lost = append(out.Lost, o.Target)
		case left:
			out.Left = append(out.Left, o.Target)
		}
	}
	if err := t.clean(); err != nil {
		return Recovery{}, err
	}
	return out, s.removeStages()
}

// keepEdited saves new directories that were edited between the interruption and
// now: their files are younger than the journal, which was written last.
func (t *Transaction) keepEdited(written time.Time) (kept []string, err error) {
	for _, o := range t.j.Ops {
		if o.Staged == "" || !youngerThan(t.site.Dir, o.Staged, written) {
			continue
		}
		dir, err := t.site.PutAside(backups)
		if err != nil {
			return kept, err
		}
		backup, err := t.site.freeName(filepath.Join(dir, filepath.Base(o.Target)))
		if err != nil {
			return kept, err
		}
		if err := t.site.Dir.Rename(o.Staged, backup); err != nil {
			return kept, err
		}
		kept = append(kept, backup)
	}
	return kept, nil
}

// youngerThan reports whether a file below path was written after t.
func youngerThan(dir *within.Dir, path string, t time.Time) bool {
	info, err := dir.Lstat(path)
	if err != nil || !info.IsDir() {
		return err == nil && info.Mode().IsRegular() && info.ModTime().After(t)
	}
	root, err := dir.OpenRoot(path)
	if err != nil {
		return false
	}
	defer root.Close()
	younger := false
	fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(t) {
			younger = true
			return fs.SkipAll
		}
		return nil
	})
	return younger
}

// removeStages removes what transactions left that did not come to their journal.
func (s Site) removeStages() error {
	dirs := []string{s.aside()}
	for _, root := range s.All() {
		dirs = append(dirs, filepath.Join(root, ".skl"))
	}
	for i, dir := range append(dirs, s.Roots...) {
		entries, err := s.Dir.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			stage := i < len(dirs) && strings.HasPrefix(e.Name(), stagePrefix) // in a root itself that may be the name of a skill
			if stage || strings.HasPrefix(e.Name(), besidePrefix) {
				if err := s.Dir.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	s.removeEmpty(s.aside())
	return s.removeTornJournals()
}

// removeTornJournals removes what was to become the journal of s when its writer was killed.
func (s Site) removeTornJournals() error {
	own, path := within.Anywhere(), s.journalPath()
	entries, err := own.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), besidePrefix+filepath.Base(path)+"-") && err == nil {
			err = own.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return err
}

// ignoredAside is the .gitignore of what lies aside of a root.
const ignoredAside = "# what skl put aside on this machine\n*\n"

// ignoreAside keeps what lies aside of the root out of version control, and out of the reach of git clean. A root on a file
// system of its own has its stage beside the receipts: see noteState.
func (s Site) ignoreAside() error {
	dir := filepath.Dir(s.aside())
	ignore := filepath.Join(dir, ".gitignore")
	if filepath.Base(dir) != ".skl" || s.Dir.Exists(ignore) {
		return nil
	}
	return s.Dir.Create(ignore, []byte(ignoredAside), 0o644)
}

// removeEmpty takes away the directory aside of a root, and its parent .skl, if nothing is kept there.
func (s Site) removeEmpty(dir string) {
	parent := filepath.Dir(dir)
	if filepath.Base(parent) != ".skl" {
		return
	}
	s.Dir.Remove(dir)
	ignore := filepath.Join(parent, ".gitignore")
	entries, err := s.Dir.ReadDir(parent)
	if err == nil && len(entries) == 1 && entries[0].Name() == ".gitignore" {
		data, err := s.Dir.ReadFile(ignore, maxNote)
		if err != nil || !strings.HasPrefix(ignoredAside, string(data)) { // a kill may have cut it
			return // someone else's
		}
		s.Dir.Remove(ignore)
	}
	s.Dir.Remove(parent)
}

func interrupted(root string) error {
	return diag.New(diag.Unmet, "interrupted_install", "an earlier install in %s was interrupted", root).
		Hint("skl install")
}
