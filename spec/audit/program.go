package audit

import (
	"slices"
	"strconv"
	"strings"
)

// A program is a text of Python, JavaScript, TypeScript or Go that is read.
type program struct {
	*auditor
	l       lang
	toks    []token
	mate    []int // of a bracket, the index of its other half, or -1
	around  []int // index of the bracket around each token, or -1
	vars    map[string][]span
	params  map[string][]string // parameters of functions
	names   map[string]string   // what an import calls what
	memo    map[string]result
	open    map[string]bool // variables that are being evaluated
	steps   int             // tokens that may still be looked at
	room    int             // how many tokens there may be, with those of substitutions
	network bool            // something speaks to the network

	importing []span          // tokens of imports, in order
	starred   map[string]bool // modules whose members are all imported
}

type span struct{ from, to int }

// spare is how many tokens of substitutions may stand behind those of the text.
const spare = 512

// A result is what an expression is: a value, or the elements of a list, or the dotted name of something imported.
type result struct {
	v    value
	list []value
	name string
}

// program reads a text whose first line is line.
func (a *auditor) program(l lang, src string, line int) {
	p := newProgram(a, l, tokens(l, src, int32(line), 0))
	p.imports()
	p.assignments()
	p.effects()
	if p.network {
		p.addresses()
	}
	switch l {
	case python:
		a.inlineDependencies(src, line)
	case golang:
		a.generators(src, line)
	}
}

// generators are the commands that go generate runs.
func (a *auditor) generators(src string, line int) {
	if !strings.Contains(src, "//go:generate ") {
		return
	}
	for text := range strings.Lines(src) {
		if cmd, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "//go:generate "); ok {
			if alias, ok := strings.CutPrefix(strings.TrimSpace(cmd), "-command "); ok {
				_, cmd, _ = strings.Cut(strings.TrimSpace(alias), " ")
			}
			a.lineOf(cmd, line, false)
		}
		line++
	}
}

func newProgram(a *auditor, l lang, toks []token) *program {
	p := &program{auditor: a, l: l, toks: toks, vars: map[string][]span{}, params: map[string][]string{}, names: map[string]string{}, memo: map[string]result{}, open: map[string]bool{}}
	p.steps = 60*len(toks) + 5000
	p.brackets()
	p.room = len(toks) + spare
	return p
}

// brackets finds the other half of each bracket.
func (p *program) brackets() {
	p.mate, p.around = make([]int, len(p.toks)), make([]int, len(p.toks))
	var open []int
	for i, t := range p.toks {
		p.mate[i], p.around[i] = -1, -1
		if len(open) > 0 {
			p.around[i] = open[len(open)-1]
		}
		switch t.kind {
		case '(', '[', '{':
			open = append(open, i)
		case ')', ']', '}':
			want := map[byte]byte{')': '(', ']': '[', '}': '{'}[t.kind]
			for n := len(open); n > 0 && n > len(open)-3; n-- {
				if j := open[n-1]; p.toks[j].kind == want {
					p.mate[i], p.mate[j] = j, i
					open = open[:n-1]
					break
				}
			}
		}
	}
}

// is reports whether token i is a word or an operator that reads text. It is asked everywhere, so that a copy at each place is 20 kB of program.
//
//go:noinline
func (p *program) is(i int, text string) bool {
	return i >= 0 && i < len(p.toks) && p.toks[i].text == text && p.toks[i].kind != 's'
}

//go:noinline
func (p *program) kind(i int) byte {
	if i < 0 || i >= len(p.toks) {
		return 'n'
	}
	return p.toks[i].kind
}

// maxTerms is how many tokens an expression has outside brackets.
const maxTerms = 1000

// skip is the first token from i on that is no end of line.
func (p *program) skip(i int) int {
	for i < len(p.toks) && p.toks[i].kind == 'n' {
		i++
	}
	return i
}

// behind is the last token before i that is no end of line.
func (p *program) behind(i int) int {
	for i--; i >= 0 && p.toks[i].kind == 'n'; i-- {
	}
	return i
}

