package bundle

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
)

// A planned file is what an honest writer would put into an archive.
type planned struct {
	path       string
	body       string
	executable bool
	target     string // of a link
}

// plan makes a small bundle with a SKILL.md; some paths are below a common directory.
func plan(r *rand.Rand) []planned {
	top := []string{"", "", "skill/"}[r.IntN(3)]
	out := []planned{{path: top + "SKILL.md", body: "---\nname: a\n---\n"}}
	names := []string{"a.md", "dir/b.txt", "dir/deep/c", "run.sh", "long-name-of-a-file-that-is-still-short-enough.txt", "é.md", "x y", "日本.md"}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, n := range names[:1+r.IntN(4)] {
		body := []string{"", "text\n", "evil", "a longer text that deflates well well well well well\n"}[r.IntN(4)]
		out = append(out, planned{path: top + n, body: body, executable: r.IntN(4) == 0})
	}
	if r.IntN(6) == 0 {
		out = append(out, planned{path: top + "link", target: "SKILL.md"})
	}
	return out
}

// A zipEntry is one entry with everything that its two headers say, each on its own.
type zipEntry struct {
	name, localName         string
	flags, localFlags       uint16
	method, localMethod     uint16
	crc, localCRC           uint32
	packed                  []byte
	csize, usize            uint32
	localCSize, localUSize  uint32
	extra, localExtra       []byte
	comment                 string
	creator                 byte
	attributes              uint32
	disk                    uint16
	descriptor, gap, before []byte
	shift                   int // added to the offset in the directory
	unlisted, directoryOnly bool
}

func zipEntryOf(p planned, deflate, streamed bool) *zipEntry {
	body, mode := p.body, fs.FileMode(0o100644)
	switch {
	case p.target != "":
		body, mode = p.target, 0o120777
	case p.executable:
		mode = 0o100755
	}
	e := &zipEntry{name: p.path, creator: 3, attributes: uint32(mode) << 16, packed: []byte(body),
		crc: crc32.ChecksumIEEE([]byte(body)), usize: uint32(len(body))}
	if deflate {
		e.method, e.packed = 8, deflated([]byte(body))
	}
	for i := range len(p.path) {
		if p.path[i] >= 0x80 {
			e.flags |= 0x800
		}
	}
	e.csize = uint32(len(e.packed))
	e.localName, e.localMethod, e.localCRC, e.localCSize, e.localUSize = e.name, e.method, e.crc, e.csize, e.usize
	if streamed {
		e.flags |= 8
		e.localCRC, e.localCSize, e.localUSize = 0, 0, 0
		e.descriptor = binary.LittleEndian.AppendUint32([]byte("PK\x07\x08"), e.crc)
		e.descriptor = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(e.descriptor, e.csize), e.usize)
	}
	e.localFlags = e.flags
	return e
}

// A zipPlan is a whole zip file.
type zipPlan struct {
	entries                []*zipEntry
	prefix, behind         []byte // before the first entry, behind the end record
	beforeDir, beforeEnd   []byte
	comment                string
	count, total           int // added to the counts of the end record
	dirSize, dirOffset     int // added to its sizes
	disk                   uint16
	zip64                  []byte
	absolute               bool // offsets count from the start of the file, prefix included
	reverse                bool // the directory lists the last entry first
	secondEnd, commentLies bool
}

