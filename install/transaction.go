package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/lock"
)

// A Transaction replaces a set of paths so that after a crash either all are
// new or all are old. It is written down in a journal before the first
// replacement; the last replacement, of the lock file, is the commit point.
//
//	stage    every new file, directory and link is written beside its place
//	sync     the staged content is made durable in one go
//	journal  the list of replacements is written, synced and renamed to its name
//	swap     each target is exchanged with its staged path, one rename each
//	commit   the lock file is renamed into place
//	clean    old content, staging directories and the journal are removed
//
// A crash before "journal" leaves only staged garbage, one before "commit" is rolled
// back, one after it is finished: see [Recover]. Content that was replaced is
// moved aside, never overwritten.
type Transaction struct {
	site Site
	j    journal
	step func(string) error // fault injection, nil in production
}

// Begin starts a transaction of the installation at s. Directories are staged aside of the
// root, so that no agent sees them. The caller holds the lock of the installation.
func Begin(s Site) (*Transaction, error) {
	t := &Transaction{site: s, j: journal{Version: journalVersion, Root: s.realRoot(), Roots: s.Roots}}
	if err := s.CheckPlanted(); err != nil {
		return nil, err
	}
	if s.Interrupted() {
		return nil, interrupted(s.Root) // its journal is the only way back: leave it alone
	}
	var err error
	if t.j.Base, err = s.Dir.Inode(s.Base); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, dir := range []string{filepath.Join(s.Root, ".skl"), s.aside()} {
		if err := t.MkdirAll(dir); err != nil {
			return nil, t.Rollback(err)
		}
	}
	err = s.ignoreAside() // first, so that no git clean takes what only the stage holds
	var dir string
	if err == nil {
		dir, err = s.Dir.MkdirTemp(s.aside(), stagePrefix)
	}
	if err != nil {
		return nil, t.Rollback(err)
	}
	t.j.Stage = dir
	return t, nil
}

// Stage is the directory in which directories are prepared. It is on the file
// system of the first root.
func (t *Transaction) Stage() string { return t.j.Stage }

// MkdirAll creates dir and its parents; a rollback removes the ones it created.
func (t *Transaction) MkdirAll(dir string) error {
	made, err := t.site.Dir.MkdirAll(dir, 0o777)
	t.j.Made = append(t.j.Made, made...)
	return err
}

// staged is where what becomes target is prepared: in Stage, or beside target if that is on another file system.
func (t *Transaction) staged(target, name string) string {
	if t.site.Dir.SameFileSystem(filepath.Dir(target), t.j.Stage) {
		return filepath.Join(t.j.Stage, name)
	}
	return filepath.Join(filepath.Dir(target), besidePrefix+filepath.Base(t.j.Stage)+"-"+name)
}

// Replace plans that target becomes what lies at staged, directly below Stage or beside target.
func (t *Transaction) Replace(target, staged string) error {
	return t.replace(target, staged, t.backupBeside(target))
}

// ReplaceFile plans that target becomes a file with this content. Only a regular file is replaced.
func (t *Transaction) ReplaceFile(target string, data []byte, perm fs.FileMode) error {
	if err := t.site.Dir.Replaceable(target); err != nil {
		return err
	}
	return t.stageAt(target, func(path string) error { return t.site.Dir.Create(path, data, perm) })
}

// ReplaceLink plans that target becomes a symbolic link to the text link.
func (t *Transaction) ReplaceLink(target, link string) error {
	return t.stageAt(target, func(path string) error { return t.site.Dir.Symlink(link, path) })
}

// ReplaceJunction plans that target becomes a junction to the directory dir.
func (t *Transaction) ReplaceJunction(target, dir string) error {
	return t.stageAt(target, func(path string) error { return t.site.Dir.Junction(dir, path) })
}

// stageAt makes something that will become target: in Stage, where a crash leaves
// nothing behind, unless target is on another file system.
func (t *Transaction) stageAt(target string, create func(path string) error) error {
	n := len(t.j.Ops)
	if err := t.MkdirAll(filepath.Dir(target)); err != nil {
		return err
	}
	staged, backup := filepath.Join(t.j.Stage, fmt.Sprintf("new-%d", n)), t.backup(n)
	if !t.site.Dir.SameFileSystem(filepath.Dir(target), t.j.Stage) {
		staged = filepath.Join(filepath.Dir(target), fmt.Sprintf(besidePrefix+"%s-%d", filepath.Base(t.j.Stage), n))
		backup = staged + ".old"
	}
	if err := create(staged); err != nil {
		return err
	}
	return t.replace(target, staged, backup)
}

// Remove plans that target disappears. Its content is kept until the commit.
func (t *Transaction) Remove(target string) {
	ino, _ := t.site.Dir.Inode(target)
	t.j.Ops = append(t.j.Ops, op{Target: target, Backup: t.backupBeside(target), Inode: ino, Was: t.site.Dir.Exists(target)})
}

// Keep plans that target is moved to the path aside, and stays there.
func (t *Transaction) Keep(target, aside string) error {
	if err := t.MkdirAll(filepath.Dir(aside)); err != nil {
		return err
	}
	t.j.Ops = append(t.j.Ops, op{Target: target, Backup: aside, Was: t.site.Dir.Exists(target)})
	return nil
}

func (t *Transaction) replace(target, staged, backup string) error {
	ino, err := t.site.Dir.Inode(staged)
	t.j.Ops = append(t.j.Ops, op{Target: target, Staged: staged, Backup: backup, Inode: ino, Was: t.site.Dir.Exists(target)})
	return err
}

func (t *Transaction) backup(n int) string { return filepath.Join(t.j.Stage, fmt.Sprintf("old-%d", n)) }

