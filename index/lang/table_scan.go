package lang

import (
	"bytes"
	"strings"
)

// A tableScope is a body that is read.
type tableScope struct {
	symbol int  // index in file.Symbols, -1 for none
	typ    bool // of a type: what it has are methods and fields
	enum   bool // whose constants come first, as in Java
	define bool // behind "typedef"
	start  int  // of the statement
	column bool // it began at the margin
}

// scanTable reads src by a table.
func scanTable(t *table, src []byte) File {
	r := &tableReader{builder: builder{src: src, owners: true}, t: t}
	if bytes.HasPrefix(src, []byte("\xef\xbb\xbf")) {
		r.at = 3
	}
	if t.has(assigns) {
		r.assignments()
	} else if t.has(ends) {
		r.words()
	} else {
		r.statements()
	}
	return r.finish()
}

func (r *tableReader) statements() {
	if r.t.language == PHP {
		r.template()
	}
	for {
		tok := r.next()
		switch tok.kind {
		case 0:
			if n := len(r.head); n > 0 && r.t.has(newlines) {
				r.end(r.head[n-1].end)
			}
			for len(r.scopes) > 0 {
				r.close(r.at)
			}
			return
		case '\n':
			r.line()
		case ';':
			r.end(tok.end)
		case '{':
			if r.t.has(commands) && !r.alone(tok) {
				r.push(tok)
				continue
			}
			if r.t.has(raw) && r.initializer() {
				r.at = tok.start
				if !r.group() {
					r.at = tok.end
				}
				r.push(tableToken{'[', tok.start, r.at})
				continue
			}
			r.begin(tok)
		case '}':
			if r.t.has(commands) && len(r.head) > 0 && !r.alone(tok) {
				r.push(tok)
				continue
			}
			if n := len(r.head); n > 0 && r.t.has(newlines) && !r.t.has(commands) && !r.t.has(blocks) {
				r.end(r.head[n-1].end) // "{ fun one(): Int }" on one line
			}
			r.head = r.head[:0]
			r.close(tok.end)
		case '=':
			r.equals(tok)
		case '?':
			if r.t.language == PHP && r.is(">") {
				r.template()
				r.end(r.at)
				continue
			}
			r.push(tok)
		case ':':
			if r.t.has(raw) && r.accessWord() {
				r.head = r.head[:0]
				continue
			}
			r.push(tok)
		case '(':
			r.push(tok)
			r.subshell(tok)
		case 'w':
			if r.t.has(dollars) && len(r.head) > 0 && r.margin(tok.start) && (r.key(tok) != nil || strings.EqualFold(r.textOf(tok), "go")) {
				r.end(r.head[len(r.head)-1].end) // nothing divides them
			}
			r.push(tok)
		default:
			r.push(tok)
		}
	}
}

// initializer says whether a brace behind the head of a constructor gives a member its value: "A() : b{1} {".
func (r *tableReader) initializer() bool {
	n := len(r.head)
	if n < 4 || r.loose || r.head[n-1].kind != 'w' && r.head[n-1].kind != '>' {
		return false
	}
	for i := n - 2; i > 0; i-- {
		switch r.head[i].kind {
		case ':':
			if r.head[i-1].kind == ':' {
				i--
				continue
			}
			return r.head[i-1].kind == '(' || r.head[i-1].kind == 'w' && r.said(r.head[i-1], "noexcept")
		case 'w', '(', '[', ',', '<', '>', '.':
		default:
			return false
		}
	}
	return false
}

// subshell is the body of a function of a shell in parentheses.
func (r *tableReader) subshell(tok tableToken) {
	n := len(r.head) - 1
	if !r.t.has(commands) || n < 3 || r.head[n-1].kind != ')' || r.head[n-2].kind != '(' {
		return
	}
	r.head = r.head[:n]
	if i := r.define('{', tok.end); i >= 0 {
		if end := bytes.Index(r.src[tok.end:], []byte("\n)")); end >= 0 {
			r.file.Symbols[i].Span.End = tok.end + end + 2
		}
	}
	r.head = r.head[:0]
}

// template passes over what is no code in a file of PHP.
func (r *tableReader) template() {
	i := bytes.Index(r.src[r.at:], []byte("<?"))
	if i < 0 {
		r.at = len(r.src)
		return
	}
	r.at += i + 2
	for _, opener := range []string{"php", "PHP", "="} {
		if r.is(opener) {
			r.at += len(opener)
			return
		}
	}
}

