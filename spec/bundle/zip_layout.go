package bundle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/order"
)

// A zip says everything twice: in its directory, and in front of each entry. Programs
// believe one, the other, or a mixture. So the layout of a zip is checked before it is
// read: entries, directory and end record fill the file without a gap, and
// both headers of an entry agree. Names are those of PKWARE's APPNOTE.

// Sizes of a zip's records without their variable parts, in bytes.
const (
	zipEndSize       = 22
	zipDirectorySize = 46
	zipLocalSize     = 30
)

// Bits of the flags of an entry.
const (
	zipEncrypted  = 1<<0 | 1<<6 | 1<<13 // encrypted, strongly encrypted, masked directory
	zipDescriptor = 1 << 3              // sizes stand behind the data
	zipUTF8       = 1 << 11
	zipKnownFlags = zipDescriptor | zipUTF8 | 1<<1 | 1<<2 // how well it is deflated
)

// Extra fields that are looked at.
const (
	zipExtra64          = 0x0001
	zipExtraUnicodePath = 0x7075
)

// maxZipVersion is the newest version of the format that the usual programs read.
const maxZipVersion = 45

// A zipHeader is what the directory says of an entry.
type zipHeader struct {
	name         string
	creator      byte
	version      uint16
	flags        uint16
	method       uint16
	crc          uint32
	csize, usize uint32
	attributes   uint32
	start        int64 // of the local header
}

// checkZip refuses a zip that programs read differently.
func checkZip(r io.ReaderAt, size int64) error {
	start, end, n, err := readZipEnd(r, size)
	if err != nil {
		return err
	}
	dir := make([]byte, end-start)
	if _, err := r.ReadAt(dir, start); err != nil {
		return damaged(err)
	}
	headers := make([]zipHeader, 0, n)
	for range n {
		h, rest, err := readZipHeader(dir)
		if err != nil {
			return err
		}
		if err := h.check(start); err != nil {
			return err
		}
		headers, dir = append(headers, h), rest
	}
	if len(dir) > 0 {
		return ambiguous("the directory of the archive holds more than its %d entries", n)
	}
	order.Stable(headers, func(a, b zipHeader) int { return cmp.Compare(a.start, b.start) })
	at := int64(0)
	for i := range headers {
		switch h := &headers[i]; {
		case h.start < at && i > 0:
			return refuse(CodeOverlap, "%q and %q share bytes of the archive", headers[i-1].name, h.name)
		case h.start > at:
			return ambiguous("the archive has %d bytes before %q that belong to no entry of its directory", h.start-at, h.name)
		}
		if at, err = headers[i].checkLocal(r, start); err != nil {
			return err
		}
	}
	switch {
	case at > start:
		return refuse(CodeOverlap, "%q shares bytes with the directory of the archive", headers[len(headers)-1].name)
	case at < start:
		return ambiguous("the archive has %d bytes before its directory that belong to no entry", start-at)
	}
	return nil
}

// readZipEnd returns where the directory starts and ends, and its number of entries. The end
// record must be the last bytes of the file, so that all programs find the same one.
func readZipEnd(r io.ReaderAt, size int64) (start, end int64, n int, err error) {
	tail := make([]byte, min(size, zipEndSize+0xffff))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0, 0, 0, damaged(err)
	}
	i := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if i < 0 || len(tail)-i < zipEndSize {
		return 0, 0, 0, damaged(io.ErrUnexpectedEOF)
	}
	le, rec := binary.LittleEndian, tail[i:]
	disk, dirDisk, here, total := le.Uint16(rec[4:]), le.Uint16(rec[6:]), le.Uint16(rec[8:]), le.Uint16(rec[10:])
	dirSize, dirStart := int64(le.Uint32(rec[12:])), int64(le.Uint32(rec[16:]))
	end = size - int64(len(rec))
	switch {
	case int(le.Uint16(rec[20:])) != len(rec)-zipEndSize:
		return 0, 0, 0, refuse(CodeTrailing, "the archive has data behind its end")
	case total > MaxArchiveEntries || dirSize > maxDirectory:
		return 0, 0, 0, errDirectory()
	case disk != 0 || dirDisk != 0 || here != total:
		return 0, 0, 0, ambiguous("the archive says that it is one part of several")
	case dirStart+dirSize != end:
		return 0, 0, 0, ambiguous("the directory of the archive is not where its end record says, or has data before or behind it")
	}
	return dirStart, end, int(total), nil
}