// end is where the expression that starts at i ends: before a comma, a bracket that closes, or the end of a statement.
func (p *program) end(i int) int {
	start := i
	for n := 0; i < len(p.toks); i++ {
		if n++; n > maxTerms {
			return start // longer than anyone writes: it is nothing that is known
		}
		switch t := p.toks[i]; t.kind {
		case '(', '[', '{':
			if p.mate[i] < 0 {
				return i
			}
			if t.kind == '{' && p.l != python && i > start && p.kind(i-1) == 'n' {
				return i
			}
			i = p.mate[i]
		case ')', ']', '}', ',', ';':
			return i
		case ':':
			if p.l == python {
				return i
			}
		case 'n':
			if p.around[i] >= 0 && p.toks[p.around[i]].kind != '{' {
				continue
			}
			before, after := p.kind(i-1), p.kind(p.skip(i))
			if i == start || strings.IndexByte("+.?|&=%", before) >= 0 || p.l != python && strings.IndexByte("+.?|:&", after) >= 0 {
				continue
			}
			return i
		}
	}
	return i
}

// imports learns what the names of modules are.
func (p *program) imports() {
	for i := 0; i < len(p.toks); i++ {
		if p.toks[i].kind != 'a' || p.kind(i-1) == '.' {
			continue
		}
		from := i
		switch p.toks[i].text {
		case "import":
			switch p.l {
			case python:
				i = p.importPython(i+1, "")
			case golang:
				i = p.importGo(i + 1)
			default:
				i = p.importScript(i + 1)
			}
		case "from":
			if p.l == python && (p.kind(i-1) == 'n' || p.kind(i-1) == ';') {
				module, j := "", i+1
				for ; j < len(p.toks) && (p.toks[j].kind == 'a' && p.toks[j].text != "import" || p.toks[j].kind == '.'); j++ {
					module += p.toks[j].text
				}
				if p.is(j, "import") {
					i = p.importPython(j+1, module+".")
				}
			}
		case "export":
			if p.l == script {
				j := i + 1
				for j < len(p.toks) && j < i+200 && p.toks[j].kind != 'n' && p.toks[j].kind != 's' {
					j++
				}
			}
		}
		if i > from {
			p.importing = append(p.importing, span{from, i})
		}
	}
}

func (p *program) importPython(i int, prefix string) int {
	for ; i < len(p.toks); i++ {
		if p.kind(i) == 'n' && (p.around[i] < 0 || p.kind(p.around[i]) != '(') || p.kind(i) == ';' {
			return i
		}
		if p.kind(i) == '*' && prefix != "" {
			p.module(prefix[:len(prefix)-1])
			p.stars(prefix[:len(prefix)-1])
		}
		if p.kind(i) != 'a' || p.is(i, "as") {
			continue
		}
		name, first := p.toks[i].text, p.toks[i].text
		for p.kind(i+1) == '.' && p.kind(i+2) == 'a' {
			i += 2
			name += "." + p.toks[i].text
		}
		full := prefix + name
		p.module(full)
		if p.is(i+1, "as") && p.kind(i+2) == 'a' {
			i += 2
			p.names[p.toks[i].text] = full
		} else if prefix != "" {
			p.names[name] = full
		} else {
			p.names[first] = first
		}
	}
	return i
}

func (p *program) importGo(i int) int {
	one := func(i int) {
		path := p.toks[i].text
		name := path[strings.LastIndexByte(path, '/')+1:]
		if p.kind(i-1) == '.' {
			p.stars(name)
		}
		if p.kind(i-1) == 'a' && !p.is(i-1, "import") {
			p.names[p.toks[i-1].text] = name
		} else {
			p.names[name] = name
		}
		if p.module(path); path == "C" { // the code of C stands in a comment
			p.add(Dynamic, "", int(p.toks[i].line))
		}
	}
	if p.kind(i) != '(' {
		for ; i < len(p.toks) && p.kind(i) != 'n'; i++ {
			if p.kind(i) == 's' {
				one(i)
			}
		}
		return i
	}
	for i++; i < len(p.toks) && p.kind(i) != ')'; i++ {
		if p.kind(i) == 's' {
			one(i)
		}
	}
	return i
}

