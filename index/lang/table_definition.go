package lang

import (
	"bytes"
	"strings"
)

// A definition is what a statement defines. It has no name if that is nothing.
type definition struct {
	kind       Kind
	naming     naming
	start, end int // of the name
	group      int // where the parameters begin, 0 for none
	groupEnd   int
	owner      string
	more       [][2]int // names of what is declared besides
}

// classify says what the head defines. term is what follows: a brace, the end of the statement, "=", or ">" for an arrow.
func (r *tableReader) classify(term byte) (d definition) {
	r.simplify()
	p, t := r.plain, r.t
	if len(p) == 0 || len(r.head) >= maxHead {
		return d
	}
	switch {
	case t.has(commands):
		return r.shellFunction(term)
	case t.has(blocks):
		return r.block(term)
	}
	if p[0].kind == 't' || p[0].kind == 'B' { // behind the body of a type of C
		if p[0].kind == 't' {
			return r.alias(p[1:])
		}
		return r.variable(term)
	}
	for i, tok := range p {
		switch {
		case tok.kind == '(':
			if i > 0 && t.has(callables) && r.operatorBefore(i) >= 0 {
				return r.callable(term)
			}
			if i > 0 && p[i-1].kind == 'w' && t.has(callables) && !r.attribute(p, i) && !r.said(p[i-1], "alignas") {
				return r.callable(term)
			}
			continue
		case tok.kind == ':' && t.has(callables) && (i+1 == len(p) || p[i+1].kind != ':') && (i == 0 || p[i-1].kind != ':'):
			return r.variable(term)
		case tok.kind != 'w':
			continue
		}
		if i > 0 && (p[i-1].kind == '.' || p[i-1].kind == ':' || p[i-1].kind == '>' || p[i-1].kind == 'w' && r.said(p[i-1], "using")) {
			continue
		}
		k := r.key(tok)
		if k == nil {
			continue
		}
		kind := k.kind
		for i+1 < len(p) { // "enum class", "fun interface", "class func"
			more := r.key(p[i+1])
			if more == nil || k.naming == itself || k.naming == alias || k.naming == renamed || more.naming == itself && k.naming != next {
				break
			}
			if i++; kind != Enum {
				kind = more.kind
			}
			if k.naming != opaque {
				k = more
			}
		}
		return r.introduced(*k, kind, i, term)
	}
	if t.has(callables) {
		return r.callable(term)
	}
	return r.variable(term)
}

func (r *tableReader) key(tok tableToken) *key {
	if tok.kind != 'w' || tok.end-tok.start > 12 {
		return nil
	}
	word := r.textOf(tok)
	if r.t.has(folded) {
		word = strings.ToLower(word)
	}
	for i := range r.t.keys {
		if r.t.keys[i].word == word {
			return &r.t.keys[i]
		}
	}
	return nil
}

// simplify copies the head without annotations, attributes and arguments of types.
func (r *tableReader) simplify() {
	p := r.plain[:0]
	h := r.head
	for i := 0; i < len(h); i++ {
		switch tok := h[i]; {
		case tok.kind == '@' && i+1 < len(h) && h[i+1].kind == 'w' && !r.said(h[i+1], "interface"):
			i++
			for i+2 < len(h) && (h[i+1].kind == '.' || h[i+1].kind == ':') && h[i+2].kind == 'w' {
				i += 2
			}
			if i+1 < len(h) && h[i+1].kind == '(' && h[i+1].start <= h[i].end+1 {
				i++
			}
		case tok.kind == '@' || tok.kind == '#':
		case tok.kind == '[' && (len(p) == 0 || r.t.has(raw) && r.src[tok.start+1] == '['):
		case tok.kind == '<' && (i > 0 && (h[i-1].kind == 'w' && !r.said(h[i-1], "operator") || h[i-1].kind == ']')):
			if j := closing(h, i); j > 0 {
				i = j
				continue
			}
			p = append(p, tok)
		case tok.kind == '<' && r.t.has(newlines) && i > 0 && i+1 < len(h) && h[i+1].kind == 'w': // behind an operator that is defined
			if j := closing(h, i); j > 0 && j+1 < len(h) && h[j+1].kind == '(' {
				i = j
				continue
			}
			p = append(p, tok)
		default:
			p = append(p, tok)
		}
	}
	if r.t.has(raw) {
		for i := len(p) - 2; i >= 0; i-- {
			if p[i].kind == 'w' && r.said(p[i], "template") {
				p = p[i+1:]
				break
			}
		}
	}
	r.plain = p
}

