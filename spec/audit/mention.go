package audit

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// unmentioned are names that act when they are called, and that stand for a type elsewhere.
const unmentioned = " Function Worker worker_threads.Worker vm.Script types.CodeType types.FunctionType Deno.Command reflect.MakeFunc "

// acting are the last words of the names that run something, by language: what may be a mention of one is looked up.
var acting = sync.OnceValue(func() map[lang]map[string]bool {
	m := map[lang]map[string]bool{}
	for l, table := range calls() {
		m[l] = map[string]bool{}
		for name, e := range table {
			if e.runs() && !has(unmentioned, name) {
				m[l][name[strings.LastIndexByte(name, '.')+1:]] = true
			}
		}
	}
	return m
})

// runs reports whether a call with the effect runs something.
func (e effect) runs() bool {
	return e == doesShell || e == doesExec || e == doesExec2 || e == doesCode || e == doesDynamic
}

// effectNamed is the effect of a call of a name.
func (p *program) effectNamed(name string) (e effect, ok bool) {
	table := calls()[p.l]
	if e, ok = table[name]; !ok && p.l == script {
		e, ok = table[strings.TrimSuffix(strings.ReplaceAll(name, "fs-extra.", "fs."), "Sync")]
	}
	return e, ok
}

// mention notes that a function which runs something is named at i and not called: it is passed on, and nobody can tell with what it is
// called. What is only given another name is followed.
func (p *program) mention(i int) {
	t := p.toks[i]
	if t.kind == 's' && (p.kind(i-1) != '[' || p.kind(i+1) != ']') {
		return
	}
	if !acting()[p.l][t.text] && p.names[t.text] == "" && p.vars[t.text] == nil {
		return
	}
	end := i + 1
	if t.kind == 's' {
		end++
	}
	if p.imported(i) || strings.IndexByte("(.=", p.kind(end)) >= 0 || p.kind(end) == '[' && p.l != golang {
		return
	}
	from := p.start(end)
	if b := p.kind(from - 1); from > i || b == 'a' && has(" def func function class as type for ", p.toks[from-1].text) {
		return
	}
	name := p.primary(from, end, 0).name
	if name == "" || p.named(from, end) {
		return
	}
	name = canonical(name)
	if e, ok := p.effectNamed(name); ok && e.runs() && !has(unmentioned, name) && !(strings.HasSuffix(name, ".Popen") && p.isType(from, end)) {
		p.add(Dynamic, "", int(t.line))
	}
}

// imported reports whether token i is of an import.
func (p *program) imported(i int) bool {
	n, _ := slices.BinarySearchFunc(p.importing, i, func(s span, i int) int { return s.to - i })
	return n < len(p.importing) && p.importing[n].from <= i
}

// named reports whether the chain of tokens is what an assignment gives another name, or is itself the name of something else: a parameter,
// a key, a name in a pattern.
func (p *program) named(from, end int) bool {
	before, after := p.kind(from-1), p.kind(end)
	open := -1
	if from < len(p.around) {
		open = p.around[from]
	}
	if before == '=' && !p.is(from-1, "==") && (after == 'n' || after == ';') && (open < 0 || p.kind(open) == '{') {
		first := from - 2
		for first > 0 && (p.kind(first-1) == 'a' || p.kind(first-1) == '.') {
			first--
		}
		return p.kind(from-2) == 'a' && p.kind(first-1) != ',' && !p.is(first, "module") && !p.is(first, "exports")
	}
	if open < 0 || p.mate[open] < 0 {
		return false
	}
	back := p.behind(from)
	switch p.kind(open) {
	case '(':
		if after := p.mate[open] + 1; p.is(after, "=>") {
			return true
		}
		if w := p.kind(open - 1); w == 'a' && before != '=' && (p.is(open-2, "def") || p.is(open-2, "func") || p.is(open-2, "function")) {
			return true
		}
		return p.kind(open-1) == 'a' && has(" promisify isinstance issubclass ", p.toks[open-1].text)
	case '{':
		outer := p.mate[open] + 1
		pattern := p.kind(outer) == '=' || p.is(outer, "=>") || p.kind(outer) == ')' && p.is(outer+1, "=>")
		return p.l == script && (pattern || after == ':' && (back == open || p.kind(back) == ','))
	}
	return false
}

// isType reports whether the chain of tokens stands where a type does.
func (p *program) isType(from, end int) bool {
	open := p.around[from]
	inBrackets := open >= 0 && p.kind(open) == '[' && p.kind(open-1) == 'a'
	noted := p.kind(from-1) == ':' && (open < 0 || p.kind(open) != '{') || p.is(from-1, "->")
	return inBrackets || noted || p.kind(from-1) == '|' || p.kind(end) == '|'
}

// stars gives the members of a module that is imported whole their names.
func (p *program) stars(module string) {
	if p.starred[module] {
		return
	}
	if p.starred == nil {
		p.starred = map[string]bool{}
	}
	p.starred[module] = true
	if module == "posix" || module == "nt" {
		module = "os"
	}
	for name := range calls()[p.l] {
		if rest, ok := strings.CutPrefix(name, module+"."); ok {
			first, _, _ := strings.Cut(rest, ".")
			first = strings.TrimSuffix(first, "()")
			p.names[first] = module + "." + first
		}
	}
	if module == "os" {
		p.names["environ"] = "os.environ"
	}
}

// runsIn reports whether members of a module run something.
func (p *program) runsIn(module string) bool {
	for name, e := range calls()[p.l] {
		if e.runs() && strings.HasPrefix(name, module+".") {
			return true
		}
	}
	return false
}

// inert are extensions of files that are no code, and that JavaScript takes for code all the same if it is told to load them. Who bundles
// a program loads pictures and styles so, and these are not among them.
const inert = " txt md dat data bin log tmp cfg conf ini csv tsv xml env bak old orig lst out "

// required notes a file that a text of JavaScript loads and whose name is not that of code: it is read as code if the skill has it.
func (p *program) required(name string, line int) {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if p.l != script || ext == "" || !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "/") || strings.IndexByte(name, '?') >= 0 {
		return
	}
	switch own := p.owns(name); {
	case own != "" && has(inert, ext):
		p.ask(own, script)
	case own == "" && (has(inert, ext) || unreadable()[ext]):
		p.add(Dynamic, "", line)
	}
}

// then gives what a callback of import("module").then takes its place in the module. A callback that is named is not followed.
func (p *program) then(open int) {
	from := p.start(open - 2)
	if !p.is(from, "import") || p.mate[open] < 0 {
		return
	}
	module := canonical(p.primary(from, open-2, 0).name)
	at := p.skip(open + 1)
	for p.is(at, "async") || p.is(at, "function") {
		at++
	}
	switch {
	case !p.runsIn(module):
	case p.kind(at) == '(' && p.mate[at] > 0:
		p.bind(at+1, p.mate[at], module)
	case p.kind(at) == 'a' && p.is(at+1, "=>"):
		p.names[p.toks[at].text] = module
	default:
		p.add(Dynamic, "", int(p.toks[open].line))
	}
}
