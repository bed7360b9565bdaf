package lang

import "slices"

// scanRust reads Rust as scanScript reads JavaScript: a lexer that links brackets, then
// one walk over the tokens. What stands in the brackets of a macro is not looked at.
func scanRust(src []byte) File {
	buffer := rustTokens.Get().(*[]rustToken)
	l := rustLexer{src: src, tokens: (*buffer)[:0]}
	l.run()
	p := rust{builder: builder{src: src, owners: true}, tokens: l.tokens, comments: l.comments}
	p.limit = len(p.tokens) - padding
	for p.i < p.limit {
		p.step(p.item)
	}
	file := p.finish()
	file.Broken = l.broken || p.broken
	if cap(l.tokens) <= maxPooled {
		*buffer = l.tokens
		rustTokens.Put(buffer)
	}
	return file
}

// A rust is the parser: a place in the tokens and what surrounds it.
type rust struct {
	builder
	tokens     []rustToken
	comments   []comment
	i, limit   int
	depth      int
	inFunction bool // constants are not listed
	inType     bool // functions are methods
	lead       int  // the token that the statement or arm being read begins with
	noStruct   bool // { after a path begins a block
	public     bool // members of a trait, or of an impl of one, are as public as it
	naming     bool // the next name of a type is the name of an impl
	implName   int  // that name's token, 0 for none yet
	broken     bool
}

func (p *rust) kind() rustKind { return p.tokens[p.i].kind }

func (p *rust) at(n int) rustKind {
	if p.i+n < len(p.tokens) {
		return p.tokens[p.i+n].kind
	}
	return rEOF
}

// is says that the token here is of that kind and within the bracket.
func (p *rust) is(k rustKind) bool { return p.i < p.limit && p.tokens[p.i].kind == k }

func (p *rust) take(k rustKind) bool {
	if p.is(k) {
		p.i++
		return true
	}
	return false
}

func (p *rust) start(i int) int { return int(p.tokens[i].start) }

func (p *rust) end() int {
	if p.i == 0 {
		return 0
	}
	return int(p.tokens[p.i-1].end)
}

func (p *rust) mate(i int) int {
	if m := int(p.tokens[i].mate); m > i {
		return min(m, p.limit)
	}
	return p.limit
}

// step runs f, or goes one token on if f does not.
func (p *rust) step(f func()) {
	at := p.i
	f()
	if p.i == at {
		p.broken = true
		p.i++
	}
}

// inside runs f between the bracket here and its mate, and goes behind it.
// Too deep it only looks for calls.
func (p *rust) inside(f func()) {
	m := p.mate(p.i)
	limit, noStruct := p.limit, p.noStruct
	p.limit, p.noStruct = m, false
	p.i++
	if p.depth++; p.depth > maxDepth {
		for ; p.i < m; p.i++ {
			if p.kind() == rIdent && p.at(1) == rParen && p.tokens[p.i-1].kind != rFn {
				p.refer(Call, p.i, p.i)
			}
		}
	} else {
		for p.i < m {
			p.step(f)
		}
	}
	p.depth--
	p.limit, p.noStruct = limit, noStruct
	p.i = m
	if m < limit {
		p.i++
	}
}

// skip goes behind the bracket here.
func (p *rust) skip() {
	m := p.mate(p.i)
	p.i = m
	if m < p.limit {
		p.i++
	}
}

// refer adds a reference to the name in token i of the path that begins at token first.
func (p *rust) refer(k RefKind, first, i int) {
	t := &p.tokens[i]
	p.reference(k, p.qualifier(first, i), int(t.start), int(t.end))
}

// qualifier returns the text before the name in token i, back to token first, if it is
// names joined by dots or colons.
func (p *rust) qualifier(first, i int) string {
	if first >= i-1 {
		return ""
	}
	for n := first; n < i-1; n++ {
		k := p.tokens[n].kind
		joined := k == rDot || k == rPath || k == rQuestion || k == rDollar
		if !joined && !k.name() && k != rNumber && k <= rFirstWord || n > first && p.tokens[n].start != p.tokens[n-1].end {
			return ""
		}
	}
	return p.text(p.start(first), int(p.tokens[i-2].end))
}

// define adds a symbol that begins with token first and ends with the last one read.
func (p *rust) define(k Kind, begin, first, name int) *Symbol {
	t := &p.tokens[name]
	n := p.symbol(k, p.start(first), max(p.end(), int(t.end)), int(t.start), int(t.end))
	s := &p.file.Symbols[n]
	s.Exported = p.tokens[first].kind == rPub
	if p.tokens[begin].comment {
		n, _ := slices.BinarySearchFunc(p.comments, int32(begin)+1, func(c comment, t int32) int {
			if c.token < t {
				return -1
			}
			return 1
		})
		s.Doc = docSpan(p.src, p.comments[:n], p.start(begin))
		if d := s.Doc; d.End > 0 && d.Start+2 < len(p.src) && p.src[d.Start+2] == '!' {
			s.Doc = Span{} // of what is around
		}
	}
	return s
}

// attributes steps over #[…] and #![…].
func (p *rust) attributes() {
	for p.is(rHash) {
		if p.at(1) == rBracket && p.i+1 < p.limit {
			p.i++
			p.attribute()
		} else if p.at(1) == rNot && p.at(2) == rBracket && p.i+2 < p.limit {
			p.i += 2
			p.attribute()
		} else {
			return
		}
	}
}

