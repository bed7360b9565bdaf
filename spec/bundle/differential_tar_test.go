package bundle

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A tarEntry is a header with its content, and the headers in front that speak of it.
type tarEntry struct {
	front   [][]byte // blocks of extended headers
	name    string
	prefix  string
	mode    string
	size    string
	kind    byte
	link    string
	magic   string // with version
	body    string
	padding byte
	edit    func(block []byte)
}

func tarEntryOf(p planned) *tarEntry {
	e := &tarEntry{name: p.path, mode: "0000644", kind: '0', magic: "ustar\x0000", body: p.body, link: p.target}
	if p.executable {
		e.mode = "0000755"
	}
	if p.target != "" {
		e.kind, e.mode = '2', "0000777"
	}
	e.size = fmt.Sprintf("%011o", len(e.body))
	return e
}

func (e *tarEntry) bytes() []byte {
	var b [512]byte
	copy(b[:100], e.name)
	copy(b[100:], e.mode)
	copy(b[108:], "0000000")
	copy(b[116:], "0000000")
	copy(b[124:136], e.size)
	copy(b[136:], "00000000000")
	b[156] = e.kind
	copy(b[157:257], e.link)
	copy(b[257:265], e.magic)
	copy(b[345:500], e.prefix)
	if e.edit != nil {
		e.edit(b[:])
	}
	mendChecksum(b[:])
	var out []byte
	for _, f := range e.front {
		out = append(out, f...)
	}
	return append(append(out, b[:]...), padded(e.body, e.padding)...)
}

func padded(body string, with byte) []byte {
	out := []byte(body)
	for len(out)%512 != 0 {
		out = append(out, with)
	}
	return out
}

// extended is a header of the kinds x, g, L and K with its content.
func extended(kind byte, body string, padding byte) []byte {
	e := tarEntryOf(planned{path: "././@LongLink", body: body})
	e.kind, e.padding = kind, padding
	if kind == 'L' || kind == 'K' {
		e.magic = "ustar  \x00"
	}
	return e.bytes()
}

// paxRecord is "LENGTH KEY=VALUE\n".
func paxRecord(key, value string) string {
	n := len(key) + len(value) + 3
	for len(fmt.Sprint(n))+len(key)+len(value)+3 != n {
		n = len(fmt.Sprint(n)) + len(key) + len(value) + 3
	}
	return fmt.Sprintf("%d %s=%s\n", n, key, value)
}

// A tarPlan is a whole tar stream.
type tarPlan struct {
	entries []*tarEntry
	end     []byte // behind the last entry
	split   int    // gzip members; 0 for no gzip
}

func (t *tarPlan) bytes() []byte {
	var out []byte
	for _, e := range t.entries {
		out = append(out, e.bytes()...)
	}
	return append(out, t.end...)
}

func pax(records ...string) []byte {
	return extended('x', strings.Join(records, ""), 0)
}

type tarMutation struct {
	name string
	do   func(r *rand.Rand, t *tarPlan, e *tarEntry)
}

// front makes a mutation that puts a header before an entry.
func front(name string, header func(r *rand.Rand, e *tarEntry) []byte) tarMutation {
	return tarMutation{name, func(r *rand.Rand, _ *tarPlan, e *tarEntry) { e.front = append(e.front, header(r, e)) }}
}