// alone says whether a brace of a shell stands apart from other words.
func (r *tableReader) alone(tok tableToken) bool {
	before := tok.start == 0 || isBlank(r.src[tok.start-1]) || strings.IndexByte(";)(&|", r.src[tok.start-1]) >= 0
	return before && (tok.end >= len(r.src) || isBlank(r.src[tok.end]) || strings.IndexByte(";)(&|", r.src[tok.end]) >= 0)
}

// accessWord says whether the head is a word like "public" before a colon.
func (r *tableReader) accessWord() bool {
	if len(r.head) == 0 || len(r.head) > 2 || r.is(":") || r.src[r.at-2] == ':' {
		return false
	}
	switch r.textOf(r.head[0]) {
	case "public", "private", "protected", "signals", "slots", "Q_SIGNALS":
		return true
	}
	return false
}

// said says whether a token is a word. It is not inlined, since that would be done a hundred times.
//
//go:noinline
func (r *tableReader) said(t tableToken, word string) bool {
	return string(r.src[t.start:t.end]) == word
}

// among says whether a token is one of words, which have space around each.
//
//go:noinline
func (r *tableReader) among(words string, t tableToken) bool {
	return strings.Contains(words, " "+string(r.src[t.start:t.end])+" ")
}

func (r *tableReader) textOf(t tableToken) string { return string(r.src[t.start:t.end]) }

func (r *tableReader) push(tok tableToken) {
	if len(r.head) < maxHead {
		r.head = append(r.head, tok)
	}
}

// line ends a statement at the end of a line, unless it goes on.
func (r *tableReader) line() {
	if len(r.head) == 0 {
		return
	}
	if r.simplify(); len(r.plain) == 0 && len(r.head) < maxHead/2 {
		return // annotations alone
	}
	last := r.head[len(r.head)-1]
	if r.t.has(commands) {
		if n := len(r.head); n >= 2 && last.kind == ')' && r.head[n-2].kind == '(' || n == 2 && r.said(r.head[0], "function") {
			return // the brace is on the next line
		}
		r.head = r.head[:0]
		return
	}
	if !r.t.has(blocks) {
		switch last.kind {
		case ',', ':', '.', '&', '|', '+', '=', '-':
			return
		case '>':
			if r.src[last.start-1] == '-' {
				return
			}
		}
		if r.goesOn() {
			return
		}
	}
	r.end(last.end)
}

// goesOn says whether the next line continues this one.
func (r *tableReader) goesOn() bool {
	p := r.at
	for p < len(r.src) && p < r.at+400 {
		if c := r.src[p]; !isBlank(c) {
			rest := r.src[p:min(len(r.src), p+8)]
			return strings.IndexByte("{:.,)", c) >= 0 || c == '=' || bytes.HasPrefix(rest, []byte("->")) || bytes.HasPrefix(rest, []byte("where ")) || bytes.HasPrefix(rest, []byte("throws"))
		}
		p++
	}
	return false
}

// end ends a statement without a body.
func (r *tableReader) end(at int) {
	if r.t.has(oldStyle) && r.parameters() {
		return // whose declarations follow
	}
	if n := len(r.scopes); n > 0 && r.scopes[n-1].enum {
		r.scopes[n-1].enum = false
		r.head = r.head[:0]
		return
	}
	if len(r.head) > 0 {
		r.define(';', at)
		r.head = r.head[:0]
	}
}

// parameters says whether the statement is the head of a function of old C, whose parameters are declared before the body.
func (r *tableReader) parameters() bool {
	h := r.head
	for i := 1; i+2 <= len(h); i++ {
		if h[i].kind != '(' || h[i-1].kind != 'w' || r.among(r.t.not, h[i-1]) {
			continue
		}
		if h[i+1].kind != 'w' || i+2 >= len(h) || bytes.ContainsAny(r.src[h[i].start:h[i].end], "*.\"") {
			return false
		}
		for _, t := range h[i+1:] {
			if t.kind != 'w' && t.kind != '*' && t.kind != ',' && t.kind != '[' && t.kind != ';' && t.kind != '(' {
				return false
			}
		}
		if strings.HasPrefix(r.textOf(h[i+1]), "__") || bytes.HasPrefix(r.src[h[i].start:h[i].end], []byte("(void)")) {
			return false
		}
		p, docs := r.at, r.docs
		for r.at < len(r.src) && (isBlank(r.src[r.at]) || r.comment()) {
			if isBlank(r.src[r.at]) {
				r.at++
			}
		}
		p, r.at, r.docs = r.at, p, docs
		if p < len(r.src) && (r.src[p] == '{' || r.letter(r.src[p])) && len(h) < 60 {
			r.push(tableToken{';', r.at - 1, r.at})
			return true
		}
		return false
	}
	return false
}

