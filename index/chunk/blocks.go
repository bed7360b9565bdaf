package chunk

import "bytes"

// A leaf is a block of Markdown that holds text: a heading, a code block, a paragraph.
type leaf struct {
	kind       leafKind
	start, end int  // bytes, without white space at the ends but for the indentation of code
	level      int  // of a heading
	nested     bool // in a list or quote
	textStart  int  // of a heading: its text without signs; of code: its info string
	textEnd    int
}

type leafKind uint8

const (
	noLeaf leafKind = iota
	headingLeaf
	fencedLeaf
	indentedLeaf
	htmlLeaf
	paragraphLeaf
)

// A holder is a list item or a quote around what stands on a line.
type holder struct {
	quote  bool
	indent int  // of an item: columns of its text, from where its holder's text starts
	empty  bool // of an item: nothing stands in it yet
}

// maxHolders is how deep lists and quotes nest; what looks deeper is text.
const maxHolders = 100

// A scanner finds the blocks of Markdown, by the rules of CommonMark 0.31 but for link reference definitions, which
// are paragraphs here.
type scanner struct {
	src    []byte
	leaves []leaf // finished ones

	holders []holder
	open    leaf // noLeaf for none
	fence   byte // of an open code block, with its length
	length  int
	html    int // condition on which an open HTML block ends, as CommonMark numbers them

	// of the line
	pos, end int // what is left of it, without its end
	col      int // column of pos
	spare    int // columns of a tab before pos that are not used up yet
}

// scanBlocks returns the leaves of src from the byte at from on.
func scanBlocks(src []byte, from int) []leaf {
	s := &scanner{src: src, leaves: make([]leaf, 0, len(src)/96+4)}
	for at := from; at < len(src); {
		next := len(src)
		if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		end := next
		for end > at && (src[end-1] == '\n' || src[end-1] == '\r') {
			end--
		}
		s.pos, s.end, s.col, s.spare = at, end, 0, 0
		s.line()
		at = next
	}
	s.close()
	return s.leaves
}

// close ends the open leaf.
func (s *scanner) close() {
	if s.open.kind != noLeaf && s.open.end > s.open.start {
		s.leaves = append(s.leaves, s.open)
	}
	s.open.kind = noLeaf
}

// indent returns the columns of white space at pos, and the first byte behind.
func (s *scanner) indent() (columns, pos int) {
	columns, pos = s.spare, s.pos
	col := s.col
	for ; pos < s.end; pos++ {
		switch s.src[pos] {
		case ' ':
			columns, col = columns+1, col+1
		case '\t':
			step := 4 - col%4
			columns, col = columns+step, col+step
		default:
			return columns, pos
		}
	}
	return columns, pos
}

// skip goes over n columns of white space.
func (s *scanner) skip(n int) {
	for n > 0 {
		switch {
		case s.spare > 0:
			use := min(n, s.spare)
			s.spare, n = s.spare-use, n-use
		case s.pos >= s.end:
			return
		case s.src[s.pos] == '\t':
			step := 4 - s.col%4
			s.pos, s.col, s.spare = s.pos+1, s.col+step, step
		default:
			s.pos, s.col, n = s.pos+1, s.col+1, n-1
		}
	}
}

// line takes one line.
func (s *scanner) line() {
	matched := s.match()
	if matched == len(s.holders) && s.verbatim() {
		return
	}
	lazy := matched < len(s.holders) // a paragraph may go on without the signs of its holders
	for {
		columns, pos := s.indent()
		if pos >= s.end { // blank
			if s.open.kind != indentedLeaf || lazy {
				s.close()
			}
			s.holders = s.holders[:matched]
			return
		}
		paragraph := s.open.kind == paragraphLeaf
		if columns >= 4 || len(s.holders) >= maxHolders {
			if !paragraph && columns >= 4 {
				s.settle(matched)
				s.indented()
				return
			}
			s.text(matched, pos, lazy)
			return
		}
		if s.leaf(matched, pos, paragraph && !lazy) {
			return
		}
		h, rest := s.marker(columns, pos, paragraph && !lazy)
		if rest == 0 {
			s.text(matched, pos, lazy)
			return
		}
		s.close()
		s.holders = append(s.holders[:matched], h)
		matched, lazy = matched+1, false
		s.skip(columns)
		s.pos, s.col = s.pos+rest, s.col+rest
		if h.quote {
			s.space()
		} else {
			s.skip(h.indent - columns - rest)
		}
	}
}

