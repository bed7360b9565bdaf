package git

import (
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
)

// Bounds of one pack.
const (
	defaultMaxPack = 512 << 20 // bytes as sent
	maxPackObjects = 1 << 20
	maxDeltaRounds = 64 // over deltas that come before their base
)

// errPack says that a pack is damaged: truncated, not deflated, or not what its checksum says.
var errPack = errors.New("damaged pack")

// readPack reads a pack (git's pack-format, version 2) and adds its objects to
// set. It reads r once and to the end of the pack, believes no size it is told,
// and stops with errTooLarge at set's limit: deltas count with what they expand to.
// Bases that are not in the pack are an error; nobody asks for thin packs.
func readPack(r io.Reader, maxPack int64, set *objectSet) error {
	p := packReader{src: &tracked{r: r, left: maxPack, sum: sha1.New(), buf: make([]byte, 32<<10)}, set: set}
	return p.read()
}

type packReader struct {
	src     *tracked
	set     *objectSet
	inflate io.ReadCloser
	entries []packEntry // by offset, ascending; deltas that had to wait are in late
	late    map[int64]plumbing.Hash
	pending []packDelta
}

type packEntry struct {
	offset int64
	id     plumbing.Hash
}

// A packDelta waits for its base, known by id, or by offset if id is zero.
type packDelta struct {
	offset, baseOffset int64
	base               plumbing.Hash
	data               []byte
}

func (p *packReader) read() error {
	var head [12]byte
	if _, err := io.ReadFull(p.src, head[:]); err != nil {
		return damaged(err)
	}
	n := binary.BigEndian.Uint32(head[8:])
	if string(head[:4]) != "PACK" || binary.BigEndian.Uint32(head[4:]) != 2 {
		return fmt.Errorf("%w: it does not start with PACK version 2", errPack)
	}
	if n > maxPackObjects {
		return errTooLarge
	}
	for range n {
		if err := p.readObject(); err != nil {
			return damaged(err)
		}
	}
	want := p.src.digest()
	var got [sha1.Size]byte
	if _, err := io.ReadFull(p.src, got[:]); err != nil {
		return damaged(err)
	}
	if string(got[:]) != string(want) {
		return fmt.Errorf("%w: its checksum differs", errPack)
	}
	return p.resolvePending()
}

func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut off", errPack)
	}
	return err
}

func (p *packReader) readObject() error {
	offset := p.src.offset()
	kind, size, err := p.readHeader()
	if err != nil {
		return err
	}
	d := packDelta{offset: offset}
	switch kind {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	case plumbing.OFSDeltaObject:
		back, err := p.readBack()
		if err != nil {
			return err
		}
		d.baseOffset = offset - back
	case plumbing.REFDeltaObject:
		if _, err := io.ReadFull(p.src, d.base[:]); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: unknown object type %d", errPack, kind)
	}
	data, err := p.readData(size)
	if err != nil {
		return err
	}
	if !kind.IsDelta() {
		return p.add(offset, kind, data)
	}
	d.data = data
	done, err := p.resolve(d)
	if err == nil && !done {
		p.pending = append(p.pending, d)
		p.set.size += int64(len(data)) // held until its base comes
	}
	return err
}

// readHeader reads a type and a size: three bits of type, then 4 and 7 bits of size per byte.
func (p *packReader) readHeader() (plumbing.ObjectType, int64, error) {
	b, err := p.src.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	kind, size := plumbing.ObjectType(b>>4&7), int64(b&15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = p.src.ReadByte(); err != nil {
			return 0, 0, err
		}
		if shift > 55 {
			return 0, 0, errTooLarge
		}
		size |= int64(b&0x7f) << shift
	}
	return kind, size, nil
}

// readBack reads the distance to an offset delta's base.
func (p *packReader) readBack() (int64, error) {
	b, err := p.src.ReadByte()
	back := int64(b & 0x7f)
	for err == nil && b&0x80 != 0 {
		if back > 1<<48 {
			return 0, fmt.Errorf("%w: a delta's base lies before its start", errPack)
		}
		b, err = p.src.ReadByte()
		back = (back+1)<<7 | int64(b&0x7f)
	}
	return back, err
}

