package search

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

// An IndexRequest asks to bring indexes up to date.
type IndexRequest struct {
	Place
	Glob string // only files whose path matches
	Anew bool   // read unchanged files again, too
}

// An Indexed is the report on one directory. With Place.Skills it is the sum, and the roots have reports of their own.
type Indexed struct {
	RootReport
	Roots []RootReport `json:"roots,omitempty"`
}

// A RootReport is what became of the index of one directory.
type RootReport struct {
	Root string `json:"root"`
	index.Report

	Name    string        `json:"-"` // of the directory, for people
	LeftOut query.LeftOut `json:"-"`
}

// Index reads what changed. A place of skills has one index for each root.
func (s *Searcher) Index(ctx context.Context, q IndexRequest) (Indexed, error) {
	glob, err := glob.Parse(q.Glob)
	if err != nil {
		return Indexed{}, err
	}
	dirs, err := s.directories(ctx, q.Place)
	if err != nil {
		return Indexed{}, err
	}
	var all []RootReport
	for _, d := range dirs {
		r, err := s.update(ctx, d, glob, q.Anew)
		if err != nil {
			return Indexed{}, err
		}
		all = append(all, r)
	}
	if !q.Skills {
		return Indexed{RootReport: all[0]}, nil
	}
	return sumOf(all), nil
}

func (s *Searcher) update(ctx context.Context, d directory, glob glob.Glob, anew bool) (RootReport, error) {
	x, err := s.openDir(ctx, d)
	if err != nil {
		return RootReport{}, err
	}
	defer x.Close()
	r, err := x.Update(ctx, glob, anew)
	return RootReport{x.Root(), r, strings.TrimSuffix(d.name, ":"), x.LeftOut()}, err
}

func sumOf(all []RootReport) Indexed {
	sum := Indexed{Roots: all}
	for _, r := range all {
		sum.Added += r.Added
		sum.Changed += r.Changed
		sum.Removed += r.Removed
		sum.Unchanged += r.Unchanged
		sum.TooLarge += r.TooLarge
		sum.Binary += r.Binary
		sum.Bytes += r.Bytes
		sum.Elapsed += r.Elapsed
	}
	return sum
}

// A Status is that of one index. With Place.Skills its numbers are sums, and the roots have their own.
type Status struct {
	query.Status
	Roots []RootStatus `json:"roots,omitempty"`

	Name string `json:"-"` // of the directory, for people
}

// A RootStatus is the status of the index of one root.
type RootStatus struct {
	query.Status
	Name string `json:"-"` // of the root, for people
}

// Status says what the indexes of a place hold.
func (s *Searcher) Status(ctx context.Context, p Place) (Status, error) {
	dirs, err := s.directories(ctx, p)
	if err != nil {
		return Status{}, err
	}
	if !p.Skills {
		one, err := s.statusOf(ctx, dirs[0])
		return Status{Status: one, Name: dirs[0].name}, err
	}
	out := Status{Status: query.Status{Languages: map[string]int{}, LeftOut: query.LeftOut{Paths: []string{}}}}
	for _, d := range dirs {
		one, err := s.statusOf(ctx, d)
		if err != nil {
			return Status{}, err
		}
		out.add(RootStatus{one, d.name})
	}
	return out, nil
}

func (out *Status) add(s RootStatus) {
	out.Roots = append(out.Roots, s)
	out.FilesIndexed += s.FilesIndexed
	out.FilesTotal += s.FilesTotal
	out.TotalTokens += s.TotalTokens
	out.IndexSizeBytes += s.IndexSizeBytes
	out.SchemaVersion, out.FileDiscovery = s.SchemaVersion, s.FileDiscovery
	for l, n := range s.Languages {
		out.Languages[l] += n
	}
	out.LeftOut.Add(s.LeftOut, func(p string) string { return filepath.Join(s.RepoRoot, filepath.FromSlash(p)) })
}

func (s *Searcher) statusOf(ctx context.Context, d directory) (query.Status, error) {
	x, err := s.openDir(ctx, d)
	if err != nil {
		return query.Status{}, err
	}
	defer x.Close()
	return x.Status(ctx)
}

// A DropRequest asks to forget indexed files.
type DropRequest struct {
	Place
	Glob   string
	Whole  bool // drop the indexes themselves, not only files that match Glob
	DryRun bool
}

// A Dropped says what was, or would be, forgotten.
type Dropped struct {
	Root  string   `json:"root"`            // "" with Place.Skills
	Roots []string `json:"roots,omitempty"` // with Place.Skills
	Files int      `json:"files"`
	Whole bool     `json:"whole"` // the index itself, not only files of it

	Name string `json:"-"` // of the place, for people
}

// Drop forgets files, or whole indexes.
func (s *Searcher) Drop(ctx context.Context, q DropRequest) (Dropped, error) {
	glob, err := glob.Parse(q.Glob)
	if err != nil {
		return Dropped{}, err
	}
	dirs, err := s.directories(ctx, q.Place)
	if err != nil {
		return Dropped{}, err
	}
	out := Dropped{Whole: q.Whole, Name: "all roots of skills"}
	for _, d := range dirs {
		root, n, err := s.drop(ctx, d, glob, q.Whole, q.DryRun)
		if err != nil {
			return Dropped{}, err
		}
		out.Files += n
		out.Roots = append(out.Roots, root)
	}
	if !q.Skills {
		out.Root, out.Roots, out.Name = out.Roots[0], nil, dirs[0].name
	}
	return out, nil
}

// drop returns the number of files that were, or would be, forgotten. A directory that is gone may have left an index.
func (s *Searcher) drop(ctx context.Context, d directory, glob glob.Glob, whole, dry bool) (root string, n int, err error) {
	root = d.dir
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if !scope.Exists(index.Dir(s.IndexDir(), root, s.indexOptions(d).Patterns()...)) {
		if !scope.Exists(root) {
			return "", 0, diag.New(diag.Misuse, "not_found", "there is no directory %s, and no index of it", d.name)
		}
		return root, 0, nil
	}
	if scope.Exists(root) {
		x, err := s.openDir(ctx, d)
		if err != nil {
			return "", 0, err
		}
		if dry || whole {
			n, err = x.Covered(ctx, glob)
		} else {
			n, err = x.Invalidate(ctx, glob)
		}
		if err := errors.Join(err, x.Close()); err != nil {
			return "", 0, err
		}
	}
	if whole && !dry {
		err = index.Drop(ctx, s.IndexDir(), root, s.indexOptions(d).Patterns()...)
	}
	return root, n, err
}
