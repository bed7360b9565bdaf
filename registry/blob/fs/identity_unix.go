//go:build linux || darwin

package fs

import (
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
