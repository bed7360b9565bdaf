// Package store keeps unpacked bundles by tree digest, so that a bundle is
// fetched once per machine.
//
// An entry is a read-only directory <dir>/<2 hex>/<64 hex>, and beside it, if it has executable files, the file
// <64 hex>.modes with their paths, one a line: not every disk has modes. An entry gets its name only
// after its content was hashed, and is hashed again whenever it is copied out,
// so a damaged entry is never installed: [Store.Copy] says so, and [Store.Drop]
// makes room for a fresh fetch. The store may be deleted at any time when no
// skl is running; several processes may use it at once.
package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// A Store is a directory of trees. The directory is created by the first Put.
type Store struct {
	Dir string
}

// Path is where the tree d is, or would be.
func (s *Store) Path(d bundle.Digest) string {
	hex := strings.TrimPrefix(string(d), "tree-sha256:")
	if len(hex) != 64 {
		return filepath.Join(s.Dir, "invalid")
	}
	return filepath.Join(s.Dir, hex[:2], hex)
}

// Has reports whether the store has an entry for d. The entry may be damaged.
func (s *Store) Has(d bundle.Digest) bool {
	_, err := os.Lstat(s.Path(d))
	return err == nil
}

// Put stores the bundle that fetch writes to its sink, within limits, and
// returns what it is. Nothing is kept if fetch or a rule of package bundle says no.
// An entry that is already there is kept.
func (s *Store) Put(limits bundle.Limits, fetch func(bundle.Sink) error) (bundle.Summary, error) {
	if err := durable.MkdirPrivate(s.Dir); err != nil {
		return bundle.Summary{}, err
	}
	s.sweep(time.Now())
	tmp, err := os.MkdirTemp(s.Dir, putPrefix)
	if err != nil {
		return bundle.Summary{}, err
	}
	defer Remove(tmp)
	root := filepath.Join(tmp, "tree")
	sum, err := Write(within.Anywhere(), root, limits, true, fetch)
	if err != nil {
		return bundle.Summary{}, err
	}
	path := s.Path(sum.Tree)
	if s.Has(sum.Tree) {
		return sum, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), durable.Private); err != nil {
		return bundle.Summary{}, err
	}
	if err := writeModes(tmp, path, sum); err != nil {
		return bundle.Summary{}, err
	}
	if err := durable.Retry(func() error {
		if err := os.Rename(root, path); err != nil && !s.Has(sum.Tree) {
			return err
		}
		return nil
	}); err != nil {
		return bundle.Summary{}, err
	}
	return sum, nil
}

// Copy writes the tree d to the new directory dst in dir and checks it on the way. An
// entry that does not have the content of its name gives an error with code
// store_corrupt, and dst is removed.
func (s *Store) Copy(d bundle.Digest, dir *within.Dir, dst string) (bundle.Summary, error) {
	if _, err := os.Lstat(s.Path(d)); err != nil {
		return bundle.Summary{}, err
	}
	// Whatever is read through a swapped link has another digest, so no os.Root is needed.
	sum, err := Write(dir, dst, bundle.InstallLimits, false, func(sink bundle.Sink) error {
		return bundle.ExactFS(s.FS(d), sink)
	})
	if err == nil && sum.Tree == d {
		return sum, nil
	}
	dir.RemoveAll(dst)
	if err != nil && !isBundleError(err) {
		return bundle.Summary{}, err
	}
	return bundle.Summary{}, diag.New(diag.Refused, "store_corrupt", "the stored copy of %s is damaged", d)
}

// isBundleError tells a stored tree that breaks a rule of bundles, and so was
// tampered with, from a disk that does not work.
func isBundleError(err error) bool {
	e, ok := errors.AsType[*diag.Error](err)
	return ok && strings.HasPrefix(e.Code, "PKG-")
}

// modesSuffix is what the file with the modes of an entry has behind the entry's name.
const modesSuffix = ".modes"

// writeModes puts the modes of the tree sum beside path, its entry to be. An entry without executable files needs none.
func writeModes(tmp, path string, sum bundle.Summary) error {
	var list strings.Builder
	for _, e := range sum.Entries {
		if e.Kind == bundle.Executable {
			list.WriteString(e.Path + "\n") // no path of a bundle has a line break
		}
	}
	if list.Len() == 0 {
		return nil
	}
	file := filepath.Join(tmp, "modes")
	if err := os.WriteFile(file, []byte(list.String()), 0o600); err != nil {
		return err
	}
	return durable.Rename(file, path+modesSuffix)
}

// Drop removes the entry of d, so that it can be put again.
func (s *Store) Drop(d bundle.Digest) error {
	if err := Remove(s.Path(d)); err != nil {
		return err
	}
	return Remove(s.Path(d) + modesSuffix)
}

// FS gives read access to the tree d, with its modes. They are the disk's only in an entry that has none beside it.
func (s *Store) FS(d bundle.Digest) fs.FS {
	fsys := os.DirFS(s.Path(d))
	list, err := durable.ReadFile(s.Path(d) + modesSuffix)
	if err != nil && durable.HasModes {
		return fsys
	}
	executable := map[string]bool{}
	for path := range strings.Lines(string(list)) {
		executable[strings.TrimSuffix(path, "\n")] = true
	}
	return durable.WithModes(fsys, func(name string) bool { return executable[name] })
}

// Prune removes all entries whose digest keep does not hold, and what interrupted Puts
// left. It returns how many entries and bytes went. With dry it only counts.
func (s *Store) Prune(keep map[bundle.Digest]bool, dry bool) (entries int, bytes int64, err error) {
	dirs, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	drop := func(path string) error {
		if !strings.HasSuffix(path, modesSuffix) {
			entries++
		}
		bytes += size(path)
		if dry {
			return nil
		}
		return Remove(path)
	}
	for _, dir := range dirs {
		path := filepath.Join(s.Dir, dir.Name())
		if strings.HasPrefix(dir.Name(), putPrefix) {
			if s.live(path, time.Now()) {
				continue
			}
			if err := drop(path); err != nil {
				return entries, bytes, err
			}
			continue
		}
		trees, err := os.ReadDir(path)
		if err != nil {
			return entries, bytes, err
		}
		for _, t := range trees {
			if keep[bundle.Digest("tree-sha256:"+strings.TrimSuffix(t.Name(), modesSuffix))] {
				continue
			}
			if err := drop(filepath.Join(path, t.Name())); err != nil {
				return entries, bytes, err
			}
		}
	}
	return entries, bytes, nil
}

func size(path string) (n int64) {
	filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// Remove deletes path and what is below it, read-only directories included.
func Remove(path string) error { return within.Anywhere().RemoveAll(path) }
