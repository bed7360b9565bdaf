package lang

import "sync"

// A rustKind is the kind of a token of Rust.
type rustKind uint8

const (
	rEOF rustKind = iota
	rIdent
	rLifetime
	rNumber
	rString // also of bytes, and characters
	rParen
	rParenEnd
	rBracket
	rBracketEnd
	rBrace
	rBraceEnd
	rLess
	rMore
	rComma
	rColon
	rPath // ::
	rSemi
	rDot
	rRange // .. ..= ...
	rQuestion
	rArrow // ->
	rFat   // =>
	rAssign
	rEqual // == and !=
	rBar   // one |
	rOr    // ||
	rAmp   // & and &&
	rPlus
	rMinus
	rStar
	rNot
	rHash
	rAt
	rDollar
	rBinary
	rOther
	rFirstWord
	rAs
	rBreak
	rConst
	rContinue
	rCrate
	rDyn
	rElse
	rEnum
	rExtern
	rFn
	rFor
	rIf
	rImpl
	rIn
	rLet
	rLoop
	rMatch
	rMod
	rMove
	rMut
	rPub
	rRef
	rReturn
	rSelf
	rStatic
	rStruct
	rSuper
	rTrait
	rTypeWord
	rUnsafe
	rUse
	rWhere
	rWhile
	rAsync // words that are names where the grammar does not want them
	rAuto
	rDefault
	rMacroRules
	rUnion
	rYield
)

// name says that a token can be a component of a path.
func (k rustKind) name() bool {
	return k == rIdent || k >= rAsync || k == rSelf || k == rSuper || k == rCrate
}

func rustWord(w []byte) rustKind {
	if len(w) < 2 || len(w) > 11 || w[0] < 'a' || w[0] > 'y' {
		return rIdent
	}
	switch string(w) {
	case "as":
		return rAs
	case "break":
		return rBreak
	case "const":
		return rConst
	case "continue":
		return rContinue
	case "crate":
		return rCrate
	case "dyn":
		return rDyn
	case "else":
		return rElse
	case "enum":
		return rEnum
	case "extern":
		return rExtern
	case "fn":
		return rFn
	case "for":
		return rFor
	case "if":
		return rIf
	case "impl":
		return rImpl
	case "in":
		return rIn
	case "let":
		return rLet
	case "loop":
		return rLoop
	case "match":
		return rMatch
	case "mod":
		return rMod
	case "move":
		return rMove
	case "mut":
		return rMut
	case "pub":
		return rPub
	case "ref":
		return rRef
	case "return":
		return rReturn
	case "self":
		return rSelf
	case "static":
		return rStatic
	case "struct":
		return rStruct
	case "super":
		return rSuper
	case "trait":
		return rTrait
	case "type":
		return rTypeWord
	case "unsafe":
		return rUnsafe
	case "use":
		return rUse
	case "where":
		return rWhere
	case "while":
		return rWhile
	case "async":
		return rAsync
	case "auto":
		return rAuto
	case "default":
		return rDefault
	case "macro_rules":
		return rMacroRules
	case "union":
		return rUnion
	case "yield":
		return rYield
	}
	return rIdent
}

// A rustToken is one token. Comments and white space are none.
type rustToken struct {
	start, end uint32
	mate       int32 // of an opening bracket: index of what closes it; 0 for none
	kind       rustKind
	comment    bool // a comment stands before it
}

// A rustLexer cuts a file into tokens and finds the mate of every bracket, in one pass.
type rustLexer struct {
	src      []byte
	at       int
	tokens   []rustToken
	open     []int32
	comments []comment
	broken   bool
	comment  bool
}

var rustTokens = sync.Pool{New: func() any { return new([]rustToken) }}

func (l *rustLexer) run() {
	if len(l.src) > 2 && l.src[0] == '#' && l.src[1] == '!' && l.src[2] != '[' {
		l.line()
	}
	for {
		l.space()
		if l.at >= len(l.src) {
			break
		}
		l.next()
	}
	end := int32(len(l.tokens))
	for range padding {
		l.add(rEOF, len(l.src))
	}
	for _, t := range l.open {
		l.broken = true
		l.tokens[t].mate = end
	}
}

func (l *rustLexer) line() {
	for l.at < len(l.src) && l.src[l.at] != '\n' {
		l.at++
	}
}

