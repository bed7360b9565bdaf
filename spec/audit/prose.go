package audit

import (
	"path"
	"strings"
)

// prose reads the fenced code of Markdown, and the commands in its inline code.
func (a *auditor) prose(src string, first int) {
	var (
		fence  string // that is open
		l      lang
		known  bool // its language is
		code   strings.Builder
		start  int
		number = first - 1
		front  bool
		indent bool // the code is a block that is indented, which a blank line was before
		blank  = true
		deep   bool // the fence that is open stands in an item, whose end is its own
		quotes int  // before the fence that is open
		pre    bool // the code stands between <pre> and </pre>
	)
	flush := func() {
		if code.Len() > 0 {
			a.fenced(l, known, code.String(), start)
		}
		code.Reset()
		fence, indent, pre = "", false, false
	}
	for line := range strings.Lines(src) {
		number++
		text := strings.TrimRight(line, "\r\n")
		if number == 1 && first == 1 && strings.TrimRight(text, " ") == "---" {
			front = true
			continue
		}
		if front {
			front = strings.TrimRight(text, " ") != "---"
			continue
		}
		trimmed := strings.TrimLeft(text, " \t>")
		if fence != "" && quotes > 0 {
			rest, n := unquoted(line, quotes)
			if line = rest; n == 0 { // the quotation ends, and what is in it
				flush()
			}
		}
		if fence != "" && deep && text != "" && text[0] != ' ' && text[0] != '\t' {
			flush()
		}
		if fence != "" {
			if t := strings.TrimSpace(trimmed); len(t) >= len(fence) && strings.Trim(t, fence[:1]) == "" {
				flush()
				continue
			}
			code.WriteString(line)
			continue
		}
		if pre {
			end := closes.get().FindStringIndex(line)
			if end == nil {
				code.WriteString(untagged(line))
				continue
			}
			code.WriteString(untagged(line[:end[0]]))
			flush()
			text = text[min(end[1], len(text)):]
		}
		if m := opens.get().FindStringSubmatchIndex(text); m != nil {
			if indent {
				flush()
			}
			a.inline(text[:m[0]], number)
			rest := line[m[1]:]
			if l, known = shell, false; m[2] >= 0 {
				if l, known = languages()[strings.ToLower(text[m[2]:m[3]])]; !known || l == markdown || l == notebook || l == settings {
					l, known = shell, false
				}
			}
			pre, start = true, number
			if end := closes.get().FindStringIndex(rest); end != nil {
				code.WriteString(untagged(rest[:end[0]]))
				flush()
				text = rest[end[1]:]
			} else {
				code.WriteString(untagged(rest))
				continue
			}
		}
		wasBlank := blank
		blank = strings.TrimSpace(text) == ""
		if in := strings.HasPrefix(text, "    ") || strings.HasPrefix(text, "\t"); !blank && in && !isFence(trimmed) && (indent || wasBlank) || indent && (blank || strings.HasSuffix(code.String(), "\\\n")) {
			if !indent {
				indent, l, known, start = true, shell, false, number
			}
			code.WriteString(line)
			a.inline(text, number)
			continue
		}
		if indent {
			flush()
		}
		if m := bullets.get().FindString(text); m != "" && isFence(text[len(m):]) {
			trimmed = text[len(m):] // a fence in the line of its item
		}
		if isFence(trimmed) {
			n := len(trimmed) - len(strings.TrimLeft(trimmed, trimmed[:1]))
			info := strings.TrimSpace(trimmed[n:])
			if trimmed[0] != '`' || strings.IndexByte(info, '`') < 0 {
				fence, start = trimmed[:n], number+1
				deep = strings.HasPrefix(text, "    ") || strings.HasPrefix(text, "\t")
				quotes = strings.Count(text[:len(text)-len(trimmed)], ">")
				word := tongue(info)
				if unreadIn(word, info) {
					a.add(Dynamic, "", number)
				}
				if l, known = languages()[word]; !known || l == markdown || l == notebook || l == settings { // who reads it may run what is a command
					l, known = shell, false
				}
				continue
			}
		}
		a.inline(text, number)
	}
	flush()
}