// importScript reads what follows the word import.
func (p *program) importScript(i int) int {
	if p.kind(i) == '(' || p.kind(i) == '.' {
		return i - 1
	}
	j := i
	for ; j < len(p.toks) && j < i+400 && p.kind(j) != 's' && p.kind(j) != ';' && p.kind(j) != '('; j++ {
	}
	if p.kind(j) != 's' {
		return i
	}
	module := strings.TrimPrefix(p.toks[j].text, "node:")
	p.module(module)
	p.net(module, false, int(p.toks[j].line))
	p.required(module, int(p.toks[j].line))
	p.bind(i, j, module)
	return j
}

// bind gives the names between from and to, of an import or a pattern, their places in a module.
func (p *program) bind(from, to int, module string) {
	braces := false
	for i := from; i < to; i++ {
		switch t := p.toks[i]; {
		case t.kind == '{':
			braces = true
		case t.kind == '}':
			braces = false
		case t.kind != 'a' || t.text == "type" || t.text == "from" || t.text == "as":
		case !braces:
			p.names[t.text] = module
		case p.is(i+1, "as") || p.is(i+1, ":"):
			if p.kind(i+2) == 'a' {
				p.names[p.toks[i+2].text] = module + "." + t.text
			}
			i += 2
		default:
			p.names[t.text] = module + "." + t.text
		}
	}
}

// module notes that a module of the network is imported.
func (p *program) module(name string) {
	first, _, _ := strings.Cut(strings.TrimPrefix(name, "node:"), ".")
	switch p.l {
	case python:
		p.network = p.network || slices.Contains(strings.Fields("requests httpx urllib urllib2 urllib3 aiohttp http socket smtplib ftplib imaplib poplib telnetlib websocket websockets paramiko openai anthropic boto3 grpc pycurl tornado xmlrpc asyncssh ssl google"), first) && name != "urllib.parse.quote"
	case golang:
		p.network = p.network || name == "net" || strings.HasPrefix(name, "net/http") || strings.HasPrefix(name, "net/") && name != "net/url" || strings.Contains(name, "websocket") || strings.Contains(name, "resty")
	default:
		p.network = p.network || slices.Contains(strings.Fields("http https http2 net tls dgram axios got node-fetch undici ws request superagent ky cross-fetch"), name)
	}
}

// assignments learns what variables, properties and parameters are.
func (p *program) assignments() {
	for i, t := range p.toks {
		switch {
		case t.kind == '=' && t.text != "==":
			p.assign(i)
		case t.kind == '+' && t.text == "+=" && p.kind(i-1) == 'a':
			p.vars[p.toks[i-1].text] = append(p.vars[p.toks[i-1].text], span{-1, -1})
		case t.kind == ':' && p.around[i] >= 0 && p.kind(p.around[i]) == '{':
			if k := p.behind(i); k >= 0 && (p.kind(k) == 'a' || p.kind(k) == 's') {
				if b := p.kind(p.behind(k)); b == '{' || b == ',' {
					p.set("."+p.toks[k].text, span{i + 1, p.end(i + 1)})
				}
			}
		case t.kind == 'a' && (t.text == "def" || t.text == "func" || t.text == "function") && p.kind(i+1) == 'a' && p.kind(i+2) == '(' && p.mate[i+2] > 0:
			p.function(p.toks[i+1].text, i+2)
		case t.kind == 'a' && t.text == "for":
			p.loop(i + 1)
		case t.kind == 'a' && t.text == "class" && p.l == python && p.kind(i+1) == 'a' && p.kind(i+2) == '(': // it is what its base is
			if args := p.args(i + 2); len(args) > 0 && args[0].name == "" {
				p.set(p.toks[i+1].text, args[0].span)
			}
		case t.kind == 'a' && t.text == "var" && p.l == golang && p.kind(i+1) == 'a' && p.kind(p.end(i+2)) == 'n': // var d net.Dialer
			p.set(p.toks[i+1].text, span{i + 2, p.end(i + 2)})
		case t.kind == 'a' && t.text == "then" && p.l == script && p.kind(i-1) == '.' && p.kind(i+1) == '(':
			p.then(i + 1)
		case t.text == "=>" && p.kind(i-1) == ')' && p.mate[i-1] > 1 && p.kind(p.mate[i-1]-1) == '=':
			if k := p.mate[i-1] - 2; p.kind(k) == 'a' {
				p.function(p.toks[k].text, p.mate[i-1])
			}
		}
	}
	for i, t := range p.toks {
		if t.kind != '(' || p.kind(i-1) != 'a' || p.mate[i] < 0 || p.is(i-2, "def") || p.is(i-2, "func") || p.is(i-2, "function") {
			continue
		}
		list, ok := p.params[p.toks[i-1].text]
		if !ok {
			continue
		}
		for n, arg := range p.args(i) {
			if arg.name == "" && n < len(list) {
				p.set(list[n], arg.span)
			}
		}
	}
}

