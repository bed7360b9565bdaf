package bundle

import (
	"archive/zip"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// maxDirectory bounds the bytes of a zip's central directory, which is held in memory:
// MaxArchiveEntries of the longest portable paths fit.
const maxDirectory = 4 << 20

func walkZip(r io.ReaderAt, size int64, visit visitor) error {
	if err := checkZipEnd(r, size); err != nil {
		return err
	}
	dir := &directoryReader{src: r, left: maxDirectory}
	z, err := zip.NewReader(dir, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // paths are checked by CheckPath
		return damaged(err)
	}
	dir.left = -1
	if len(z.File) > MaxArchiveEntries {
		return errDirectory()
	}
	if err := checkOverlap(z.File, size); err != nil {
		return err
	}
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
	case f.Flags&0x2041 != 0: // encrypted, strongly encrypted, masked directory
		return nil, refuse(CodeEncrypted, "%q is encrypted", f.Name)
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

// checkZipEnd requires the end record to be the last bytes of the file, so that all
// programs find the same one. (PKWARE APPNOTE 4.3.16)
func checkZipEnd(r io.ReaderAt, size int64) error {
	const fixed, comment = 22, 20 // bytes of the record; offset of its comment's length
	tail := make([]byte, min(size, fixed+0xffff))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return damaged(err)
	}
	i := strings.LastIndex(string(tail), "PK\x05\x06")
	switch {
	case i < 0 || len(tail)-i < fixed:
		return damaged(zip.ErrFormat)
	case int(binary.LittleEndian.Uint16(tail[i+comment:])) != len(tail)-i-fixed:
		return refuse(CodeTrailing, "the archive has data behind its end")
	}
	return nil
}

// checkOverlap refuses entries that share bytes: bombs do, and so do archives that
// hold different files for different programs.
func checkOverlap(files []*zip.File, size int64) error {
	type span struct {
		start, end int64
		name       string
	}
	spans := make([]span, 0, len(files))
	for _, f := range files {
		body, err := f.DataOffset()
		if err != nil {
			return damaged(err)
		}
		if f.CompressedSize64 > uint64(size-body) {
			return refuse(CodeSize, "%q announces more bytes than the archive has", f.Name)
		}
		const localHeader = 30
		spans = append(spans, span{body - localHeader - int64(len(f.Name)), body + int64(f.CompressedSize64), f.Name})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(spans); i++ {
		if spans[i].start < spans[i-1].end {
			return refuse(CodeOverlap, "%q and %q share bytes of the archive", spans[i-1].name, spans[i].name)
		}
	}
	return nil
}

// A directoryReader bounds what zip.NewReader reads; left < 0 is no bound.
type directoryReader struct {
	src  io.ReaderAt
	left int64
}

func (d *directoryReader) ReadAt(p []byte, off int64) (int, error) {
	if d.left >= 0 {
		if d.left -= int64(len(p)); d.left < 0 {
			d.left = 0
			return 0, errDirectory()
		}
	}
	return d.src.ReadAt(p, off)
}

func errDirectory() error {
	return refuse(CodeTooMany, "the directory of the archive is longer than %d entries, the limit", MaxArchiveEntries)
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
