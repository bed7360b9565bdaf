//go:build !linux && !darwin

package fs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func identify(info fs.FileInfo) identity {
	return identity{size: info.Size(), modified: info.ModTime().UnixNano()}
}

// isFull reports whether err means that the disk is used up: ERROR_HANDLE_DISK_FULL or
// ERROR_DISK_FULL on Windows.
func isFull(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) && (number == 39 || number == 112)
}

func forget(*os.File) {}
