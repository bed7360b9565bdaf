package lang

import "sync"

// A scriptToken is one token. Comments, white space and the text of JSX are none.
type scriptToken struct {
	start, end uint32
	mate       int32 // of an opening bracket: index of what closes it; 0 for none
	kind       scriptKind
	newline    bool // a line ends before it
	comment    bool // a comment stands before it
	glued      bool // of > : another > or = follows at once
}

// A scriptFrame is a bracket, tag or element that is still open.
type scriptFrame struct {
	token int32
	mode  scriptMode
	value bool // of a bracket: what it closes is an operand, so that / after it divides
}

type scriptMode uint8

const (
	inParen scriptMode = iota
	inBracket
	inBrace
	inTemplate
	inAngle
	inTag      // between < and > of an opening tag
	inCloseTag // between </ and >
	inChildren // between an opening and its closing tag
)

// A comment is what stands before a token.
type comment struct {
	start, end int
	token      int32 // index of the token that follows
}

// A scriptLexer cuts a file into tokens and finds the mate of every bracket, in one pass.
type scriptLexer struct {
	src      []byte
	at       int
	tokens   []scriptToken
	frames   []scriptFrame
	comments []comment
	jsx, ts  bool
	broken   bool
	newline  bool
	comment  bool
	divide   int // up to here / divides: no regular expression that begins before it ends on its line
}

// padding is the number of tokens without text at the end, so that looking a few tokens ahead needs no check.
const padding = 16

var scriptTokens = sync.Pool{New: func() any { return new([]scriptToken) }}

// maxPooled is the number of tokens up to which a buffer is kept for the next file.
const maxPooled = 1 << 18

func (l *scriptLexer) run() {
	if len(l.src) > 2 && l.src[0] == '#' && l.src[1] == '!' {
		l.line()
	}
	for {
		if n := len(l.frames); n > 0 && l.frames[n-1].mode == inChildren {
			l.children()
		} else {
			l.space()
		}
		if l.at >= len(l.src) {
			break
		}
		l.next()
	}
	end := int32(len(l.tokens))
	for range padding {
		l.add(sEOF, len(l.src))
	}
	for _, f := range l.frames {
		if f.mode != inAngle {
			l.broken = true
			l.tokens[f.token].mate = end
		}
	}
}

// line skips to the end of the line.
func (l *scriptLexer) line() {
	for l.at < len(l.src) && l.src[l.at] != '\n' && l.src[l.at] != '\r' {
		l.at++
	}
}

// space skips white space and comments.
func (l *scriptLexer) space() {
	for src := l.src; l.at < len(src); {
		switch c := src[l.at]; {
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			l.at++
		case c == '\n' || c == '\r':
			l.newline = true
			l.at++
		case c == '/' && l.at+1 < len(src) && src[l.at+1] == '/':
			start := l.at
			l.line()
			l.note(start)
		case c == '/' && l.at+1 < len(src) && src[l.at+1] == '*':
			start := l.at
			for l.at += 2; ; l.at++ {
				if l.at+1 >= len(src) {
					l.at, l.broken = len(src), true
					break
				}
				if src[l.at] == '*' && src[l.at+1] == '/' {
					l.at += 2
					break
				}
				if src[l.at] == '\n' {
					l.newline = true
				}
			}
			l.note(start)
		case c < 0x80:
			return
		case c == 0xC2 && l.at+1 < len(src) && src[l.at+1] == 0xA0:
			l.at += 2
		case c == 0xEF && l.at+2 < len(src) && src[l.at+1] == 0xBB && src[l.at+2] == 0xBF:
			l.at += 3
		case c == 0xE2 && l.at+2 < len(src) && src[l.at+1] == 0x80 && (src[l.at+2] == 0xA8 || src[l.at+2] == 0xA9):
			l.newline = true
			l.at += 3
		default:
			return
		}
	}
}

func (l *scriptLexer) note(start int) {
	l.comment = true
	l.comments = append(l.comments, comment{start, l.at, int32(len(l.tokens))})
}

// children skips the text of an element up to a tag or an expression.
func (l *scriptLexer) children() {
	for l.at < len(l.src) && l.src[l.at] != '<' && l.src[l.at] != '{' {
		l.at++
	}
}

// add makes a token of what stands between the current place and end.
func (l *scriptLexer) add(k scriptKind, end int) {
	l.tokens = append(l.tokens, scriptToken{
		start: uint32(l.at), end: uint32(end), kind: k, newline: l.newline, comment: l.comment,
	})
	l.at, l.newline, l.comment = end, false, false
}

