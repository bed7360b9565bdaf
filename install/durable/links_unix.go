//go:build unix

package durable

import (
	"errors"

	"golang.org/x/sys/unix"
)

// NoLinks reports whether err, of making a symbolic link, says that the disk has none, such as FAT.
func NoLinks(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS)
}
