// Package within confines file operations to one directory tree.
//
// The files of a project were written by strangers: a link below it may
// lead anywhere, and a file that skl expects may be a pipe or a device. A [Dir] is the
// only way in which skl reads and writes the files of a scope:
//
//   - A confined Dir never follows a link that leads out of its directory, neither for
//     the last element of a path nor for one before it. It rests on [os.Root], so that
//     nobody can exchange a directory for a link while an operation is under way.
//   - A path that is refused for that reason is an error of class Refused with code
//     E_ROOT_ESCAPE, which names the link. Nothing was read or written then.
//   - A link that stays inside is followed, also if its text is an absolute path.
//   - Files are read only if they are regular and not larger than the caller allows, and
//     replaced only if they are regular: never through a link, a pipe or a device.
//
// The user's own scopes (the home directory, the machine's directory) have a Dir from
// [Anywhere]: their links are the user's own, who may keep ~/.claude on another disk.
//
// Paths are absolute and clean, and below the directory of a confined Dir. A Dir may
// be used by several goroutines.
package within

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
)

// A Dir is a directory tree that operations cannot leave. Its zero value is not usable.
type Dir struct {
	path string   // "" for a Dir from Anywhere
	root *os.Root // nil for a Dir from Anywhere
}

// Open returns a Dir confined to the directory path, which must exist.
func Open(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{filepath.Clean(path), root}, nil
}

// Anywhere returns a Dir that is not confined, for directories whose links are the user's own.
func Anywhere() *Dir { return &Dir{} }

// Close ends the use of d.
func (d *Dir) Close() error {
	if d.root == nil {
		return nil
	}
	return d.root.Close()
}

// Path is the directory that d is confined to, "" if it is not.
func (d *Dir) Path() string { return d.path }

