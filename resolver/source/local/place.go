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
	at := s.path(refPath)
	info, err := os.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := diag.New(class, source.CodePath, "there is nothing at %s", diag.Printable(refPath))
		if !filepath.IsAbs(filepath.FromSlash(refPath)) {
			e.Hint("relative paths start at %s", diag.Printable(s.Dir))
		}
		if folder, version, ok := strings.Cut(filepath.Base(at), "@"); ok {
			e.Hint("a folder has no versions; a commit or tag of a repository: git+file://%s@%s", diag.Printable(filepath.ToSlash(filepath.Join(filepath.Dir(at), folder))), diag.Printable(version))
		}
		return nil, e
	case err != nil:
		return nil, explain(refPath, err)
	case info.IsDir():
		root, err := os.OpenRoot(at)
		if err != nil {
			return nil, explain(refPath, err)
		}
		return &folder{root}, nil
	case path.Base(refPath) == skill.FileName:
		return nil, diag.New(diag.Misuse, "unknown_format", "%s is a file of a skill; a reference names its folder", diag.Printable(refPath)).
			Hint("try %s", strings.TrimSuffix(strings.TrimSuffix(refPath, skill.FileName), "/"))
	case !info.Mode().IsRegular():
		return nil, notArchive(refPath)
	}
	f, err := durable.OpenFile(at)
	if err != nil {
		return nil, explain(refPath, err)
	}
	a := &archive{file: f, size: info.Size()}
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		f.Close()
		return nil, explain(refPath, err)
	}
	if a.format = bundle.Detect(head[:n]); a.format == "" {
		f.Close()
		return nil, notArchive(refPath)
	}
	return a, nil
}

func notArchive(refPath string) error {
	return diag.New(diag.Misuse, "unknown_format", "%s is neither a folder nor a zip or tar archive", diag.Printable(refPath))
}

// A folder is read through an os.Root, so that no link leads out of it.
type folder struct{ root *os.Root }

func (f *folder) close() { f.root.Close() }

func (f *folder) artifact() (ref.Digest, error) { return "", nil }

func (f *folder) skillFiles(ctx context.Context) (map[string]text, error) {
	fsys := durable.RootFS(f.root)
	texts := make(map[string]text)
	if isFile(fsys, skill.FileName) {
		texts[skill.FileName] = readFile(fsys, skill.FileName)
		return texts, nil
	}
	var paths []string
	seen := 0
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if seen++; seen > maxWalk {
			return diag.New(diag.Misuse, "too_many_files", "the folder has more than %d files; name the folder of a skill in it", maxWalk)
		}
		switch {
		case err != nil && p != "." && errors.Is(err, fs.ErrPermission):
			return fs.SkipDir // what cannot be read holds no skills for this user
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
