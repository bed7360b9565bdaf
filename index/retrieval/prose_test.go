package retrieval

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/skl-project/skl/index/query"
)

// Questions about any repository, made by rules of its own text. What a question is made of is taken out of the copy that is searched, but for error
// messages and options, which are the answer themselves.
//
//	where, how, function   the first sentence of a doc comment or docstring
//	issue                  the same, as somebody who reports a problem writes it
//	detail                 the name of a function, and some words of that sentence
//	concept                what a comment within a function says, as bare words
//	error                  the text of an error, with values filled in
//	config                 an option or a variable by its name, or by what it is for
const perKind = 15 // questions of one repository, of which a third loses its answer

func (c *corpus) sort() { slices.Sort(c.paths) }

// A maker makes the questions of a corpus.
type maker struct {
	c     *corpus
	r     *drawer
	lines map[string][]string // of the files that are changed
	out   []question
	of    map[string]int  // set → questions
	dry   map[string]bool // what has no more of them
}

// prose takes what it asks for out of c.
func prose(c *corpus, only string) []question {
	h := fnv.New64a()
	h.Write([]byte(c.name))
	m := &maker{c: c, r: newDrawer(h.Sum64(), 1000), lines: map[string][]string{}, of: map[string]int{}, dry: map[string]bool{}}
	paths := shuffled(m.r, filter(c.paths, func(p string) bool { return askable(p, c.files[p]) }))
	for _, p := range paths {
		m.lines[p] = strings.Split(string(c.files[p]), "\n")
	}
	make := []func(string){m.described, m.commented, m.failing, m.configured, m.named}
	for range 40 { // one of each file at a time, so that no file has most of them
		for _, p := range paths {
			for i, f := range make {
				if key := fmt.Sprint(i, p); !m.dry[key] {
					before := len(m.out)
					f(p)
					m.dry[key] = len(m.out) == before
				}
			}
		}
	}
	for p, lines := range m.lines {
		c.files[p] = []byte(strings.Join(lines, "\n"))
	}
	return filter(m.out, func(q question) bool { return only == "" || strings.Contains(q.set, only) })
}

func askable(p string, data []byte) bool {
	l := strings.ToLower(p)
	for _, s := range []string{"test", "example", "fixture", "vendor/", "third_party", ".min.", "/dist/", "mock"} {
		if strings.Contains(l, s) {
			return false
		}
	}
	return ordinary(p) && len(data) < 300_000 && !bytes.Contains(data[:min(len(data), 2000)], []byte("DO NOT EDIT")) && len(data) < 200*(1+bytes.Count(data, []byte("\n")))
}

func (m *maker) full(set string) bool { return m.of[set] >= perKind }

func (m *maker) add(set, text string, truth ...place) {
	if m.full(set) || len(text) > 500 || !m.r.take(fmt.Sprint(m.of[set]), text) {
		return
	}
	m.of[set]++
	m.out = append(m.out, question{set: "P " + set, group: m.c.name, text: text, truth: truth, params: query.Params{Pattern: text}})
}

var defines = map[string]*regexp.Regexp{
	".go": regexp.MustCompile(`^func (?:\([^)]*\) )?(\w+)`),
	".py": regexp.MustCompile(`^\s*(?:async )?def (\w+)\(`),
	".rs": regexp.MustCompile(`^\s*(?:pub(?:\([^)]*\))? )?(?:async |const |unsafe )*fn (\w+)`),
	".js": regexp.MustCompile(`^\s*(?:export )?(?:default )?(?:async )?(?:static )?(?:function\*? ?(\w+)|[\w.]+\.(\w+) = (?:async )?function|(\w+)\([^)]*\) \{$|(\w+)[:=] ?(?:async )?function)`),
}

