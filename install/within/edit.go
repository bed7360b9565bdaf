package within

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// An Edit is one file of a folder, before and after.
type Edit struct {
	Path string // relative to the folder, with slashes
	Was  []byte // what it holds; nil: it is not there
	Now  []byte // what it shall hold; nil: it goes

	Executable bool // of a file that is not there
}

// maxEntries bounds a folder that is edited.
const maxEntries = 50_000

// Edit changes files of the folder dir, all or none: it makes a copy of the folder beside it, changes that, and exchanges the two in one
// step. Everything else in the folder stays as it is, links and modes included. It is refused, with nothing changed, if a file does not
// hold what the edit says that it was, or if anything in the folder changes while it runs: code changed_meanwhile. Where two folders
// cannot be exchanged in one step, there is a moment in which dir is not there. The working directory, here, must not lie in dir: code inside_folder.
func (d *Dir) Edit(dir, here string, edits []Edit) error {
	if info, err := d.Lstat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return notAFolder(dir, info.Mode())
	}
	if here == dir || strings.HasPrefix(here, dir+string(filepath.Separator)) {
		return diag.New(diag.Refused, "inside_folder", "%s is replaced by another folder, and the working directory lies in it", dir).Hint("cd %s", diag.Quote(filepath.Dir(dir)))
	}
	above := filepath.Dir(dir)
	parent, err := d.OpenRoot(above)
	if err != nil {
		return err
	}
	defer parent.Close()
	temp, done, err := d.Staging(dir)
	if err != nil {
		return err
	}
	defer done()
	e := editor{parent: parent, dir: dir, from: filepath.Base(dir), to: filepath.Join(filepath.Base(temp), filepath.Base(dir)), seen: map[string]entry{}}
	if err := e.clone("."); err != nil {
		return err
	}
	for i := range edits {
		if err := e.edit(&edits[i]); err != nil {
			return err
		}
	}
	staged := filepath.Join(temp, filepath.Base(dir))
	if err := d.SyncTree(staged); err != nil {
		return err
	}
	old, err := d.swap(dir, staged, filepath.Join(temp, "old"))
	if err != nil {
		return err
	}
	if e.from = filepath.Join(filepath.Base(temp), filepath.Base(old)); !e.same() {
		if _, err := d.swap(dir, old, filepath.Join(temp, "new")); err != nil {
			return fmt.Errorf("%s was changed while it was edited, and lies in %s now: %w", dir, old, err)
		}
		return e.changed(".")
	}
	return d.SyncDir(above)
}

// swap puts staged in the place of dir; old is where dir is then.
func (d *Dir) swap(dir, staged, aside string) (old string, err error) {
	if err = d.Exchange(dir, staged); !errors.Is(err, errors.ErrUnsupported) {
		return staged, err
	}
	if err := d.Rename(dir, aside); err != nil {
		return "", err
	}
	if err := d.Rename(staged, dir); err != nil {
		return "", errors.Join(err, d.Rename(aside, dir))
	}
	return aside, nil
}

// An editor copies a folder in parent and changes the copy.
type editor struct {
	parent   *os.Root
	dir      string // for messages
	from, to string // folder and copy, relative to parent
	seen     map[string]entry
}

// An entry is what tells that a file changed.
type entry struct {
	mode fs.FileMode
	size int64
	time time.Time
	link string
}

func entryOf(info fs.FileInfo, link string) entry {
	e := entry{info.Mode(), info.Size(), info.ModTime(), link}
	if info.IsDir() {
		e.size, e.time = 0, time.Time{} // its entries are compared
	}
	return e
}

func (e *editor) changed(name string) error {
	return changedMeanwhile(filepath.Join(e.dir, filepath.FromSlash(name)))
}

// look describes an entry of the folder.
func (e *editor) look(name string) (entry, error) {
	at := filepath.Join(e.from, name)
	info, err := e.parent.Lstat(at)
	if err != nil {
		return entry{}, err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = e.parent.Readlink(at); err != nil {
			return entry{}, err
		}
	}
	return entryOf(info, link), nil
}

