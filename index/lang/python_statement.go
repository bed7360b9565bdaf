package lang

import "bytes"

// advance moves the statement on by its current token.
func (p *python) advance(k byte) {
	if k == 'k' && string(p.src[p.start:p.end]) == "lambda" {
		p.lambdas++
		if p.lone >= 0 && p.before == '=' && p.depth == 0 {
			p.file.Symbols[p.lone].Kind = Function
			if p.inClass() {
				p.file.Symbols[p.lone].Kind = Method
			}
		}
	}
	colon := k == ':'
	if colon && p.lambdas > 0 {
		p.lambdas--
		colon = false
	}
	switch p.form {
	case pyDef, pyClass:
		p.headToken(k, colon)
	case pyHeader, pyCase:
		if colon && p.depth == 0 {
			p.headEnd()
		} else if k == 'k' && p.form == pyCase && string(p.src[p.start:p.end]) == "if" {
			p.form = pyHeader
		}
	case pyExpression:
		if p.depth == 0 && colon {
			p.annotation = true
		} else if p.depth == 0 && k == '=' {
			p.annotation = false
		}
	case pyDecorator:
		if p.start > p.begin && k != '.' && k != pyWord {
			p.plain = false
		}
	case pyAlias:
		p.aliasToken(k)
	case pyImport, pyFrom, pyNames:
		p.importToken(k)
	}
}

// headToken follows the head of a def or class.
func (p *python) headToken(k byte, colon bool) {
	switch {
	case !p.named:
		if k == pyWord {
			p.named = true
			p.definition()
		}
	case k == '[' && p.depth == 1 && p.signature == 0:
		p.signature, p.annotation = p.start, true
	case k == ']' && p.depth == 0 && p.arguments == 0:
		p.annotation = false
	case k == '(' && p.depth == 1 && p.arguments == 0:
		p.arguments = 1
		if p.signature == 0 {
			p.signature = p.start
		}
		p.beginBase()
	case p.arguments == 1 && p.depth == 1 && p.form == pyDef:
		switch {
		case colon:
			p.annotation = true
		case k == ',' || k == '=':
			p.annotation = false
		}
	case p.arguments == 1 && p.form == pyClass:
		p.baseToken(k)
	case p.depth > 0:
	case k == pyArrow:
		p.annotation = true
	case colon:
		if n := len(p.blocks); p.signature > 0 && n > 0 {
			p.file.Symbols[p.blocks[n-1].symbol].Signature = oneLine(p.src[p.signature:p.last], maxSignature)
		}
		if n := len(p.blocks); n > 0 && p.named {
			symbol := p.blocks[n-1].symbol
			p.headEnd()
			p.document = symbol
			return
		}
		p.headEnd()
	}
	if p.form == pyDef && p.arguments == 1 && k == ')' && p.depth == 0 {
		p.arguments = 2
	}
}

// headEnd begins the statement that may follow the colon.
func (p *python) headEnd() {
	p.begun, p.annotation, p.decorated = false, false, false
	p.doc = Span{}
	p.arguments, p.signature, p.named = 0, 0, false
	p.form = pySimple
}

func (p *python) definition() {
	kind := Function
	switch {
	case p.form == pyClass:
		kind = Class
	case p.inClass():
		kind = Method
	}
	i := p.define(kind, p.start, p.end)
	if len(p.blocks) < maxNested {
		p.blocks = append(p.blocks, pythonBlock{p.indent, i, p.form == pyClass})
	} else {
		p.pending = append(p.pending, i)
	}
}

// beginBase begins an argument of a class.
func (p *python) beginBase() {
	p.base, p.plain = len(p.file.References), true
	p.annotation = false
	if p.form == pyClass {
		p.annotation = true
	}
}

// baseToken follows the arguments of a class: only names, paths and subscripts are types.
func (p *python) baseToken(k byte) {
	switch {
	case k == ',' && p.depth == 1, k == ')' && p.depth == 0:
		if !p.plain {
			p.dropTypes()
		}
		p.beginBase()
		if k == ')' {
			p.arguments, p.annotation = 2, false
			p.brackets = p.brackets[:0]
		}
	case p.depth == 1 && k != pyWord && k != '.' && k != ']', k == '(' && p.depth == 2:
		p.plain = false
		p.annotation = false
	case k == '[' && p.depth == 2 && p.before != pyWord && p.before != ']':
		p.plain = false
		p.annotation = false
	}
}

// dropTypes takes back the uses of types since the base began.
func (p *python) dropTypes() {
	kept := p.file.References[:p.base]
	for _, r := range p.file.References[p.base:] {
		if r.Kind != TypeRef {
			kept = append(kept, r)
		}
	}
	p.file.References = kept
}

