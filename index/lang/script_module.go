package lang

// importStatement reads an import, or a statement that begins with the expression import.
func (p *script) importStatement() {
	if k := p.at(1); k == sParen || k == sDot {
		p.flushed()
		p.take(sSemi)
		return
	}
	p.i++
	switch {
	case p.kind() == sString:
		p.importModule(p.i)
		p.i++
		p.attributes()
		return
	case p.kind() == wType && (p.at(1) == sBrace || p.at(1) == sStar ||
		p.at(1).name() && (!p.word(p.i+1, "from") || p.at(2) != sString)):
		p.i++
	}
	if p.kind().name() && p.at(1) == sAssign { // import a = require("b"), import a = b.c
		name := p.i
		p.i += 2
		if p.word(p.i, "require") && p.at(1) == sParen && p.at(2) == sString {
			t := &p.tokens[name]
			p.reference(Import, p.stringText(p.i+2), int(t.start), int(t.end))
			p.i += 4
		} else {
			p.i++
			for p.kind() == sDot && p.i < p.limit {
				p.i++
				p.next()
			}
		}
		p.take(sSemi)
		return
	}
	p.imported()
}

// imported reads the names of an import or of an export up to its module.
func (p *script) imported() {
	var names []int
	for p.i < p.limit {
		switch k := p.kind(); {
		case k == sString:
			if len(names) == 0 {
				p.importModule(p.i)
			}
			module := p.stringText(p.i)
			for _, n := range names {
				start, end := p.nameSpan(n)
				p.reference(Import, module, start, end)
			}
			p.i++
			p.attributes()
			return
		case k == sIdent && p.word(p.i, "from") && p.at(1) == sString:
			p.i++
		case k == sStar:
			p.i++
			if p.take(wAs) {
				names = append(names, p.i)
				p.i++
			}
		case k == sBrace:
			p.inside(func() {
				if p.kind() == wType && (p.at(1).word() || p.at(1) == sString) && (p.at(1) != wAs || p.at(2) == wAs || p.at(2) == sComma) && p.at(1) != sComma {
					p.i++
				}
				names = append(names, p.i)
				p.i++
				if p.take(wAs) {
					p.i++
				}
				p.take(sComma)
			})
		case k == sComma:
			p.i++
		case k.word():
			names = append(names, p.i)
			p.i++
		default:
			return
		}
	}
}

// nameSpan returns where the name in token i stands, without quotes.
func (p *script) nameSpan(i int) (start, end int) {
	start, end = p.start(i), int(p.tokens[i].end)
	if p.tokens[i].kind == sString {
		start, end = start+1, max(end-1, start+1)
	}
	return start, end
}

func (p *script) stringText(i int) string {
	start, end := p.nameSpan(i)
	return p.text(start, end)
}

// importModule refers to the module in string i.
func (p *script) importModule(i int) {
	if start, end := p.nameSpan(i); end > start {
		p.reference(Import, "", start, end)
	}
}

// attributes reads with {…} behind a module.
func (p *script) attributes() {
	if (p.kind() == wWith || p.word(p.i, "assert")) && p.at(1) == sBrace && p.i+1 < p.limit {
		p.i++
		p.inside(func() { p.i++ })
	}
	p.take(sSemi)
}

func (p *script) exportStatement() {
	p.i++
	if p.depth > maxDepth { // decorators and exports in turn
		return
	}
	p.depth++
	defer func() { p.depth-- }()
	p.exported = true
	switch k := p.kind(); {
	case k == wDefault:
		p.i++
		if k := p.kind(); k == wFunction || k == wClass || k == sAt ||
			k == wAsync && p.at(1) == wFunction || k == wAbstract && p.at(1) == wClass ||
			p.ts && k == wInterface && p.at(1).name() {
			p.declaration()
			return
		}
		p.flushed()
		p.take(sSemi)
	case k == sStar, k == sBrace, k == wType && (p.at(1) == sBrace || p.at(1) == sStar):
		p.take(wType)
		p.exportList()
	case k == wImport:
		p.importStatement()
	case k == sAssign: // export = a
		p.i++
		p.flushed()
		p.take(sSemi)
	case k == wAs && p.at(1) == wNamespace:
		p.i += 3
		p.take(sSemi)
	default:
		if !p.declaration() {
			p.flushed()
			p.take(sSemi)
		}
	}
}

// exportList reads * or {…}, with or without a module.
func (p *script) exportList() {
	if p.kind() == sBrace {
		m := p.mate(p.i)
		if m+2 >= len(p.tokens) || !p.word(m+1, "from") || p.tokens[m+2].kind != sString {
			p.inside(func() {
				p.take(wType)
				if p.kind().name() {
					t := &p.tokens[p.i]
					p.exports = append(p.exports, p.text(int(t.start), int(t.end)))
				}
				for p.i < p.limit && p.kind() != sComma {
					p.i++
				}
				p.take(sComma)
			})
			p.take(sSemi)
			return
		}
	}
	p.imported()
}
