package npmpkg

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/pkgdoc"
)

// A decl is a declaration of a module: a function with all its signatures, a class, a type.
type decl struct {
	name    string
	kind    pkgdoc.Kind
	sigs    []string
	doc     string
	line    int
	file    string
	members []decl
	params  []pkgdoc.Param
	lists   []listed // of a namespace
	more    []overload
	all     string // the declaration file that a namespace is all of; "" for one that is declared
}

// An overload is a signature behind the first that has documentation of its own.
type overload struct{ sig, doc string }

// A listed is an export of a namespace that is declared elsewhere: the list export {a}, or import a = b.c.
type listed struct {
	as string // below the namespace: with dots in one that is nested
	e  export
	in *module // where its local name is looked for
}

// A from is a name of another module: "*" is all of it, "=" is what export = says.
type from struct {
	module, name string
	typed        bool // import type: its name is no value
}

// A module is what one declaration file declares and exports.
type module struct {
	decls   map[string]*decl
	order   []string
	exports []export
	imports map[string]from   // local names
	aliases map[string]string // import a = b.c
	up      *module           // around a namespace; of a file, the global scope
	file    string

	ambient    map[string]*module // what it declares of modules by their names; "" is the global scope
	ambients   []string           // their names, in the order of the file
	references []string           // paths of its directives
	leads      []string           // modules that it imports and exports, as it names them
	global     bool               // it has no import and no export: all it declares is global

	// chosen says that it exports by lists, stars or an expression. Else all that it declares is exported, whether it says so or not.
	chosen bool
}

// An export makes a declaration public: of this module, or of another one.
type export struct {
	as    string // "" with a star: under its own name
	local string // with dots for what is in a namespace
	of    from
	whole bool // export = local: what is in it is what the module exports
	typed bool // export type: it is no value
}

func newModule(up *module) *module {
	return &module{decls: map[string]*decl{}, imports: map[string]from{}, aliases: map[string]string{}, global: true, up: up}
}

// look finds a local name where code stands, then around it. ok is false for one that nothing declares.
func (m *module) look(name string) (d *decl, alias string, of from, ok bool) {
	for ; m != nil; m = m.up {
		if d = m.decls[name]; d != nil {
			return d, "", from{}, true
		}
		if alias, ok = m.aliases[name]; ok {
			return nil, alias, from{}, true
		}
		if of, ok = m.imports[name]; ok {
			return nil, "", of, true
		}
	}
	return nil, "", from{}, false
}

// A parser reads the declarations of a file.
type parser struct {
	src    string
	toks   []token
	file   string
	module *module
	depth  int
}

const maxNesting = 50

// parse reads a declaration file. What is no declaration is read over.
func parse(file, src string) (*module, bool) {
	toks, ok := lex(src)
	if !ok {
		return nil, false
	}
	p := &parser{src: src, toks: toks, file: file, module: newModule(nil)}
	p.module.file = file
	head := src
	if len(toks) > 0 {
		head = src[:toks[0].at]
	}
	p.module.references = references(head)
	p.body(0, len(toks), p.module)
	p.module.tidy()
	return p.module, true
}

func (p *parser) kind(i int) byte {
	if i < 0 || i >= len(p.toks) {
		return 0
	}
	return p.toks[i].kind
}

func (p *parser) is(i int, text string) bool {
	return i >= 0 && i < len(p.toks) && p.toks[i].text == text && p.toks[i].kind != 's'
}

// end is the index behind the statement at i: behind its semicolon, its body, or at a line that begins another.
func (p *parser) end(i, to int, body bool) int {
	for from := i; i < to; i++ {
		t := &p.toks[i]
		if t.newline && i > from && t.kind == 'a' && begins(t.text) && !p.goesOn(i-1) {
			return i
		}
		switch t.kind {
		case '(', '[', '{':
			if t.matching < 0 || t.matching >= to {
				return to
			}
			i = t.matching
			if t.kind == '{' && body {
				return i + 1
			}
		case ';':
			return i + 1
		case '}', ')', ']':
			return i + 1
		}
	}
	return to
}

