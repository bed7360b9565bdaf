package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Files of recipes hold lines of shell between lines of their own. Each is made a text of shell that has as many lines. What the program
// of the recipe puts in is a variable in it: ${NAME} if it may come from the environment, else "$_", which is not known.

//go:noinline
func linesOf(src string) []string { return strings.Split(strings.ReplaceAll(src, "\r\n", "\n"), "\n") }

// logical is the line i of a text with those that go on behind a backslash, and the last of them.
func logical(lines []string, i int) (text string, last int) {
	first := i
	for strings.HasSuffix(lines[i], `\`) && i+1 < len(lines) {
		i++
	}
	return strings.Join(lines[first:i+1], "\n"), i
}

// A pattern is a regular expression that is compiled when it is asked for.
type pattern struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

//go:noinline
func (p *pattern) get() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.text) })
	return p.compiled
}

// recipes reads a Makefile.
func (a *auditor) recipes(src string, line int, prose bool) {
	out := linesOf(src)
	m := maker{a, map[string]string{"MAKE": "make", "RM": "rm -f", "CURDIR": "."}, 4*len(src) + maxText}
	var shell [][2]int // the lines of recipes: they see the variables of the whole file
	for i := 0; i < len(out); i++ {
		first := i
		var text string
		text, i = logical(out, i)
		if len(shell) > 0 && (text == "" || text[0] == '\t' || prose && strings.HasPrefix(text, "  ")) {
			out[first] = strings.TrimLeft(out[first], "@-+ \t")
			shell = append(shell, [2]int{first, i + 1})
			continue
		}
		clear(out[first : i+1])
		text = strings.TrimSpace(strings.ReplaceAll(text, "\\\n", " "))
		if strings.HasPrefix(text, "#") {
			continue
		}
		m.expand(text, line+first, 0) // for what it runs
		word, rest, _ := strings.Cut(text, " ")
		if m.variable(text, line+first) {
			continue
		}
		target, rule, isTarget := strings.Cut(text, ":")
		switch {
		case strings.HasSuffix(word, "include"):
			for _, f := range strings.Fields(m.expand(rest, line+first, 0)) {
				if k := strings.LastIndexAny(f, "$}"); k >= 0 {
					f = holeText + strings.TrimPrefix(f[k+1:], "_")
				}
				a.runFile(recipe, value{f}, line+first, prose)
			}
		case word == "load":
			a.add(Dynamic, "", line+first)
		case isTarget && target != "" && !m.variable(strings.TrimLeft(rule, ": "), line+first):
			_, out[first], _ = strings.Cut(rule, ";")
			shell = append(shell, [2]int{first, first + 1})
		}
	}
	for _, at := range shell {
		text := m.expand(strings.Join(out[at[0]:at[1]], "\n"), line+at[0], 0)
		text += strings.Repeat("\n", at[1]-at[0]-1-strings.Count(text, "\n"))
		copy(out[at[0]:], strings.Split(text, "\n"))
	}
	a.shell(strings.Join(out, "\n"), line, prose)
}

// A maker resolves the variables of make.
type maker struct {
	*auditor
	vars map[string]string
	left int // bytes that values may still fill
}

// variable takes "NAME = VALUE"; the value of "NAME != COMMAND" is what the command prints. A variable that has several values is not known.
func (m *maker) variable(text string, line int) bool {
	for _, word := range []string{"export ", "override ", "private "} {
		text = strings.TrimPrefix(text, word)
	}
	name, value, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	how := name[len(strings.TrimRight(name, "!:?+")):]
	name = strings.TrimSpace(name[:len(name)-len(how)])
	if value = strings.TrimSpace(value); !ok || name == "" || strings.ContainsAny(name, " :#\t") {
		return false
	}
	old, twice := m.vars[name]
	switch itself := "$(" + name + ")"; {
	case strings.Contains(value, itself):
		value = strings.ReplaceAll(value, itself, old)
	case how == "!":
		m.command(m.expand(value, line, 0), line)
		value = "$_"
	case how == "+" && twice && len(old) < maxText:
		value = old + " " + value
	case twice && old != value:
		value = "$_"
	}
	m.vars[name] = value
	switch l, known := languages()[called(value)]; {
	case name == "SHELL" && !(known && l == shell), name == ".RECIPEPREFIX", name == ".SHELLFLAGS" && slices.ContainsFunc(strings.Fields(value), func(s string) bool { return s[0] != '-' && s != "pipefail" }):
		m.add(Dynamic, "", line)
	}
	return true
}

// expand resolves the variables in a text: those of the file, and $$; others are of the environment. It reads the commands of $(shell …).
func (m *maker) expand(s string, line, depth int) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i+1 == len(s) {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		if s[0] != '(' && s[0] != '{' {
			if s[0] == '$' {
				b.WriteByte('$')
			} else {
				b.WriteString("$_")
			}
			s = s[1:]
			continue
		}
		end, open := 0, 0
		for ; end < len(s); end++ { // to the bracket that closes
			if s[end] == '(' || s[end] == '{' {
				open++
			} else if s[end] == ')' || s[end] == '}' {
				if open--; open == 0 {
					break
				}
			}
		}
		name := strings.TrimSpace(s[1:max(end, 1)])
		s = s[min(end+1, len(s)):]
		value, known := m.vars[name]
		switch {
		case depth > maxFold || len(name)+len(value) > m.left:
			m.add(Dynamic, "", line)
			b.WriteString("$_")
		case known:
			m.left -= len(value)
			b.WriteString(m.expand(value, line, depth+1))
		case name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == "":
			b.WriteString("${" + name + "}")
		default:
			m.left -= len(name)
			switch inner := m.expand(name, line, depth+1); {
			case strings.HasPrefix(name, "shell "):
				m.command(inner[6:], line)
			case strings.HasPrefix(name, "eval "), strings.HasPrefix(name, "guile "):
				m.add(Dynamic, "", line)
			}
			b.WriteString("$_")
		}
	}
}

const maxFold = 8 // variables and functions of make in each other

// justfile reads the recipes of just.
func (a *auditor) justfile(src string, line int, prose bool) {
	out := linesOf(src)
	for i := 0; i < len(out); i++ {
		text := out[i]
		out[i] = ""
		if text != "" && text[0] != ' ' && text[0] != '\t' {
			word, rest, _ := strings.Cut(text, " ")
			switch {
			case word == "set" && (strings.HasPrefix(rest, "script-interpreter") || strings.HasPrefix(rest, "shell") && !posix.get().MatchString(rest)), strings.HasPrefix(text, "[script"), strings.Contains(text, "```"):
				a.add(Dynamic, "", line+i)
			case strings.HasPrefix(word, "import"):
				a.runFile(justfile, value{strings.Trim(rest, " ?'\"")}, line+i, prose)
			case text[0] != '#':
				a.justCalls(text, line+i)
			}
			continue
		}
		text = strings.TrimSpace(moustache.get().ReplaceAllStringFunc(text, func(s string) string {
			a.justCalls(s, line+i)
			return "$_"
		}))
		if first, ok := strings.CutPrefix(text, "#!"); ok { // the recipe is a script of its own
			end := i + 1
			for end < len(out) && (strings.TrimSpace(out[end]) == "" || out[end][0] == ' ' || out[end][0] == '\t') {
				end++
			}
			a.part(scriptOf(first), dedent(out[i+1:end]), line+i+1)
			clear(out[i+1 : end])
			i = end - 1
			continue
		}
		out[i] = strings.TrimLeft(text, "@-")
	}
	a.shell(strings.Join(out, "\n"), line, prose)
}

