package lang

import "bytes"

// Kinds of Python's tokens; every other token has the kind of its byte.
const (
	pyEnd    = 0
	pyWord   = 'a'
	pyNumber = '0'
	pyString = 's' // a string, or a piece of a formatted one
	pyLine   = 'n' // the end of a logical line
	pyArrow  = 'R' // ->
	pyOther  = 'o' // an operator of several bytes
)

// maxNested is how many open brackets, blocks and formatted strings are told apart;
// what is deeper is counted but otherwise taken as part of the deepest.
const maxNested = 200

// A pythonLexer reads tokens, joins lines within brackets, and measures indentation.
type pythonLexer struct {
	code       []byte
	pos        int // of the next byte
	start, end int // of the token
	kind       byte
	depth      int  // open brackets
	first      bool // the token is the first of its logical line
	indent     int  // columns before the logical line
	fresh      bool // at the start of a line, outside brackets
	newline    bool // nothing but space before pos on this physical line
	broken     bool
	formats    []pythonFormat
	comment    Span // lines of comments directly above
	tail       []pythonComment
}

// A pythonComment is one of those since the last token that stands further left than all
// before it; its end is that of the last comment not further left still.
type pythonComment struct{ column, end int }

// sameLine is the column of a comment behind code: it is part of all that ends there.
const sameLine = 1 << 30

func (p *pythonLexer) tailComment(column int) {
	if n := len(p.tail); n > 0 && p.tail[n-1].column <= column {
		p.tail[n-1].end = p.pos
	} else if n < maxNested {
		p.tail = append(p.tail, pythonComment{column, p.pos})
	}
}

// A pythonFormat is an open formatted string, or a replacement field within a format specification.
type pythonFormat struct {
	quote  byte
	triple bool
	state  byte // 't' text, 'e' expression, 's' format specification
	depth  int  // of the brackets in the expression
	nested bool // a field within a specification
}

func (p *pythonLexer) next() byte {
	for p.pos < len(p.code) {
		if n := len(p.formats); n > 0 && p.formats[n-1].state != 'e' {
			return p.formatText(&p.formats[n-1])
		}
		if p.fresh {
			p.margin()
			continue
		}
		c := p.code[p.pos]
		switch {
		case c == '\n':
			p.pos++
			p.newline = true
			if p.depth == 0 {
				p.fresh = true
				p.start, p.end, p.kind = p.pos-1, p.pos, pyLine
				return pyLine
			}
		case c <= ' ':
			p.pos++
		case c == '#':
			p.skipLine()
			p.tailComment(sameLine)
		case c == '\\' && p.pos+1 < len(p.code) && (p.code[p.pos+1] == '\n' || p.code[p.pos+1] == '\r'):
			if p.pos += 2; p.code[p.pos-1] == '\r' && p.pos < len(p.code) && p.code[p.pos] == '\n' {
				p.pos++
			}
		default:
			if p.newline && p.depth > 0 && p.recovers() {
				p.start, p.end, p.kind = p.pos, p.pos, pyLine
				return pyLine
			}
			p.newline = false
			p.lex(c)
			return p.kind
		}
	}
	p.start, p.end, p.kind = len(p.code), len(p.code), pyEnd
	return pyEnd
}

func (p *pythonLexer) skipLine() {
	if i := bytes.IndexByte(p.code[p.pos:], '\n'); i >= 0 {
		p.pos += i
	} else {
		p.pos = len(p.code)
	}
}

// margin passes empty lines and comments and measures the indentation of the next line.
func (p *pythonLexer) margin() {
	column := 0
	for p.pos < len(p.code) {
		switch c := p.code[p.pos]; c {
		case ' ':
			column++
		case '\t':
			column = column/8*8 + 8
		case '\f', '\r':
			column = 0
		case '\n':
			p.comment = Span{}
			p.pos++
			return
		case '#':
			if p.comment.End == 0 {
				p.comment.Start = p.pos
			}
			p.skipLine()
			p.comment.End = p.pos
			p.tailComment(column)
			if p.pos < len(p.code) {
				p.pos++
			}
			return
		case '\\':
			if p.pos+1 < len(p.code) && p.code[p.pos+1] == '\n' {
				p.pos++
				break
			}
			fallthrough
		default:
			p.indent, p.first, p.fresh, p.newline = column, true, false, true
			return
		}
		p.pos++
	}
}

