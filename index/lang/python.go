package lang

import "bytes"

// scanPython reads Python 3, and what of Python 2 looks alike, in one pass over its tokens.
func scanPython(src []byte) File {
	p := python{builder: builder{src: src, owners: true}, pythonLexer: pythonLexer{code: src, fresh: true}, document: -1, lone: -1}
	p.chain = -1
	for p.next() != pyEnd {
		p.token()
	}
	p.endStatement()
	p.closeBlocks(0)
	p.file.Broken = p.pythonLexer.broken || p.depth > 0
	f := p.finish()
	siblings(&f)
	return f
}

// A pythonBlock is the body of a def or a class.
type pythonBlock struct {
	indent int
	symbol int
	class  bool
}

// A pythonBracket keeps what held outside of a bracket.
type pythonBracket struct {
	annotation bool
	lambdas    int
}

// Forms of statements.
const (
	pyExpression = 'e' // or an assignment
	pyHeader     = 'h' // if, for, with and the like, up to the colon
	pyDef        = 'd'
	pyClass      = 'c'
	pyImport     = 'i'
	pyFrom       = 'f'
	pyNames      = 'n' // of from, behind its import
	pyDecorator  = '@'
	pyAlias      = 't'
	pyCase       = 'p'
	pySimple     = 'x' // return, del and the like
)

type python struct {
	builder
	pythonLexer
	blocks   []pythonBlock
	brackets []pythonBracket

	// the statement
	begun     bool
	form      byte
	begin     int   // where it starts
	doc       Span  // comments above it
	decorated bool  // decorators came before
	pending   []int // symbols that end with it
	document  int   // symbol whose docstring may come next, -1 for none

	// the tokens before
	last       int  // end of the last token that is no newline
	before     byte // its kind, 'k' for a keyword
	name       bool // it is a name
	nameStart  int
	nameEnd    int
	chain      int // where the path of names began, -1 for none
	dot        int // where the path ends before its last dot
	annotation bool
	lambdas    int // lambdas at this depth whose colon is to come

	// targets of an assignment
	target  bool
	targets []Span
	lone    int // symbol that a lambda would make a function, -1 for none
	plain   bool
	ignore  int // depth of a subscript within a target

	// heads and imports
	named     bool // the name of the def, class or type came
	arguments int  // depth of the parameters or bases, 0 before
	signature int
	base      int // references before the base of a class
	module    Span
	aliased   bool
}

func (p *python) token() {
	if p.kind == pyLine {
		p.endStatement()
		return
	}
	if p.first {
		p.first = false
		p.closeBlocks(p.indent)
	}
	p.tail = p.tail[:0]
	k := p.kind
	word := k == pyWord
	keyword := word && (p.before != '.' || p.form == pyFrom) && pythonKeyword(p.src[p.start:p.end])
	if keyword {
		k = 'k'
	}
	p.flush(k)
	if !p.begun {
		p.beginStatement(k)
		if word && p.form != pyExpression {
			k = 'k' // match, case or type
		}
	}
	if p.target {
		p.assignment(k)
	}
	p.advance(k)
	switch k {
	case '(', '[', '{':
		p.openBracket(k)
	case ')', ']', '}':
		p.closeBracket()
	case ';':
		if p.depth == 0 {
			p.last = p.start
			p.endStatement()
			return
		}
	}
	p.follow(k)
	p.last, p.before = p.end, k
}

// flush decides what the name before the current token was used for.
func (p *python) flush(k byte) {
	if !p.name {
		return
	}
	p.name = false
	switch {
	case k == '(' && p.form != pyCase && p.head() == 0:
		p.reference(Call, p.qualifier(), p.nameStart, p.nameEnd)
	case k != '(' && k != '.' && p.annotation:
		p.reference(TypeRef, p.qualifier(), p.nameStart, p.nameEnd)
	}
}

// head returns the form while the name of a def or class is the last token.
func (p *python) head() byte {
	if (p.form == pyDef || p.form == pyClass) && p.named && p.arguments == 0 && p.depth <= 1 && p.signature == 0 {
		return p.form
	}
	return 0
}

func (p *python) qualifier() string {
	if p.chain < 0 || p.chain == p.nameStart || p.dot <= p.chain || !plainPath(p.src[p.chain:p.dot]) {
		return ""
	}
	return p.text(p.chain, p.dot)
}

// follow keeps the path of names that ends with the current token.
func (p *python) follow(k byte) {
	switch k {
	case pyWord:
		if p.before != '.' {
			p.chain = p.start
		}
		p.name, p.nameStart, p.nameEnd = true, p.start, p.end
	case '.':
		if p.before != pyWord {
			p.chain = -1
		}
		p.dot = p.last // any space stands before the dot
	default:
		p.chain = -1
	}
}

func (p *python) openBracket(k byte) {
	if len(p.brackets) < maxNested {
		p.brackets = append(p.brackets, pythonBracket{p.annotation, p.lambdas})
	}
	call := k == '(' && (p.before == pyWord || p.before == ')' || p.before == ']')
	bases := p.form == pyClass && p.arguments == 1 && p.depth == 1
	if call && !bases {
		p.annotation = false
	}
	p.lambdas = 0
}

func (p *python) closeBracket() {
	if n := len(p.brackets); n > p.depth {
		p.annotation, p.lambdas = p.brackets[p.depth].annotation, p.brackets[p.depth].lambdas
		p.brackets = p.brackets[:p.depth]
	}
}