// closing returns where the arguments of a type end that begin at i, 0 if they are none.
func closing(h []tableToken, i int) int {
	depth := 0
	for ; i < len(h); i++ {
		switch h[i].kind {
		case '<':
			depth++
		case '>':
			if h[i-1].kind == '-' {
				continue
			}
			if depth--; depth == 0 {
				return i
			}
		case ';', '{':
			return 0
		}
	}
	return 0
}

// introduced is what the key at i introduces.
func (r *tableReader) introduced(k key, kind Kind, i int, term byte) (d definition) {
	p := r.plain
	d.kind, d.naming = kind, k.naming
	name := func(j int) definition {
		if j >= len(p) || p[j].kind != 'w' && !(p[j].kind == 's' && strings.IndexByte("`\"[", r.src[p[j].start]) >= 0) {
			return d
		}
		d.start, d.end = p[j].start, p[j].end
		if p[j].kind == 's' && d.end-d.start > 2 {
			d.start, d.end = d.start+1, d.end-1
		}
		if r.src[d.start] == '$' || r.src[d.start] == '@' && r.t.language == CSharp {
			d.start++
		}
		return d
	}
	switch k.naming {
	case next, opaque:
		if r.t.has(callables) && term != '{' && !(r.t.language == CSharp && term == ';') {
			return d
		}
		if r.said(p[i], "object") && r.t.language == Kotlin && (i+1 == len(p) || p[i+1].kind != 'w') {
			if i > 0 && r.said(p[i-1], "companion") {
				d.start, d.end = p[i-1].start, p[i-1].end
			}
			return d
		}
		return name(i + 1)
	case dotted:
		j := i + 1
		name(j)
		for ; j+2 < len(p) && (p[j+1].kind == '.' || p[j+1].kind == ':') && d.end > 0; j++ {
			if p[j+1].kind == ':' && (j+3 >= len(p) || p[j+2].kind != ':') {
				break
			}
			for j+1 < len(p) && p[j+1].kind != 'w' {
				j++
			}
			if j+1 < len(p) {
				d.end = p[j+1].end
			}
		}
		return d
	case itself:
		if term != '=' {
			d.start, d.end = p[i].start, p[i].end
		}
		return d
	case called:
		return r.named(d, i)
	case typed:
		last := -1
		for j := i + 1; j < len(p); j++ {
			if p[j].kind == 'w' && j > i+1 && (r.said(p[j], "by") || r.said(p[j], "get")) || p[j].kind != 'w' && p[j].kind != 's' && p[j].kind != '.' && p[j].kind != '?' {
				break
			}
			if p[j].kind != '?' && p[j].kind != '.' {
				last = j
			}
		}
		if last < 0 {
			return d
		}
		return name(last)
	case tagged:
		return r.tagged(d, i, term)
	case renamed:
		if term == '=' {
			return name(i + 1)
		}
		return d
	case alias:
		if term == '{' {
			for j := i + 1; j < len(p); j++ {
				if k := r.key(p[j]); k != nil {
					d.kind = k.kind
					return r.tagged(d, j, term)
				}
			}
			return d
		}
		return r.alias(p[i+1:])
	case object:
		return r.created(i)
	}
	return d
}