// justCalls reads what an expression of just runs, and the variables that it asks for.
func (a *auditor) justCalls(text string, line int) {
	for _, m := range justCall.get().FindAllStringSubmatch(text, -1) {
		switch {
		case m[3] != "":
			a.env(m[3], line)
		case m[1] != "":
			a.command(m[1], line)
		case m[2] != "":
			a.command(m[2], line)
		default:
			a.add(Dynamic, "", line)
		}
	}
}

var (
	posix     = pattern{text: `["'/](?:ba|z|da|k)?sh["']`}
	moustache = pattern{text: `\{\{[^{}]*\}\}`}
	justCall  = pattern{text: "`([^`]*)`|\\bshell\\(\\s*(?:[\"']([^\"']+)[\"'])?|\\benv(?:_var|_var_or_default)?\\(\\s*[\"'](\\w+)"}
)

// part reads code that is lines of the file, and no constant in it.
func (a *auditor) part(l lang, src string, line int) {
	if l == opaque || l > powershell {
		a.add(Dynamic, "", line)
		return
	}
	was := a.depth
	a.depth = 0
	a.code(l, src, line)
	a.depth = was
}

// dedent is lines without the blanks that the first of them starts with.
func dedent(lines []string) string {
	var b strings.Builder
	indent := ""
	for _, l := range lines {
		text := strings.TrimLeft(l, " \t")
		if indent == "" && text != "" {
			indent = l[:len(l)-len(text)]
		}
		b.WriteString(strings.TrimPrefix(l, indent) + "\n")
	}
	return b.String()
}