// backupBeside is in Stage if target is on its file system, else next to target.
func (t *Transaction) backupBeside(target string) string {
	if t.site.Dir.SameFileSystem(filepath.Dir(target), t.j.Stage) {
		return t.backup(len(t.j.Ops))
	}
	return filepath.Join(filepath.Dir(target), fmt.Sprintf(besidePrefix+"%s-%d.old", filepath.Base(t.j.Stage), len(t.j.Ops)))
}

// Commit carries the transaction out, with data as the new content of the lock
// file at path. On an error everything is rolled back and the error is returned.
func (t *Transaction) Commit(path string, data []byte) error {
	if err := t.prepare(path, data); err != nil {
		return t.Rollback(err)
	}
	for i := range t.j.Ops {
		if err := t.fault(fmt.Sprintf("swap %d", i)); err != nil {
			return t.Rollback(err)
		}
		if err := t.j.Ops[i].do(t.site.Dir); err != nil {
			return t.Rollback(err)
		}
	}
	err := t.fault("commit")
	if err == nil {
		err = t.site.Dir.Rename(t.j.Commit.Staged, t.j.Commit.Target)
	}
	if err != nil {
		return t.Rollback(err)
	}
	// From here on the new state stands; what fails now is left to Recover.
	if err := t.site.Dir.SyncDir(filepath.Dir(path)); err != nil {
		return err
	}
	if err := t.fault("committed"); err != nil {
		return err
	}
	return t.clean()
}

func (t *Transaction) prepare(path string, data []byte) error {
	if err := t.fault("stage lock"); err != nil {
		return err
	}
	old, err := t.site.Dir.ReadFile(path, lock.MaxBytes)
	if err == nil {
		t.j.Old = sum(old)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := t.ReplaceFile(path, data, 0o644); err != nil {
		return err
	}
	last := len(t.j.Ops) - 1
	t.j.Ops, t.j.Commit, t.j.New = t.j.Ops[:last], t.j.Ops[last], sum(data)
	if err := t.fault("sync"); err != nil {
		return err
	}
	if err := t.site.Dir.SyncTree(t.j.Stage); err != nil {
		return err
	}
	synced := map[string]bool{t.j.Stage: true}
	for _, o := range append(t.j.Ops[:last:last], t.j.Commit) {
		dir := filepath.Dir(o.Staged)
		if o.Staged == "" || synced[dir] {
			continue
		}
		synced[dir] = true
		if err := t.site.Dir.SyncTree(dir); err != nil {
			return err
		}
	}
	if err := t.fault("journal"); err != nil {
		return err
	}
	return t.write()
}

// write makes the journal durable, in the user's state directory.
func (t *Transaction) write() error {
	text, err := json.Marshal(t.j)
	if err != nil {
		return err
	}
	own, path := within.Anywhere(), t.site.journalPath()
	if _, err := own.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return own.WriteFile(path, text, 0o600)
}

// Rollback undoes what was done so far and returns cause, joined with what could not be undone.
func (t *Transaction) Rollback(cause error) error {
	if err := t.undo(); err != nil {
		return errors.Join(cause, fmt.Errorf("rolling back: %w", err))
	}
	if err := t.clean(); err != nil {
		return errors.Join(cause, fmt.Errorf("cleaning up: %w", err))
	}
	return cause
}

// undo puts every target back, and then says so in the journal, so that a crash
// while cleaning does not undo twice.
func (t *Transaction) undo() error {
	torn := t.j.torn(t.site.Dir)
	for i := len(t.j.Ops) - 1; i >= 0 && !t.j.Undone; i-- {
		if err := t.j.Ops[i].undo(t.site.Dir, torn); err != nil {
			return err
		}
	}
	t.j.Undone = true
	if !t.site.Interrupted() {
		return nil
	}
	return t.write()
}

// redo repeats replacements that did not reach the disk before the commit did.
func (t *Transaction) redo() error {
	for _, o := range t.j.Ops {
		ino, _ := t.site.Dir.Inode(o.Target)
		lost := o.Staged != "" && t.site.Dir.Exists(o.Staged) && !o.holdsNew(t.site.Dir) ||
			o.Staged == "" && ino != 0 && ino == o.Inode && t.site.Dir.Exists(filepath.Dir(o.Backup))
		if lost {
			if err := o.do(t.site.Dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Transaction) fault(step string) error {
	if t.step == nil {
		return nil
	}
	return t.step(step)
}

// clean removes what the transaction no longer needs; the journal last.
func (t *Transaction) clean() error {
	if err := t.fault("clean"); err != nil {
		return err
	}
	for _, o := range append(t.j.Ops, t.j.Commit) {
		// Everything in Stage goes with it below.
		for _, path := range []string{o.Staged, o.Backup} {
			if !strings.HasPrefix(filepath.Base(path), besidePrefix) || filepath.Dir(path) == t.j.Stage {
				continue
			}
			if err := t.site.Dir.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	if t.j.Stage != "" {
		gone := t.j.Stage + "-gone" // at once, so that no half of what it holds is ever taken for what was there before
		if t.site.Dir.Rename(t.j.Stage, gone) != nil {
			gone = t.j.Stage
		}
		if err := t.site.Dir.RemoveAll(gone); err != nil {
			return err
		}
	}
	if err := t.fault("forget"); err != nil {
		return err
	}
	if err := within.Anywhere().Remove(t.site.journalPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if t.j.Stage != "" {
		t.site.removeEmpty(filepath.Dir(t.j.Stage))
	}
	for i := len(t.j.Made) - 1; i >= 0; i-- {
		t.site.Dir.Remove(t.j.Made[i]) // only if it is empty
	}
	return nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
