package lang

import "slices"

// scanScript reads JavaScript and TypeScript.
//
// A lexer cuts the file into tokens and links each bracket with its mate, so that
// everything below knows in one step where a bracket ends and what stands behind it. A
// parser without a tree then walks the tokens once. What it does not understand it steps over, one token at
// a time, never past the bracket it is in. Brackets nested deeper than maxDepth are searched for calls only.
func scanScript(language Language, src []byte) File {
	ts := language != JavaScript
	buffer := scriptTokens.Get().(*[]scriptToken)
	l := scriptLexer{src: src, tokens: (*buffer)[:0], ts: ts, jsx: language != TypeScript}
	l.run()
	p := script{
		builder: builder{src: src, owners: true}, tokens: l.tokens, comments: l.comments, ts: ts,
		tsx: language == TSX,
	}
	p.limit = len(p.tokens) - padding
	p.statements(p.limit)
	p.exportNames()
	file := p.finish()
	file.Broken = l.broken || p.broken
	if cap(l.tokens) <= maxPooled {
		*buffer = l.tokens
		scriptTokens.Put(buffer)
	}
	return file
}

// maxDepth is how deep brackets and expressions in them are followed.
const maxDepth = 200

// A script is the parser: a place in the tokens and what surrounds it.
type script struct {
	builder
	tokens     []scriptToken
	comments   []comment
	i          int // the next token
	limit      int // the bracket around ends at this token
	depth      int
	ts, tsx    bool
	inFunction bool // variables are not listed
	inTernary  bool // between ? and : of a conditional, where (a): b => c is not a function with a result type
	noIn       bool // in the head of a for
	noCond     bool // types stop before extends
	broken     bool
	exported   bool // of the declaration being read
	first      int  // the token that the declaration being read begins with, with export and decorators
	exports    []string
}

// A value is what expression found: whether it is nothing but a function or a class, whose own name waits.
type value struct {
	kind     Kind // Function, Class or ""
	token    int  // its first token
	after    int  // the token behind it
	name     int  // token of its own name, 0 for none
	bare     bool // a function without a body
	sig, end int  // offsets of the signature, 0 for none
}

func (p *script) kind() scriptKind { return p.tokens[p.i].kind }

// at returns the kind of the token n places ahead.
func (p *script) at(n int) scriptKind {
	if p.i+n < len(p.tokens) {
		return p.tokens[p.i+n].kind
	}
	return sEOF
}

func (p *script) next() {
	if p.i < len(p.tokens)-1 {
		p.i++
	}
}

// take steps over a token of that kind.
func (p *script) take(k scriptKind) bool {
	if p.i < p.limit && p.tokens[p.i].kind == k {
		p.i++
		return true
	}
	return false
}

func (p *script) start(i int) int { return int(p.tokens[i].start) }

// end returns where the last token ends.
func (p *script) end() int {
	if p.i == 0 {
		return 0
	}
	return int(p.tokens[p.i-1].end)
}

// word says that token i is spelled w.
func (p *script) word(i int, w string) bool {
	t := &p.tokens[i]
	return string(p.src[t.start:t.end]) == w
}

// mate returns the token that closes bracket i, at most the end of what is around.
func (p *script) mate(i int) int {
	if m := int(p.tokens[i].mate); m > i {
		return min(m, p.limit)
	}
	return p.limit
}

// inside runs f between the bracket here and its mate, and goes behind it.
// Too deep it only looks for calls.
func (p *script) inside(f func()) {
	open := p.i
	m := p.mate(open)
	limit, ternary, noIn, noCond := p.limit, p.inTernary, p.noIn, p.noCond
	p.limit, p.inTernary, p.noIn, p.noCond = m, false, false, false
	p.i++
	if p.depth++; p.depth > maxDepth {
		p.flat()
	} else {
		for p.i < m {
			at := p.i
			f()
			if p.i == at {
				p.broken = true
				p.i++
			}
		}
	}
	p.depth--
	p.limit, p.inTernary, p.noIn, p.noCond = limit, ternary, noIn, noCond
	p.i = m
	if m < limit {
		p.i = m + 1
	}
}

