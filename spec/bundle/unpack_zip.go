package bundle

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
)

// maxDirectory bounds the bytes of a zip's central directory, which is held in memory:
// MaxArchiveEntries of the longest portable paths fit.
const maxDirectory = 4 << 20

func walkZip(r io.ReaderAt, size int64, visit visitor) error {
	if err := checkZip(r, size); err != nil {
		return err
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // paths are checked by CheckPath
		return damaged(err)
	}
	z.RegisterDecompressor(zip.Deflate, inflate)
	var m meter
	for _, f := range z.File {
		e, err := zipMember(f)
		if err != nil {
			return err
		}
		if e.name == "." || e.name == "" && e.kind == memberDir {
			continue
		}
		m.in += int64(f.CompressedSize64)
		if err := visitZip(f, e, &m, visit); err != nil {
			return err
		}
	}
	return nil
}

func visitZip(f *zip.File, e *member, m *meter, visit visitor) error {
	if e.kind == memberDir {
		return visit(e)
	}
	rc, err := f.Open()
	if err != nil {
		return damaged(err)
	}
	defer rc.Close()
	e.body = &zipBody{src: rc, file: f, meter: m}
	if e.kind == memberLink {
		text, err := io.ReadAll(io.LimitReader(e.body, MaxPath+1))
		if err != nil {
			return err
		}
		e.target = string(text)
	}
	return visit(e)
}

func zipMember(f *zip.File) (*member, error) {
	mode := f.Mode()
	dir := mode.IsDir() || strings.HasSuffix(f.Name, "/")
	m := &member{name: storedName(f.Name, dir), size: int64(f.UncompressedSize64), executable: mode&0o111 != 0}
	switch {
	case dir:
		m.kind = memberDir
		return m, nil
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return nil, refuse(CodeArchive, "%q is compressed by method %d; zip files of skills use stored or deflate", f.Name, f.Method)
	case m.size < 0, f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
		return nil, refuse(CodeSize, "%q announces an impossible size", f.Name)
	case mode.Type() == fs.ModeSymlink:
		m.kind = memberLink
		return m, nil
	case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return nil, refuse(CodeSetID, "%q has a set-user-id or set-group-id bit", f.Name)
	case !mode.IsRegular():
		return nil, refuse(CodeIrregular, "%q is neither a file, a directory nor a symbolic link", f.Name)
	}
	return m, nil
}

func errDirectory() error {
	return refuse(CodeTooMany, "the directory of the archive is longer than %d entries, the limit", MaxArchiveEntries)
}

// inflate is a decompressor that refuses bytes behind the end of the deflated data, which
// another program could take for an entry.
func inflate(r io.Reader) io.ReadCloser {
	packed := bufio.NewReader(r)
	return &inflater{flate.NewReader(packed), packed}
}

type inflater struct {
	io.ReadCloser
	packed *bufio.Reader // flate takes no byte too many from an io.ByteReader
}

func (i *inflater) Read(p []byte) (int, error) {
	n, err := i.ReadCloser.Read(p)
	if err == io.EOF {
		if _, more := i.packed.ReadByte(); more != io.EOF {
			err = zip.ErrFormat
		}
	}
	return n, err
}

// A zipBody meters an entry's content. It checks the checksum 0 too, which
// archive/zip takes for none.
type zipBody struct {
	src   io.Reader
	file  *zip.File
	meter *meter
	sum   uint32
}

func (b *zipBody) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	if b.file.CRC32 == 0 {
		b.sum = crc32.Update(b.sum, crc32.IEEETable, p[:n])
	}
	if err2 := b.meter.unpacked(n); err2 != nil {
		return 0, err2
	}
	switch {
	case err == io.EOF && b.sum != 0:
		err = zip.ErrChecksum
	case err == zip.ErrFormat, err == io.ErrUnexpectedEOF:
		err = refuse(CodeSize, "%q is announced with %d bytes and has another length", b.file.Name, b.file.UncompressedSize64)
	}
	return n, damagedBody(err)
}
