//go:build unix

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// A lock is dir itself: flock works on directories, so there is no file.
type lock struct {
	dir string
	f   *os.File
}

// end gives the lock back before it closes the directory: a program that is being started just then has a copy of the descriptor
// until it runs, and closing alone would leave the lock with that copy.
func (l *lock) end() {
	if l.f != nil {
		_ = unix.Flock(int(l.f.Fd()), unix.LOCK_UN)
		l.f.Close()
	}
}

func (l *lock) try() (ok bool, err error) {
	if l.f == nil {
		if l.f, err = os.Open(l.dir); err != nil {
			return false, err
		}
	}
	for {
		err := unix.Flock(int(l.f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
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

// busy: here a file that is open can be renamed and removed.
func busy(error) bool { return false }