// definition returns the name that line i defines.
func definition(p, line string) string {
	ext := path.Ext(p)
	if ext == ".ts" || ext == ".cjs" || ext == ".mjs" {
		ext = ".js"
	}
	re := defines[ext]
	if re == nil {
		return ""
	}
	for _, name := range re.FindStringSubmatch(line)[min(1, len(re.FindStringSubmatch(line))):] {
		switch name {
		case "", "if", "for", "while", "switch", "catch", "function", "constructor", "return":
		default:
			return name
		}
	}
	return ""
}

var types = map[string]*regexp.Regexp{
	".go": regexp.MustCompile(`^(?:type|const|var) (\w+)|^\t([A-Z]\w+)(?: +\w+)? += \S`),
	".py": regexp.MustCompile(`^class (\w+)|^([A-Z][A-Z0-9_]+) = `),
	".rs": regexp.MustCompile(`^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|const) (\w+)`),
	".js": regexp.MustCompile(`^(?:export )?(?:default )?class (\w+)|^(?:export )?const (\w+) = `),
}

// nameIn returns the name of the function, type or constant that a line defines.
func nameIn(p, line string) string {
	if name := definition(p, line); name != "" {
		return name
	}
	if re := types[path.Ext(p)]; re != nil {
		if f := re.FindStringSubmatch(line); f != nil {
			return strings.Join(f[1:], "")
		}
	}
	return ""
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// endOf returns the index of the last line of the definition that begins at line i.
func endOf(lines []string, i int, python bool) int {
	last := i
	for j := i + 1; j < len(lines) && j < i+400; j++ {
		t := strings.TrimSpace(lines[j])
		if t == "" || indent(lines[j]) > indent(lines[i]) {
			if t != "" {
				last = j
			}
			continue
		}
		if python {
			if strings.HasPrefix(t, ")") {
				continue
			}
			break
		}
		last = j
		if t[0] == '}' || t[0] == ')' && !strings.HasSuffix(t, "{") {
			break
		}
	}
	return last
}

// described asks for a function by its documentation.
func (m *maker) described(p string) {
	lines := m.lines[p]
	sets := []string{"where", "how", "function", "issue", "detail"}
	slices.SortStableFunc(sets, func(a, b string) int { return m.of[a] - m.of[b] })
	if m.full(sets[0]) || len(lines) == 0 {
		return
	}
	start := m.r.rng.IntN(len(lines))
	for k := range lines {
		i := (start + k) % len(lines)
		name := definition(p, lines[i])
		if name == "" || len(name) < 4 {
			continue
		}
		python := path.Ext(p) == ".py"
		end := endOf(lines, i, python)
		from, to, text := documentation(lines, i, python)
		if text == "" || end-i < 3 || python && end-to < 2 {
			continue
		}
		verb := verbPhrase(name, text)
		if verb == nil {
			continue
		}
		form := m.r.rng.IntN(4)
		text = ask(sets[0], verb, form)
		detail := details(verb, form)
		if sets[0] == "detail" {
			text = askDetail(name, detail, form)
		}
		if telling(plainWords(text)) < 4 || sets[0] == "detail" && len(detail) < 2 {
			continue
		}
		before := len(m.out)
		m.add(sets[0], text, place{p, i + 1, end + 1})
		if len(m.out) > before {
			if sets[0] == "detail" {
				m.out[before].subject, m.out[before].detail = name, detail
			}
			forget(lines[from : to+1])
			return
		}
	}
}

// forget takes the first sentence out of the lines of some documentation, and what is left of the documentation without one.
func forget(doc []string) {
	begun, ended, more := false, false, false
	for i := range doc {
		t := bareDoc(doc[i])
		switch {
		case ended:
			more = more || t != ""
			continue
		case t == "" && !begun:
			continue
		case t == "" || t[0] == '@':
			ended, more = true, t != ""
			continue
		}
		begun = true
		_, rest, found := strings.Cut(t, ". ")
		ended = found || strings.HasSuffix(t, ".")
		more = rest != ""
		doc[i] = strings.Replace(doc[i], t, rest, 1)
	}
	if !more {
		clear(doc)
	}
}

var docLine = regexp.MustCompile(`^\s*(?:[ru]*(?:"""|''')|[/*!]+)?\s*(.*?)\s*(?:\*/|"""|''')?$`)

// bareDoc is what a line of documentation says, without the marks around it.
func bareDoc(line string) string { return docLine.FindStringSubmatch(line)[1] }

// named asks for a definition by its name, in small letters, or by a name of which a word is forgotten.
func (m *maker) named(p string) {
	lines := m.lines[p]
	if m.full("name") || len(lines) == 0 {
		return
	}
	start := m.r.rng.IntN(len(lines))
	for k := range lines {
		i := (start + k) % len(lines)
		name := nameIn(p, lines[i])
		w := words(name)
		if len(name) < 4 || small[strings.ToLower(name)] {
			continue
		}
		var truth []place
		for _, q := range m.c.paths {
			for j, l := range m.lines[q] {
				if strings.Contains(l, name) && nameIn(q, l) == name {
					truth = append(truth, place{q, j + 1, endOf(m.lines[q], j, path.Ext(q) == ".py") + 1})
				}
			}
		}
		if len(truth) == 0 || len(truth) > 40 {
			continue
		}
		ask := name
		switch at, form := m.r.rng.IntN(len(w)), m.r.rng.IntN(5); {
		case form == 0:
			ask = strings.ToLower(name)
		case form < 3 && len(w) > 2:
			ask = strings.Join(slices.Delete(w, at, at+1), "")
		}
		before := len(m.out)
		if m.add("name", ask, truth...); len(m.out) > before {
			m.out[before].params = query.Params{Symbol: ask}
			return
		}
	}
}

// documentation returns the lines and the text of what is said of the definition at line i.
func documentation(lines []string, i int, python bool) (from, to int, text string) {
	if python {
		j := i
		for j < len(lines) && j < i+8 && !strings.HasSuffix(strings.TrimSpace(lines[j]), ":") {
			j++
		}
		j++
		if j >= len(lines) {
			return 0, 0, ""
		}
		t := strings.TrimLeft(strings.TrimSpace(lines[j]), "ru")
		if !strings.HasPrefix(t, `"""`) && !strings.HasPrefix(t, "'''") {
			return 0, 0, ""
		}
		quote, rest := t[:3], t[3:]
		for k := j; k < len(lines) && k < j+100; k++ {
			if k > j {
				rest += "\n" + strings.TrimSpace(lines[k])
			}
			if at := strings.Index(rest, quote); at >= 0 {
				return j, k, strings.TrimSpace(rest[:at])
			}
		}
		return 0, 0, ""
	}
	j := i - 1
	for j >= 0 && strings.HasPrefix(strings.TrimSpace(lines[j]), "#[") {
		j--
	}
	to = j
	block := j >= 0 && strings.HasSuffix(strings.TrimSpace(lines[j]), "*/")
	for ; j >= 0 && j > i-80; j-- {
		t := strings.TrimSpace(lines[j])
		if block {
			if strings.HasPrefix(t, "/*") {
				j--
				break
			}
		} else if !strings.HasPrefix(t, "//") {
			break
		}
	}
	from = j + 1
	var all []string
	for k := from; k <= to; k++ {
		all = append(all, strings.TrimSpace(strings.TrimLeft(strings.TrimSuffix(strings.TrimSpace(lines[k]), "*/"), "/*!")))
	}
	if from > to {
		return 0, 0, ""
	}
	return from, to, strings.TrimSpace(strings.Join(all, "\n"))
}

// verbs are what doc comments begin with, in the form "parse", and other words that people have for them.
var verbs = map[string]string{"return": "get", "create": "make", "remove": "delete", "check": "verify", "get": "obtain", "set": "change", "parse": "read", "write": "output", "send": "transmit", "add": "insert",
	"start": "begin", "stop": "end", "convert": "turn", "build": "construct", "find": "look up", "load": "read in", "update": "refresh", "validate": "check", "register": "add", "handle": "deal with", "close": "shut",
	"compute": "calculate", "determine": "decide", "generate": "produce", "apply": "use", "read": "take in", "decode": "unpack", "encode": "serialise", "delete": "drop", "merge": "combine", "wait": "block",
	"copy": "duplicate", "initialize": "set up", "execute": "run", "run": "execute", "call": "invoke", "format": "render", "open": "open", "process": "work through", "render": "print", "resolve": "work out", "emit": "fire",
	"append": "attach", "attempt": "try", "calculate": "compute", "extract": "pull out", "fetch": "retrieve", "list": "enumerate", "print": "show", "push": "put", "replace": "swap", "reset": "clear", "save": "store",
	"split": "divide", "test": "check", "transform": "turn", "verify": "check", "wrap": "surround", "configure": "set up", "connect": "attach", "define": "declare", "ensure": "make sure", "filter": "select", "flush": "empty",
	"insert": "put", "make": "create", "match": "compare", "normalize": "clean up", "prepare": "get ready", "report": "tell", "retrieve": "fetch", "serialize": "encode", "store": "keep", "store the": "keep the", "try": "attempt", "use": "apply"}

var markup = regexp.MustCompile("(?s)\\{@\\w+ ([^}]*)\\}|<[^>]+>|``?|:\\w+:|\\[([^\\]]*)\\](?:\\([^)]*\\))?|\\*\\*")

// verbPhrase returns the words of the first sentence of documentation, the first of them a verb without its s; nil if it is no such sentence.
func verbPhrase(name, text string) []string {
	text = markup.ReplaceAllString(text, "$1$2")
	text, _, _ = strings.Cut(text, "\n\n")
	text, _, _ = strings.Cut(text, "\n@")
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text+" ", ". "); i >= 0 && i < len(text) {
		text = text[:i]
	}
	if strings.HasPrefix(text, "Deprecated") || strings.ContainsAny(text, "{}=@") {
		return nil
	}
	words := strings.Fields(text)
	for len(words) > 0 && (strings.EqualFold(strings.Trim(words[0], ".,:()"), name) || strings.EqualFold(words[0], "method") || strings.EqualFold(words[0], "function") || strings.EqualFold(words[0], "to") || words[0] == "-") {
		words = words[1:]
	}
	if len(words) < 5 || len(words) > 28 {
		return nil
	}
	verb := strings.ToLower(words[0])
	for _, base := range []string{verb, strings.TrimSuffix(verb, "s"), strings.TrimSuffix(verb, "es"), strings.TrimSuffix(verb, "ies") + "y"} {
		if verbs[base] != "" {
			out := []string{base}
			for _, w := range words[1:] {
				if w = strings.Trim(w, ".,:;()\"'"); w == "" {
					continue
				}
				if w != strings.ToLower(w) && (strings.Contains(w, "_") || strings.IndexFunc(w[1:], unicode.IsUpper) >= 0) || strings.Contains(w, "_") {
					w = strings.ToLower(strings.Join(words2(w), " ")) // people do not type identifiers
				}
				out = append(out, w)
			}
			return out
		}
	}
	return nil
}

