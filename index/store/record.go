package store

import (
	"encoding/binary"
	"fmt"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/lang"
)

// Flags of a File.
const (
	Binary  = 1 << iota // no text
	Large               // more than files.MaxFileBytes: it has no nodes
	Divided             // has symbols of several pieces
	Shared              // has nodes of several pieces
	UTF16               // Binary too: text that can be searched, but has no nodes
)

// A Hash is the first 16 bytes of the SHA-256 of a file.
type Hash [16]byte

// A File is what is known of an indexed file.
type File struct {
	ID       int64 // never used for another file, nor for another content
	Path     string
	Stamp    files.Stamp
	Hash     Hash
	Language string
	Tokens   int
	Pieces   int
	Flags    int
	Read     int64 // when, nanoseconds since 1970
}

// Row names a piece: its file and its index in the outline.
type Row int64

// RowOf returns the row of a piece.
func RowOf(file int64, piece int) Row { return Row(file<<16 | int64(piece)) }

// File returns the number of the file.
func (r Row) File() int64 { return int64(r) >> 16 }

// Piece returns the index of the piece.
func (r Row) Piece() int { return int(r & 0xffff) }

// A Record is a file to be stored.
type Record struct {
	File
	Outline chunk.Outline
	Terms   [][]byte // of each piece, distinct, with spaces between
	Grams   []byte   // see Grams
}

// appendOutline encodes nodes and pieces. Numbers are varints; starts are relative to the one before.
func appendOutline(b []byte, o *chunk.Outline) []byte {
	names := newNames()
	var body []byte
	body = binary.AppendUvarint(body, uint64(len(o.Nodes)))
	start := 0
	for i := range o.Nodes {
		n := &o.Nodes[i]
		flags := uint64(n.Type) << 2
		if n.Exported {
			flags |= 1
		}
		if n.DocEnd > n.DocStart {
			flags |= 2
		}
		body = binary.AppendUvarint(body, flags)
		body = appendRegion(body, n.Region, start)
		start = n.Start
		body = binary.AppendUvarint(body, uint64(i-n.Parent-1)) // 0 for the node before; i for none
		body = binary.AppendUvarint(body, names.number(n.Name))
		body = binary.AppendUvarint(body, names.number(n.Owner))
		body = binary.AppendUvarint(body, names.number(n.Signature))
		body = binary.AppendUvarint(body, uint64(n.Level))
		body = binary.AppendUvarint(body, uint64(n.Tokens))
		if flags&2 != 0 {
			body = binary.AppendVarint(body, int64(n.Start-n.DocStart))
			body = binary.AppendUvarint(body, uint64(n.DocEnd-n.DocStart))
		}
	}
	body = binary.AppendUvarint(body, uint64(len(o.Pieces)))
	start = 0
	for i := range o.Pieces {
		p := &o.Pieces[i]
		body = appendRegion(body, p.Region, start)
		start = p.Start
		body = binary.AppendUvarint(body, uint64(p.Node))
	}
	return append(names.append(b), body...)
}

func appendRegion(b []byte, r chunk.Region, start int) []byte {
	b = binary.AppendVarint(b, int64(r.Start-start))
	b = binary.AppendUvarint(b, uint64(r.End-r.Start))
	b = binary.AppendUvarint(b, uint64(r.FirstLine))
	return binary.AppendUvarint(b, uint64(r.LastLine-r.FirstLine))
}

// appendReferences encodes references, whose names stand in a table at the beginning, so that files without a name are passed over fast.
func appendReferences(b []byte, refs []chunk.Reference) []byte {
	names := newNames()
	var body []byte
	body = binary.AppendUvarint(body, uint64(len(refs)))
	start := 0
	for i := range refs {
		r := &refs[i]
		var kind byte
		switch r.Kind {
		case lang.Import:
			kind = 1
		case lang.TypeRef:
			kind = 2
		}
		body = append(body, kind)
		body = binary.AppendUvarint(body, names.number(r.Name))
		body = binary.AppendUvarint(body, names.number(r.Qualifier))
		body = appendRegion(body, r.Region, start)
		start = r.Start
		body = binary.AppendUvarint(body, uint64(r.Source+1))
	}
	return append(names.append(b), body...)
}

// names numbers strings; the empty one is 0.
type names struct {
	numbers map[string]uint64
	list    []string
}

func newNames() *names { return &names{numbers: make(map[string]uint64, 64)} }

func (n *names) number(s string) uint64 {
	if s == "" {
		return 0
	}
	k, ok := n.numbers[s]
	if !ok {
		n.list = append(n.list, s)
		k = uint64(len(n.list))
		n.numbers[s] = k
	}
	return k
}