// space skips white space and comments, which nest.
func (l *rustLexer) space() {
	for src := l.src; l.at < len(src); {
		switch c := src[l.at]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			l.at++
		case c == '/' && l.at+1 < len(src) && src[l.at+1] == '/':
			start := l.at
			l.line()
			l.note(start)
		case c == '/' && l.at+1 < len(src) && src[l.at+1] == '*':
			start, depth := l.at, 1
			for l.at += 2; depth > 0; {
				switch {
				case l.at+1 >= len(src):
					l.at, l.broken, depth = len(src), true, 0
				case src[l.at] == '*' && src[l.at+1] == '/':
					l.at += 2
					depth--
				case src[l.at] == '/' && src[l.at+1] == '*':
					l.at += 2
					depth++
				default:
					l.at++
				}
			}
			l.note(start)
		case c == 0xEF && l.at+2 < len(src) && src[l.at+1] == 0xBB && src[l.at+2] == 0xBF:
			l.at += 3
		default:
			return
		}
	}
}

func (l *rustLexer) note(start int) {
	l.comment = true
	l.comments = append(l.comments, comment{start, l.at, int32(len(l.tokens))})
}

func (l *rustLexer) add(k rustKind, end int) {
	l.tokens = append(l.tokens, rustToken{start: uint32(l.at), end: uint32(end), kind: k, comment: l.comment})
	l.at, l.comment = end, false
}

func rustIdent(c byte) bool { return c != '$' && c != '\\' && scriptClass[c] != 0 || c >= 0x80 }

func (l *rustLexer) identEnd(i int) int {
	for i < len(l.src) && rustIdent(l.src[i]) {
		i++
	}
	return i
}

// peek returns the byte n places ahead, 0 behind the end.
func (l *rustLexer) peek(n int) byte {
	if l.at+n < len(l.src) {
		return l.src[l.at+n]
	}
	return 0
}

func (l *rustLexer) next() {
	src, i := l.src, l.at
	switch c := src[i]; {
	case scriptClass[c] == cDigit:
		l.number()
	case rustIdent(c):
		end := l.identEnd(i)
		if end < len(src) && end-i <= 2 {
			if q := src[end]; q == '"' || q == '#' || q == '\'' {
				if l.prefixed(end) {
					return
				}
			}
		}
		k := rustWord(src[i:end])
		if i > 0 && src[i-1] == '\n' {
			l.recover(k)
		}
		l.add(k, end)
	case c == '"':
		l.str(i)
	case c == '\'':
		l.quote(i)
	default:
		l.punctuation(c)
	}
}

// recover closes the ( and [ that are open where an item begins a line: their ends are missing.
func (l *rustLexer) recover(k rustKind) {
	switch k {
	case rFn, rPub, rStruct, rEnum, rImpl, rTrait, rMod, rUse:
	default:
		return
	}
	for n := len(l.open); n > 0; n = len(l.open) {
		t := l.open[n-1]
		if l.tokens[t].kind == rBrace || t > 0 && l.tokens[t-1].kind == rNot {
			return // the brackets of a macro hold anything
		}
		l.open, l.broken = l.open[:n-1], true
		at := l.tokens[len(l.tokens)-1].end
		l.tokens[t].mate = int32(len(l.tokens))
		l.tokens = append(l.tokens, rustToken{start: at, end: at, kind: l.tokens[t].kind + 1})
	}
}

// prefixed reads a literal or name whose prefix ends at end: r"", br#""#, b”, c"", r#name.
func (l *rustLexer) prefixed(end int) bool {
	prefix, src := string(l.src[l.at:end]), l.src
	raw := prefix == "r" || prefix == "br" || prefix == "cr"
	switch {
	case raw:
		i := end
		for i < len(src) && src[i] == '#' && i-end < 256 {
			i++
		}
		if i >= len(src) || src[i] != '"' {
			if prefix == "r" && i == end+1 && i < len(src) && rustIdent(src[i]) {
				l.add(rIdent, l.identEnd(i))
				return true
			}
			return false
		}
		l.raw(i+1, i-end)
		return true
	case (prefix == "b" || prefix == "c") && src[end] == '"':
		l.str(end)
		return true
	case prefix == "b" && src[end] == '\'':
		l.quote(end)
		return true
	}
	return false
}

// raw reads a raw string from behind its first quote to a quote and that many hashes.
func (l *rustLexer) raw(i, hashes int) {
	src := l.src
	for i < len(src) {
		if src[i] != '"' {
			i++
			continue
		}
		i++
		n := 0
		for n < hashes && i < len(src) && src[i] == '#' {
			n++
			i++
		}
		if n == hashes {
			l.add(rString, i)
			return
		}
	}
	l.broken = true
	l.add(rString, len(src))
}

// str reads a string whose first quote is at i.
func (l *rustLexer) str(i int) {
	for i++; i < len(l.src); i++ {
		switch l.src[i] {
		case '"':
			l.add(rString, i+1)
			return
		case '\\':
			i++
		}
	}
	l.broken = true
	l.add(rString, len(l.src))
}