func (l *scriptLexer) push(m scriptMode, value bool) {
	l.frames = append(l.frames, scriptFrame{int32(len(l.tokens) - 1), m, value})
}

func (l *scriptLexer) top() scriptMode {
	if n := len(l.frames); n > 0 {
		return l.frames[n-1].mode
	}
	return 255
}

// kind returns the kind of the last token.
func (l *scriptLexer) last() scriptKind {
	if n := len(l.tokens); n > 0 {
		return l.tokens[n-1].kind
	}
	return sEOF
}

// operand says that the tokens so far end with an operand, so that / divides and < compares.
func (l *scriptLexer) operand() bool {
	n := len(l.tokens)
	if n == 0 {
		return false
	}
	switch k := l.tokens[n-1].kind; k {
	case sIdent, sPrivate, sNumber, sString, sRegexp, sTemplate, sTemplateTail, sBracketEnd, sIncDec, sJSXEnd, sJSXSelf,
		wThis, wSuper, wNull, wTrue, wFalse:
		return true
	case sParenEnd, sBraceEnd:
		return l.tokens[n-1].glued // set by close: the bracket is an operand
	case sNot:
		// after an operand and on its line it is TypeScript's assertion
		return l.ts && n > 1 && !l.tokens[n-1].newline && l.src[l.tokens[n-1].start] == '!' &&
			(l.tokens[n-2].kind == sIdent || l.tokens[n-2].kind == sParenEnd || l.tokens[n-2].kind == sBracketEnd)
	case wYield, wAwait, wOf:
		return n > 1 && (l.tokens[n-2].kind == sDot || l.tokens[n-2].kind == sOptDot)
	default:
		if k > sFirstWord && n > 1 && (l.tokens[n-2].kind == sDot || l.tokens[n-2].kind == sOptDot) {
			return true
		}
		return k >= wAbstract
	}
}

const (
	cIdent = 1 << iota // begins or continues a name
	cDigit
)

var scriptClass = [256]uint8{'$': cIdent, '_': cIdent, '\\': cIdent,
	'0': cDigit, '1': cDigit, '2': cDigit, '3': cDigit, '4': cDigit, '5': cDigit, '6': cDigit, '7': cDigit, '8': cDigit, '9': cDigit,
	'a': cIdent, 'b': cIdent, 'c': cIdent, 'd': cIdent, 'e': cIdent, 'f': cIdent, 'g': cIdent, 'h': cIdent, 'i': cIdent, 'j': cIdent,
	'k': cIdent, 'l': cIdent, 'm': cIdent, 'n': cIdent, 'o': cIdent, 'p': cIdent, 'q': cIdent, 'r': cIdent, 's': cIdent, 't': cIdent,
	'u': cIdent, 'v': cIdent, 'w': cIdent, 'x': cIdent, 'y': cIdent, 'z': cIdent,
	'A': cIdent, 'B': cIdent, 'C': cIdent, 'D': cIdent, 'E': cIdent, 'F': cIdent, 'G': cIdent, 'H': cIdent, 'I': cIdent, 'J': cIdent,
	'K': cIdent, 'L': cIdent, 'M': cIdent, 'N': cIdent, 'O': cIdent, 'P': cIdent, 'Q': cIdent, 'R': cIdent, 'S': cIdent, 'T': cIdent,
	'U': cIdent, 'V': cIdent, 'W': cIdent, 'X': cIdent, 'Y': cIdent, 'Z': cIdent,
}

// identEnd returns where the name that begins at i ends.
func (l *scriptLexer) identEnd(i int) int {
	src := l.src
	for i < len(src) {
		c := src[i]
		if scriptClass[c] == 0 && c < 0x80 {
			break
		}
		if c == '\\' && i+2 < len(src) && src[i+1] == 'u' && src[i+2] == '{' {
			for i += 3; i < len(src) && src[i] != '}' && scriptClass[src[i]] != 0; i++ {
			}
		}
		if c == 0xE2 && i+2 < len(src) && src[i+1] == 0x80 && (src[i+2] == 0xA8 || src[i+2] == 0xA9) {
			break
		}
		i++
	}
	return min(i, len(src))
}

