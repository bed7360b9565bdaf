package lang

// open adds an opening bracket.
func (l *scriptLexer) open(k scriptKind, m scriptMode) {
	value := true
	switch k {
	case sParen:
		switch l.last() {
		case wIf, wWhile, wFor, wWith:
			value = false
		}
	case sBrace:
		switch l.last() {
		case sParenEnd, sArrow, sEOF, sSemi, sBrace, sBraceEnd, sIdent, sString, wElse, wDo, wTry, wFinally, sMore:
			value = false
		case sColon:
			// after a label or case it is a block, which hardly anyone divides
		default:
			value = l.last() < wAbstract
		}
	}
	l.add(k, l.at+1)
	l.push(m, value)
}

// maxMismatch is how many open brackets are looked at for the mate of one that closes.
const maxMismatch = 16

// close adds a closing bracket and ends what it closes. One that closes nothing is passed over.
func (l *scriptLexer) close(k scriptKind, m scriptMode) {
	for l.top() == inAngle {
		l.frames = l.frames[:len(l.frames)-1]
	}
	n := len(l.frames)
	for i := n - 1; i >= 0 && i >= n-maxMismatch; i-- {
		f := l.frames[i]
		if f.mode == inTemplate || f.mode == inChildren {
			if k == sBraceEnd && i == n-1 && f.mode == inTemplate {
				l.template(sTemplateTail, sTemplateMid)
				l.resume(f)
				return
			}
			break
		}
		if f.mode != m {
			continue
		}
		at := int32(len(l.tokens))
		for _, o := range l.frames[i+1:] {
			l.broken = true
			if o.mode != inAngle {
				l.tokens[o.token].mate = at
			}
		}
		l.tokens[f.token].mate = at
		l.frames = l.frames[:i]
		l.add(k, l.at+1)
		l.tokens[at].glued = f.value
		return
	}
	l.broken = true
	l.at++
}

// resume links a part of a template with the part before, whose frame f was.
func (l *scriptLexer) resume(f scriptFrame) {
	at := int32(len(l.tokens) - 1)
	l.tokens[f.token].mate = at
	if l.tokens[at].kind == sTemplateMid { // template pushed a frame above f's
		n := len(l.frames)
		l.frames[n-2] = l.frames[n-1]
	}
	l.frames = l.frames[:len(l.frames)-1]
}

// endAngles forgets the < that are open: an operator cannot stand in a list of types.
func (l *scriptLexer) endAngles() {
	for l.top() == inAngle {
		l.frames = l.frames[:len(l.frames)-1]
	}
}

