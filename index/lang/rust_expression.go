package lang

// statement reads a statement that is no item.
func (p *rust) statement() {
	switch p.kind() {
	case rSemi, rComma:
		p.i++
	case rLet:
		p.i++
		p.pattern(false)
		if p.take(rColon) {
			p.types(true)
		}
		if p.take(rAssign) {
			p.expression(false)
		}
		if p.take(rElse) && p.is(rBrace) {
			p.block()
		}
		p.take(rSemi)
	default:
		p.lead = p.i
		p.expression(false)
		p.take(rSemi)
	}
}

// block reads statements in braces.
func (p *rust) block() {
	if p.is(rBrace) {
		in := p.inType
		p.inType = false
		p.inside(p.item)
		p.inType = in
	}
}

// element reads one of the expressions in brackets.
func (p *rust) element() {
	p.attributes()
	if k := p.kind(); k == rComma || k == rSemi {
		p.i++
		return
	}
	p.expression(false)
	if !p.take(rComma) {
		p.take(rSemi)
	}
}

// expression reads up to a comma, a semicolon, or whatever else cannot belong to it.
// With head a brace behind an operand belongs to if, match or a loop.
func (p *rust) expression(head bool) {
	if p.depth++; p.depth > maxDepth {
		p.depth--
		return
	}
	noStruct := p.noStruct
	p.noStruct = head
	for p.operand() && p.operators() {
	}
	p.noStruct = noStruct
	p.depth--
}

// operators reads what follows an operand, and says whether another operand comes.
func (p *rust) operators() bool {
	for p.i < p.limit {
		switch k := p.kind(); k {
		case rParen:
			p.inside(p.element)
		case rBracket:
			p.inside(p.element)
		case rQuestion:
			p.i++
		case rAs:
			p.i++
			p.types(false)
		case rRange:
			p.i++
			if p.i >= p.limit || p.noStruct && p.kind() == rBrace {
				return false
			}
			switch p.kind() {
			case rComma, rSemi, rFat, rParenEnd, rBracketEnd, rBraceEnd:
				return false
			}
			return true
		case rLess, rMore, rAssign, rEqual, rBar, rOr, rAmp, rPlus, rMinus, rStar, rBinary:
			p.i++
			for p.is(rMore) || p.is(rAssign) || p.is(rLess) && k == rLess {
				p.i++
			}
			return true
		case rDot:
			p.i++ // only behind what member did not read
		default:
			return false
		}
	}
	return false
}

// members reads fields, calls of methods and ? behind the operand that begins at token first.
func (p *rust) members(first int) {
	for p.i < p.limit {
		switch p.kind() {
		case rDot:
			p.i++
			if !p.kind().name() || p.i >= p.limit {
				if p.is(rNumber) {
					p.i++
				}
				continue
			}
			name := p.i
			p.i++
			if p.is(rPath) && p.at(1) == rLess {
				p.i++
				p.typeArguments()
			}
			if p.is(rParen) {
				p.refer(Call, first, name)
				p.inside(p.element)
			}
		case rQuestion:
			p.i++
		case rParen, rBracket:
			p.inside(p.element)
		default:
			return
		}
	}
}

// operand reads what stands between two operators. It says false where none is.
func (p *rust) operand() bool {
	for p.i < p.limit {
		first := p.i
		block := false // what was read ends with a block
		lead := p.lead == first
		switch k := p.kind(); {
		case k == rMinus || k == rNot || k == rStar || k == rAmp || k == rMut || k == rMove || k == rRef:
			p.i++
			continue
		case k == rIdent && p.at(1) == rConst && first > 0 && p.tokens[first-1].kind == rAmp && p.word("raw"):
			p.i += 2
			continue
		case k == rRange:
			p.i++
			if p.i >= p.limit || p.kind() == rComma || p.kind() == rFat || p.noStruct && p.kind() == rBrace {
				return false
			}
			continue
		case k == rHash:
			p.attributes()
			if p.i == first {
				return false
			}
			continue
		case k == rLifetime:
			p.i++
			p.take(rColon)
			if lead {
				p.lead = p.i
			}
			continue
		case k == rReturn || k == rBreak || k == rContinue || k == rYield && p.at(1) != rDot && p.at(1) != rPath:
			p.i++
			p.take(rLifetime)
			if p.noStruct && p.is(rBrace) {
				return false
			}
			continue
		case k == rLet:
			p.i++
			p.pattern(false)
			p.take(rAssign)
			continue
		case k == rStatic || k == rAsync && (p.at(1) == rMove || p.at(1) == rBar || p.at(1) == rOr || p.at(1) == rBrace) ||
			k == rUnsafe || k == rConst || k == rLoop:
			p.i++
			if p.is(rBrace) || p.is(rMove) && p.at(1) == rBrace {
				p.take(rMove)
				p.block()
				block = true
				break
			}
			if lead {
				p.lead = p.i
			}
			continue
		case k == rFor && p.at(1) == rLess: // for<'a> |…|
			p.i++
			p.typeParameters()
			continue
		case k == rBar || k == rOr:
			p.closure()
			return false
		case k == rIf || k == rWhile:
			p.conditional()
			block = true
		case k == rMatch:
			p.i++
			p.expression(true)
			if p.is(rBrace) {
				p.inside(p.arm)
			}
			block = true
		case k == rFor:
			p.i++
			p.pattern(false)
			p.take(rIn)
			p.expression(true)
			p.block()
			block = true
		case k == rBrace:
			p.block()
			block = true
		case k == rParen || k == rBracket:
			p.inside(p.element)
		case k == rLess:
			p.qualified()
			if p.is(rPath) {
				p.path(first)
			}
		case k == rNumber || k == rString:
			p.i++
		case k == rIdent && p.at(1) == rBrace && p.word("try"):
			p.i++
			p.block()
		case k == rPath || k == rDollar || k.name():
			p.path(first)
		default:
			return false
		}
		if block && lead && !p.is(rDot) && !p.is(rQuestion) {
			return false // a statement that ends with its block
		}
		p.members(first)
		return true
	}
	return false
}