// next reads one token.
func (l *scriptLexer) next() {
	src, i := l.src, l.at
	c := src[i]
	if m := l.top(); m == inTag || m == inCloseTag {
		l.tag(m)
		return
	} else if m == inChildren {
		if c == '<' {
			l.element()
		} else {
			l.open(sBrace, inBrace)
		}
		return
	}
	switch {
	case scriptClass[c]&cIdent != 0 || c >= 0x80:
		end := l.identEnd(i)
		k := scriptWord(src[i:end])
		if k != sIdent && k < wAbstract {
			if p := l.last(); p == sDot || p == sOptDot {
				k = sIdent // a property's name
			}
			l.recover(k, end)
		}
		l.add(k, max(end, i+1))
	case scriptClass[c]&cDigit != 0, c == '.' && i+1 < len(src) && scriptClass[src[i+1]]&cDigit != 0:
		l.number()
	case c == '"' || c == '\'':
		l.str(c)
	case c == '`':
		l.template(sTemplate, sTemplateHead)
	case c == '/' && !l.operand():
		if end := l.regexpEnd(); end > 0 {
			l.add(sRegexp, end)
		} else {
			l.add(sBinary, i+1)
		}
	default:
		l.punctuation()
	}
}

// recover closes the ( and [ that are open where a declaration begins a line: their ends are missing.
func (l *scriptLexer) recover(k scriptKind, end int) {
	if l.at == 0 || l.src[l.at-1] != '\n' {
		return
	}
	if m := l.top(); m > inBracket && m != inAngle {
		return
	}
	switch k {
	case wExport, wConst, wVar:
	case wFunction, wClass:
		if end >= len(l.src) || l.src[end] != ' ' {
			return
		}
		switch l.last() {
		case sParen, sComma, sBracket, sArrow, sColon, sQuestion, sAssign, wReturn, wAsync:
			return // it is an expression
		}
	default:
		return
	}
	for n := len(l.frames); n > 0 && (l.frames[n-1].mode <= inBracket || l.frames[n-1].mode == inAngle); n = len(l.frames) {
		f := l.frames[n-1]
		l.frames = l.frames[:n-1]
		if f.mode == inAngle {
			continue
		}
		l.broken = true
		at := l.tokens[len(l.tokens)-1].end
		l.tokens[f.token].mate = int32(len(l.tokens))
		l.tokens = append(l.tokens, scriptToken{start: at, end: at, kind: l.tokens[f.token].kind + 1})
	}
}

// number reads a number, loosely: what cannot end one belongs to it.
func (l *scriptLexer) number() {
	i := l.at + 1
	hex := i < len(l.src) && (l.src[i] == 'x' || l.src[i] == 'X')
	for ; i < len(l.src); i++ {
		c := l.src[i]
		if scriptClass[c] != 0 && c != '\\' {
			continue
		}
		if c == '.' && !hex && (i+1 >= len(l.src) || l.src[i+1] != '.') {
			continue
		}
		if (c == '+' || c == '-') && !hex && (l.src[i-1] == 'e' || l.src[i-1] == 'E') {
			continue
		}
		break
	}
	l.add(sNumber, i)
}

// str reads a string. One that is not closed ends with its line.
func (l *scriptLexer) str(quote byte) {
	for i := l.at + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case quote:
			l.add(sString, i+1)
			return
		case '\\':
			i++
			if i+1 < len(l.src) && l.src[i] == '\r' && l.src[i+1] == '\n' {
				i++
			}
		case '\n':
			l.broken = true
			l.add(sString, i)
			return
		}
	}
	l.broken = true
	l.add(sString, len(l.src))
}

// template reads a part of a template: whole if the template ends with it, head if a substitution follows.
func (l *scriptLexer) template(whole, head scriptKind) {
	for i := l.at + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '`':
			l.add(whole, i+1)
			return
		case '\\':
			i++
		case '$':
			if i+1 < len(l.src) && l.src[i+1] == '{' {
				l.add(head, i+2)
				l.push(inTemplate, true)
				return
			}
		}
	}
	l.broken = true
	l.add(whole, len(l.src))
}

// regexpEnd returns where the regular expression here ends, 0 if it is none.
func (l *scriptLexer) regexpEnd() int {
	if l.at < l.divide {
		return 0
	}
	class := false
	i := l.at + 1
	for ; i < len(l.src) && l.src[i] != '\n' && l.src[i] != '\r'; i++ {
		switch l.src[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return l.identEnd(i + 1)
			}
		}
	}
	l.divide = i
	return 0
}
