package scope

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/diag"
)

// EditFolder makes the changes of a draft in its folder, all or none. Nothing is changed if a file is not what the draft was made of.
func (sc *Scope) EditFolder(dir string, changes []author.Change) error {
	if len(changes) == 0 {
		return nil
	}
	at, err := sc.WriterTo(dir)
	if err != nil {
		return err
	}
	defer at.Close()
	edits := make([]within.Edit, 0, len(changes))
	for _, c := range changes {
		edits = append(edits, within.Edit{Path: c.Path, Was: c.Was, Now: c.Now, Executable: c.Executable})
	}
	records := sc.editRecords()
	if err := sc.MkdirPrivate(records); err != nil {
		return err
	}
	err = at.Edit(dir, records, edits)
	where := dir
	if e, ok := errors.AsType[*fs.PathError](err); ok && Below(dir, e.Path) {
		where = e.Path
	}
	return install.NotWritable(err, where)
}

// editRecords is where it is recorded which folders are being changed.
func (sc *Scope) editRecords() string { return filepath.Join(sc.Dirs.State, "edits") }

// TakeBack takes back what a change of a folder, or of one in it or above it, left half done because the process was killed, and tells.
func (sc *Scope) TakeBack(dir string) error {
	real := Resolved(dir)
	folders, err := within.TakeBack(sc.editRecords(), func(at string) bool { return Below(real, at) || Below(at, real) })
	for _, at := range folders {
		sc.Tell.Warn("a change of %s was cut off, and is taken back: its files are as they were before", sc.Short(at))
	}
	return err
}

// InstalledCopy refuses a folder that was installed, by whichever link it is reached, be it disabled: the next update replaces it. It was
// if it has a receipt, or if skl.lock has its name and nothing says that the folder is another one.
func (sc *Scope) InstalledCopy(dir string) error {
	name := filepath.Base(dir)
	_, err := roots.ReadReceipt(roots.RootOf(dir), name)
	real := Resolved(dir)
	if errors.Is(err, fs.ErrNotExist) && real != dir {
		name = filepath.Base(real)
		_, err = roots.ReadReceipt(roots.RootOf(real), name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		locked, err := sc.isLocked(real)
		if !locked || err != nil {
			return err
		}
	}
	return diag.New(diag.Refused, "installed_copy", "%s is an installed copy, which the next update replaces", sc.Short(dir)).
		Hint("edit the skill where it comes from: skl info %s", diag.Quote(name)).Hint("or work on its folder in place: skl install --link DIR")
}

// isLocked reports whether skl.lock has the name of a folder in a root of this scope, and not as this folder itself.
func (sc *Scope) isLocked(dir string) (bool, error) {
	root := roots.RootOf(dir)
	if !slices.ContainsFunc(sc.Site.All(), func(at string) bool { return at == root || Resolved(at) == root }) {
		return false, nil
	}
	f, err := sc.Load()
	if err != nil {
		return false, err
	}
	s, ok := f.Lock.Skill(filepath.Base(dir))
	return ok && (s.Source != "local" || Resolved(Absolute(sc.Base, s.URL)) != dir), nil
}
