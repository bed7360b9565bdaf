package lang

import "bytes"

// scanBrokenGo reads Go that go/parser refuses: halves of files, merge conflicts,
// code while it is written. It knows strings, comments, brackets and the automatic
// semicolons, and takes a declaration's keyword in the first column as the end of
// whatever was open. It lists no uses of types.
func scanBrokenGo(src []byte) File {
	g := goScanner{builder: builder{src: src}, opening: true}
	g.file.Broken = true
	for g.next() {
		g.token()
	}
	g.closeTo(0, len(g.src))
	f := g.finish()
	goParents(&f)
	return f
}

// Kinds of tokens; every other token has the kind of its first byte.
const (
	goWord    = 'a'
	goLiteral = '0'
	goEnd     = ';' // also an automatic one, which is empty
)

// A goScanner holds one token and what is open around it.
type goScanner struct {
	builder
	pos        int // of the next byte
	start, end int // of the token
	kind       byte
	ends       bool // a newline after the token would end the statement
	opening    bool // the token before let a statement begin
	last       int  // end of the token before
	depth      int  // open brackets
	chain      int  // where the path a.b.c began, -1 for none
	dot        bool // the token before was a dot
	comment    Span // that ended on the line before, or this one
	open       []goOpen
}

// goOpen is a declaration that ends with the statement at its depth.
type goOpen struct {
	kind    byte // 'f' func, 't' type, 'v' var, 'c' const, 'i' import, '(' a group of these, 'm' a method of an interface, 's' a keyword
	group   byte // kind of the group's specs
	depth   int
	symbol  int // first of its symbols, -1 for none
	start   int
	naming  bool // a name is expected
	named   bool // the token before was one of its names
	decided bool // a type's kind is known
	doc     Span
}

const maxOpenGo = 200

// next reads a token. A false result is the end of the file.
func (g *goScanner) next() bool {
	g.last = g.end
	newline := false
	for g.pos < len(g.src) {
		c := g.src[g.pos]
		switch {
		case c == '\n':
			if g.ends {
				g.start, g.end, g.kind, g.ends = g.pos, g.pos, goEnd, false
				return true
			}
			if newline {
				g.comment = Span{}
			}
			newline = true
			g.pos++
		case c <= ' ':
			g.pos++
		case c == '/' && g.pos+1 < len(g.src) && (g.src[g.pos+1] == '/' || g.src[g.pos+1] == '*'):
			if g.skipComment() && g.ends {
				g.start, g.end, g.kind, g.ends = g.pos, g.pos, goEnd, false
				return true
			}
			newline = false
		default:
			g.lex(c)
			return true
		}
	}
	return false
}

// skipComment says whether the comment spans lines. A line comment's newline is left.
func (g *goScanner) skipComment() bool {
	start := g.pos
	lines := false
	if g.src[g.pos+1] == '/' {
		if i := bytes.IndexByte(g.src[g.pos:], '\n'); i >= 0 {
			g.pos += i
		} else {
			g.pos = len(g.src)
		}
	} else if i := bytes.Index(g.src[g.pos+2:], []byte("*/")); i >= 0 {
		g.pos += i + 4
		lines = bytes.IndexByte(g.src[start:g.pos], '\n') >= 0
	} else {
		g.pos = len(g.src)
	}
	if g.comment.End == 0 {
		g.comment.Start = start
	}
	g.comment.End = g.pos
	return lines
}

func (g *goScanner) lex(c byte) {
	g.start = g.pos
	switch {
	case wordByte(c):
		for g.pos < len(g.src) && wordByte(g.src[g.pos]) {
			g.pos++
		}
		if g.kind, g.ends = goWord, true; c >= '0' && c <= '9' {
			g.kind = goLiteral
		}
	case c == '"' || c == '\'':
		g.pos++
		for g.pos < len(g.src) && g.src[g.pos] != c && g.src[g.pos] != '\n' {
			if g.src[g.pos] == '\\' && g.pos+1 < len(g.src) && g.src[g.pos+1] != '\n' {
				g.pos++
			}
			g.pos++
		}
		if g.pos < len(g.src) && g.src[g.pos] == c {
			g.pos++
		}
		g.kind, g.ends = goLiteral, true
	case c == '`':
		if i := bytes.IndexByte(g.src[g.pos+1:], '`'); i >= 0 {
			g.pos += i + 2
		} else {
			g.pos = len(g.src)
		}
		g.kind, g.ends = goLiteral, true
	default:
		g.pos++
		g.kind, g.ends = c, c == ')' || c == ']' || c == '}'
		if (c == '+' || c == '-') && g.pos < len(g.src) && g.src[g.pos] == c {
			g.pos++
			g.ends = true
		}
	}
	g.end = g.pos
}

