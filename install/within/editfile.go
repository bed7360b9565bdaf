package within

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
)

// EditFile changes one file of the folder dir where it stands: the folder stays the same one, and who works in it goes on. It is refused,
// with nothing changed, if the file does not hold what the edit says that it was: code changed_meanwhile. What somebody writes at the same
// moment is put back. Where two files cannot be exchanged in one step, that moment is not seen.
func (d *Dir) EditFile(dir string, x Edit) error {
	at := filepath.Join(dir, filepath.FromSlash(x.Path))
	if !filepath.IsLocal(filepath.FromSlash(x.Path)) {
		return diag.New(diag.Refused, "path_outside", "%q is no path in %s", x.Path, dir)
	}
	if x.Was == nil {
		return d.newFile(at, x.Now, x.perm())
	}
	if err := d.holds(at, x.Was); err != nil {
		return err
	}
	info, err := d.Lstat(at)
	if err != nil {
		return err
	}
	now := x.Now
	if now == nil {
		now = []byte{}
	}
	temp, err := d.stageFile(at, now, info.Mode().Perm())
	if err != nil {
		return err
	}
	if err := d.exchange(at, temp, x.Was, now); err != nil {
		return err
	}
	if x.Now == nil {
		if err := d.Remove(at); err != nil {
			return err
		}
	}
	return d.SyncDir(filepath.Dir(at))
}

// exchange puts temp, which holds now, in the place of a file that holds was, or leaves that as it is. temp is gone then.
func (d *Dir) exchange(at, temp string, was, now []byte) error {
	err := d.Exchange(at, temp)
	if errors.Is(err, errors.ErrUnsupported) {
		err = d.Rename(temp, at)
	}
	if err != nil {
		d.Remove(temp)
		return err
	}
	if !d.Exists(temp) || d.holds(temp, was) == nil {
		d.Remove(temp)
		return nil
	}
	err = changedMeanwhile(at)
	if back := d.Exchange(at, temp); back != nil {
		return fmt.Errorf("%w, and lies in %s now: %w", err, temp, back)
	}
	if d.holds(temp, now) != nil { // what was written while it was put back
		return fmt.Errorf("%w, twice: what was written last lies in %s", err, temp)
	}
	d.Remove(temp)
	return err
}

// newFile makes a file that is not there, whole or not at all.
func (d *Dir) newFile(at string, data []byte, perm fs.FileMode) error {
	if d.Exists(at) {
		return changedMeanwhile(at)
	}
	if _, err := d.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	temp, err := d.stageFile(at, data, perm)
	if err != nil {
		return err
	}
	defer d.Remove(temp)
	above, err := d.OpenRoot(filepath.Dir(at))
	if err != nil {
		return err
	}
	defer above.Close()
	if err = above.Link(filepath.Base(temp), filepath.Base(at)); err != nil && durable.NoLinks(err) {
		err = d.Create(at, data, perm)
	}
	if errors.Is(err, fs.ErrExist) {
		return changedMeanwhile(at)
	}
	if err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(at))
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
	if errors.Is(err, diag.Code("too_large")) || err == nil && string(has) != string(was) {
		return changedMeanwhile(at)
	}
	return err
}

func changedMeanwhile(at string) error {
	return diag.New(diag.Unmet, "changed_meanwhile", "%s was changed by somebody else in the meantime", at).Hint("run it again")
}