// scriptOf is the language of a line behind "#!".
func scriptOf(line string) lang {
	for _, word := range strings.Fields(line) {
		if l, ok := languages()[strings.TrimRight(strings.ToLower(called(word)), "0123456789.")]; ok && l != markdown {
			return l
		}
	}
	return opaque
}

// image reads a Dockerfile: what it runs, the images that it is made of, and what it adds.
func (a *auditor) image(src string, line int, prose bool) {
	out := linesOf(src)
	stages := []string{"scratch"}
	l := shell
	tick := false // a line goes on behind "`"
	for i := 0; i < len(out); i++ {
		first := i
		if note, ok := strings.CutPrefix(strings.TrimSpace(out[i]), "#"); ok { // of the parser, or of nobody
			key, val, _ := strings.Cut(strings.ReplaceAll(note, " ", ""), "=")
			tick = tick || key == "escape" && val == "`"
			if key == "syntax" && !strings.HasPrefix(val, "docker/dockerfile") {
				a.pack("docker", val, line+i)
			}
			out[i] = ""
			continue
		}
		for { // to the end of the instruction, without the remarks in it
			end := strings.TrimSpace(out[i])
			switch {
			case i > first && (end == "" || end[0] == '#'):
				end = `\`
			case tick && strings.HasSuffix(end, "`"):
				end = end[:len(end)-1] + `\`
			}
			if out[i] = end; !strings.HasSuffix(end, `\`) || i+1 == len(out) {
				break
			}
			i++
		}
		all := strings.Join(out[first:i+1], "\n")
		clear(out[first : i+1])
		key, rest := instruction(all)
		for key == "ONBUILD" || key == "HEALTHCHECK" {
			key, rest = instruction(rest)
		}
		before := first + strings.Count(all[:len(all)-len(rest)], "\n")
		all = strings.ReplaceAll(rest, "\\\n", " ")
		words := strings.Fields(all)
		runs := key == "RUN" || key == "CMD" || key == "ENTRYPOINT" || key == "SHELL"
		if at := strings.Index(all, "<<"); at >= 0 && (runs || key == "COPY" || key == "ADD") && !strings.HasPrefix(all[at:], "<<<") {
			mark, _, _ := strings.Cut(strings.Trim(strings.TrimLeft(all[at+2:], "-"), "\"' "), " ")
			switch {
			case !runs:
				all = "cat " + all[at:]
			case at == 0:
				all = "sh " + all
			}
			for out[i] = all; i+1 < len(out) && strings.TrimSpace(out[i]) != mark; {
				i++
			}
			continue
		}
		switch {
		case len(words) == 0:
		case runs:
			if words[0][0] == '[' {
				if list, err := parseJSON([]byte(all)); err == nil && len(list) == 1 && len(list[0].items) > 0 {
					if exec := list[0].words(); key != "SHELL" {
						a.exec(exec, nil, line+before, false)
					} else if l = scriptOf(exec[0][0]); l != shell && l != powershell {
						a.add(Dynamic, "", line+before)
					}
					break
				}
			}
			if l == powershell {
				a.part(l, all, line+before)
			} else if l == shell {
				copy(out[before:], strings.Split(rest, "\n"))
			}
		case key == "ENV" || key == "ARG":
			if !strings.Contains(words[0], "=") && len(words) > 1 {
				all = words[0] + `="` + strings.ReplaceAll(strings.Join(words[1:], " "), `"`, "") + `"`
			}
			if out[first] = "export " + all; prose {
				out[first] = all
			}
		case key == "FROM":
			if !slices.Contains(stages, strings.ToLower(words[0])) {
				a.pack("docker", strings.ReplaceAll(words[0], "$", holeText), line+before)
			}
			stages = append(stages, strings.ToLower(words[len(words)-1]))
		case key == "ADD" || key == "COPY":
			for _, w := range words {
				a.net(w, false, line+before)
			}
		}
	}
	a.shell(strings.Join(out, "\n"), line, prose)
}

