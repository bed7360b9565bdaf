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

// removeEmpty takes away the directory aside of a root, and its parent .skl, if nothing is kept there.
func (s Site) removeEmpty(dir string) {
	if filepath.Base(filepath.Dir(dir)) == ".skl" {
		s.Dir.Remove(dir)
		s.Dir.Remove(filepath.Dir(dir))
	}
}

func interrupted(root string) error {
	return diag.New(diag.Unmet, "interrupted_install", "an earlier install in %s was interrupted", root).
		Hint("skl install")
}
