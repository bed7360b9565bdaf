//go:build !unix

package blob

import (
	"errors"
	"syscall"
)

// isFull reports whether err means that the disk is used up: ERROR_HANDLE_DISK_FULL or
// ERROR_DISK_FULL on Windows.
func isFull(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) && (number == 39 || number == 112)
}