// instruction cuts the word of an instruction and its options; rest is the end of text.
func instruction(text string) (key, rest string) {
	const blank = " \t\n\\"
	key = text
	for first := true; first || strings.HasPrefix(rest, "--"); first = false {
		end := strings.IndexAny(text, blank)
		if end < 0 {
			end = len(text)
		}
		if first {
			key = strings.ToUpper(text[:end])
		}
		rest = strings.TrimLeft(text[end:], blank)
		text = rest
	}
	return key, rest
}

// processes reads a Procfile.
func (a *auditor) processes(src string, line int) {
	out := linesOf(src)
	for i, text := range out {
		_, out[i], _ = strings.Cut(text, ":")
	}
	a.shell(strings.Join(out, "\n"), line, false)
}

// Keys of settings: those whose values are programs, or code that is loaded; those whose values are commands; those whose addresses are for people.
const (
	obeyed  = " script-shell shell git editor viewer node-options onload-script init-module yarn-path preload sshcommand hookspath pager askpass textconv clean smudge process fsmonitor external program gpgprogram proxycommand packcommand uploadpack cmdclass "
	started = " exec execstart execstartpre execstartpost execstop execstoppost execreload execcondition "
	shows   = " url home-page project_urls documentation homepage repository license author "
)

// has reports whether a list " word word " has a word.
//
//go:noinline
func has(list, word string) bool { return strings.Contains(list, " "+word+" ") }

// settings reads lines of KEY = VALUE: the hosts and variables that they name, and the programs that they make others start.
func (a *auditor) settings(src string, line int) {
	section := ""
	for i, text := range linesOf(src) {
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		if text[0] == '[' {
			section = strings.ToLower(text)
			continue
		}
		key, rest := strings.ToLower(text), ""
		if at := strings.IndexAny(text, "= \t"); at >= 0 {
			key, rest = key[:at], strings.Trim(text[at:], "= \t\"'")
		}
		if !has(shows, key) || !strings.HasPrefix(section, "[metadata") {
			for _, url := range literals.get().FindAllString(text, -1) {
				a.net(url, false, line+i)
			}
		}
		if strings.HasPrefix(text, "//") { // npm: //HOST/:KEY=VALUE
			a.net("https:"+text, false, line+i)
		}
		for _, m := range references.get().FindAllStringSubmatch(text, -1) {
			a.env(m[1], line+i)
		}
		switch {
		case rest == "":
		case rest[0] == '!': // of git
			a.command(rest[1:], line+i)
		case has(started, key):
			a.command(strings.TrimLeft(rest, "-@+:"), line+i)
		case has(obeyed, key[strings.LastIndexByte(key, '.')+1:]):
			a.add(Dynamic, "", line+i)
		}
	}
}

// notebook reads a notebook of Jupyter.
func (a *auditor) notebook(src string) {
	list, err := parseJSON([]byte(src))
	if err != nil || len(list) != 1 {
		a.add(Dynamic, "", 1)
		return
	}
	l := python
	meta := list[0].at("metadata")
	for _, name := range []string{meta.at("language_info").at("name").text, meta.at("kernelspec").at("name").text, meta.at("kernelspec").at("language").text} {
		if name != "" {
			l = languages()[strings.TrimRight(strings.ToLower(name), "0123456789.")]
		}
	}
	a.cells(&list[0], l)
}

// cells reads the cells below a node: in a list of the notebook, or of its sheets.
func (a *auditor) cells(n *node, l lang) {
	for i := range n.items {
		a.cells(&n.items[i], l)
	}
	for i := range n.fields {
		if f := &n.fields[i]; f.key == "cells" || f.key == "worksheets" {
			a.cells(&f.value, l)
		}
	}
	source := n.at("source")
	if source.line == 0 {
		source = n.at("input") // of version 3
	}
	var b strings.Builder
	line := source.line
	apart := source.scalar // lines of the source are no lines of the file
	for i, w := range source.words() {
		if i < len(source.items) {
			if i == 0 {
				line = source.items[0].line
			}
			apart = apart || source.items[i].line != line+i
		}
		b.WriteString(w[0])
	}
	if b.Len() == 0 {
		return
	}
	if apart {
		defer func(was int) { a.outer = was }(a.outer)
		a.outer = line
	}
	switch n.at("cell_type").text {
	case "markdown":
		a.prose(b.String(), line)
	case "code":
		a.magics(b.String(), l, line)
	}
}

