package skillify

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// loading is how code takes the package in.
func (m *maker) loading(tasks []task) string {
	name := strings.Join(strings.Fields(m.clean(m.p.Name)), "")
	switch m.p.Ecosystem {
	case "r":
		return fmt.Sprintf("```r\nlibrary(%s)  # else install.packages(\"%s\")\n```\n\n", name, name)
	case "go":
		return m.goImport(name, tasks)
	case "npm":
		clause := m.npmImport()
		if clause == "" {
			return fmt.Sprintf("```sh\nnpm install %s\n```\n\n", name)
		}
		module := name
		if m.p.Module != "" {
			module = m.clean(m.p.Module)
			name = module + " " + name
		}
		return fmt.Sprintf("```ts\nimport %s from \"%s\" // else npm install %s\n```\n\n", m.line(m.clean(clause)), module, name)
	case "pypi":
		return fmt.Sprintf("```python\nimport %s  # else pip install %s\n```\n\n", strings.ReplaceAll(name, "-", "_"), name)
	}
	return ""
}

// goImport imports the package at the module's root, else the one that is used most; a module of commands alone is installed.
func (m *maker) goImport(name string, tasks []task) string {
	at := ""
	if v := m.line(strings.TrimPrefix(m.p.Version, "v")); v != pkgdoc.Devel {
		at = "@v" + v
	}
	isCommand := func(s pkgdoc.Symbol) bool { return s.Kind == pkgdoc.Command }
	library := func(p *pkgdoc.Page) bool { return !slices.ContainsFunc(p.Symbols, isCommand) }
	var page *pkgdoc.Page
	for i := range m.p.Pages {
		if p := &m.p.Pages[i]; p.File == "." && library(p) {
			page = p
		}
	}
	for i := 0; page == nil && i < len(tasks); i++ {
		if library(tasks[i].page) {
			page = tasks[i].page
		}
	}
	for i := 0; page == nil && i < len(m.p.Pages); i++ {
		if library(&m.p.Pages[i]) {
			page = &m.p.Pages[i]
		}
	}
	if page == nil && len(m.p.Pages) > 0 {
		return fmt.Sprintf("```sh\n%s\n```\n\n", m.line(m.clean(m.p.Pages[0].Symbols[0].Signature)))
	}
	if page != nil && page.File != "" {
		return fmt.Sprintf("```go\nimport \"%s\" // else go get %s%s\n```\n\n", m.line(m.clean(path.Join(name, page.File))), name, at)
	}
	return fmt.Sprintf("```go\nimport \"%s\" // else go get %s%s\n```\n\n", name, name, at)
}

// standard is the name of a module's default export.
const standard = "default"

// npmImport is what stands between import and from: as the README writes it, else the value that is named most. It is "" if nothing is known
// to be a value: a type that is imported as one is an error where code runs.
func (m *maker) npmImport() string {
	at := slices.IndexFunc(m.p.Pages, func(p pkgdoc.Page) bool { return p.ID == m.p.Imported() })
	if at < 0 {
		return ""
	}
	values := map[string]bool{}
	best, score := "", -1
	for _, s := range m.p.Pages[at].Symbols {
		if !value(s) || strings.Contains(s.Name, ".") {
			continue
		}
		values[s.Name] = true
		n := 2 * m.mentions[s.ID]
		if s.Kind == pkgdoc.Function || s.Kind == pkgdoc.Class {
			n++ // of two that are named as often
		}
		if s.Deprecated == "" && n > score && jsName().MatchString(s.Name) && (s.Name == standard || !reserved(s.Name)) {
			best, score = s.Name, n
		}
	}
	for _, c := range m.clauses() {
		switch {
		case c.all != "" && len(values) > 0:
			return "* as " + c.all
		case c.standard != "" && values[standard]:
			return c.standard
		case c.standard != "" && values[c.standard]:
			return "{ " + c.standard + " }"
		case values[c.name] && !reserved(c.name):
			return "{ " + c.name + " }"
		}
	}
	switch {
	case best == standard:
		return m.local(m.p.Imported())
	case best != "":
		return "{ " + best + " }"
	}
	return ""
}

// value reports whether a symbol of npm is there when code runs, as far as its declaration says so.
func value(s pkgdoc.Symbol) bool {
	switch s.Kind {
	case pkgdoc.Function, pkgdoc.Class, pkgdoc.Constant, pkgdoc.Variable:
		return true
	}
	return false
}

// A clause is an import of the package that its guides write.
type clause struct{ standard, name, all string }

var jsName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL_$][\pL\pN_$]*$`) })

// clauses are the imports that the guides write, in their order.
func (m *maker) clauses() []clause {
	if m.imports != nil || m.p.Ecosystem != "npm" {
		return m.imports
	}
	m.imports = []clause{}
	for i := range m.p.Guides {
		text, name := m.p.Guides[i].Text, m.p.Imported()
		for at := 0; len(m.imports) < maxClauses; {
			n := strings.Index(text[at:], name)
			if n < 0 {
				break
			}
			at += n + len(name)
			if c := clauseBefore(text[max(0, at-len(name)-maxClause):at-len(name)], text[at:min(at+1, len(text))]); c != (clause{}) {
				m.imports = append(m.imports, c)
			}
		}
	}
	return m.imports
}

const (
	maxClauses = 100
	maxClause  = 300 // bytes from an import to the name of the package
)

// clauseBefore is the import whose text ends before the name of the package, which has a quote on both sides.
func clauseBefore(text, quote string) clause {
	text, ok := strings.CutSuffix(text, quote)
	if !ok || quote != `"` && quote != "'" {
		return clause{}
	}
	text = strings.TrimRight(text, " ")
	words := []string{"import "}
	if rest, ok := strings.CutSuffix(text, "from"); ok {
		text = rest
	} else if rest, ok := strings.CutSuffix(text, "require("); ok {
		if text, ok = strings.CutSuffix(strings.TrimRight(rest, " "), "="); !ok {
			return clause{}
		}
		words = append(words, "const ", "let ", "var ")
	} else {
		return clause{}
	}
	at := -1
	for _, word := range words {
		if n := strings.LastIndex(text, word); n >= 0 {
			at = max(at, n+len(word))
		}
	}
	if at < 0 || strings.ContainsAny(text[at:], "\"'`=;()") {
		return clause{}
	}
	return clauseOf(strings.TrimSpace(text[at:]))
}

