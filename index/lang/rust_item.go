package lang

func (p *rust) structure(begin, first int, item rustKind) {
	p.i++
	name := p.i
	if !p.kind().name() {
		return
	}
	p.i++
	if p.is(rLess) {
		p.typeParameters()
	}
	p.where()
	function, in := p.inFunction, p.inType
	p.inFunction, p.inType = true, false
	switch {
	case p.is(rParen):
		p.inside(p.tupleField)
		p.where()
		p.take(rSemi)
	case p.is(rBrace):
		if item == rEnum {
			p.inside(p.variant)
		} else {
			p.inside(p.field)
		}
	default:
		p.take(rSemi)
	}
	p.inFunction, p.inType = function, in
	kind := Struct
	if item == rEnum {
		kind = Enum
	}
	p.define(kind, begin, first, name)
}

func (p *rust) visibility() {
	if p.take(rPub) && p.is(rParen) {
		if k := p.at(1); k == rCrate || k == rSuper || k == rSelf || k == rIn {
			p.skip()
		}
	}
}

func (p *rust) tupleField() {
	p.attributes()
	p.visibility()
	p.types(true)
	p.take(rComma)
}

func (p *rust) field() {
	p.attributes()
	p.visibility()
	p.i++
	if p.take(rColon) {
		p.types(true)
	}
	if p.take(rAssign) {
		p.expression(false)
	}
	p.take(rComma)
}

func (p *rust) variant() {
	p.attributes()
	p.visibility()
	p.i++
	switch {
	case p.is(rParen):
		p.inside(p.tupleField)
	case p.is(rBrace):
		p.inside(p.field)
	case p.is(rNot):
		p.i++
		if k := p.kind(); k == rParen || k == rBrace || k == rBracket {
			p.skip()
		}
	}
	if p.take(rAssign) {
		p.expression(false)
	}
	p.take(rComma)
}

func (p *rust) impl(begin, first int) {
	p.i++
	if p.is(rLess) && p.at(2) != rAs && (p.at(1) == rLifetime || p.at(1) == rMore || p.at(1) == rHash || p.at(1) == rConst || p.at(1) == rIdent) {
		p.typeParameters()
	}
	p.take(rConst)
	p.take(rNot)
	// the name is in the type behind for, if there is one
	naming, implName := p.naming, p.implName
	trait := false
	p.implName, p.naming = 0, !p.forAhead()
	text := p.i
	if !p.naming {
		p.types(true)
		trait = p.take(rFor)
		p.naming = true
		text = p.i
	}
	p.types(true)
	name := p.implName
	last := p.i - 1
	p.naming, p.implName = naming, implName
	p.where()
	function, in, public := p.inFunction, p.inType, p.public
	p.inFunction, p.inType, p.public = false, true, trait
	if p.is(rBrace) {
		p.inside(p.item)
	} else {
		p.take(rSemi)
	}
	p.inFunction, p.inType, p.public = function, in, public
	if name > 0 {
		p.define(Struct, begin, first, name)
	} else if last >= text {
		s := p.define(Struct, begin, first, text)
		s.NameSpan.End = int(p.tokens[last].end)
		s.Name = p.text(s.NameSpan.Start, s.NameSpan.End)
	}
}

// forAhead says that for stands before the body of the impl here.
func (p *rust) forAhead() bool {
	for i := p.i; i < p.limit && i < p.i+maxLookahead; i++ {
		switch p.tokens[i].kind {
		case rFor:
			if p.tokens[i+1].kind != rLess || p.tokens[min(i+2, p.limit)].kind != rLifetime {
				return true
			}
		case rBrace:
			if k := p.tokens[i-1].kind; k != rLess && k != rComma {
				return false
			}
			i = p.mate(i)
		case rSemi, rWhere:
			return false
		case rParen, rBracket:
			i = p.mate(i)
		}
	}
	return false
}

func (p *rust) trait(begin, first int) {
	p.i++
	name := p.i
	if !p.kind().name() {
		return
	}
	p.i++
	if p.is(rLess) {
		p.typeParameters()
	}
	if p.take(rColon) {
		p.types(true)
	}
	if p.take(rAssign) {
		p.types(true)
	}
	p.where()
	function, in, public := p.inFunction, p.inType, p.public
	p.inFunction, p.inType, p.public = false, true, p.tokens[first].kind == rPub
	if p.is(rBrace) {
		p.inside(p.item)
	} else {
		p.take(rSemi)
	}
	p.inFunction, p.inType, p.public = function, in, public
	p.define(Class, begin, first, name)
}

func (p *rust) module(begin, first int) {
	p.i++
	name := p.i
	if !p.kind().name() {
		return
	}
	p.i++
	function, in := p.inFunction, p.inType
	p.inFunction, p.inType = false, false
	if p.is(rBrace) {
		p.inside(p.item)
	} else {
		p.take(rSemi)
	}
	p.inFunction, p.inType = function, in
	p.define(Module, begin, first, name)
}

func (p *rust) constant(begin, first int, item rustKind) {
	p.i++
	p.take(rRef)
	p.take(rMut)
	name := p.i
	p.i++
	if p.is(rLess) {
		p.typeParameters()
	}
	if p.take(rColon) {
		p.types(true)
	}
	function, in, public := p.inFunction, p.inType, p.public && p.inType
	p.inFunction, p.inType = true, false
	if p.take(rAssign) {
		p.expression(false)
	}
	p.inFunction, p.inType = function, in
	p.take(rSemi)
	if p.inFunction {
		return
	}
	kind := Constant
	if item == rStatic {
		kind = Variable
	}
	s := p.define(kind, begin, first, name)
	s.Exported = s.Exported || public
}

func (p *rust) alias(begin, first int) {
	p.i++
	name := p.i
	if !p.kind().name() {
		return
	}
	p.i++
	if p.is(rLess) {
		p.typeParameters()
	}
	if p.take(rColon) {
		p.types(true)
	}
	p.where()
	if p.take(rAssign) {
		p.types(true)
	}
	p.where()
	p.take(rSemi)
	s := p.define(Struct, begin, first, name)
	s.Exported = s.Exported || p.public && p.inType
}

func (p *rust) extern() {
	p.i++
	if p.take(rCrate) {
		if p.kind().name() && p.i < p.limit {
			p.refer(Import, p.i, p.i)
			p.i++
		}
		if p.take(rAs) {
			p.i++
		}
		p.take(rSemi)
		return
	}
	p.take(rString)
	if p.is(rBrace) {
		in := p.inType
		p.inType = false
		p.inside(p.item)
		p.inType = in
	}
}

func (p *rust) macroRules(begin, first int) {
	p.i += 2
	name := p.i
	p.i++
	if k := p.kind(); k == rParen || k == rBracket || k == rBrace {
		p.skip()
		if k != rBrace {
			p.take(rSemi)
		}
	}
	p.define(Macro, begin, first, name)
}