// goesOn reports whether what ends with token i needs more.
func (p *parser) goesOn(i int) bool {
	return strings.IndexByte("=|&:,<.?", p.kind(i)) >= 0 && p.kind(i) != 0 || p.is(i, "extends") || p.is(i, "keyof") || p.is(i, "infer")
}

// begins reports whether a word begins a statement.
func begins(word string) bool {
	switch word {
	case "export", "declare", "import", "function", "class", "interface", "type", "const", "let", "var", "enum", "namespace", "abstract", "module":
		return true
	}
	return false
}

// body reads the statements between two tokens.
func (p *parser) body(i, to int, m *module) {
	if p.depth++; p.depth > maxNesting {
		return
	}
	defer func() { p.depth-- }()
	for i < to {
		i = max(p.statement(i, to, m), i+1)
	}
}

// statement reads the one at i, and is the index behind it.
func (p *parser) statement(i, to int, m *module) int {
	first := &p.toks[i]
	exported, standard := false, false
	switch {
	case first.kind != 'a':
		return p.end(i, to, false)
	case first.text == "import":
		m.global = false
		return p.imported(i, to, m)
	case first.text == "export":
		m.global = false
		exported = true
		i++
		switch {
		case p.kind(i) == '{' || p.is(i, "type") && p.kind(i+1) == '{':
			return p.list(i, to, m)
		case p.kind(i) == '*' || p.is(i, "type") && p.kind(i+1) == '*':
			return p.star(i, to, m)
		case p.kind(i) == '=' || p.is(i, "default") && p.kind(i+1) == 'a' && !declares(p.toks[i+1].text):
			m.chosen = true
			if p.kind(i+1) == 'a' {
				m.exports = append(m.exports, export{as: "default", local: p.dotted(i+1, to), whole: p.kind(i) == '='})
			}
			return p.end(i, to, false)
		case p.is(i, "import") && i+1 < to:
			if p.is(i+1, "type") && p.kind(i+2) == 'a' {
				i++
			}
			if name := p.toks[i+1].text; p.kind(i+1) == 'a' && p.kind(i+2) == '=' {
				m.exports = append(m.exports, export{as: name, local: name})
			}
			return p.imported(i, to, m)
		case p.is(i, "as"):
			return p.end(i, to, false)
		case p.is(i, "default"):
			standard = true
			i++
		}
	}
	for p.is(i, "declare") || p.is(i, "abstract") || p.is(i, "async") || p.is(i, "const") && p.is(i+1, "enum") {
		i++
	}
	doc := first.doc
	end, names := p.declaration(i, to, m, doc, first.line, standard)
	for _, name := range names {
		if standard {
			m.exports = append(m.exports, export{as: "default", local: name})
		} else if exported {
			m.exports = append(m.exports, export{as: name, local: name})
		}
	}
	return end
}

func declares(word string) bool {
	switch word {
	case "function", "class", "interface", "abstract", "async", "enum", "declare":
		return true
	}
	return false
}

// dotted is the name at i, a or a.b.c.
func (p *parser) dotted(i, to int) string {
	end := i + 1
	for end+1 < to && p.is(end, ".") && p.kind(end+1) == 'a' {
		end += 2
	}
	return p.code(i, end)
}

