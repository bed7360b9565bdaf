package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Exchange swaps two paths of one file system in one step. Where the kernel or
// the file system cannot, it returns an error that is [errors.ErrUnsupported].
func Exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// SyncTree makes all that was written below dir durable, with one call for the
// whole file system.
func SyncTree(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := unix.Syncfs(int(d.Fd())); err != nil {
		return syncEach(dir)
	}
	return nil
}
