package roots

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
)

// Bounds of what is hashed to give one copy a digest: those of an install.
const (
	maxTreeEntries = 5000
	maxTreeBytes   = 50 << 20
	maxHeadBytes   = 64 << 10 // of SKILL.md, read for its frontmatter
)

const treePrefix = "tree-sha256:"

var (
	errTooLarge = errors.New("it is larger than a skill may be")
	errChanging = errors.New("it changes while it is read")
)

// A stamp is what tells an unchanged file from a changed one without reading
// it. Times are nanoseconds since 1970.
type stamp struct {
	size, mtime, ctime int64
	inode              uint64
}

// A status is what the file system says of one path.
type status struct {
	stamp
	kind       fileKind
	executable bool
}

type fileKind byte

const (
	other fileKind = iota
	regular
	directory
	link
)

// An item is one entry of a skill's directory: a file, or with hashed false a
// directory or something that is neither file nor link.
type item struct {
	path      string // relative to the skill, slash-separated; "" is the skill's directory
	kind      bundle.Kind
	sum       [32]byte
	size      int64
	at        stamp
	irregular bool // a device, socket or pipe
}

// A scan is what one walk over a skill's directory found.
type scan struct {
	files []item // sorted by path bytes
	dirs  []item
	head  []byte   // start of SKILL.md; nil if it could not be read
	links []string // links that leave the directory
	bytes int64
}

// A scanner walks skills one after another, with one buffer.
type scanner struct {
	buf  []byte
	keep func(path string) bool // paths that count although they look like residue; may be nil
	out  scan
	root string
}

// scanTree reads every file below dir. Residue that keep does not claim is left out.
func (s *scanner) scanTree(dir string, keep func(string) bool) (scan, error) {
	s.root, s.keep, s.out = dir, keep, scan{}
	if err := s.walk(""); err != nil {
		return scan{}, err
	}
	slices.SortFunc(s.out.files, func(a, b item) int { return cmp.Compare(a.path, b.path) })
	return s.out, nil
}

func (s *scanner) walk(rel string) error {
	dir := s.root + string(filepath.Separator) + filepath.FromSlash(rel)
	st, err := statPath(dir)
	if err != nil {
		return err
	}
	s.out.dirs = append(s.out.dirs, item{path: rel, at: st.stamp})
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := path.Join(rel, e.Name())
		if s.skips(p, e) {
			continue
		}
		if len(s.out.files)+len(s.out.dirs) >= maxTreeEntries {
			return &fs.PathError{Op: "read", Path: s.root, Err: errTooLarge}
		}
		if e.IsDir() {
			err = s.walk(p)
		} else {
			err = s.add(p, e.Type())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) skips(p string, e fs.DirEntry) bool {
	if s.keep != nil && s.keep(p) {
		return false
	}
	return bundle.Residue(p) || s.keep == nil && e.IsDir() && e.Name() == ".git"
}

func (s *scanner) add(p string, mode fs.FileMode) error {
	full := s.root + string(filepath.Separator) + filepath.FromSlash(p)
	switch {
	case mode.IsRegular():
		data, st, err := readFile(full, s.buf)
		if err != nil {
			return err
		}
		s.buf = data
		it := item{path: p, kind: bundle.Plain, sum: sha256.Sum256(data), size: st.size, at: st.stamp}
		if st.executable {
			it.kind = bundle.Executable
		}
		if s.out.bytes += st.size; s.out.bytes > maxTreeBytes {
			return &fs.PathError{Op: "read", Path: s.root, Err: errTooLarge}
		}
		if p == skillFile {
			s.out.head = head(data)
		}
		s.out.files = append(s.out.files, it)
	case mode&fs.ModeSymlink != 0:
		st, err := statPath(full)
		if err != nil {
			return err
		}
		target, err := os.Readlink(full)
		if err != nil {
			return err
		}
		target = filepath.ToSlash(target)
		if to := path.Join(path.Dir(p), target); path.IsAbs(target) || !fs.ValidPath(to) {
			s.out.links = append(s.out.links, p)
		} else if p == skillFile {
			if data, _, err := readFile(s.root+string(filepath.Separator)+filepath.FromSlash(to), nil); err == nil {
				s.out.head = head(data)
			}
		}
		s.out.files = append(s.out.files, item{path: p, kind: bundle.Link, sum: sha256.Sum256([]byte(target)), size: int64(len(target)), at: st.stamp})
	default:
		st, err := statPath(full)
		if err != nil {
			return err
		}
		s.out.files = append(s.out.files, item{path: p, at: st.stamp, irregular: true})
	}
	return nil
}

// head returns a copy of the start of data, cut at the end of a line.
func head(data []byte) []byte {
	if len(data) > maxHeadBytes {
		data = data[:maxHeadBytes]
		if i := strings.LastIndexByte(string(data), '\n'); i >= 0 {
			data = data[:i+1]
		}
	}
	return slices.Clone(data)
}

// tree returns the digest of what was scanned, "" if it cannot be a bundle.
func (s scan) tree() bundle.Digest {
	if len(s.links) > 0 || slices.ContainsFunc(s.files, func(it item) bool { return it.irregular }) {
		return ""
	}
	return treeOf(s.files)
}

// treeOf computes the tree digest of entries that are sorted by path.
func treeOf(files []item) bundle.Digest {
	h := sha256.New()
	line := make([]byte, 0, 256)
	for _, it := range files {
		line = hex.AppendEncode(line[:0], it.sum[:])
		line = append(line, ' ', byte(it.kind), ' ')
		line = append(line, it.path...)
		line = append(line, '\n')
		h.Write(line)
	}
	return bundle.Digest(treePrefix + hex.EncodeToString(h.Sum(nil)))
}

// nested returns the directories inside the skill that hold a SKILL.md of their own.
func (s scan) nested() []string {
	var dirs []string
	for _, it := range s.files {
		if dir, file := path.Split(it.path); file == skillFile && dir != "" {
			dirs = append(dirs, path.Clean(dir))
		}
	}
	return dirs
}