// imported reads an import: the local names lead to another module.
func (p *parser) imported(i, to int, m *module) int {
	end := p.end(i, to, false)
	for k := i; k < end; k++ { // import {a} from "b" goes on behind its brace
		if p.kind(k) == 's' {
			end = max(end, k+1)
		}
	}
	module := ""
	for k := end - 1; k > i && k > end-4; k-- {
		if p.kind(k) == 's' {
			module = p.toks[k].value()
			break
		}
	}
	m.leads = append(m.leads, module)
	k := i + 1
	typed := p.is(k, "type") && !p.is(k+1, "from") && p.kind(k+1) != ',' && p.kind(k+1) != '='
	if typed {
		k++
	}
	if p.kind(k) == 'a' {
		if p.kind(k+1) == '=' { // import a = require("b"), import a = b.c
			if p.is(k+2, "require") && p.kind(k+3) == '(' {
				m.imports[p.toks[k].text] = from{module, "=", typed}
			} else if p.kind(k+2) == 'a' {
				m.aliases[p.toks[k].text] = p.dotted(k+2, end)
			}
			return end
		}
		m.imports[p.toks[k].text] = from{module, "default", typed}
		if k++; p.kind(k) == ',' {
			k++
		}
	}
	switch {
	case p.kind(k) == '*' && p.is(k+1, "as"):
		m.imports[p.toks[min(k+2, len(p.toks)-1)].text] = from{module, "*", typed}
	case p.kind(k) == '{' && p.toks[k].matching > 0:
		for _, pair := range p.pairs(k) {
			m.imports[pair.as] = from{module, pair.name, typed || pair.typed}
		}
	}
	return end
}

// pairs are the names of {a, b as c, type d}, each with the one that it gets.
func (p *parser) pairs(open int) (out []pair) {
	for k := open + 1; k < p.toks[open].matching; k++ {
		typed := p.is(k, "type") && p.kind(k+1) != ',' && p.kind(k+1) != '}' && !p.is(k+1, "as")
		if typed {
			k++
		}
		if p.kind(k) != 'a' && p.kind(k) != 's' {
			continue
		}
		name := p.toks[k].name()
		as := name
		if p.is(k+1, "as") && (p.kind(k+2) == 'a' || p.kind(k+2) == 's') {
			as = p.toks[k+2].name()
			k += 2
		}
		out = append(out, pair{name, as, typed})
	}
	return out
}

// A pair is a name in a list and the one that it gets.
type pair struct {
	name, as string
	typed    bool
}

// list reads export {a, b as c} with or without a module.
func (p *parser) list(i, to int, m *module) int {
	m.chosen = true
	typed := p.is(i, "type")
	if typed {
		i++
	}
	last := p.toks[i].matching
	if last < 0 || last >= to {
		return to
	}
	module := ""
	end := last + 1
	if p.is(end, "from") && p.kind(end+1) == 's' {
		module = p.toks[end+1].value()
		m.leads = append(m.leads, module)
		end += 2
	}
	for _, pair := range p.pairs(i) {
		e := export{as: pair.as, local: pair.name, typed: typed || pair.typed}
		if module != "" {
			e.of = from{module, pair.name, e.typed}
		}
		m.exports = append(m.exports, e)
	}
	return end
}

// star reads export * from "m" and export * as n from "m".
func (p *parser) star(i, to int, m *module) int {
	m.chosen = true
	if p.is(i, "type") {
		i++
	}
	as := ""
	i++
	if p.is(i, "as") {
		as = p.toks[min(i+1, len(p.toks)-1)].name()
		i += 2
	}
	if p.is(i, "from") && p.kind(i+1) == 's' && i+1 < to {
		m.leads = append(m.leads, p.toks[i+1].value())
		m.exports = append(m.exports, export{as: as, of: from{p.toks[i+1].value(), "*", false}})
		return i + 2
	}
	return p.end(i, to, false)
}

// declaration reads what is declared at i.
func (p *parser) declaration(i, to int, m *module, doc string, line int, standard bool) (end int, names []string) {
	if i >= to {
		return to, nil
	}
	word := p.toks[i].text
	name := ""
	if k := p.kind(i + 1); k == 'a' || k == 's' {
		name = p.toks[i+1].value()
	}
	d := decl{name: name, doc: doc, line: line, file: p.file}
	switch word {
	case "function":
		end = p.end(i, to, false)
		if name == "" {
			d.name = "default"
		}
		d.kind, d.sigs, d.params = pkgdoc.Function, []string{p.code(i, end)}, p.paramsAt(i)
	case "class", "interface", "enum":
		end = p.end(i, to, true)
		if name == "" || p.is(i+1, "extends") || p.is(i+1, "implements") {
			d.name = "default"
		}
		d.kind = map[string]pkgdoc.Kind{"class": pkgdoc.Class, "interface": pkgdoc.Interface, "enum": pkgdoc.Type}[word]
		p.members(&d, i, end)
	case "type":
		end = p.end(i, to, false)
		d.kind, d.sigs = pkgdoc.Type, []string{p.code(i, end)}
	case "const", "let", "var":
		return p.variables(i, to, m, doc, line)
	case "namespace", "module", "global":
		return p.namespace(i, to, m, d)
	default:
		return p.end(i, to, false), nil
	}
	if d.name == "" || d.name == "default" && !standard {
		return end, nil // it begins as one
	}
	m.declare(d)
	return end, []string{d.name}
}

