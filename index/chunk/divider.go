package chunk

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// A role says what becomes of the text of a block.
type role uint8

const (
	atom      role = iota // belongs to the piece around it; it is cut only if it is too long for one
	own                   // is a piece
	container             // what stands between the blocks in it is shown as it, or as chunks of it
)

// A block is a node while a file is divided. Blocks are in the order of their starts, outer ones first.
type block struct {
	part     Part
	from, to int  // its text, with comments and decorators that belong to it
	next     int  // index of the first block that does not lie in it
	role     role //
	gaps     bool // of a container: small gaps are shown as the block itself
}

// A divider makes an Outline. Front ends (code, markdown) fill blocks; cover cuts the text along them.
type divider struct {
	src    []byte
	lines  lines
	blocks []block
	refs   []Reference // Source is an index of blocks

	chunks  []Part  // nodes that cover adds; Parent is an index of blocks or -1
	pieces  []Piece // Node is an index of blocks, or the complement of one of chunks
	pending int     // start of text that waits for the next piece, -1 for none
	coarse  bool    // containers that are not too long are one piece
	near    int     // the line of the last piece
}

// nest sets next and Parent of all blocks, and cuts those that reach out of the block they start in.
func (d *divider) nest() {
	var open []int
	pop := func(next int) {
		d.blocks[open[len(open)-1]].next = next
		open = open[:len(open)-1]
	}
	for i := range d.blocks {
		b := &d.blocks[i]
		for len(open) > 0 && d.blocks[open[len(open)-1]].part.End <= b.part.Start {
			pop(i)
		}
		b.part.Parent = -1
		if len(open) > 0 {
			p := &d.blocks[open[len(open)-1]]
			b.part.Parent = open[len(open)-1]
			if b.part.End > p.part.End {
				b.part.Region = d.lines.region(b.part.Start, p.part.End, b.part.FirstLine-1)
			}
		}
		open = append(open, i)
	}
	for len(open) > 0 {
		pop(len(d.blocks))
	}
}

// twins says whether blocks i and k have one span and type, as those of "var a, b".
func (d *divider) twins(i, k int) bool {
	x, y := &d.blocks[i].part, &d.blocks[k].part
	return x.Start == y.Start && x.End == y.End && x.Type == y.Type
}

// cover makes the pieces. A file that would get very many small ones is divided again, coarsely.
func (d *divider) cover() {
	d.divide()
	if n := len(d.pieces); n > softPieces && n > len(d.src)/softBytes {
		d.coarse = true
		d.divide()
		d.gather()
	}
	if n := len(d.pieces); n > MaxPieces {
		group := (n + MaxPieces - 1) / MaxPieces
		kept := d.pieces[:0]
		for i := 0; i < n; i += group {
			p := d.pieces[i]
			p.Region.End, p.LastLine = d.pieces[min(i+group, n)-1].End, d.pieces[min(i+group, n)-1].LastLine
			kept = append(kept, p)
		}
		d.pieces = kept
	}
}

func (d *divider) divide() {
	if d.pieces == nil {
		d.pieces = make([]Piece, 0, min(len(d.blocks), len(d.src)/softBytes)+4)
	}
	d.chunks, d.pieces, d.pending, d.near = d.chunks[:0], d.pieces[:0], -1, 0
	d.inside(-1, 0, len(d.src), 0, len(d.blocks))
	if d.pending >= 0 {
		d.piece(d.pending, len(d.src), ^d.chunk(-1, d.pending, len(d.src)))
	}
}

// inside covers the bytes from to to of a block (-1 for the file), which holds the blocks first to end.
func (d *divider) inside(owner, from, to, first, end int) {
	gap := first
	for k := first; k < end; {
		b := &d.blocks[k]
		if b.role == atom && !d.large(b.from, b.to) {
			k = b.next
			continue
		}
		d.gap(owner, from, b.from, gap, k)
		if d.large(b.from, b.to) || b.role == container && !d.coarse {
			last := k
			for last+1 < b.next && d.twins(k, last+1) {
				last++
			}
			d.inside(k, b.from, b.to, last+1, b.next)
		} else {
			d.piece(b.from, b.to, k)
		}
		from, gap, k = max(from, b.to), b.next, b.next
	}
	d.gap(owner, from, to, gap, end)
}

func (d *divider) large(from, to int) bool {
	if to-from > maxBytes {
		return true
	}
	return to-from > maxLines && bytes.Count(d.src[from:to], []byte{'\n'}) > maxLines
}

// gap covers the bytes from to to of the block owner, in which there are only the small atoms of blocks first to end.
func (d *divider) gap(owner, from, to, first, end int) {
	from, to = d.trim(from, to)
	if from >= to {
		return
	}
	if to-from <= maxMarks && !hasWord(d.src[from:to]) {
		if n := len(d.pieces); n > 0 {
			d.pieces[n-1].Region = d.lines.region(d.pieces[n-1].Start, to, d.near)
		} else if d.pending < 0 {
			d.pending = from
		}
		return
	}
	if owner >= 0 && !d.large(from, to) {
		if b := &d.blocks[owner]; b.gaps && from < b.part.End && b.part.Start < to {
			d.piece(from, to, owner)
			return
		}
	}
	for from < to {
		candidate := first
		var cut int
		cut, first = d.cut(from, to, first, end)
		if start, stop := d.trim(from, cut); start < stop {
			d.piece(start, stop, d.shown(owner, start, stop, candidate, end))
		}
		from = cut
	}
}

