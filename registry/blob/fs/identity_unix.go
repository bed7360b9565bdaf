//go:build linux || darwin

package fs

import (
	"errors"
	"io/fs"
	"syscall"
)

func identify(info fs.FileInfo) identity {
	id := identity{size: info.Size(), modified: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.inode, id.changed = int64(st.Ino), changed(st)
	}
	return id
}

// isFull reports whether err means that the disk, or the share of it, is used up.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