func readZipHeader(dir []byte) (h zipHeader, rest []byte, err error) {
	if len(dir) < zipDirectorySize || string(dir[:4]) != "PK\x01\x02" {
		return zipHeader{}, nil, ambiguous("the directory of the archive holds fewer entries than it says")
	}
	le := binary.LittleEndian
	h = zipHeader{creator: dir[5], version: le.Uint16(dir[6:]), flags: le.Uint16(dir[8:]), method: le.Uint16(dir[10:]),
		crc: le.Uint32(dir[16:]), csize: le.Uint32(dir[20:]), usize: le.Uint32(dir[24:]),
		attributes: le.Uint32(dir[38:]), start: int64(le.Uint32(dir[42:]))}
	name, extra, comment := int(le.Uint16(dir[28:])), int(le.Uint16(dir[30:])), int(le.Uint16(dir[32:]))
	disk := le.Uint16(dir[34:])
	rest = dir[zipDirectorySize:]
	if len(rest) < name+extra+comment {
		return zipHeader{}, nil, ambiguous("the directory of the archive is cut off in an entry")
	}
	h.name = string(rest[:name])
	if disk != 0 {
		return zipHeader{}, nil, ambiguous("%q is said to be in another part of the archive", h.name)
	}
	_, err = checkExtra(h.name, rest[name:name+extra])
	return h, rest[name+extra+comment:], err
}

// checkExtra refuses extra fields that give the entry another name, and reports whether one has sizes.
func checkExtra(name string, extra []byte) (sizes []byte, err error) {
	for len(extra) > 0 {
		if len(extra) < 4 || len(extra)-4 < int(binary.LittleEndian.Uint16(extra[2:])) {
			return nil, ambiguous("%q has a damaged extra field", name)
		}
		id, data := binary.LittleEndian.Uint16(extra), extra[4:4+int(binary.LittleEndian.Uint16(extra[2:]))]
		extra = extra[4+len(data):]
		switch {
		case id == zipExtraUnicodePath:
			return nil, ambiguous("%q has a second name in an extra field, which only some programs read", name)
		case id == zipExtra64 && sizes != nil:
			return nil, ambiguous("%q has its sizes twice", name)
		case id == zipExtra64:
			sizes = append([]byte{}, data...)
		}
	}
	return sizes, nil
}

