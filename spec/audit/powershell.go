package audit

import (
	"slices"
	"strings"
	"sync"
)

// A psWord is a word of PowerShell, as a value.
type psWord struct {
	v        value
	line     int
	bare     bool // not quoted
	variable string
	end      byte // what ends the statement: one of \n ; | { } ( ) and 0 for a word
}

// A psText is a text of PowerShell that is read.
type psText struct {
	*auditor
	src  string
	at   int
	line int
	vars map[string]value
}

// powershell reads a text of PowerShell whose first line is line: its words, commands and the .NET calls that act.
func (a *auditor) powershell(src string, line int) {
	p := &psText{auditor: a, src: strings.ReplaceAll(src, holeText, ""), line: line, vars: map[string]value{}}
	words := p.words()
	for pass := range 2 {
		start := 0
		for i, w := range words {
			if w.end != 0 || i == len(words)-1 {
				end := i
				if w.end == 0 {
					end++
				}
				p.statement(words[start:end], words[i:], pass == 1)
				start = i + 1
			}
		}
	}
}

func psByte(c byte) bool { return wordByte(c) && c != '$' || c == ':' || c == '?' }

// words cuts the text into words.
func (p *psText) words() []psWord {
	var out []psWord
	for p.at < len(p.src) {
		c := p.src[p.at]
		switch {
		case c == '\n':
			out = append(out, psWord{line: p.line, end: '\n'})
			p.line++
			p.at++
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case c == '`' && p.at+1 < len(p.src) && (p.src[p.at+1] == '\n' || p.src[p.at+1] == '\r'):
			if i := strings.IndexByte(p.src[p.at:], '\n'); i >= 0 {
				p.at += i
			}
			p.at++
			p.line++
		case c == '#':
			for p.at < len(p.src) && p.src[p.at] != '\n' {
				p.at++
			}
		case strings.HasPrefix(p.src[p.at:], "<#"):
			end := strings.Index(p.src[p.at:], "#>")
			if end < 0 {
				end = len(p.src) - p.at - 2
			}
			p.line += strings.Count(p.src[p.at:p.at+end], "\n")
			p.at = min(p.at+end+2, len(p.src))
		case strings.IndexByte(";|{}()", c) >= 0:
			out = append(out, psWord{line: p.line, end: c})
			p.at++
		case c == '&' && (p.at+1 == len(p.src) || p.src[p.at+1] != '&'):
			out = append(out, psWord{v: value{"&"}, line: p.line, bare: true})
			p.at++
		case c == '[' || c == ',' || c == '+' || c == '=' || c == ']' || c == '%':
			end := p.at + 1
			if c == '[' {
				for end < len(p.src) && end < p.at+80 && (wordByte(p.src[end]) || p.src[end] == '.') {
					end++
				}
				if end < len(p.src) && p.src[end] == ']' {
					end++
					for member := end; strings.HasPrefix(p.src[member:], "::") && end < len(p.src) && (p.src[end] == ':' || wordByte(p.src[end]) && p.src[end] != '$'); {
						end++
					}
				}
			}
			out = append(out, psWord{v: value{p.src[p.at:end]}, line: p.line, bare: true})
			p.at = end
		default:
			out = append(out, p.word())
		}
	}
	return out
}

// word reads one word: up to 1024 pieces that touch.
func (p *psText) word() psWord {
	w := psWord{v: value{""}, line: p.line, bare: true}
	start := p.at
	for pieces := 0; p.at < len(p.src) && pieces < 1024; pieces++ {
		c := p.src[p.at]
		switch {
		case psByte(c) || c == '/' || c == '\\' || c == '.' || c == '-' || c == '*' || c == '~':
			from := p.at
			for p.at < len(p.src) && (psByte(p.src[p.at]) || strings.IndexByte("/\\.-*~", p.src[p.at]) >= 0) {
				p.at++
			}
			w.v = cat(w.v, value{clipText(p.src[from:p.at])})
			continue
		case c == '"' || c == '\'':
			w.bare = false
			w.v = cat(w.v, p.str(c))
			continue
		case c == '@' && p.at+1 < len(p.src) && (p.src[p.at+1] == '"' || p.src[p.at+1] == '\''):
			end := strings.Index(p.src[p.at:], "\n"+string(p.src[p.at+1])+"@")
			if end < 0 {
				end = len(p.src) - p.at - 3
			}
			text := p.src[min(p.at+2, len(p.src)):max(p.at+end, min(p.at+2, len(p.src)))]
			w.v, w.bare = cat(w.v, value{strings.TrimLeft(text, "\r\n")}), false
			p.line += strings.Count(text, "\n")
			p.at = min(p.at+max(end, 0)+3, len(p.src))
			return w
		case c == '$':
			name := p.variable()
			if start == p.at-len(name)-1 || w.v[0] == "" {
				w.variable = name
			}
			w.v = cat(w.v, value{"\x01" + strings.ToLower(name) + "\x02"})
			continue
		case c == '`' && p.at+1 < len(p.src):
			var b strings.Builder
			for p.at+1 < len(p.src) && p.src[p.at] == '`' && p.src[p.at+1] > ' ' {
				b.WriteByte(p.src[p.at+1])
				p.at += 2
			}
			if b.Len() == 0 {
				p.at++
				return w
			}
			w.v = cat(w.v, value{clipText(b.String())})
			continue
		case c <= ' ' || strings.IndexByte(";|{}(),=+", c) >= 0 || c == ']' && w.v[0] == "":
			if p.at == start {
				p.at++
			}
			return w
		}
		w.v = cat(w.v, value{string(c)})
		p.at++
	}
	return w
}

