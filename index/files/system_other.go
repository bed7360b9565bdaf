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

// stampIn is StampOf for an entry of an open directory. regular is false for what is no file any more.
func stampIn(_ *os.File, e fs.DirEntry) (s Stamp, regular bool) {
	info, err := e.Info()
	if err != nil {
		return Stamp{}, false
	}
	return StampOf(info), info.Mode().IsRegular()
}
