package index

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/store"
)

// errChanging is that of a file that changes again and again while it is read.
var errChanging = errors.New("the file changes while it is read")

// reading calls use with a regular file of the root and its stamp, and returns the stamp. Its error is errChanging if the file changed meanwhile.
func reading(root, path string, use func(*os.File, files.Stamp) error) (files.Stamp, error) {
	f, err := os.OpenFile(filepath.Join(root, filepath.FromSlash(path)), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return files.Stamp{}, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return files.Stamp{}, err
	}
	if !before.Mode().IsRegular() {
		return files.Stamp{}, os.ErrNotExist // it was another thing when it was found
	}
	stamp := files.StampOf(before)
	if err := use(f, stamp); err != nil {
		return files.Stamp{}, err
	}
	after, err := f.Stat()
	if err != nil {
		return files.Stamp{}, err
	}
	if files.StampOf(after) != stamp {
		return files.Stamp{}, errChanging
	}
	return stamp, nil
}

// readFile reads a file of the root with a stamp that belongs to the bytes, into buf if that is not nil. A file that is too large gives no
// bytes and no error.
func readFile(root, path string, buf *[]byte) (data []byte, stamp files.Stamp, err error) {
	if buf == nil {
		buf = new([]byte)
	}
	for range 5 {
		stamp, err = reading(root, path, func(f *os.File, s files.Stamp) (err error) {
			if data = nil; s.Size > files.MaxFileBytes {
				return nil
			}
			data, err = readAll(f, int(s.Size), buf)
			return err
		})
		if err == nil {
			return data, stamp, nil
		}
		if !errors.Is(err, errChanging) {
			return nil, files.Stamp{}, err
		}
		time.Sleep(time.Millisecond)
	}
	return nil, files.Stamp{}, fmt.Errorf("reading %s: %w", path, errChanging)
}

// readAll reads the bytes of a file of a size, into buf if there is room.
func readAll(f *os.File, size int, buf *[]byte) ([]byte, error) {
	if *buf == nil || cap(*buf) < size {
		*buf = make([]byte, size)
	}
	*buf = (*buf)[:size]
	_, err := io.ReadFull(f, *buf)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		return nil, errChanging
	}
	return *buf, err
}

func hashOf(data []byte) (h store.Hash) {
	sum := sha256.Sum256(data)
	copy(h[:], sum[:])
	return h
}

// settled says whether a stamp tells all changes of a file since it was read, which began at the given time.
func settled(s files.Stamp, read int64) bool {
	newest := s.CTime
	if newest == 0 { // there is none; the other may be what anyone likes, even in the future
		newest = s.MTime
	}
	racy := racyCoarse
	if newest%int64(time.Millisecond) != 0 {
		racy = racyFine
	}
	return newest < read-int64(racy)
}

// unreadable says whether an error is of a file, such as one that is gone or damaged, and not of the whole process.
func unreadable(err error) bool {
	if errors.Is(err, errChanging) || errors.Is(err, fs.ErrNotExist) {
		return true
	}
	_, ok := errors.AsType[*fs.PathError](err)
	return ok && !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) && !errors.Is(err, syscall.ENOMEM)
}

// How old a file must be, when it is read, for its stamp to show every later change. The clocks that files are stamped with tick every
// 10 ms at most where they show parts of a millisecond, and every 2 s at worst where they show seconds.
const (
	racyFine   = 100 * time.Millisecond
	racyCoarse = 2 * time.Second
)
