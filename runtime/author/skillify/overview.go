package skillify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/skill"
)

var tags = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[^<>]*>`) })

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL_.][\pL\pN_.]*`) })

// count counts how often guides and examples name each word.
func (m *maker) count() {
	words := map[string]int{}
	read := func(text string, weight int) {
		for _, w := range identifier().FindAllString(text, -1) {
			words[strings.Trim(w, ".")] += weight
		}
	}
	for i := range m.p.Guides {
		read(m.p.Guides[i].Text, 3)
	}
	for i := range m.p.Pages {
		for _, e := range m.p.Pages[i].Examples {
			read(e, 1)
		}
	}
	m.mentions = map[string]int{}
	for i := range m.p.Pages {
		for _, s := range m.p.Pages[i].Symbols {
			if s.Kind == pkgdoc.Command { // every text names the package
				continue
			}
			name := m.shown(m.p.Pages[i].ID, s)
			m.mentions[s.ID] = words[name]
			last := name[strings.LastIndexByte(name, '.')+1:]
			switch {
			case m.p.Ecosystem == "r" || last == name:
			case s.Kind == pkgdoc.Method: // a text has words such as has and from for other reasons, too
				m.mentions[s.ID] += words[last] / 4
			default:
				m.mentions[s.ID] += words[last]
			}
		}
	}
}

// A task is a row of the table.
type task struct {
	title string
	page  *pkgdoc.Page
	use   []pkgdoc.Symbol // most mentioned first
	score int
}

// noun reports whether the title names a thing, and not what is done.
func (t *task) noun() bool {
	first, _, _ := strings.Cut(t.title, " ")
	return slices.Contains([]string{"A", "An", "The", "Is", "It", "All", "Any", "One", "This"}, first)
}

// crowded is how many symbols a page has that is about more than one task.
const crowded = 3

// tasks are the pages that code needs, most mentioned first.
func (m *maker) tasks() (out []task) {
	for i := range m.p.Pages {
		p := &m.p.Pages[i]
		told := func(s pkgdoc.Symbol) bool { return s.Signature != "" || s.Text != "" } // else another page does
		if p.Internal || p.Deprecated != "" || p.Undocumented() || m.p.Ecosystem == "npm" && !slices.ContainsFunc(p.Symbols, told) {
			continue
		}
		t := task{page: p}
		for _, s := range p.Symbols {
			if s.Deprecated == "" && s.Kind != pkgdoc.Data && (s.Kind != pkgdoc.Method || m.p.Ecosystem != "r" && s.Text != "") {
				t.use = append(t.use, s)
				t.score = max(t.score, m.mentions[s.ID])
			}
		}
		if len(t.use) == 0 {
			continue
		}
		if len(t.use) >= crowded && m.p.Ecosystem != "r" { // R describes them together
			out = append(out, m.perSymbol(p, t.use)...)
			continue
		}
		t.title = cmp.Or(p.Title, firstSentence(p.Text), p.ID)
		slices.SortStableFunc(t.use, func(a, b pkgdoc.Symbol) int { return cmp.Compare(m.mentions[b.ID], m.mentions[a.ID]) })
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b task) int { return cmp.Compare(b.score, a.score) })
	return out
}

// perSymbol are the tasks of a page whose symbols are described one by one, as each says it.
func (m *maker) perSymbol(p *pkgdoc.Page, symbols []pkgdoc.Symbol) (out []task) {
	for _, s := range symbols {
		what := firstSentence(s.Text)
		if s.Name == standard && p.ID == m.p.Imported() && value(s) {
			out = append(out, task{cmp.Or(what, p.Title), p, []pkgdoc.Symbol{s}, m.mentions[s.ID]})
			continue
		}
		if what == "" || s.Kind == pkgdoc.Constant || s.Kind == pkgdoc.Variable {
			continue
		}
		name := s.Name[strings.LastIndexByte(s.Name, '.')+1:]
		for _, start := range []string{name + " is ", "A " + name + " is ", "An " + name + " is ", name + " "} { // its row says whom the sentence is about
			rest, ok := strings.CutPrefix(what, start)
			verb, _, _ := strings.Cut(rest, " ")
			if ok && (start != name+" " || strings.HasSuffix(verb, "s")) { // "push adds it", and not "push it"
				what = rest
				break
			}
		}
		out = append(out, task{upperFirst(what), p, []pkgdoc.Symbol{s}, m.mentions[s.ID]})
	}
	return out
}

