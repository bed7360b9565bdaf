package index

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"sort"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/internal/bounded"
	"github.com/skl-project/skl/index/store"
)

// Some files have text, but are not divided when they are indexed: those over files.MaxFileBytes, and those in UTF-16. Literals and
// regular expressions are found in them by reading them, and what is found is a block. Blocks follow from the bytes of the file alone,
// so that a handle can be expanded by whoever divides the file again.

const (
	window     = 1 << 20  // bytes that are searched at once
	maxLine    = 32 << 20 // of a line that is searched as one; a longer one is cut
	blockBytes = 4 << 10  // of a block, about
	maxBlocks  = 1 << 16  // of a file: a larger one has larger blocks
	keptBlocks = 1 << 16  // in memory, of all files
)

func undivided(f *store.File) bool { return f.Flags&(store.Large|store.UTF16) != 0 }

// blocks are the parts of such a file, in order and without gaps.
type blocks struct {
	outline chunk.Outline // spans are of the file's bytes; tokens are not counted
	at      []int         // where each begins in the text, which is UTF-8
	stamp   files.Stamp
}

// holding returns the block that a place in the text lies in.
func (b *blocks) holding(at int) int { return sort.SearchInts(b.at, at+1) - 1 }

// divided are the blocks of the files that were looked at lately, by their paths.
type divided struct{ *bounded.Map[string, *blocks] }

func newDivided() divided { return divided{bounded.New[string, *blocks](keptBlocks)} }

// of returns the blocks of a file, as long as it has a stamp.
func (d divided) of(root, path string, stamp files.Stamp) (b *blocks, ok bool) {
	if b, ok := d.Get(path); ok && b.stamp == stamp {
		return b, true
	}
	b = &blocks{stamp: stamp}
	begin := time.Now()
	read, err := reading(root, path, func(f *os.File, now files.Stamp) (err error) {
		if now == stamp {
			b.outline.Nodes, b.at, err = divide(f, int(stamp.Size))
		}
		return err
	})
	if err != nil || read != stamp {
		return nil, false
	}
	if settled(stamp, begin.UnixNano()) { // else an edit in this moment would leave the stamp as it is
		d.Keep(path, b, len(b.at))
	}
	return b, true
}

// divide cuts a file of a number of bytes into blocks: the first line end in each part of blockBytes ends one, or else the end of that part.
// A binary file has none.
func divide(r io.Reader, size int) (nodes []chunk.Part, at []int, err error) {
	text, wide, err := textOf(r)
	if err != nil || text == nil {
		return nil, nil, err
	}
	cell := blockBytes
	for cell < size/maxBlocks {
		cell *= 2
	}
	buf := make([]byte, cell)
	begin := place{wide: wide, line: 1} // of the block that is not ended yet
	end := begin
	cut := func() {
		if end.at > begin.at {
			last := end.line
			if end.newline {
				last--
			}
			nodes = append(nodes, chunk.Part{Type: chunk.Chunk, Parent: -1, Region: chunk.Region{Start: begin.raw(), End: end.raw(), FirstLine: begin.line, LastLine: last}})
			at = append(at, begin.at)
		}
		begin = end
	}
	for {
		n, err := io.ReadFull(text, buf)
		if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
			return nil, nil, err
		}
		if end.at > 0 { // the first part ends none
			head := bytes.IndexByte(buf[:n], '\n') + 1
			for ; head < min(n, utf8.UTFMax-1) && !utf8.RuneStart(buf[head]); head++ {
			}
			end.pass(buf[:head])
			cut()
			end.pass(buf[head:n])
		} else {
			end.pass(buf[:n])
		}
		if err != nil {
			cut()
			if len(nodes) > 0 {
				nodes[len(nodes)-1].End = size // half a character of UTF-16 included
			}
			return nodes, at, nil
		}
	}
}

// A place in a text.
type place struct {
	at      int // in bytes of UTF-8
	wide    bool
	units   int // of UTF-16 before it, if it is wide
	line    int
	newline bool // stands before it
}

func (p *place) pass(text []byte) {
	if len(text) == 0 {
		return
	}
	p.at += len(text)
	p.line += bytes.Count(text, []byte{'\n'})
	p.newline = text[len(text)-1] == '\n'
	for i := 0; p.wide && i < len(text); i++ {
		if utf8.RuneStart(text[i]) {
			p.units++
		}
		if text[i] >= 0xf0 { // in UTF-16, two
			p.units++
		}
	}
}

// raw returns where it is in the file.
func (p *place) raw() int {
	switch {
	case !p.wide:
		return p.at
	case p.at == 0:
		return 0
	}
	return markBytes + 2*p.units
}

// markBytes is the length of the mark that a file in UTF-16 begins with.
const markBytes = 2

// textOf returns the text of a file in UTF-8, nil if it is binary. It may also be in UTF-16, which is wide.
func textOf(r io.Reader) (text io.Reader, wide bool, err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(chunk.BinaryHead)
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	if chunk.IsUTF16(head) {
		return unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(b), true, nil
	}
	if chunk.IsBinary(head) {
		return nil, false, nil
	}
	return b, false, nil
}

