package scope

import (
	"errors"
	"io/fs"
	"path/filepath"

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
	where := dir
	if len(edits) == 1 {
		where = filepath.Join(dir, filepath.FromSlash(edits[0].Path))
	}
	return install.NotWritable(at.Edit(dir, edits), where)
}

// InstalledCopy refuses a folder that was installed, by whichever link it is reached: the next update replaces it.
func (sc *Scope) InstalledCopy(dir string) error {
	name := filepath.Base(dir)
	_, err := roots.ReadReceipt(filepath.Dir(dir), name)
	if real := Resolved(dir); errors.Is(err, fs.ErrNotExist) && real != dir {
		name = filepath.Base(real)
		_, err = roots.ReadReceipt(filepath.Dir(real), name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return diag.New(diag.Refused, "installed_copy", "%s is an installed copy, which the next update replaces", sc.Short(dir)).
		Hint("edit the skill where it comes from: skl info %s", diag.Quote(name)).Hint("or work on its folder in place: skl install --link DIR")
}
