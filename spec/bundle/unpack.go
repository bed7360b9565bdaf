package bundle

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// Bounds of an archive, whatever its sink accepts. An archive may hold more than
// one bundle, so they are wider than those of a bundle.
const (
	MaxArchiveEntries = 2 * installEntries // directories included
	MaxArchiveBytes   = 2 * installBytes   // of the file, and of what it unpacks to
	MaxRatio          = 100                // unpacked bytes to packed ones
	ratioFree         = 1 << 20            // unpacked bytes that MaxRatio does not count
)

// Format is the form of an archive.
type Format string

const (
	Tar   Format = "tar"
	TarGz Format = "tar.gz"
	Zip   Format = "zip"
)

// Detect returns the format of an archive from its first bytes, of which 512
// are enough, or "" if it is none that [Unpack] reads. File names do not count.
func Detect(head []byte) Format {
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return Zip
	case bytes.HasPrefix(head, []byte("\x1f\x8b\x08")):
		return TarGz
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return Tar
	}
	return ""
}

// Unpack streams the entries of the archive r, size bytes long, to sink in the order of the
// archive. If everything is below one directory, as in a forge's source
// archive, that directory is left out of the paths and returned as top.
//
// It refuses whatever is not a file, a directory or a symbolic link, whatever
// unpacks differently with different programs (duplicate or overlapping entries, sizes that
// do not agree, data behind the end), and what exceeds the bounds above. Real bytes
// are counted while they are read; memory use does not depend on the content.
// An archive inside the archive is a file like others. Paths and link texts are
// valid; that they form a bundle is for sink, a [Guard], to see.
func Unpack(r io.ReaderAt, size int64, format Format, sink Sink) (top string, err error) {
	if size > MaxArchiveBytes {
		return "", refuse(CodeTooBig, "the archive is larger than %d bytes, the limit", MaxArchiveBytes)
	}
	walk := walkTar
	switch format {
	case Zip:
		walk = walkZip
	case TarGz:
		walk = walkTarGz
	case Tar:
	default:
		return "", diag.New(diag.Misuse, CodeArchive, "%q is not an archive format: tar, tar.gz, zip", format)
	}
	// Where the paths start is known when the first pass has seen a second place, which
	// is soon where there is one. It writes nothing.
	var roots rootFinder
	if err := walk(r, size, roots.visit); err != nil && err != errTwoRoots {
		return "", err
	}
	u := unpacker{sink: sink, top: roots.top}
	if err := walk(r, size, u.visit); err != nil {
		return "", err
	}
	return u.top, nil
}

// A member is what an archive format says of one entry.
type member struct {
	name       string // as stored; without the slash that marks a directory
	kind       memberKind
	executable bool
	size       int64 // announced
	target     string
	body       io.Reader // of a file; its errors are ready to be shown
}

type memberKind byte

const (
	memberFile memberKind = iota
	memberDir
	memberLink
)

// visitor is called for each member in order; its error ends the walk and is returned.
type visitor func(*member) error

// errTwoRoots ends the walk of a rootFinder early.
var errTwoRoots = errors.New("more than one entry at the top")

// A rootFinder finds the one directory everything is in, if there is one.
type rootFinder struct{ top string }

func (f *rootFinder) visit(m *member) error {
	first, _, nested := strings.Cut(m.name, "/")
	if f.top == "" {
		f.top = first
	}
	if first != f.top || !nested && m.kind != memberDir {
		f.top = ""
		return errTwoRoots
	}
	return nil
}

// An unpacker checks members and hands them on.
type unpacker struct {
	sink  Sink
	top   string
	names names
}

func (u *unpacker) visit(m *member) error {
	if err := CheckPath(m.name); err != nil {
		return err
	}
	if m.kind == memberDir {
		return u.names.addDir(m.name)
	}
	if err := u.names.add(m.name, m.target); err != nil {
		return err
	}
	path := m.name
	if u.top != "" {
		path = strings.TrimPrefix(path, u.top+"/")
		if err := CheckPath(path); err != nil { // top/C:x
			return err
		}
	}
	if m.kind == memberLink {
		if err := CheckLinkTarget(path, m.target); err != nil {
			return err
		}
		return u.sink.Link(path, m.target)
	}
	return u.sink.File(path, m.executable, m.size, m.body)
}

// storedName removes what archivers add to a name: "./" in front, and the slash of a directory.
func storedName(name string, dir bool) string {
	name = strings.TrimPrefix(name, "./")
	if dir {
		name = strings.TrimSuffix(name, "/")
	}
	return name
}

// A meter bounds what is unpacked from what was read for it.
type meter struct {
	in, out int64
	entries int
}

func (m *meter) entry() error {
	if m.entries++; m.entries > MaxArchiveEntries {
		return refuse(CodeTooMany, "the archive has more than %d entries, the limit", MaxArchiveEntries)
	}
	return nil
}

// unpacked counts n more bytes.
func (m *meter) unpacked(n int) error {
	m.out += int64(n)
	switch {
	case m.out > MaxArchiveBytes:
		return refuse(CodeTooBig, "the archive unpacks to more than %d bytes, the limit", MaxArchiveBytes)
	case m.out-ratioFree > MaxRatio*m.in:
		return refuse(CodeRatio, "the archive unpacks to more than %d times its size", MaxRatio)
	}
	return nil
}

// damaged wraps errors of decoders and of the archive's reader; our own go through.
func damaged(err error) error {
	if _, ok := errors.AsType[*diag.Error](err); ok || err == nil {
		return err
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return diag.New(diag.Failed, CodeArchive, "the archive cannot be read: %w", err)
}

// damagedBody is damaged for an entry's content, which has an end.
func damagedBody(err error) error {
	if err == io.EOF {
		return err
	}
	return damaged(err)
}
