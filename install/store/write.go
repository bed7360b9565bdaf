package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// Write creates the directory dst in dir from the bundle that fetch writes to its sink.
// Everything passes a bundle.Guard with limits first. On an error dst is removed.
// A read-only tree has no write bits, also on directories.
func Write(dir *within.Dir, dst string, limits bundle.Limits, readOnly bool, fetch func(bundle.Sink) error) (bundle.Summary, error) {
	if err := dir.Mkdir(dst, 0o755); err != nil {
		return bundle.Summary{}, err
	}
	root, err := dir.OpenRoot(dst)
	if err != nil {
		return bundle.Summary{}, err
	}
	defer root.Close()
	w := &writer{root: root, made: map[string]bool{".": true}, plain: 0o644, executable: 0o755}
	if readOnly {
		w.plain, w.executable = 0o444, 0o555
	}
	sum, err := func() (bundle.Summary, error) {
		guard := bundle.NewGuard(w, limits)
		guard.Portable = runtime.GOOS == "windows" // elsewhere the disk says what it can hold
		if err := fetch(guard); err != nil {
			return bundle.Summary{}, err
		}
		sum, err := guard.Close()
		if err != nil {
			return bundle.Summary{}, err
		}
		return sum, w.finish(readOnly)
	}()
	if err != nil {
		dir.RemoveAll(dst)
		return bundle.Summary{}, err
	}
	return sum, nil
}

// writer is the Sink behind a Guard: it writes below root, which nobody else knows
// yet. Links are made last, so that no file can be written through one.
type writer struct {
	root              *os.Root
	made              map[string]bool // directories that exist, as slash paths
	links             [][2]string     // path, target
	plain, executable fs.FileMode
}

func (w *writer) File(p string, executable bool, _ int64, r io.Reader) error {
	if err := w.mkdir(path.Dir(p)); err != nil {
		return err
	}
	mode := w.plain
	if executable {
		mode = w.executable
	}
	f, err := w.root.OpenFile(filepath.FromSlash(p), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return taken(p, err)
	}
	_, err = io.Copy(f, r)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (w *writer) Link(p, target string) error {
	if err := w.mkdir(path.Dir(p)); err != nil {
		return err
	}
	w.links = append(w.links, [2]string{p, target})
	return nil
}

func (w *writer) mkdir(p string) error {
	if w.made[p] {
		return nil
	}
	if err := w.mkdir(path.Dir(p)); err != nil {
		return err
	}
	w.made[p] = true
	return taken(p, w.root.Mkdir(filepath.FromSlash(p), 0o755))
}

// taken says what it means that something lies at p already, where nobody else writes: the file system takes another path of the bundle for it. Other
// errors are as they are.
func taken(p string, err error) error {
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	return diag.New(diag.Refused, bundle.CodePathCollision, "the skill has two paths that are one on this disk: %q and another", diag.Printable(p)).
		Hint("its author has to rename one; a disk that tells upper from lower case holds both")
}

// unlinked says what to do when the link at p cannot be made because there are no links there; other errors are as they are.
func unlinked(p string, err error) error {
	if !durable.NoLinks(err) {
		return err
	}
	e := diag.New(diag.Failed, "no_links", "the skill has the symbolic link %s, and none can be made here: %w", diag.Printable(p), err)
	if runtime.GOOS == "windows" {
		return e.Hint("switch Developer Mode on in the settings of Windows, then try again")
	}
	return e.Hint("the disk has no symbolic links; SKL_DATA_DIR moves skl's store, and the project has to lie on a disk that has them")
}

func (w *writer) finish(readOnly bool) error {
	for _, l := range w.links {
		if err := w.root.Symlink(filepath.FromSlash(l[1]), filepath.FromSlash(l[0])); err != nil {
			return unlinked(l[0], taken(l[0], err))
		}
	}
	if !readOnly {
		return nil
	}
	for p := range w.made {
		if p == "." {
			continue // renamed into place by the store, which needs it writable on some systems
		}
		if err := w.root.Chmod(filepath.FromSlash(p), 0o555); err != nil {
			return err
		}
	}
	return nil
}