// attribute steps over the brackets of an attribute. It reads the macro in [doc = concat!(…)].
func (p *rust) attribute() {
	if p.at(2) != rAssign || p.at(4) != rNot {
		p.skip()
		return
	}
	p.inside(func() {
		p.i = min(p.i+2, p.limit)
		p.expression(false)
	})
}

// item reads an item, or a statement where there is none.
func (p *rust) item() {
	begin := p.i
	p.attributes()
	if p.i >= p.limit {
		return
	}
	if !p.declaration(begin) {
		p.statement()
	}
}

// declaration reads an item, if there is one. Its attributes begin at token begin.
func (p *rust) declaration(begin int) bool {
	first := p.i
	if p.take(rPub) {
		if p.is(rParen) {
			if k := p.at(1); k == rCrate || k == rSuper || k == rSelf || k == rIn {
				p.skip()
			}
		}
	} else if p.kind() == rCrate && p.at(1) != rPath && p.at(1) != rNot {
		p.i++
	}
	item := p.itemWord()
	switch item {
	case rFn:
		p.function(begin, first)
	case rStruct, rUnion, rEnum:
		p.structure(begin, first, item)
	case rImpl:
		p.impl(begin, first)
	case rTrait:
		p.trait(begin, first)
	case rMod:
		p.module(begin, first)
	case rConst, rStatic:
		p.constant(begin, first, item)
	case rTypeWord:
		p.alias(begin, first)
	case rUse:
		p.i++
		p.useTree(usePrefix{})
		p.take(rSemi)
	case rExtern:
		p.extern()
	case rMacroRules:
		p.macroRules(begin, first)
	default:
		if p.i == first {
			return false
		}
		if p.is(rIdent) { // a field, or an item of a newer grammar
			p.i++
		}
	}
	return true
}

// itemWord steps over const, unsafe and the like before an item, and returns the word that says what it is.
func (p *rust) itemWord() rustKind {
	for n := 0; n < 6; n++ {
		k := p.at(n)
		if p.i+n >= p.limit {
			return rEOF
		}
		switch k {
		case rFn, rImpl, rTrait:
			if k == rFn && p.at(n+1) == rParen {
				return rEOF // a type
			}
			p.i += n
			return k
		case rStruct, rEnum, rMod, rTypeWord, rUse:
			p.i += n
			return k
		case rUnion:
			if p.at(n+1) == rIdent {
				p.i += n
				return k
			}
			return rEOF
		case rMacroRules:
			if p.at(n+1) == rNot && p.at(n+2).name() {
				p.i += n
				return k
			}
			return rEOF
		case rStatic:
			if a := p.at(n + 1); a.name() || a == rMut || a == rRef {
				if p.at(n+1) == rAsync && p.at(n+2) != rColon { // static async: a closure
					return rEOF
				}
				p.i += n
				return k
			}
			return rEOF
		case rConst:
			if a := p.at(n + 1); (a == rIdent || a == rMut || a >= rAsync) && (p.at(n+2) == rColon || p.at(n+2) == rAssign || a == rMut || p.at(n+2) == rLess) {
				p.i += n
				return k
			}
		case rExtern:
			if a := p.at(n + 1); a == rCrate || a == rBrace || a == rString && p.at(n+2) == rBrace {
				p.i += n
				return k
			}
			if p.at(n+1) == rString {
				n++
			}
		case rUnsafe, rAsync, rDefault, rAuto, rIdent:
			if k == rIdent && (string(p.src[p.start(p.i+n):p.tokens[p.i+n].end]) != "safe" || p.at(n+1) != rFn && p.at(n+1) != rStatic) {
				return rEOF
			}
		default:
			return rEOF
		}
	}
	return rEOF
}

func (p *rust) function(begin, first int) {
	p.i++
	name := p.i
	if !p.kind().name() {
		return
	}
	p.i++
	sig := p.start(p.i)
	if p.is(rLess) {
		p.typeParameters()
	}
	if p.is(rParen) {
		p.inside(p.parameter)
	}
	if p.take(rArrow) {
		p.types(true)
	}
	end := p.end()
	p.where()
	kind := Function
	if p.inType {
		kind = Method
	}
	public := p.public && p.inType
	if p.is(rBrace) {
		p.body()
	} else {
		p.take(rSemi)
	}
	s := p.define(kind, begin, first, name)
	s.Exported = s.Exported || public
	s.Signature = oneLine(p.src[sig:max(sig, end)], maxSignature)
}

// body reads the block of a function.
func (p *rust) body() {
	function, in := p.inFunction, p.inType
	p.inFunction, p.inType = true, false
	p.inside(p.item)
	p.inFunction, p.inType = function, in
}

// parameter reads one parameter of a function.
func (p *rust) parameter() {
	p.attributes()
	if p.take(rComma) {
		return
	}
	p.pattern(false)
	if p.take(rColon) {
		if !p.take(rRange) {
			p.types(true)
		}
	}
	p.take(rComma)
}

// where reads a where clause.
func (p *rust) where() {
	if !p.take(rWhere) {
		return
	}
	for p.i < p.limit && p.kind() != rBrace && p.kind() != rSemi && p.kind() != rAssign {
		at := p.i
		p.types(true)
		if p.take(rColon) {
			p.types(true)
		}
		p.take(rComma)
		if p.i == at {
			return
		}
	}
}
