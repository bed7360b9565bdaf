package prose

import (
	"bytes"
	"io/fs"
	"path"
	"time"
)

// written are files in memory, by their paths. It has no directories.
type written map[string][]byte

// Open implements [fs.FS]. Its error wraps [fs.ErrNotExist].
func (w written) Open(name string) (fs.File, error) {
	data, ok := w[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &writtenFile{bytes.NewReader(data), path.Base(name)}, nil
}

// A writtenFile is an open file of written, and what is known of it.
type writtenFile struct {
	*bytes.Reader
	name string
}

func (f *writtenFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *writtenFile) Close() error               { return nil }
func (f *writtenFile) Name() string               { return f.name }
func (f *writtenFile) Mode() fs.FileMode          { return 0o644 }
func (f *writtenFile) ModTime() time.Time         { return time.Time{} }
func (f *writtenFile) IsDir() bool                { return false }
func (f *writtenFile) Sys() any                   { return nil }
