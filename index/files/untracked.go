package files

import (
	"cmp"
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
	hidden, err := k.Hidden(dir, paths, nil)
	var out []string
	for _, h := range hidden {
		out = append(out, h.Path)
	}
	return out, err
}

// Tracked returns those of paths, files below dir, that git tracks, be they there or not.
func (k *Tracker) Tracked(dir string, paths []string) ([]string, error) {
	in, err := k.open(dir)
	if err != nil {
		return nil, err
	}
	tracked, err := k.index(filepath.Join(in.repo.dir, "index"), in.fold)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		at, ok := in.place(p)
		return !ok || !tracked.holds(at)
	}), nil
}

// A Hidden is a file that git ignores, and why.
type Hidden struct {
	Path    string
	At      string // the file, or a directory above it, that the pattern matches; relative like Path
	AtDir   bool   // At is a directory
	File    string // absolute; of the pattern
	Line    int    // from 1
	Pattern string // as it is written
}

// AnyDepth reports whether the pattern is of names, wherever they are.
func (h Hidden) AnyDepth() bool { return !strings.Contains(strings.TrimSuffix(h.Pattern, "/"), "/") }

// Hidden is [Tracker.Untracked] that says why. With written, texts of .gitignore files by their absolute paths, it says what git would ignore
// with these, of files that it does not track yet.
func (k *Tracker) Hidden(dir string, paths []string, written map[string]string) ([]Hidden, error) {
	in, err := k.open(dir)
	if err != nil {
		return nil, err
	}
	if in.written = map[string]string{}; written == nil {
		if in.tracked, err = k.index(filepath.Join(in.repo.dir, "index"), in.fold); err != nil {
			return nil, err
		}
	}
	for path, text := range written {
		real, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		in.written[filepath.Join(real, filepath.Base(path))] = text
	}
	var out []Hidden
	for _, p := range paths {
		at, ok := in.place(p)
		if !ok || in.tracked.holds(at) {
			continue
		}
		if h, ok := in.byGit(at); ok {
			h.Path, h.At = p, strings.TrimPrefix(h.At, in.above)
			out = append(out, h)
		}
	}
	return out, nil
}

// Unmarked returns those of paths, executable files below dir, that git would record as not executable: core.fileMode is false, so
// that it takes the mode from its index, which does not have the file as executable.
func (k *Tracker) Unmarked(dir string, paths []string) ([]string, error) {
	in, err := k.open(dir)
	if err != nil || !in.readConfig(in.repo, func(string) {}).noModes {
		return nil, err
	}
	tracked, err := k.index(filepath.Join(in.repo.dir, "index"), in.fold)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range paths {
		if at, ok := in.place(p); ok && !tracked.marks(at) {
			out = append(out, p)
		}
	}
	return out, nil
}

// MergeDriver returns the command line that the configuration of git has for files of dir with the attribute merge=name, "" for none,
// and the file that the repository keeps such settings in.
func (k *Tracker) MergeDriver(dir, name string) (command, config string, err error) {
	in, err := k.open(dir)
	if err != nil {
		return "", "", err
	}
	return in.readConfig(in.repo, func(string) {}).drivers[name], filepath.Join(in.repo.common, "config"), nil
}

// Author is the author that a commit made in dir would have, as the environment and the configuration of git say it: "Name <address>",
// the name alone where no address is said, "" where no name is. No program is run.
func (k *Tracker) Author(dir string) string {
	r, err := (&Walker{Root: dir, Getenv: k.Getenv}).rules()
	if err != nil {
		return ""
	}
	var repo repository // outside of one, what the user's files say holds
	if in, err := k.open(dir); err == nil {
		repo = in.repo
	}
	c := r.readConfig(repo, func(string) {})
	name := cmp.Or(crumbs(r.getenv("GIT_AUTHOR_NAME")), crumbs(c.name))
	email := cmp.Or(crumbs(r.getenv("GIT_AUTHOR_EMAIL")), crumbs(c.email), crumbs(r.getenv("EMAIL")))
	if name == "" || email == "" {
		return name
	}
	return name + " <" + email + ">"
}

// crumbs is a name without what git leaves out of names.
func crumbs(s string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if strings.ContainsRune("<>\n\x00", c) {
			return -1
		}
		return c
	}, s))
}

// A gitDir is a directory of a repository that is asked about.
type gitDir struct {
	*rules
	repo    repository
	above   string // the path from the repository's top, with a slash at the end; "" at the top
	tracked tracked
	scopes  map[string]*scope // by directory
}

func (k *Tracker) open(dir string) (*gitDir, error) {
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
	above, err := filepath.Rel(repo.top, real)
	return &gitDir{rules: r, repo: repo, above: strings.TrimPrefix(filepath.ToSlash(above)+"/", "./"), scopes: map[string]*scope{}}, err
}

// place is where p is below the top of the repository.
func (g *gitDir) place(p string) (string, bool) {
	return g.above + p, fs.ValidPath(p) && p != "."
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

// byGit says whether the rules of git alone ignore the file at path, below the top of their repository, and why.
func (g *gitDir) byGit(path string) (h Hidden, ignored bool) {
	s := g.outer
	for i := 0; ; i++ {
		dir := path[:max(i-1, 0)]
		if known, ok := g.scopes[dir]; ok {
			s = known
		} else {
			s, _ = g.enter(dir, s, true, false, false)
			g.scopes[dir] = s
		}
		end := strings.IndexByte(path[i:], '/')
		h.At, h.AtDir = path, end >= 0
		if h.AtDir {
			h.At = path[:i+end]
		}
		if l, p := s.find(h.At, h.At[i:], h.AtDir); p != nil && !p.negate {
			h.File, h.Line, h.Pattern = l.file, p.line, p.raw
			return h, true
		}
		if !h.AtDir {
			return Hidden{}, false
		}
		i += end
	}
}

// find is the pattern that decides about the path rel, which ends in name, and its list; nil for none.
func (s *scope) find(rel, name string, dir bool) (*list, *pattern) {
	for ; s != nil; s = s.parent {
		if p := s.list.find(s.above, rel[s.cut:], name, dir); p != nil {
			return s.list, p
		}
	}
	return nil, nil
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
	paths      map[string]bool // whether it is executable
	submodules []string        // with a slash at the end
	fold       bool
}

func (t tracked) holds(path string) bool {
	if t.fold {
		path = strings.ToLower(path)
	}
	if _, ok := t.paths[path]; ok {
		return true
	}
	return slices.ContainsFunc(t.submodules, func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// marks reports whether the file at path is executable in the index.
func (t tracked) marks(path string) bool {
	if t.fold {
		path = strings.ToLower(path)
	}
	return t.paths[path]
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
			t.paths[name] = e.Mode == filemode.Executable
		}
	}
	return t, nil
}