func (z *zipPlan) bytes() []byte {
	le := binary.LittleEndian
	out := bytes.Clone(z.prefix)
	base := len(out)
	if z.absolute {
		base = 0
	}
	var dir [][]byte
	for _, e := range z.entries {
		out = append(out, e.before...)
		at := len(out) - base
		if !e.directoryOnly {
			h := []byte("PK\x03\x04")
			for _, v := range []uint16{20, e.localFlags, e.localMethod, 0, 0x21} {
				h = le.AppendUint16(h, v)
			}
			h = le.AppendUint32(le.AppendUint32(le.AppendUint32(h, e.localCRC), e.localCSize), e.localUSize)
			h = le.AppendUint16(le.AppendUint16(h, uint16(len(e.localName))), uint16(len(e.localExtra)))
			out = append(append(append(out, h...), e.localName...), e.localExtra...)
			out = append(append(append(out, e.packed...), e.descriptor...), e.gap...)
		}
		if e.unlisted {
			continue
		}
		d := append([]byte("PK\x01\x02"), 20, e.creator)
		for _, v := range []uint16{20, e.flags, e.method, 0, 0x21} {
			d = le.AppendUint16(d, v)
		}
		d = le.AppendUint32(le.AppendUint32(le.AppendUint32(d, e.crc), e.csize), e.usize)
		for _, v := range []uint16{uint16(len(e.name)), uint16(len(e.extra)), uint16(len(e.comment)), e.disk, 0} {
			d = le.AppendUint16(d, v)
		}
		d = le.AppendUint32(le.AppendUint32(d, e.attributes), uint32(at+e.shift))
		dir = append(dir, append(append(append(d, e.name...), e.extra...), e.comment...))
	}
	out = append(out, z.beforeDir...)
	start := len(out)
	for i := range dir {
		if z.reverse {
			i = len(dir) - 1 - i
		}
		out = append(out, dir[i]...)
	}
	size := len(out) - start
	out = append(append(out, z.beforeEnd...), z.zip64...)
	end := func(count, size, offset int, comment string) []byte {
		b := []byte("PK\x05\x06")
		for _, v := range []uint16{z.disk, z.disk, uint16(count + z.count), uint16(count + z.count + z.total)} {
			b = le.AppendUint16(b, v)
		}
		b = le.AppendUint32(le.AppendUint32(b, uint32(size+z.dirSize)), uint32(offset+z.dirOffset))
		n := len(comment)
		if z.commentLies {
			n /= 2
		}
		return append(le.AppendUint16(b, uint16(n)), comment...)
	}
	comment := z.comment
	if z.secondEnd {
		comment = string(end(len(dir), size, start-base, ""))
	}
	return append(append(out, end(len(dir), size, start-base, comment)...), z.behind...)
}

// extraField is one field of an extra block.
func extraField(id uint16, data []byte) []byte {
	b := binary.LittleEndian.AppendUint16(nil, id)
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(data))), data...)
}

func unicodePath(name, other string) []byte {
	data := binary.LittleEndian.AppendUint32([]byte{1}, crc32.ChecksumIEEE([]byte(name)))
	return extraField(0x7075, append(data, other...))
}