func (p *packReader) readData(size int64) ([]byte, error) {
	if !p.set.room(size) {
		return nil, errTooLarge
	}
	var err error
	if p.inflate == nil {
		p.inflate, err = zlib.NewReader(p.src)
	} else {
		err = p.inflate.(zlib.Resetter).Reset(p.src, nil)
	}
	if err != nil {
		return nil, p.inflateError(err)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(p.inflate, data); err != nil {
		return nil, p.inflateError(err)
	}
	// The end of the stream holds its checksum, and must be there.
	var more [1]byte
	switch n, err := p.inflate.Read(more[:]); {
	case n != 0:
		return nil, fmt.Errorf("%w: an object is longer than it says", errPack)
	case err != io.EOF:
		return nil, p.inflateError(err)
	}
	return data, nil
}

// inflateError tells an error of the connection from one of the content.
func (p *packReader) inflateError(err error) error {
	if p.src.err != nil && p.src.err != io.EOF {
		return p.src.err
	}
	return fmt.Errorf("%w: %w", errPack, err)
}

func (p *packReader) add(offset int64, kind plumbing.ObjectType, data []byte) error {
	id, err := p.set.add(kind, data)
	if err == nil {
		p.entries = append(p.entries, packEntry{offset, id})
	}
	return err
}

// resolve adds what d makes of its base, or reports that the base is not there yet.
func (p *packReader) resolve(d packDelta) (done bool, err error) {
	id := d.base
	if id.IsZero() {
		i := sort.Search(len(p.entries), func(i int) bool { return p.entries[i].offset >= d.baseOffset })
		switch late, ok := p.late[d.baseOffset]; {
		case ok:
			id = late
		case i < len(p.entries) && p.entries[i].offset == d.baseOffset:
			id = p.entries[i].id
		default:
			return false, nil
		}
	}
	base, ok := p.set.byID[id]
	if !ok {
		return false, nil
	}
	data, err := patch(base.data, d.data, p.set.room)
	if err != nil {
		return false, err
	}
	if p.late == nil {
		return true, p.add(d.offset, base.kind, data)
	}
	p.late[d.offset], err = p.set.add(base.kind, data)
	return true, err
}

// resolvePending resolves deltas that came before their base. Git writes bases
// first; other servers need not.
func (p *packReader) resolvePending() error {
	p.late = make(map[int64]plumbing.Hash)
	for round := 0; len(p.pending) > 0; round++ {
		var rest []packDelta
		for _, d := range p.pending {
			done, err := p.resolve(d)
			if err != nil {
				return err
			}
			if !done {
				rest = append(rest, d)
				continue
			}
			p.set.size -= int64(len(d.data))
		}
		if len(rest) == len(p.pending) || round > maxDeltaRounds {
			return fmt.Errorf("%w: the base of a delta is missing", errPack)
		}
		p.pending = rest
	}
	return nil
}

// patch applies a delta: the two sizes, then instructions that copy from base
// or insert. Room is asked before the result is allocated.
func patch(base, delta []byte, room func(int64) bool) ([]byte, error) {
	bad := fmt.Errorf("%w: malformed delta", errPack)
	from, n := binary.Uvarint(delta)
	if n <= 0 || from != uint64(len(base)) {
		return nil, bad
	}
	delta = delta[n:]
	size, n := binary.Uvarint(delta)
	if n <= 0 {
		return nil, bad
	}
	if size > 1<<40 || !room(int64(size)) {
		return nil, errTooLarge
	}
	delta = delta[n:]
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		piece := delta
		if op&0x80 == 0 {
			if op == 0 || int(op) > len(delta) {
				return nil, bad
			}
			piece, delta = delta[:op], delta[op:]
		} else {
			var at, length int
			var ok bool
			if at, length, delta, ok = copyRange(op, delta); !ok || at > len(base)-length {
				return nil, bad
			}
			piece = base[at : at+length]
		}
		if len(out)+len(piece) > cap(out) {
			return nil, bad
		}
		out = append(out, piece...)
	}
	if uint64(len(out)) != size {
		return nil, bad
	}
	return out, nil
}

// copyRange reads the operands of a copy instruction: up to four bytes of
// offset and three of length, present where op has a bit; length 0 means 64 KiB. An offset that is no int is not ok.
func copyRange(op byte, delta []byte) (at, length int, rest []byte, ok bool) {
	for i := range 7 {
		if op&(1<<i) == 0 {
			continue
		}
		if len(delta) == 0 {
			return 0, 0, nil, false
		}
		if i < 4 {
			at |= int(delta[0]) << (8 * i)
		} else {
			length |= int(delta[0]) << (8 * (i - 4))
		}
		delta = delta[1:]
	}
	if length == 0 {
		length = 0x10000
	}
	return at, length, delta, at >= 0
}

// tracked is a buffered reader that knows its offset and hashes what was taken
// from it. It implements io.ByteReader, so that inflating takes no byte too many.
type tracked struct {
	r        io.Reader
	left     int64 // bytes that may still be read
	sum      hash.Hash
	buf      []byte
	pos, end int   // buf[pos:end] is unread
	hashed   int   // buf[:hashed] is in sum
	before   int64 // bytes before buf[0]
	err      error // what r ended with
}

func (t *tracked) offset() int64 { return t.before + int64(t.pos) }

// digest is the hash of all bytes taken so far.
func (t *tracked) digest() []byte {
	t.sum.Write(t.buf[t.hashed:t.pos])
	t.hashed = t.pos
	return t.sum.Sum(nil)
}

func (t *tracked) fill() error {
	if t.err != nil {
		return t.err
	}
	t.sum.Write(t.buf[t.hashed:t.end])
	t.before += int64(t.end)
	t.pos, t.end, t.hashed = 0, 0, 0
	for t.end == 0 && t.err == nil {
		t.end, t.err = t.r.Read(t.buf)
	}
	if t.left -= int64(t.end); t.left < 0 {
		t.end, t.err = 0, errTooLarge
	}
	if t.end > 0 {
		return nil
	}
	return t.err
}

func (t *tracked) ReadByte() (byte, error) {
	if t.pos == t.end {
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
	b := t.buf[t.pos]
	t.pos++
	return b, nil
}

func (t *tracked) Read(b []byte) (int, error) {
	if t.pos == t.end {
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, t.buf[t.pos:t.end])
	t.pos += n
	return n, nil
}
