package lang

// statements reads up to token end.
func (p *script) statements(end int) {
	for p.i < end {
		at := p.i
		p.statement()
		if p.i == at {
			p.broken = true
			p.i++
		}
	}
}

// block reads statements in braces.
func (p *script) block() {
	if p.kind() == sBrace && p.i < p.limit {
		p.inside(p.statement)
	}
}

// body reads the body of a function.
func (p *script) body() {
	in, exported := p.inFunction, p.exported
	p.inFunction, p.exported = true, false
	p.block()
	p.inFunction, p.exported = in, exported
}

// statement reads one statement, or the head of one: what it governs follows as the next.
func (p *script) statement() {
	p.exported = false
	p.first = p.i
	switch k := p.kind(); k {
	case sBrace:
		p.block()
	case sSemi, wElse, wDo, wTry, wFinally, wDebugger:
		p.i++
	case wIf, wWhile, wSwitch, wWith:
		p.i++
		if p.kind() == sParen {
			p.inside(p.flushed)
		}
		if k == wSwitch {
			p.block()
		}
	case wFor:
		p.forHead()
	case wCatch:
		p.i++
		if p.kind() == sParen {
			p.params()
		}
	case wCase:
		p.i++
		in := p.inTernary
		p.inTernary = true
		p.flushed()
		p.inTernary = in
		p.take(sColon)
	case wDefault:
		p.i++
		p.take(sColon)
	case wBreak, wContinue:
		p.i++
		if p.kind().name() && !p.tokens[p.i].newline {
			p.i++
		}
	case wReturn, wThrow:
		p.i++
		if !p.tokens[p.i].newline {
			p.flushed()
		}
		p.take(sSemi)
	case wImport:
		p.importStatement()
	case wExport:
		p.exportStatement()
	default:
		if !p.declaration() {
			if k.name() && p.at(1) == sColon {
				p.i += 2
				return
			}
			p.flushed()
			p.take(sSemi)
		}
	}
}

// declaration reads a declaration, if there is one.
func (p *script) declaration() bool {
	sameLine := p.i+1 < p.limit && !p.tokens[p.i+1].newline
	next := p.at(1)
	switch p.kind() {
	case sAt:
		p.decorators()
		if k := p.kind(); k == wExport {
			p.exportStatement()
			return true
		}
		if !p.declaration() {
			p.flushed()
		}
	case wFunction:
		p.functionDeclaration()
	case wAsync:
		if next != wFunction || !sameLine {
			return false
		}
		p.functionDeclaration()
	case wClass:
		p.classDeclaration()
	case wAbstract:
		if next != wClass || !p.ts {
			return false
		}
		p.classDeclaration()
	case wConst:
		if next == wEnum {
			p.enum()
			return true
		}
		p.variables(Constant)
	case wVar:
		p.variables(Variable)
	case wLet:
		if !next.name() && next != sBrace && next != sBracket {
			return false
		}
		p.variables(Variable)
	case wUsing:
		if !next.name() || !sameLine {
			return false
		}
		p.variables(Variable)
	case wEnum:
		if !p.ts {
			return false
		}
		p.enum()
	default:
		return p.ts && p.typeDeclaration(next, sameLine)
	}
	return true
}

// typeDeclaration reads a declaration that only TypeScript has.
func (p *script) typeDeclaration(next scriptKind, sameLine bool) bool {
	switch p.kind() {
	case wInterface:
		if !next.name() || !sameLine {
			return false
		}
		p.interfaceDeclaration()
	case wType:
		if !next.name() || !sameLine {
			return false
		}
		p.alias()
	case wNamespace, wModule:
		if !sameLine || !next.name() && next != sString {
			return false
		}
		p.module()
	case wGlobal:
		if next != sBrace {
			return false
		}
		p.i++
		p.block()
	case wDeclare:
		if !sameLine || !next.word() {
			return false
		}
		p.i++
		if k := p.kind(); k == sIdent || k == wExport || k == wDeclare {
			p.i--
			return false
		}
		if !p.declaration() {
			p.i--
			return false
		}
	default:
		return false
	}
	return true
}