func (p *python) aliasToken(k byte) {
	switch {
	case p.start == p.begin:
	case k == pyWord && !p.named:
		p.named = true
		p.pending = append(p.pending, p.define(Struct, p.start, p.end))
	case k == '=' && p.depth == 0:
		p.annotation = true
	}
}

// importToken follows "import a.b as c, d" and "from .a import b as c".
func (p *python) importToken(k byte) {
	switch {
	case p.start == p.begin:
	case k == 'k' && string(p.src[p.start:p.end]) == "import" && p.form == pyFrom:
		p.imported()
		p.form = pyNames
	case k == 'k' && string(p.src[p.start:p.end]) == "as":
		p.aliased = true
	case k == ',' || k == ')':
		p.imported()
	case p.aliased || p.form == pyNames && k == '.':
	case k == pyWord, k == '.':
		if p.named {
			break
		}
		if p.form == pyFrom {
			if p.module.End == 0 {
				p.module.Start = p.start
			}
			p.module.End = p.end
		}
		if p.targets = p.targets[:0]; k == pyWord {
			p.targets = append(p.targets, Span{Start: p.start, End: p.end})
		}
		if p.signature == 0 {
			p.signature = p.start // where the path begins
		}
	}
}

// imported lists the path that was read.
func (p *python) imported() {
	if p.form != pyImport && p.form != pyFrom && p.form != pyNames {
		return
	}
	if len(p.targets) == 1 {
		s := p.targets[0]
		qualifier := ""
		if p.form == pyNames {
			qualifier = p.modulePath(p.module.Start, p.module.End)
		} else {
			qualifier = p.modulePath(p.signature, s.Start)
			if path := bytes.TrimRight([]byte(qualifier), "."); len(path) > 0 {
				qualifier = qualifier[:len(path)]
			}
		}
		p.reference(Import, qualifier, s.Start, s.End)
	}
	p.targets, p.aliased, p.signature = p.targets[:0], false, 0
}

// modulePath returns a path without the space that may stand in it.
func (p *python) modulePath(start, end int) string {
	if start >= end || end-start > maxQualifier {
		return ""
	}
	for _, c := range p.src[start:end] {
		if c <= ' ' || c == '\\' {
			return string(bytes.Join(bytes.FieldsFunc(p.src[start:end], func(r rune) bool { return r <= ' ' || r == '\\' }), nil))
		}
	}
	return p.text(start, end)
}

// assignment follows the left side of what may become an assignment.
func (p *python) assignment(k byte) {
	if p.ignore > 0 {
		if p.depth < p.ignore && (k == ')' || k == ']' || k == '}') {
			p.ignore = 0
		}
		return
	}
	after := p.before == pyWord || p.before == ')' || p.before == ']' || p.before == pyString || p.before == '}'
	if p.start == p.begin {
		after = false
	}
	switch k {
	case pyWord:
		if p.before != '.' || p.start == p.begin {
			p.targets = append(p.targets, Span{Start: p.start, End: p.end})
		}
		p.plain = p.plain && (p.start == p.begin || p.before == '=')
	case '.':
		p.dropTarget()
	case '(', '[':
		if p.plain = false; after {
			p.dropTarget()
			p.ignore = p.depth
		}
	case ')', ']', ',', '*':
		p.plain = false
	case '=':
		if p.depth > 0 {
			p.target = false
			return
		}
		p.assigned()
	case ':':
		if p.depth == 0 && p.plain && len(p.targets) == 1 {
			p.assigned()
		}
		p.target = false
	default:
		p.target = false
	}
}

// dropTarget takes back a name that is part of a path, a subscript or a call.
func (p *python) dropTarget() {
	if n := len(p.targets); n > 0 && p.targets[n-1].End == p.last {
		p.targets = p.targets[:n-1]
	}
	p.plain = false
}

// assigned lists the targets. Behind a "=" more may follow.
func (p *python) assigned() {
	p.lone = -1
	for _, s := range p.targets {
		kind := Variable
		switch {
		case p.inClass():
			kind = Field
		case upperName(p.src[s.Start:s.End]):
			kind = Constant
		}
		i := p.define(kind, s.Start, s.End)
		p.pending = append(p.pending, i)
		if p.plain && len(p.targets) == 1 {
			p.lone = i
		}
	}
	p.targets, p.plain = p.targets[:0], true
}

// upperName says that a name has letters and all are upper case.
func upperName(name []byte) bool {
	letter := false
	for _, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			letter = true
		case c == '_' || c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return letter
}