// ReadFile returns the content of the regular file at path, of at most limit bytes. Anything else
// that lies there is a durable.ErrIrregular.
func (d *Dir) ReadFile(path string, limit int64) (data []byte, err error) {
	err = d.at(path, func(o ops, name string) error {
		f, err := openRegular(o, name)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, limit+1))
		if err == nil && int64(len(data)) > limit {
			err = tooLarge(path, limit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

func tooLarge(path string, limit int64) error {
	return diag.New(diag.Failed, "too_large", "%s is larger than %d bytes", path, limit)
}

// WriteFile replaces the file at path by data: it writes beside, syncs and renames. A file
// that was there keeps its mode, a new one gets perm. What is there and is no regular file is
// refused with code irregular_file. Its directory must exist.
func (d *Dir) WriteFile(path string, data []byte, perm fs.FileMode) error {
	if err := d.Replaceable(path); err != nil {
		return err
	}
	if info, err := d.Lstat(path); err == nil {
		perm = info.Mode().Perm()
	}
	tmp, err := d.stageFile(path, data, perm)
	if err != nil {
		return err
	}
	if err := d.Rename(tmp, path); err != nil {
		d.Remove(tmp)
		return err
	}
	return d.SyncDir(filepath.Dir(path))
}

// stageFile writes data to a new synced file beside path and returns its path.
func (d *Dir) stageFile(path string, data []byte, perm fs.FileMode) (string, error) {
	f, tmp, err := d.createTemp(filepath.Dir(path), ".skl-"+filepath.Base(path)+"-")
	if err != nil {
		return "", err
	}
	if err := durable.Fill(f, data, perm); err != nil {
		d.Remove(tmp)
		return "", err
	}
	return tmp, nil
}

// Replaceable refuses a path where something lies that is no regular file, with code irregular_file.
func (d *Dir) Replaceable(path string) error {
	info, err := d.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return notAFile(path, info.Mode())
	}
	return nil
}

func notAFile(path string, mode fs.FileMode) error {
	return diag.New(diag.Refused, "irregular_file", "%s is %s, not a regular file", path, kind(mode)).
		Hint("move it away, or put a regular file in its place")
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Create makes a new file at path with the content data. It does not sync.
func (d *Dir) Create(path string, data []byte, perm fs.FileMode) error {
	return d.do(path, func(o ops, name string) error {
		f, err := o.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return err
	})
}

// Lstat describes path itself, not what it links to.
func (d *Dir) Lstat(path string) (info fs.FileInfo, err error) {
	err = d.do(path, func(o ops, name string) error { info, err = o.Lstat(name); return err })
	return info, err
}

// Stat describes what path is or leads to.
func (d *Dir) Stat(path string) (info fs.FileInfo, err error) {
	err = d.at(path, func(o ops, name string) error { info, err = o.Stat(name); return err })
	return info, err
}

// Exists reports whether something lies at path, be it a link that leads nowhere.
//
//go:noinline
func (d *Dir) Exists(path string) bool {
	_, err := d.Lstat(path)
	return err == nil
}

// Readlink returns the text of the link at path.
func (d *Dir) Readlink(path string) (text string, err error) {
	err = d.do(path, func(o ops, name string) error { text, err = o.Readlink(name); return err })
	return text, err
}

// ReadDir returns the entries of the directory at path, sorted by name.
func (d *Dir) ReadDir(path string) (entries []fs.DirEntry, err error) {
	err = d.at(path, func(o ops, name string) error {
		f, err := o.OpenFile(name, os.O_RDONLY|noWait, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		entries, err = f.ReadDir(-1)
		return err
	})
	sortEntries(entries)
	return entries, err
}

// Mkdir makes one directory.
func (d *Dir) Mkdir(path string, perm fs.FileMode) error {
	return d.do(path, func(o ops, name string) error { return o.Mkdir(name, perm) })
}

// MkdirAll makes path and what is missing above it, and returns what it made, outermost first.
func (d *Dir) MkdirAll(path string, perm fs.FileMode) (made []string, err error) {
	var missing []string
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := d.Stat(dir)
		if err == nil && !info.IsDir() {
			return nil, &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("it is not a directory")}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		missing = append(missing, dir)
		if filepath.Dir(dir) == dir {
			break
		}
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := d.Mkdir(missing[i], perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return made, err
		}
		made = append(made, missing[i])
	}
	return made, nil
}

// MkdirTemp makes a new directory in dir whose name starts with prefix.
func (d *Dir) MkdirTemp(dir, prefix string) (string, error) {
	return d.unused(dir, prefix, func(path string) error { return d.Mkdir(path, 0o700) })
}

func (d *Dir) createTemp(dir, prefix string) (f *os.File, path string, err error) {
	path, err = d.unused(dir, prefix, func(path string) error {
		return d.do(path, func(o ops, name string) error {
			f, err = o.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
			return err
		})
	})
	return f, path, err
}

// Symlink makes path a link with this text, which is not looked at.
func (d *Dir) Symlink(text, path string) error {
	return d.do(path, func(o ops, name string) error { return o.Symlink(text, name) })
}

// Remove removes a file, a link or an empty directory.
//
//go:noinline
func (d *Dir) Remove(path string) error {
	return d.do(path, func(o ops, name string) error { return o.Remove(name) })
}

// RemoveAll removes path and everything below it, directories that are read-only included.
// It follows no link, and is content if nothing is there.
func (d *Dir) RemoveAll(path string) error {
	return d.do(path, func(o ops, name string) error {
		if o.RemoveAll(name) == nil {
			return nil
		}
		makeWritable(o, name)
		return o.RemoveAll(name)
	})
}

// makeWritable lets the directories below name be emptied; RemoveAll reports what stays.
func makeWritable(o ops, name string) {
	if info, err := o.Lstat(name); err != nil || !info.IsDir() {
		return
	}
	o.Chmod(name, 0o700)
	f, err := o.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	f.Close()
	for _, e := range entries {
		if e.IsDir() {
			makeWritable(o, filepath.Join(name, e.Name()))
		}
	}
}

// Rename moves from to to, replacing a file that lies there.
func (d *Dir) Rename(from, to string) error {
	return d.both(from, to, func(o ops, from, to string) error { return durable.Retry(func() error { return o.Rename(from, to) }) })
}

// Exchange swaps two paths of one file system in one step. Where that cannot be done
// its error is [errors.ErrUnsupported].
func (d *Dir) Exchange(a, b string) error {
	return d.both(a, b, func(o ops, a, b string) error {
		da, err := openDir(o, filepath.Dir(a))
		if err != nil {
			return err
		}
		defer da.Close()
		db, err := openDir(o, filepath.Dir(b))
		if err != nil {
			return err
		}
		defer db.Close()
		return durable.ExchangeAt(da, filepath.Base(a), db, filepath.Base(b))
	})
}

// Inode returns the number that names path's object, not following a link; 0 where there is none.
func (d *Dir) Inode(path string) (uint64, error) {
	info, err := d.Lstat(path)
	if err != nil {
		return 0, err
	}
	return durable.Inode(info), nil
}

// SameFileSystem reports whether a rename between the directories a and b can work.
func (d *Dir) SameFileSystem(a, b string) bool {
	ia, errA := d.Stat(a)
	ib, errB := d.Stat(b)
	return errA == nil && errB == nil && durable.SameFileSystem(ia, ib, a, b)
}

// SyncDir makes renames inside dir durable. Where directories cannot be synced it does nothing.
func (d *Dir) SyncDir(dir string) error {
	return d.at(dir, func(o ops, name string) error {
		f, err := openDir(o, name)
		if err != nil {
			return err
		}
		defer f.Close()
		return durable.SyncOpen(f)
	})
}

// SyncTree makes all that was written below dir durable.
func (d *Dir) SyncTree(dir string) error {
	return d.at(dir, func(o ops, name string) error {
		f, err := openDir(o, name)
		if err != nil {
			return err
		}
		defer f.Close()
		return durable.SyncTree(f, o.FS(name))
	})
}

// OpenRoot opens the directory at path, to read or fill it.
func (d *Dir) OpenRoot(path string) (root *os.Root, err error) {
	err = d.at(path, func(o ops, name string) error { root, err = o.OpenRoot(name); return err })
	return root, err
}

// FS gives read access to the directory at path. Its paths obey d's rules.
func (d *Dir) FS(path string) fs.FS { return tree{d, path} }

// tree is the part of a Dir below one directory.
type tree struct {
	dir  *Dir
	path string
}

func (t tree) Open(name string) (f fs.File, err error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	err = t.dir.at(filepath.Join(t.path, filepath.FromSlash(name)), func(o ops, name string) error {
		info, err := o.Stat(name)
		if err != nil {
			return err
		}
		open := openRegular
		if info.IsDir() {
			open = openDir
		}
		if file, openErr := open(o, name); openErr == nil {
			f = file
		} else {
			err = openErr
		}
		return err
	})
	return f, err
}

func (t tree) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return t.dir.Stat(filepath.Join(t.path, filepath.FromSlash(name)))
}

// ReadFile reads at most durable.MaxFile bytes.
func (t tree) ReadFile(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return t.dir.ReadFile(filepath.Join(t.path, filepath.FromSlash(name)), durable.MaxFile)
}

func (t tree) Lstat(name string) (fs.FileInfo, error) {
	return t.dir.Lstat(filepath.Join(t.path, filepath.FromSlash(name)))
}

func (t tree) ReadLink(name string) (string, error) {
	return t.dir.Readlink(filepath.Join(t.path, filepath.FromSlash(name)))
}

func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	return t.dir.ReadDir(filepath.Join(t.path, filepath.FromSlash(name)))
}

func openDir(o ops, name string) (*os.File, error) { return o.OpenFile(name, os.O_RDONLY|noWait, 0) }

// openRegular opens a regular file. It does not wait for the writer of a pipe, and touches no device.
func openRegular(o ops, name string) (*os.File, error) {
	if info, err := o.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: durable.ErrIrregular}
	}
	f, err := o.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: durable.ErrIrregular} // another one since
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// do calls op with the way to path. If the way leads out of d, it explains the error, and if
// it only seems to, by a link with an absolute path, it tries the way without links.
func (d *Dir) do(path string, op func(o ops, name string) error) (err error) {
	if d.root == nil {
		return op(&free{}, path)
	}
	defer func() {
		if e, ok := errors.AsType[*fs.PathError](err); ok && !filepath.IsAbs(e.Path) {
			e.Path = filepath.Join(d.path, e.Path) // a Root names paths relative to itself
		}
	}()
	name, err := d.rel(path)
	if err != nil {
		return err
	}
	if err = op((*confined)(d.root), name); err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if _, refused := errors.AsType[*diag.Error](err); refused {
		return err
	}
	real, leads := d.follow(path)
	switch {
	case leads:
		return d.escape(path, real)
	case real != name && real != "":
		return op((*confined)(d.root), real)
	}
	return err
}

