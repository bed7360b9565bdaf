package lang

// class reads "abstract class Name extends … {…}".
func (p *script) class() value {
	v := value{kind: Class, token: p.i}
	p.take(wAbstract)
	p.i++
	if k := p.kind(); k.name() && (k != wImplements || p.at(1) == sBrace) && p.i < p.limit {
		v.name = p.i
		p.i++
	}
	if p.ts && p.kind() == sLess {
		p.typeParameters()
	}
	if p.take(wExtends) {
		p.heritage()
	}
	if p.ts && p.take(wImplements) {
		p.types()
		for p.take(sComma) {
			p.types()
		}
	}
	if p.kind() == sBrace && p.i < p.limit {
		in := p.inFunction
		p.inFunction = false
		p.members(false)
		p.inFunction = in
	}
	v.after = p.i
	return v
}

// heritage reads what a class extends: a path is the use of a type, anything else an expression.
func (p *script) heritage() {
	first := p.i
	if !p.kind().name() {
		switch p.kind() {
		case sBrace:
			p.inside(p.property)
		default:
			p.flush(p.beforeBody())
		}
		return
	}
	last := p.lastName(first)
	p.i = last + 1
	if p.i > p.limit {
		p.i = p.limit
		return
	}
	if p.ts && p.kind() == sLess && p.tokens[p.i].mate > 0 {
		m := int(p.tokens[p.i].mate)
		if m+1 < p.limit && p.tokens[m+1].kind == sParen {
			p.i = first
			p.flush(p.beforeBody())
			return
		}
		p.refer(TypeRef, first, last)
		p.typeArguments()
		return
	}
	switch p.kind() {
	case sParen, sDot, sOptDot, sBracket, sTemplate, sTemplateHead, sNot:
		p.i = first
		p.flush(p.beforeBody())
	default:
		p.refer(TypeRef, first, last)
	}
}

// beforeBody reads an operand in front of the body of a class.
func (p *script) beforeBody() value {
	v := p.operand()
	if p.ts && p.kind() == sLess && p.i < p.limit {
		p.typeArguments()
	}
	return v
}

// modifier says that the word here stands before the name of a member.
func (p *script) modifier() bool {
	switch k := p.kind(); k {
	case wStatic, wAsync, wGet, wSet, wAccessor:
	case wPublic, wPrivate, wProtected, wReadonly, wAbstract, wOverride, wDeclare:
		if !p.ts {
			return false
		}
	default:
		return false
	}
	if p.i+1 >= p.limit {
		return false
	}
	switch k := p.at(1); k {
	case sIdent, sPrivate, sString, sNumber, sBracket, sStar:
		return !p.tokens[p.i+1].newline || p.kind() != wAsync && p.kind() != wAccessor && k != sStar
	case sBrace:
		return p.kind() == wStatic
	default:
		return k.word()
	}
}

// members reads the body of a class, or of an interface.
func (p *script) members(isInterface bool) {
	exported := p.exported
	p.inside(func() {
		p.exported = exported
		begin := p.i
		if k := p.kind(); k == sSemi || k == sComma {
			p.i++
			return
		}
		p.decorators()
		first := p.i
		hidden := false
		for p.modifier() {
			hidden = hidden || p.kind() == wPrivate || p.kind() == wProtected
			p.i++
		}
		if p.kind() == sBrace && p.i > first { // static {…}
			p.exported = false
			p.block()
			return
		}
		p.take(sStar)
		if isInterface && (p.kind() == sPlus || p.kind() == wNew && (p.at(1) == sParen || p.at(1) == sLess)) {
			p.i++
		}
		name := p.propertyName()
		if name >= 0 && p.tokens[name].kind == sPrivate {
			hidden = true
		}
		p.exported = exported && !hidden
		p.member(isInterface, begin, first, name)
		p.exported = exported
	})
	p.exported = exported
}

// member reads a member behind its name, whose token is name, -1 for one that is not listed.
func (p *script) member(isInterface bool, begin, first, name int) {
	exported := p.exported
	if k := p.kind(); k == sQuestion || k == sNot {
		p.i++
	} else if k == sPlus && p.at(1) == sQuestion {
		p.i += 2
	}
	if k := p.kind(); k == sParen || k == sLess && p.ts {
		p.exported = false
		sig, end := p.callSignature()
		if !isInterface {
			p.body()
		}
		p.exported = exported
		if name >= 0 {
			p.define(Method, first, name, sig, end)
			p.doc(begin)
		}
		return
	}
	if p.ts && p.take(sColon) {
		p.types()
	}
	var v value
	if !isInterface && p.take(sAssign) {
		in := p.inFunction
		p.inFunction, p.exported = true, false
		v = p.expression()
		p.inFunction, p.exported = in, exported
	}
	if isInterface {
		return
	}
	switch {
	case name < 0:
		if v.kind == Class || v.kind == Function {
			return // bound to a name that is not listed
		}
	case v.kind == Function:
		p.define(Method, first, name, v.sig, v.end)
		p.doc(begin)
	default:
		p.define(Field, first, name, 0, 0)
		p.doc(begin)
	}
}

// propertyName reads the name of a member and returns its token, -1 if it is a string, number or computed.
func (p *script) propertyName() int {
	if p.i >= p.limit {
		return -1
	}
	switch k := p.kind(); {
	case k == sBracket:
		if p.at(1).name() && (p.at(2) == sColon || p.at(2) == wIn) && p.ts {
			p.inside(p.indexSignature)
		} else {
			p.inside(p.flushed)
		}
	case k.word() || k == sPrivate:
		p.i++
		return p.i - 1
	case k == sString || k == sNumber:
		p.i++
	}
	return -1
}

// indexSignature reads what stands in the brackets of [key: T] and [K in T as U].
func (p *script) indexSignature() {
	if p.at(1) == wIn || p.at(1) == sColon {
		p.i += 2
	}
	p.types()
	if p.take(wAs) {
		p.types()
	}
}

// property reads a member of an object.
func (p *script) property() {
	if k := p.kind(); k == sComma || k == sSemi {
		p.i++
		return
	}
	if p.take(sSpread) {
		p.flush(p.expression())
		return
	}
	begin := p.i
	p.decorators()
	first := p.i
	for k := p.kind(); (k == wAsync || k == wGet || k == wSet) && p.modifier(); k = p.kind() {
		p.i++
	}
	p.take(sStar)
	name := p.propertyName()
	p.take(sQuestion)
	switch k := p.kind(); {
	case p.i >= p.limit:
	case k == sParen || k == sLess && p.ts:
		sig, end := p.callSignature()
		p.body()
		if name >= 0 {
			p.define(Function, first, name, sig, end)
			p.doc(begin)
		}
	case k == sColon:
		p.i++
		v := p.expression()
		if name >= 0 && v.kind != "" {
			p.define(v.kind, first, name, v.sig, v.end)
			p.doc(begin)
		} else {
			p.flush(v)
		}
	case k == sAssign:
		p.i++
		p.flush(p.expression())
	case k != sComma:
		if name < 0 && p.i == first {
			p.i++
		}
	}
}
