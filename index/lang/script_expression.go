package lang

// sequence reads expressions with commas between them. A value comes back of a lone one.
func (p *script) sequence() value {
	v := p.expression()
	for p.i < p.limit && p.kind() == sComma {
		p.flush(v)
		p.i++
		v = value{}
		p.flush(p.expression())
	}
	return v
}

// list reads the next of the expressions within a bracket.
func (p *script) list() {
	p.take(sSpread)
	if p.kind() != sComma {
		p.flush(p.expression())
	}
	p.take(sComma)
}

// flushed reads expressions that are bound to nothing.
func (p *script) flushed() { p.flush(p.sequence()) }

// A target is the left side of an assignment.
type target struct {
	first, name int // tokens; name 0 for none
}

// expression reads up to a comma, a closing bracket or whatever else cannot belong to it.
func (p *script) expression() value {
	var v value
	var to target // of the assignment whose right side comes next
	pure := true  // no operator before the operand
	for p.i < p.limit {
		bare := p.prefix()
		first := p.i
		v = p.operand()
		if !bare {
			p.flush(v)
			v = value{}
		}
		arrow := v.kind == Function && v.name < 0
		if arrow {
			v.name = 0
		}
		// what may follow an operand without an operator
		for p.ts && (p.kind() == wAs || p.kind() == wSatisfies) && p.i < p.limit && !p.tokens[p.i].newline && !arrow {
			p.flush(v)
			v = value{}
			p.i++
			if !p.take(wConst) {
				p.types()
			}
		}
		k := p.kind()
		if p.i >= p.limit || !p.operator(k) || arrow {
			if to.name > 0 && v.kind != "" {
				p.define(v.kind, to.first, to.name, v.sig, v.end)
				p.doc(to.first)
				v = value{}
			}
			if !pure {
				p.flush(v)
				v = value{}
			}
			return v
		}
		p.flush(v)
		v, to = value{}, target{}
		p.i++
		pure = false
		switch k {
		case sLess:
			p.take(sLess)
		case sAssign:
			if last := p.i - 2; last == first && p.tokens[last].kind.name() ||
				last > first && (p.tokens[last].kind.word() || p.tokens[last].kind == sPrivate) && (p.tokens[last-1].kind == sDot || p.tokens[last-1].kind == sOptDot) {
				to = target{first, last}
			}
		case sQuestion:
			p.consequent()
		}
	}
	return v
}

// consequent reads what stands between ? and : of a conditional, and the colon.
func (p *script) consequent() {
	if p.depth++; p.depth > maxDepth {
		p.depth--
		return // the tokens follow as if they were alone
	}
	ternary, noIn := p.inTernary, p.noIn
	p.inTernary, p.noIn = true, false
	p.flush(p.expression())
	p.inTernary, p.noIn = ternary, noIn
	p.depth--
	p.take(sColon)
}

// prefix steps over operators before an operand, and says whether there were none.
func (p *script) prefix() bool {
	at := p.i
	for p.i < p.limit {
		switch p.kind() {
		case sNot, sPlus, sIncDec, wTypeof, wVoid, wDelete, sSpread:
			p.i++
			continue
		case wAwait:
			if k := p.at(1); k != sArrow && k != sAssign && k != sComma && k != sParenEnd && k != sDot && k != sColon && k != sSemi {
				p.i++
				continue
			}
		case wYield:
			if k := p.at(1); k == sStar {
				p.i += 2
				continue
			} else if k != sArrow && k != sAssign && k != sDot {
				p.i++
				continue
			}
		case sLess:
			if p.ts && p.tokens[p.i].mate > 0 && !p.generic() {
				p.typeArguments() // <T>value
				continue
			}
		}
		break
	}
	return p.i == at
}

// operator says that a token stands between two operands.
func (p *script) operator(k scriptKind) bool {
	switch k {
	case sAssign, sStar, sBar, sAmp, sPlus, sBinary, sLess, sMore, sQuestion, wInstanceof:
		return true
	case wIn:
		return !p.noIn
	}
	return false
}