// wordByte says whether c can stand in a name or number; every byte above ASCII can.
func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// token moves on by the token that was read.
func (g *goScanner) token() {
	opening, chain, dot := g.opening, g.chain, g.dot
	g.opening, g.chain, g.dot = false, -1, false
	switch g.kind {
	case goEnd:
		g.closeTo(g.depth, g.last)
		g.opening = true
	case goWord:
		g.word(opening, chain, dot)
	case '.':
		if chain >= 0 {
			g.chain = chain
		}
		g.dot = true
	case '(', '[', '{':
		g.bracket(opening)
	case ')', ']', '}':
		g.closeTo(g.depth, g.last) // a statement may end without a semicolon before its bracket
		if g.depth > 0 {
			g.depth--
		}
		for len(g.open) > 0 && g.open[len(g.open)-1].kind == '(' && g.open[len(g.open)-1].depth > g.depth {
			g.pop(g.end)
		}
	case goLiteral:
		g.imported()
		g.naming()
	case ',':
		if o := g.top(); o != nil && o.named && o.depth == g.depth {
			o.naming, o.named = true, false
			return
		}
		g.naming()
	case ':':
		g.opening = true
		g.naming()
	default:
		g.naming()
	}
	if g.kind != goEnd {
		g.comment = Span{}
	}
}

// imported takes a literal where a path may stand.
func (g *goScanner) imported() {
	o := g.top()
	if o == nil || o.group != 'i' || o.depth != g.depth || g.end-g.start < 3 {
		return
	}
	path := g.src[g.start+1 : g.end-1]
	if last := bytes.LastIndexByte(path, '/') + 1; last < len(path) && g.src[g.end-1] == g.src[g.start] {
		g.reference(Import, string(path), g.start+1+last, g.end-1)
	}
}

// naming ends the names of a declaration.
func (g *goScanner) naming() {
	if o := g.top(); o != nil && o.depth == g.depth {
		o.naming, o.named = false, false
		o.decided = o.decided || g.kind != '='
	}
}

func (g *goScanner) top() *goOpen {
	if len(g.open) == 0 {
		return nil
	}
	return &g.open[len(g.open)-1]
}

func (g *goScanner) bracket(opening bool) {
	o := g.top()
	if g.kind == '(' && o != nil && o.kind == 's' { // a group, or the receiver of a method
		o.kind, o.depth = '(', g.depth+1
		g.opening = true
	}
	if o != nil && o.depth == g.depth && o.naming && g.kind != '[' && o.kind != 'f' {
		o.naming = false
	}
	g.depth++
	g.opening = g.opening || g.kind == '{'
}

// closeTo ends the declarations at depth or deeper.
func (g *goScanner) closeTo(depth, end int) {
	for len(g.open) > 0 {
		o := g.top()
		if o.depth < depth || o.kind == '(' && o.depth <= depth && depth > 0 {
			return
		}
		g.pop(end)
	}
}

func (g *goScanner) pop(end int) {
	o := g.open[len(g.open)-1]
	g.open = g.open[:len(g.open)-1]
	if o.symbol < 0 {
		return
	}
	s := &g.file.Symbols[o.symbol]
	s.Span.End = max(end, s.NameSpan.End)
	for i := o.symbol + 1; i < len(g.file.Symbols) && g.file.Symbols[i].Span.Start == s.Span.Start; i++ {
		g.file.Symbols[i].Span.End = max(s.Span.End, g.file.Symbols[i].NameSpan.End)
	}
}

func (g *goScanner) push(o goOpen) {
	if len(g.open) < maxOpenGo {
		g.open = append(g.open, o)
	}
}

func (g *goScanner) word(opening bool, chain int, dot bool) {
	text := g.src[g.start:g.end]
	column0 := g.start == 0 || g.src[g.start-1] == '\n'
	if keyword := goKeyword(text); keyword != 0 && !dot {
		g.keyword(keyword, opening, column0)
		return
	}
	if o := g.top(); o != nil && g.named(o, opening) {
		return
	}
	if g.chain = g.start; dot {
		g.chain = chain
	}
	if g.pos < len(g.src) && g.src[g.pos] == '(' && !predeclaredType(string(text)) {
		qualifier := ""
		if dot && chain >= 0 {
			if end := g.last - 1; plainPath(g.src[chain:end]) {
				qualifier = g.text(chain, end)
			}
		}
		g.reference(Call, qualifier, g.start, g.end)
	}
}

// goKeyword returns the first letter of a word that begins declarations, 'i' for import, 'I' for
// interface, 's' for struct, 'k' for the others, 0 for a name.
func goKeyword(text []byte) byte {
	switch string(text) {
	case "func", "type", "var", "const":
		return text[0]
	case "import":
		return 'i'
	case "interface":
		return 'I'
	case "struct":
		return 's'
	case "else", "case", "default", "select", "go", "defer", "if", "for", "switch", "chan", "map", "package", "range", "goto":
		return 'k'
	case "break", "continue", "fallthrough", "return":
		return 'r'
	}
	return 0
}

func (g *goScanner) keyword(keyword byte, opening, column0 bool) {
	g.ends = keyword == 'r'
	switch keyword {
	case 'f', 't', 'v', 'c', 'i':
		if column0 && g.depth > 0 {
			g.closeTo(0, g.last)
			g.depth, opening = 0, true
		}
		if !opening || keyword == 'f' && g.depth > 0 {
			g.decide('k')
			return
		}
		if keyword == 'f' {
			g.functionHead()
			return
		}
		g.push(goOpen{kind: 's', group: keyword, depth: g.depth, symbol: -1, start: g.start, doc: g.comment})
	case 'I', 's':
		g.decide(keyword)
	default:
		g.decide('k')
	}
}