// list are the entries of a directory of the folder.
func (e *editor) list(name string) ([]string, error) {
	f, err := e.parent.Open(filepath.Join(e.from, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// clone copies an entry and what is below it.
func (e *editor) clone(name string) error {
	is, err := e.look(name)
	if err != nil {
		return err
	}
	if e.seen[name] = is; len(e.seen) > maxEntries {
		return diag.New(diag.Unmet, "too_many_files", "%s holds more than %d files", e.dir, maxEntries)
	}
	from, to := filepath.Join(e.from, name), filepath.Join(e.to, name)
	switch {
	case is.mode.IsRegular():
		if e.parent.Link(from, to) == nil {
			return nil
		}
		return e.copy(from, to, is)
	case is.mode&fs.ModeSymlink != 0:
		return e.parent.Symlink(is.link, to)
	case !is.mode.IsDir():
		return notAFile(filepath.Join(e.dir, name), is.mode)
	}
	if err := e.parent.Mkdir(to, 0o700); err != nil {
		return err
	}
	names, err := e.list(name)
	if err != nil {
		return err
	}
	for _, child := range names {
		if err := e.clone(filepath.Join(name, child)); err != nil {
			return err
		}
	}
	return e.parent.Chmod(to, is.mode.Perm())
}

// copy copies a file where it cannot have two names.
func (e *editor) copy(from, to string, is entry) error {
	in, err := e.parent.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := e.parent.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, is.mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = e.parent.Chtimes(to, is.time, is.time)
	}
	return err
}

// edit changes a file of the copy.
func (e *editor) edit(x *Edit) error {
	if !filepath.IsLocal(filepath.FromSlash(x.Path)) || path.Clean(x.Path) != x.Path || x.Path == "." {
		return diag.New(diag.Refused, "path_outside", "%q is no path in %s", x.Path, e.dir)
	}
	copied, err := e.parent.OpenRoot(e.to) // a link in it leads nowhere else
	if err != nil {
		return err
	}
	defer copied.Close()
	name := filepath.FromSlash(x.Path)
	info, err := copied.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return notAFile(filepath.Join(e.dir, name), info.Mode())
	}
	there, perm := err == nil, x.perm()
	if there {
		perm = info.Mode().Perm()
		has, err := copied.ReadFile(name)
		if err != nil {
			return err
		}
		if x.Was == nil || !bytes.Equal(has, x.Was) {
			return e.changed(x.Path)
		}
		if err := copied.Remove(name); err != nil { // it has two names
			return err
		}
	} else if x.Was != nil {
		return e.changed(x.Path)
	}
	if x.Now == nil {
		for up := filepath.Dir(name); up != "." && copied.Remove(up) == nil; up = filepath.Dir(up) {
		}
		return nil
	}
	if err := copied.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := copied.WriteFile(name, x.Now, perm); err != nil || !there {
		return err
	}
	return copied.Chmod(name, perm) // whatever the umask is
}

// perm is the mode of a new file, of which the umask may take something.
func (x *Edit) perm() fs.FileMode {
	if x.Executable {
		return 0o755
	}
	return 0o644
}

// same reports whether the folder is as it was when it was copied.
func (e *editor) same() bool {
	n := 0
	var walk func(name string) bool
	walk = func(name string) bool {
		is, err := e.look(name)
		if err != nil || is != e.seen[name] {
			return false
		}
		n++
		if !is.mode.IsDir() {
			return true
		}
		names, err := e.list(name)
		if err != nil {
			return false
		}
		for _, child := range names {
			if !walk(filepath.Join(name, child)) {
				return false
			}
		}
		return true
	}
	return walk(".") && n == len(e.seen)
}

func notAFolder(path string, mode fs.FileMode) error {
	return diag.New(diag.Refused, "irregular_file", "%s is %s, not a folder", path, kind(mode)).Hint("name the folder that it leads to")
}