// words2 cuts an identifier with points into words.
func words2(s string) (out []string) {
	for _, w := range plainWords(s) {
		out = append(out, words(w)...)
	}
	return out
}

// ask writes a question. Of two forms, one has another verb than the documentation.
func ask(set string, verb []string, form int) string {
	v := slices.Clone(verb)
	if form%2 == 1 {
		v[0] = verbs[v[0]]
	}
	rest := strings.Join(v, " ")
	switch set {
	case "where":
		return []string{"where does it ", "where is the code to ", "which code is used to ", "find where we "}[form] + rest
	case "how":
		return []string{"how does it ", "how do we ", "how can the code ", "how would this "}[form] + rest
	}
	if set == "issue" {
		return fmt.Sprintf([]string{
			"Unexpected result since the last upgrade: we want it to %s, but nothing of the kind happens. Expected: the same as before.",
			"[Bug] it does not %s\n\nSteps to reproduce: use it twice in a row with the defaults. Actual result: silently ignored.",
			"Feature request: please make it possible to turn off that you %s, since it is slow on our machines.",
			"I noticed that the latest version should %s but seems to do so too late. Is this intended? Environment: linux, main branch.",
		}[form], rest)
	}
	return []string{"function to ", "helper to ", "method used to ", "code to "}[form] + rest
}