// isFence reports whether a line without its blanks begins a fence.
func isFence(s string) bool { return strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~") }

// bullets are the signs of items and quotations that a line begins with.
var bullets = pattern{text: `^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])[ \t]+)*(?:[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)`}

// tongue is the language that an info string names.
func tongue(info string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(strings.ToLower(info), "{.! "), " ")
	word = strings.TrimRight(word, "}")
	if i := strings.IndexAny(word, ",{:"); i >= 0 {
		word = word[:i]
	}
	return word
}

// scripted are languages of fences that nothing here reads and whose texts are run as they stand.
const scripted = " elixir iex exs ruby rb irb perl pl raku php r rscript julia jl lua tcl expect groovy applescript osascript jxa batch bat cmd dos fish nu nushell csh tcsh xonsh awk vbs vbscript autohotkey ahk autoit nix racket scheme clojure clj elisp emacs-lisp lisp octave matlab sas stata erlang escript haskell runhaskell ocaml crystal nim "

// unreadIn reports whether the code behind an info string is run and read by nothing: of a language of scripts, or of any that stands in
// the brackets of a notebook.
func unreadIn(word, info string) bool {
	_, known := languages()[word]
	return !known && (has(scripted, word) && word != "" || strings.HasPrefix(info, "{") && !strings.HasPrefix(info, "{.") && unreadable()[word])
}

// Code in HTML, and what its tag says of the language.
var (
	opens   = pattern{text: `(?i)<pre\b[^>]*?(?:lang(?:uage-|=")(\w+)[^>]*)?>(?:\s*<code\b[^>]*>)?`}
	closes  = pattern{text: `(?i)</pre\s*>`}
	tag     = pattern{text: `</?[A-Za-z][^<>]*>`}
	element = pattern{text: `(?i)<(?:code|kbd)\b[^>]*>([^<]*)</(?:code|kbd)\s*>`}
)

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&apos;", "'", "&nbsp;", " ", "&#124;", "|", "&#x2F;", "/", "&amp;", "&")

// untagged is a text of HTML without its tags.
func untagged(s string) string {
	if strings.IndexByte(s, '<') >= 0 {
		s = tag.get().ReplaceAllString(s, "")
	}
	return entities.Replace(s)
}

// unquoted is a line without the first n signs of quotation before it, and how many it has of them.
func unquoted(line string, n int) (rest string, found int) {
	for rest = line; found < n; found++ {
		after, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t"), ">")
		if !ok {
			break
		}
		rest = strings.TrimPrefix(after, " ")
	}
	return rest, found
}

// starts reports whether a line of prose begins with a file of the skill that is no text for people, and has it read.
func (a *auditor) starts(s string) bool {
	if !strings.HasPrefix(s, "./") {
		return false
	}
	name, _, _ := strings.Cut(s, " ")
	base := path.Base(name)
	if strings.ToUpper(base) == base || has(" .md .txt .json .yaml .yml .toml .html .htm .css .csv .tsv .xml .svg .png .jpg .jpeg .gif .webp .pdf .lock .cfg .ini .env .log .tmpl .template ", strings.ToLower(path.Ext(base))) {
		return false
	}
	own := a.owns(name)
	if own != "" {
		a.ask(own, itself)
	}
	return own != ""
}

// fenced reads fenced code: shell of all names, other languages by their scanners. Code without a language is read where
// its lines are commands.
func (a *auditor) fenced(l lang, known bool, src string, line int) {
	switch l {
	case shell:
	case recipe:
		a.recipes(src, line, true)
		return
	case justfile:
		a.justfile(src, line, true)
		return
	case image:
		a.image(src, line, true)
		return
	default:
		if l == powershell {
			src = placeholder.get().ReplaceAllString(src, "X")
		}
		a.code(l, src, line)
		return
	}
	prompts := false
	lines := strings.Split(src, "\n")
	for _, t := range lines {
		if t = strings.TrimSpace(t); strings.HasPrefix(t, "$ ") {
			prompts = true
		}
	}
	for i, t := range lines {
		trimmed := strings.TrimSpace(t)
		switch {
		case prompts && strings.HasPrefix(trimmed, "$ "):
			lines[i] = trimmed[2:]
		case prompts && !(i > 0 && strings.HasSuffix(lines[i-1], "\\")):
			lines[i] = ""
		case !known && (command(unkeyed(trimmed)) || a.starts(trimmed)):
			lines[i] = unkeyed(trimmed)
		case !known && !(i > 0 && strings.HasSuffix(lines[i-1], "\\")):
			lines[i] = ""
		}
	}
	a.shell(strings.Join(lines, "\n"), line, true)
}