// variable reads the name of a variable behind its sign.
func (p *psText) variable() string {
	p.at++
	if p.at < len(p.src) && p.src[p.at] == '{' {
		if end := strings.IndexByte(p.src[p.at:min(len(p.src), p.at+200)], '}'); end > 0 {
			name := p.src[p.at+1 : p.at+end]
			p.at += end + 1
			return name
		}
	}
	from := p.at
	for p.at < len(p.src) && psByte(p.src[p.at]) {
		p.at++
	}
	return strings.TrimRight(p.src[from:p.at], ":?")
}

// str reads a string; variables in it are marked, to be looked up later.
func (p *psText) str(quote byte) value {
	p.at++
	var b strings.Builder
	for p.at < len(p.src) {
		c := p.src[p.at]
		switch {
		case c == quote && p.at+1 < len(p.src) && p.src[p.at+1] == quote:
			b.WriteByte(c)
			p.at += 2
			continue
		case c == quote:
			p.at++
			return value{clipText(b.String())}
		case c == '`' && quote == '"' && p.at+1 < len(p.src):
			p.at++
			b.WriteByte(p.src[p.at])
		case c == '$' && quote == '"' && p.at+1 < len(p.src) && p.src[p.at+1] == '(':
			end, depth := p.at+2, 1
			for end < len(p.src) && end < p.at+2000 && depth > 0 {
				switch p.src[end] {
				case '(':
					depth++
				case ')':
					depth--
				case '\n':
					p.line++
				}
				end++
			}
			inner := p.src[p.at+2 : max(end-1, p.at+2)]
			if i := strings.Index(strings.ToLower(inner), "$env:"); i >= 0 {
				q := &psText{auditor: p.auditor, src: inner[i:], line: p.line}
				b.WriteString("\x01" + strings.ToLower(q.variable()) + "\x02")
			} else {
				b.WriteByte(hole)
			}
			p.at = end
			continue
		case c == '$' && quote == '"' && p.at+1 < len(p.src) && (wordByte(p.src[p.at+1]) || p.src[p.at+1] == '{'):
			b.WriteString("\x01" + strings.ToLower(p.variable()) + "\x02")
			continue
		default:
			if c == '\n' {
				p.line++
			}
			b.WriteByte(c)
		}
		p.at++
	}
	return value{clipText(b.String())}
}

func clipText(s string) string {
	if len(s) > maxText {
		return holeText
	}
	return s
}

// fill puts the values of variables into the places that were marked.
func (p *psText) fill(v value, line int, note bool) value {
	var out value
	for _, s := range v.or() {
		one := value{""}
		for {
			before, rest, ok := strings.Cut(s, "\x01")
			one = cat(one, value{before})
			if !ok {
				break
			}
			name, after, _ := strings.Cut(rest, "\x02")
			s = after
			if env, ok := strings.CutPrefix(name, "env:"); ok {
				if note {
					p.env(strings.ToUpper(env), line)
				}
				if env == "userprofile" || env == "home" {
					one = cat(one, value{"~"})
					continue
				}
				if env == "temp" || env == "tmp" {
					one = cat(one, value{"/tmp"})
					continue
				}
			}
			switch name {
			case "home":
				one = cat(one, value{"~"})
			case "psscriptroot", "pwd":
				one = cat(one, value{"."})
			default:
				name = name[strings.LastIndexByte(name, ':')+1:]
				one = cat(one, p.vars[name].or())
			}
		}
		out = either(out, one)
	}
	return out
}