func upperFirst(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

// called is a symbol as code names it.
func (m *maker) called(page string, s pkgdoc.Symbol) string {
	name := m.clean(m.shown(page, s))
	if s.Kind == pkgdoc.Function && m.p.Ecosystem != "npm" && identifier().FindString(name) == name {
		name += "()"
	}
	return m.line(pkgdoc.Code(name))
}

// overview writes SKILL.md. Its parts are filled in the order of their use, until the budget is reached.
func (m *maker) overview() {
	m.count()
	tasks := m.tasks()
	var w strings.Builder
	w.WriteString(m.frontmatter(tasks))
	fmt.Fprintf(&w, "\n# %s %s\n\n", m.line(pkgdoc.Code(m.clean(m.p.Name))), m.line(m.p.Version))
	if text := cmp.Or(m.p.Text, m.p.Title); text != "" {
		fmt.Fprintf(&w, "%s\n\n", short(m.line(text), 600))
	}
	w.WriteString(m.loading(tasks))
	w.WriteString(m.summary())
	w.WriteString(m.table(tasks, overviewTokens*4-w.Len()-1200))
	w.WriteString(m.pitfalls())
	w.WriteString(m.references())
	m.contents()
	m.add(skill.FileName, m.portable(w.String()))
}

// portable moves the keys of corteza.skill/v1 to metadata, unless they are wanted at top level.
func (m *maker) portable(text string) string {
	if m.o.TopLevel {
		return text
	}
	if out, err := skill.ToPortable([]byte(text)); err == nil {
		return string(out)
	}
	return text
}

// quoted is a string of YAML.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

func (m *maker) frontmatter(tasks []task) string {
	var w strings.Builder
	fmt.Fprintf(&w, "---\nname: %s\ndescription: %s\n", m.name, quoted(m.description(tasks)))
	if license := m.line(m.p.License); license != "" {
		fmt.Fprintf(&w, "license: %s\n", quoted(short(license, 100)))
	}
	fmt.Fprintf(&w, "metadata:\n  version: %s\nskill_format: %s\n", quoted(m.line(m.p.Version)), skill.FormatV1)
	fmt.Fprintf(&w, "library_depends:\n  - name: %s\n    version: %s\n    ecosystem: %s\n", quoted(m.p.Name), quoted(m.p.Version), m.p.Ecosystem)
	w.WriteString("generated_from:\n")
	values := m.from.Map()
	for _, key := range skill.OriginKeys() {
		if v := values[key]; v != "" {
			fmt.Fprintf(&w, "  %s: %s\n", key, quoted(v))
		}
	}
	w.WriteString("---\n")
	return w.String()
}

// description says what the package is for and by which names code uses it, in at most 300 characters.
func (m *maker) description(tasks []task) string {
	title := m.clean(m.p.Name) // which names no file
	if text := cmp.Or(m.p.Title, firstSentence(m.p.Text)); text != "" && text != m.p.Name {
		title = m.line(plain(text))
	}
	if words := strings.SplitN(title, " ", 3); len(words) == 3 && words[0] == "Package" && m.p.Ecosystem == "go" { // as every comment of a Go package begins
		title = upperFirst(words[2])
	}
	title = short(strings.TrimSuffix(title, "."), 110)
	out := fmt.Sprintf("%s. Use when %s code uses the package %s", title, map[string]string{"r": "R", "go": "Go", "npm": "JavaScript or TypeScript", "pypi": "Python"}[m.p.Ecosystem], m.clean(m.p.Imported()))
	sep := ": "
	var seen []string
	for _, t := range tasks {
		for _, s := range t.use[:1] {
			name := m.line(m.clean(m.shown(t.page.ID, s)))
			if slices.Contains(seen, name) || len(out)+len(sep)+len(name)+1 > maxDescription-100 || len(seen) == 8 {
				continue
			}
			seen = append(seen, name)
			out, sep = out+sep+name, ", "
		}
	}
	sep = map[bool]string{true: "; to ", false: "; for example: "}[m.p.Ecosystem == "r"]
	n := 0
	for _, t := range tasks {
		what := strings.TrimSuffix(m.line(plain(t.title)), ".")
		kind := t.use[0].Kind
		if what == "" || n == 4 || t.noun() || m.p.Ecosystem != "r" && kind != pkgdoc.Function && kind != pkgdoc.Method || len(out)+len(sep)+len(what)+1 > maxDescription {
			continue
		}
		out, sep = out+sep+lowerFirst(what), ", "
		n++
	}
	return out + "."
}

// plain is a line of Markdown without its marks.
func plain(s string) string {
	return strings.NewReplacer("`", "", `\`, "", "**", "").Replace(s)
}

// lowerFirst is a title in the middle of a sentence: its first letter is small unless the word has other capitals.
func lowerFirst(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if len(word) > 1 && strings.ToLower(word[1:]) == word[1:] && word[0] >= 'A' && word[0] <= 'Z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// table is which symbols do which task, with at most room bytes.
func (m *maker) table(tasks []task, room int) string {
	var w strings.Builder
	rows := 0
	for _, t := range tasks {
		var names []string
		for _, s := range t.use[:min(len(t.use), 3)] {
			names = append(names, m.called(t.page.ID, s))
		}
		title := strings.TrimSuffix(m.cell(t.title), ".")
		row := fmt.Sprintf("| %s | %s | [%s](%s) |\n", short(title, 90), strings.ReplaceAll(strings.Join(names, " "), "|", `\|`), m.cell(pkgdoc.Code(t.page.ID)), m.at(t.page.ID, t.use[0].ID))
		if rows == maxTasks || w.Len()+len(row) > room {
			break
		}
		w.WriteString(row)
		rows++
	}
	if rows == 0 {
		return ""
	}
	return "## Which function does what\n\n| Task | Use | Read |\n|---|---|---|\n" + w.String() + "\n"
}

// escaped is a name in the text of a link.
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`).Replace(s)
}

// pitfalls are the symbols that are not for new code.
func (m *maker) pitfalls() string {
	byWhy := map[string][]string{}
	var order []string
	for i := range m.p.Pages {
		p := &m.p.Pages[i]
		for _, s := range p.Symbols {
			why := cmp.Or(p.Deprecated, map[bool]string{true: "deprecated"}[s.Deprecated != ""])
			if why == "" || s.Kind == pkgdoc.Data {
				continue
			}
			if byWhy[why] == nil {
				order = append(order, why)
			}
			byWhy[why] = append(byWhy[why], m.called(p.ID, s))
		}
	}
	if len(order) == 0 {
		return ""
	}
	var w strings.Builder
	w.WriteString("## Not for new code\n\n")
	for _, why := range order {
		names := byWhy[why]
		more := ""
		if n := len(names) - 12; n > 0 {
			names, more = names[:12], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(&w, "- %s: %s%s\n", why, strings.Join(names, ", "), more)
	}
	return w.String() + "\n"
}

// references says when to read which.
func (m *maker) references() string {
	var w strings.Builder
	w.WriteString("## References\n\nRead one of these when its subject comes up, not all of them:\n\n")
	for i := range m.p.Guides {
		g := &m.p.Guides[i]
		if i == 15 {
			fmt.Fprintf(&w, "- and %d more in references/guides\n", len(m.p.Guides)-i)
			break
		}
		var heads []string
		for _, h := range g.Headings {
			text := strings.Join(strings.Fields(tags().ReplaceAllString(h.Text, " ")), " ")
			if h.Level <= 2 && len(heads) < 5 && text != "" && !strings.EqualFold(text, g.Title) {
				heads = append(heads, m.line(text))
			}
		}
		line := fmt.Sprintf("- [%s](%s)", m.line(escaped(g.Title)), m.guideAt[g.ID])
		if len(heads) > 0 {
			line += ": " + short(strings.Join(heads, "; "), 120)
		}
		w.WriteString(line + "\n")
	}
	all := fmt.Sprintf("All %d pages and their symbols", len(m.p.Pages))
	if len(m.p.Pages) == 1 {
		all = "The page and its symbols"
	}
	where := "each page is a file of references/api"
	if len(m.p.Pages) > maxPages {
		where = "it says which file of references/api has each page"
	}
	fmt.Fprintf(&w, "- [%s](references/contents.md): to find what the table does not name; %s\n", all, where)
	return w.String() + m.gaps(maxGaps)
}

// maxGaps are the sentences of SKILL.md on what is not described.
const maxGaps = 5

// gaps says what of the package is not described, in at most n sentences.
func (m *maker) gaps(n int) string {
	var w strings.Builder
	for i, gap := range m.p.Gaps() {
		if i == n {
			w.WriteString("\nMore is not described: see references/contents.md.")
			break
		}
		w.WriteString("\n" + short(m.line(gap), 200))
	}
	if w.Len() > 0 {
		w.WriteByte('\n')
	}
	return w.String()
}

// contents lists every page with its symbols.
func (m *maker) contents() {
	var w strings.Builder
	fmt.Fprintf(&w, "# %s: all pages\n\n", m.clean(m.p.Name))
	for i := range m.p.Pages {
		p := &m.p.Pages[i]
		line := fmt.Sprintf("- %s (%s): %s", pkgdoc.Code(m.clean(p.ID)), below(m.pageAt[p.ID]), m.prose(p.Title))
		if names := m.others(p); len(names) > 0 {
			line += ". Also: " + strings.Join(names, ", ")
		}
		if p.Deprecated != "" {
			line += " (" + p.Deprecated + ")"
		}
		w.WriteString(line + "\n")
	}
	w.WriteString(m.gaps(len(m.p.Notes)))
	m.reference("references/contents.md", w.String())
}

// below is the path of a reference without the folder of all.
func below(file string) string { return strings.TrimPrefix(file, "references/") }

// others are the symbols of a page that are not called as the page is, with the file of those in another part of it.
func (m *maker) others(p *pkgdoc.Page) (names []string) {
	file := m.pageAt[p.ID]
	for i, s := range p.Symbols {
		if s.Name == p.ID {
			continue
		}
		if len(names) == maxNamed {
			return append(names, fmt.Sprintf("and %d more", len(p.Symbols)-i))
		}
		name := pkgdoc.Code(m.clean(m.shown(p.ID, s)))
		if at := m.at(p.ID, s.ID); at != file {
			file, name = at, "in "+below(at)+" "+name
		}
		names = append(names, name)
	}
	return names
}

// maxNamed are the symbols of a page that the list of all pages names.
const maxNamed = 40