// named takes the name before the first parentheses behind the key.
func (r *tableReader) named(d definition, i int) definition {
	p := r.plain
	for j := i + 1; j < len(p); j++ {
		if p[j].kind != '(' || j+1 < len(p) && p[j+1].kind == '.' { // of the type that is extended
			continue
		}
		d.group = p[j].start
		switch before := p[j-1]; {
		case j-1 == i:
		case before.kind == 'w' && !r.said(before, "_"):
			d.start, d.end = before.start, before.end
		case before.kind == 's' && before.end-before.start > 2:
			d.start, d.end = before.start+1, before.end-1
		case strings.IndexByte(nameChars, before.kind) >= 0:
			d.start, d.end = before.start, before.end
			for j -= 2; j > i && p[j].end == d.start && strings.IndexByte(nameChars+"=", p[j].kind) >= 0; j-- {
				d.start = p[j].start
			}
		}
		return d
	}
	return d
}

// tagged takes the name of a struct, class, union or enum of C.
func (r *tableReader) tagged(d definition, i int, term byte) definition {
	p := r.plain
	if term != '{' {
		if term == ';' && len(p) > i+2 || term == '=' {
			return r.variable(term)
		}
		return definition{}
	}
	d.naming = tagged
	last := -1
	for j := i + 1; j < len(p); j++ {
		switch tok := p[j]; {
		case tok.kind == ':' && j+1 < len(p) && p[j+1].kind == ':':
			j++
			continue
		case tok.kind == ':':
			j = len(p)
			continue
		case tok.kind == '(':
			if w := r.textOf(p[j-1]); last == j-1 && (strings.HasPrefix(w, "__") || w == "alignas" || strings.ToUpper(w) == w) {
				last = -1
				continue
			}
			return r.callable(term)
		case tok.kind == 'w' && !r.said(tok, "final"):
			last = j
		case tok.kind == '*' || tok.kind == '&':
			return r.callable(term)
		}
	}
	if last >= 0 {
		d.start, d.end = p[last].start, p[last].end
	}
	return d
}

// alias takes the names that a typedef gives.
func (r *tableReader) alias(p []tableToken) (d definition) {
	d.kind, d.naming = Struct, alias
	for j, tok := range p {
		if tok.kind == '(' && j > 0 {
			if s, e := r.pointed(tok); e > s && j+1 < len(p) {
				d.start, d.end = s, e
				return d
			}
			if s, e := r.wrapped(tok); e > s && j+1 < len(p) && p[j+1].kind == '(' {
				d.start, d.end = s, e
				return d
			}
			if p[j-1].kind == 'w' && !r.attribute(p, j) {
				d.start, d.end = p[j-1].start, p[j-1].end
				return d
			}
			continue
		}
	}
	for j := len(p) - 1; j >= 0; j-- {
		if p[j].kind != 'w' || j+1 < len(p) && p[j+1].kind == '(' {
			continue
		}
		if j > 0 && p[j-1].kind == ',' || j > 1 && p[j-1].kind == '*' && p[j-2].kind == ',' {
			d.more = append(d.more, [2]int{p[j].start, p[j].end})
			continue
		}
		if j > 0 && !r.commaBefore(p[:j]) || j == 0 || len(d.more) == 0 {
			d.start, d.end = p[j].start, p[j].end
			if !r.commaBefore(p[:j]) {
				return d
			}
		}
	}
	return d
}

func (r *tableReader) commaBefore(p []tableToken) bool {
	for _, t := range p {
		if t.kind == ',' {
			return true
		}
	}
	return false
}