// equals reads what follows "=".
func (r *tableReader) equals(tok tableToken) {
	n := len(r.head)
	if r.at < len(r.src) && r.src[r.at] == '=' || n > 0 && r.head[n-1].end == tok.start && strings.IndexByte("<>!=", r.head[n-1].kind) >= 0 || r.operator() || r.angles() {
		r.push(tok)
		return
	}
	if r.t.has(dollars) {
		return
	}
	arrow := r.at < len(r.src) && r.src[r.at] == '>'
	if arrow {
		r.at++
	}
	if r.t.has(commands) {
		return
	}
	term := byte('=')
	if arrow {
		term = '>'
	}
	made := r.define(term, tok.start)
	end := r.value()
	if made >= 0 && made == len(r.file.Symbols)-1 {
		r.file.Symbols[made].Span.End = max(end, r.file.Symbols[made].NameSpan.End)
	}
	r.head = r.head[:0]
}

// operator says whether the head ends with "operator", so that "=" is its name.
func (r *tableReader) operator() bool {
	for i := len(r.head) - 1; i >= 0 && i >= len(r.head)-4; i-- {
		if r.head[i].kind == 'w' {
			return r.said(r.head[i], "operator") || r.t.language == Swift && r.said(r.head[i], "func")
		}
	}
	return false
}

// angles says whether arguments of a type are open, so that "=" is a default of one.
func (r *tableReader) angles() bool {
	if !r.t.has(raw) {
		return false
	}
	n, template := 0, false
	for _, t := range r.head {
		template = template || t.kind == 'w' && r.said(t, "template")
		switch t.kind {
		case '<':
			n++
		case '>':
			n--
		}
	}
	return template && n > 0
}

// value passes over an expression, and returns its end.
func (r *tableReader) value() int {
	last := r.at
	for r.at < len(r.src) {
		switch c := r.src[r.at]; c {
		case ';':
			if !r.t.has(newlines) {
				r.at++
				return r.at
			}
			return last
		case '\n':
			if r.t.has(newlines) && last > 0 && !r.unfinished(last) && (r.t.has(blocks) || !r.goesOn()) {
				return last
			}
			r.pass(c)
			continue
		case '{', '(', '[':
			if start := r.at; r.loose || !r.balanced() {
				if r.at >= len(r.src) {
					r.loose = true
				}
				r.at = start + 1
			}
		case '}':
			return last
		case ' ', '\t', '\r':
			r.at++
			continue
		default:
			start := r.at
			if r.comment() {
				continue
			}
			r.at = start
			r.pass(c)
		}
		last = r.at
	}
	return last
}

// unfinished says whether an expression that ends at a place ends with an operator.
func (r *tableReader) unfinished(end int) bool {
	c := r.src[end-1]
	if c == '+' || c == '-' {
		return end < 2 || r.src[end-2] != c
	}
	return strings.IndexByte("=,*/&|:(.", c) >= 0 || c == '>' && end > 1 && r.src[end-2] == '-'
}

// begin reads the body that a brace opens.
func (r *tableReader) begin(tok tableToken) {
	start := tok.start
	if len(r.head) > 0 {
		start = r.head[0].start
	}
	margin := start == r.lineOf(start)
	d := r.classify('{')
	i := r.make(d, tok.start)
	typedef := r.t.has(raw) && len(r.head) > 0 && r.said(r.head[0], "typedef")
	scope := tableScope{symbol: i, start: start, define: typedef, column: margin}
	if len(r.scopes) > 0 {
		scope.typ = r.scopes[len(r.scopes)-1].typ && i < 0
	}
	read := r.t.has(reads)
	switch {
	case d.kind == Class || d.kind == Struct || d.kind == Enum:
		scope.typ, read = true, d.naming != opaque && d.naming != alias && !(r.t.has(raw) && d.kind == Enum) && r.t.language != C
		scope.enum = d.kind == Enum && r.t.language == Java
	case d.kind == Module || r.t.has(blocks):
		scope.typ, read = false, true
	case r.t.has(raw) && len(r.head) > 0 && r.said(r.head[0], "extern"), r.t.language == Protobuf:
		read = true
	case d.kind == Function || d.kind == Method:
		scope.typ = false
	case len(r.scopes) > 0 && r.scopes[len(r.scopes)-1].enum && len(r.head) > 0:
		scope.typ, read = true, true // the body of a constant
	}
	body := r.t.has(raw) && (typedef || len(r.head) > 0 && d.naming == tagged)
	r.head = r.head[:0]
	if read && len(r.scopes) < maxScopes {
		r.depth++
		r.scopes = append(r.scopes, scope)
		return
	}
	r.body(margin && !scope.typ)
	if i >= 0 {
		r.file.Symbols[i].Span.End = r.at
	}
	if body {
		r.declarators(scope)
	}
}