func (p *program) set(name string, s span) {
	if list := p.vars[name]; len(list) <= 2*maxAlts {
		p.vars[name] = append(list, s)
	}
}

// function learns the parameters between the bracket open and its mate.
func (p *program) function(name string, open int) {
	var list []string
	for i := open + 1; i < p.mate[open]; i++ {
		if k := p.kind(p.behind(i)); p.kind(i) == 'a' && (k == '(' || k == ',') && p.around[i] == open {
			if w := p.toks[i].text; w != "self" && w != "cls" {
				list = append(list, w)
			}
		}
	}
	if len(list) < 20 {
		p.params[name] = list
	}
}

// assign learns from the sign of an assignment at i.
func (p *program) assign(i int) {
	from := i
	for from > 0 && i-from < 24 {
		k := p.kind(from - 1)
		if k == ')' || k == ']' || k == '}' {
			if m := p.mate[from-1]; m >= 0 && (k != ')' || p.l == python) {
				from = m
				if k == '}' {
					break
				}
				continue
			}
		}
		if k == 'n' || k == ';' || k == '(' || k == '{' || k == '[' || k == ',' && p.around[i] >= 0 && p.kind(p.around[i]) == '(' {
			break
		}
		from--
	}
	seg := p.toks[from:i]
	for len(seg) > 0 && seg[0].kind == 'a' && slices.Contains([]string{"const", "let", "var", "export", "public", "private", "static", "readonly", "default", "if", "switch", "declare"}, seg[0].text) {
		seg = seg[1:]
		from++
	}
	rhs := span{i + 1, p.end(i + 1)}
	if len(seg) == 0 {
		return
	}
	if seg[0].kind == '{' && p.l == script {
		if r := p.eval(rhs, 0); r.name != "" {
			p.bind(from, i, r.name)
			if r.name == "process.env" {
				for k := from + 1; k < i; k++ {
					if b := p.kind(k - 1); p.kind(k) == 'a' && (b == '{' || b == ',') {
						p.env(p.toks[k].text, int(p.toks[k].line))
					}
				}
			}
		}
		return
	}
	comma := slices.IndexFunc(seg, func(t token) bool { return t.kind == ',' })
	colon := slices.IndexFunc(seg, func(t token) bool { return t.kind == ':' })
	switch last := len(seg) - 1; {
	case comma > 0:
		for n, t := range seg {
			if t.kind == 'a' {
				if n == 0 && p.l == golang {
					p.set(t.text, rhs)
				} else {
					p.vars[t.text] = append(p.vars[t.text], span{-1, -1})
				}
			}
		}
	case colon == 1 && seg[0].kind == 'a':
		p.set(seg[0].text, rhs)
	case p.l == golang && len(seg) >= 2 && seg[0].kind == 'a' && seg[last].kind == 'a' && seg[last-1].kind != '.':
		p.set(seg[0].text, rhs)
	case seg[last].kind == 'a':
		p.set(seg[last].text, rhs)
		if last > 0 && seg[last-1].kind == '.' {
			p.set("."+seg[last].text, rhs)
		}
	}
}

