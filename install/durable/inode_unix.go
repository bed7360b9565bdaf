//go:build unix

package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// Inode returns the number that names path's object, not following a link. It
// stays the same when the object is renamed.
func Inode(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return 0, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return st.Ino, nil
}

// SameFileSystem reports whether a rename between the directories a and b can work.
func SameFileSystem(a, b string) bool {
	var sa, sb unix.Stat_t
	return unix.Stat(a, &sa) == nil && unix.Stat(b, &sb) == nil && sa.Dev == sb.Dev
}
