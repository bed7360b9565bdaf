package within

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/install/durable"
)

// stagingMark stands in the name of a directory in which a folder is made that shall take the place of another: ".NAME.skl-NUMBER".
const stagingMark = ".skl-"

// Staging makes a directory beside dir for what shall take its place; done removes it with all that is in it then. Directories of that kind
// that a process left which is gone are removed first, where dir is there: else one of them may hold all that is left of it.
func (d *Dir) Staging(dir string) (temp string, done func(), err error) {
	name := filepath.Base(dir)
	ours := func(entry string) bool { return entry == name }
	if info, err := d.Lstat(dir); err != nil || !info.IsDir() {
		ours = nil
	}
	return d.reserve(filepath.Dir(dir), "."+name+stagingMark, ours)
}

// reserve makes a directory in above whose name starts with prefix, locks it, and removes those that processes left which are gone: such as
// hold nothing but what is ours, or none if that is nil.
func (d *Dir) reserve(above, prefix string, ours func(entry string) bool) (temp string, done func(), err error) {
	if ours != nil {
		d.abandoned(above, prefix, ours)
	}
	for {
		if temp, err = d.MkdirTemp(above, prefix); err != nil {
			return "", nil, err
		}
		unlock, err := durable.Lock(atOnce(), temp, nil)
		if err == nil {
			return temp, func() { unlock(); d.RemoveAll(temp) }, nil
		}
		if !errors.Is(err, durable.ErrLocked) && !errors.Is(err, fs.ErrNotExist) { // somebody took it for one that was left
			return temp, func() { d.RemoveAll(temp) }, nil // a file system without locks
		}
		d.RemoveAll(temp)
	}
}

// atOnce is the context of a lock for which nobody waits.
func atOnce() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// abandoned removes what processes left that are gone, as far as that can be told.
func (d *Dir) abandoned(above, prefix string, ours func(entry string) bool) {
	entries, err := d.ReadDir(above)
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || !e.IsDir() || number == "" || strings.Trim(number, "0123456789") != "" || !d.staged(filepath.Join(above, e.Name()), ours) {
			continue
		}
		if unlock, err := durable.Lock(atOnce(), filepath.Join(above, e.Name()), nil); err == nil {
			unlock()
			d.RemoveAll(filepath.Join(above, e.Name()))
		}
	}
}

// staged reports whether a directory holds nothing but what is ours.
func (d *Dir) staged(at string, ours func(entry string) bool) bool {
	entries, err := d.ReadDir(at)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !ours(e.Name()) })
}
