//go:build unix

package blob

import (
	"errors"
	"syscall"
)

// isFull reports whether err means that the disk, or the share of it, is used up.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
