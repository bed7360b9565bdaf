package durable

import (
	"io/fs"
	"os"
	"path/filepath"
)

// syncEach syncs every file and directory below dir.
func syncEach(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		if d.IsDir() {
			return SyncDir(path)
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil && !syncRefused(err) {
			return err
		}
		return nil
	})
}
