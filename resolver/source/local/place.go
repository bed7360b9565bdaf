package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

const (
	maxWalk = 200_000   // entries of a folder that are looked at for skills
	maxText = 256 << 10 // bytes of a SKILL.md that are read; frontmatter has at most 64 KiB
)

// A place is an opened folder or archive.
type place interface {
	// skillFiles reads the SKILL.md files by path.
	skillFiles(ctx context.Context) (map[string]text, error)
	// look shows all that looks like a skill.
	look(ctx context.Context, seen *source.Lookout) error
	// artifact is the digest of an archive's bytes, "" for a folder.
	artifact() (ref.Digest, error)
	// stream sends what is below the directory dir to sink.
	stream(dir string, sink bundle.Sink) error
	close()
}

// open opens what is at refPath; class is that of the error if there is nothing.
func (s *Source) open(refPath string, class diag.Class) (place, error) {
	at, shown := s.path(refPath), s.shown(refPath)
	info, err := os.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, s.nothing(refPath, class)
	case err != nil:
		return nil, explain(shown, err)
	case info.IsDir():
		root, err := os.OpenRoot(at)
		if err != nil {
			return nil, explain(shown, err)
		}
		return &folder{root, shown}, nil
	case path.Base(refPath) == skill.FileName:
		return nil, diag.New(diag.Misuse, "unknown_format", "%s is a file of a skill; a reference names its folder", shown).
			Hint("skl install %s", diag.Quote(strings.TrimSuffix(shown, "/"+skill.FileName)))
	case !info.Mode().IsRegular():
		return nil, notArchive(shown)
	}
	f, err := durable.OpenFile(at)
	if err != nil {
		return nil, explain(shown, err)
	}
	a := &archive{file: f, size: info.Size()}
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		f.Close()
		return nil, explain(shown, err)
	}
	if a.format = bundle.Detect(head[:n]); a.format == "" {
		f.Close()
		return nil, notArchive(shown)
	}
	return a, nil
}

// nothing is the error of a path at which there is nothing.
func (s *Source) nothing(refPath string, class diag.Class) error {
	at, shown := s.path(refPath), s.shown(refPath)
	e := diag.New(class, source.CodePath, "there is nothing at %s", shown)
	if s.Show == nil && !filepath.IsAbs(filepath.FromSlash(refPath)) {
		e.Hint("relative paths start at %s", diag.Printable(s.Dir))
	}
	if i := strings.LastIndexByte(at, '@'); i > 0 {
		if _, err := os.Stat(at[:i]); err == nil {
			return e.Hint("a folder has no versions; a commit or tag of a repository: skl install %s", diag.Quote("git+file://"+diag.Printable(filepath.ToSlash(at))))
		}
	}
	beside, _ := os.ReadDir(filepath.Dir(at)) // in a directory that cannot be read nothing has a near name
	var names []string
	for _, d := range beside {
		names = append(names, d.Name())
	}
	if near := spell.Nearest(filepath.Base(at), names, 1); len(near) > 0 {
		e.Hint("did you mean %s?", diag.Printable(strings.TrimSuffix(shown, filepath.Base(at))+near[0]))
	}
	return e
}

func notArchive(shown string) error {
	return diag.New(diag.Misuse, "unknown_format", "%s is neither a folder nor a zip or tar archive", shown)
}

// A folder is read through an os.Root, so that no link leads out of it.
type folder struct {
	root  *os.Root
	shown string // its path in errors
}

func (f *folder) close() { f.root.Close() }

func (f *folder) artifact() (ref.Digest, error) { return "", nil }

func (f *folder) skillFiles(ctx context.Context) (map[string]text, error) {
	fsys := durable.RootFS(f.root)
	texts := make(map[string]text)
	if isFile(fsys, skill.FileName) {
		texts[skill.FileName] = readFile(fsys, skill.FileName)
		return texts, nil
	}
	if at := f.root.Name(); at == filepath.Dir(at) {
		return nil, diag.New(diag.Misuse, "too_many_files", "%s is the root of this machine, which is not searched for skills", f.shown).
			Hint("name the folder of a skill: skl install /FOLDER")
	}
	var paths []string
	seen := 0
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if seen++; seen > maxWalk {
			return diag.New(diag.Misuse, "too_many_files", "%s holds more than 200,000 files and folders, too many to search for skills", f.shown).
				Hint("name the folder of a skill in it: skl install %s/FOLDER", diag.Quote(f.shown))
		}
		switch {
		case p != "." && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)):
			return fs.SkipDir // what cannot be read holds no skills for this user, and what went away none at all
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir():
			if d.Name() == ".git" || d.Name() == "node_modules" || strings.Count(p, "/") >= source.MaxDepth {
				return fs.SkipDir
			}
		case d.Name() == skill.FileName:
			paths = append(paths, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	dirs, _ := source.Discover(paths, nil)
	for _, d := range dirs {
		if p := path.Join(d.Path, skill.FileName); isFile(fsys, p) {
			texts[p] = readFile(fsys, p)
		}
	}
	return texts, nil
}

// isFile reports whether p is a regular file, or a link to one inside the folder.
func isFile(fsys fs.FS, p string) bool {
	info, err := fs.Stat(fsys, p)
	return err == nil && info.Mode().IsRegular()
}

func readFile(fsys fs.FS, p string) text {
	f, err := fsys.Open(p)
	if err != nil {
		return text{err: err}
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil {
		return text{err: err}
	}
	return readText(p, src, skill.SidecarIn(fsys, path.Dir(p)))
}

func (f *folder) stream(dir string, sink bundle.Sink) error {
	if dir == "" {
		return bundle.FromFS(durable.RootFS(f.root), sink)
	}
	sub, err := f.root.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer sub.Close()
	return bundle.FromFS(durable.RootFS(sub), sink)
}

type archive struct {
	file   *os.File
	size   int64
	format bundle.Format
}

func (a *archive) close() { a.file.Close() }

func (a *archive) artifact() (ref.Digest, error) {
	if a.size > bundle.MaxArchiveBytes {
		return "", nil // Unpack says so
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(a.file, 0, a.size)); err != nil {
		return "", err
	}
	return ref.Digest("sha256:" + hex.EncodeToString(h.Sum(nil))), nil
}

func (a *archive) skillFiles(ctx context.Context) (map[string]text, error) {
	kept := make(collector)
	if _, err := bundle.Unpack(a.file, a.size, a.format, source.Canceling(ctx, kept)); err != nil {
		return nil, err
	}
	texts := make(map[string]text)
	for p, src := range kept {
		if path.Base(p) == skill.FileName {
			texts[p] = readText(p, src, kept[path.Join(path.Dir(p), skill.SidecarName)])
		}
	}
	return texts, nil
}

func (a *archive) stream(dir string, sink bundle.Sink) error {
	_, err := bundle.Unpack(a.file, a.size, a.format, bundle.Below(dir, sink))
	return err
}

// A collector is a Sink that keeps SKILL.md and SKILL.json files and drops the rest.
type collector map[string][]byte

func (c collector) File(p string, _ bool, _ int64, r io.Reader) error {
	limit := int64(maxText)
	switch path.Base(p) {
	case skill.FileName:
	case skill.SidecarName:
		limit = skill.MaxFrontmatter + 1
	default:
		return nil
	}
	src, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return err
	}
	c[p] = src
	return nil
}

func (c collector) Link(string, string) error { return nil }