// loop learns the variable of a for.
func (p *program) loop(i int) {
	if p.kind(i) == '(' {
		i++
	}
	for k := i; k < len(p.toks) && k < i+8; k++ {
		if p.kind(k) == 'n' || p.kind(k) == ';' {
			return
		}
		if (p.is(k, "in") || p.is(k, "of") || p.is(k, "range")) && k > i {
			name := k - 1
			for name > i && p.kind(name) != 'a' {
				name--
			}
			p.set(p.toks[name].text, span{k + 1, p.end(k + 1)})
			return
		}
	}
}

// An arg is an argument of a call.
type arg struct {
	span
	name string // of Python's keyword arguments
}

// args are the arguments of the call whose bracket is open.
func (p *program) args(open int) []arg {
	var out []arg
	if open < 0 || p.mate[open] < 0 {
		return nil
	}
	for i := open + 1; i < p.mate[open]; {
		from := p.skip(i)
		if from >= p.mate[open] {
			break
		}
		a := arg{}
		if p.l == python && p.kind(from) == 'a' && p.is(from+1, "=") {
			a.name = p.toks[from].text
			from += 2
		}
		to := p.item(from, p.mate[open])
		a.span = span{from, to}
		out = append(out, a)
		i = to + 1
	}
	p.steps -= len(out)
	return out
}

// item is the place of the comma before limit that ends what starts at i, or limit.
func (p *program) item(i, limit int) int {
	for ; i < limit; i++ {
		if p.kind(i) == ',' {
			return i
		}
		if m := p.mate[i]; m > i {
			i = m
		}
	}
	return min(i, limit)
}

// variable is what a name may be.
func (p *program) variable(name string, depth int) result {
	if r, ok := p.memo[name]; ok {
		return r
	}
	list, ok := p.vars[name]
	if !ok || p.open[name] || depth > 12 {
		return result{}
	}
	p.open[name] = true
	var r result
	for i, s := range list {
		one := result{v: unknown}
		if s.from >= 0 {
			one = p.eval(s, depth+1)
		}
		r.v = either(r.v, one.v.or())
		if i == 0 {
			r.list, r.name = one.list, one.name
		} else if one.name != r.name {
			if r.name == "" {
				r.name = one.name
			}
			r.list = nil
		}
	}
	delete(p.open, name)
	p.memo[name] = r
	return r
}