// magics reads code in which lines with "!" and "%" are commands of Jupyter.
func (a *auditor) magics(src string, l lang, line int) {
	lines := linesOf(src)
	if first, ok := strings.CutPrefix(strings.TrimSpace(lines[0]), "%%"); ok {
		lines[0] = ""
		name, _, _ := strings.Cut(first, " ")
		switch other, known := languages()[strings.ToLower(name)]; {
		case name == "script":
			l = scriptOf(first)
		case name == "!" || name == "sx" || name == "system":
			l = shell
		case known:
			l = other
		case has(" html HTML svg SVG latex writefile file ", name):
			return
		}
	}
	commands := make([]string, len(lines))
	for i, text := range lines {
		m := magic.get().FindStringSubmatch(text)
		if m == nil || l != python {
			continue
		}
		lines[i] = ""
		word, rest, _ := strings.Cut(m[2], " ")
		switch {
		case m[1][0] == '!' || has(" pip conda mamba uv ", word):
			rest = m[2]
		case word == "run":
			rest = "python3 " + rest
		case has(" timeit time prun ", word):
			lines[i], rest = rest, ""
		case has(" load_ext load loadpy alias macro rerun autoload ", word):
			a.add(Dynamic, "", line+i)
			rest = ""
		case !has(" sx system bash sh ", word):
			rest = ""
		}
		commands[i] = braces.get().ReplaceAllString(rest, "$$_")
	}
	a.part(l, strings.Join(lines, "\n"), line)
	if text := strings.Join(commands, "\n"); len(text) >= len(commands) {
		a.shell(text, line, false)
	}
}

var (
	magic  = pattern{text: `^\s*(?:[\w, .]+=\s*)?(!+|%+)\s*([^=\s].*)`}
	braces = pattern{text: `\{[^{}$,]*\}`}
)

// shellKeys are files of configuration and the keys in them whose values are lines of shell; a file whose name has no extension has any.
const shellKeys = `
package.json scripts lintstaged
composer.json scripts
deno.json tasks
deno.jsonc tasks
pyproject.toml tasks
taskfile cmd cmds sh
.gitlab-ci script beforescript afterscript
.pre-commit-config entry
lefthook run
.lefthook run
docker-compose entrypoint test
compose entrypoint test
action run
devcontainer.json initializecommand oncreatecommand updatecontentcommand postcreatecommand poststartcommand postattachcommand
.devcontainer.json initializecommand oncreatecommand updatecontentcommand postcreatecommand poststartcommand postattachcommand
pixi.toml tasks
mise.toml tasks run hooks watchfiles
.mise.toml tasks run hooks watchfiles
mise.local.toml tasks run hooks watchfiles
.mise.local.toml tasks run hooks watchfiles
devbox.json inithook scripts
devenv.yaml entershell
manifest.toml onactivate
.gitpod init command before
vercel.json buildcommand installcommand devcommand ignorecommand
railway buildcommand startcommand
render buildcommand startcommand predeploycommand
nodemon.json exec
nixpacks.toml cmd cmds
azure-pipelines script bash
bitbucket-pipelines script
.travis script install beforeinstall beforescript aftersuccess
buildspec commands
config.toml rustcwrapper rustc runner linker
.yarnrc yarnpath
bunfig.toml preload
`

// keysOf are the keys of a file whose values are lines of shell; "" for none.
func keysOf(name string) string {
	name = strings.ToLower(name)
	base := path.Base(name)
	if strings.Contains(name, ".github/workflows/") {
		return " run "
	}
	for _, file := range []string{base, strings.TrimSuffix(base, path.Ext(base))} {
		if _, rest, ok := strings.Cut(shellKeys, "\n"+file+" "); ok {
			keys, _, _ := strings.Cut(rest, "\n")
			return " " + keys + " "
		}
	}
	return ""
}

// lines reads the lines of shell that are below a key.
func (c config) lines(n node) {
	if n.scalar && n.text != "" {
		c.auditor.command(n.text, n.line)
	}
	for _, item := range n.items {
		c.lines(item)
	}
	for _, f := range n.fields {
		if !has(" description desc summary deps dependencies help env name silent ", f.key) {
			c.lines(f.value)
		}
	}
}