// at is do for an operation that follows the last element too.
func (d *Dir) at(path string, op func(o ops, name string) error) error {
	err := d.do(path, op)
	if err == nil || d.root == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if text, linkErr := d.Readlink(path); linkErr != nil || !filepath.IsAbs(text) {
		return err
	}
	base, baseErr := filepath.EvalSymlinks(d.path)
	real, realErr := Resolve(path)
	if rel, relErr := filepath.Rel(base, real); errors.Join(baseErr, realErr, relErr) == nil && filepath.IsLocal(rel) {
		return d.do(filepath.Join(d.path, rel), op)
	}
	return err
}

// both is do for an operation on two paths.
func (d *Dir) both(a, b string, op func(o ops, a, b string) error) error {
	return d.do(a, func(o ops, a string) error {
		return d.do(b, func(_ ops, b string) error { return op(o, a, b) })
	})
}

// rel is path relative to d, or the refusal of one that is not below it.
func (d *Dir) rel(path string) (string, error) {
	rel, err := filepath.Rel(d.path, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", d.escape(path, path)
	}
	return rel, nil
}

func (d *Dir) escape(path, real string) error {
	return diag.New(diag.Refused, "E_ROOT_ESCAPE", "%s leads out of %s, to %s", path, d.path, real).
		Hint("remove the link, or work in another scope: --scope user")
}