// details are two or three words of a verb phrase that say something.
func details(verb []string, form int) (out []string) {
	for _, w := range verb {
		if l := strings.ToLower(w); len(l) > 3 && !small[l] && len(out) < 2+form%2 && strings.Trim(l, "abcdefghijklmnopqrstuvwxyz-") == "" {
			out = append(out, l)
		}
	}
	return out
}

// askDetail asks for a definition by its name and some words.
func askDetail(name string, detail []string, form int) string {
	return fmt.Sprintf([]string{"how does %s %s", "%s %s", "where does %s %s", "%s: %s"}[form], name, strings.Join(detail, " "))
}

var lineComment = regexp.MustCompile(`^\s+(?://|#)\s+([A-Z][^{}=<>|@]{40,})$`)

// commented asks for what a comment within a function says.
func (m *maker) commented(p string) {
	lines := m.lines[p]
	if m.full("concept") || len(lines) < 10 {
		return
	}
	start := m.r.rng.IntN(len(lines))
	for k := range lines {
		i := (start + k) % len(lines)
		f := lineComment.FindStringSubmatch(lines[i])
		if f == nil || i+1 >= len(lines) || i == 0 || indent(lines[i]) < 1 || strings.HasPrefix(strings.TrimSpace(lines[i-1]), "//") || strings.HasPrefix(strings.TrimSpace(lines[i-1]), "#") {
			continue
		}
		mark := strings.TrimSpace(lines[i])[:1]
		text, end := f[1], i
		for end+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[end+1]), mark) && end < i+6 {
			end++
			text += " " + strings.TrimLeft(strings.TrimSpace(lines[end]), "/# ")
		}
		if definition(p, lines[min(end+1, len(lines)-1)]) != "" || strings.Contains(text, "://") || strings.Contains(strings.ToLower(text), "todo") {
			continue
		}
		text, _, _ = strings.Cut(text, ". ")
		var out []string
		for _, w := range plainWords(markup.ReplaceAllString(text, "$1$2")) {
			l := strings.ToLower(w)
			if w != l && w[1:] != l[1:] || strings.Contains(w, "_") || len(w) < 3 || small[l] {
				continue
			}
			out = append(out, l)
		}
		if telling(out) < 5 || len(out) > 14 {
			continue
		}
		// Of the words of a comment, people remember most.
		if drop := m.r.rng.IntN(len(out)); len(out) > 6 {
			out = slices.Delete(out, drop, drop+1)
		}
		before := len(m.out)
		m.add("concept", strings.Join(out, " "), place{p, i + 1, end + 2})
		if len(m.out) > before {
			for j := i; j <= end; j++ {
				lines[j] = ""
			}
			return
		}
	}
}

