package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/store"
	"github.com/skl-project/skl/spec/diag"
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
	path string // of the journal
	j    journal
	step func(string) error // fault injection, nil in production
}

// journal is the written form of a Transaction. It is machine-local and short-lived, so
// its paths are absolute.
type journal struct {
	Version int      `json:"v"`
	Stage   string   `json:"stage"` // directory that holds staged directories and replaced content
	Made    []string `json:"made"`  // directories this transaction created, outermost first
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
}

const journalVersion = 1

// Begin starts a transaction of the installation in root, whose journal is
// <root>/.skl/journal. Directories are staged aside of the root, so that no agent sees them.
// The caller holds the lock of the installation.
func Begin(root string) (*Transaction, error) {
	t := &Transaction{path: journalPath(root), j: journal{Version: journalVersion}}
	if Interrupted(root) {
		return nil, interrupted(t.path) // its journal is the only way back: leave it alone
	}
	for _, dir := range []string{filepath.Dir(t.path), aside(root)} {
		if err := t.MkdirAll(dir); err != nil {
			return nil, t.Rollback(err)
		}
	}
	dir, err := os.MkdirTemp(aside(root), "stage-")
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
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, d)
		if filepath.Dir(d) == d {
			break
		}
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := os.Mkdir(missing[i], 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		t.j.Made = append(t.j.Made, missing[i])
	}
	return nil
}

// Replace plans that target becomes what lies at staged, directly below Stage.
func (t *Transaction) Replace(target, staged string) error {
	return t.replace(target, staged, t.backup(len(t.j.Ops)))
}

// ReplaceFile plans that target becomes a file with this content.
func (t *Transaction) ReplaceFile(target string, data []byte, perm fs.FileMode) error {
	return t.stageAt(target, func(path string) error {
		return os.WriteFile(path, data, perm)
	})
}

// ReplaceLink plans that target becomes a symbolic link to the text link.
func (t *Transaction) ReplaceLink(target, link string) error {
	return t.stageAt(target, func(path string) error { return os.Symlink(link, path) })
}

// stageAt makes something that will become target: in Stage, where a crash leaves
// nothing behind, unless target is on another file system.
func (t *Transaction) stageAt(target string, create func(path string) error) error {
	n := len(t.j.Ops)
	if err := t.MkdirAll(filepath.Dir(target)); err != nil {
		return err
	}
	staged, backup := filepath.Join(t.j.Stage, fmt.Sprintf("new-%d", n)), t.backup(n)
	if !durable.SameFileSystem(filepath.Dir(target), t.j.Stage) {
		staged = filepath.Join(filepath.Dir(target), fmt.Sprintf(".skl-%s-%d", filepath.Base(t.j.Stage), n))
		backup = staged + ".old"
	}
	if err := create(staged); err != nil {
		return err
	}
	return t.replace(target, staged, backup)
}

// Remove plans that target disappears. Its content is kept until the commit.
func (t *Transaction) Remove(target string) {
	ino, _ := durable.Inode(target)
	t.j.Ops = append(t.j.Ops, op{Target: target, Backup: t.backupBeside(target), Inode: ino})
}

// Keep plans that target is moved to the path aside, and stays there.
func (t *Transaction) Keep(target, aside string) error {
	if err := t.MkdirAll(filepath.Dir(aside)); err != nil {
		return err
	}
	t.j.Ops = append(t.j.Ops, op{Target: target, Backup: aside})
	return nil
}

func (t *Transaction) replace(target, staged, backup string) error {
	ino, err := durable.Inode(staged)
	t.j.Ops = append(t.j.Ops, op{Target: target, Staged: staged, Backup: backup, Inode: ino})
	return err
}

func (t *Transaction) backup(n int) string { return filepath.Join(t.j.Stage, fmt.Sprintf("old-%d", n)) }

