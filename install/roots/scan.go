package roots

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/skill"
)

// Bounds of what is read to give one copy a digest. The bytes and files of a
// skill are those of an install.
const (
	maxTreeEntries = 5000
	maxTreeBytes   = 50 << 20
	maxHeadBytes   = 64 << 10 // of SKILL.md, read for its frontmatter
)

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

// A stamped path is a file or directory as it was when it was read.
type stamped struct {
	path string // relative to the skill, slash-separated; "" is its directory
	at   stamp
}

// A scan is what one walk over a skill's directory found.
type scan struct {
	entries []bundle.Entry // sorted by path bytes
	stamps  []stamped      // of entries and directories
	odd     []string       // what is neither file, directory nor link
	residue []string       // files that were left out, see [bundle.Residue]
	git     []string       // entries called .git, which were left out
	sidecar []byte         // start of SKILL.json; nil if there is none
	head    []byte         // start of SKILL.md; nil if it could not be read
	refusal error          // why this cannot be a bundle, a *diag.Error; nil if it can
}

// A scanner walks skills one after another, with one buffer.
type scanner struct {
	buf   []byte
	root  string
	claim map[string]bool
	out   scan
	bytes int64
}

// scanTree reads every file below dir. It leaves out .git, which no bundle holds, and residue except for the paths of
// claim, and says so. It follows no links.
func (s *scanner) scanTree(dir string, claim map[string]bool) (scan, error) {
	s.root, s.claim, s.out, s.bytes = dir+string(filepath.Separator), claim, scan{}, 0
	if err := s.walk(""); err != nil {
		return scan{}, err
	}
	order.Sort(s.out.entries, func(a, b bundle.Entry) int { return cmp.Compare(a.Path, b.Path) })
	return s.out, nil
}

func (s *scanner) walk(rel string) error {
	dir := s.root + filepath.FromSlash(rel)
	st, err := statPath(dir)
	if err != nil {
		return err
	}
	s.out.stamps = append(s.out.stamps, stamped{rel, st.stamp})
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := e.Name()
		if rel != "" {
			p = rel + "/" + p
		}
		switch {
		case s.claim[p]:
		case e.Name() == ".git":
			s.out.git = append(s.out.git, p)
			continue
		case e.Type().IsRegular() && bundle.Residue(p):
			s.out.residue = append(s.out.residue, p)
			continue
		}
		if len(s.out.stamps) > maxTreeEntries {
			return &fs.PathError{Op: "read", Path: dir, Err: errTooLarge}
		}
		s.refuse(bundle.CheckPath(p))
		switch mode := e.Type(); {
		case mode.IsDir():
			err = s.walk(p)
		case mode.IsRegular():
			err = s.file(p)
		case mode&fs.ModeSymlink != 0:
			err = s.link(p)
		default:
			s.out.odd = append(s.out.odd, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) refuse(err error) {
	if s.out.refusal == nil {
		s.out.refusal = err
	}
}

func (s *scanner) file(p string) error {
	data, st, err := readFile(s.root+filepath.FromSlash(p), s.buf)
	if err != nil {
		return err
	}
	s.buf = data
	if s.bytes += st.size; s.bytes > maxTreeBytes {
		return &fs.PathError{Op: "read", Path: s.root, Err: errTooLarge}
	}
	e := bundle.Entry{Path: p, Kind: bundle.Plain, Size: st.size, SHA256: sha256.Sum256(data)}
	if st.executable || !durable.HasModes && bytes.HasPrefix(data, []byte("#!")) {
		e.Kind = bundle.Executable
	}
	switch p {
	case skillFile:
		s.out.head = head(data)
	case skill.SidecarName:
		s.out.sidecar = append([]byte{}, data[:min(len(data), skill.MaxFrontmatter+1)]...)
	}
	s.out.entries = append(s.out.entries, e)
	s.out.stamps = append(s.out.stamps, stamped{p, st.stamp})
	return nil
}

func (s *scanner) link(p string) error {
	full := s.root + filepath.FromSlash(p)
	st, err := statPath(full)
	if err != nil {
		return err
	}
	target, err := os.Readlink(full)
	if err != nil {
		return err
	}
	target = filepath.ToSlash(target)
	if err := bundle.CheckLinkTarget(p, target); err != nil {
		s.refuse(err)
	} else if p == skillFile {
		if data, _, err := readFile(s.root+filepath.FromSlash(path.Join(path.Dir(p), target)), nil); err == nil {
			s.out.head = head(data)
		}
	}
	s.out.entries = append(s.out.entries, bundle.Entry{
		Path: p, Kind: bundle.Link, Size: int64(len(target)), SHA256: sha256.Sum256([]byte(target)), Target: target,
	})
	s.out.stamps = append(s.out.stamps, stamped{p, st.stamp})
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
	if s.refusal != nil || len(s.odd) > 0 {
		return ""
	}
	return bundle.TreeDigest(s.entries)
}

// takeModes gives the files of the receipt its modes: it is where they are kept, on a disk that has none.
func (s scan) takeModes(r Receipt) {
	for i, e := range s.entries {
		if f, ok := r.Files[e.Path]; ok && e.Kind != bundle.Link && f.Mode != bundle.Link {
			s.entries[i].Kind = f.Mode
		}
	}
}

// takeNames gives the files of the receipt the names that it has for them, where the disk spells a name in another form of Unicode and
// both names lead to one file, as on macOS. Where they are two names, the file has another one than was installed. dir is where the scan was.
func (s scan) takeNames(dir string, r Receipt) {
	s.takeNamesIf(r, func(onDisk, recorded string) bool {
		a, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(onDisk)))
		b, otherErr := os.Lstat(filepath.Join(dir, filepath.FromSlash(recorded)))
		return err == nil && otherErr == nil && os.SameFile(a, b)
	})
}

func (s scan) takeNamesIf(r Receipt, same func(onDisk, recorded string) bool) {
	var recorded map[string]string // by NFC; made when it is needed
	for i, e := range s.entries {
		if _, ok := r.Files[e.Path]; ok || isASCII(e.Path) {
			continue
		}
		if recorded == nil {
			recorded = make(map[string]string, len(r.Files))
			for p := range r.Files {
				recorded[norm.NFC.String(p)] = p
			}
			for _, there := range s.entries { // a file of its own takes no other's name
				if name := norm.NFC.String(there.Path); recorded[name] == there.Path {
					delete(recorded, name)
				}
			}
		}
		if name, ok := recorded[norm.NFC.String(e.Path)]; ok && same(e.Path, name) {
			s.entries[i].Path = name
		}
	}
}

// nested returns the directories inside the skill that hold a SKILL.md of their own.
func (s scan) nested() []string {
	var dirs []string
	for _, e := range s.entries {
		if dir, file := path.Split(e.Path); file == skillFile && dir != "" {
			dirs = append(dirs, path.Clean(dir))
		}
	}
	return dirs
}
