package search

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/install/store"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/lock"
)

// A Cache says where the caches are, and what of them was, or could be, removed.
type Cache struct {
	Cache   string `json:"cache"`
	Index   string `json:"index"` // part of the cache
	Store   string `json:"store"`
	Entries int    `json:"entries"`           // removed, or in a dry run removable
	Indexes int    `json:"indexes,omitempty"` // of directories that are gone, removed or removable
	Bytes   int64  `json:"bytes"`
}

// Cache says where the caches and the store of bundles are.
func (s *Searcher) Cache() Cache {
	return Cache{Cache: s.Scope.Dirs.Cache, Index: s.IndexDir(), Store: s.Scope.Store().Dir}
}

// CleanCache deletes the caches, indexes among them; the store of bundles stays.
func (s *Searcher) CleanCache(dry bool) (Cache, error) {
	out := s.Cache()
	filepath.WalkDir(s.Scope.Dirs.Cache, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				out.Entries++
				out.Bytes += info.Size()
			}
		}
		return nil
	})
	if dry {
		return out, nil
	}
	return out, store.Remove(s.Scope.Dirs.Cache)
}

// CollectGarbage keeps the bundles that the locks of the project and the user name, and the indexes of directories that
// are there. Other projects fetch again what they miss.
func (s *Searcher) CollectGarbage(ctx context.Context, dry bool) (Cache, error) {
	keep := map[bundle.Digest]bool{}
	for _, path := range []string{filepath.Join(s.Scope.Base, "skl.lock"), filepath.Join(s.Scope.Dirs.Config, "skl.lock"), s.Scope.InMachine("skl.lock")} {
		src, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		l, err := lock.Parse(src, s.Scope.Short(path))
		if err != nil {
			return Cache{}, err
		}
		for _, s := range l.Skills {
			keep[s.Tree] = true
		}
	}
	out := s.Cache()
	var err error
	if out.Entries, out.Bytes, err = s.Scope.Store().Prune(keep, dry); err != nil {
		return Cache{}, err
	}
	orphans, err := index.Orphans(s.IndexDir())
	if err != nil {
		return Cache{}, err
	}
	for _, o := range orphans {
		if !dry {
			if err := o.Remove(ctx); err != nil {
				return Cache{}, err
			}
		}
		out.Indexes++
		out.Bytes += o.Bytes
	}
	return out, nil
}
