package store

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// putPrefix starts the names of directories in which a Put unpacks.
const putPrefix = "put-"

// putAge is how long a Put may go without writing before it counts as killed. A fetch that
// stalls is given up long before.
const putAge = time.Hour

// sweep removes what Puts left that were killed. What cannot be removed stays for the next one.
func (s *Store) sweep(now time.Time) {
	left, _ := filepath.Glob(filepath.Join(s.Dir, putPrefix+"*"))
	for _, path := range left {
		if !s.live(path, now) {
			_ = Remove(path)
		}
	}
}

// live reports whether a Put may still be at work in the directory at path: something below it is young.
func (s *Store) live(path string, now time.Time) bool {
	young := false
	filepath.WalkDir(path, func(_ string, d os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && now.Sub(info.ModTime()) < putAge {
			young = true
			return filepath.SkipAll
		}
		return nil
	})
	return young && strings.HasPrefix(filepath.Base(path), putPrefix)
}