// check holds for the directory's side alone; the directory starts at limit.
func (h *zipHeader) check(limit int64) error {
	if strings.Contains(h.name, `\`) { // one program makes folders of it, the next a file with a backslash in its name
		return refuse(CodePathBackslash, "path %q holds a backslash: the zip was made by a program of Windows that does not write names as zip files have them, with slashes", h.name).
			Hint("unpack it with that program, then: skl pack DIR -o FILE")
	}
	if p := storedName(h.name, strings.HasSuffix(h.name, "/")); p != "" && p != "." {
		if err := CheckPath(p); err != nil {
			return err
		}
	}
	last := h.name[strings.LastIndexByte(h.name, '/')+1:]
	_, version, versioned := strings.Cut(last, ";")
	if i := strings.LastIndexByte(last, ';'); i >= 0 {
		version = last[i+1:]
	}
	switch {
	case h.flags&zipEncrypted != 0:
		return refuse(CodeEncrypted, "%q is encrypted", h.name)
	case h.flags&^zipKnownFlags != 0, h.version&0xff > maxZipVersion:
		return ambiguous("%q needs a feature of zip that few programs have (flags %#x, version %d)", h.name, h.flags, h.version&0xff)
	case h.start > limit && h.start != 0xffffffff:
		return ambiguous("%q is said to be behind the directory of the archive", h.name)
	case h.usize == 0xffffffff: // or more, by a zip64 field
		return refuse(CodeTooBig, "%q announces more than %d bytes, the limit of an archive", h.name, MaxArchiveBytes)
	case h.csize == 0xffffffff, h.start == 0xffffffff, int64(h.csize) > limit-h.start:
		return refuse(CodeSize, "%q announces more bytes than the archive has", h.name)
	case versioned && strings.Trim(version, "0123456789") == "":
		return ambiguous("%q ends in a version as VMS has them, which some programs cut off", h.name)
	case !isASCII(h.name) && (h.flags&zipUTF8 == 0 || h.creator != zipUnix):
		return ambiguous("%q has a name that is not marked as UTF-8 from Unix, and which programs decode in different ways", h.name)
	}
	return h.checkMode()
}

// Systems that an entry can come from (APPNOTE 4.4.2; Info-ZIP has another number for NTFS).
// Unix, and macOS under its number, puts a mode into the upper half of the attributes; what
// others put there some programs take for a mode too.
const zipFAT, zipUnix, zipNTFS, zipInfoNTFS, zipVFAT = 0, 3, 10, 11, 14

const (
	dosVolume, dosDirectory                     = 0x08, 0x10
	unixType, unixDirectory, unixFile, unixLink = 0o170000, 0o040000, 0o100000, 0o120000
)

// checkMode refuses attributes that only some programs take for those of a directory or link.
func (h *zipHeader) checkMode() error {
	dir, mode := strings.HasSuffix(h.name, "/"), h.attributes>>16
	kind := mode & unixType
	switch h.creator {
	case zipUnix:
		if !dir && kind == unixDirectory || dir && kind != unixDirectory && mode != 0 {
			return ambiguous("%q is a directory by its name or its mode only", h.name)
		}
	case zipFAT, zipNTFS, zipInfoNTFS, zipVFAT:
		switch {
		case h.attributes&dosVolume != 0:
			return ambiguous("%q is marked as the label of a volume", h.name)
		case !dir && (h.attributes&dosDirectory != 0 || kind == unixDirectory):
			return ambiguous("%q is a directory by its attributes and not by its name", h.name)
		case kind == unixLink, dir && kind == unixFile, !dir && mode&0o111 != 0, mode&0o7000 != 0,
			kind != 0 && kind != unixFile && kind != unixDirectory:
			return ambiguous("%q has a mode of Unix and comes from another system", h.name)
		}
	default:
		return ambiguous("%q comes from a system, number %d, whose attributes few programs know", h.name, h.creator)
	}
	if dir && h.usize != 0 {
		return refuse(CodeSize, "%q is a directory and has content", h.name)
	}
	return nil
}

// checkLocal compares what stands in front of the entry, and behind it, with the directory's side.
// It returns where the entry ends.
func (h *zipHeader) checkLocal(r io.ReaderAt, limit int64) (end int64, err error) {
	var b [zipLocalSize]byte
	if _, err := r.ReadAt(b[:], h.start); err != nil {
		return 0, damaged(err)
	}
	le := binary.LittleEndian
	if string(b[:4]) != "PK\x03\x04" {
		return 0, ambiguous("%q is not where the directory of the archive says", h.name)
	}
	rest := make([]byte, int(le.Uint16(b[26:]))+int(le.Uint16(b[28:])))
	if _, err := r.ReadAt(rest, h.start+zipLocalSize); err != nil {
		return 0, damaged(err)
	}
	name, extra := rest[:le.Uint16(b[26:])], rest[le.Uint16(b[26:]):]
	switch {
	case string(name) != h.name:
		return 0, ambiguous("%q has another name, %q, in front of its data", h.name, name)
	case le.Uint16(b[6:]) != h.flags, le.Uint16(b[8:]) != h.method, le.Uint16(b[4:])&0xff > maxZipVersion:
		return 0, ambiguous("%q is packed in another way by the header in front of its data", h.name)
	}
	sizes, err := checkExtra(h.name, extra)
	if err != nil {
		return 0, err
	}
	if !h.sameSizes(le.Uint32(b[14:]), le.Uint32(b[18:]), le.Uint32(b[22:]), sizes) {
		return 0, refuse(CodeSize, "%q has two sizes or checksums: the header in front of its data differs from the directory", h.name)
	}
	body := h.start + zipLocalSize + int64(len(rest))
	end = body + int64(h.csize)
	if end > limit {
		return 0, refuse(CodeSize, "%q announces more bytes than the archive has", h.name)
	}
	if h.flags&zipDescriptor == 0 {
		return end, nil
	}
	if h.method == 0 {
		if err := h.checkStored(r, body); err != nil {
			return 0, err
		}
	}
	return h.checkDescriptor(r, end, sizes != nil)
}

// sameSizes reports whether the local header says what the directory says, or nothing where
// a descriptor may say it later. Wide is the content of its zip64 field.
func (h *zipHeader) sameSizes(crc, csize, usize uint32, wide []byte) bool {
	later := h.flags&zipDescriptor != 0
	same := func(v uint64, want uint32) bool { return v == uint64(want) || later && v == 0 }
	if csize == 0xffffffff && usize == 0xffffffff {
		if len(wide) != 16 {
			return false
		}
		le := binary.LittleEndian
		return same(uint64(crc), h.crc) && same(le.Uint64(wide), h.usize) && same(le.Uint64(wide[8:]), h.csize)
	}
	return same(uint64(crc), h.crc) && same(uint64(csize), h.csize) && same(uint64(usize), h.usize)
}

// checkDescriptor requires what stands behind the data to be what the directory says; it may be wide.
func (h *zipHeader) checkDescriptor(r io.ReaderAt, at int64, wide bool) (end int64, err error) {
	le := binary.LittleEndian
	want := le.AppendUint32([]byte("PK\x07\x08"), h.crc)
	narrow := le.AppendUint32(le.AppendUint32(want, h.csize), h.usize)
	if wide {
		narrow = le.AppendUint64(le.AppendUint64(want, uint64(h.csize)), uint64(h.usize))
	}
	got := make([]byte, len(narrow))
	if _, err := r.ReadAt(got, at); err != nil {
		return 0, damaged(err)
	}
	if !bytes.Equal(got, narrow) {
		return 0, refuse(CodeSize, "%q has two sizes or checksums: the descriptor after its data differs from the directory", h.name)
	}
	return at + int64(len(got)), nil
}

// checkStored refuses stored data in which a program that reads from the start sees the end of the entry.
func (h *zipHeader) checkStored(r io.ReaderAt, at int64) error {
	const overlap = 3
	buf := make([]byte, 32<<10)
	for left, have := int64(h.csize), 0; left > 0; {
		n := int(min(left, int64(len(buf)-have)))
		if _, err := r.ReadAt(buf[have:have+n], at); err != nil {
			return damaged(err)
		}
		if bytes.Contains(buf[:have+n], []byte("PK\x07\x08")) {
			return ambiguous("%q is stored without its size in front, and holds what marks an end", h.name)
		}
		at, left = at+int64(n), left-int64(n)
		keep := min(overlap, have+n)
		copy(buf, buf[have+n-keep:have+n])
		have = keep
	}
	return nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