// settle makes room for a new leaf in the first holders.
func (s *scanner) settle(matched int) {
	if s.open.kind != indentedLeaf || matched < len(s.holders) {
		s.close()
	}
	s.holders = s.holders[:matched]
	for i := range s.holders {
		s.holders[i].empty = false
	}
}

// text takes the line into a paragraph.
func (s *scanner) text(matched, pos int, lazy bool) {
	if s.open.kind != paragraphLeaf {
		s.close()
		s.settle(matched)
		s.open = leaf{kind: paragraphLeaf, start: pos, nested: len(s.holders) > 0}
	}
	s.open.end = s.trimmed()
}

// space goes over the white space of one column that may follow the sign of a quote.
func (s *scanner) space() {
	if s.spare > 0 || s.pos < s.end && (s.src[s.pos] == ' ' || s.src[s.pos] == '\t') {
		s.skip(1)
	}
}

// match goes over what the open holders have at the start of their lines, and returns how many have it.
func (s *scanner) match() int {
	for i := range s.holders {
		h := &s.holders[i]
		columns, pos := s.indent()
		switch {
		case h.quote:
			if columns > 3 || pos >= s.end || s.src[pos] != '>' {
				return i
			}
			s.skip(columns)
			s.pos, s.col = s.pos+1, s.col+1
			s.space()
		case pos >= s.end:
			if h.empty {
				return i
			}
		case columns < h.indent:
			return i
		default:
			s.skip(h.indent)
		}
	}
	return len(s.holders)
}

// verbatim takes the line into an open block of code or HTML, if there is one.
func (s *scanner) verbatim() bool {
	switch s.open.kind {
	case fencedLeaf:
		columns, pos := s.indent()
		if columns < 4 {
			n := run(s.src[pos:s.end], s.fence)
			if n >= s.length && isBlank(s.src[pos+n:s.end]) {
				s.open.end = pos + n
				s.close()
				return true
			}
		}
		s.open.end = max(s.open.end, s.trimmed())
		return true
	case htmlLeaf:
		_, pos := s.indent()
		if pos >= s.end && s.html >= 6 {
			return false // blank
		}
		s.open.end = max(s.open.end, s.trimmed())
		if htmlEnds(s.src[pos:s.end], s.html) {
			s.close()
		}
		return true
	}
	return false
}

// indented takes the line into a block of indented code.
func (s *scanner) indented() {
	if s.open.kind != indentedLeaf {
		s.close()
		s.open = leaf{kind: indentedLeaf, start: s.pos, nested: len(s.holders) > 0}
	}
	s.open.end = s.trimmed()
}

// trimmed returns the end of the line without white space.
func (s *scanner) trimmed() int {
	end := s.end
	for end > s.pos && isSpace(s.src[end-1]) {
		end--
	}
	return end
}