var small = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("the and for that this with from are was were not but its can will has have had been when then than they them there here what which any all our you your also just only into out use used using does did because since should would could may might must more some such each other own same") {
		m[w] = true
	}
	return m
}()

var errorText = map[string]*regexp.Regexp{
	".go": regexp.MustCompile(`(?:errors\.New|fmt\.Errorf|errors\.Errorf|errors\.Wrapf?)\((?:\w+, )?"((?:[^"\\]|\\.){15,})"`),
	".py": regexp.MustCompile(`raise \w+\(\s*f?["']((?:[^"'\\]|\\.){15,})["']`),
	".js": regexp.MustCompile("(?:new \\w*Error|assert(?:\\.\\w+)?)\\([^'\"`]{0,40}['\"`]((?:[^'\"`\\\\]|\\\\.){15,})['\"`]"),
	".rs": regexp.MustCompile(`(?:panic!|bail!|expect|Error::new|format!|error!|f\.write_str|f\.pad|write!)\((?:[^"]{0,40}, )?"((?:[^"\\]|\\.){15,})"`),
}

var values = regexp.MustCompile(`%[-+#0-9.]*[a-zA-Z]|\$?\{[^}]*\}|%\(\w+\)\w`)

// failing asks for the text of an error.
func (m *maker) failing(p string) {
	lines := m.lines[p]
	re := errorText[path.Ext(p)]
	if m.full("error") || re == nil {
		return
	}
	start := m.r.rng.IntN(len(lines))
	for k := range lines {
		i := (start + k) % len(lines)
		f := re.FindStringSubmatch(lines[i])
		if f == nil {
			continue
		}
		filled := []string{"foo", "42", "/tmp/x", "main"}
		n := m.r.rng.IntN(4)
		text := values.ReplaceAllStringFunc(f[1], func(string) string { n++; return filled[n%4] })
		text = strings.NewReplacer(`\n`, " ", `\"`, `"`, `\'`, "'").Replace(text)
		if w := plainWords(values.ReplaceAllString(f[1], " ")); telling(w) < 2 || len(w) < 3 {
			continue
		}
		var truth []place
		for _, q := range m.c.paths {
			if data := m.c.files[q]; bytes.Contains(data, []byte(f[1])) && askable(q, data) {
				for j, l := range m.lines[q] {
					if strings.Contains(l, f[1]) {
						truth = append(truth, place{q, j + 1, j + 1})
					}
				}
			}
		}
		if len(truth) == 0 || len(truth) > 3 {
			continue
		}
		switch m.r.rng.IntN(4) {
		case 0:
			text = "why do I get " + text
		case 1:
			text = "error: " + text
		}
		before := len(m.out)
		m.add("error", text, truth...)
		if len(m.out) > before {
			return
		}
	}
}

