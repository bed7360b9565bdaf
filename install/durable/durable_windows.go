package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// A lock is the file .skl.lock in dir, beside the data and so the same for everybody who reaches it. It is open for one
// process alone, and goes when that closes it or ends.
type lock struct {
	dir    string
	handle windows.Handle
}

const lockName = ".skl.lock"

func (l *lock) end() {
	if l.handle != 0 {
		windows.CloseHandle(l.handle)
		l.handle = 0
	}
}

func (l *lock) try() (ok bool, err error) {
	path := filepath.Join(l.dir, lockName)
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return false, err
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.DELETE, windows.FILE_SHARE_DELETE, nil, windows.OPEN_ALWAYS,
		windows.FILE_ATTRIBUTE_HIDDEN|windows.FILE_FLAG_DELETE_ON_CLOSE|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	switch {
	case err == nil:
		l.handle = h
		return true, nil
	case errors.Is(err, windows.ERROR_SHARING_VIOLATION), errors.Is(err, windows.ERROR_DELETE_PENDING):
		return false, nil
	case errors.Is(err, windows.ERROR_ACCESS_DENIED): // perhaps it is about to go
		if _, missing := os.Lstat(path); !errors.Is(missing, fs.ErrNotExist) {
			return false, nil
		}
	}
	return false, &fs.PathError{Op: "open", Path: path, Err: err}
}

// busy reports whether err may be over in a moment: someone else has the file open.
func busy(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

func syncRefused(error) bool { return true }

// ExchangeAt is not available on Windows.
func ExchangeAt(dirA *os.File, a string, dirB *os.File, b string) error { return errors.ErrUnsupported }

// SyncTree makes all that was written below dir durable; fsys is what is in it.
func SyncTree(dir *os.File, fsys fs.FS) error { return syncEach(fsys) }

// Inode is 0: Windows has no number that survives a rename here.
func Inode(fs.FileInfo) uint64 { return 0 }

// SameFileSystem reports whether a rename between the directories at pathA and pathB can work.
func SameFileSystem(_, _ fs.FileInfo, pathA, pathB string) bool {
	return strings.EqualFold(filepath.VolumeName(pathA), filepath.VolumeName(pathB))
}
