package within

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// An Edit is one file of a folder, before and after.
type Edit struct {
	Path string // relative to the folder, with slashes
	Was  []byte // what it holds; nil: it is not there
	Now  []byte // what it shall hold; nil: it goes

	Executable bool // of a file that is not there
}

// editMark starts the name of a directory in a folder that is edited.
const editMark = bundle.EditMark

// Edit changes files of the folder dir where they stand, all or none: the folder and everything else in it stay what they are, and who
// works in it goes on. First come files that are new, then those that change, in the order given, then those that go, with directories
// that are empty then. It is refused, with nothing changed, if a file does not hold what the edit says that it was: code changed_meanwhile.
// What somebody writes to one of the files at the same moment stays, and the error says so. Where two files cannot be exchanged in one
// step, that moment is not seen. What a process that is killed leaves half done [TakeBack] takes back, by a record in the directory
// records; where that is "", none is kept, and a directory .skl-edit-NUMBER may stay.
func (d *Dir) Edit(dir, records string, edits []Edit) (err error) {
	if info, err := d.Lstat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return notAFolder(dir, info.Mode())
	}
	root, err := d.OpenRoot(dir)
	if err != nil {
		return err
	}
	e := editor{in: &Dir{dir, root}, root: root}
	defer e.in.Close()
	if err := e.plan(edits); err != nil {
		return err
	}
	r, done, err := e.reserve(records)
	if err != nil {
		return err
	}
	defer done()
	if err := e.stage(); err != nil {
		return err
	}
	r.Staged = true
	if _, err := r.keep(records); err != nil {
		return err
	}
	for i := range e.steps {
		if err := e.put(&e.steps[i]); err != nil {
			return e.back(i, atFile(err, e.steps[i].at))
		}
	}
	if err := e.end(); err != nil {
		return fmt.Errorf("%s: all is written, and may not be on the disk yet: %w", dir, err)
	}
	return nil
}

// aside ends the name of what is moved away for a moment.
const aside = "-"

// atFile is an error of the file system as one about this file.
func atFile(err error, at string) error {
	if _, told := errors.AsType[*diag.Error](err); told {
		return err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return &fs.PathError{Op: "replace", Path: at, Err: err}
}

// An editor changes files of one folder.
type editor struct {
	in    *Dir // the folder, which nothing leads out of
	root  *os.Root
	temp  string // a directory in it
	steps []step
	made  []string // directories
}

// A step changes one file.
type step struct {
	at       string // path of the file
	slot     string // path of the file that takes its place, and of what was there afterwards
	was, now []byte // as in an Edit
	perm     fs.FileMode
}

// plan checks that the files are what they shall be, and puts the steps in order.
func (e *editor) plan(edits []Edit) error {
	for i := range edits {
		x := &edits[i]
		if !filepath.IsLocal(filepath.FromSlash(x.Path)) || path.Clean(x.Path) != x.Path || x.Path == "." {
			return diag.New(diag.Refused, "path_outside", "%q is no path in %s", x.Path, e.in.path)
		}
		s := step{at: filepath.Join(e.in.path, filepath.FromSlash(x.Path)), was: x.Was, now: x.Now}
		var err error
		if s.perm, err = e.in.mode(&s, x.Executable); err != nil {
			return err
		}
		e.steps = append(e.steps, s)
	}
	slices.SortStableFunc(e.steps, func(a, b step) int { return a.turn() - b.turn() })
	return nil
}

// reserve makes the directory in the folder, of which there is a record before it is there. done removes both.
func (e *editor) reserve(records string) (r *record, done func(), err error) {
	for {
		e.temp = filepath.Join(e.in.path, fmt.Sprintf("%s%010d", editMark, rand.Uint64N(1e10)))
		r = e.record()
		forget, err := r.keep(records)
		if err != nil {
			return nil, nil, err
		}
		err = e.in.Mkdir(e.temp, 0o700)
		if err == nil {
			unlock, err := durable.Lock(atOnce(), e.temp, nil)
			switch {
			case err == nil:
				return r, func() { r.over(records); unlock(); e.in.RemoveAll(e.temp); forget() }, nil
			case !errors.Is(err, durable.ErrLocked) && !errors.Is(err, fs.ErrNotExist): // a file system without locks
				return r, func() { r.over(records); e.in.RemoveAll(e.temp); forget() }, nil
			}
			e.in.RemoveAll(e.temp) // somebody took it for one that was left
		}
		forget()
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, nil, err
		}
	}
}