// scanUndivided searches those that are stored, but for the paths of old, those that were read for this answer, and the given ones of pending.
func (s *search) scanUndivided(ctx context.Context, old map[string]bool, pending []files.File, find finder, carry int) ([]hit, error) {
	list := keep(s.v.Files(), func(f *store.File) bool { return undivided(f) && !old[f.Path] })
	for _, f := range pending {
		if l := s.place(f); s.local[l.ID] == nil {
			list = append(list, l)
		}
	}
	for _, l := range s.local {
		if undivided(&l.record.File) {
			list = append(list, s.locals[l.record.Path])
		}
	}
	list = keep(list, func(f *store.File) bool { return s.matters(f.Path) })
	seen := make([]sighted, len(list))
	if err := parallel(ctx, len(list), func(i int) { seen[i] = s.sight(ctx, list[i], find, carry) }); err != nil {
		return nil, err
	}
	var hits []hit
	for i, f := range list {
		before := s.blocks[f.ID] // by another part of the expression
		switch {
		case before != nil && seen[i].stamp != before.stamp || f.ID >= 0 && seen[i].stamp != f.Stamp:
			s.stale[f.Path] = f
			continue
		case f.ID < 0:
			f.Stamp = seen[i].stamp
		}
		if seen[i].blocks != nil {
			s.blocks[f.ID] = seen[i].blocks
			hits = append(hits, seen[i].hits...)
		}
	}
	return hits, nil
}

// A sighted is what was found in such a file. One that could not be read has a zero stamp, and one without a match no blocks.
type sighted struct {
	hits   []hit
	blocks *blocks
	stamp  files.Stamp
}

func (s *search) sight(ctx context.Context, f *store.File, find finder, carry int) (out sighted) {
	var b *blocks
	var hits []hit
	again := 0 // matches of the last hit besides the first
	weight := weighPath(f.Path)
	stamp, err := reading(s.x.root, f.Path, func(file *os.File, stamp files.Stamp) error {
		return matchesIn(ctx, file, find, carry, func(at, line int) bool {
			if b == nil {
				var ok bool
				if b, ok = s.x.divided.of(s.x.root, f.Path, stamp); !ok {
					return false
				}
			}
			node := b.holding(at)
			if n := len(hits); n > 0 && hits[n-1].node == node {
				if again++; again <= moreMatches {
					hits[n-1].base += perMatch
				}
				return true
			}
			again = 0
			hits = append(hits, hit{file: f, node: node, line: line, base: weight})
			return true
		})
	})
	if err != nil {
		return sighted{}
	}
	return sighted{hits, b, stamp}
}

// matchesIn calls yield with the place and the line of each match in a file, one of a line, until it returns false. The file is searched in
// parts of whole lines. carry is how many bytes more than those of a line a match may take, fewer than query.MaxText.
func matchesIn(ctx context.Context, r io.Reader, find finder, carry int, yield func(at, line int) bool) error {
	text, _, err := textOf(r)
	if err != nil || text == nil {
		return err
	}
	buf := make([]byte, window)
	n, before, lines, searched := 0, 0, 0, 0 // bytes in buf; of the text before it, and its lines; what of buf was searched
	for more := true; more; {
		m, err := io.ReadFull(text, buf[n:])
		n += m
		end := err == io.ErrUnexpectedEOF || err == io.EOF
		if err != nil && !end {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		cut := n
		if !end {
			cut = bytes.LastIndexByte(buf[:n], '\n') + 1
			if cut <= searched && n < maxLine { // a line of this length needs more room
				buf = append(buf, make([]byte, len(buf))...)
				continue
			}
			if cut <= searched {
				cut = n
			}
		}
		line, counted := lines+1, 0
		find(buf[:cut], func(at, to int) {
			if !more || searched > 0 && to <= searched { // which was found before
				return
			}
			line += bytes.Count(buf[counted:at], []byte{'\n'})
			counted = at
			more = yield(before+at, line)
		})
		if end {
			break
		}
		next := max(0, cut-carry)
		lines += bytes.Count(buf[:next], []byte{'\n'})
		before += next
		n = copy(buf, buf[next:n])
		searched = cut - next
	}
	return nil
}

// shown returns the text of a part of a file, in UTF-8, as it was when the file was read. A file that is not the same now is remembered as stale.
func (s *search) shown(f *store.File, p chunk.Part) (text []byte, ok bool) {
	b := s.blocks[f.ID]
	if b == nil {
		text, ok = s.text(f)
		if !ok || p.Start < 0 || p.Start > p.End || p.End > len(text) {
			return nil, false
		}
		return text[p.Start:p.End], true
	}
	text = make([]byte, p.End-p.Start)
	stamp, err := reading(s.x.root, f.Path, func(file *os.File, _ files.Stamp) error {
		mark := make([]byte, markBytes)
		if _, err := file.ReadAt(mark, 0); err != nil && err != io.EOF {
			return err
		}
		if _, err := file.ReadAt(text, int64(p.Start)); err != nil || !chunk.IsUTF16(mark) {
			return err
		}
		if p.Start > 0 {
			text = append(mark, text...)
		}
		var err error
		text, err = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(text)
		return err
	})
	if err != nil || stamp != b.stamp {
		s.stale[f.Path] = f
		return nil, false
	}
	return text, true
}