// flat looks for calls up to the limit.
func (p *script) flat() {
	for ; p.i < p.limit; p.i++ {
		t := &p.tokens[p.i]
		if t.kind.name() && p.at(1) == sParen && (p.i == 0 || p.tokens[p.i-1].kind != wFunction) {
			p.reference(Call, "", int(t.start), int(t.end))
		}
	}
}

// define adds a symbol that begins with token first and ends with the last one read.
func (p *script) define(k Kind, first, name, sig, sigEnd int) {
	t := &p.tokens[name]
	n := p.symbol(k, p.start(first), max(p.end(), int(t.end)), int(t.start), int(t.end))
	s := &p.file.Symbols[n]
	s.Exported = p.exported
	if sigEnd > sig {
		s.Signature = oneLine(p.src[sig:sigEnd], maxSignature)
	}
}

// doc sets the comment that stands right before token first for the last symbol.
func (p *script) doc(first int) {
	if first >= len(p.tokens) || !p.tokens[first].comment || len(p.file.Symbols) == 0 {
		return
	}
	n, _ := slices.BinarySearchFunc(p.comments, int32(first)+1, func(c comment, t int32) int {
		if c.token < t {
			return -1
		}
		return 1
	})
	p.file.Symbols[len(p.file.Symbols)-1].Doc = docSpan(p.src, p.comments[:n], p.start(first))
}

// docSpan returns the comment, or run of line comments, that ends on the line of at or the line before.
func docSpan(src []byte, comments []comment, at int) Span {
	var s Span
	for n := len(comments) - 1; n >= 0; n-- {
		c := comments[n]
		lines := 0
		for i := c.end; i < at && lines < 2; i++ {
			switch src[i] {
			case '\n':
				lines++
			case ' ', '\t', '\r':
			default:
				return s
			}
		}
		block := src[c.start+1] == '*'
		if lines > 1 || s.End > 0 && block {
			break
		}
		// a comment behind other code of its line belongs to that code
		i := c.start - 1
		for i >= 0 && c.start-i < 400 && (src[i] == ' ' || src[i] == '\t') {
			i--
		}
		if i >= 0 && src[i] != '\n' && src[i] != '{' && src[i] != ';' && src[i] != '(' && src[i] != ',' {
			break
		}
		if s.End == 0 {
			s.End = c.end
		}
		s.Start = c.start
		if at = c.start; block {
			break
		}
	}
	return s
}

// flush lists the function or class by its own name: it is bound to nothing.
func (p *script) flush(v value) {
	if v.kind != "" && v.name > 0 {
		exported, at := p.exported, p.i
		p.exported, p.i = false, v.after
		p.define(v.kind, v.token, v.name, v.sig, v.end)
		p.exported, p.i = exported, at
	}
}

// qualifier returns the text before the name in token i, back to token first, if it is
// names joined by dots.
func (p *script) qualifier(first, i int) string {
	if first >= i-1 {
		return ""
	}
	for n, from := i-1, first; n >= from; n -= 2 {
		if k := p.tokens[n].kind; k != sDot && k != sOptDot && k != sColon {
			return ""
		}
		if n == from {
			return ""
		}
		k := p.tokens[n-1].kind
		if !k.word() && k != sPrivate && k != sJSXName || n < i-1 && p.tokens[n-1].end != p.tokens[n].start {
			return ""
		}
		if n-2 >= from && p.tokens[n-2].end != p.tokens[n-1].start {
			return ""
		}
	}
	return p.text(p.start(first), int(p.tokens[i-2].end))
}

// refer adds a reference to the name in token i of the path that begins at token first.
func (p *script) refer(k RefKind, first, i int) {
	t := &p.tokens[i]
	p.reference(k, p.qualifier(first, i), int(t.start), int(t.end))
}

// exportNames marks what "export { a, b }" names.
func (p *script) exportNames() {
	if len(p.exports) == 0 {
		return
	}
	names := make(map[string]bool, len(p.exports))
	for _, n := range p.exports {
		names[n] = true
	}
	for i := range p.file.Symbols {
		s := &p.file.Symbols[i]
		if names[s.Name] && s.Kind != Method && s.Kind != Field {
			s.Exported = true
		}
	}
}
