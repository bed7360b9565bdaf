package search

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/runtime/skills"
)

// rootDir is the directory that has the files of a root of skills, for who cannot read an fs.FS.
func (s *Searcher) rootDir(r roots.Root) (string, error) {
	if r.Scope != roots.ScopeSystem {
		return r.Path, nil
	}
	dir := filepath.Join(s.Scope.Dirs.Cache, "embedded")
	return dir, unpack(skills.FS(), dir)
}

// unpack makes dir have the files of fsys and nothing else. Files that are as they should be are left alone.
func unpack(fsys fs.FS, dir string) error {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if info, err := fs.Stat(fsys, filepath.ToSlash(rel)); err == nil && info.Mode().Type() == d.Type() {
			return nil
		}
		if err := os.RemoveAll(name); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		name := filepath.Join(dir, filepath.FromSlash(path))
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(name, 0o755))
		}
		want, err := fs.ReadFile(fsys, path)
		if err != nil {
			return err
		}
		if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, want) {
			return nil
		}
		return os.WriteFile(name, want, 0o644)
	})
}