func (p *script) decorators() {
	for p.kind() == sAt && p.i < p.limit {
		p.i++
		first := p.i
		if p.kind() == sParen {
			p.inside(p.flushed)
			continue
		}
		p.next()
		for p.kind() == sDot && p.i < p.limit {
			p.i++
			p.next()
		}
		if p.kind() == sLess && p.tokens[p.i].mate > 0 {
			p.typeArguments()
		}
		p.refer(Call, first, p.lastName(first))
		if p.kind() == sParen && p.i < p.limit {
			p.arguments()
		}
	}
}

// lastName returns the last token of the path of names that begins at token first.
func (p *script) lastName(first int) int {
	i := first
	for i+2 < len(p.tokens) && p.tokens[i+1].kind == sDot {
		i += 2
	}
	return i
}

func (p *script) forHead() {
	p.i++
	p.take(wAwait)
	if p.kind() != sParen || p.i >= p.limit {
		return
	}
	first := true
	p.inside(func() {
		if !first {
			p.flushed()
			p.take(sSemi)
			p.take(wOf)
			p.take(wIn)
			return
		}
		first = false
		if k := p.kind(); k == wVar || k == wConst || (k == wLet || k == wUsing) && p.at(1) != wIn && p.at(1) != sDot && p.at(1) != sAssign {
			in := p.inFunction
			p.inFunction, p.noIn = true, true
			p.variables(Variable)
			p.inFunction, p.noIn = in, false
		} else {
			p.noIn = true
			p.flushed()
			p.noIn = false
		}
		if !p.take(wOf) && !p.take(wIn) {
			p.take(sSemi)
		}
	})
}

// variables reads const, let and var.
func (p *script) variables(k Kind) {
	p.i++
	exported, begin := p.exported, p.first
	for p.i < p.limit {
		first := p.i
		name := 0
		if p.kind() == sBrace || p.kind() == sBracket {
			p.pattern()
		} else if p.kind().name() {
			name = p.i
			p.i++
		} else {
			break
		}
		if p.ts && p.kind() == sNot {
			p.i++
		}
		if p.ts && p.take(sColon) {
			p.types()
		}
		var v value
		if p.take(sAssign) {
			p.exported = false
			v = p.expression()
			p.exported = exported
		}
		if name == 0 {
			p.flush(v)
		} else if v.kind != "" {
			p.define(v.kind, first, name, v.sig, v.end)
			p.doc(begin)
		} else if !p.inFunction {
			p.define(k, first, name, 0, 0)
			p.doc(begin)
		}
		if !p.take(sComma) {
			break
		}
		begin = p.i
	}
	if !p.noIn {
		p.take(sSemi)
	}
}

// pattern reads what a value is taken apart into.
func (p *script) pattern() {
	switch p.kind() {
	case sBrace:
		p.inside(func() {
			p.take(sSpread)
			if p.kind() == sBracket {
				p.inside(p.flushed)
			} else {
				p.i++
			}
			if p.take(sColon) {
				p.pattern()
			}
			if p.take(sAssign) {
				p.flush(p.expression())
			}
			p.take(sComma)
		})
	case sBracket:
		p.inside(func() {
			if p.take(sComma) {
				return
			}
			p.take(sSpread)
			p.pattern()
			if p.take(sAssign) {
				p.flush(p.expression())
			}
			p.take(sComma)
		})
	default:
		// a name, or a place to assign to
		if p.i < p.limit && p.kind() != sAssign && p.kind() != sComma {
			p.flush(p.operand())
		}
	}
}

func (p *script) functionDeclaration() {
	first, begin := p.i, p.first
	exported := p.exported
	v := p.function()
	if v.bare {
		p.take(sSemi)
	}
	if v.name > 0 {
		p.exported = exported
		p.define(Function, first, v.name, v.sig, v.end)
		p.doc(begin)
	}
}