// maxMarks is the length of text without a letter, such as a closing bracket, that is added to a piece beside it.
const maxMarks = 80

// hasWord says whether b has more than punctuation.
func hasWord(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 || '0' <= c && c <= '9' || 'A' <= c&^0x20 && c&^0x20 <= 'Z' {
			return true
		}
	}
	return false
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// trim leaves out white space at both ends, but for what the first line is indented by.
func (d *divider) trim(from, to int) (int, int) {
	for to > from && isSpace(d.src[to-1]) {
		to--
	}
	start := from
	for from < to && isSpace(d.src[from]) {
		if from++; d.src[from-1] == '\n' {
			start = from
		}
	}
	if start < from && (start > 0 && d.src[start-1] != '\n') {
		start = from // not a whole line
	}
	return min(start, from), to
}

// cut returns where the chunk that starts at from ends: behind at most gapLines lines and maxBytes, at a blank line
// if there is one in the later part, and not inside of an atom. first is the first block that may lie behind from;
// the result has the same for the next chunk.
func (d *divider) cut(from, to, first, end int) (int, int) {
	line := d.lines.at(from, d.near)
	lines, size := gapLines, maxBytes
	if most := MaxPieces / 4; d.lines.count > lines*most || len(d.src) > size*most {
		lines, size = max(lines, d.lines.count/most), max(size, len(d.src)/most)
	}
	begin, best, bestFirst, grade := first, -1, first, 0
	for n := 1; n <= lines+lines/5 || best < 0; n++ {
		p := d.lines.start(line + n)
		if p >= to && to-from <= size {
			return to, end
		}
		if p-from > size {
			break
		}
		for first < end && d.blocks[first].to <= p {
			first = d.blocks[first].next
		}
		if first < end && d.blocks[first].from < p || best >= 0 && n > lines {
			continue
		}
		g := 1
		if n > lines/3 && d.blank(line+n-1) {
			if c := d.src[p]; !isSpace(c) && c != ')' && c != '}' && c != ']' {
				g = 3 // what starts here is at the margin
			} else if n > lines/2 {
				g = 2
			}
		}
		if g >= grade {
			best, bestFirst, grade = p, first, g
		}
	}
	if best > from {
		return best, bestFirst
	}
	return d.cutLine(from, to, size, begin, end)
}

// blank says whether a line, counted from 0, has only white space.
func (d *divider) blank(line int) bool {
	for _, c := range d.src[d.lines.start(line):d.lines.start(line+1)] {
		if !isSpace(c) {
			return false
		}
	}
	return true
}

// cutLine cuts within a line of more than size bytes, or behind an atom that is as long.
func (d *divider) cutLine(from, to, size, first, end int) (int, int) {
	p := min(from+size, to)
	for first < end && d.blocks[first].to <= p {
		first = d.blocks[first].next
	}
	if p == to {
		return to, end
	}
	if first < end && d.blocks[first].from < p {
		if b := &d.blocks[first]; b.from > from {
			return b.from, first
		} else {
			return min(b.to, to), b.next
		}
	}
	for i := 1; i < utf8.UTFMax && p-i > from; i++ {
		if utf8.RuneStart(d.src[p-i+1]) {
			p -= i - 1
			break
		}
	}
	return p, first
}

// piece adds a piece; node is an index of blocks or the complement of one of chunks.
func (d *divider) piece(from, to, node int) {
	from, to = d.trim(from, to)
	if d.pending >= 0 {
		from, d.pending = d.pending, -1
	}
	r := d.lines.region(from, to, d.near)
	d.near = r.FirstLine - 1
	d.pieces = append(d.pieces, Piece{Region: r, Node: node})
}

// shown returns the node that the bytes from to to of owner are shown as: a node that is there if it has just these,
// else a new chunk. If an atom has them, it is block first.
func (d *divider) shown(owner, from, to, first, end int) int {
	if owner >= 0 {
		if b := &d.blocks[owner].part; from <= b.Start && b.End <= to {
			return owner
		}
	}
	if first < end {
		if start, stop := d.trim(d.blocks[first].from, d.blocks[first].to); start == from && stop == to {
			return first
		}
	}
	return ^d.chunk(owner, from, to)
}

// chunk adds a node and returns its index in chunks.
func (d *divider) chunk(owner, from, to int) int {
	p := Part{Type: Chunk, Parent: owner}
	for p.Parent >= 0 {
		b := &d.blocks[p.Parent].part
		p.Owner = cmp.Or(p.Owner, b.Name)
		if from < b.End && b.Start < to {
			from, to = max(from, b.Start), min(to, b.End)
			break
		}
		p.Parent = b.Parent // all of it is the doc comment
	}
	p.Region = d.lines.region(from, to, d.near)
	d.chunks = append(d.chunks, p)
	return len(d.chunks) - 1
}