// aliases are short names of commands that act.
var aliases = sync.OnceValue(func() map[string]string {
	return map[string]string{"iwr": "invoke-webrequest", "irm": "invoke-restmethod", "iex": "invoke-expression", "curl": "curl", "wget": "wget", "saps": "start-process", "start": "start-process", "gc": "get-content", "sc": "set-content", "ri": "remove-item", "ni": "new-item", "icm": "invoke-command"}
})

// statement reads the words of one, and what ended it.
func (p *psText) statement(words, rest []psWord, note bool) {
	if len(words) == 0 {
		return
	}
	line := words[0].line
	list := make([]value, len(words))
	for i, w := range words {
		list[i] = p.fill(w.v, w.line, note)
	}
	text := func(i int) string {
		if i < len(list) {
			return list[i][0]
		}
		return ""
	}
	if len(words) > 1 && words[0].bare && words[0].variable == "" && words[1].bare && words[1].v[0] == "=" {
		words, list = words[2:], list[2:] // of a hash table, or a named argument
		if len(words) == 0 {
			return
		}
	}
	// $name = …
	for i := 0; i+1 < len(words) && i < 3; i++ {
		if words[i+1].bare && (words[i+1].v[0] == "=") && words[i].variable != "" {
			name := strings.ToLower(words[i].variable)
			if !note && !strings.HasPrefix(name, "env:") {
				name = name[strings.LastIndexByte(name, ':')+1:]
				v := unknown
				if len(words) > i+2 {
					v = p.expression(words[i+2:], list[i+2:])
				}
				if len(words) == i+2 && len(rest) > 0 && (rest[0].end == '(' || rest[0].end == '{') {
					v = unknown
					var inner []psWord
					for _, w := range rest[1:] {
						if w.end == ')' || len(inner) > 64 {
							break
						}
						inner = append(inner, w)
					}
					if rest[0].end == '(' && len(inner) > 0 && !slices.ContainsFunc(inner, func(w psWord) bool { return w.end != 0 }) && !inner[0].bare {
						values := make([]value, len(inner))
						for k, w := range inner {
							values[k] = p.fill(w.v, w.line, false)
						}
						v = p.expression(inner, values)
					}
				}
				p.vars[name] = either(p.vars[name], v)
			}
			words, list = words[i+2:], list[i+2:]
			break
		}
	}
	if !note || len(words) == 0 {
		return
	}
	dynamic := false
	if t := text(0); words[0].bare && (t == "&" || t == ".") {
		words, list, dynamic = words[1:], list[1:], true
		if len(words) == 0 {
			if len(rest) > 0 && rest[0].end == '(' {
				var inner []psWord
				for _, w := range rest[1:] {
					if w.end != 0 {
						break
					}
					inner = append(inner, w)
				}
				values := make([]value, len(inner))
				for k, w := range inner {
					values[k] = p.fill(w.v, w.line, note)
				}
				if v := p.expression(inner, values); v.known() && len(inner) > 0 {
					p.command(v[0], nil, line)
				} else {
					p.add(Dynamic, "", line)
				}
			}
			return
		}
	}
	p.dotnet(words, list, rest, line)
	switch {
	case dynamic:
		v := p.expression(words, list)
		name := list[0]
		if len(words) > 2 && words[1].bare && words[1].v[0] == "+" {
			name = v
		}
		for _, n := range name {
			if strings.IndexByte(n, hole) >= 0 && !strings.HasSuffix(strings.ToLower(n), ".ps1") {
				if strings.IndexByte(called(n), hole) >= 0 {
					p.add(Dynamic, "", line)
					continue
				}
			}
			p.command(n, list[1:], line)
		}
	case words[0].bare && words[0].variable == "" && text(0) != "" && (wordByte(text(0)[0]) || text(0)[0] == '.' || text(0)[0] == '~'):
		args := list[1:]
		if len(words) == 1 && len(rest) > 1 && rest[0].end == '(' {
			args = nil
			var inner []psWord
			for _, w := range rest[1:] {
				if w.end != 0 || len(inner) > 64 {
					break
				}
				inner = append(inner, w)
			}
			values := make([]value, len(inner))
			for k, w := range inner {
				values[k] = p.fill(w.v, w.line, note)
			}
			if len(inner) > 0 {
				args = []value{p.expression(inner, values)}
			} else {
				args = []value{unknown}
			}
		} else if len(rest) > 0 && rest[0].end == '(' {
			args = append(slices.Clone(args), unknown)
		}
		p.command(text(0), args, line)
	}
	for i, w := range words {
		if w.bare && (text(i) == ">" || text(i) == ">>") && i+1 < len(list) {
			p.use(Writes, text(i+1), line)
		}
	}
}

