//go:build unix && !linux

package durable

import (
	"errors"
	"io/fs"
	"os"
)

// ExchangeAt is not available here.
func ExchangeAt(dirA *os.File, a string, dirB *os.File, b string) error { return errors.ErrUnsupported }

// SyncTree makes all that was written below dir durable; fsys is what is in it.
func SyncTree(dir *os.File, fsys fs.FS) error { return syncEach(fsys) }