// record says what the steps do.
func (e *editor) record() *record {
	r := &record{Dir: e.in.path, Temp: filepath.Base(e.temp)}
	for i := range e.steps {
		name := filepath.ToSlash(strings.TrimPrefix(e.steps[i].at, e.in.path+string(filepath.Separator)))
		r.Steps = append(r.Steps, recordedStep{name, sum(e.steps[i].was), sum(e.steps[i].now)})
	}
	return r
}

// stage writes what takes the place of the files.
func (e *editor) stage() error {
	for i := range e.steps {
		s := &e.steps[i]
		if s.slot = filepath.Join(e.temp, strconv.Itoa(i)); s.now == nil {
			continue
		}
		if err := e.in.fill(s); err != nil {
			return err
		}
	}
	return e.in.SyncTree(e.temp)
}

// turn is when a step comes.
func (s *step) turn() int {
	switch {
	case s.was == nil:
		return 0
	case s.now != nil:
		return 1
	}
	return 2
}

// mode is that of the file as it will be. A file that is not what the step says is refused.
func (d *Dir) mode(s *step, executable bool) (fs.FileMode, error) {
	switch {
	case s.was == nil && d.Exists(s.at):
		return 0, cmp.Or(d.Replaceable(s.at), changedMeanwhile(s.at))
	case s.was == nil && executable:
		return 0o755, nil
	case s.was == nil:
		return 0o644, nil
	}
	if err := d.holds(s.at, s.was); err != nil {
		return 0, err
	}
	info, err := d.Lstat(s.at)
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

// fill writes what takes the place of a file: with its mode, or, of a new file, with one of which the umask takes something.
func (d *Dir) fill(s *step) error {
	if err := d.Create(s.slot, s.now, s.perm); err != nil || s.was == nil {
		return err
	}
	return d.do(s.slot, func(o ops, name string) error { return o.Chmod(name, s.perm) })
}

// put does one step. What it does not want to have done it undoes.
func (e *editor) put(s *step) error {
	var err error
	switch {
	case s.was == nil:
		return e.create(s)
	case s.now == nil:
		err = e.in.Rename(s.at, s.slot)
	default:
		err = e.exchange(s)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return changedMeanwhile(s.at)
	}
	if err != nil || e.in.holds(s.slot, s.was) == nil {
		return err
	}
	if err := e.undo(s); err != nil { // it may say where something lies
		return err
	}
	return changedMeanwhile(s.at)
}

// create puts a new file in place. One that somebody else made stays.
func (e *editor) create(s *step) error {
	made, err := e.in.MkdirAll(filepath.Dir(s.at), 0o755)
	e.made = append(e.made, made...)
	if err != nil {
		return err
	}
	if err = e.link(s.slot, s.at); errors.Is(err, fs.ErrExist) {
		return changedMeanwhile(s.at)
	}
	return err
}

// link moves what is no link to where nothing is.
func (e *editor) link(from, to string) error {
	a, errA := e.in.rel(from)
	b, errB := e.in.rel(to)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	err := e.root.Link(a, b)
	switch {
	case err == nil:
		return e.in.Remove(from)
	case e.in.Exists(to):
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist): // a directory, or a disk without links
		return e.in.Rename(from, to)
	}
	return err
}

// exchange has a file and what takes its place change places.
func (e *editor) exchange(s *step) error {
	err := e.in.Exchange(s.at, s.slot)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := e.in.Rename(s.at, s.slot+aside); err != nil {
		return err
	}
	if err := e.in.Rename(s.slot, s.at); err != nil {
		return errors.Join(err, e.in.Rename(s.slot+aside, s.at))
	}
	return e.in.Rename(s.slot+aside, s.slot)
}