// eval is what an expression is.
func (p *program) eval(s span, depth int) result {
	from, to := p.skip(s.from), min(s.to, len(p.toks))
	for to > from && p.kind(to-1) == 'n' {
		to--
	}
	if p.steps -= to - from + 1; from < 0 || from >= to || depth > 24 || p.steps < 0 {
		return result{}
	}
	var plus, choice []int
	question, ifs := -1, -1
	percent := -1
	for i := from; i < to; i++ {
		switch p.kind(i) {
		case '(', '[', '{':
			if p.mate[i] > i {
				i = p.mate[i]
			}
		case '+':
			if p.is(i, "+") {
				plus = append(plus, i)
			}
		case '/':
			if p.l == python && p.is(i, "/") {
				plus = append(plus, i)
			}
		case '%':
			percent = i
		case '|':
			if p.toks[i].text != "|" {
				choice = append(choice, i)
			}
		case '?':
			if question < 0 && p.l == script {
				question = i
			}
		case 'o':
			if p.is(i, "=>") || p.is(i, "==") || p.is(i, "===") {
				if question < 0 {
					if p.is(i, "=>") {
						return result{}
					}
				}
			}
		case 'a':
			if p.l == python {
				switch p.toks[i].text {
				case "or":
					choice = append(choice, i)
				case "if":
					ifs = i
				case "else":
					if ifs > from {
						a, b := p.eval(span{from, ifs}, depth+1), p.eval(span{i + 1, to}, depth+1)
						a.v = either(a.v.or(), b.v.or())
						return a
					}
				case "lambda":
					return result{}
				}
			}
		}
	}
	switch {
	case question > from:
		colon := question + 1
		for colon < to && p.kind(colon) != ':' {
			if p.mate[colon] > colon {
				colon = p.mate[colon]
			}
			colon++
		}
		a, b := p.eval(span{question + 1, colon}, depth+1), p.eval(span{colon + 1, to}, depth+1)
		a.v = either(a.v.or(), b.v.or())
		return a
	case len(choice) > 0:
		r := result{}
		for i, at := 0, from; i <= len(choice); i++ {
			end := to
			if i < len(choice) {
				end = choice[i]
			}
			one := p.eval(span{at, end}, depth+1)
			r.v = either(r.v, one.v.or())
			if r.name == "" {
				r.name = one.name
			}
			at = end + 1
		}
		return r
	case len(plus) > 0:
		v := value{""}
		var list []value
		for i, at := 0, from; i <= len(plus); i++ {
			end := to
			if i < len(plus) {
				end = plus[i]
			}
			one := p.eval(span{at, end}, depth+1)
			list = append(list, one.list...)
			if i > 0 && p.is(plus[i-1], "/") {
				v = cat(v, value{"/"})
			}
			v = cat(v, one.v)
			at = end + 1
		}
		return result{v: v, list: list}
	case percent > from && p.l == python:
		left := p.eval(span{from, percent}, depth+1)
		r := span{percent + 1, to}
		var args []value
		if p.kind(r.from) == '(' && p.mate[r.from] == to-1 {
			for _, a := range p.args(r.from) {
				args = append(args, p.eval(a.span, depth+1).v)
			}
		} else {
			args = []value{p.eval(r, depth+1).v}
		}
		return result{v: sprintf(left.v, args)}
	}
	return p.primary(from, to, depth)
}

// sprintf fills the verbs of a format.
func sprintf(format value, args []value) value {
	var out value
	for _, f := range format.or() {
		v, n := value{""}, 0
		for {
			i := strings.IndexByte(f, '%')
			if i < 0 || i+1 >= len(f) || n > 64 {
				v = cat(v, value{f})
				break
			}
			v = cat(v, value{f[:i]})
			end := i + 1
			for end < len(f)-1 && strings.IndexByte("0123456789.+-# ", f[end]) >= 0 {
				end++
			}
			switch {
			case f[end] == '%':
				v = cat(v, value{"%"})
			case n < len(args):
				v = cat(v, args[n])
				n++
			default:
				v = cat(v, unknown)
			}
			f = f[end+1:]
		}
		out = either(out, v)
	}
	return out
}

// str is the value of a string token.
func (p *program) str(t token, depth int) value {
	if t.subs == nil {
		return value{t.text}
	}
	v := value{""}
	for i, s := range t.subs {
		v = cat(v, value{s.text})
		if i+1 == len(t.subs) {
			break
		}
		sub := &program{auditor: p.auditor, l: p.l, toks: s.expr, vars: p.vars, params: p.params, names: p.names, memo: p.memo, open: p.open}
		sub.brackets()
		sub.steps = 0
		v = cat(v, p.within(sub, depth))
	}
	return v
}

// within evaluates the expression of a string with the variables of the text around it.
func (p *program) within(sub *program, depth int) value {
	toks := sub.toks
	if depth > 20 || len(toks) == 0 {
		return unknown
	}
	// One word or a chain of words is what nearly all are; others are tokens of their own.
	if len(toks) == 1 && toks[0].kind == 'a' {
		return p.variable(toks[0].text, depth+1).v.or()
	}
	if len(toks) == 3 && toks[1].kind == '.' {
		if r := p.variable("."+toks[2].text, depth+1); len(r.v) > 0 {
			return r.v
		}
	}
	at := len(p.toks)
	if p.steps -= len(toks); p.steps < 0 || p.room-at < len(toks) {
		return unknown
	}
	// The tokens are looked at behind those of the text, whose variables they use.
	mate, around := p.mate, p.around
	all := p.toks
	for i := range sub.mate {
		if sub.mate[i] >= 0 {
			sub.mate[i] += at
		}
		if sub.around[i] >= 0 {
			sub.around[i] += at
		}
	}
	p.toks, p.mate, p.around = append(p.toks, toks...), append(p.mate, sub.mate...), append(p.around, sub.around...)
	r := p.eval(span{at, at + len(toks)}, depth+1)
	p.toks, p.mate, p.around = all, mate, around
	return r.v.or()
}

