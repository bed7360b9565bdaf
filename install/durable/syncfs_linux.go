package durable

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ExchangeAt swaps the entries a of dirA and b of dirB in one step. Where the kernel or
// the file system cannot, it returns an error that is [errors.ErrUnsupported].
func ExchangeAt(dirA *os.File, a string, dirB *os.File, b string) error {
	err := unix.Renameat2(int(dirA.Fd()), a, int(dirB.Fd()), b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// SyncTree makes all that was written below dir durable, with one call for the
// whole file system; fsys is what is in dir.
func SyncTree(dir *os.File, fsys fs.FS) error {
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return syncEach(fsys)
	}
	return nil
}