// gather makes one chunk of neighbours that are small and lie in the same block.
func (d *divider) gather() {
	parent := func(p Piece) int {
		switch {
		case p.Node < 0:
			return d.chunks[^p.Node].Parent
		case p.Start <= d.blocks[p.Node].part.Start && d.blocks[p.Node].part.End <= p.End:
			return d.blocks[p.Node].part.Parent
		}
		return -2 // it shows only a part of its node
	}
	kept := make([]Piece, 0, len(d.pieces)/8)
	dead := make([]bool, len(d.chunks))
	for i := 0; i < len(d.pieces); {
		first := d.pieces[i]
		owner, k := parent(first), i+1
		for k < len(d.pieces) && owner > -2 && parent(d.pieces[k]) == owner &&
			d.pieces[k].LastLine-first.FirstLine < gapLines && d.pieces[k].End-first.Start <= maxBytes {
			k++
		}
		if k > i+1 {
			for _, p := range d.pieces[i:k] {
				if p.Node < 0 {
					dead[^p.Node] = true
				}
			}
			first.End, first.LastLine = d.pieces[k-1].End, d.pieces[k-1].LastLine
			d.near = first.FirstLine - 1
			first.Node = ^d.chunk(owner, first.Start, first.End)
		}
		kept = append(kept, first)
		i = k
	}
	for i, gone := range dead {
		if gone {
			d.chunks[i].End = d.chunks[i].Start
		}
	}
	d.pieces = kept
}

// finish puts blocks and chunks in one order and writes them to o.
func (d *divider) finish(o *Outline) {
	order := make([]int, 0, len(d.chunks))
	for i := range d.chunks {
		if d.chunks[i].End > d.chunks[i].Start {
			order = append(order, i)
		}
	}
	byStart := func(x, y int) int {
		return cmp.Or(cmp.Compare(d.chunks[x].Start, d.chunks[y].Start), cmp.Compare(d.chunks[y].End, d.chunks[x].End))
	}
	if !slices.IsSortedFunc(order, byStart) {
		slices.SortFunc(order, byStart)
	}
	nodes := make([]Part, 0, len(d.blocks)+len(order))
	ofBlock, ofChunk := make([]int32, len(d.blocks)), make([]int32, len(d.chunks))
	var open []int
	add := func(p Part) int32 {
		for len(open) > 0 && nodes[open[len(open)-1]].End <= p.Start {
			open = open[:len(open)-1]
		}
		if p.Parent = -1; len(open) > 0 {
			p.Parent = open[len(open)-1]
			if twin := &nodes[p.Parent]; twin.Start == p.Start && twin.End == p.End && twin.Type == p.Type {
				p.Parent = twin.Parent
				open = open[:len(open)-1]
			}
		}
		open = append(open, len(nodes))
		nodes = append(nodes, p)
		return int32(len(nodes) - 1)
	}
	k := 0
	for i := range d.blocks {
		b := &d.blocks[i].part
		for k < len(order) && before(&d.chunks[order[k]], b, i) {
			ofChunk[order[k]] = add(d.chunks[order[k]])
			k++
		}
		ofBlock[i] = add(*b)
	}
	for ; k < len(order); k++ {
		ofChunk[order[k]] = add(d.chunks[order[k]])
	}
	t := newTally(d.src)
	for i := range nodes {
		nodes[i].Tokens = t.between(nodes[i].Start, nodes[i].End)
	}
	for i := range d.pieces {
		if p := &d.pieces[i]; p.Node < 0 {
			p.Node = int(ofChunk[^p.Node])
		} else {
			p.Node = int(ofBlock[p.Node])
		}
	}
	o.Nodes, o.Pieces, o.References = nodes, d.pieces, d.refs
	o.Tokens, o.Lines = t.between(0, len(d.src)), d.lines.count
	d.attribute(o, ofBlock)
}

// before says whether a chunk comes before block i, b: it starts earlier, or holds it.
func before(c, b *Part, i int) bool {
	if c.Start != b.Start {
		return c.Start < b.Start
	}
	return c.End > b.End || c.End == b.End && c.Parent < i
}

// attribute sets the sources of references: the block that lang says, else the node of the piece. What stands above a
// definition and belongs to it, as a decorator does, is used by the definition, not by what lies around both.
func (d *divider) attribute(o *Outline, ofBlock []int32) {
	at := 0
	for i := range o.References {
		r := &o.References[i]
		if r.Source >= 0 {
			r.Source = int(ofBlock[r.Source])
		}
		for at < len(o.Pieces) && o.Pieces[at].End <= r.Start {
			at++
		}
		if at == len(o.Pieces) || o.Pieces[at].Start > r.Start {
			continue
		}
		node := o.Pieces[at].Node
		if n := &o.Nodes[node]; r.Source < 0 || r.Start < n.Start && n.Type.IsSymbol() && n.Parent == r.Source {
			r.Source = node
		}
	}
}
