package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/skl-project/skl/spec/order"
)

// skillMD is the file that makes a directory a skill. Its case matters.
const skillMD = "SKILL.md"

// A Guard is a Sink that holds the rules of this package: what it forwards has a
// valid path of its own, and is no larger than the limits allow.
// It hashes content as it passes. Links are held back until Close, when it is known
// that each leads to a regular file of the bundle; they are forwarded then.
//
// After an error every call returns that error: what was forwarded must be thrown away.
// A Guard serves one bundle and one goroutine.
type Guard struct {
	// NoSkillMD lets a bundle without a SKILL.md at its root through.
	NoSkillMD bool
	// Portable refuses also what some systems cannot hold, as publishing does: what [CheckPortable] refuses, and names that are one on some
	// file systems. Else only what means SKILL.md, and is not it, is refused.
	Portable bool

	next    Sink // nil: digest only
	limits  Limits
	names   names
	entries []Entry
	bytes   int64
	content content
	err     error
}

// NewGuard returns a Guard that forwards to next; nil means to compute the Summary only.
func NewGuard(next Sink, limits Limits) *Guard {
	limits.Entries = cmp.Or(limits.Entries, InstallLimits.Entries)
	limits.Bytes = cmp.Or(limits.Bytes, InstallLimits.Bytes)
	g := &Guard{next: next, limits: limits}
	g.content = content{guard: g, hash: sha256.New(), buf: make([]byte, contentBuffer)}
	return g
}

// File implements [Sink]. It reads r to its end, or until a limit is exceeded, and
// refuses content that is not size bytes long, unless size is -1.
func (g *Guard) File(path string, executable bool, size int64, r io.Reader) error {
	if g.err == nil {
		g.err = g.file(path, executable, size, r)
	}
	return g.err
}

func (g *Guard) file(path string, executable bool, size int64, r io.Reader) error {
	if err := g.admit(path, ""); err != nil {
		return err
	}
	if size > g.limits.Bytes-g.bytes {
		return g.tooBig(path)
	}
	c := &g.content
	c.start(path, size, r)
	if err := c.checkPointer(); err != nil {
		return err
	}
	var err error
	if g.next == nil {
		_, err = c.WriteTo(io.Discard)
	} else {
		err = g.next.File(path, executable, size, c)
	}
	for err == nil && len(c.rest) == 0 && c.err == nil {
		c.fill() // the sink may have stopped after size bytes
	}
	switch {
	case c.err != nil && c.err != io.EOF: // even if the sink did not mind
		return c.err
	case err != nil:
		return err
	case len(c.rest) > 0:
		return fmt.Errorf("%q was stored in part: %w", path, io.ErrShortWrite)
	}
	kind := Plain
	if executable {
		kind = Executable
	}
	g.entries = append(g.entries, Entry{Path: path, Kind: kind, Size: c.n})
	c.hash.Sum(g.entries[len(g.entries)-1].SHA256[:0])
	return nil
}

// Link implements [Sink].
func (g *Guard) Link(path, target string) error {
	if g.err == nil {
		g.err = g.link(path, target)
	}
	return g.err
}

func (g *Guard) link(path, target string) error {
	if err := g.admit(path, target); err != nil {
		return err
	}
	if err := CheckLinkTarget(path, target); err != nil {
		return err
	}
	if g.bytes += int64(len(target)); g.bytes > g.limits.Bytes {
		return g.tooBig(path)
	}
	g.entries = append(g.entries, Entry{Path: path, Kind: Link, Size: int64(len(target)),
		SHA256: sha256.Sum256([]byte(target)), Target: target})
	return nil
}

// admit holds for files and links.
func (g *Guard) admit(path, link string) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	if g.Portable {
		g.names.strict = true
		if err := CheckPortable(path); err != nil {
			return err
		}
	}
	if len(g.entries) >= g.limits.Entries {
		return refuse(CodeTooMany, "the bundle has more than %d entries, the limit", g.limits.Entries)
	}
	return g.names.add(path, link)
}

func (g *Guard) tooBig(path string) error {
	return refuse(CodeTooBig, "the bundle is larger than %d bytes, the limit, at %q", g.limits.Bytes, path)
}