// undo undoes a step. What somebody else wrote since stays, with code changed_meanwhile; what can have no place is kept beside it.
func (e *editor) undo(s *step) error {
	switch {
	case s.was == nil:
		switch err := e.in.Rename(s.at, s.slot); {
		case errors.Is(err, fs.ErrNotExist): // somebody removed it
			return nil
		case err != nil || e.in.holds(s.slot, s.now) == nil:
			return err
		}
		if err := e.link(s.slot, s.at); err != nil {
			return e.keep(s, err)
		}
		return changedMeanwhile(s.at)
	case s.now == nil:
		if err := e.link(s.slot, s.at); err != nil {
			return e.keep(s, err)
		}
		return nil
	}
	back, _ := e.in.Lstat(s.slot)
	if err := e.exchange(s); err != nil {
		return e.keep(s, err)
	}
	if e.in.holds(s.slot, s.now) == nil {
		return nil
	}
	if err := e.exchange(s); err != nil {
		return e.keep(s, err)
	}
	if now, err := e.in.Lstat(s.slot); err != nil || !os.SameFile(back, now) {
		return e.keep(s, changedMeanwhile(s.at))
	}
	return changedMeanwhile(s.at)
}

// keep puts the file that has no place beside the one that has.
func (e *editor) keep(s *step, why error) error {
	beside, err := e.in.unused(filepath.Dir(s.at), ".skl-"+filepath.Base(s.at)+"-", func(path string) error { return e.link(s.slot, path) })
	if err != nil {
		beside = e.temp + aside // which no edit removes
		err = e.in.Rename(e.temp, beside)
	}
	if err != nil {
		return errors.Join(why, err)
	}
	if errors.Is(why, fs.ErrExist) {
		why = changedMeanwhile(s.at)
	}
	return fmt.Errorf("%w: what was there lies in %s", why, beside)
}

// back undoes the first n steps, the last one first, and gives why with what could not be undone.
func (e *editor) back(n int, why error) error {
	for i := n - 1; i >= 0; i-- {
		if err := e.undo(&e.steps[i]); err != nil {
			why = fmt.Errorf("%w; %w", why, err)
		}
	}
	for i := len(e.made) - 1; i >= 0; i-- {
		e.in.Remove(e.made[i]) // unless somebody put something there
	}
	return why
}

// removeEmpty removes the directories above a file that is gone which are empty then, and gives the first that stays.
func (e *editor) removeEmpty(at string) (up string) {
	for up = filepath.Dir(at); up != e.in.path && e.in.Remove(up) == nil; {
		up = filepath.Dir(up)
	}
	return up
}

// end removes directories that are empty now, and makes all durable.
func (e *editor) end() error {
	changed := map[string]bool{}
	for i := range e.steps {
		up := filepath.Dir(e.steps[i].at)
		if e.steps[i].now == nil {
			up = e.removeEmpty(e.steps[i].at)
		}
		changed[up] = true
	}
	for i := range e.made {
		changed[filepath.Dir(e.made[i])] = true
	}
	for dir := range changed {
		if err := e.in.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// holds refuses a file that is no regular one, or holds something else.
func (d *Dir) holds(at string, was []byte) error {
	info, err := d.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return changedMeanwhile(at)
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return notAFile(at, info.Mode())
	}
	has, err := d.ReadFile(at, max(int64(len(was)), 1))
	if errors.Is(err, diag.Code("too_large")) || err == nil && !bytes.Equal(has, was) {
		return changedMeanwhile(at)
	}
	return err
}

func changedMeanwhile(at string) error {
	return diag.New(diag.Unmet, "changed_meanwhile", "%s was changed by somebody else in the meantime", at).Hint("run it again")
}

func notAFolder(path string, mode fs.FileMode) error {
	return diag.New(diag.Refused, "irregular_file", "%s is %s, not a folder", path, kind(mode)).Hint("name the folder that it leads to")
}