// recovers says whether a bracket was left open: no expression goes on with a
// keyword that begins statements. It closes all brackets then.
func (p *pythonLexer) recovers() bool {
	end := p.pos
	for end < len(p.code) && wordByte(p.code[end]) && end < p.pos+9 {
		end++
	}
	switch string(p.code[p.pos:end]) {
	case "def", "class", "return", "import", "with", "while", "try", "raise", "pass", "break", "continue",
		"del", "global", "nonlocal", "assert", "except", "finally":
	default:
		return false
	}
	line := p.pos
	for line > 0 && p.code[line-1] != '\n' && p.pos-line < maxNested {
		line--
	}
	p.depth, p.formats, p.broken = 0, p.formats[:0], true
	p.pos, p.fresh = line, true
	return true
}

func (p *pythonLexer) lex(c byte) {
	p.start = p.pos
	switch {
	case c >= '0' && c <= '9' || c == '.' && p.pos+1 < len(p.code) && p.code[p.pos+1] >= '0' && p.code[p.pos+1] <= '9':
		p.number()
		return
	case wordByte(c):
		for p.pos < len(p.code) && wordByte(p.code[p.pos]) {
			p.pos++
		}
		if p.pos < len(p.code) && p.pos-p.start <= 2 && (p.code[p.pos] == '"' || p.code[p.pos] == '\'') && p.prefixed() {
			return
		}
		p.kind, p.end = pyWord, p.pos
		return
	case c == '"' || c == '\'':
		p.stringBody(c)
		return
	}
	p.operator(c)
}

func (p *pythonLexer) number() {
	point := p.code[p.pos] == '.'
	hex := p.pos+1 < len(p.code) && p.code[p.pos+1]|0x20 == 'x'
	for p.pos++; p.pos < len(p.code); p.pos++ {
		c := p.code[p.pos]
		exponent := !hex && p.code[p.pos-1]|0x20 == 'e'
		if c == '.' && !point {
			point = true
			continue
		}
		if !wordByte(c) && ((c != '+' && c != '-') || !exponent) {
			break
		}
		point = point || exponent
	}
	p.kind, p.end = pyNumber, p.pos
}

// prefixed reads a string whose prefix was read.
func (p *pythonLexer) prefixed() bool {
	format := false
	for _, c := range p.code[p.start:p.pos] {
		switch c | 0x20 {
		case 'f', 't':
			format = true
		case 'r', 'b', 'u':
		default:
			return false
		}
	}
	c := p.code[p.pos]
	if !format || len(p.formats) >= maxNested {
		p.stringBody(c)
		return true
	}
	f := pythonFormat{quote: c, state: 't'}
	p.pos++
	if p.pos+1 < len(p.code) && p.code[p.pos] == c && p.code[p.pos+1] == c {
		f.triple = true
		p.pos += 2
	}
	p.formats = append(p.formats, f)
	p.kind, p.end = pyString, p.pos
	return true
}

func (p *pythonLexer) stringBody(quote byte) {
	p.kind = pyString
	p.pos++
	triple := p.pos+1 < len(p.code) && p.code[p.pos] == quote && p.code[p.pos+1] == quote
	if triple {
		p.pos += 2
	}
	for p.pos < len(p.code) {
		switch c := p.code[p.pos]; {
		case c == '\\':
			p.pos++
			if p.pos+1 < len(p.code) && p.code[p.pos] == '\r' && p.code[p.pos+1] == '\n' {
				p.pos++
			}
		case c == '\n' && !triple:
			p.broken = true
			p.end = p.pos
			return
		case c == quote && !triple:
			p.pos++
			p.end = p.pos
			return
		case c == quote && p.pos+2 < len(p.code) && p.code[p.pos+1] == quote && p.code[p.pos+2] == quote:
			p.pos += 3
			p.end = p.pos
			return
		}
		p.pos++
	}
	p.broken = true
	p.pos = len(p.code)
	p.end = p.pos
}

