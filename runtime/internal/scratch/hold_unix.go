//go:build unix

package scratch

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// hold locks a directory. It is errTaken unless dir is then still what was locked.
func hold(dir string) (io.Closer, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil, errTaken
	} else if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), dir)
	var locked, now unix.Stat_t
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil || unix.Fstat(fd, &locked) != nil || unix.Lstat(dir, &now) != nil ||
		locked.Dev != now.Dev || locked.Ino != now.Ino {
		f.Close()
		return nil, errTaken
	}
	return f, nil
}

// abandoned reports whether dir is this user's and nobody holds it. free ends the lock that it then has.
func abandoned(dir string) (free func()) {
	var info unix.Stat_t
	if unix.Lstat(dir, &info) != nil || int(info.Uid) != os.Getuid() {
		return nil
	}
	held, err := hold(dir)
	if err != nil {
		return nil
	}
	return func() { held.Close() }
}