// Options: a name, and what it is for, in one line.
var options = []*regexp.Regexp{
	regexp.MustCompile("^\\s*[-*]\\s+(?:\\*\\*)?`([\\w.-]{4,})`(?:\\*\\*)?[^-:–—]{0,40}[-:–—]\\s+(.{25,})$"), // lists of documentation
	regexp.MustCompile("^\\|\\s*`([\\w.-]{4,})`\\s*\\|(?:[^|]{0,30}\\|)?\\s*([^|]{25,})\\|"),                 // tables of it
	regexp.MustCompile(`(?:add_argument|click\.option|\.option|Arg::with_name|\.long)\(\s*['"](?:-\w, ?)?-{0,2}([\w-]{4,})[^'"]*['"].*?['"]([A-Z][^'"]{20,})`),
	regexp.MustCompile(`\.(?:String|Bool|Int|Int64|Duration|Uint|Uint64|Float64)(?:Var)?P?\([^"]{0,60}"([\w.-]{4,})",.*"([^"]{20,})"\)`),
	regexp.MustCompile(`^\s*\w+\s+[\w.*\[\]]+\s+` + "`" + `(?:json|yaml|toml|mapstructure|flag|cfg|opt):"([\w.-]{4,})[",].*//\s*(.{20,})$`), // tags
	regexp.MustCompile(`^\s*\*\s+@(?:param|property)\s+\{[^}]*\}\s+\[?(?:options?|opts|config|settings)\.(\w{4,})[^\]]*\]?\s+(?:-\s+)?(.{20,})$`),
}

var variable = regexp.MustCompile(`(?:Getenv|LookupEnv|environ\.get|environ\[|getenv|env::var|var_os|process\.env[.\[])\(?['"]?([A-Z][A-Z0-9_]{3,})`)

