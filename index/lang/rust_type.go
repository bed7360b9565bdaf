package lang

// types reads a type, or bounds: with plus also what is joined by +.
func (p *rust) types(plus bool) {
	if p.depth++; p.depth > maxDepth {
		p.depth--
		return
	}
	for p.i < p.limit {
		if p.typeOperand() {
			continue
		}
		if plus && p.take(rPlus) {
			continue
		}
		break
	}
	p.depth--
}

// typeOperand reads one type. It says whether only something before it was read.
func (p *rust) typeOperand() (again bool) {
	switch k := p.kind(); {
	case k == rAmp || k == rMut || k == rDyn || k == rImpl || k == rQuestion || k == rUnsafe || k == rConst && p.at(1) != rBrace || k == rAsync && (p.at(1) == rIdent || p.at(1) == rFn):
		p.i++
		if p.is(rLifetime) && k == rAmp {
			p.i++
		}
		return true
	case k == rStar:
		p.i++
		if !p.take(rConst) {
			p.take(rMut)
		}
		return true
	case k == rLifetime || k == rNumber || k == rString:
		p.i++
	case k == rMinus:
		p.i += 2
	case k == rNot:
		p.i++
		return p.i < p.limit && (p.kind() == rIdent || p.kind() == rPath)
	case k == rFor:
		p.i++
		if p.is(rLess) {
			p.typeParameters()
		}
		return true
	case k == rExtern:
		p.i++
		p.take(rString)
		return true
	case k == rFn:
		p.i++
		p.callType()
	case k == rParen:
		p.inside(p.typeElement)
	case k == rBracket:
		if p.at(1) == rConst { // [const] Trait
			p.skip()
			return true
		}
		p.inside(func() {
			p.types(true)
			if p.take(rSemi) {
				p.expression(false)
			}
		})
	case k == rBrace && p.depth > 1 && p.i > 0 && (p.tokens[p.i-1].kind == rLess || p.tokens[p.i-1].kind == rComma || p.tokens[p.i-1].kind == rAssign || p.tokens[p.i-1].kind == rConst):
		p.inside(p.item)
	case k == rLess:
		p.qualified()
		if p.is(rPath) {
			p.typePath(p.i)
		}
	case k == rPath || k.name() || k == rDollar:
		p.typePath(p.i)
	}
	return false
}

// typeElement reads one of the types in brackets.
func (p *rust) typeElement() {
	p.attributes()
	if p.kind().name() && p.at(1) == rColon { // the name of a parameter in fn(a: T)
		p.i += 2
	}
	if !p.take(rRange) {
		p.types(true)
	}
	p.take(rComma)
}

// callType reads (A, B) -> C.
func (p *rust) callType() {
	if p.is(rParen) {
		p.inside(p.typeElement)
	}
	if p.take(rArrow) {
		p.types(false)
	}
}

// qualified reads <T as Trait>.
func (p *rust) qualified() {
	p.i++
	p.types(true)
	if p.take(rAs) {
		p.types(true)
	}
	p.take(rMore)
}

// typePath reads a path of a type, which begins at token first, with its arguments.
func (p *rust) typePath(first int) {
	for p.i < p.limit {
		p.take(rPath)
		p.take(rDollar)
		if !p.kind().name() || p.i >= p.limit {
			return
		}
		name := p.i
		p.i++
		if p.is(rNot) && (p.at(1) == rParen || p.at(1) == rBracket || p.at(1) == rBrace) {
			p.refer(Call, first, name)
			p.i++
			p.skip()
			return
		}
		// in "a as u32 <= b" the type ends before <
		arguments := p.is(rLess) && (p.at(1) != rAssign || p.tokens[p.i].end != p.tokens[p.i+1].start) || p.is(rPath) && p.at(1) == rLess
		if p.is(rPath) && !arguments {
			continue // a component of the path
		}
		p.typeName(first, name)
		if arguments {
			p.take(rPath)
			p.typeArguments()
		} else if p.is(rParen) {
			p.callType()
		}
		if !p.is(rPath) {
			return
		}
	}
}

// typeName refers to the type named by token name, or takes it for the name of an impl.
func (p *rust) typeName(first, name int) {
	t := &p.tokens[name]
	if p.naming {
		p.naming, p.implName = false, name
		return
	}
	if t.kind == rSelf || t.kind == rSuper || t.kind == rCrate {
		return
	}
	if w := p.src[t.start:t.end]; name == first && rustPrimitive(w) || string(w) == "Self" || string(w) == "_" || string(w) == "true" || string(w) == "false" {
		return
	}
	p.refer(TypeRef, first, name)
}

// rustPrimitive says that a type is part of the language.
func rustPrimitive(w []byte) bool {
	if len(w) < 2 || len(w) > 5 {
		return false
	}
	switch string(w) {
	case "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "isize", "usize", "f32", "f64", "bool", "str", "char":
		return true
	}
	return false
}

// typeArguments reads <…> behind a type or a turbofish.
func (p *rust) typeArguments() {
	naming := p.naming
	p.naming = false
	if p.depth++; p.depth <= maxDepth {
		p.i++
		for p.i < p.limit && p.kind() != rMore {
			at := p.i
			p.types(true)
			if p.take(rAssign) {
				p.types(true)
			} else if p.take(rColon) {
				p.types(true)
			}
			p.take(rComma)
			if p.i == at {
				break
			}
		}
		p.take(rMore)
	}
	p.depth--
	p.naming = naming
}

// typeParameters reads <…> behind a declared name.
func (p *rust) typeParameters() {
	p.i++
	for p.i < p.limit && p.kind() != rMore {
		at := p.i
		p.attributes()
		value := p.take(rConst)
		if p.kind() == rLifetime || p.kind().name() {
			p.i++
		}
		if p.take(rColon) {
			p.types(true)
		}
		if p.take(rAssign) {
			if value && p.is(rBrace) {
				p.block()
			} else if value && p.kind().name() && p.at(1) != rPath { // a constant
				p.i++
			} else {
				p.types(true)
			}
		}
		p.take(rComma)
		if p.i == at {
			break
		}
	}
	p.take(rMore)
}