// backupBeside is in Stage if target is on its file system, else next to target.
func (t *Transaction) backupBeside(target string) string {
	if durable.SameFileSystem(filepath.Dir(target), t.j.Stage) {
		return t.backup(len(t.j.Ops))
	}
	return filepath.Join(filepath.Dir(target), fmt.Sprintf(".skl-%s-%d.old", filepath.Base(t.j.Stage), len(t.j.Ops)))
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
		if err := t.j.Ops[i].do(); err != nil {
			return t.Rollback(err)
		}
	}
	err := t.fault("commit")
	if err == nil {
		err = os.Rename(t.j.Commit.Staged, t.j.Commit.Target)
	}
	if err != nil {
		return t.Rollback(err)
	}
	// From here on the new state stands; what fails now is left to Recover.
	if err := durable.SyncDir(filepath.Dir(path)); err != nil {
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
	old, err := durable.ReadFile(path)
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
	if err := durable.SyncTree(t.j.Stage); err != nil {
		return err
	}
	if dir := filepath.Dir(path); !durable.SameFileSystem(dir, t.j.Stage) {
		if err := durable.SyncTree(dir); err != nil {
			return err
		}
	}
	if err := t.fault("journal"); err != nil {
		return err
	}
	return t.write()
}

func (t *Transaction) write() error {
	text, err := json.Marshal(t.j)
	if err != nil {
		return err
	}
	return durable.WriteFile(t.path, text, 0o600)
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
	for i := len(t.j.Ops) - 1; i >= 0 && !t.j.Undone; i-- {
		if err := t.j.Ops[i].undo(); err != nil {
			return err
		}
	}
	t.j.Undone = true
	if !exists(t.path) {
		return nil
	}
	return t.write()
}