// decide sets the kind of the type that is being declared, by the first word of what it is.
func (g *goScanner) decide(keyword byte) {
	if o := g.top(); o != nil && o.kind == 't' && !o.decided && o.depth == g.depth {
		o.decided = true
		if keyword == 'I' && o.symbol >= 0 {
			g.file.Symbols[o.symbol].Kind = Class
		}
	}
}

// named takes a name that a declaration expects.
func (g *goScanner) named(o *goOpen, opening bool) bool {
	if o.kind == 's' && o.depth == g.depth { // a declaration of one
		o.kind, o.naming = o.group, true
	} else if o.kind == '(' && o.depth == g.depth && opening {
		g.push(goOpen{kind: o.group, group: o.group, depth: g.depth, symbol: -1, start: g.start, naming: true, doc: g.comment})
		if o = g.top(); o.kind == '(' {
			return false
		}
	} else if o.kind == 't' && opening && g.depth == o.depth+1 && o.symbol >= 0 && g.file.Symbols[o.symbol].Kind == Class {
		return g.interfaceMethod(o)
	}
	if !o.naming || o.depth != g.depth {
		g.naming()
		return false
	}
	o.naming = false
	kind := Variable
	switch o.kind {
	case 't':
		kind = Struct
	case 'c':
		kind, o.named = Constant, true
	case 'v':
		o.named = true
	default:
		return true
	}
	if o.kind == 't' || len(g.open) == 1 || len(g.open) == 2 && g.open[0].kind == '(' {
		if i := g.define(kind, o.start, o.doc); o.symbol < 0 {
			o.symbol = i
		}
	}
	return true
}

// define lists the current word; its end is set when the declaration closes.
func (g *goScanner) define(k Kind, start int, doc Span) int {
	if string(g.src[g.start:g.end]) == "_" {
		return -1
	}
	i := g.symbol(k, start, g.end, g.start, g.end)
	s := &g.file.Symbols[i]
	s.Exported = g.src[g.start] >= 'A' && g.src[g.start] <= 'Z'
	if s.Doc = doc; doc.End > start {
		s.Doc = Span{}
	}
	return i
}

func (g *goScanner) interfaceMethod(o *goOpen) bool {
	if g.pos >= len(g.src) || g.src[g.pos] != '(' {
		return false
	}
	owner := g.file.Symbols[o.symbol].Name
	i := g.define(Method, g.start, g.comment)
	if i < 0 {
		return false
	}
	g.file.Symbols[i].Owner = owner
	g.push(goOpen{kind: 'm', depth: g.depth, symbol: i, start: g.start})
	return true
}

// functionHead reads "(r *T) name" behind func, with at most 64 words in the receiver,
// and leaves the parameters to the loop.
func (g *goScanner) functionHead() {
	head, start, doc := goOpen{kind: 'f', depth: g.depth, symbol: -1, start: g.start}, g.start, g.comment
	at := g.skipSpace(g.pos)
	owner, kind := "", Function
	if at < len(g.src) && g.src[at] == '(' {
		kind = Method
		inner, brackets := at+1, 0
		for n := 0; inner < len(g.src) && n < 512 && g.src[inner] != '\n' && (g.src[inner] != ')' || brackets > 0); n++ {
			switch c := g.src[inner]; {
			case c == '[':
				brackets++
			case c == ']':
				brackets--
			case wordByte(c) && brackets == 0:
				from := inner
				for inner < len(g.src) && wordByte(g.src[inner]) {
					inner++
				}
				owner = g.text(from, inner)
				continue
			}
			inner++
		}
		if inner >= len(g.src) || g.src[inner] != ')' {
			g.push(head)
			return
		}
		at = g.skipSpace(inner + 1)
	}
	end := at
	for end < len(g.src) && wordByte(g.src[end]) {
		end++
	}
	if end > at {
		g.start, g.end, g.pos = at, end, end
		if head.symbol = g.define(kind, start, doc); head.symbol >= 0 {
			g.file.Symbols[head.symbol].Owner = owner
			g.file.Symbols[head.symbol].Signature = g.signature(end)
		}
	}
	g.push(head)
}

func (g *goScanner) skipSpace(at int) int {
	for at < len(g.src) && (g.src[at] == ' ' || g.src[at] == '\t') {
		at++
	}
	return at
}

// signature returns what stands from at to the body or the end of the line.
func (g *goScanner) signature(at int) string {
	limit := min(at+4*maxSignature, len(g.src))
	depth := 0
	for i := at; i < limit; i++ {
		switch c := g.src[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth == 0 && (c == '\n' || c == '{'):
			return oneLine(g.src[at:i], maxSignature)
		}
	}
	return oneLine(g.src[at:limit], maxSignature)
}
