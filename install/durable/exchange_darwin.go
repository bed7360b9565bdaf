package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ExchangeAt swaps the entries a of dirA and b of dirB in one step. Where the file system cannot, it returns an
// error that is [errors.ErrUnsupported].
func ExchangeAt(dirA *os.File, a string, dirB *os.File, b string) error {
	err := unix.RenameatxNp(int(dirA.Fd()), a, int(dirB.Fd()), b, unix.RENAME_SWAP)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}