func (n *names) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(n.list)))
	for _, s := range n.list {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// errBlob is a blob that no version of this program wrote.
var errBlob = fmt.Errorf("%w: a blob is damaged", errFormat)

// A decoder reads what the functions above wrote. After an error it gives zeros.
type decoder struct {
	b    []byte
	at   int // of what comes next in b
	list []string
	err  error
}

func (d *decoder) fail() {
	d.err = errBlob
	d.at = len(d.b)
}

func (d *decoder) left() int { return len(d.b) - d.at }

// take returns the next n bytes, of which there are as many.
func (d *decoder) take(n int) []byte {
	d.at += n
	return d.b[d.at-n : d.at]
}

// maxNumber bounds every number of a blob, so that it is an int on every system, and so are sums of a few.
const maxNumber = 1 << 28

func (d *decoder) uvarint() int {
	if d.at < len(d.b) && d.b[d.at] < 0x80 { // most are
		d.at++
		return int(d.b[d.at-1])
	}
	v, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 || v > maxNumber {
		d.fail()
		return 0
	}
	d.at += n
	return int(v)
}

func (d *decoder) varint() int {
	v, n := binary.Varint(d.b[d.at:])
	if n <= 0 || v > maxNumber || v < -maxNumber {
		d.fail()
		return 0
	}
	d.at += n
	return int(v)
}

// count reads a number of things that take at least one byte each.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > d.left() {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) names() {
	n := d.count()
	d.list = make([]string, 1, n+1)
	for range n {
		d.list = append(d.list, string(d.take(d.count())))
	}
}

func (d *decoder) name() string {
	k := d.uvarint()
	if k >= len(d.list) {
		d.err = errBlob
		return ""
	}
	return d.list[k]
}

func (d *decoder) region(start int) chunk.Region {
	var r chunk.Region
	r.Start = start + d.varint()
	r.End = r.Start + d.uvarint()
	r.FirstLine = d.uvarint()
	r.LastLine = r.FirstLine + d.uvarint()
	if r.Start < 0 || r.Start > maxNumber { // before it is added to once more
		d.fail()
		return chunk.Region{}
	}
	return r
}

// decodeOutline is the inverse of appendOutline: Nodes and Pieces.
func decodeOutline(b []byte) (chunk.Outline, error) {
	d := &decoder{b: b}
	d.names()
	o := chunk.Outline{Nodes: make([]chunk.Part, d.count())}
	start := 0
	for i := range o.Nodes {
		n := &o.Nodes[i]
		flags := d.uvarint()
		n.Type, n.Exported = chunk.Type(flags>>2), flags&1 != 0
		n.Region = d.region(start)
		start = n.Start
		n.Parent = i - d.uvarint() - 1
		n.Name, n.Owner, n.Signature = d.name(), d.name(), d.name()
		n.Level, n.Tokens = d.uvarint(), d.uvarint()
		if flags&2 != 0 {
			n.DocStart = n.Start - d.varint()
			n.DocEnd = n.DocStart + d.uvarint()
			if n.DocEnd == n.DocStart { // none would be written as none
				d.err = errBlob
			}
		}
		if n.Parent < -1 {
			d.err = errBlob
		}
		if d.err != nil {
			return chunk.Outline{}, d.err
		}
	}
	o.Pieces = make([]chunk.Piece, d.count())
	start = 0
	for i := range o.Pieces {
		p := &o.Pieces[i]
		p.Region = d.region(start)
		start = p.Start
		if p.Node = d.uvarint(); p.Node >= len(o.Nodes) {
			d.err = errBlob
		}
	}
	if d.err == nil && d.left() != 0 {
		d.err = errBlob
	}
	if d.err != nil {
		return chunk.Outline{}, d.err
	}
	return o, nil
}

// decodeReferences is the inverse of appendReferences. Only those that keep says are returned, by their name as it stands in the file; nil keeps all.
// Nothing is allocated for a file without them.
func decodeReferences(b []byte, keep func(name []byte) bool) ([]chunk.Reference, error) {
	d := &decoder{b: b}
	n := d.count()
	table := d.at
	found := keep == nil
	for range n {
		name := d.take(d.count())
		found = found || keep(name)
	}
	if !found || d.err != nil {
		return nil, d.err
	}
	list := make([][]byte, 1, n+1) // by number
	names := &decoder{b: b, at: table}
	for range n {
		list = append(list, names.take(names.count()))
	}
	kept := make([]bool, len(list))
	for i, s := range list {
		kept[i] = keep == nil || i > 0 && keep(s)
	}
	var refs []chunk.Reference
	start := 0
	for range d.count() {
		if d.left() == 0 {
			return nil, errBlob
		}
		kind := d.take(1)[0]
		name, qualifier := d.uvarint(), d.uvarint()
		if name >= len(list) || qualifier >= len(list) {
			return nil, errBlob
		}
		region := d.region(start)
		start = region.Start
		source := d.uvarint() - 1
		if d.err != nil {
			return nil, d.err
		}
		if !kept[name] {
			continue
		}
		r := chunk.Reference{Kind: lang.Call, Name: string(list[name]), Qualifier: string(list[qualifier]), Region: region, Source: source}
		switch kind {
		case 1:
			r.Kind = lang.Import
		case 2:
			r.Kind = lang.TypeRef
		}
		refs = append(refs, r)
	}
	return refs, nil
}
