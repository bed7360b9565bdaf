package chunk

import (
	"bytes"

	"github.com/skl-project/skl/index/lang"
)

// How text around a symbol becomes a part of its piece.
const (
	maxBeside    = 200 // bytes before and behind a symbol on its lines
	maxDecorator = 60  // lines of a decorator above it
	tallSymbol   = 12  // lines from which a constant, variable or field is a piece, however crowded its neighbourhood
	tallType     = 3   // lines from which a type is one
	maxNesting   = 64  // symbols in symbols; deeper ones are no nodes
)

// code makes blocks of symbols and takes over the references.
func (d *divider) code(language lang.Language, f lang.File) {
	symbols := f.Symbols
	if most := MaxNodes - MaxPieces; len(symbols) > most {
		symbols = symbols[:most]
	}
	d.blocks = make([]block, len(symbols))
	end, trimmed := -1, 0 // of the last symbol that ends with white space, as in a broken file
	for i := range symbols {
		s := &symbols[i]
		if s.Span.End > s.Span.Start && isSpace(d.src[s.Span.End-1]) {
			if s.Span.End != end {
				end = s.Span.End
				_, trimmed = d.trim(s.NameSpan.End, end)
			}
			s.Span = lang.Span(d.lines.region(s.Span.Start, max(trimmed, s.NameSpan.End), s.Span.FirstLine-1))
		}
		d.blocks[i].part = Part{
			Region: Region(s.Span), Type: typeOf(s.Kind), Name: s.Name, Owner: s.Owner, Signature: s.Signature,
			DocStart: s.Doc.Start, DocEnd: s.Doc.End, Exported: s.Exported,
		}
	}
	d.nest()
	place := d.prune()
	d.extend()
	d.cast(language)
	d.refs = make([]Reference, len(f.References))
	for i := range f.References {
		r := &f.References[i]
		d.refs[i] = Reference{Kind: r.Kind, Name: r.Name, Qualifier: r.Qualifier, Region: Region(r.Span), Source: r.Source}
		switch {
		case r.Source >= len(symbols):
			d.refs[i].Source = -1
		case r.Source >= 0 && place != nil:
			d.refs[i].Source = place[r.Source]
		}
	}
}

// prune drops blocks that lie deeper than anyone writes, so that nothing recurs without bound. It returns for each block
// the index of what is left of it or around it, nil if nothing was dropped.
func (d *divider) prune() []int {
	depth, deep := make([]uint8, len(d.blocks)), false
	for i := range d.blocks {
		if p := d.blocks[i].part.Parent; p >= 0 {
			depth[i] = depth[p]
			if !d.twins(p, i) {
				depth[i] = min(depth[p]+1, maxNesting)
			}
		}
		deep = deep || depth[i] == maxNesting
	}
	if !deep {
		return nil
	}
	place, kept := make([]int, len(d.blocks)), d.blocks[:0]
	for i := range d.blocks {
		if depth[i] == maxNesting {
			place[i] = place[d.blocks[i].part.Parent]
			continue
		}
		place[i] = len(kept)
		kept = append(kept, d.blocks[i])
	}
	d.blocks = kept
	d.nest()
	return place
}

func typeOf(k lang.Kind) Type {
	switch k {
	case lang.Function:
		return Function
	case lang.Method:
		return Method
	case lang.Class:
		return Class
	case lang.Struct:
		return Struct
	case lang.Enum:
		return Enum
	case lang.Constant:
		return Constant
	case lang.Variable:
		return Variable
	case lang.Field:
		return Field
	case lang.Macro:
		return Macro
	case lang.Module:
		return Module
	}
	return Chunk
}

// extend sets the text of each block: the symbol with what stands before it on its first line and behind it on its last, and the comments,
// decorators and attributes above it. Texts of neighbours do not overlap.
func (d *divider) extend() {
	low := make([]int, len(d.blocks)) // where free text starts in each block
	top := 0
	for i := range d.blocks {
		b := &d.blocks[i]
		free, high := &top, len(d.src)
		if b.part.Parent >= 0 {
			free, high = &low[b.part.Parent], d.blocks[b.part.Parent].part.End
		}
		if b.next < len(d.blocks) && d.blocks[b.next].part.Parent == b.part.Parent {
			high = d.blocks[b.next].part.Start
		}
		b.from = min(d.above(&b.part, *free), b.part.Start)
		b.to = d.behind(b.part.End, max(high, b.part.End))
		low[i], *free = b.part.Start, max(*free, b.to)
	}
}