// follow looks where path leads, as far as it exists: out of d, or to real, which is then
// relative to d. The last element is not followed, as most operations do not.
func (d *Dir) follow(path string) (real string, leads bool) {
	base, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return "", false
	}
	for _, try := range []string{path, filepath.Dir(path)} {
		at, err := Resolve(try)
		if err != nil {
			return "", false
		}
		rel, err := filepath.Rel(base, at)
		if err != nil || !filepath.IsLocal(rel) {
			return at, true
		}
		if try != path {
			return filepath.Join(rel, filepath.Base(path)), false
		}
	}
	return "", false
}

// Same reports whether a and b are one directory, by whatever names: through links, on a disk that folds names, mounted twice.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(x, y)
	}
	realA, errA := Resolve(a) // what is not there yet can be the same, too
	realB, errB := Resolve(b)
	return errA == nil && errB == nil && realA == realB
}

// maxLinks is how many links one path may go through.
const maxLinks = 40

// Resolve is path with all links followed; what does not exist is taken as it is written. Its only error is that of links that lead in a circle.
func Resolve(path string) (string, error) {
	rest := strings.Split(filepath.ToSlash(strings.TrimPrefix(path, filepath.VolumeName(path))), "/")
	at, links := filepath.VolumeName(path)+string(filepath.Separator), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(at, name)
		text, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many links", path)
		}
		if filepath.IsAbs(text) {
			at = filepath.VolumeName(text) + string(filepath.Separator)
			text = strings.TrimPrefix(text, filepath.VolumeName(text))
		}
		rest = append(strings.Split(filepath.ToSlash(text), "/"), rest...)
	}
	return at, nil
}
