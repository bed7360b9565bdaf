package within

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/install/durable"
)

// stagingMark stands in the name of a directory in which a folder is made that shall take the place of another: ".NAME.skl-NUMBER".
const stagingMark = ".skl-"

// Staging makes a directory beside dir for what shall take its place; done removes it with all that is in it then. Directories of that kind
// that a process left which is gone are removed first and at the end, where dir is there: else one of them may hold all that is left of it.
func (d *Dir) Staging(dir string) (temp string, done func(), err error) {
	above, prefix := filepath.Dir(dir), "."+filepath.Base(dir)+stagingMark
	d.abandoned(dir, above, prefix)
	for {
		if temp, err = d.MkdirTemp(above, prefix); err != nil {
			return "", nil, err
		}
		unlock, err := durable.Lock(atOnce(), temp, nil)
		if err == nil {
			return temp, func() { unlock(); d.RemoveAll(temp); d.abandoned(dir, above, prefix) }, nil
		}
		if !errors.Is(err, durable.ErrLocked) && !errors.Is(err, fs.ErrNotExist) { // somebody took it for one that was left
			return temp, func() { d.RemoveAll(temp) }, nil // a file system without locks
		}
		d.RemoveAll(temp)
	}
}

// MakeFolder makes the folder dir, which is not there, with what fill puts into the folder staged: all of it or nothing, whenever the
// process ends.
func (d *Dir) MakeFolder(dir string, fill func(staged string) error) error {
	temp, done, err := d.Staging(dir)
	if err != nil {
		return err
	}
	defer done()
	staged := filepath.Join(temp, filepath.Base(dir))
	if err := d.Mkdir(staged, 0o755); err != nil {
		return err
	}
	if err := fill(staged); err != nil {
		return err
	}
	if err := d.SyncTree(staged); err != nil {
		return err
	}
	if err := d.Rename(staged, dir); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(dir))
}

// atOnce is the context of a lock for which nobody waits.
func atOnce() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// abandoned removes what processes left that are gone, as far as that can be told.
func (d *Dir) abandoned(dir, above, prefix string) {
	if info, err := d.Lstat(dir); err != nil || !info.IsDir() {
		return
	}
	entries, err := d.ReadDir(above)
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || !e.IsDir() || number == "" || strings.Trim(number, "0123456789") != "" || !d.staged(filepath.Join(above, e.Name()), filepath.Base(dir)) {
			continue
		}
		if unlock, err := durable.Lock(atOnce(), filepath.Join(above, e.Name()), nil); err == nil {
			unlock()
			d.RemoveAll(filepath.Join(above, e.Name()))
		}
	}
}

// staged reports whether a directory holds nothing but what is put into one by Staging.
func (d *Dir) staged(at, name string) bool {
	entries, err := d.ReadDir(at)
	for _, e := range entries {
		if e.Name() != name {
			return false
		}
	}
	return err == nil
}