// behind returns the end of the line that end stands on, if nothing before limit is in the way.
func (d *divider) behind(end, limit int) int {
	rest := d.src[end:min(end+maxBeside, limit)]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		return end + i
	}
	if end+len(rest) == len(d.src) {
		return len(d.src)
	}
	return end
}

// above returns where the text of p starts, at least limit.
func (d *divider) above(p *Part, limit int) int {
	if limit >= p.Start {
		return p.Start
	}
	from, line := p.Start, d.lineStart(limit, p.Start)
	column := indent(d.src[line:p.Start])
	if from-line <= maxBeside {
		from = line
	}
	if p.DocEnd > 0 && p.DocEnd <= p.Start && limit <= p.DocStart && p.DocStart < from {
		from = p.DocStart
	}
	line = d.lineStart(limit, from)
	if whole := line == 0 || d.src[line-1] == '\n'; whole && len(bytes.TrimSpace(d.src[line:from])) == 0 {
		from = d.decorated(line, limit, column)
	}
	return from
}

// lineStart returns where the line that p stands on starts, at least limit.
func (d *divider) lineStart(limit, p int) int {
	return bytes.LastIndexByte(d.src[limit:p], '\n') + 1 + limit
}

// decorated goes up from the line that starts at from over lines that belong to it: comments, decorators, attributes, and what
// these hold in brackets, which is indented more than column or closes one.
func (d *divider) decorated(from, limit, column int) int {
	at, tentative := from, 0
	for at > limit {
		start := d.lineStart(limit, at-1)
		if start == limit && limit > 0 && d.src[limit-1] != '\n' {
			break // a part of a line
		}
		text := bytes.TrimSpace(d.src[start:at])
		if len(text) == 0 {
			break
		}
		in := indent(d.src[start:at])
		switch c := text[0]; {
		case c == '@' || c == '#' || c == '*' || bytes.HasPrefix(text, []byte("//")) || bytes.HasPrefix(text, []byte("/*")):
			if in <= column || tentative == 0 {
				from, tentative = start, 0
				break
			}
			tentative++
		case in > column || c == ')' || c == ']' || c == '}':
			tentative++
		default:
			return from
		}
		if tentative > maxDecorator {
			break
		}
		at = start
	}
	return from
}

func indent(line []byte) int {
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return n
}

// cast decides which blocks are pieces.
func (d *divider) cast(language lang.Language) {
	inner := make([]bool, len(d.blocks)) // of a function, or of what lies in one
	for i := range d.blocks {
		b := &d.blocks[i]
		parent := b.part.Parent
		inner[i] = parent >= 0 && (inner[parent] || isFunction(d.blocks[parent].part.Type))
		if inner[i] || parent >= 0 && d.twins(parent, i) {
			continue
		}
		switch b.part.Type {
		case Function, Macro:
			b.role = own
		case Method:
			if !d.bodiless(b, language) {
				b.role = own
			}
		case Class, Struct, Enum, Module:
			if d.height(b) >= tallType || d.isolated(b) {
				b.role = own
			}
		default:
			if d.height(b) >= tallSymbol || d.isolated(b) {
				b.role = own
			}
		}
	}
	for i := len(d.blocks) - 1; i >= 0; i-- {
		b := &d.blocks[i]
		if b.role == atom || b.part.Parent < 0 {
			continue
		}
		if p := &d.blocks[b.part.Parent]; !isFunction(p.part.Type) {
			p.role, p.gaps = container, true
		}
	}
}

func isFunction(t Type) bool { return t == Function || t == Method || t == Macro }

func (d *divider) height(b *block) int {
	return 1 + bytes.Count(d.src[b.from:b.to], []byte{'\n'})
}

// bodiless tells a declaration, such as a method of an interface, from a definition: these are shown with their type.
func (d *divider) bodiless(b *block, language lang.Language) bool {
	if b.part.Parent < 0 || language == lang.Python || b.part.LastLine-b.part.FirstLine >= tallType {
		return false
	}
	return language == lang.Go || !bytes.ContainsAny(d.src[b.part.Start:b.part.End], "{=")
}

// isolated says whether a symbol stands alone at the margin, with blank lines around.
func (d *divider) isolated(b *block) bool {
	if isSpace(d.src[b.from]) || b.from > 0 && d.src[b.from-1] != '\n' {
		return false
	}
	line := d.lines.at(b.from, b.part.FirstLine-1)
	if line > 0 && !d.blank(line-1) {
		return false
	}
	last := d.lines.at(max(b.to-1, b.from), line)
	return d.lines.start(last+1) >= len(d.src) || d.blank(last+1)
}
