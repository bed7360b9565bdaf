package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrIrregular says that a pipe, device, socket or directory stands where a file belongs.
// Opening one may wait forever, and reading one may never end.
var ErrIrregular = errors.New("it is not a regular file")

// ErrTooLarge says that a file is larger than MaxFile.
var ErrTooLarge = errors.New("it is larger than 64 MiB")

// MaxFile bounds what RootFS reads of one file into memory, in bytes.
const MaxFile = 64 << 20

// OpenFile opens the regular file path for reading; a link to one too. It does not wait for
// pipes and touches no device: they are an ErrIrregular.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	p := plainFS{open: func(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|nonblock, 0) }}
	return p.file(path, info)
}

// ReadFile reads the regular file path, up to MaxFile, as OpenFile opens it.
func ReadFile(path string) ([]byte, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(path, f)
}

func readAll(name string, f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrTooLarge}
	}
	return data, nil
}

// RootFS is [os.Root.FS] whose files are opened as OpenFile opens them, and read up to MaxFile.
// Links that leave the root are not followed. It is for the folders of authors: without modes on the disk, a file is
// executable if git's index says so, or, where git does not track it, if it starts with #!.
func RootFS(root *os.Root) fs.FS {
	fsys := plainFS{root.FS().(baseFS), func(name string) (*os.File, error) {
		return root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock, 0)
	}}
	if HasModes {
		return fsys
	}
	return authored(fsys, root.Name())
}

// baseFS is what the file systems of package os implement besides Open.
type baseFS interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

type plainFS struct {
	baseFS
	open func(name string) (*os.File, error) // of a valid path that was no pipe or device
}

func (p plainFS) Open(name string) (fs.File, error) {
	info, err := p.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return p.baseFS.Open(name)
	}
	return p.file(name, info)
}

func (p plainFS) file(name string, info fs.FileInfo) (*os.File, error) {
	fail := func(err error) (*os.File, error) {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if !info.Mode().IsRegular() {
		return fail(ErrIrregular)
	}
	f, err := p.open(name)
	if err != nil {
		return fail(err)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() { // another one since
		err = ErrIrregular
	}
	if err != nil {
		f.Close()
		return fail(err)
	}
	return f, nil
}

func (p plainFS) ReadFile(name string) ([]byte, error) {
	info, err := p.Stat(name)
	if err != nil {
		return nil, err
	}
	f, err := p.file(name, info)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(name, f)
}