// function reads "async function* name(…): T {…}".
func (p *script) function() value {
	v := value{kind: Function, token: p.i}
	p.take(wAsync)
	p.take(wFunction)
	p.take(sStar)
	if p.kind().name() {
		v.name = p.i
		p.i++
	}
	v.sig, v.end = p.callSignature()
	v.bare = p.kind() != sBrace
	p.body()
	v.after = p.i
	return v
}

// callSignature reads type parameters, parameters and the type of the result, and returns where they stand.
func (p *script) callSignature() (start, end int) {
	start = p.start(p.i)
	if p.ts && p.kind() == sLess {
		p.typeParameters()
	}
	if p.kind() == sParen && p.i < p.limit {
		p.params()
	}
	if p.ts && p.kind() == sColon {
		p.i++
		p.types()
	}
	return start, p.end()
}

// params reads parameters in their brackets.
func (p *script) params() {
	in := p.inFunction
	p.inFunction = true
	p.inside(func() {
		if p.kind() == sAt {
			p.decorators()
		}
		for p.ts && p.kind() >= wAbstract && (p.at(1).word() || p.at(1) == sBrace || p.at(1) == sBracket) && p.i+1 < p.limit {
			p.i++ // public, readonly and the like
		}
		p.take(sSpread)
		if p.kind() == wThis {
			p.i++
		} else {
			p.pattern()
		}
		p.take(sQuestion)
		if p.take(sColon) {
			p.types()
		}
		if p.take(sAssign) {
			p.flush(p.expression())
		}
		p.take(sComma)
	})
	p.inFunction = in
}

func (p *script) enum() {
	first, begin := p.i, p.first
	p.take(wConst)
	p.i++
	name := p.i
	if !p.kind().name() {
		return
	}
	p.i++
	in := p.inFunction
	p.inFunction = true
	if p.kind() == sBrace {
		p.inside(func() {
			p.propertyName()
			if p.take(sAssign) {
				p.flush(p.expression())
			}
			p.take(sComma)
		})
	}
	p.inFunction = in
	p.define(Enum, first, name, 0, 0)
	p.doc(begin)
}

func (p *script) module() {
	first, begin, exported := p.i, p.first, p.exported
	p.i++
	name := p.i
	start, end := p.start(name), int(p.tokens[name].end)
	if p.kind() == sString {
		start, end = start+1, end-1
		p.i++
	} else {
		p.i++
		for p.kind() == sDot && p.i < p.limit {
			p.i++
			p.next()
		}
		end = p.end()
	}
	p.block()
	if p.tokens[p.i-1].kind != sBraceEnd {
		p.take(sSemi)
		if end >= start && p.tokens[p.i-1].kind == sSemi {
			// the grammar takes the semicolon for an empty statement
			n := p.symbol(Module, p.start(first), int(p.tokens[p.i-2].end), start, end)
			p.file.Symbols[n].Exported = exported
			p.doc(begin)
			return
		}
	}
	if end > start {
		n := p.symbol(Module, p.start(first), p.end(), start, end)
		p.file.Symbols[n].Exported = exported
		p.doc(begin)
	}
}

func (p *script) alias() {
	first, begin := p.i, p.first
	p.i++
	name := p.i
	p.i++
	if p.kind() == sLess {
		p.typeParameters()
	}
	if p.take(sAssign) {
		p.types()
	}
	p.take(sSemi)
	p.define(Struct, first, name, 0, 0)
	p.doc(begin)
}

func (p *script) interfaceDeclaration() {
	first, begin, exported := p.i, p.first, p.exported
	p.i++
	name := p.i
	p.i++
	if p.kind() == sLess {
		p.typeParameters()
	}
	if p.take(wExtends) {
		p.types()
		for p.take(sComma) {
			p.types()
		}
	}
	if p.kind() == sBrace && p.i < p.limit {
		p.members(true)
	}
	p.exported = exported
	p.define(Struct, first, name, 0, 0)
	p.doc(begin)
}

func (p *script) classDeclaration() {
	begin, exported := p.first, p.exported
	v := p.class()
	if v.name > 0 {
		p.exported = exported
		p.define(Class, v.token, v.name, 0, 0)
		p.doc(begin)
	}
}
