package durable

import (
	"io/fs"
	"os"
)

// syncEach syncs every file and directory of fsys, whose files are those of package os.
func syncEach(fsys fs.FS) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if open, ok := f.(*os.File); ok {
			return SyncOpen(open)
		}
		return nil
	})
}
