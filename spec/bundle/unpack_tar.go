package bundle

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"strconv"
	"strings"
)

func walkTarGz(r io.ReaderAt, size int64, visit visitor) error {
	var m meter
	packed := bufio.NewReader(&countingReader{src: io.NewSectionReader(r, 0, size), n: &m.in})
	z, err := gzip.NewReader(packed)
	if err != nil {
		return damaged(err)
	}
	return walkTarStream(&m, z, visit)
}

func walkTar(r io.ReaderAt, size int64, visit visitor) error {
	m := meter{in: size}
	return walkTarStream(&m, bufio.NewReader(io.NewSectionReader(r, 0, size)), visit)
}

func walkTarStream(m *meter, r io.Reader, visit visitor) error {
	stream := &blockReader{src: r, meter: m}
	tr := tar.NewReader(stream)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return stream.drain()
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // paths are checked by CheckPath
			return damaged(err)
		}
		if err := m.entry(); err != nil {
			return err
		}
		e, err := tarMember(h)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		e.body = readErrors{tr}
		if err := visit(e); err != nil {
			return err
		}
	}
}

// tarMember returns nil for what stands for no file.
func tarMember(h *tar.Header) (*member, error) {
	m := &member{name: storedName(h.Name, h.Typeflag == tar.TypeDir), size: h.Size, executable: h.Mode&0o111 != 0}
	switch h.Typeflag {
	case tar.TypeXGlobalHeader: // git archive: a comment
		return nil, nil
	case tar.TypeDir:
		if m.name == "." || m.name == "" {
			return nil, nil
		}
		m.kind = memberDir
		return m, nil
	case tar.TypeSymlink:
		m.kind, m.target = memberLink, h.Linkname
		return m, nil
	case tar.TypeReg:
	default:
		return nil, refuse(CodeIrregular, "%q is neither a file, a directory nor a symbolic link (tar type %q)", h.Name, h.Typeflag)
	}
	if h.Mode&0o6000 != 0 {
		return nil, refuse(CodeSetID, "%q has a set-user-id or set-group-id bit", h.Name)
	}
	return m, nil
}

// storedSize is the size field of a ustar header, -1 if it is not in octal. Sizes that need
// another form are beyond every limit.
func storedSize(block []byte) int64 {
	field := strings.Trim(string(block[124:136]), " \x00")
	if field == "" {
		return 0
	}
	n, err := strconv.ParseInt(field, 8, 64)
	if err != nil {
		return -1
	}
	return n
}

// A blockReader meters a tar stream and shows it to frames.
type blockReader struct {
	src    io.Reader
	meter  *meter
	frames frames
}

func (b *blockReader) Read(p []byte) (n int, err error) {
	n, err = b.src.Read(p)
	if err2 := b.meter.unpacked(n); err2 != nil {
		return 0, err2
	}
	if err2 := b.frames.feed(p[:n]); err2 != nil {
		return 0, err2
	}
	return n, err
}

// drain reads what is behind the end: zeros up to a tape's block size, nothing else.
func (b *blockReader) drain() error {
	buf := make([]byte, 4096)
	for {
		n, err := b.Read(buf)
		for _, c := range buf[:n] {
			if c != 0 {
				return refuse(CodeTrailing, "the archive has data behind its end")
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, gzip.ErrHeader):
			return refuse(CodeTrailing, "the archive has data behind its end")
		case err != nil:
			return damaged(err)
		}
	}
}

type countingReader struct {
	src io.Reader
	n   *int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.src.Read(p)
	*c.n += int64(n)
	return n, err
}

// readErrors makes the errors of an entry's content ready to be shown.
type readErrors struct{ src io.Reader }

func (r readErrors) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	return n, damagedBody(err)
}
