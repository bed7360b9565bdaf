package lang

// element reads JSX: what it names and the expressions in it.
func (p *script) element() {
	m := p.mate(p.i)
	limit := p.limit
	p.limit = m
	if p.depth++; p.depth > maxDepth {
		p.flat()
		p.i = m
	}
	for p.i < m {
		switch p.kind() {
		case sJSX:
			p.i++
			p.elementName()
		case sJSXClose:
			for p.i < m && p.kind() != sJSXEnd {
				p.i++
			}
		case sBrace:
			p.inside(p.list)
		case sLess:
			if p.tokens[p.i].mate > 0 {
				p.typeArguments()
			} else {
				p.i++
			}
		default:
			p.i++
		}
	}
	p.depth--
	p.limit = limit
	p.i = m
	if m < limit {
		p.i++
	}
}

func (p *script) elementName() {
	if p.kind() != sJSXName {
		return
	}
	first := p.i
	p.i++
	for p.kind() == sDot && p.i < p.limit {
		p.i++
		p.next()
	}
	last := p.i - 1
	c := p.src[p.start(first)]
	if last > first || c >= 'A' && c <= 'Z' {
		if p.kind() != sColon {
			p.refer(Call, first, last)
		}
	}
}