// clauseOf reads a, {b}, {b as c}, a with {b}, * as d. An import of types is none.
func clauseOf(text string) (c clause) {
	if first, rest, _ := strings.Cut(text, " "); first == "type" && rest != "" {
		return c
	}
	if rest, ok := strings.CutPrefix(text, "*"); ok {
		if words := strings.Fields(rest); len(words) == 2 && words[0] == "as" && jsName().MatchString(words[1]) {
			c.all = words[1]
		}
		return c
	}
	first, list, ok := strings.Cut(text, "{")
	if first = strings.Trim(first, ", \t\r\n"); first != "" {
		if jsName().MatchString(first) && !reserved(first) {
			c.standard = first
		}
		return c
	}
	if ok {
		for _, one := range strings.Split(strings.TrimSuffix(list, "}"), ",") {
			if words := strings.FieldsFunc(one, func(r rune) bool { return unicode.IsSpace(r) || r == ':' }); len(words) > 0 && words[0] != "type" {
				if words[0] == standard && len(words) > 1 {
					return clause{standard: words[len(words)-1]}
				}
				return clause{name: words[0]}
			}
		}
	}
	return c
}

// local is the name that code gives the default export of a module: the one that the guides give it, else the module's own.
func (m *maker) local(module string) string {
	if module == m.p.Imported() {
		for _, c := range m.clauses() {
			if c.standard != "" {
				return c.standard
			}
		}
	}
	if name := m.ownName(module); name != "" {
		return name
	}
	var w strings.Builder
	upper := false
	for _, c := range path.Base(module) {
		switch {
		case c == '_' || c == '$' || unicode.IsLetter(c) || unicode.IsDigit(c) && w.Len() > 0:
			if upper {
				c = unicode.ToUpper(c)
			}
			w.WriteRune(c)
			upper = false
		default:
			upper = w.Len() > 0
		}
	}
	name := w.String()
	if name == "" || reserved(name) {
		return "_" + name
	}
	return name
}

// reserved reports whether a word is no name of JavaScript.
func reserved(word string) bool {
	return slices.Contains(strings.Fields("arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally "+
		"for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try "+
		"typeof var void while with yield"), word)
}

// shown is the name of a symbol of a page as code writes it.
func (m *maker) shown(page string, s pkgdoc.Symbol) string {
	if rest, ok := strings.CutPrefix(s.Name, standard); ok && m.p.Ecosystem == "npm" && (rest == "" || rest[0] == '.') {
		return m.local(page) + rest
	}
	if owner, rest, ok := strings.Cut(s.Name, "."); ok && m.p.Ecosystem == "npm" {
		if of := m.instance(page, owner); of != "" {
			return of + "." + rest
		}
	}
	return s.Name
}

// constant is a signature of a value of a named type, and the name that the package itself gives it.
var constant = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:declare )?(?:const|let|var) ([\pL_$][\pL\pN_$]*): (?:[\pL_$][\pL\pN_$]*\.)*([\pL_$][\pL\pN_$]*);?$`)
})

// ownName is the name that a package gives the value which a module exports by default, "" if it gives none that says anything.
func (m *maker) ownName(module string) string {
	if m.own == nil {
		m.values()
	}
	return m.own[module]
}

// instance is the value of an interface whose methods code calls on it, as lodash's _ is of LoDashStatic; "" if there is none, or more than one.
func (m *maker) instance(page, owner string) string {
	if m.own == nil {
		m.values()
	}
	switch of := m.of[page+"#"+owner]; of {
	case standard:
		return m.local(page)
	default:
		return of
	}
}

// values fills own and of.
func (m *maker) values() {
	m.own, m.of = map[string]string{}, map[string]string{}
	for i := range m.p.Pages {
		p := &m.p.Pages[i]
		interfaces := map[string]bool{}
		for _, s := range p.Symbols {
			interfaces[s.Name] = s.Kind == pkgdoc.Interface
		}
		several := map[string]bool{}
		for _, s := range p.Symbols {
			match := constant().FindStringSubmatch(s.Signature)
			if match == nil || s.Kind != pkgdoc.Constant && s.Kind != pkgdoc.Variable {
				continue
			}
			if s.Name == standard && !reserved(match[1]) && !strings.HasPrefix(match[1], "_default") {
				m.own[p.ID] = match[1]
			}
			key := p.ID + "#" + match[2]
			switch {
			case !interfaces[match[2]] || several[key]:
			case m.of[key] != "":
				several[key] = true
				delete(m.of, key)
			default:
				m.of[key] = s.Name
			}
		}
	}
}
