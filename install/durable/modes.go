package durable

import (
	"io"
	"io/fs"
	"path"
)

// WithModes is fsys, but for the execute bits of its regular files: executable decides them, by the slash path of the
// file. It is for trees whose modes are kept beside them, because a disk may not be able to hold any.
func WithModes(fsys fs.FS, executable func(name string) bool) fs.FS { return modeFS{fsys, executable} }

// GuessModes is fsys where disks have modes. Elsewhere a file that starts with #! is executable, and no other.
func GuessModes(fsys fs.FS) fs.FS {
	if HasModes {
		return fsys
	}
	return WithModes(fsys, func(name string) bool { return isScript(fsys, name) })
}

// isScript reports whether the file name starts with #!.
func isScript(fsys fs.FS, name string) bool {
	f, err := fsys.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var start [2]byte
	_, err = io.ReadFull(f, start[:])
	return err == nil && string(start[:]) == "#!"
}

type modeFS struct {
	fs.FS
	executable func(name string) bool
}

func (m modeFS) with(name string, info fs.FileInfo, err error) (fs.FileInfo, error) {
	if err != nil || !info.Mode().IsRegular() {
		return info, err
	}
	return modeInfo{info, m.executable(name)}, nil
}

func (m modeFS) Open(name string) (fs.File, error) {
	f, err := m.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if dir, ok := f.(fs.ReadDirFile); ok {
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return modeDir{dir, m, name}, nil
		}
	}
	return modeFile{f, m, name}, nil
}

func (m modeFS) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(m.FS, name)
	return m.with(name, info, err)
}

func (m modeFS) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(m.FS, name)
	return m.with(name, info, err)
}

func (m modeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(m.FS, name)
	return m.entries(name, entries), err
}

func (m modeFS) entries(dir string, entries []fs.DirEntry) []fs.DirEntry {
	for i, e := range entries {
		if e.Type().IsRegular() {
			entries[i] = modeEntry{e, m, path.Join(dir, e.Name())}
		}
	}
	return entries
}

func (m modeFS) ReadFile(name string) ([]byte, error) { return fs.ReadFile(m.FS, name) }
func (m modeFS) ReadLink(name string) (string, error) { return fs.ReadLink(m.FS, name) }

type modeFile struct {
	fs.File
	of   modeFS
	name string
}

func (f modeFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return f.of.with(f.name, info, err)
}

type modeDir struct {
	fs.ReadDirFile
	of   modeFS
	name string
}

func (d modeDir) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := d.ReadDirFile.ReadDir(n)
	return d.of.entries(d.name, entries), err
}

type modeEntry struct {
	fs.DirEntry
	of   modeFS
	name string
}

func (e modeEntry) Info() (fs.FileInfo, error) {
	info, err := e.DirEntry.Info()
	return e.of.with(e.name, info, err)
}

type modeInfo struct {
	fs.FileInfo
	executable bool
}

func (i modeInfo) Mode() fs.FileMode {
	if i.executable {
		return i.FileInfo.Mode() | 0o111
	}
	return i.FileInfo.Mode() &^ 0o111
}