// generic says that < begins the type parameters of a function.
func (p *script) generic() bool {
	m := int(p.tokens[p.i].mate)
	return m > 0 && m+1 < p.limit && p.tokens[m+1].kind == sParen && p.arrowAt(m+1)
}

// arrowAt says that the bracket in token i holds the parameters of an arrow function.
func (p *script) arrowAt(i int) bool {
	m := int(p.tokens[i].mate)
	if m == 0 || m+1 >= p.limit {
		return false
	}
	switch p.tokens[m+1].kind {
	case sArrow:
		return true
	case sColon:
		return p.ts && !p.inTernary && p.typeThenArrow(m+2) || p.ts && p.inTernary && p.ternaryArrow(i, m)
	}
	return false
}

// ternaryArrow decides for the bracket i to m and a colon between ? and : of a conditional. It is a function if it holds
// nothing or a parameter with a type, or if a body in braces and another colon follow.
func (p *script) ternaryArrow(i, m int) bool {
	end := p.typeEnd(m + 2)
	if end == 0 || p.tokens[end].kind != sArrow || end+1 >= p.limit {
		return false
	}
	if m == i+1 || p.tokens[i+1].kind == sSpread || p.tokens[i+1].kind.name() && (p.tokens[i+2].kind == sColon || p.tokens[i+2].kind == sQuestion && p.tokens[i+3].kind == sColon) {
		return true
	}
	b := int(p.tokens[end+1].mate)
	return p.tokens[end+1].kind == sBrace && b > 0 && b+1 < p.limit && p.tokens[b+1].kind == sColon
}

func (p *script) typeThenArrow(i int) bool {
	i = p.typeEnd(i)
	return i > 0 && p.tokens[i].kind == sArrow
}

// maxLookahead is how many tokens are looked at, brackets counting as one, to tell what a colon means.
const maxLookahead = 128

// typeEnd returns the token behind the type at token i, 0 if it is not a type.
func (p *script) typeEnd(i int) int {
	operand := false // the last token ended a type
	for n := 0; n < maxLookahead && i < p.limit; n++ {
		t := &p.tokens[i]
		switch k := t.kind; {
		case k == sBar || k == sAmp || k == sDot:
			operand = false
		case k == sQuestion || k == sColon || k == wExtends || k == wIs:
			if !operand {
				return 0
			}
			operand = false
		case k == wKeyof || k == wTypeof || k == wReadonly || k == wUnique || k == wInfer || k == wAsserts || k == wAbstract || k == wNew:
			if operand {
				return 0
			}
			if (k != wTypeof && k != wNew) && (p.tokens[i+1].kind == sArrow || p.tokens[i+1].kind == wIs) {
				operand = true // a name after all
			}
		case k == sBracket:
			if t.mate == 0 {
				return 0
			}
			i, operand = int(t.mate), true
		case k == sLess:
			if t.mate == 0 {
				return 0
			}
			i = int(t.mate)
		case k == sParen:
			if operand || t.mate == 0 {
				return 0
			}
			i, operand = int(t.mate), true
			if i+1 < p.limit && p.tokens[i+1].kind == sArrow { // a function type, or the end
				if j := p.functionTypeEnd(i + 2); j > 0 {
					return j
				}
				return i + 1
			}
		case k == sBrace:
			if operand || t.mate == 0 {
				return 0
			}
			i, operand = int(t.mate), true
		case k.word() || k == sString || k == sNumber || k == sTemplate:
			if operand {
				return 0
			}
			operand = true
		case k == sTemplateHead || k == sTemplateMid:
			if t.mate == 0 {
				return 0
			}
			i = int(t.mate) - 1
		case k == sTemplateTail:
			operand = true
		case k == sPlus && !operand:
		default:
			if !operand {
				return 0
			}
			return i
		}
		i++
	}
	return 0
}