// Close checks what can only be checked of a complete bundle and forwards its links,
// sorted by path. It returns the zero Summary on error.
func (g *Guard) Close() (Summary, error) {
	if g.err == nil {
		g.err = g.finish()
	}
	if g.err != nil {
		return Summary{}, g.err
	}
	return Summary{Tree: TreeDigest(g.entries), Files: len(g.entries), Bytes: g.bytes, Entries: g.entries}, nil
}

func (g *Guard) finish() error {
	if n, ok := g.names.at(skillMD); !g.NoSkillMD && (!ok || n.dir) {
		return refuse(CodeNoSkillMD, "the bundle has no %s at its root", skillMD)
	}
	order.Sort(g.entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	for _, e := range g.entries {
		if e.Kind == Link {
			if err := g.names.resolve(e.Path, e.Target); err != nil {
				return err
			}
		}
	}
	if g.next == nil {
		return nil
	}
	for _, e := range g.entries {
		if e.Kind == Link {
			if err := g.next.Link(e.Path, e.Target); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	contentBuffer = 32 << 10
	maxPointer    = 1024 // Git LFS: pointer files are less than 1,024 bytes
)

// content is the reader a sink is given: it counts and hashes what it reads of
// one file into its buffer, which all files of a bundle share.
type content struct {
	guard *Guard
	hash  hash.Hash
	buf   []byte

	path string
	size int64 // announced, or -1
	src  io.Reader
	rest []byte // part of buf: read and not delivered yet
	n    int64  // bytes read
	err  error  // what comes behind rest
}

func (c *content) start(path string, size int64, src io.Reader) {
	c.path, c.size, c.src = path, size, src
	c.rest, c.n, c.err = nil, 0, nil
	c.hash.Reset()
}

// fill reads more behind rest, for which there must be room. It returns c.err.
func (c *content) fill() error {
	if c.err != nil {
		return c.err
	}
	have := len(c.rest)
	n, err := c.src.Read(c.buf[have:])
	c.rest = c.buf[:have+n]
	c.hash.Write(c.buf[have : have+n])
	c.n += int64(n)
	c.guard.bytes += int64(n)
	switch {
	case c.guard.bytes > c.guard.limits.Bytes:
		c.err = c.guard.tooBig(c.path)
	case c.size >= 0 && c.n > c.size, err == io.EOF && c.size >= 0 && c.n < c.size:
		c.err = refuse(CodeSize, "%q is announced with %d bytes and has another length", c.path, c.size)
	default:
		c.err = err
	}
	if c.err != nil && c.err != io.EOF {
		c.rest = nil
	}
	return c.err
}

// checkPointer reads the start of the file and refuses a Git LFS pointer before
// the sink sees it.
func (c *content) checkPointer() error {
	for c.err == nil && len(c.rest) <= maxPointer {
		c.fill()
	}
	switch {
	case c.err != nil && c.err != io.EOF:
		return c.err
	case c.err == io.EOF && IsLFSPointer(c.rest):
		return refuse(CodeLFSPointer, "%q is a Git LFS pointer, not the file it stands for", c.path).
			Hint("ask the author to commit the file itself")
	}
	return nil
}

// IsLFSPointer reports whether content, a whole file, is a pointer of Git LFS
// (git-lfs docs/spec.md).
func IsLFSPointer(content []byte) bool {
	return len(content) <= maxPointer && bytes.HasPrefix(content, []byte("version https://git-lfs.github.com/spec/v1")) &&
		bytes.Contains(content, []byte("\noid "))
}

func (c *content) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if err := c.fill(); err != nil && len(c.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// WriteTo implements [io.WriterTo], so that io.Copy in a sink needs no buffer of its own.
func (c *content) WriteTo(w io.Writer) (written int64, err error) {
	for {
		if len(c.rest) > 0 {
			n, err := w.Write(c.rest)
			written += int64(n)
			if err != nil {
				return written, err
			}
			c.rest = nil
		}
		switch err := c.fill(); {
		case err == io.EOF && len(c.rest) == 0:
			return written, nil
		case err != nil && err != io.EOF:
			return written, err
		}
	}
}
