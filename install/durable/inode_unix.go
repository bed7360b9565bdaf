//go:build unix

package durable

import (
	"io/fs"
	"syscall"
)

// Inode returns the number that names the object that info describes. It stays the same
// when the object is renamed.
func Inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

// SameFileSystem reports whether a rename between the directories a and b can work.
func SameFileSystem(a, b fs.FileInfo, _, _ string) bool {
	sa, okA := a.Sys().(*syscall.Stat_t)
	sb, okB := b.Sys().(*syscall.Stat_t)
	return okA && okB && sa.Dev == sb.Dev
}
