package local

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

var _ source.Passer = (*Source)(nil)

// Passed lists what looks like a skill in the place and is none, links and what cannot be read among it.
func (s *Source) Passed(ctx context.Context, r ref.Ref, _ source.Release) ([]source.Passed, error) {
	p, err := s.open(r.Path, diag.Misuse)
	if err != nil {
		return nil, err
	}
	defer p.close()
	var seen source.Lookout
	err = p.look(ctx, &seen)
	return seen.Passed(nil, true), explain(s.shown(r.Path), err)
}

func (f *folder) look(ctx context.Context, seen *source.Lookout) error {
	fsys := durable.RootFS(f.root)
	n := 0
	return fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		n++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case n > maxWalk:
			seen.Pass(p, "not looked at, nor what follows: the folder has too many files")
			return fs.SkipAll
		case err != nil && p == ".":
			return err
		case err != nil:
			seen.Pass(p, "cannot be read")
			return fs.SkipDir
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			f.link(p, seen)
		case !d.IsDir():
			seen.File(p)
		}
		return nil
	})
}

// link takes a link. Discovery reads a SKILL.md that is a link to a file of the folder, and follows no other; where one leads outside,
// only whether there is a SKILL.md is looked at.
func (f *folder) link(p string, seen *source.Lookout) {
	to, err := f.root.Readlink(filepath.FromSlash(p))
	if err != nil || path.Base(p) == skill.FileName && isFile(durable.RootFS(f.root), p) {
		return
	}
	seen.Link(p, to)
	if rel := path.Join(path.Dir(p), filepath.ToSlash(to)); filepath.IsAbs(to) || !filepath.IsLocal(rel) {
		if info, err := os.Stat(filepath.Join(f.root.Name(), filepath.FromSlash(p), skill.FileName)); err == nil && info.Mode().IsRegular() {
			seen.Pass(p, "a link to "+to)
		}
	}
}

func (a *archive) look(ctx context.Context, seen *source.Lookout) error {
	_, err := bundle.Unpack(a.file, a.size, a.format, source.Canceling(ctx, lookSink{seen: seen}))
	return err
}

// A lookSink is a Sink that keeps where skills seem to be.
type lookSink struct{ seen *source.Lookout }

func (s lookSink) File(p string, _ bool, _ int64, _ io.Reader) error {
	s.seen.File(p)
	return nil
}

func (s lookSink) Link(p, to string) error {
	s.seen.Link(p, to)
	return nil
}