// redo repeats replacements that did not reach the disk before the commit did.
func (t *Transaction) redo() error {
	for _, o := range t.j.Ops {
		ino, _ := durable.Inode(o.Target)
		lost := o.Staged != "" && exists(o.Staged) && !o.holdsNew() ||
			o.Staged == "" && ino != 0 && ino == o.Inode
		if lost {
			if err := o.do(); err != nil {
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

// do replaces the target. Where paths can be exchanged there is no moment without a target.
func (o op) do() error {
	if o.Staged == "" {
		return os.Rename(o.Target, o.Backup)
	}
	if _, err := os.Lstat(o.Target); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(o.Staged, o.Target)
	}
	err := durable.Exchange(o.Staged, o.Target)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := os.Rename(o.Target, o.Backup); err != nil {
		return err
	}
	return os.Rename(o.Staged, o.Target)
}

// undo puts the old content back, whichever of do's renames took effect.
func (o op) undo() error {
	target, staged, backup := exists(o.Target), o.Staged != "" && exists(o.Staged), exists(o.Backup)
	switch {
	case o.Staged == "":
		if backup && !target {
			return os.Rename(o.Backup, o.Target)
		}
		return nil
	case backup: // moved aside, and perhaps already replaced
		if target {
			if err := os.Rename(o.Target, o.Staged); err != nil {
				return err
			}
		}
		return os.Rename(o.Backup, o.Target)
	case !o.holdsNew():
		return nil
	case staged: // exchanged
		return durable.Exchange(o.Staged, o.Target)
	}
	return os.Rename(o.Target, o.Staged)
}

// holdsNew reports whether the target is what was staged.
func (o op) holdsNew() bool {
	ino, err := durable.Inode(o.Target)
	if err != nil {
		return false
	}
	if ino == 0 || o.Inode == 0 {
		return !exists(o.Staged)
	}
	return ino == o.Inode
}

// clean removes what the transaction no longer needs; the journal last.
func (t *Transaction) clean() error {
	committed := !t.j.Undone && t.j.committed()
	if err := t.fault("clean"); err != nil {
		return err
	}
	for _, o := range append(t.j.Ops, t.j.Commit) {
		// What lies in Stage goes with it below.
		for _, path := range []string{o.Staged, o.Backup} {
			if !strings.HasPrefix(filepath.Base(path), ".skl-") || filepath.Dir(path) == t.j.Stage {
				continue
			}
			if err := store.Remove(path); err != nil {
				return err
			}
		}
	}
	if t.j.Stage != "" {
		if err := store.Remove(t.j.Stage); err != nil {
			return err
		}
	}
	if err := t.fault("forget"); err != nil {
		return err
	}
	if err := os.Remove(t.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i := len(t.j.Made) - 1; i >= 0 && !committed; i-- {
		os.Remove(t.j.Made[i]) // only if it is empty
	}
	if t.j.Stage != "" {
		removeEmpty(filepath.Dir(t.j.Stage))
	}
	return nil
}

// committed reports whether the commit target has its new content. If old and
// new are the same, it never counts: rolling back is always safe.
func (j journal) committed() bool {
	if j.New == "" || j.New == j.Old {
		return j.New != "" && !exists(j.Commit.Staged)
	}
	data, err := durable.ReadFile(j.Commit.Target)
	return err == nil && sum(data) == j.New
}

// Interrupted reports whether an earlier transaction of the installation in root was cut off.
func Interrupted(root string) bool { return exists(journalPath(root)) }

func journalPath(root string) string { return filepath.Join(root, ".skl", "journal") }

// aside is roots.Aside, or a directory in root if that is on another file system.
func aside(root string) string {
	if exists(root) && !durable.SameFileSystem(root, filepath.Dir(root)) {
		return filepath.Join(root, ".skl")
	}
	return roots.Aside(root)
}

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
// garbage. The caller holds the lock of the installation.
func Recover(root string) (Recovery, error) {
	t := &Transaction{path: journalPath(root)}
	text, err := durable.ReadFile(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Recovery{}, removeStages(root)
	case err != nil:
		return Recovery{}, err
	}
	if err := json.Unmarshal(text, &t.j); err != nil || t.j.Version != journalVersion {
		return Recovery{}, diag.New(diag.Failed, "journal_corrupt", "%s is not a journal this skl can read", t.path).
			Hint("finish the install with the skl that started it, or move the file away and run skl install")
	}
	info, err := os.Stat(t.path)
	if err != nil {
		return Recovery{}, err
	}
	out := Recovery{Result: Finished}
	settle := t.redo
	if t.j.Undone || !t.j.committed() {
		out.Result, settle = RolledBack, t.undo
	}
	if err := settle(); err != nil {
		return Recovery{}, fmt.Errorf("settling the interrupted install in %s: %w", root, err)
	}
	if out.Result == RolledBack {
		if out.Kept, err = t.keepEdited(root, info.ModTime()); err != nil {
			return Recovery{}, err
		}
	}
	if err := t.clean(); err != nil {
		return Recovery{}, err
	}
	return out, removeStages(root)
}

// keepEdited saves new directories that were edited between the interruption and
// now: their files are younger than the journal, which was written last.
func (t *Transaction) keepEdited(root string, written time.Time) (kept []string, err error) {
	for _, o := range t.j.Ops {
		if o.Staged == "" || !youngerThan(o.Staged, written) {
			continue
		}
		dir, err := PutAside(root, "backup")
		if err != nil {
			return kept, err
		}
		backup, err := freeName(filepath.Join(dir, filepath.Base(o.Target)))
		if err != nil {
			return kept, err
		}
		if err := os.Rename(o.Staged, backup); err != nil {
			return kept, err
		}
		kept = append(kept, backup)
	}
	return kept, nil
}

// youngerThan reports whether a file below dir was written after t.
func youngerThan(dir string, t time.Time) bool {
	younger := false
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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
func removeStages(root string) error {
	for _, dir := range []string{filepath.Join(root, ".skl"), aside(root)} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "stage-") || strings.HasPrefix(e.Name(), ".skl-") {
				if err := store.Remove(filepath.Join(dir, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	removeEmpty(aside(root))
	return nil
}

// removeEmpty takes away the directory aside of a root, and its parent .skl, if nothing is kept there.
func removeEmpty(dir string) {
	if filepath.Base(filepath.Dir(dir)) == ".skl" {
		os.Remove(dir)
		os.Remove(filepath.Dir(dir))
	}
}

func interrupted(journal string) error {
	return diag.New(diag.Unmet, "interrupted_install", "an earlier install was interrupted: %s", journal).
		Hint("skl install")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