func (p *rust) word(w string) bool {
	t := &p.tokens[p.i]
	return string(p.src[t.start:t.end]) == w
}

// conditional reads if and while, and the else that follow.
func (p *rust) conditional() {
	for p.i < p.limit {
		p.i++
		p.expression(true)
		p.block()
		if !p.take(rElse) {
			return
		}
		if !p.is(rIf) {
			p.block()
			return
		}
	}
}

// arm reads one arm of a match.
func (p *rust) arm() {
	p.attributes()
	p.pattern(false)
	if p.take(rIf) {
		p.expression(false)
	}
	if p.take(rFat) {
		p.lead = p.i
		p.expression(false)
	}
	p.take(rComma)
}

// closure reads |a, b: T| -> U and the expression behind it.
func (p *rust) closure() {
	function := p.inFunction
	p.inFunction = true
	if !p.take(rOr) {
		p.i++
		for p.i < p.limit && p.kind() != rBar {
			at := p.i
			p.attributes()
			p.pattern(true)
			if p.take(rColon) {
				p.types(true)
			}
			p.take(rComma)
			if p.i == at {
				break
			}
		}
		p.take(rBar)
	}
	if p.take(rArrow) {
		p.types(false)
	}
	p.expression(p.noStruct)
	p.inFunction = function
}

// path reads a path in an expression and the call, macro or struct that it begins.
func (p *rust) path(first int) {
	name, arguments := -1, false
	for p.i < p.limit {
		p.take(rPath)
		p.take(rDollar)
		if !p.kind().name() || p.i >= p.limit {
			break
		}
		name = p.i
		arguments = false
		p.i++
		if !p.is(rPath) {
			break
		}
		if p.at(1) == rLess {
			p.i++
			p.typeArguments()
			arguments = true
			if p.is(rPath) { // a name before ::<…>:: is a type
				if name == first {
					p.typeName(first, name)
				}
				continue
			}
			break
		}
	}
	if name < 0 || p.i >= p.limit {
		return
	}
	switch p.kind() {
	case rParen:
		p.refer(Call, first, name)
		p.inside(p.element)
	case rNot:
		if k := p.at(1); !arguments && (k == rParen || k == rBracket || k == rBrace) {
			p.refer(Call, first, name)
			p.i++
			p.skip()
		}
	case rBrace:
		if !p.noStruct {
			p.typeName(first, name)
			p.inside(p.initializer)
		}
	}
}

// initializer reads a field of a struct expression.
func (p *rust) initializer() {
	p.attributes()
	if p.take(rComma) {
		return
	}
	if p.take(rRange) {
		p.expression(false)
		return
	}
	p.i++
	if p.take(rColon) {
		p.expression(false)
	}
	p.take(rComma)
}

// pattern reads what a value is matched with. In a closure | ends it.
func (p *rust) pattern(closure bool) {
	for p.i < p.limit {
		first := p.i
		switch k := p.kind(); {
		case k == rBar && closure:
			return
		case k == rParen || k == rBracket:
			p.inside(func() {
				p.attributes()
				p.pattern(false)
				p.take(rComma)
			})
		case k == rConst && p.at(1) == rBrace:
			p.i++
			p.block()
		case k == rLess && (p.i == 0 || p.tokens[p.i-1].kind != rIdent):
			p.qualified()
			if p.is(rPath) {
				p.patternPath(first)
			}
		case k == rPath || k == rDollar || k.name():
			p.patternPath(first)
		case k == rBar || k == rAmp || k == rMut || k == rRef || k == rAt || k == rRange || k == rNumber || k == rString || k == rMinus || k == rOr && !closure || k == rLifetime:
			p.i++
		default:
			return
		}
	}
}

// patternPath reads a path in a pattern: a name, a struct, or a macro.
func (p *rust) patternPath(first int) {
	name := -1
	for p.i < p.limit {
		p.take(rPath)
		p.take(rDollar)
		if !p.kind().name() || p.i >= p.limit {
			break
		}
		name = p.i
		p.i++
		if !p.is(rPath) {
			break
		}
		if p.at(1) == rLess {
			p.i++
			p.typeArguments()
			if !p.is(rPath) && !p.is(rBrace) {
				return
			}
			if p.is(rPath) {
				p.typeName(first, name)
			}
		}
	}
	if name < 0 || p.i >= p.limit {
		return
	}
	switch p.kind() {
	case rBrace:
		p.typeName(first, name)
		p.inside(func() {
			p.attributes()
			for p.is(rRef) || p.is(rMut) {
				p.i++
			}
			if p.kind().name() || p.is(rNumber) {
				p.i++
			}
			if p.take(rColon) {
				p.pattern(false)
			}
			p.take(rRange)
			p.take(rComma)
		})
	case rNot:
		if k := p.at(1); k == rParen || k == rBracket || k == rBrace {
			p.refer(Call, first, name)
			p.i++
			p.skip()
		}
	}
}