// punctuation reads an operator or bracket.
func (l *scriptLexer) punctuation() {
	src, i := l.src, l.at
	var c1, c2 byte
	if i+1 < len(src) {
		c1 = src[i+1]
	}
	if i+2 < len(src) {
		c2 = src[i+2]
	}
	switch c := src[i]; c {
	case '(':
		l.open(sParen, inParen)
	case '[':
		l.open(sBracket, inBracket)
	case '{':
		l.open(sBrace, inBrace)
	case ')':
		l.close(sParenEnd, inParen)
	case ']':
		l.close(sBracketEnd, inBracket)
	case '}':
		l.close(sBraceEnd, inBrace)
	case '<':
		l.less(c1, c2)
	case '>':
		l.more(c1)
	case ',':
		l.add(sComma, i+1)
	case ';':
		l.endAngles()
		l.add(sSemi, i+1)
	case ':':
		l.add(sColon, i+1)
	case '@':
		l.add(sAt, i+1)
	case '.':
		if c1 == '.' && c2 == '.' {
			l.add(sSpread, i+3)
		} else {
			l.add(sDot, i+1)
		}
	case '?':
		l.question(c1, c2)
	case '=':
		switch {
		case c1 == '>':
			l.add(sArrow, i+2)
		case c1 == '=':
			l.endAngles()
			l.add(sBinary, i+2+btoi(c2 == '='))
		default:
			l.add(sAssign, i+1)
		}
	case '!', '~':
		if c == '!' && c1 == '=' {
			l.endAngles()
			l.add(sBinary, i+2+btoi(c2 == '='))
		} else {
			l.add(sNot, i+1)
		}
	case '+', '-':
		switch c1 {
		case c:
			l.add(sIncDec, i+2)
		case '=':
			l.add(sBinary, i+2)
		default:
			l.add(sPlus, i+1)
		}
	case '*':
		l.star(c1, c2)
	case '&', '|':
		l.bar(c, c1, c2)
	case '/', '%', '^':
		l.endAngles()
		l.add(sBinary, i+1+btoi(c1 == '='))
	case '#':
		if c1 != 0 && (scriptClass[c1]&cIdent != 0 || c1 >= 0x80) {
			l.add(sPrivate, l.identEnd(i+1))
			return
		}
		l.add(sOther, i+1)
	default:
		l.add(sOther, i+1)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (l *scriptLexer) question(c1, c2 byte) {
	i := l.at
	switch {
	case c1 == '.' && scriptClass[c2]&cDigit == 0:
		l.add(sOptDot, i+2)
	case c1 == '?':
		l.endAngles()
		l.add(sBinary, i+2+btoi(c2 == '='))
	default:
		l.add(sQuestion, i+1)
	}
}

func (l *scriptLexer) star(c1, c2 byte) {
	i := l.at
	switch {
	case c1 == '*':
		l.add(sBinary, i+2+btoi(c2 == '='))
	case c1 == '=':
		l.add(sBinary, i+2)
	default:
		l.add(sStar, i+1)
	}
}

func (l *scriptLexer) bar(c, c1, c2 byte) {
	i := l.at
	switch {
	case c1 == c:
		l.endAngles()
		l.add(sBinary, i+2+btoi(c2 == '='))
	case c1 == '=':
		l.add(sBinary, i+2)
	case c == '|':
		l.add(sBar, i+1)
	default:
		l.add(sAmp, i+1)
	}
}

// less reads what begins with <: an element, a list of types, or an operator.
func (l *scriptLexer) less(c1, c2 byte) {
	i := l.at
	if l.jsx && !l.operand() && l.elementHere() {
		l.element()
		return
	}
	switch {
	case c1 == '<' && (!l.ts || c2 == '=' || !l.typeAfterShift(i+2)):
		l.endAngles()
		l.add(sBinary, i+2+btoi(c2 == '='))
	case c1 == '=':
		l.endAngles()
		l.add(sBinary, i+2)
	case c1 == '!' && c2 == '-' && i+3 < len(l.src) && l.src[i+3] == '-':
		start := i
		l.line()
		l.note(start)
	default:
		l.add(sLess, i+1)
		if l.ts {
			l.push(inAngle, false)
		}
	}
}

// typeAfterShift says that << at a type's arguments begins a generic function type: F<<A, B>(x: A) => B>.
func (l *scriptLexer) typeAfterShift(i int) bool {
	if n := len(l.tokens); n == 0 || int(l.tokens[n-1].end) != l.at || l.tokens[n-1].kind != sIdent {
		return false
	}
	end := l.identEnd(i)
	if end == i || end-i > 64 || end+1 >= len(l.src) {
		return false
	}
	return l.src[end] == '>' && l.src[end+1] == '(' || l.src[end] == ',' && l.src[end+1] == ' ' || hasPrefixAt(l.src, end, " extends ")
}

func (l *scriptLexer) more(c1 byte) {
	i := l.at
	if l.top() == inAngle {
		n := len(l.frames)
		at := int32(len(l.tokens))
		l.tokens[l.frames[n-1].token].mate = at
		l.frames = l.frames[:n-1]
		l.add(sMore, i+1)
		l.tokens[at].glued = c1 == '>' || c1 == '='
		return
	}
	end := i + 1
	for end < len(l.src) && end < i+3 && l.src[end] == '>' {
		end++
	}
	if end < len(l.src) && l.src[end] == '=' {
		end++
	}
	l.add(sBinary, end)
}

// elementHere says that < begins an element of JSX and not the type parameters of a function.
func (l *scriptLexer) elementHere() bool {
	i := l.at + 1
	if i >= len(l.src) {
		return false
	}
	if l.src[i] == '>' {
		return true
	}
	for i < len(l.src) && i < l.at+64 && (l.src[i] == ' ' || l.src[i] == '\n') {
		i++
	}
	if i >= len(l.src) || scriptClass[l.src[i]]&cIdent == 0 && l.src[i] < 0x80 {
		return false
	}
	if !l.ts {
		return true
	}
	end := l.identEnd(i)
	word := string(l.src[i:min(end, i+6)])
	for end < len(l.src) && end < i+256 && (l.src[end] == ' ' || l.src[end] == '\n') {
		end++
	}
	if end >= len(l.src) {
		return true
	}
	switch l.src[end] {
	case ',':
		return false
	case '>':
		// in a type <T>(…) is a function; an element with text in brackets right after its tag is rare
		if end+1 < len(l.src) && l.src[end+1] == '(' {
			return false
		}
	case 'e':
		return !hasPrefixAt(l.src, end, "extends ")
	case '=':
		return hasPrefixAt(l.src, end, "={") || hasPrefixAt(l.src, end, `="`)
	}
	return word != "const "
}

func hasPrefixAt(src []byte, at int, prefix string) bool {
	return len(src)-at >= len(prefix) && string(src[at:at+len(prefix)]) == prefix
}

// element reads the < or </ of a tag.
func (l *scriptLexer) element() {
	if l.at+1 < len(l.src) && l.src[l.at+1] == '/' {
		l.add(sJSXClose, l.at+2)
		if n := len(l.frames); n > 0 && l.frames[n-1].mode == inChildren {
			l.frames[n-1].mode = inCloseTag
		}
		return
	}
	l.add(sJSX, l.at+1)
	l.push(inTag, true)
}

// tag reads a token of a tag.
func (l *scriptLexer) tag(m scriptMode) {
	src, i := l.src, l.at
	switch c := src[i]; {
	case c == '{':
		l.open(sBrace, inBrace)
	case c == '"' || c == '\'':
		for end := i + 1; end < len(src); end++ {
			if src[end] == c {
				l.add(sString, end+1)
				return
			}
		}
		l.broken = true
		l.add(sString, len(src))
	case c == '/' && i+1 < len(src) && src[i+1] == '>':
		l.add(sJSXSelf, i+2)
		l.endElement()
	case c == '>':
		l.add(sJSXEnd, i+1)
		if m == inTag {
			l.frames[len(l.frames)-1].mode = inChildren
		} else {
			l.endElement()
		}
	case c == '<':
		if l.ts && m == inTag { // type arguments
			l.add(sLess, i+1)
			l.push(inAngle, false)
			return
		}
		l.broken = true
		l.add(sOther, i+1)
	case c == '.':
		l.add(sDot, i+1)
	case c == '=':
		l.add(sAssign, i+1)
	case c == ':':
		l.add(sColon, i+1)
	case scriptClass[c]&cIdent != 0 || c >= 0x80:
		end := i
		for end < len(src) && (scriptClass[src[end]] != 0 || src[end] == '-' || src[end] >= 0x80) {
			end++
		}
		l.add(sJSXName, end)
	default:
		l.add(sOther, i+1)
	}
}

// endElement ends the innermost element with the token just read.
func (l *scriptLexer) endElement() {
	n := len(l.frames)
	l.tokens[l.frames[n-1].token].mate = int32(len(l.tokens) - 1)
	l.frames = l.frames[:n-1]
}