// zipMutations change an honest zip; e is one of its entries.
var zipMutations = []struct {
	name string
	do   func(r *rand.Rand, z *zipPlan, e *zipEntry)
}{
	{"local name", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.localName = "other.md" }},
	{"local name of equal length", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		e.localName = e.localName[:len(e.localName)-1] + "Z"
	}},
	{"local method", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.localMethod ^= 8 }},
	{"local flags", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.localFlags ^= 1 << r.IntN(16) }},
	{"both flags", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		bit := uint16(1) << r.IntN(16)
		e.localFlags ^= bit
		e.flags ^= bit
	}},
	{"local checksum", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.localCRC ^= 1 }},
	{"local sizes", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		e.localCSize += uint32(1 + r.IntN(3))
		e.localUSize += uint32(r.IntN(3))
	}},
	{"local sizes too small", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.localCSize, e.localUSize = 0, 0 }},
	{"size", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.usize += uint32(1 + r.IntN(3)) }},
	{"packed size", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.csize += uint32(1 + r.IntN(30)) }},
	{"checksum", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.crc, e.localCRC = 0, 0 }},
	{"bytes behind a deflated entry, inside its size", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		e.packed = append(e.packed, "more"...)
		e.csize, e.localCSize = e.csize+4, e.localCSize+4
	}},
	{"data between entries", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.gap = []byte("hidden") }},
	{"entry that the directory leaves out", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		x := zipEntryOf(planned{path: "hidden.sh", body: "evil"}, false, false)
		x.unlisted = true
		z.entries = append(z.entries, x)
	}},
	{"data before the first", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.prefix = []byte("#!/bin/sh\n") }},
	{"data before the first, absolute offsets", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		z.prefix, z.absolute = []byte("#!/bin/sh\n"), true
	}},
	{"data before the directory", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.beforeDir = []byte("hidden") }},
	{"data behind the directory", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.beforeEnd = []byte("hidden") }},
	{"data behind the end", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.behind = []byte("hidden") }},
	{"second archive behind the end", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		x := zipPlan{entries: []*zipEntry{zipEntryOf(planned{path: "SKILL.md", body: "evil"}, false, false)}}
		z.behind = x.bytes()
	}},
	{"archive as comment", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		x := zipPlan{entries: []*zipEntry{zipEntryOf(planned{path: "SKILL.md", body: "evil"}, false, false)}}
		z.comment = string(x.bytes())
	}},
	{"end record as comment", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.secondEnd = true }},
	{"comment", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.comment = "3f9c2ab1d0e4" }},
	{"comment's length", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.comment, z.commentLies = "a comment", true }},
	{"count", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.count = 1 - 2*r.IntN(2) }},
	{"total", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.total = 1 - 2*r.IntN(2) }},
	{"directory's size", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.dirSize = 1 - 2*r.IntN(2) }},
	{"directory's offset", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.dirOffset = 1 - 2*r.IntN(2) }},
	{"disks", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.disk = 1 }},
	{"entry's disk", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.disk = 1 }},
	{"entry's offset", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.shift = 1 - 2*r.IntN(2) }},
	{"directory in reverse", func(r *rand.Rand, z *zipPlan, e *zipEntry) { z.reverse = true }},
	{"entry twice", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		x := *e
		z.entries = append(z.entries, &x)
	}},
	{"entry of other case", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		z.entries = append(z.entries, zipEntryOf(planned{path: "skill.MD", body: "evil"}, false, false))
	}},
	{"directory without an entry", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.directoryOnly = true }},
	{"unicode path", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.extra = unicodePath(e.name, "other.md") }},
	{"local unicode path", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.localExtra = unicodePath(e.name, "other.md") }},
	{"unicode path, honest", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		e.extra = unicodePath(e.name, e.name)
		e.localExtra = e.extra
	}},
	{"unicode comment and times", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		e.extra = append(extraField(0x5455, []byte{1, 0, 0, 0, 0}), extraField(0x7875, []byte{1, 1, 0, 1, 0})...)
		e.localExtra = e.extra
	}},
	{"extra field cut short", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.extra = []byte{1, 0, 200, 0, 1} }},
	{"zip64 of an entry", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		e.extra = extraField(1, binary.LittleEndian.AppendUint64(nil, uint64(e.usize)))
		e.usize = 0xffffffff
	}},
	{"zip64 that nobody asks for", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		e.extra = extraField(1, binary.LittleEndian.AppendUint64(nil, uint64(e.usize)+7))
	}},
	{"zip64 of a local header", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		b := binary.LittleEndian.AppendUint64(nil, uint64(e.usize))
		e.localExtra = extraField(1, binary.LittleEndian.AppendUint64(b, uint64(e.csize)))
		e.localCSize, e.localUSize = 0xffffffff, 0xffffffff
	}},
	{"zip64 end", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		rec := make([]byte, 56+20)
		copy(rec, "PK\x06\x06")
		binary.LittleEndian.PutUint64(rec[4:], 44)
		copy(rec[56:], "PK\x06\x07")
		binary.LittleEndian.PutUint32(rec[72:], 1)
		z.zip64 = rec
	}},
	{"descriptor's checksum", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		if e.descriptor != nil {
			e.descriptor[4+r.IntN(12)] ^= 1
		}
	}},
	{"descriptor without signature", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		if e.descriptor != nil {
			e.descriptor = e.descriptor[4:]
		}
	}},
	{"no descriptor", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.descriptor = nil }},
	{"descriptor inside stored data", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		inner := zipEntryOf(planned{path: e.name, body: "ev"}, false, true)
		*e = *zipEntryOf(planned{path: e.name, body: "ev" + string(inner.descriptor) + "il"}, false, true)
	}},
	{"mixed slashes", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.name = `dir\back.md`; e.localName = e.name }},
	{"name with NUL", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.name += "\x00.md"; e.localName = e.name }},
	{"name with a version", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.name += ";1"; e.localName = e.name }},
	{"name not UTF-8", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.name += "\xff"; e.localName = e.name }},
	{"name UTF-8 without the flag", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.name += "é"; e.localName = e.name }},
	{"name with ./", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.name = "./" + e.name; e.localName = e.name }},
	{"name with ../", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.name = "../" + e.name; e.localName = e.name }},
	{"name with a slash", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.name += "/"; e.localName = e.name }},
	{"no name", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.name = ""; e.localName = "" }},
	{"directory entry", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		x := zipEntryOf(planned{path: "empty/"}, r.IntN(2) == 0, false)
		x.attributes = 0o040755<<16 | 0x10
		z.entries = append(z.entries, x)
	}},
	{"directory's mode on a file", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.attributes = 0o040755 << 16 }},
	{"link's mode on a directory", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		x := zipEntryOf(planned{path: "empty/"}, false, false)
		x.attributes = 0o120777 << 16
		z.entries = append(z.entries, x)
	}},
	{"DOS attributes", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.creator, e.attributes = 0, 1<<r.IntN(6) }},
	{"creator", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.creator = byte(r.IntN(22)) }},
	{"link by another creator", func(r *rand.Rand, z *zipPlan, e *zipEntry) {
		*e = *zipEntryOf(planned{path: e.name, target: "SKILL.md"}, false, false)
		e.creator = byte(r.IntN(22))
	}},
	{"mode", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.attributes = r.Uint32() }},
	{"entry's comment", func(r *rand.Rand, z *zipPlan, e *zipEntry) { e.comment = "PK\x01\x02" }},
}
