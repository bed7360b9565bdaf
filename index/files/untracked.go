package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitindex "github.com/go-git/go-git/v5/plumbing/format/index"
)

// maxIndexBytes bounds the index of git, of a million files.
const maxIndexBytes = 256 << 20

// ErrNoRepository is that of a directory that is in no repository.
var ErrNoRepository = errors.New("it is in no git repository")

// A Tracker says which files git tracks. The zero Tracker is ready; it may be used concurrently. It keeps the index that it read last,
// which is most of the work, and reads it again when it changed.
type Tracker struct {
	Getenv func(string) string // that of a [Walker]

	mu    sync.Mutex // guards what follows
	path  string
	stamp Stamp
	last  tracked
}

// Untracked returns those of paths, files below dir, that git ignores and does not track: they are in no commit, so that no clone brings
// them. Paths are relative to dir, with slashes. What only git itself could say, as of a split index, is an error. No program is run.
func (k *Tracker) Untracked(dir string, paths []string) ([]string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	repo, ok := repositoryOf(real)
	if !ok {
		return nil, ErrNoRepository
	}
	r, err := (&Walker{Root: repo.top, Getenv: k.Getenv}).rules()
	if err != nil {
		return nil, err
	}
	tracks, err := k.index(filepath.Join(repo.dir, "index"), r.fold)
	if err != nil {
		return nil, err
	}
	above, err := filepath.Rel(repo.top, real)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range paths {
		if !fs.ValidPath(p) || p == "." {
			continue
		}
		if at := strings.TrimPrefix(filepath.ToSlash(above)+"/"+p, "./"); r.byGit(at) && !tracks.holds(at) {
			out = append(out, p)
		}
	}
	return out, nil
}

// repositoryOf finds the innermost repository that dir is in.
func repositoryOf(dir string) (repository, bool) {
	for {
		if repo, ok := openRepository(dir); ok {
			return repo, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return repository{}, false
		}
		dir = up
	}
}

// byGit says whether the rules of git alone ignore the file at path, below the top of their repository.
func (r *rules) byGit(path string) bool {
	s := r.outer
	for i := 0; ; i++ {
		s, _ = r.enter(path[:max(i-1, 0)], s, true, false, false)
		end := strings.IndexByte(path[i:], '/')
		if end < 0 {
			return s.verdict(path, path[i:], false) == leave
		}
		name := path[i : i+end]
		if s.verdict(path[:i+end], name, true) == leave {
			return true
		}
		i += end
	}
}

// verdict is that of the nearest list with a pattern for the path rel, which ends in name.
func (s *scope) verdict(rel, name string, dir bool) verdict {
	for ; s != nil; s = s.parent {
		if v := s.list.match(s.above, rel[s.cut:], name, dir); v != none {
			return v
		}
	}
	return none
}

// tracked is what the index of a repository holds.
type tracked struct {
	paths      map[string]bool
	submodules []string // with a slash at the end
	fold       bool
}

func (t tracked) holds(path string) bool {
	if t.fold {
		path = strings.ToLower(path)
	}
	return t.paths[path] || slices.ContainsFunc(t.submodules, func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// index is what readIndex reads, or read last time of the same file.
func (k *Tracker) index(path string, fold bool) (tracked, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	stamp := stampAt(path, os.Stat)
	if stamp == (Stamp{}) || path != k.path || stamp != k.stamp || fold != k.last.fold {
		t, err := readIndex(path, fold)
		if err != nil {
			return tracked{}, err
		}
		k.path, k.stamp, k.last = path, stamp, t
	}
	return k.last, nil
}

// readIndex reads the index of git. A repository without one tracks nothing.
func readIndex(path string, fold bool) (tracked, error) {
	t := tracked{paths: map[string]bool{}, fold: fold}
	f, err := os.OpenFile(path, os.O_RDONLY|fileFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxIndexBytes {
		return t, fmt.Errorf("%s is not an index that can be read", path)
	}
	var index gitindex.Index
	if err := gitindex.NewDecoder(io.LimitReader(f, maxIndexBytes)).Decode(&index); err != nil {
		return t, fmt.Errorf("reading %s: %w", path, err)
	}
	for _, e := range index.Entries {
		name := e.Name
		if fold {
			name = strings.ToLower(name)
		}
		switch e.Mode {
		case filemode.Submodule, filemode.Dir: // a directory of a sparse index
			t.submodules = append(t.submodules, strings.TrimSuffix(name, "/")+"/")
		default:
			t.paths[name] = true
		}
	}
	return t, nil
}