// declare adds a declaration. One more of a name is another signature, or more members.
func (m *module) declare(d decl) {
	was := m.decls[d.name]
	if was == nil {
		m.decls[d.name] = &d
		m.order = append(m.order, d.name)
		return
	}
	if was.kind == pkgdoc.Namespace {
		was.sigs = nil // the other declaration says more
	}
	if d.kind != pkgdoc.Namespace || len(was.sigs) == 0 {
		was.sigs = append(was.sigs, d.sigs...)
	}
	was.members = append(was.members, d.members...)
	was.lists = append(was.lists, d.lists...)
	was.documented(d)
	if was.kind == pkgdoc.Namespace || was.kind == pkgdoc.Interface && d.kind == pkgdoc.Class || was.kind == pkgdoc.Interface && d.kind == pkgdoc.Variable {
		was.kind = d.kind
	}
}

// join adds another declaration of the same member.
func (d *decl) join(other decl) {
	if d.kind != pkgdoc.Namespace || len(d.sigs) == 0 {
		d.sigs = append(d.sigs, other.sigs...)
	}
	d.documented(other)
}

// documented keeps the documentation of another declaration of the same: that of a signature stays with it.
func (d *decl) documented(other decl) {
	switch {
	case other.doc == "":
	case d.doc == "":
		d.doc = other.doc
	case len(other.sigs) > 0 && (other.kind == pkgdoc.Function || other.kind == pkgdoc.Method):
		d.more = append(d.more, overload{other.sigs[0], other.doc})
	}
	d.more = append(d.more, other.more...)
}

// variables reads const a: A, b: B;
func (p *parser) variables(i, to int, m *module, doc string, line int) (end int, names []string) {
	end = p.end(i, to, false)
	word := p.toks[i].text
	for k := i + 1; k < end; {
		stop := k
		for stop < end && p.kind(stop) != ',' && p.kind(stop) != ';' {
			if n := p.toks[stop].matching; n > stop {
				stop = n
			} else if p.kind(stop) == '<' {
				stop = p.angle(stop, end) - 1
			}
			stop++
		}
		if p.kind(k) == 'a' {
			d := decl{name: p.toks[k].text, kind: pkgdoc.Variable, sigs: []string{word + " " + p.code(k, stop)}, doc: doc, line: line, file: p.file}
			if p.kind(k+1) == ':' && (p.kind(k+2) == '(' || p.kind(k+2) == '<') && strings.Contains(d.sigs[0], "=>") {
				d.kind = pkgdoc.Function
			} else if word == "const" {
				d.kind = pkgdoc.Constant
			}
			m.declare(d)
			names = append(names, d.name)
		}
		k = stop + 1
	}
	return end, names
}

// maxAngle bounds the tokens between two angle brackets, and those between a name and its parameters: a < that is no bracket is not
// looked for to the end of every text.
const maxAngle = 5_000

// maxParams are those of one function that are listed.
const maxParams = 100

// angle is the index behind the > that closes the < at i, or i+1.
func (p *parser) angle(i, to int) int {
	depth := 0
	for k := i; k < min(to, i+maxAngle); k++ {
		switch p.kind(k) {
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				return k + 1
			}
		case '(', '[', '{':
			if n := p.toks[k].matching; n > k {
				k = n
			}
		case ';':
			return i + 1
		}
	}
	return i + 1
}