// functionTypeEnd looks for the arrow behind the result of a function type: one more look, not deeper.
func (p *script) functionTypeEnd(i int) int {
	for n := 0; n < maxLookahead && i < p.limit; n++ {
		t := &p.tokens[i]
		switch k := t.kind; {
		case k == sArrow:
			return i
		case k == sBracket || k == sLess || k == sBrace || k == sParen:
			if t.mate == 0 {
				return 0
			}
			i = int(t.mate)
		case k == sBar || k == sAmp || k == sDot || k.name() || k == wVoid || k == wNull || k == sString:
		default:
			return 0
		}
		i++
	}
	return 0
}

// operand reads a primary expression and what is attached to it. Of an arrow function the name is -1.
func (p *script) operand() value {
	first := p.i
	var v value
	switch k := p.kind(); {
	case p.i >= p.limit:
		return v
	case k == wAsync && p.at(1) == wFunction && !p.tokens[p.i+1].newline, k == wFunction:
		v = p.function()
	case k == wAsync && p.asyncArrow():
		p.i++
		return p.arrow(first)
	case k.name():
		if p.at(1) == sArrow {
			return p.arrow(first)
		}
		p.i++
	case k == sParen:
		if p.arrowAt(p.i) {
			return p.arrow(first)
		}
		n := 0
		p.inside(func() {
			p.flush(v)
			v = p.sequence()
			n++
		})
		if n > 1 {
			p.flush(v)
			v = value{}
		}
	case k == sLess && p.ts && p.generic():
		return p.arrow(first)
	case k == wClass:
		v = p.class()
	case k == sAt:
		p.decorators()
		return p.operand()
	case k == sBrace:
		p.inside(p.property)
	case k == sBracket:
		p.inside(p.list)
	case k == sTemplateHead:
		p.substitutions(p.flushed)
	case k == sJSX:
		p.element()
	case k == wNew:
		return p.create()
	case k == wImport:
		p.i++
		if p.kind() == sParen && p.at(1) == sString {
			p.importModule(p.i + 1)
		}
	case k == sString || k == sNumber || k == sTemplate || k == sRegexp || k == sPrivate || k >= wThis && k < wAbstract:
		p.i++
	default:
		return v
	}
	return p.attached(first, v)
}

// asyncArrow says that async here begins an arrow function.
func (p *script) asyncArrow() bool {
	if p.i+1 >= p.limit || p.tokens[p.i+1].newline {
		return false
	}
	switch k := p.at(1); {
	case k.name():
		return p.at(2) == sArrow
	case k == sParen:
		return p.arrowAt(p.i + 1)
	case k == sLess && p.ts:
		p.i++
		is := p.generic()
		p.i--
		return is
	}
	return false
}

// arrow reads an arrow function from its parameters.
func (p *script) arrow(first int) value {
	v := value{kind: Function, token: first, name: -1, sig: p.start(p.i)}
	if p.depth++; p.depth > maxDepth {
		p.depth--
		p.i++
		return value{}
	}
	if p.kind().name() {
		p.i++
		v.end = p.end()
	} else {
		ternary := p.inTernary
		v.sig, v.end = p.callSignature()
		p.inTernary = ternary
	}
	p.take(sArrow)
	in, exported := p.inFunction, p.exported
	p.inFunction, p.exported = true, false
	if p.kind() == sBrace {
		p.block()
	} else {
		p.flush(p.expression())
	}
	p.inFunction, p.exported = in, exported
	p.depth--
	return v
}