// expression folds joins, formats and conversions of words.
func (p *psText) expression(words []psWord, list []value) value {
	if len(words) == 0 {
		return unknown
	}
	v := value{""}
	for i := 0; i < len(words); i++ {
		t := strings.ToLower(words[i].v[0])
		bare := words[i].bare
		switch {
		case bare && t == "+", bare && t == "[string]":
		case bare && (t == "[char]") && i+1 < len(words):
			v = cat(v, bytesOf([]value{list[i+1]}))
			i++
		case bare && t == "-join" && i+1 < len(words):
			return v
		case bare && t == "-f":
			for n, k := 0, i+1; k < len(list); k++ {
				if words[k].bare && words[k].v[0] == "," {
					continue
				}
				v = fill(v, "{"+string(rune('0'+n))+"}", list[k], false)
				n++
			}
			return v
		case bare && t == "-replace" && i+1 < len(words):
			from, with := list[i+1], value{""}
			if i+3 < len(words) {
				with = list[i+3]
			}
			if from.known() && with.known() {
				v = v.each(func(s string) (string, bool) { return replaced(s, from[0], with[0]) })
			}
			return v
		case bare && t == ",":
			if i+1 < len(words) {
				if slices.ContainsFunc(words, func(w psWord) bool { return w.bare && strings.EqualFold(w.v[0], "-join") }) {
					v = cat(v, list[i+1])
				} else {
					v = either(v, list[i+1])
				}
				i++
			}
		case bare && words[i].variable == "" && i == 0:
			return unknown // a command
		case bare && words[i].variable == "":
			return v
		default:
			v = cat(v, list[i])
		}
	}
	return v
}

// command is a command with its arguments.
func (p *psText) command(name string, args []value, line int) {
	if name == "" {
		return
	}
	lower := strings.ToLower(name)
	if is, ok := aliases()[lower]; ok {
		lower = is
	}
	if p.told != nil {
		p.tell(append([]value{{lower}}, args...), nil, line, false)
	}
	parameter := func(names ...string) (value, bool) {
		for i, v := range args {
			if slices.Contains(names, strings.ToLower(v.or()[0])) && i+1 < len(args) {
				return args[i+1], true
			}
		}
		return nil, false
	}
	first := func() value {
		for i := 0; i < len(args); i++ {
			w := args[i].or()[0]
			if strings.HasPrefix(w, "-") {
				if !slices.Contains([]string{"-raw", "-force", "-recurse", "-usebasicparsing", "-append", "-nonewline", "-wait", "-passthru", "-nonewwindow", "-literalpath", "-path"}, strings.ToLower(w)) {
					i++
				}
				continue
			}
			return args[i]
		}
		return unknown
	}
	switch lower {
	case "if", "else", "elseif", "foreach", "for", "while", "do", "switch", "function", "param", "return", "try", "catch", "finally", "throw", "in", "begin", "process", "end", "exit", "break", "continue", "filter", "until", "using", "class", "enum", "default", "cd", "pwd", "cls", "write", "trap", "dynamicparam", "data", "workflow", "parallel":
		return
	case "invoke-expression", "invoke-command":
		v := first()
		if s, ok := parameter("-command", "-scriptblock"); ok {
			v = s
		}
		p.text(powershell, v, line)
		return
	case "start-process":
		v := first()
		if s, ok := parameter("-filepath"); ok {
			v = s
		}
		words := []value{v}
		if s, ok := parameter("-argumentlist"); ok {
			words = append(words, s)
		}
		p.exec(words, nil, line, false)
		return
	case "invoke-webrequest", "invoke-restmethod", "start-bitstransfer":
		p.fetches(lower, args, line, false)
		if s, ok := parameter("-outfile", "-destination"); ok {
			for _, w := range s {
				p.use(Writes, w, line)
			}
		}
		if s, ok := parameter("-infile"); ok {
			for _, w := range s {
				p.use(Reads, w, line)
			}
		}
		return
	case "test-netconnection", "resolve-dnsname":
		v := first()
		if s, ok := parameter("-computername", "-name"); ok {
			v = s
		}
		for _, w := range v {
			p.add(Net, strings.ToLower(w), line)
		}
		return
	case "install-module", "install-package", "install-script":
		p.installs(lower, args, line)
		return
	case "import-module", "add-type", "new-object":
		for _, v := range args {
			if lower == "add-type" && strings.EqualFold(v.or()[0], "-typedefinition") {
				p.add(Dynamic, "", line)
			}
		}
		if lower == "import-module" && strings.IndexByte(first()[0], hole) == 0 {
			p.add(Dynamic, "", line)
		}
		return
	case "get-content", "get-childitem", "import-csv", "get-item", "select-string", "copy-item", "move-item", "dir", "ls", "gci":
		v := first()
		for _, w := range v {
			if strings.HasPrefix(strings.ToLower(w), "env:") {
				name := strings.TrimLeft(w[4:], `\/`)
				if name == "" || strings.ContainsAny(name, "*?") {
					name = "*"
				}
				p.env(name, line)
				continue
			}
			p.use(Reads, w, line)
		}
		if s, ok := parameter("-destination"); ok {
			for _, w := range s {
				p.use(Writes, w, line)
			}
		}
		return
	case "set-content", "add-content", "out-file", "remove-item", "new-item", "export-csv", "set-itemproperty":
		v := first()
		if s, ok := parameter("-path", "-filepath", "-literalpath"); ok {
			v = s
		}
		for _, w := range v {
			p.use(Writes, w, line)
		}
		return
	case "set-alias", "new-alias":
		if len(args) > 1 && !args[1].known() {
			p.add(Dynamic, "", line)
		}
		return
	}
	if verb, noun, ok := strings.Cut(name, "-"); ok && verb != "" && noun != "" && verb[0] >= 'A' && verb[0] <= 'Z' && !strings.ContainsAny(name, "./\\") {
		return // another cmdlet
	}
	if upper := name[0] >= 'A' && name[0] <= 'Z' && !strings.ContainsAny(name, "./\\"); upper && !fetchers()[lower] && managers()[lower] == nil && runners()[strings.ToLower(called(name))] == nil {
		return // a function, or a word of a language in the language
	}
	if name[0] == '.' && (len(name) < 2 || name[1] != '/' && name[1] != '\\' && name[1] != '.') {
		return // a member
	}
	if strings.ContainsAny(name, "=[]@$%\"'*<>!?,") || strings.HasPrefix(name, "-") || name[0] >= '0' && name[0] <= '9' {
		return
	}
	p.exec(append([]value{{name}}, args...), nil, line, false)
}