// marker reads the sign of a quote or list item at pos, and returns its length, 0 for none.
func (s *scanner) marker(columns, pos int, paragraph bool) (h holder, length int) {
	c, n := s.src[pos], 0
	switch {
	case c == '>':
		return holder{quote: true}, 1
	case c == '-' || c == '+' || c == '*':
		n = 1
	case '0' <= c && c <= '9':
		for n < 10 && pos+n < s.end && '0' <= s.src[pos+n] && s.src[pos+n] <= '9' {
			n++
		}
		if n > 9 || pos+n >= s.end || s.src[pos+n] != '.' && s.src[pos+n] != ')' {
			return holder{}, 0
		}
		if paragraph && (n > 1 || c != '1') {
			return holder{}, 0 // a number at the start of a line of prose
		}
		n++
	default:
		return holder{}, 0
	}
	rest := s.src[pos+n : s.end]
	blank := isBlank(rest)
	if len(rest) > 0 && rest[0] != ' ' && rest[0] != '\t' || paragraph && blank {
		return holder{}, 0
	}
	behind := *s
	behind.skip(columns)
	behind.pos, behind.col = behind.pos+n, behind.col+n
	spaces, _ := behind.indent()
	if blank || spaces > 4 {
		spaces = 1
	}
	return holder{indent: columns + n + spaces, empty: blank}, n
}

// leaf takes a line that is a heading or rule, or starts code or HTML.
func (s *scanner) leaf(matched, pos int, paragraph bool) bool {
	line := s.src[pos:s.end]
	switch c := line[0]; c {
	case '#':
		n := run(line, '#')
		if n > 6 || n < len(line) && line[n] != ' ' && line[n] != '\t' {
			return false
		}
		s.close()
		s.settle(matched)
		start, end := s.inner(pos+n, s.end)
		stop := end
		for stop > start && s.src[stop-1] == '#' {
			stop--
		}
		if stop == start || isSpace(s.src[stop-1]) {
			_, stop = s.inner(start, stop)
		} else {
			stop = end
		}
		s.add(leaf{kind: headingLeaf, start: pos, end: max(end, pos+n), level: n, textStart: start, textEnd: stop})
		return true
	case '`', '~':
		n := run(line, c)
		if n < 3 || c == '`' && bytes.IndexByte(line[n:], '`') >= 0 {
			return false
		}
		s.close()
		s.settle(matched)
		s.open = leaf{kind: fencedLeaf, start: pos, nested: len(s.holders) > 0}
		s.open.textStart, s.open.textEnd = s.inner(pos+n, s.end)
		s.open.end = s.trimmed()
		s.fence, s.length = c, n
		return true
	case '<':
		kind := htmlStarts(line)
		if kind == 0 || kind == 7 && s.open.kind == paragraphLeaf {
			return false
		}
		s.close()
		s.settle(matched)
		s.open = leaf{kind: htmlLeaf, start: pos, end: s.trimmed(), nested: len(s.holders) > 0}
		if s.html = kind; htmlEnds(line, kind) {
			s.close()
		}
		return true
	case '=', '-':
		if n := run(line, c); paragraph && isBlank(line[n:]) {
			h := s.open
			h.kind, h.level, h.textStart, h.textEnd = headingLeaf, 1, h.start, h.end
			if c == '-' {
				h.level = 2
			}
			h.end, s.open.kind = pos+n, noLeaf
			s.settle(matched)
			s.add(h)
			return true
		}
	}
	if isRule(line) {
		s.close()
		s.settle(matched)
		return true
	}
	return false
}

// add lists a leaf that is complete.
func (s *scanner) add(l leaf) {
	l.nested = len(s.holders) > 0
	s.leaves = append(s.leaves, l)
}

// inner returns start and end without white space at both.
func (s *scanner) inner(start, end int) (int, int) {
	for end > start && isSpace(s.src[end-1]) {
		end--
	}
	for start < end && isSpace(s.src[start]) {
		start++
	}
	return start, end
}

// run counts how often c stands at the start of b.
func run(b []byte, c byte) int {
	n := 0
	for n < len(b) && b[n] == c {
		n++
	}
	return n
}

func isBlank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' {
			return false
		}
	}
	return true
}

// isRule tells a thematic break: three or more of one sign, with white space between.
func isRule(b []byte) bool {
	c, n := b[0], 0
	if c != '-' && c != '*' && c != '_' {
		return false
	}
	for _, x := range b {
		if x == c {
			n++
		} else if x != ' ' && x != '\t' {
			return false
		}
	}
	return n >= 3
}
