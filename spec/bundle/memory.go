package bundle

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"time"
)

// Memory is a file system of regular files in memory, by their slash-separated paths; a directory is there as long as a file
// lies in it. Do not change it while it is read.
type Memory map[string]MemoryFile

// A MemoryFile is one file of a [Memory].
type MemoryFile struct {
	Data       []byte
	Executable bool
}

// Open implements [fs.FS].
func (m Memory) Open(name string) (fs.File, error) {
	info, err := m.stat("open", name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return &memoryFile{info, bytes.NewReader(m[name].Data)}, nil
	}
	entries, err := m.ReadDir(name)
	return &memoryDir{info, entries}, err
}

// Stat implements [fs.StatFS].
func (m Memory) Stat(name string) (fs.FileInfo, error) { return m.stat("stat", name) }

// ReadFile implements [fs.ReadFileFS]. The bytes are the caller's.
func (m Memory) ReadFile(name string) ([]byte, error) {
	info, err := m.stat("open", name)
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	return slices.Clone(m[name].Data), nil
}

// ReadDir implements [fs.ReadDirFS].
func (m Memory) ReadDir(name string) ([]fs.DirEntry, error) {
	info, err := m.stat("open", name)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	entries := []fs.DirEntry{}
	for p := range m {
		rest, in := p, true
		if name != "." {
			rest, in = strings.CutPrefix(p, name+"/")
		}
		first, _, _ := strings.Cut(rest, "/")
		if !in || seen[first] {
			continue
		}
		seen[first] = true
		if child, err := m.stat("open", path.Join(name, first)); err == nil {
			entries = append(entries, fs.FileInfoToDirEntry(child))
		}
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	return entries, nil
}

func (m Memory) stat(op, name string) (memoryInfo, error) {
	if !fs.ValidPath(name) {
		return memoryInfo{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if f, ok := m[name]; ok {
		mode := fs.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		return memoryInfo{path.Base(name), int64(len(f.Data)), mode}, nil
	}
	if name == "." {
		return memoryInfo{name, 0, fs.ModeDir | 0o755}, nil
	}
	for p := range m {
		if strings.HasPrefix(p, name+"/") {
			return memoryInfo{path.Base(name), 0, fs.ModeDir | 0o755}, nil
		}
	}
	return memoryInfo{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

type memoryInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i memoryInfo) Name() string       { return i.name }
func (i memoryInfo) Size() int64        { return i.size }
func (i memoryInfo) Mode() fs.FileMode  { return i.mode }
func (i memoryInfo) ModTime() time.Time { return time.Time{} }
func (i memoryInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memoryInfo) Sys() any           { return nil }

type memoryFile struct {
	info memoryInfo
	read *bytes.Reader
}

func (f *memoryFile) Stat() (fs.FileInfo, error)              { return f.info, nil }
func (f *memoryFile) Read(p []byte) (int, error)              { return f.read.Read(p) }
func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) { return f.read.ReadAt(p, off) }
func (f *memoryFile) Seek(offset int64, whence int) (int64, error) {
	return f.read.Seek(offset, whence)
}
func (f *memoryFile) WriteTo(w io.Writer) (int64, error) { return f.read.WriteTo(w) }
func (f *memoryFile) Close() error                       { return nil }

type memoryDir struct {
	info fs.FileInfo
	rest []fs.DirEntry
}

func (d *memoryDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *memoryDir) Close() error               { return nil }
func (d *memoryDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: fs.ErrInvalid}
}

func (d *memoryDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	out := d.rest[:n:n]
	d.rest = d.rest[n:]
	return out, nil
}
