package lang

// types reads a type: a union, a function type, a conditional, whatever belongs to it.
func (p *script) types() {
	if p.depth++; p.depth > maxDepth {
		p.depth--
		p.i++
		return
	}
	no := p.noCond
	defer func() { p.noCond = no }()
	for p.i < p.limit {
		for p.i < p.limit && (p.kind() == sBar || p.kind() == sAmp) {
			p.i++
		}
		again := p.typeOperand()
		if again {
			continue
		}
		p.typeSuffix()
		switch k := p.kind(); {
		case p.i >= p.limit:
		case k == sBar || k == sAmp:
			continue
		case k == wIs && !p.tokens[p.i].newline:
			p.i++
			continue
		case k == wExtends && !p.noCond:
			p.i++
			p.noCond = true
			p.types()
			p.noCond = false
			if !p.take(sQuestion) {
				break
			}
			p.types()
			if p.take(sColon) {
				continue
			}
		}
		break
	}
	p.depth--
}

// typeOperand reads one type without what is attached to it. It says whether only a prefix was read.
func (p *script) typeOperand() (again bool) {
	next := p.at(1)
	switch k := p.kind(); {
	case p.i >= p.limit:
	case k == wKeyof || k == wUnique || k == wReadonly || k == wAsserts:
		if p.i+1 < p.limit && (next.word() && next != wIs && next != wExtends && next != wIn || next == sParen || next == sBrace || next == sBracket || next == sString || next == sTemplate || next == sTemplateHead) {
			p.i++
			if k == wAsserts && next.word() && p.at(1) != wIs { // asserts x
				p.i++
				return false
			}
			if k == wAsserts {
				p.i++
				return p.take(wIs)
			}
			return true
		}
		p.typeName()
	case k == wInfer && next.name():
		p.i++
		p.typeName()
		if p.kind() == wExtends && p.i < p.limit {
			p.i++
			no := p.noCond
			p.noCond = true
			p.types()
			p.noCond = no
		}
	case k == wTypeof:
		p.typeQuery()
	case k == wAbstract && next == wNew:
		p.i++
		return true
	case k == wNew:
		p.i++
		return true
	case k == wImport:
		p.i++
		p.importType()
	case k == sPlus: // -1
		p.i += 2
	case k == sLess:
		if p.tokens[p.i].mate == 0 {
			p.i++
			return false
		}
		p.typeParameters()
		return true
	case k == sParen:
		m := p.mate(p.i)
		if m+1 < p.limit && p.tokens[m+1].kind == sArrow {
			p.params()
			p.take(sArrow)
			p.noCond = false
			return true
		}
		no := p.noCond
		p.inside(p.typeElement)
		p.noCond = no
	case k == sBrace:
		exported := p.exported
		p.inside(p.typeMember)
		p.exported = exported
	case k == sBracket:
		p.inside(p.typeElement)
	case k == sTemplateHead:
		p.substitutions(p.types)
	case k.name():
		p.typeName()
	case k == wThis || k == wVoid || k == wNull || k == wTrue || k == wFalse || k == sString || k == sNumber || k == sTemplate || k == wConst:
		p.i++
	}
	return false
}

// typeElement reads one of the types in brackets.
func (p *script) typeElement() {
	p.take(sSpread)
	if p.kind().word() && (p.at(1) == sColon || p.at(1) == sQuestion && p.at(2) == sColon) {
		p.i++
		p.take(sQuestion)
		p.take(sColon)
	}
	p.types()
	p.take(sQuestion)
	p.take(sComma)
}

// typeMember reads a member of an object type or of a mapped type.
func (p *script) typeMember() {
	switch k := p.kind(); k {
	case sSemi, sComma:
		p.i++
		return
	case sPlus:
		p.i++
	}
	for p.modifier() {
		p.i++
	}
	if p.kind() == wNew && (p.at(1) == sParen || p.at(1) == sLess) {
		p.i++
	}
	p.propertyName()
	if p.kind() == sPlus {
		p.i++
	}
	p.take(sQuestion)
	if k := p.kind(); k == sParen || k == sLess {
		p.callSignature()
		return
	}
	if p.take(sColon) {
		p.types()
	}
}

// predefined are the names of types that are part of the language.
func predefined(w []byte) bool {
	switch string(w) {
	case "any", "number", "object", "boolean", "string", "symbol", "unknown", "never", "undefined":
		return true
	}
	return false
}

// typeName reads the name of a type and its arguments.
func (p *script) typeName() {
	first := p.i
	p.i++
	for p.kind() == sDot && p.i+1 < p.limit && p.at(1).word() {
		p.i += 2
	}
	last := p.i - 1
	if p.kind() == wIs && last == first && !p.tokens[p.i].newline {
		return // x is T
	}
	t := &p.tokens[last]
	if last > first || !predefined(p.src[t.start:t.end]) {
		p.refer(TypeRef, first, last)
	}
	if p.kind() == sLess && !p.tokens[p.i].newline {
		p.typeArguments()
	}
}

// typeQuery reads typeof a.b.
func (p *script) typeQuery() {
	p.i++
	if p.kind() == wImport {
		p.i++
		p.importType()
		return
	}
	p.i++
	for p.i+1 < p.limit && (p.kind() == sDot || p.kind() == sOptDot) {
		p.i += 2
	}
	if p.kind() == sLess && p.i < p.limit && !p.tokens[p.i].newline {
		p.typeArguments()
	}
}

// importType reads ("a").B behind import.
func (p *script) importType() {
	if p.kind() == sParen && p.i < p.limit {
		if p.at(1) == sString {
			p.importModule(p.i + 1)
		}
		p.inside(func() { p.i++ })
	}
	for p.kind() == sDot && p.i+1 < p.limit {
		p.i += 2
	}
	if p.kind() == sLess && p.i < p.limit && !p.tokens[p.i].newline {
		p.typeArguments()
	}
}

// typeSuffix reads [] and [K].
func (p *script) typeSuffix() {
	for p.i < p.limit && p.kind() == sBracket && !p.tokens[p.i].newline {
		no := p.noCond
		p.inside(p.types)
		p.noCond = no
	}
}

// typeArguments reads <A, B>.
func (p *script) typeArguments() {
	if p.tokens[p.i].mate == 0 {
		p.i++
		return
	}
	p.inside(func() {
		p.types()
		p.take(sComma)
	})
}

// typeParameters reads <A extends B = C>.
func (p *script) typeParameters() {
	if p.tokens[p.i].mate == 0 {
		p.i++
		return
	}
	p.inside(func() {
		for (p.kind() == wConst || p.kind() == wIn || p.kind() == wOut) && p.at(1).word() && p.at(1) != wExtends && p.i+1 < p.limit {
			p.i++
		}
		p.i++
		if p.take(wExtends) {
			p.types()
		}
		if p.take(sAssign) {
			p.types()
		}
		p.take(sComma)
	})
}
