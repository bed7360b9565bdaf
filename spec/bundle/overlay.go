package bundle

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// An Overlay is a file system in which some files are others than below: those of Files stand there instead, and those of Gone do not. A
// link that Files replaces is a file. Do not change it while it is read.
type Overlay struct {
	Below fs.FS
	Files Memory
	Gone  map[string]bool
}

// hides reports whether nothing of what lies below by this name shows.
func (o Overlay) hides(name string) bool {
	_, replaced := o.Files[name]
	return replaced || o.Gone[name]
}

func absent(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

// Open implements [fs.FS].
func (o Overlay) Open(name string) (fs.File, error) {
	if _, ok := o.Files[name]; ok {
		return o.Files.Open(name)
	}
	if o.Gone[name] {
		return nil, absent("open", name)
	}
	f, err := o.Below.Open(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		info, err := f.Stat()
		if err != nil || !info.IsDir() {
			return f, err
		}
		f.Close()
	}
	entries, err := o.ReadDir(name)
	if err != nil {
		return nil, err
	}
	info, err := o.Stat(name)
	return &memoryDir{info, entries}, err
}

// ReadDir implements [fs.ReadDirFS].
func (o Overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	if o.hides(name) {
		_, ok := o.Files[name]
		if ok {
			return o.Files.ReadDir(name) // no directory
		}
		return nil, absent("open", name)
	}
	below, err := fs.ReadDir(o.Below, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	above, aboveErr := o.Files.ReadDir(name)
	if err != nil && aboveErr != nil {
		return nil, err
	}
	byName := map[string]fs.DirEntry{}
	for _, e := range below {
		if !o.hides(path.Join(name, e.Name())) {
			byName[e.Name()] = e
		}
	}
	for _, e := range above {
		if old := byName[e.Name()]; old == nil || !old.IsDir() {
			byName[e.Name()] = e
		}
	}
	out := make([]fs.DirEntry, 0, len(byName))
	for _, n := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[n])
	}
	return out, nil
}

// ReadFile implements [fs.ReadFileFS].
func (o Overlay) ReadFile(name string) ([]byte, error) {
	if _, ok := o.Files[name]; ok {
		return o.Files.ReadFile(name)
	}
	if o.Gone[name] {
		return nil, absent("open", name)
	}
	return fs.ReadFile(o.Below, name)
}

// Stat implements [fs.StatFS].
func (o Overlay) Stat(name string) (fs.FileInfo, error) { return o.stat(name, fs.Stat) }

// Lstat implements [fs.ReadLinkFS].
func (o Overlay) Lstat(name string) (fs.FileInfo, error) { return o.stat(name, fs.Lstat) }

func (o Overlay) stat(name string, below func(fs.FS, string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	if _, ok := o.Files[name]; ok {
		return o.Files.Stat(name)
	}
	if o.Gone[name] {
		return nil, absent("stat", name)
	}
	info, err := below(o.Below, name)
	if errors.Is(err, fs.ErrNotExist) { // a directory of Files, if anything
		return o.Files.Stat(name)
	}
	return info, err
}

// ReadLink implements [fs.ReadLinkFS].
func (o Overlay) ReadLink(name string) (string, error) {
	switch _, ok := o.Files[name]; {
	case ok:
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	case o.Gone[name]:
		return "", absent("readlink", name)
	}
	return fs.ReadLink(o.Below, name)
}
