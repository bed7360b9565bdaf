package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// openLock opens a file in the temporary directory that stands for dir, because
// Windows cannot lock a directory.
func openLock(dir string) (*os.File, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(strings.ToLower(abs)))
	return os.OpenFile(filepath.Join(os.TempDir(), "skl-"+hex.EncodeToString(sum[:8])+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
}

func tryLock(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
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