// configured asks for an option or a variable.
func (m *maker) configured(p string) {
	lines := m.lines[p]
	if m.full("config") || len(lines) == 0 {
		return
	}
	start := m.r.rng.IntN(len(lines))
	for k := range lines {
		i := (start + k) % len(lines)
		name, use := "", ""
		for _, re := range options {
			if f := re.FindStringSubmatch(lines[i]); f != nil {
				name, use = f[1], f[2]
				break
			}
		}
		if f := variable.FindStringSubmatch(lines[i]); name == "" && f != nil {
			name = f[1]
		}
		if name == "" {
			continue
		}
		form := m.r.rng.IntN(6)
		text := ""
		var truth []place
		if use != "" && form < 3 {
			use, _, _ = strings.Cut(markup.ReplaceAllString(use, "$1$2"), ". ")
			var out []string
			for _, w := range plainWords(use) {
				if l := strings.ToLower(w); !strings.EqualFold(w, name) && !(len(w) < 3 || small[l]) {
					out = append(out, l)
				}
			}
			if telling(out) < 3 || len(out) > 12 {
				continue
			}
			text = []string{"option to set ", "which setting controls ", "config flag for "}[form] + strings.Join(out, " ")
			truth = []place{{p, i + 1, i + 1}}
		} else {
			text = []string{"what does the %s option do", "default of the %s setting", "%s option", "where is the flag %s defined", "config %s", "how is the %s setting used"}[form]
			text = fmt.Sprintf(text, name)
			if variable.MatchString(lines[i]) {
				text = []string{"environment variable %s", "what does %s do", "where is %s read", "how is the variable %s used", "%s env", "default of %s"}[form]
				text = fmt.Sprintf(text, name)
			}
			truth = m.mentions(name)
			if len(truth) == 0 || len(truth) > 12 {
				continue
			}
		}
		before := len(m.out)
		m.add("config", text, truth...)
		if len(m.out) > before {
			return
		}
	}
}

// mentions returns the lines where an option is defined or documented: its name in quotes or marks, or as a flag, a key or a variable.
func (m *maker) mentions(name string) (all []place) {
	re := regexp.MustCompile("[\"'`\\[.]" + regexp.QuoteMeta(name) + "[\"'`,:=\\]]|--" + regexp.QuoteMeta(name) + `\b|^\s*` + regexp.QuoteMeta(name) + `\s*[:=]`)
	for _, q := range m.c.paths {
		if !bytes.Contains(m.c.files[q], []byte(name)) || !askable(q, m.c.files[q]) {
			continue
		}
		for j, l := range m.lines[q] {
			if strings.Contains(l, name) && re.MatchString(l) {
				all = append(all, place{q, j + 1, j + 1})
			}
		}
	}
	return all
}

func TestProse(t *testing.T) {
	src := "package a\n\n// parseHeader parses the version line of a stored page header.\nfunc parseHeader(b []byte) error {\n\tx := 1\n\t// Older clients leave trailing zero bytes behind the checksum field\n\tuse(x)\n" +
		"\tif x > 2 {\n\t\treturn fmt.Errorf(\"page %d has too many columns\", x)\n\t}\n\tn := os.Getenv(\"PAGE_SIZE_LIMIT\")\n\treturn nil\n}\n"
	c := &corpus{name: "one", files: map[string][]byte{"a.go": []byte(src)}, paths: []string{"a.go"}}
	got := map[string]question{}
	for _, q := range prose(c, "") {
		got[strings.TrimPrefix(q.set, "P ")] = q
	}
	for _, set := range []string{"concept", "error", "config"} {
		if len(got[set].truth) == 0 {
			t.Errorf("there is no question of %s among %v", set, got)
		}
	}
	if w, ok := got["where"]; !ok || w.truth[0] != (place{"a.go", 4, 13}) || !strings.Contains(w.text, "version line of a stored page header") {
		t.Errorf("the function is asked for by %+v", w)
	}
	if e := got["error"]; len(e.truth) == 0 || e.truth[0].first != 9 || strings.Contains(e.text, "%") {
		t.Errorf("the error is asked for by %+v", e)
	}
	left := string(c.files["a.go"])
	if strings.Contains(left, "version line") || strings.Contains(left, "Older") || strings.Count(left, "\n") != strings.Count(src, "\n") {
		t.Errorf("what is searched is\n%s", left)
	}
}
