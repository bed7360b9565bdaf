//go:build unix && !linux

package durable

import (
	"io/fs"
	"os"
)

// SyncTree makes all that was written below dir durable; fsys is what is in it.
func SyncTree(dir *os.File, fsys fs.FS) error { return syncEach(fsys) }
