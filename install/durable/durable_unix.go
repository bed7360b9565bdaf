//go:build unix

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openLock opens dir itself: flock works on directories, so no file is left behind.
func openLock(dir string) (*os.File, error) { return os.Open(dir) }

func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, err
		}
	}
}

func syncRefused(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.EBADF)
}
