//go:build linux || darwin

package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A directory may turn into a link or a FIFO between the moment it is listed and the moment it is opened.
const (
	dirFlags  = syscall.O_DIRECTORY | syscall.O_NOFOLLOW
	fileFlags = syscall.O_NONBLOCK
	noFollow  = syscall.O_NOFOLLOW
)

func identity(info fs.FileInfo) (ctime int64, inode uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return changeTime(st), st.Ino
}

// Several says that a file has more names than one.
func Several(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// stampIn is StampOf for an entry of an open directory. Asking there and not by the whole path halves the time of a
// walk. regular is false for what is no file any more.
func stampIn(dir *os.File, e fs.DirEntry) (s Stamp, l links, regular bool) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(dir.Fd()), e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return Stamp{}, links{}, false
		}
	}
	l = links{inode{uint64(st.Dev), st.Ino}, uint64(st.Nlink)}
	return Stamp{Size: st.Size, MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano(), Inode: st.Ino}, l, st.Mode&unix.S_IFMT == unix.S_IFREG
}
