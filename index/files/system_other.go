//go:build !linux && !darwin

package files

import (
	"io/fs"
	"os"
)

const (
	dirFlags  = 0
	fileFlags = 0
	noFollow  = 0
)

// identity has nothing: Windows keeps no time of the last change of metadata, and an inode would cost opening the file.
func identity(fs.FileInfo) (ctime int64, inode uint64) { return 0, 0 }

// Several says that a file has more names than one, where the system tells.
func Several(fs.FileInfo) bool { return false }

// stampIn is StampOf for an entry of an open directory. regular is false for what is no file any more.
func stampIn(_ *os.File, e fs.DirEntry) (s Stamp, l links, regular bool) {
	info, err := e.Info()
	if err != nil {
		return Stamp{}, links{}, false
	}
	return StampOf(info), links{}, info.Mode().IsRegular()
}
