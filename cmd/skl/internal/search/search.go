// Package search finds code, documents and skills: by the index of a directory, by those of all roots of skills, by an
// index service, and by asking registries. It also keeps the indexes: it updates, describes, drops and serves them.
package search

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/diag"
)

// A Searcher searches from a scope.
type Searcher struct {
	Scope   *scope.Scope
	Version string // of skl, for services

	installed corpus
}

// A Place says what is searched.
type Place struct {
	Path    string   // a directory; "" is the repository of the working directory, or that directory
	Service string   // the address of an index service, which is asked beside the uncommitted files of Path
	Skills  bool     // the skills of all roots, and nothing of the above
	LeftOut []string // patterns, as in .gitignore, of files that are covered although they are left out otherwise
}

// Flags are the flags that name the place, for commands that a person is to type: "" or " --flag value".
func (p Place) Flags() string {
	var b strings.Builder
	if p.Skills {
		b.WriteString(" --skills")
	}
	for _, pattern := range p.LeftOut {
		b.WriteString(" --left-out " + diag.Quote(pattern))
	}
	if p.Path != "" {
		b.WriteString(" --path " + diag.Quote(p.Path))
	}
	if p.Service != "" {
		b.WriteString(" --service " + diag.Quote(p.Service))
	}
	return b.String()
}

// Dir is the directory that path means: itself, else the repository around the working directory, else that directory.
func (s *Searcher) Dir(path string) string {
	if path != "" {
		return scope.Absolute(s.Scope.Cwd, path)
	}
	for dir := s.Scope.Cwd; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) || dir == s.Scope.Home {
			return s.Scope.Cwd
		}
	}
}

// unnamed refuses a place that nobody named and that holds what is a person's alone: agents are started in a home, and search there.
func (s *Searcher) unnamed(p Place) error {
	if p.Skills || p.Path != "" {
		return nil
	}
	err := sandbox.CheckDir(s.Dir(""), s.Scope.Home, s.Scope.Keys()...)
	if e, ok := diag.Own(err); ok {
		return e.Hint("--path DIR, to search another directory, or this one all the same")
	}
	return err
}

// IndexDir is where indexes are kept.
func (s *Searcher) IndexDir() string { return filepath.Join(s.Scope.Dirs.Cache, "index") }

// A searched is what query, evidence and expand ask: an index, those of all roots of skills, or a service.
type searched interface {
	Query(context.Context, query.Query) (query.Result, error)
	Evidence(context.Context, query.Query, rank.PackOptions) (query.Pack, error)
	Expand(ctx context.Context, ids []string, maxTokens int) (query.Expansion, error)
	Close() error
}

// open opens a place for questions.
func (s *Searcher) open(ctx context.Context, p Place) (searched, error) {
	if p.Skills {
		return s.openSkills(ctx, p.LeftOut)
	}
	if err := s.unnamed(p); err != nil {
		return nil, err
	}
	if p.Service != "" {
		return s.remote(ctx, p.Service, s.Dir(p.Path))
	}
	d := directory{dir: s.Dir(p.Path), also: p.LeftOut}
	o := s.indexOptions(d)
	o.Prior = s.prior(ctx, d.dir)
	return index.Open(ctx, d.dir, o)
}

// A directory is one that has an index, or may have one.
type directory struct {
	name  string   // of the directory, in answers
	dir   string   // absolute
	extra []string // see index.Options
	also  []string
}

func (s *Searcher) indexOptions(d directory) index.Options {
	return index.Options{CacheDir: s.IndexDir(), Extra: d.extra, Keys: s.Scope.Keys(), Also: d.also, Progress: s.indexing, Getenv: s.Scope.Getenv}
}

func (s *Searcher) openDir(ctx context.Context, d directory) (*index.Index, error) {
	return index.Open(ctx, d.dir, s.indexOptions(d))
}

// indexing shows how far an index is. Which of thousands of files it is at says nothing, and its path may not fit on a line.
func (s *Searcher) indexing(e diag.Event) {
	if e.Total > 0 {
		e.Name = "files"
	}
	s.Scope.Progress(e)
}

// skillRoots are the roots of skills that are there and trusted. What git leaves out, such as the directories of
// agents, is indexed all the same.
func (s *Searcher) skillRoots(ctx context.Context) (list []directory, err error) {
	listing, err := s.Scope.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range listing.Roots {
		if r.State == roots.RootUntrusted {
			s.Scope.Tell.Note("%s is left out: it is not trusted", s.Scope.Short(r.Path))
			s.Scope.Tell.Hint("skl trust allow")
		}
		if r.State != roots.RootOK {
			continue
		}
		dir, err := s.rootDir(r)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		list = append(list, directory{name: filepath.ToSlash(s.Scope.Short(r.Path)), dir: dir, extra: []string{"!*", "/.skl/"}}) // receipts are no text of a skill
	}
	return list, nil
}

// openSkills opens the indexes of all roots of skills.
func (s *Searcher) openSkills(ctx context.Context, also []string) (searched, error) {
	list, err := s.skillRoots(ctx)
	if err != nil {
		return nil, err
	}
	set := &index.Set{}
	for _, d := range list {
		d.also = also
		x, err := s.openDir(ctx, d)
		if err != nil {
			set.Close()
			return nil, err
		}
		set.Add(d.name, x)
	}
	return set, nil
}

// directories are those of a place that have, or may have, an index here.
func (s *Searcher) directories(ctx context.Context, p Place) ([]directory, error) {
	if p.Skills {
		list, err := s.skillRoots(ctx)
		for i := range list {
			list[i].also = p.LeftOut
		}
		return list, err
	}
	if err := s.unnamed(p); err != nil {
		return nil, err
	}
	dir := s.Dir(p.Path)
	return []directory{{name: s.Scope.Short(dir), dir: dir, also: p.LeftOut}}, nil
}