// attached reads members, calls and indexes behind an operand.
func (p *script) attached(first int, v value) value {
	callee := -1 // token of the name that a call would call
	if p.i == first+1 && p.tokens[first].kind.name() {
		callee = first
	}
	for p.i < p.limit {
		switch k := p.kind(); k {
		case sDot, sOptDot:
			p.i++
			if k == sOptDot && (p.kind() == sParen || p.kind() == sLess) && p.i < p.limit {
				break // the name before it is called
			}
			callee = -1
			if (p.kind().word() || p.kind() == sPrivate) && p.i < p.limit {
				callee = p.i
				p.i++
			} else if k == sDot {
				p.drop(&v)
				return v
			}
		case sParen:
			p.call(first, callee)
			p.arguments()
			callee = -1
		case sTemplate, sTemplateHead:
			p.call(first, callee)
			callee = -1
			if k == sTemplate {
				p.i++
			} else {
				p.substitutions(p.flushed)
			}
		case sBracket:
			p.inside(p.flushed)
			callee = -1
		case sNot:
			if !p.ts || p.tokens[p.i].newline {
				return v
			}
			p.i++
			callee = -1
		case sIncDec:
			if p.tokens[p.i].newline {
				return v
			}
			p.i++
			callee = -1
		case sLess:
			if !p.ts || !p.typeArgumentsHere() {
				return v
			}
			p.typeArguments()
			continue
		default:
			return v
		}
		p.drop(&v)
	}
	return v
}

// drop lists a function or class that more than itself is made of.
func (p *script) drop(v *value) {
	p.flush(*v)
	*v = value{}
}

// call refers to the name in token callee.
func (p *script) call(first, callee int) {
	if callee < 0 {
		return
	}
	p.refer(Call, first, callee)
	if p.kind() == sParen && p.at(1) == sString && callee == first && p.word(callee, "require") {
		p.importModule(p.i + 1)
	}
}

// typeArgumentsHere says that < begins type arguments of a call or a tag and is no comparison.
func (p *script) typeArgumentsHere() bool {
	m := int(p.tokens[p.i].mate)
	if m == 0 || m+1 >= len(p.tokens) || m == p.i+1 {
		return false
	}
	switch k := p.tokens[m+1].kind; k {
	case sParen, sTemplate, sTemplateHead, sParenEnd, sBracketEnd, sBraceEnd, sComma, sSemi, sDot, sOptDot, sColon, sEOF, sBrace:
		return k != sBrace || p.tokens[m].end != p.tokens[m+1].start
	}
	return p.tokens[m+1].newline
}

func (p *script) arguments() {
	in, exported := p.inFunction, p.exported
	p.exported = false
	p.inside(p.list)
	p.inFunction, p.exported = in, exported
}

// substitutions reads a template from its head.
func (p *script) substitutions(f func()) {
	for p.i < p.limit && (p.kind() == sTemplateHead || p.kind() == sTemplateMid) {
		m := p.mate(p.i)
		p.inside(f)
		if m >= len(p.tokens)-1 || m >= p.limit {
			return
		}
		p.i = m
		if p.kind() == sTemplateTail {
			p.i++
			return
		}
	}
}

// create reads new.
func (p *script) create() value {
	begin := p.i
	for p.kind() == wNew && p.i < p.limit {
		p.i++
	}
	if p.kind() == sDot { // new.target
		p.i += 2
		return p.attached(begin, value{})
	}
	first := p.i
	callee := -1
	switch k := p.kind(); {
	case k.name():
		callee = p.i
		p.i++
	case k == sParen:
		p.inside(p.flushed)
	case k == wClass:
		p.flush(p.class())
	case k == wFunction:
		p.flush(p.function())
	case k == sBrace || k == sBracket || p.i >= p.limit:
		return value{}
	default:
		p.i++
	}
	for p.i < p.limit {
		if k := p.kind(); k == sDot && (p.at(1).word() || p.at(1) == sPrivate) {
			callee = p.i + 1
			p.i += 2
		} else if k == sBracket {
			p.inside(p.flushed)
			callee = -1
		} else if p.ts && k == sNot && !p.tokens[p.i].newline {
			p.i++
		} else {
			break
		}
	}
	if callee >= 0 {
		p.refer(Call, first, callee)
	}
	if p.ts && p.kind() == sLess && p.tokens[p.i].mate > 0 {
		p.typeArguments()
	}
	if p.kind() == sParen && p.i < p.limit {
		p.arguments()
	}
	return p.attached(begin, value{})
}