// primary is what an operand is: a string, a list, a name, with the calls and members behind it.
func (p *program) primary(i, to, depth int) result {
	for i < to && p.kind(i) == 'a' && (p.is(i, "await") || p.is(i, "new") || p.is(i, "return") || p.is(i, "async") || p.is(i, "const")) || i < to && (p.kind(i) == '&' || p.kind(i) == '*') {
		i++
	}
	var r result
	if i >= to {
		return r
	}
	switch t := p.toks[i]; t.kind {
	case 's':
		v := p.str(t, depth)
		i++
		for p.l == python && i < to && (p.kind(i) == 's' || p.kind(i) == 'n') {
			if p.kind(i) == 's' {
				v = cat(v, p.str(p.toks[i], depth))
			}
			i++
		}
		r.v = v
	case '0':
		r.v = value{t.text}
		i++
	case '(':
		if p.mate[i] < 0 {
			return r
		}
		if args := p.args(i); len(args) > 1 {
			r = p.listOf(args, depth)
		} else {
			r = p.eval(span{i + 1, p.mate[i]}, depth+1)
		}
		i = p.mate[i] + 1
	case '[':
		if p.mate[i] < 0 {
			return r
		}
		end := p.mate[i]
		if p.l == golang && end+1 < to && p.kind(end+1) == 'a' {
			body := end + 2
			switch {
			case p.kind(body) == '{' && p.mate[body] > 0:
				r = p.listOf(p.args(body), depth)
				if p.is(end+1, "byte") || p.is(end+1, "rune") || p.is(end+1, "uint8") {
					r = result{v: bytesOf(r.list)}
				}
			case p.kind(body) == '(' && p.mate[body] > 0:
				r = p.eval(span{body + 1, p.mate[body]}, depth+1)
			default:
				return r
			}
			i = p.mate[body] + 1
			break
		}
		r = p.listOf(p.args(i), depth)
		i = end + 1
	case 'a':
		r = p.word(t.text, depth)
		if strings.HasPrefix(t.text, "__dirname") || t.text == "__file__" || t.text == "__filename" {
			r = result{v: value{"."}}
		}
		i++
	default:
		return r
	}
	return p.postfix(r, i, to, depth)
}

// listOf is a list of elements; as a value it is any of them.
func (p *program) listOf(args []arg, depth int) result {
	r := result{list: []value{}}
	for _, a := range args {
		from := a.from
		if p.is(from, "...") || p.kind(from) == '*' {
			one := p.eval(span{from + 1, a.to}, depth+1)
			if one.list != nil {
				r.list = append(r.list, one.list...)
			} else {
				r.list = append(r.list, one.v.or())
			}
			continue
		}
		if len(r.list) > 512 {
			break
		}
		one := p.eval(a.span, depth+1)
		r.list = append(r.list, one.v.or())
		r.v = either(r.v, one.v.or())
	}
	return r
}

func bytesOf(list []value) value {
	var b strings.Builder
	for _, v := range list {
		n, err := strconv.ParseInt(v.or()[0], 0, 32)
		if err != nil || !v.known() {
			return unknown
		}
		if n < 128 {
			b.WriteByte(byte(n))
		} else {
			b.WriteRune(rune(n))
		}
	}
	return value{b.String()}
}

// word is what a name is: an import, a variable, or itself.
func (p *program) word(name string, depth int) result {
	if full, ok := p.names[name]; ok {
		return result{name: full}
	}
	if _, ok := p.vars[name]; ok {
		return p.variable(name, depth)
	}
	if _, own := p.params[name]; own && p.l != python {
		return result{}
	}
	return result{name: name}
}
