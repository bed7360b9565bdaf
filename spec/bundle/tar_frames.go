package bundle

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An entry of a tar may have headers in front that change its name, size or kind, of two
// families (pax, GNU) that programs combine in different ways. So while a tar is read,
// its blocks are looked at a second time, and what leaves a choice is refused.

// maxTarMeta bounds one extended header, in bytes.
const maxTarMeta = 1 << 20

// frames splits a tar stream into headers and content, on its own: sizes are those of the
// headers alone, which is what extended headers must agree with.
type frames struct {
	block   [512]byte
	have    int   // bytes of block
	skip    int64 // bytes of content and padding
	meta    []byte
	left    int64 // bytes of meta that are still to come, padding included
	kind    byte  // of meta
	metaLen int
	ended   bool // at the end, or at an entry that is refused anyhow

	pending pendingMeta
}

// pendingMeta is what stands in front of the next entry.
type pendingMeta struct {
	pax, name, link bool
	size            int64 // of pax, -1 for none
	slash           bool  // a name that ends in a slash
}

// feed takes the next bytes of the stream.
func (f *frames) feed(p []byte) error {
	for len(p) > 0 && !f.ended {
		switch {
		case f.left > 0:
			n := min(int64(len(p)), f.left)
			f.meta = append(f.meta, p[:n]...)
			p, f.left = p[n:], f.left-n
			if f.left == 0 {
				if err := f.takeMeta(); err != nil {
					return err
				}
			}
		case f.skip > 0:
			n := min(int64(len(p)), f.skip)
			p, f.skip = p[n:], f.skip-n
		default:
			n := copy(f.block[f.have:], p)
			p, f.have = p[n:], f.have+n
			if f.have == len(f.block) {
				f.have = 0
				if err := f.header(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// header looks at a complete header block.
func (f *frames) header() error {
	b := f.block[:]
	if isZero(b) {
		f.ended = true
		if f.pending != (pendingMeta{}) {
			return ambiguous("the archive has an extended header at its end, with no entry behind it")
		}
		return nil
	}
	name, _, _ := strings.Cut(string(b[:100]), "\x00")
	size, kind := storedSize(b), b[156]
	switch {
	case size < 0:
		return refuse(CodeSize, "%q has a size that is not an octal number", name)
	case string(b[257:263]) != "ustar\x00" && !isZero(b[345:500]), string(b[508:512]) == "tar\x00":
		return ambiguous("%q has a header of which some programs take a part for its directory", name)
	}
	switch kind {
	case 'x', 'g', 'L', 'K':
		if size > maxTarMeta {
			return refuse(CodeTooBig, "%q has an extended header of more than %d bytes", name, maxTarMeta)
		}
		f.kind, f.metaLen, f.meta = kind, int(size), f.meta[:0]
		f.left = blocks(size)
		if size == 0 {
			return f.takeMeta()
		}
		return nil
	case 0, '0', '1', '2', '5':
		return f.entry(name, kind, size)
	}
	f.ended = true // refused by its kind
	return nil
}

// entry looks at the header of a file, link or directory.
func (f *frames) entry(name string, kind byte, size int64) error {
	p := f.pending
	f.pending = pendingMeta{}
	slash := strings.HasSuffix(name, "/")
	switch {
	case kind == 0 && (p.slash || slash) && (size > 0 || p.slash != slash && (p.pax || p.name)):
		return ambiguous("%q is a directory for some programs and a file for others", name)
	case p.pax && p.size >= 0 && p.size != size:
		return refuse(CodeSize, "%q has two sizes: its header and its extended header differ", name)
	case kind == 0 || kind == '0':
		f.skip = blocks(size)
	case size > 0:
		return refuse(CodeSize, "%q is a link or directory and has content", name)
	}
	return nil
}

// takeMeta looks at a complete extended header.
func (f *frames) takeMeta() error {
	body, padding := f.meta[:f.metaLen], f.meta[f.metaLen:]
	if !isZero(padding) {
		return ambiguous("the archive has an extended header that goes on behind its end")
	}
	switch f.kind {
	case 'L', 'K':
		return f.takeLong(body)
	case 'g':
		if f.pending != (pendingMeta{}) {
			return ambiguous("the archive has a global header between an extended header and its entry")
		}
	case 'x':
		if f.pending != (pendingMeta{}) {
			return ambiguous("the archive has two extended headers in front of one entry")
		}
		f.pending = pendingMeta{pax: true, size: -1}
	}
	for len(body) > 0 {
		key, value, rest, ok := paxRecordOf(body)
		if !ok {
			return ambiguous("the archive has a damaged extended header")
		}
		body = rest
		if err := f.record(key, value); err != nil {
			return err
		}
	}
	return nil
}

// takeLong looks at GNU's header for a long name or link.
func (f *frames) takeLong(body []byte) error {
	text := strings.TrimSuffix(string(body), "\x00")
	p := &f.pending
	switch {
	case text == "" || strings.Contains(text, "\x00"):
		return ambiguous("the archive has a long name that ends in two places, or is empty")
	case p.pax, p.name && f.kind == 'L', p.link && f.kind == 'K':
		return ambiguous("the archive has two extended headers in front of one entry, the second for %q", text)
	}
	if f.kind == 'L' {
		p.name, p.slash = true, strings.HasSuffix(text, "/")
	} else {
		p.link = true
	}
	return nil
}

// record looks at one record of a pax header.
func (f *frames) record(key, value string) error {
	switch {
	case strings.HasPrefix(key, "GNU.sparse."):
		return refuse(CodeIrregular, "the archive has a sparse file (%s)", key)
	case key == "path", key == "linkpath", key == "size":
		if f.kind == 'g' {
			return ambiguous("the archive has a global header with the %s of all entries", key)
		}
		if value == "" {
			return ambiguous("the archive has an extended header with an empty %s", key)
		}
	case strings.HasPrefix(key, "GNU."), strings.HasPrefix(key, "SCHILY.realsize"), strings.HasPrefix(key, "SCHILY.filetype"),
		!strings.Contains(key, ".") && !strings.Contains(" mtime atime ctime uid gid uname gname comment ", " "+key+" "):
		return ambiguous("the archive has an extended header with %q, which few programs know", key)
	}
	switch key {
	case "path":
		f.pending.slash = strings.HasSuffix(value, "/")
	case "size":
		n, err := strconv.ParseUint(value, 10, 62)
		if err != nil || strconv.FormatUint(n, 10) != value && strings.Trim(value, "0123456789") != "" {
			return refuse(CodeSize, "the archive has an extended header with the size %q", value)
		}
		if f.pending.size >= 0 && f.pending.size != int64(n) {
			return refuse(CodeSize, "the archive has an extended header with two sizes")
		}
		f.pending.size = int64(n)
	}
	return nil
}

// paxRecordOf splits off the first record, "LENGTH KEY=VALUE\n", LENGTH in decimal digits.
func paxRecordOf(body []byte) (key, value string, rest []byte, ok bool) {
	digits, _, ok := bytes.Cut(body, []byte(" "))
	if !ok || len(digits) == 0 || len(digits) > 9 || len(bytes.Trim(digits, "0123456789")) > 0 {
		return "", "", nil, false
	}
	n, err := strconv.Atoi(string(digits))
	if err != nil || n > len(body) || n < len(digits)+len(" k=\n") || body[n-1] != '\n' {
		return "", "", nil, false
	}
	key, value, ok = strings.Cut(string(body[len(digits)+1:n-1]), "=")
	if key == "" || !utf8.ValidString(key) || strings.IndexFunc(key, unicode.IsControl) >= 0 {
		return "", "", nil, false
	}
	return key, value, body[n:], ok
}

// blocks is size rounded up to whole blocks.
func blocks(size int64) int64 { return (size + 511) &^ 511 }

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