// dotnet is calls of .NET that act: [Environment]::GetEnvironmentVariable, Net.WebClient, [scriptblock]::Create.
func (p *psText) dotnet(words []psWord, list []value, rest []psWord, line int) {
	var all strings.Builder
	for _, v := range list {
		all.WriteString(strings.ToLower(v.or()[0]) + " ")
	}
	text := all.String()
	argument := func() value {
		if len(rest) == 0 || rest[0].end != '(' {
			return unknown
		}
		var inner []psWord
		for _, w := range rest[1:] {
			if w.end != 0 || len(inner) > 64 || w.bare && w.v[0] == "," {
				break
			}
			inner = append(inner, w)
		}
		values := make([]value, len(inner))
		for k, w := range inner {
			values[k] = p.fill(w.v, w.line, true)
		}
		return p.expression(inner, values)
	}
	switch {
	case strings.Contains(text, "getenvironmentvariables"):
		p.add(Env, "*", line)
	case strings.Contains(text, "getenvironmentvariable"):
		for _, s := range argument() {
			p.env(s, line)
		}
	case strings.Contains(text, "scriptblock]::create"), strings.Contains(text, "assembly]::load"), strings.Contains(text, "invokescript"):
		p.add(Dynamic, "", line)
		if v := argument(); v.known() {
			p.text(powershell, v, line)
		}
	case strings.Contains(text, "downloadstring"), strings.Contains(text, "downloadfile"), strings.Contains(text, "downloaddata"), strings.Contains(text, "uploadstring"), strings.Contains(text, "getasync"), strings.Contains(text, "postasync"), strings.Contains(text, "webrequest]::create"), strings.Contains(text, "getstringasync"), strings.Contains(text, "uploadfile"):
		ok := false
		for _, s := range argument() {
			ok = p.net(s, false, line) || ok
		}
		if !ok {
			p.add(Net, holeText, line)
		}
	case strings.Contains(text, "net.sockets.tcpclient"):
		v := argument()
		if len(list) > 2 && !v.known() {
			v = list[len(list)-1]
		}
		for _, s := range v {
			p.add(Net, strings.ToLower(strings.SplitN(s, ",", 2)[0]), line)
		}
	case strings.Contains(text, "diagnostics.process]::start"):
		if v := argument(); v.known() {
			p.exec([]value{v}, nil, line, false)
		} else {
			p.add(Dynamic, "", line)
		}
	case strings.Contains(text, "io.file]::"):
		k := Reads
		if strings.Contains(text, "write") || strings.Contains(text, "append") || strings.Contains(text, "delete") || strings.Contains(text, "create") {
			k = Writes
		}
		for _, s := range argument() {
			p.use(k, s, line)
		}
	}
}