var tarMutations = []tarMutation{
	front("pax path", func(r *rand.Rand, e *tarEntry) []byte { return pax(paxRecord("path", "pax/"+e.name)) }),
	front("pax path twice", func(r *rand.Rand, e *tarEntry) []byte {
		return pax(paxRecord("path", "one.md"), paxRecord("path", "two.md"))
	}),
	front("pax path that is empty", func(r *rand.Rand, e *tarEntry) []byte { return pax(paxRecord("path", "")) }),
	front("pax path with a slash", func(r *rand.Rand, e *tarEntry) []byte { return pax(paxRecord("path", e.name+"/")) }),
	front("pax path with NUL", func(r *rand.Rand, e *tarEntry) []byte { return pax(paxRecord("path", "a\x00b")) }),
	front("pax size", func(r *rand.Rand, e *tarEntry) []byte { return pax(paxRecord("size", fmt.Sprint(r.IntN(600)))) }),
	front("pax size, honest", func(r *rand.Rand, e *tarEntry) []byte { return pax(paxRecord("size", fmt.Sprint(len(e.body)))) }),
	front("pax linkpath", func(r *rand.Rand, e *tarEntry) []byte { return pax(paxRecord("linkpath", "SKILL.md")) }),
	front("pax record with a sign", func(r *rand.Rand, e *tarEntry) []byte { return pax("+16 path=evil.md\n") }),
	front("pax record with zeros", func(r *rand.Rand, e *tarEntry) []byte { return pax("0018 path=evil.md\n") }),
	front("pax record in the padding", func(r *rand.Rand, e *tarEntry) []byte {
		b := pax(paxRecord("mtime", "1"))
		copy(b[512+len(paxRecord("mtime", "1")):], paxRecord("path", "evil.md"))
		return b
	}),
	front("pax key with a line end", func(r *rand.Rand, e *tarEntry) []byte {
		return pax(paxRecord("comment\n16 path", "evil.md"))
	}),
	front("pax value with a record", func(r *rand.Rand, e *tarEntry) []byte {
		return pax(paxRecord("comment", "x\n16 path=evil.md"))
	}),
	front("pax without a line end", func(r *rand.Rand, e *tarEntry) []byte { return pax("15 path=evil.md") }),
	front("pax harmless", func(r *rand.Rand, e *tarEntry) []byte {
		return pax(paxRecord("mtime", "1.5"), paxRecord("uid", "7"), paxRecord("comment", "x"), paxRecord("SCHILY.xattr.user.a", "b"))
	}),
	front("pax character set", func(r *rand.Rand, e *tarEntry) []byte {
		return pax(paxRecord("hdrcharset", "BINARY"), paxRecord("path", "\xe9.md"))
	}),
	front("pax sparse name", func(r *rand.Rand, e *tarEntry) []byte { return pax(paxRecord("GNU.sparse.name", "evil.md")) }),
	front("pax sparse", func(r *rand.Rand, e *tarEntry) []byte {
		return pax(paxRecord("GNU.sparse.map", "0,1"), paxRecord("GNU.sparse.size", "4"), paxRecord("GNU.sparse.numblocks", "1"))
	}),
	front("pax real size", func(r *rand.Rand, e *tarEntry) []byte { return pax(paxRecord("SCHILY.realsize", "1")) }),
	front("pax twice", func(r *rand.Rand, e *tarEntry) []byte {
		return append(pax(paxRecord("path", "one.md")), pax(paxRecord("mtime", "1"))...)
	}),
	front("old extended header", func(r *rand.Rand, e *tarEntry) []byte { return extended('X', paxRecord("path", "evil.md"), 0) }),
	front("global path", func(r *rand.Rand, e *tarEntry) []byte { return extended('g', paxRecord("path", "evil.md"), 0) }),
	front("global size", func(r *rand.Rand, e *tarEntry) []byte { return extended('g', paxRecord("size", "0"), 0) }),
	front("global linkpath", func(r *rand.Rand, e *tarEntry) []byte { return extended('g', paxRecord("linkpath", "SKILL.md"), 0) }),
	front("global comment", func(r *rand.Rand, e *tarEntry) []byte { return extended('g', paxRecord("comment", "3f9c2ab1"), 0) }),
	front("global between", func(r *rand.Rand, e *tarEntry) []byte {
		return append(pax(paxRecord("path", "evil.md")), extended('g', paxRecord("comment", "x"), 0)...)
	}),
	front("long name", func(r *rand.Rand, e *tarEntry) []byte { return extended('L', "long/"+e.name+"\x00", 0) }),
	front("long name without NUL", func(r *rand.Rand, e *tarEntry) []byte { return extended('L', "long.md", 0) }),
	front("long name into the padding", func(r *rand.Rand, e *tarEntry) []byte { return extended('L', "long.md", 'x') }),
	front("long name with two ends", func(r *rand.Rand, e *tarEntry) []byte { return extended('L', "long.md\x00evil\x00", 0) }),
	front("long name that is empty", func(r *rand.Rand, e *tarEntry) []byte { return extended('L', "\x00", 0) }),
	front("long name twice", func(r *rand.Rand, e *tarEntry) []byte {
		return append(extended('L', "one.md\x00", 0), extended('L', "two.md\x00", 0)...)
	}),
	front("long name, then pax", func(r *rand.Rand, e *tarEntry) []byte {
		return append(extended('L', "one.md\x00", 0), pax(paxRecord("path", "two.md"))...)
	}),
	front("pax, then long name", func(r *rand.Rand, e *tarEntry) []byte {
		return append(pax(paxRecord("path", "two.md")), extended('L', "one.md\x00", 0)...)
	}),
	front("long link", func(r *rand.Rand, e *tarEntry) []byte { return extended('K', "SKILL.md\x00", 0) }),
	front("label", func(r *rand.Rand, e *tarEntry) []byte { return extended('V', "", 0) }),
	front("lone zero block", func(r *rand.Rand, e *tarEntry) []byte { return make([]byte, 512) }),
	front("end in between", func(r *rand.Rand, e *tarEntry) []byte { return make([]byte, 1024) }),
	{"prefix", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.prefix = "prefix" }},
	{"prefix of a GNU header", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.prefix, e.magic = "prefix", "ustar  \x00" }},
	{"prefix of an old header", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.prefix, e.magic = "prefix", "" }},
	{"prefix of a star header", func(r *rand.Rand, t *tarPlan, e *tarEntry) {
		e.prefix = strings.Repeat("p", 20)
		e.edit = func(b []byte) { copy(b[508:], "tar\x00") }
	}},
	{"prefix with times", func(r *rand.Rand, t *tarPlan, e *tarEntry) {
		e.prefix = "prefix"
		e.edit = func(b []byte) { copy(b[476:], "00000000000 00000000000 ") }
	}},
	{"version", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.magic = "ustar\x00  " }},
	{"GNU magic", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.magic = "ustar  \x00" }},
	{"old magic", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.magic = "" }},
	{"size in base 256", func(r *rand.Rand, t *tarPlan, e *tarEntry) {
		e.size = "\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + string(rune(len(e.body)))
	}},
	{"negative size", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.size = strings.Repeat("\xff", 12) }},
	{"size with spaces", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.size = fmt.Sprintf("%10o ", len(e.body)) }},
	{"size with a NUL inside", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.size = fmt.Sprintf("%o\x000", len(e.body)) }},
	{"size with a space inside", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.size = fmt.Sprintf("%o 7", len(e.body)) }},
	{"size with a sign", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.size = fmt.Sprintf("+%o", len(e.body)) }},
	{"size with an underscore", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.size = "0_4" }},
	{"other size", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.size = fmt.Sprintf("%011o", r.IntN(1100)) }},
	{"size that is empty", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.size = "" }},
	{"mode", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.mode = fmt.Sprintf("%07o", r.IntN(1<<21)) }},
	{"mode that is empty", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.mode = "" }},
	{"mode in base 256", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.mode = "\x80\x00\x00\x00\x00\x00\x01\xed" }},
	{"kind", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.kind = byte(r.IntN(128)) }},
	{"kind of an old file", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.kind = 0 }},
	{"hard link", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.kind, e.link = '1', "SKILL.md" }},
	{"link with content", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.kind, e.link = '2', "SKILL.md" }},
	{"directory with content", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.kind = '5' }},
	{"directory", func(r *rand.Rand, t *tarPlan, e *tarEntry) {
		x := tarEntryOf(planned{path: "empty/"})
		x.kind, x.mode = '5', "0000755"
		t.entries = append(t.entries, x)
	}},
	{"old directory", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.name += "/"; e.kind = 0 }},
	{"file with a slash", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.name += "/" }},
	{"name with a NUL inside", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.name += "\x00evil" }},
	{"name with ./", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.name = "./" + e.name }},
	{"mixed slashes", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.name = `dir\back.md` }},
	{"name not UTF-8", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.name += "\xff" }},
	{"no name", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.name = "" }},
	{"entry twice", func(r *rand.Rand, t *tarPlan, e *tarEntry) { x := *e; t.entries = append(t.entries, &x) }},
	{"entry of other case", func(r *rand.Rand, t *tarPlan, e *tarEntry) {
		t.entries = append(t.entries, tarEntryOf(planned{path: "skill.MD", body: "evil"}))
	}},
	{"padding", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.padding = 'x' }},
	{"checksum of spaces", func(r *rand.Rand, t *tarPlan, e *tarEntry) { e.edit = func(b []byte) { b[500] = 0xff } }},
	{"no end", func(r *rand.Rand, t *tarPlan, e *tarEntry) { t.end = nil }},
	{"half an end", func(r *rand.Rand, t *tarPlan, e *tarEntry) { t.end = make([]byte, 512) }},
	{"long end", func(r *rand.Rand, t *tarPlan, e *tarEntry) { t.end = make([]byte, 10240) }},
	{"end that is no block", func(r *rand.Rand, t *tarPlan, e *tarEntry) { t.end = make([]byte, 700) }},
	{"header without an entry", func(r *rand.Rand, t *tarPlan, e *tarEntry) {
		t.end = append(pax(paxRecord("path", "evil.md")), t.end...)
	}},
	{"second archive", func(r *rand.Rand, t *tarPlan, e *tarEntry) {
		t.end = append(t.end, tarEntryOf(planned{path: "evil.md", body: "evil"}).bytes()...)
	}},
	{"data behind the end", func(r *rand.Rand, t *tarPlan, e *tarEntry) { t.end = append(t.end, "hidden"...) }},
	{"gzip members", func(r *rand.Rand, t *tarPlan, e *tarEntry) { t.split = 2 + r.IntN(3) }},
}
