package bundle

import (
	"io"
	"io/fs"
	"path"
	"strings"
)

// FromFS streams the bundle in fsys to sink, in the order of [fs.WalkDir]. It leaves
// out .git and [Residue], and refuses what is neither a file, a directory nor a
// symbolic link; links need an [fs.ReadLinkFS]. Nothing is followed. A file is
// executable if any of its three execute bits is set. Paths are valid; that they
// form a bundle is for sink, a [Guard], to see.
func FromFS(fsys fs.FS, sink Sink) error {
	return walk(fsys, sink, func(name string, d fs.DirEntry) bool {
		return path.Base(name) == ".git" || d.Type().IsRegular() && Residue(name)
	})
}

// ExactFS is [FromFS] that leaves nothing out but a .git at the top: for a tree that is a release, which
// may hold what elsewhere would be residue, and for one that is named by all that it holds. A .git below is refused.
func ExactFS(fsys fs.FS, sink Sink) error {
	return walk(fsys, sink, func(name string, _ fs.DirEntry) bool { return name == ".git" })
}

// walk streams what skip does not leave out.
func walk(fsys fs.FS, sink Sink, skip func(name string, d fs.DirEntry) bool) error {
	entries := 0
	return fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == ".":
			return nil
		case skip(path, d):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entries++; entries > MaxArchiveEntries {
			return refuse(CodeTooMany, "the folder has more than %d entries, the limit", MaxArchiveEntries)
		}
		if err := CheckPath(path); err != nil {
			return err
		}
		switch d.Type() {
		case fs.ModeDir:
			return nil
		case fs.ModeSymlink:
			target, err := fs.ReadLink(fsys, path)
			if err != nil {
				return err
			}
			return sink.Link(path, target)
		case 0:
			return fileFromFS(fsys, path, sink)
		}
		return refuse(CodeIrregular, "%q is neither a file, a directory nor a symbolic link", path)
	})
}

func fileFromFS(fsys fs.FS, path string, sink Sink) error {
	f, err := fsys.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return refuse(CodeIrregular, "%q is not a regular file", path)
	}
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return refuse(CodeSetID, "%q has a set-user-id or set-group-id bit", path)
	}
	return sink.File(path, info.Mode()&0o111 != 0, info.Size(), f)
}

// Below returns a Sink that forwards to next what is below the directory dir, with
// paths relative to it, and drops the rest unread. With dir "" it is next.
func Below(dir string, next Sink) Sink {
	if dir == "" {
		return next
	}
	return below{dir + "/", next}
}

type below struct {
	prefix string
	next   Sink
}

func (b below) File(path string, executable bool, size int64, r io.Reader) error {
	if rel, ok := strings.CutPrefix(path, b.prefix); ok {
		return b.next.File(rel, executable, size, r)
	}
	return nil
}

func (b below) Link(path, target string) error {
	if rel, ok := strings.CutPrefix(path, b.prefix); ok {
		return b.next.Link(rel, target)
	}
	return nil
}