// namespace reads namespace a { … }: what it exports are members. What is declared of a module by its name, or of the global scope,
// is kept apart.
func (p *parser) namespace(i, to int, m *module, d decl) (end int, names []string) {
	open := i + 1
	for open < to && p.kind(open) != '{' && p.kind(open) != ';' {
		open++
	}
	if p.kind(open) != '{' || p.toks[open].matching < 0 || p.toks[open].matching >= to {
		return p.end(i, to, false), nil
	}
	last := p.toks[open].matching
	if p.kind(i+1) == 's' || p.toks[i].text == "global" {
		name := ""
		if p.kind(i+1) == 's' {
			name = p.toks[i+1].value()
		}
		if p.kind(i+1) != 's' || name != "" {
			p.body(open+1, last, p.module.ambientOf(name))
		}
		return last + 1, nil
	}
	if d.name == "" {
		return last + 1, nil // no name stands where one has to
	}
	inner := newModule(m)
	p.body(open+1, last, inner)
	d.kind, d.sigs = pkgdoc.Namespace, []string{"namespace " + d.name}
	d.holds(inner)
	m.declare(d)
	return last + 1, []string{d.name}
}

// holds makes what a namespace exports its members: all that it declares, or what its lists name.
func (d *decl) holds(inner *module) {
	own := map[string]bool{}
	for _, e := range inner.exports {
		if e.local == e.as && e.of.module == "" && inner.decls[e.local] != nil {
			own[e.local] = true
		} else if e.as != "" {
			d.lists = append(d.lists, listed{e.as, e, inner})
		}
	}
	for _, name := range inner.order {
		if inner.chosen && !own[name] {
			continue
		}
		one := *inner.decls[name]
		one.name, one.members = d.name+"."+name, slices.Clone(one.members)
		for k := range one.members {
			one.members[k].name = d.name + "." + one.members[k].name
		}
		d.members = append(append(d.members, one), one.members...)
		for _, l := range one.lists {
			d.lists = append(d.lists, listed{name + "." + l.as, l.e, l.in})
		}
	}
}

// members reads the body of a class, an interface or an enum: methods are symbols of their own, the rest is in its code.
func (p *parser) members(d *decl, i, end int) {
	open := i
	for open < end && p.kind(open) != '{' {
		if n := p.toks[open].matching; n > open {
			open = n
		}
		open++
	}
	if open >= end || p.toks[open].matching < 0 {
		d.sigs = []string{p.code(i, end)}
		return
	}
	last := p.toks[open].matching
	var code strings.Builder
	code.WriteString(p.code(i, open) + " {")
	methods := map[string]int{} // where each is in d.members, by its name
	for k := open + 1; k < last; {
		stop := k
		for stop < last && p.kind(stop) != ';' && p.kind(stop) != ',' && (stop == k || !p.toks[stop].newline || p.goesOn(stop-1) || strings.IndexByte("|&?:=.", p.kind(stop)) >= 0) {
			if n := p.toks[stop].matching; n > stop {
				stop = n
			} else if p.kind(stop) == '<' {
				stop = p.angle(stop, last) - 1
			}
			stop++
		}
		if stop > k {
			p.member(d, methods, k, stop, &code)
		}
		k = max(stop, k)
		if k < last && (p.kind(k) == ';' || p.kind(k) == ',') {
			k++
		}
	}
	code.WriteString("\n}")
	d.sigs = []string{code.String()}
}