// quote reads a character or a lifetime whose quote is at i.
func (l *rustLexer) quote(i int) {
	src := l.src
	if i+1 >= len(src) {
		l.add(rOther, len(src))
		return
	}
	if src[i+1] == '\\' {
		for j := i + 3; j < len(src) && j < i+14 && src[j] != '\n'; j++ {
			if src[j] == '\'' {
				l.add(rString, j+1)
				return
			}
		}
		l.broken = true
		l.add(rOther, i+1)
		return
	}
	width := 1
	for i+1+width < len(src) && width < 4 && src[i+1] >= 0xC0 && src[i+1+width]&0xC0 == 0x80 {
		width++
	}
	if i+1+width < len(src) && src[i+1+width] == '\'' {
		l.add(rString, i+width+2)
		return
	}
	if rustIdent(src[i+1]) {
		l.add(rLifetime, l.identEnd(i+1))
		return
	}
	l.broken = true
	l.add(rOther, i+1)
}

func (l *rustLexer) number() {
	src, i := l.src, l.at
	hex := src[i] == '0' && (l.peek(1) == 'x' || l.peek(1) == 'b' || l.peek(1) == 'o')
	dot := false
	for i++; i < len(src); i++ {
		c := src[i]
		if rustIdent(c) {
			continue
		}
		if c == '.' && !dot && !hex && (i+1 >= len(src) || src[i+1] != '.' && (!rustIdent(src[i+1]) || scriptClass[src[i+1]] == cDigit)) {
			if n := len(l.tokens); n > 0 && l.tokens[n-1].kind == rDot {
				break // a.0.1
			}
			dot = true
			continue
		}
		if (c == '+' || c == '-') && !hex && (src[i-1] == 'e' || src[i-1] == 'E') {
			continue
		}
		break
	}
	l.add(rNumber, i)
}

// close adds a closing bracket. One that closes nothing is passed over.
func (l *rustLexer) close(k rustKind) {
	n := len(l.open)
	for i := n - 1; i >= 0 && i >= n-maxMismatch; i-- {
		if l.tokens[l.open[i]].kind != k-1 {
			continue
		}
		at := int32(len(l.tokens))
		l.broken = l.broken || i < n-1
		for _, o := range l.open[i:] {
			l.tokens[o].mate = at
		}
		l.open = l.open[:i]
		l.add(k, l.at+1)
		return
	}
	l.broken = true
	l.at++
}

func (l *rustLexer) bracket(k rustKind) {
	l.open = append(l.open, int32(len(l.tokens)))
	l.add(k, l.at+1)
}

func (l *rustLexer) punctuation(c byte) {
	i, c1 := l.at, l.peek(1)
	switch c {
	case '(':
		l.bracket(rParen)
	case '[':
		l.bracket(rBracket)
	case '{':
		l.bracket(rBrace)
	case ')':
		l.close(rParenEnd)
	case ']':
		l.close(rBracketEnd)
	case '}':
		l.close(rBraceEnd)
	case '<':
		l.add(rLess, i+1)
	case '>':
		l.add(rMore, i+1)
	case ',':
		l.add(rComma, i+1)
	case ';':
		l.add(rSemi, i+1)
	case ':':
		if c1 == ':' {
			l.add(rPath, i+2)
		} else {
			l.add(rColon, i+1)
		}
	case '.':
		switch {
		case c1 != '.':
			l.add(rDot, i+1)
		case l.peek(2) == '=' || l.peek(2) == '.':
			l.add(rRange, i+3)
		default:
			l.add(rRange, i+2)
		}
	case '?':
		l.add(rQuestion, i+1)
	case '=':
		switch c1 {
		case '=':
			l.add(rEqual, i+2)
		case '>':
			l.add(rFat, i+2)
		default:
			l.add(rAssign, i+1)
		}
	case '!':
		if c1 == '=' {
			l.add(rEqual, i+2)
		} else {
			l.add(rNot, i+1)
		}
	case '-':
		switch c1 {
		case '>':
			l.add(rArrow, i+2)
		case '=':
			l.add(rBinary, i+2)
		default:
			l.add(rMinus, i+1)
		}
	case '|':
		switch c1 {
		case '|':
			l.add(rOr, i+2)
		case '=':
			l.add(rBinary, i+2)
		default:
			l.add(rBar, i+1)
		}
	case '&':
		switch c1 {
		case '=':
			l.add(rBinary, i+2)
		default:
			l.add(rAmp, i+1)
		}
	case '+':
		if c1 == '=' {
			l.add(rBinary, i+2)
		} else {
			l.add(rPlus, i+1)
		}
	case '*':
		if c1 == '=' {
			l.add(rBinary, i+2)
		} else {
			l.add(rStar, i+1)
		}
	case '#':
		l.add(rHash, i+1)
	case '@':
		l.add(rAt, i+1)
	case '$':
		l.add(rDollar, i+1)
	case '/', '%', '^':
		l.add(rBinary, i+1+btoi(c1 == '='))
	default:
		l.add(rOther, i+1)
	}
}
