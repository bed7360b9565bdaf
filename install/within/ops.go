package within

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/spec/order"
)

// ops are the operations of an [os.Root], on names that are relative to it for a
// confined Dir, and on absolute paths for one that is free.
type ops interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	OpenRoot(name string) (*os.Root, error)
	FS(name string) fs.FS
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
	Symlink(text, name string) error
	Mkdir(name string, perm fs.FileMode) error
	Chmod(name string, mode fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
}

// confined is an [os.Root] with these operations alone: of all, the program would keep each.
type confined os.Root

func (c *confined) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return (*os.Root)(c).OpenFile(name, flag, perm)
}
func (c *confined) OpenRoot(name string) (*os.Root, error)    { return (*os.Root)(c).OpenRoot(name) }
func (c *confined) Stat(name string) (fs.FileInfo, error)     { return (*os.Root)(c).Stat(name) }
func (c *confined) Lstat(name string) (fs.FileInfo, error)    { return (*os.Root)(c).Lstat(name) }
func (c *confined) Readlink(name string) (string, error)      { return (*os.Root)(c).Readlink(name) }
func (c *confined) Symlink(text, name string) error           { return (*os.Root)(c).Symlink(text, name) }
func (c *confined) Mkdir(name string, perm fs.FileMode) error { return (*os.Root)(c).Mkdir(name, perm) }
func (c *confined) Chmod(name string, mode fs.FileMode) error { return (*os.Root)(c).Chmod(name, mode) }
func (c *confined) Rename(from, to string) error              { return (*os.Root)(c).Rename(from, to) }
func (c *confined) Remove(name string) error                  { return (*os.Root)(c).Remove(name) }
func (c *confined) RemoveAll(name string) error               { return (*os.Root)(c).RemoveAll(name) }

func (c *confined) FS(name string) fs.FS {
	sub, err := fs.Sub((*os.Root)(c).FS(), filepath.ToSlash(name))
	if err != nil {
		return (*os.Root)(c).FS()
	}
	return sub
}

type free struct{}

func (*free) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}
func (*free) OpenRoot(name string) (*os.Root, error)    { return os.OpenRoot(name) }
func (*free) FS(name string) fs.FS                      { return os.DirFS(name) }
func (*free) Stat(name string) (fs.FileInfo, error)     { return os.Stat(name) }
func (*free) Lstat(name string) (fs.FileInfo, error)    { return os.Lstat(name) }
func (*free) Readlink(name string) (string, error)      { return os.Readlink(name) }
func (*free) Symlink(text, name string) error           { return os.Symlink(text, name) }
func (*free) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }
func (*free) Chmod(name string, mode fs.FileMode) error { return os.Chmod(name, mode) }
func (*free) Rename(from, to string) error              { return os.Rename(from, to) }
func (*free) Remove(name string) error                  { return os.Remove(name) }
func (*free) RemoveAll(name string) error               { return os.RemoveAll(name) }

// unused calls create with names in dir until one is free, and returns that path.
func (d *Dir) unused(dir, prefix string, create func(path string) error) (string, error) {
	for range 1000 {
		path := filepath.Join(dir, fmt.Sprintf("%s%010d", prefix, rand.Uint64N(1e10)))
		if err := create(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s: no free name that starts with %s", dir, prefix)
}

func sortEntries(entries []fs.DirEntry) {
	order.Sort(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
}