// unkeyed is a line of YAML or JSON without the key before its command: "- run: make", "\"command\": \"make\",". "Fix: make" is a remark.
func unkeyed(s string) string {
	s = strings.TrimPrefix(s, "- ")
	if key, rest, ok := strings.Cut(s, ":"); ok && strings.HasPrefix(rest, " ") && key != "" && (key[0] == '"' || key[0] >= 'a') && !strings.ContainsAny(key, " /$") {
		if s = strings.TrimSpace(rest); strings.HasPrefix(key, `"`) {
			s = strings.TrimSuffix(s, ",")
		}
	}
	if n := len(s); n > 1 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		if s[0] == '"' {
			return unescape(s[1 : n-1])
		}
		return s[1 : n-1]
	}
	return s
}

// command reports whether a line of prose starts with a program that acts.
func command(s string) bool {
	name, rest, more := strings.Cut(s, " ")
	if isProgram(called(name)) && piped.get().MatchString(s) {
		return true
	}
	next, _, words := strings.Cut(rest, " ")
	if !more || next == "is" && words || next == "-" && words || strings.HasPrefix(rest, "->") || strings.HasPrefix(rest, "→") {
		return false
	}
	lower := strings.ToLower(name)
	switch {
	case lower == "gem":
		return next == "install" && words
	case has(nouns, lower):
		return rest[:min(1, len(rest))] == "-" || has(" install run get test build ", next) && words || strings.Contains(rest, ".js")
	case has(spoken, lower) && has(english, strings.ToLower(strings.Trim(next, ",.:"))):
		return false
	}
	_, fetches := fetchers()[lower]
	_, installs := managers()[lower]
	_, runs := runners()[lower]
	return name == lower && (fetches || installs || runs || has(" python pip3 sudo eval source gh kubectl aws az terraform make ", lower))
}

// Names of programs that are other words too: those that are one with a certain word behind them, and those that are none before words of English.
const (
	nouns   = " go code host http https node snap "
	spoken  = " make source eval fetch watch just "
	english = " sure the a an it its your our this that these those them all any every each of to for from is are was with and or as in on code files changes use sense one two no not only more "
)

// piped is a pipe into an interpreter, at the end of a line or before its next command.
var piped = pattern{text: `[^|]\|\s*(?:sudo\s+)?(?:/\S*/)?(?:bash|sh|zsh|dash|ksh|python3?|node|perl|ruby|php|pwsh|iex)(?:\s+-\S*)*\s*(?:$|[;&|])`}

// inline reads the commands in the inline code of a line.
func (a *auditor) inline(text string, line int) {
	if strings.IndexByte(text, '<') >= 0 {
		for _, m := range element.get().FindAllStringSubmatch(text, -1) {
			if code := strings.TrimSpace(entities.Replace(m[1])); command(code) {
				a.shell(code, line, true)
			} else {
				a.starts(code)
			}
		}
	}
	for {
		i := strings.IndexByte(text, '`')
		if i < 0 {
			return
		}
		n := 1
		for i+n < len(text) && text[i+n] == '`' {
			n++
		}
		end := strings.Index(text[i+n:], strings.Repeat("`", n))
		if end < 0 {
			return
		}
		code := strings.TrimSpace(text[i+n : i+n+end])
		text = text[i+n+end+n:]
		if command(code) {
			a.shell(code, line, true)
		} else {
			a.starts(code)
		}
	}
}