// declarators makes the head of what stands behind the body of a type.
func (r *tableReader) declarators(s tableScope) {
	if s.define {
		r.head = append(r.head, tableToken{'t', s.start, s.start})
	}
	r.head = append(r.head, tableToken{'B', s.start, r.at})
}

// close ends a body.
func (r *tableReader) close(at int) {
	n := len(r.scopes)
	if n == 0 {
		return
	}
	s := r.scopes[n-1]
	r.scopes = r.scopes[:n-1]
	r.depth--
	if s.symbol >= 0 {
		r.file.Symbols[s.symbol].Span.End = at
	}
	if r.t.has(raw) && s.typ {
		r.declarators(s)
	}
}

// define makes a symbol of the head.
func (r *tableReader) define(term byte, end int) int {
	d := r.classify(term)
	return r.make(d, end)
}

// make adds a definition, whose end may be set later.
func (r *tableReader) make(d definition, end int) int {
	if d.end <= d.start {
		return -1
	}
	from := r.plain[0].start
	if from > d.start {
		from = d.start
	}
	kind := d.kind
	inType := len(r.scopes) > 0 && r.scopes[len(r.scopes)-1].typ
	switch {
	case kind == Function && (inType || d.owner != ""):
		kind = Method
	case kind == Variable && inType:
		kind = Field
	}
	i := r.symbol(kind, from, max(end, d.end), d.start, d.end)
	s := &r.file.Symbols[i]
	s.Owner = d.owner
	s.Exported = r.exported()
	if d.group > 0 && (kind == Function || kind == Method) {
		s.Signature = oneLine(bytes.TrimRight(r.src[d.group:max(min(end, len(r.src)), d.group)], "; \t\r\n"), maxSignature)
		if r.t.has(dollars) {
			s.Signature = oneLine(r.src[d.group:d.groupEnd], maxSignature)
		}
	}
	if len(d.more) > 0 {
		s.Span.End = d.end // which holds none of the others
	}
	r.docOf(i, r.head[0].start)
	if r.t.language == Kotlin && (kind == Class || kind == Enum) {
		r.properties(d.end)
	}
	for _, more := range d.more {
		j := r.symbol(kind, more[0], more[1], more[0], more[1])
		r.file.Symbols[j].Exported = s.Exported
		s = &r.file.Symbols[i]
	}
	return i
}

// properties are those that a class of Kotlin declares with the parameters of its constructor.
func (r *tableReader) properties(behind int) {
	for _, t := range r.plain {
		if t.kind != '(' || t.start < behind {
			continue
		}
		inner := tableReader{builder: builder{src: r.src[:t.end-1]}, t: r.t, at: t.start + 1}
		var before tableToken
		for tok := inner.next(); tok.kind != 0; tok = inner.next() {
			if tok.kind == 'w' && before.kind == 'w' && (inner.said(before, "val") || inner.said(before, "var")) {
				i := r.symbol(Field, before.start, tok.end, tok.start, tok.end)
				r.file.Symbols[i].Exported = true
			}
			before = tok
		}
		return
	}
}

// docOf gives a definition the comment right before it.
func (r *tableReader) docOf(i, start int) {
	if r.docs.End > 0 && r.docs.End <= start && r.gap(r.docs.End, start) <= 1 {
		r.file.Symbols[i].Doc = r.docs
	}
}

func (r *tableReader) exported() bool {
	if r.t.public == "" && r.t.private == "" {
		return true
	}
	for _, t := range r.plain {
		if t.kind != 'w' {
			if t.kind == '(' {
				break
			}
			continue
		}
		w := " " + r.textOf(t) + " "
		if r.t.public != "" && strings.Contains(r.t.public, w) {
			return true
		}
		if r.t.private != "" && strings.Contains(r.t.private, w) {
			return false
		}
	}
	return r.t.public == ""
}