// formatText reads the text of a formatted string, up to a field or its end.
func (p *pythonLexer) formatText(f *pythonFormat) byte {
	p.start, p.kind = p.pos, pyString
	for ; p.pos < len(p.code); p.pos++ {
		c := p.code[p.pos]
		switch {
		case c == '\\' && p.pos+1 < len(p.code) && f.state == 't':
			p.pos++
		case c == '{' && f.state == 't' && p.pos+1 < len(p.code) && p.code[p.pos+1] == '{':
			p.pos++
		case c == '{':
			if f.state == 's' {
				if len(p.formats) >= maxNested {
					continue
				}
				p.formats = append(p.formats, pythonFormat{quote: f.quote, triple: f.triple, nested: true})
				f = &p.formats[len(p.formats)-1]
			}
			p.depth++
			f.state, f.depth = 'e', p.depth
			p.start, p.pos = p.pos, p.pos+1
			p.end, p.kind, p.newline = p.pos, '{', false
			return p.kind
		case c == '}' && f.state == 's':
			return p.closeField(f)
		case c == '\n' && !f.triple:
			if f.state == 's' { // the field was still open
				p.depth = max(p.depth-1, 0)
			}
			p.broken = true
			p.formats = p.formats[:len(p.formats)-1]
			p.end = p.pos
			return p.kind
		case c == f.quote && (!f.triple || p.pos+2 < len(p.code) && p.code[p.pos+1] == c && p.code[p.pos+2] == c):
			if p.pos++; f.triple {
				p.pos += 2
			}
			if f.state == 's' {
				p.depth = max(p.depth-1, 0)
			}
			p.formats = p.formats[:len(p.formats)-1]
			p.end = p.pos
			return p.kind
		}
	}
	p.pos = min(p.pos, len(p.code))
	p.end, p.broken = p.pos, true
	return p.kind
}

// closeField reads the } of a replacement field.
func (p *pythonLexer) closeField(f *pythonFormat) byte {
	p.start, p.pos = p.pos, p.pos+1
	p.end, p.kind = p.pos, '}'
	p.depth = max(p.depth-1, 0)
	if f.nested {
		p.formats = p.formats[:len(p.formats)-1]
	} else {
		f.state = 't'
	}
	return p.kind
}

func (p *pythonLexer) operator(c byte) {
	two := byte(0)
	if p.pos+1 < len(p.code) {
		two = p.code[p.pos+1]
	}
	var field *pythonFormat
	if n := len(p.formats); n > 0 && p.formats[n-1].depth == p.depth {
		field = &p.formats[n-1]
	}
	p.pos++
	p.kind = c
	switch c {
	case '(', '[', '{':
		p.depth++
	case '}':
		if field != nil {
			p.pos--
			p.closeField(field)
			return
		}
		p.depth = max(p.depth-1, 0)
	case ')', ']':
		p.depth = max(p.depth-1, 0)
	case '-':
		if two == '>' {
			p.pos++
			p.kind = pyArrow
			break
		}
		fallthrough
	case '+', '/', '%', '&', '|', '^', '=', '!', '<', '>', '@', ':', '*':
		if c == ':' && field != nil {
			field.state = 's'
			break
		}
		if c == two && (c == '*' || c == '/' || c == '<' || c == '>') {
			p.pos++
			if p.pos < len(p.code) {
				two = p.code[p.pos]
			}
			if c != '*' {
				p.kind = pyOther
			}
		}
		if two == '=' && p.pos < len(p.code) && p.code[p.pos] == '=' {
			p.pos++
			p.kind = pyOther
		}
	}
	p.end = p.pos
}
