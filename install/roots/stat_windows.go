package roots

import (
	"io/fs"
	"os"
)

// statPath describes path itself, not what it links to. There is no inode or
// change time without opening the file, so a stamp is size and time of change.
func statPath(path string) (status, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return status{}, err
	}
	return toStatus(info), nil
}

func toStatus(info fs.FileInfo) status {
	s := status{stamp: stamp{size: info.Size(), mtime: info.ModTime().UnixNano(), ctime: info.ModTime().UnixNano()}}
	switch {
	case info.Mode().IsRegular():
		s.kind = regular
	case info.IsDir():
		s.kind = directory
		s.size = 0
	case info.Mode()&fs.ModeSymlink != 0, info.Mode()&fs.ModeIrregular != 0:
		s.kind = link // a junction is irregular
	}
	return s
}

// readFile reads the regular file path and describes what it read.
func readFile(path string, _ []byte) ([]byte, status, error) {
	s, err := statPath(path)
	if err != nil {
		return nil, status{}, err
	}
	switch {
	case s.kind != regular:
		return nil, status{}, &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
	case s.size > maxTreeBytes:
		return nil, status{}, &fs.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	data, err := os.ReadFile(path)
	if err == nil && int64(len(data)) != s.size {
		err = &fs.PathError{Op: "read", Path: path, Err: errChanging}
	}
	return data, s, err
}
