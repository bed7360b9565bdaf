package lang

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/skl-project/skl/spec/order"
)

// A builder collects what a scanner finds, in any order, and makes the File of it.
type builder struct {
	src    []byte
	file   File
	names  map[string]string // one string for each spelling
	owners bool              // members get the name of the type around them as Owner
}

// text returns src[start:end]; equal texts share their memory.
func (b *builder) text(start, end int) string {
	if start >= end {
		return ""
	}
	if s, ok := b.names[string(b.src[start:end])]; ok {
		return s
	}
	if b.names == nil {
		b.names = make(map[string]string)
	}
	s := string(b.src[start:end])
	b.names[s] = s
	return s
}

// symbol adds a definition and returns its index until finish. It is dropped if its name is empty.
func (b *builder) symbol(k Kind, start, end, nameStart, nameEnd int) int {
	b.file.Symbols = append(b.file.Symbols, Symbol{
		Kind: k, Name: b.text(nameStart, nameEnd), Parent: -1,
		Span: Span{Start: start, End: end}, NameSpan: Span{Start: nameStart, End: nameEnd},
	})
	return len(b.file.Symbols) - 1
}

// reference adds a use of src[start:end], if that is not empty.
func (b *builder) reference(k RefKind, qualifier string, start, end int) {
	if start >= end {
		return
	}
	b.file.References = append(b.file.References, Reference{
		Kind: k, Name: b.text(start, end), Qualifier: qualifier,
		Span: Span{Start: start, End: end}, Source: -1,
	})
}

// finish drops what has no name, puts everything in order and sets lines, parents, owners and sources.
func (b *builder) finish() File {
	f := &b.file
	f.Symbols = slices.DeleteFunc(f.Symbols, func(s Symbol) bool { return s.Name == "" })
	order.Stable(f.Symbols, func(x, y Symbol) int {
		return cmp.Or(cmp.Compare(x.Span.Start, y.Span.Start), cmp.Compare(y.Span.End, x.Span.End))
	})
	order.Stable(f.References, func(x, y Reference) int { return cmp.Compare(x.Span.Start, y.Span.Start) })
	f.References = slices.CompactFunc(f.References, func(x, y Reference) bool {
		return x.Span.Start == y.Span.Start && x == y
	})
	lines := newLines(b.src)
	var open []int // symbols around the place, the outermost first
	r := 0
	attribute := func(limit int) { // references before limit
		for ; r < len(f.References) && f.References[r].Span.Start < limit; r++ {
			ref := &f.References[r]
			for len(open) > 0 && f.Symbols[open[len(open)-1]].Span.End <= ref.Span.Start {
				open = open[:len(open)-1]
			}
			if len(open) > 0 && f.Symbols[open[len(open)-1]].Span.End >= ref.Span.End {
				ref.Source = open[len(open)-1]
			}
			lines.set(&ref.Span)
		}
	}
	for i := range f.Symbols {
		s := &f.Symbols[i]
		attribute(s.Span.Start)
		for len(open) > 0 && f.Symbols[open[len(open)-1]].Span.End < s.Span.End {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			s.Parent = open[len(open)-1]
			if p := &f.Symbols[s.Parent]; b.owners && s.Owner == "" && (s.Kind == Method || s.Kind == Field) {
				s.Owner = p.Name
			}
		}
		open = append(open, i)
		lines.set(&s.Span)
		lines.set(&s.NameSpan)
		if s.Doc.End > 0 {
			lines.set(&s.Doc)
		}
	}
	attribute(len(b.src) + 1)
	return *f
}

// lines knows where the lines of a file begin. It remembers the last answer,
// since questions come nearly in order.
type lines struct {
	starts []uint32
	last   int
}

func newLines(src []byte) *lines {
	l := &lines{starts: make([]uint32, 1, 1+bytes.Count(src, []byte{'\n'}))}
	for at := 0; ; {
		i := bytes.IndexByte(src[at:], '\n')
		if i < 0 {
			return l
		}
		at += i + 1
		l.starts = append(l.starts, uint32(at))
	}
}

// line returns the line of the byte at offset, counting from 1.
func (l *lines) line(offset int) int {
	o := uint32(offset)
	for i, n := l.last, 0; n < 8 && i < len(l.starts) && l.starts[i] <= o; i, n = i+1, n+1 {
		if i+1 == len(l.starts) || l.starts[i+1] > o {
			l.last = i
			return i + 1
		}
	}
	i, found := slices.BinarySearch(l.starts, o)
	if !found {
		i--
	}
	l.last = i
	return i + 1
}

func (l *lines) set(s *Span) {
	s.FirstLine = l.line(s.Start)
	s.LastLine = s.FirstLine
	if s.End > s.Start {
		keep := l.last
		s.LastLine = l.line(s.End - 1)
		l.last = keep
	}
}

// maxSignature is the length of a Signature in bytes.
const maxSignature = 200

// oneLine returns text with each run of white space as one space, cut to max bytes
// at the boundary of a character. It reads at most a few times max bytes.
func oneLine(text []byte, max int) string {
	out := make([]byte, 0, min(len(text), max+4))
	space := false
	for i := 0; i < len(text) && i < 8*max; i++ {
		c := text[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			space = len(out) > 0
			continue
		}
		if space {
			out, space = append(out, ' '), false
		}
		if out = append(out, c); len(out) > max {
			cut := max
			for cut > 0 && out[cut]&0xC0 == 0x80 {
				cut--
			}
			out = out[:cut]
			break
		}
	}
	return string(out)
}