// member reads one of a class or interface. What is private is left out.
func (p *parser) member(d *decl, methods map[string]int, i, end int, code *strings.Builder) {
	k := i
	for k < end-1 && p.kind(k) == 'a' && modifier(p.toks[k].text) && (p.kind(k+1) == 'a' || p.kind(k+1) == 's' || p.kind(k+1) == '[' || p.kind(k+1) == '#') {
		if w := p.toks[k].text; w == "private" || w == "protected" {
			return
		}
		k++
	}
	name := &p.toks[k]
	if name.kind != 'a' && name.kind != 's' || strings.HasPrefix(name.text, "#") || strings.Contains(p.toks[i].doc, "@internal") {
		if name.kind == '[' || name.kind == '(' || name.kind == '<' { // an index, a call
			code.WriteString(p.property(d, i, end))
		}
		return
	}
	at := k + 1
	if p.kind(at) == '?' {
		at++
	}
	if p.kind(at) == '<' {
		at = p.angle(at, end)
	}
	if p.kind(at) != '(' || name.text == "constructor" {
		code.WriteString(p.property(d, i, end))
		return
	}
	full := d.name + "." + name.value()
	if m, ok := methods[full]; ok {
		d.members[m].join(decl{kind: pkgdoc.Method, sigs: []string{p.code(i, end)}, doc: p.toks[i].doc})
		return
	}
	methods[full] = len(d.members)
	d.members = append(d.members, decl{name: full, kind: pkgdoc.Method, sigs: []string{p.code(i, end)}, doc: p.toks[i].doc, line: p.toks[i].line, file: p.file, params: p.paramsAt(k)})
}

// maxRemark bounds what is said of a property, in characters.
const maxRemark = 200

// property is the code of a member that is no method, below the first paragraph that its comment says.
func (p *parser) property(d *decl, i, end int) string {
	said := ""
	if doc := comment(p.toks[i].doc); doc.text != "" || doc.deprecated != "" {
		text, _, _ := strings.Cut(doc.text, "\n\n")
		if doc.deprecated != "" {
			text = "Deprecated: " + doc.deprecated + " " + text
		}
		said = "\n  // " + diag.Brief(strings.Join(strings.Fields(text), " "), maxRemark)
	}
	mark := ";"
	if d.kind == pkgdoc.Type { // an enum
		mark = ","
	}
	return said + "\n  " + p.code(i, end) + mark
}

func modifier(word string) bool {
	switch word {
	case "public", "private", "protected", "static", "readonly", "abstract", "declare", "get", "set", "async", "override", "accessor":
		return true
	}
	return false
}

// code is the text of tokens on one line, without comments and the semicolon at the end.
func (p *parser) code(i, end int) string {
	var w strings.Builder
	last := -1
	for k := i; k < end; k++ {
		t := &p.toks[k]
		if t.kind == ';' && k == end-1 {
			break
		}
		if last >= 0 && t.at > last {
			w.WriteByte(' ')
		}
		w.WriteString(t.text)
		last = t.end
	}
	return strings.TrimPrefix(strings.TrimPrefix(w.String(), "export "), "declare ")
}

// paramsAt are the parameters of the function whose name is at i.
func (p *parser) paramsAt(i int) (out []pkgdoc.Param) {
	open := i + 1
	for open < min(len(p.toks), i+maxAngle) && p.kind(open) != '(' {
		switch p.kind(open) {
		case '<':
			open = p.angle(open, len(p.toks)) - 1
		case ';', '{':
			return nil
		}
		open++
	}
	if open >= len(p.toks) || p.toks[open].matching < 0 || p.kind(open) != '(' {
		return nil
	}
	last := p.toks[open].matching
	for k := open + 1; k < last && len(out) < maxParams; {
		stop := k
		for stop < last && p.kind(stop) != ',' {
			if n := p.toks[stop].matching; n > stop {
				stop = n
			} else if p.kind(stop) == '<' {
				stop = p.angle(stop, last) - 1
			}
			stop++
		}
		if stop > k {
			out = append(out, p.param(k, stop))
		}
		k = stop + 1
	}
	return out
}

func (p *parser) param(i, end int) pkgdoc.Param {
	one := pkgdoc.Param{Required: true}
	if p.kind(i) == '.' {
		one.Required = false
		i++
	}
	one.Name = p.toks[min(i, len(p.toks)-1)].text
	if p.kind(i) == '{' || p.kind(i) == '[' {
		one.Name = "options"
		i = max(p.toks[i].matching, i)
	}
	for k := i + 1; k < end; k++ {
		if p.kind(k) == '?' && p.kind(k+1) == ':' {
			one.Required = false
		}
		if p.kind(k) == ':' {
			one.Type = p.code(k+1, end)
			break
		}
	}
	return one
}