func (p *python) beginStatement(k byte) {
	p.begun, p.begin, p.form = true, p.start, pyExpression
	p.arguments, p.signature, p.named, p.aliased = 0, 0, false, false
	p.annotation, p.lambdas, p.lone, p.ignore = false, 0, -1, 0
	p.brackets = p.brackets[:0]
	p.targets = p.targets[:0]
	p.module = Span{}
	if !p.decorated {
		p.doc = p.comment
	}
	p.comment = Span{}
	if k == pyString && p.document >= 0 {
		p.file.Symbols[p.document].Doc = Span{Start: p.start, End: p.end}
	}
	p.document = -1
	switch k {
	case 'k':
		p.form = p.keywordForm(p.src[p.start:p.end])
	case '@':
		p.form, p.decorated, p.plain = pyDecorator, true, true
		return
	case pyWord:
		p.form = p.softForm(p.src[p.start:p.end])
	}
	p.decorated = p.decorated && (p.form == pyDef || p.form == pyClass)
	p.target = p.form == pyExpression && !p.inFunction()
	p.plain = true
}

func (p *python) keywordForm(text []byte) byte {
	switch string(text) {
	case "def":
		return pyDef
	case "class":
		return pyClass
	case "async":
		if rest := bytes.TrimLeft(p.src[p.end:min(p.end+maxNested, len(p.src))], " \t"); bytes.HasPrefix(rest, []byte("def")) {
			return pyDef
		}
		return pyHeader
	case "import":
		return pyImport
	case "from":
		return pyFrom
	case "if", "elif", "else", "while", "for", "try", "except", "finally", "with":
		return pyHeader
	}
	return pySimple
}

// softForm knows match, case and type, which are names elsewhere.
func (p *python) softForm(text []byte) byte {
	switch string(text) {
	case "match":
		if p.soft() {
			return pyHeader
		}
	case "case":
		if p.soft() {
			return pyCase
		}
	case "type":
		at := p.end
		for at < len(p.src) && at < p.end+maxNested && (p.src[at] == ' ' || p.src[at] == '\t') {
			at++
		}
		end := at
		for end < len(p.src) && wordByte(p.src[end]) {
			end++
		}
		if at == p.end || end == at || pythonKeyword(p.src[at:end]) {
			break
		}
		rest := bytes.TrimLeft(p.src[end:min(end+maxNested, len(p.src))], " \t")
		if len(rest) > 1 && (rest[0] == '[' || rest[0] == '=' && rest[1] != '=') {
			return pyAlias
		}
	}
	return pyExpression
}

// soft says whether the word is followed by an expression, as a keyword is. For the
// brackets that a call or a subscript has too it looks for the colon, at most 500 bytes on.
func (p *python) soft() bool {
	at := p.end
	for at < len(p.src) && at < p.end+maxNested && (p.src[at] == ' ' || p.src[at] == '\t') {
		at++
	}
	if at >= len(p.src) {
		return false
	}
	switch c := p.src[at]; {
	case wordByte(c):
		end := at
		for end < len(p.src) && wordByte(p.src[end]) && end < at+8 {
			end++
		}
		switch string(p.src[at:end]) {
		case "in", "is", "and", "or", "if", "else", "for", "not":
			return false
		}
		return at > p.end
	case c == '"' || c == '\'' || c == '{' || c == '~':
		return true
	case c == '(' || c == '[' || c == '-' || c == '*':
		depth := 0
		for ; at < len(p.src) && at < p.end+500; at++ {
			switch c := p.src[at]; {
			case c == '(' || c == '[' || c == '{':
				depth++
			case c == ')' || c == ']' || c == '}':
				depth--
			case c == '\n' && depth <= 0, c == '=' && depth <= 0:
				return false
			case c == ':' && depth <= 0:
				rest := bytes.TrimLeft(p.src[at+1:min(at+80, len(p.src))], " \t\r")
				return len(rest) == 0 || rest[0] == '\n' || rest[0] == '#'
			}
		}
	}
	return false
}

func pythonKeyword(text []byte) bool {
	if len(text) < 2 || len(text) > 8 {
		return false
	}
	switch string(text) {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
		"del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
		"nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield":
		return true
	}
	return false
}

func (p *python) inFunction() bool { return len(p.blocks) > 0 && !p.blocks[len(p.blocks)-1].class }
func (p *python) inClass() bool    { return len(p.blocks) > 0 && p.blocks[len(p.blocks)-1].class }

// closeBlocks ends the definitions whose body is not indented as far as the line that begins.
func (p *python) closeBlocks(indent int) {
	comments := len(p.tail)
	for n := len(p.blocks); n > 0 && p.blocks[n-1].indent >= indent; n-- {
		s := &p.file.Symbols[p.blocks[n-1].symbol]
		s.Span.End = max(s.Span.End, p.last)
		inside := 0 // comments that are indented as the body is
		for inside < comments && p.tail[inside].column > p.blocks[n-1].indent {
			inside++
		}
		if inside > 0 {
			s.Span.End = max(s.Span.End, p.tail[inside-1].end)
		}
		p.blocks = p.blocks[:n-1]
	}
}

func (p *python) endStatement() {
	p.flush(pyLine)
	if !p.begun {
		return
	}
	if p.form == pyDecorator && p.plain && p.before == pyWord {
		p.reference(Call, p.qualifier(), p.nameStart, p.nameEnd)
	}
	p.imported()
	for _, i := range p.pending {
		s := &p.file.Symbols[i]
		s.Span.End = max(s.NameSpan.End, p.last)
	}
	p.pending = p.pending[:0]
	p.begun, p.target, p.chain, p.annotation, p.name = false, false, -1, false, false
	p.before = pyLine
}

// define lists the definition of src[start:end] that began with the statement.
func (p *python) define(k Kind, start, end int) int {
	i := p.symbol(k, p.begin, end, start, end)
	s := &p.file.Symbols[i]
	s.Doc = p.doc
	name := s.Name
	s.Exported = name[0] != '_' || len(name) > 4 && name[:2] == "__" && name[len(name)-2:] == "__"
	return i
}