// pointed returns the name in "(*name)" and "(*name(...))", which declares a pointer to a function.
func (r *tableReader) pointed(group tableToken) (start, end int) {
	at := group.start + 1
	for at < group.end && isBlank(r.src[at]) {
		at++
	}
	if first := at; r.letter(r.src[at]) { // a convention for calls, or the class of a member
		for at < group.end && r.letter(r.src[at]) {
			at++
		}
		if word := string(r.src[first:at]); word != strings.ToUpper(word) && !strings.HasPrefix(word, "__") && r.src[at] != ':' {
			return 0, 0
		}
	}
	seen := false
	for at < group.end {
		switch c := r.src[at]; {
		case c == '*' || c == '^' || c == '&':
			seen = true
			at++
		case isBlank(c) || c == ':':
			at++
		case r.letter(c):
			start = at
			for at < group.end && (r.letter(r.src[at]) || r.src[at] >= '0' && r.src[at] <= '9') {
				at++
			}
			end = at
			if seen {
				for at < group.end && isBlank(r.src[at]) {
					at++
				}
				if at < group.end && (r.src[at] == ')' || r.src[at] == '[' || r.src[at] == '(') {
					return start, end
				}
			}
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// wrapped is the one word in a group.
func (r *tableReader) wrapped(group tableToken) (start, end int) {
	if group.end-group.start < 2 {
		return 0, 0
	}
	text := r.src[group.start+1 : group.end-1]
	start = group.start + 1 + len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	end = start + len(bytes.TrimSpace(text))
	for at := start; at < end; at++ {
		if c := r.src[at]; !r.letter(c) && (c < '0' || c > '9') {
			return 0, 0
		}
	}
	return start, end
}

// attribute says whether the word before the group at j of p belongs to a declaration without being its name: __attribute__((x)), or another with
// two underscores that the type or the name comes after, or that comes after the parameters.
func (r *tableReader) attribute(p []tableToken, j int) bool {
	w := r.textOf(p[j-1])
	switch {
	case !strings.HasPrefix(w, "__"):
		return false
	case strings.HasSuffix(w, "__") || w == "__declspec" || w == "__asm" || w == "__typeof" || w == "__pragma" || w == "__based" || j > 1 && p[j-2].kind == '(':
		return true
	}
	for k := j + 1; k < len(p); k++ {
		if w := r.textOf(p[k]); p[k].kind == 'w' && !strings.HasPrefix(w, "__") && !r.macro(p[k]) || p[k].kind == '*' {
			return true
		}
	}
	return false
}

// callable is a function without a key: a name before parentheses.
func (r *tableReader) callable(term byte) (d definition) {
	p, t := r.plain, r.t
	inType := len(r.scopes) > 0 && r.scopes[len(r.scopes)-1].typ
	if term == '=' || term == ';' && !(t.has(abstract) && inType) {
		return r.variable(term)
	}
	at := -1
	for j := 1; j < len(p); j++ {
		if p[j].kind == ':' && p[j-1].kind != ':' && (j+1 == len(p) || p[j+1].kind != ':') && at >= 0 || p[j].kind == '-' && at >= 0 || p[j].kind == ';' {
			break
		}
		if p[j].kind == 's' && !t.has(raw) {
			if at >= 0 {
				break // the default of an annotation
			}
			return d
		}
		if p[j].kind != '(' {
			continue
		}
		if s, e := r.pointed(p[j]); t.has(raw) && at < 0 && e > s && r.src[e] == '(' && j+1 < len(p) && p[j+1].kind == '(' {
			return definition{kind: Function, start: s, end: e, group: e} // what it returns points to a function
		}
		switch w := r.textOf(p[j-1]); {
		case p[j-1].kind == 'w' && (r.attribute(p, j) || w == "alignas" || w == "decltype" || w == "noexcept" || w == "explicit" || w == "throw" || w == "requires"):
			continue
		case w == "operator" && j+1 < len(p) && p[j+1].kind == '(':
			j++ // operator()
			at = j
		case p[j-1].kind == 'w' && !strings.Contains(t.not, " "+w+" "):
			if at >= 0 && !t.has(raw) {
				continue
			}
			if at >= 0 && at == j-2 && r.macro(p[j-1]) {
				continue // "name(…) ATTRIBUTE(…) {"
			}
			at = j
		case p[j-1].kind != 'w' && r.operatorBefore(j) >= 0:
			at = j
		case at < 0 && p[j-1].kind == 'w':
			return d // if (…) {
		}
	}
	if at < 0 {
		return r.variable(term)
	}
	d.kind, d.group = Function, p[at].start
	d.start, d.end = p[at-1].start, p[at-1].end
	first := at - 1
	if j := r.operatorBefore(at); j >= 0 {
		d.start, first = p[j].start, j
		for d.end = p[at].start; isBlank(r.src[d.end-1]); d.end-- {
		}
	} else if p[at-1].kind != 'w' {
		return definition{}
	}
	if first > 0 && p[first-1].kind == '~' {
		first--
		d.start = p[first].start
	}
	if first > 1 && p[first-1].kind == ':' && p[first-2].kind == ':' {
		if first > 2 && p[first-3].kind == 'w' {
			d.owner = r.textOf(p[first-3])
		}
		return d
	}
	if t.has(raw) {
		return d
	}
	if first > 1 && p[first-1].kind == '.' && t.language == CSharp { // of an interface
		return d
	}
	if n := len(r.scopes); first == 0 || first > 0 && p[first-1].kind != 'w' && p[first-1].kind != '[' && p[first-1].kind != '?' && p[first-1].kind != '*' && p[first-1].kind != '(' && p[first-1].kind != '>' {
		if n == 0 || r.scopes[n-1].symbol < 0 || r.file.Symbols[r.scopes[n-1].symbol].Name != r.textOf(p[at-1]) {
			return definition{} // nothing that gives a result, and no constructor
		}
	} else if p[first-1].kind == 'w' && r.among(" new return throw else ", p[first-1]) {
		if w := r.textOf(p[first-1]); w != "new" || first < 2 {
			return definition{}
		}
	}
	return d
}

// macro says whether a word looks like a macro that makes a type.
func (r *tableReader) macro(t tableToken) bool {
	w := r.textOf(t)
	return strings.ToUpper(w) == w
}

// operatorBefore returns where "operator" stands before the group at j, -1 if it does not.
func (r *tableReader) operatorBefore(j int) int {
	for k := j - 1; k >= 0 && k >= j-5; k-- {
		if r.plain[k].kind == 'w' && r.said(r.plain[k], "operator") {
			return k
		}
		if r.plain[k].kind == ')' || r.plain[k].kind == '(' && k != j-1 {
			break
		}
	}
	return -1
}

// variable is a field of a type, or a variable outside.
func (r *tableReader) variable(term byte) (d definition) {
	p, t := r.plain, r.t
	inType, inside := false, len(r.scopes) > 0
	if inside {
		s := r.scopes[len(r.scopes)-1]
		inType = s.typ
		inside = s.symbol >= 0 && r.file.Symbols[s.symbol].Kind != Module
		if s.enum {
			return d
		}
	}
	if inType && !t.has(fields) || !inType && (!t.has(globals) || inside) || term == '{' && !t.has(properties) && !t.has(raw) {
		return d
	}
	if term == '{' && t.has(raw) {
		return d
	}
	switch w := r.textOf(p[0]); w {
	case "import", "package", "using", "return", "goto", "extern", "friend", "use", "case", "throw", "static_assert", "typedef", "module", "export", "public:", "delete", "else", "template":
		return d
	}
	d.kind = Variable
	words := 0
	for j := 0; j < len(p); j++ {
		switch tok := p[j]; tok.kind {
		case 'w':
			if w := r.textOf(tok); t.has(raw) && w == "operator" || w == "this" && t.has(properties) {
				return definition{}
			}
			words++
			if strings.HasPrefix(r.textOf(tok), "__") && j+1 < len(p) && p[j+1].kind == '(' {
				words--
				j++
				continue
			}
			d.start, d.end = tok.start, tok.end
		case 'B':
			words++
		case '(':
			s, e := r.pointed(tok)
			if s == e || !t.has(raw) || d.group > 0 {
				return definition{}
			}
			d.start, d.end, d.group = s, e, tok.start
			if j+1 < len(p) && p[j+1].kind == '(' {
				j = len(p)
			}
		case '*', '&', '.', '?', '[', '<', '>', ':', '~':
		case ',':
			if words < 2 && d.group == 0 {
				return definition{}
			}
			for ; j+1 < len(p); j++ {
				k := j + 1
				for k < len(p) && p[k].kind == '*' {
					k++
				}
				if p[j].kind == ',' && k < len(p) && p[k].kind == 'w' && (k+1 == len(p) || p[k+1].kind == ',' || p[k+1].kind == '[') {
					d.more = append(d.more, [2]int{p[k].start, p[k].end})
				}
			}
		default:
			return definition{}
		}
	}
	if t.language == PHP {
		if r.src[d.start] != '$' {
			return definition{}
		}
		d.start++
		words++
	}
	if words < 2 {
		return definition{}
	}
	for j := 2; j < len(p); j++ {
		if t.has(raw) && p[j].start == d.start && p[j-1].kind == ':' && p[j-2].kind == ':' {
			return definition{} // declared in its class
		}
	}
	d.group = 0
	return d
}

// created is what a statement of SQL creates.
func (r *tableReader) created(i int) (d definition) {
	p := r.plain
	if i != 0 {
		return d
	}
	for j := 1; j < len(p) && p[j].kind == 'w'; j++ {
		switch strings.ToLower(r.textOf(p[j])) {
		case "table", "view", "type", "sequence", "domain":
			d.kind = Struct
		case "function", "procedure", "trigger", "aggregate":
			d.kind = Function
		case "index":
			d.kind = Variable
		case "schema", "database":
			d.kind = Module
		case "or", "replace", "unique", "temp", "temporary", "global", "local", "unlogged", "materialized", "recursive", "foreign", "external", "constraint", "clustered", "nonclustered", "virtual", "editionable":
			continue
		default:
			return d
		}
		for j++; j < len(p); j++ {
			if p[j].kind == 'w' && strings.Contains(" if not exists concurrently ", " "+strings.ToLower(r.textOf(p[j]))+" ") {
				continue
			}
			break
		}
		if j < len(p) && strings.EqualFold(r.textOf(p[j]), "on") {
			return definition{} // an index without a name
		}
		for ; j < len(p); j++ {
			if p[j].kind != 'w' && p[j].kind != 's' && p[j].kind != '[' {
				break
			}
			d.start, d.end = p[j].start, p[j].end
			if p[j].kind != 'w' && d.end-d.start > 2 {
				d.start, d.end = d.start+1, d.end-1
			}
			if j+1 == len(p) || p[j+1].kind != '.' {
				break
			}
			j++
		}
		if j+1 < len(p) && p[j+1].kind == '(' && d.kind == Function {
			d.group, d.groupEnd = p[j+1].start, p[j+1].end
		}
		return d
	}
	return d
}

// shellFunction is "name() {" or "function name {".
func (r *tableReader) shellFunction(term byte) (d definition) {
	h := r.head
	if term != '{' || len(h) == 0 {
		return d
	}
	n := len(h)
	bare := n >= 3 && h[n-1].kind == ')' && h[n-2].kind == '(' && h[n-3].kind == 'w'
	if bare {
		n -= 2
	}
	keyed := n >= 2 && h[n-2].kind == 'w' && r.said(h[n-2], "function")
	if !bare && !keyed || h[n-1].kind != 'w' {
		return d
	}
	d.kind = Function
	d.start, d.end = h[n-1].start, h[n-1].end
	return d
}

// block is a block of HCL with labels, the last of which is its name, or in one without the attribute that is set.
func (r *tableReader) block(term byte) (d definition) {
	h := r.head
	if term != '{' || len(h) < 2 || h[0].kind != 'w' {
		return d
	}
	last := h[len(h)-1]
	if last.kind != 's' && last.kind != 'w' {
		return d
	}
	d.kind, d.start, d.end = Struct, last.start, last.end
	if last.kind == 's' {
		d.start, d.end = d.start+1, d.end-1
	}
	if k := r.key(h[0]); k != nil {
		d.kind = k.kind
	}
	if len(h) > 2 && h[1].kind == 's' && h[1].end-h[1].start > 2 {
		d.owner = string(r.src[h[1].start+1 : h[1].end-1])
	}
	return d
}
