package rpkg

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/pkgdoc/rd"
)

// An export is a name that is public, the alias under which help describes it, and its kind if NAMESPACE says it.
type export struct {
	name, alias string
	kind        pkgdoc.Kind
}

// A binder gives each export the page that describes it: the first one, by file, with its alias.
type binder struct {
	exports []export
	s3      [][2]string
	taken   map[string]bool // by alias
	ids     map[string]bool // of pages

	// generics are those of S4 whose methods a page shows: the first one, as far as no page describes the generic itself.
	generics map[string]shownOn
}

// A shownOn is the page on which a method of a generic is shown, and how.
type shownOn struct {
	page string
	usage
}

// of are the exports under an alias that no page has yet.
func (b *binder) of(alias string) (out []export) {
	if b.taken[alias] {
		return nil
	}
	at, _ := slices.BinarySearchFunc(b.exports, alias, func(e export, a string) int { return strings.Compare(e.alias, a) })
	for ; at < len(b.exports) && b.exports[at].alias == alias; at++ {
		out = append(out, b.exports[at])
	}
	if at, ok := b.method(alias); ok {
		out = append(out, export{b.s3[at][0] + "." + b.s3[at][1], alias, pkgdoc.Method})
	}
	b.taken[alias] = true
	return out
}

// method finds the S3 method that is called name.
func (b *binder) method(name string) (int, bool) {
	for dot := strings.IndexByte(name, '.'); dot > 0; {
		at, ok := slices.BinarySearchFunc(b.s3, [2]string{name[:dot], name[dot+1:]}, func(a, c [2]string) int { return slices.Compare(a[:], c[:]) })
		if ok {
			return at, true
		}
		next := strings.IndexByte(name[dot+1:], '.')
		if next < 0 {
			break
		}
		dot += 1 + next
	}
	return 0, false
}

// rest are the exports that no page has. Methods of S3 that nothing describes are found by their generic: they are none. A function is as the
// sources say, if they are here.
func (b *binder) rest(functions map[string]usage) (out []pkgdoc.Symbol) {
	for _, e := range b.exports {
		if b.taken[e.alias] {
			continue
		}
		s := pkgdoc.Symbol{ID: e.alias, Name: e.name, Kind: cmp.Or(e.kind, pkgdoc.Variable)}
		if f, ok := functions[e.alias]; ok && (e.kind == "" || e.kind == pkgdoc.Function) {
			s.Kind, s.Signature, s.Params = pkgdoc.Function, f.text, f.params
		}
		out = append(out, s)
	}
	return out
}

// A draft is a page while its sections are read.
type draft struct {
	pkgdoc.Page
	aliases  []string
	keywords []string
	kinds    []string // \docType
	usage    []rd.Node
	r        *rd.Renderer
}

// page makes the page of a topic; ok is false for one without a name.
func (r *reader) page(t topic, b *binder) (pkgdoc.Page, bool) {
	d := draft{r: &rd.Renderer{}}
	d.File = t.file
	for i := range t.nodes {
		d.section(&t.nodes[i])
	}
	r.computed += d.r.Computed
	slices.SortStableFunc(d.Sections, func(a, b pkgdoc.Section) int { return cmp.Compare(rank(a.Title), rank(b.Title)) })
	if d.ID == "" {
		return pkgdoc.Page{}, false
	}
	for n, id := 2, d.ID; b.ids[d.ID] || d.ID == pkgdoc.UndocumentedID; n++ {
		d.ID = fmt.Sprintf("%s-%d", id, n)
	}
	b.ids[d.ID] = true
	d.Internal = slices.Contains(d.keywords, "internal")
	d.symbols(b)
	d.Deprecated = deprecated(&d.Page)
	if d.Symbols == nil {
		d.Symbols = []pkgdoc.Symbol{}
	}
	return d.Page, true
}

// rank orders sections as R shows them, whatever their order in the file.
func rank(title string) int {
	at := slices.Index([]string{"Format", "Details", "", "Note", "Source", "References", "See also"}, title)
	if at < 0 {
		return 2
	}
	return at
}

// section reads one section of a topic.
func (d *draft) section(n *rd.Node) {
	text := func() string { return d.r.Markdown(n.Children) }
	add := func(title string) {
		if t := text(); t != "" {
			d.Sections = append(d.Sections, pkgdoc.Section{Title: title, Text: t})
		}
	}
	switch n.Tag {
	case `\name`:
		d.ID = strings.TrimSpace(rd.Plain(n.Children))
	case `\alias`:
		d.aliases = append(d.aliases, strings.TrimSpace(rd.Plain(n.Children)))
	case `\keyword`:
		d.keywords = append(d.keywords, strings.TrimSpace(rd.Plain(n.Children)))
	case `\docType`:
		d.kinds = append(d.kinds, strings.TrimSpace(rd.Plain(n.Children)))
	case `\title`:
		d.Title = d.r.Line(n.Children)
	case `\description`:
		d.Text = text()
	case `\usage`:
		d.usage = append(d.usage, n.Children...)
	case `\arguments`:
		d.arguments(n.Children)
	case `\value`:
		d.Returns = text()
	case `\details`:
		add("Details")
	case `\format`:
		add("Format")
	case `\source`:
		add("Source")
	case `\note`:
		add("Note")
	case `\references`:
		add("References")
	case `\seealso`:
		d.see(n.Children)
		add("See also")
	case `\examples`:
		if code := Examples(n.Children); code != "" {
			d.Examples = append(d.Examples, code)
		}
	case `\section`:
		if len(n.Children) == 2 {
			if t := d.r.Markdown(n.Children[1].Children); t != "" {
				d.Sections = append(d.Sections, pkgdoc.Section{Title: d.r.Line(n.Children[0].Children), Text: t})
			}
		}
	case `\if`, `\ifelse`: // around sections
		for i := range n.Children {
			if i == 1 {
				for j := range n.Children[i].Children {
					d.section(&n.Children[i].Children[j])
				}
			}
		}
	}
}

// arguments reads what a topic says of parameters. Text outside its items is a section.
func (d *draft) arguments(nodes []rd.Node) {
	for i := range nodes {
		n := &nodes[i]
		if n.Tag != `\item` || len(n.Children) == 0 {
			continue
		}
		p := pkgdoc.Param{Name: words(rd.Plain(n.Children[0].Children))}
		if len(n.Children) > 1 {
			p.Text = d.r.Markdown(n.Children[1].Children)
		}
		d.Params = append(d.Params, p)
	}
}

// see adds the topics of the same package that links lead to.
func (d *draft) see(nodes []rd.Node) {
	for i := range nodes {
		n := &nodes[i]
		if n.Tag == `\link` {
			to := rd.Plain(n.Children)
			if option := rd.Plain(n.Option); strings.HasPrefix(option, "=") {
				to = option[1:]
			} else if option != "" {
				continue // another package's
			}
			if to = strings.TrimSpace(to); to != "" && !slices.Contains(d.See, to) {
				d.See = append(d.See, to)
			}
		}
		d.see(n.Children)
	}
}

// Examples is the code of examples: what is run, shown or only tested alike.
func Examples(nodes []rd.Node) string {
	var lines []string
	for line := range strings.Lines(code(nodes)) {
		lines = append(lines, strings.TrimRight(line, " \t\n"))
	}
	return strings.Trim(blankLines().ReplaceAllString(strings.Join(lines, "\n"), "\n\n"), "\n")
}

var blankLines = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\n{3,}`) })

// notRun marks code as R does: a line is a comment, more of them stand between two.
func notRun(code string) string {
	switch {
	case strings.TrimSpace(code) == "":
		return ""
	case !strings.Contains(code, "\n"):
		return "## Not run: " + code
	}
	return "## Not run:\n" + strings.Trim(code, "\n") + "\n## End(Not run)"
}

// code is the R code of nodes. What only tests see is left out.
func code(nodes []rd.Node) string {
	var w strings.Builder
	for i := range nodes {
		switch n := &nodes[i]; n.Tag {
		case `\dontshow`, `\testonly`:
		case `\dontrun`:
			w.WriteString(notRun(code(n.Children)))
		case `\donttest`, `\dontdiff`:
			w.WriteString(code(n.Children))
		default:
			w.WriteString(rd.Plain(nodes[i : i+1]))
		}
	}
	return w.String()
}

// symbols are the exports under the page's aliases, with the signatures that its usage shows.
func (d *draft) symbols(b *binder) {
	shown := usages(d.usage)
	data := slices.Contains(d.kinds, "data") || slices.Contains(d.keywords, "datasets")
	for _, alias := range d.aliases {
		found := b.of(alias)
		if len(found) == 0 && data && !b.taken["data:"+alias] {
			b.taken["data:"+alias] = true
			found = []export{{alias, alias, pkgdoc.Data}}
		}
		for _, e := range found {
			d.Symbols = append(d.Symbols, d.symbol(e, shown))
		}
	}
	for _, u := range shown { // methods that a usage shows and no alias names
		if u.s4 != nil {
			d.methodS4(b, u)
		}
		if u.s3 == nil {
			continue
		}
		name := u.s3[0] + "." + u.s3[1]
		if _, ok := b.method(name); ok && !b.taken[name] {
			b.taken[name] = true
			d.Symbols = append(d.Symbols, d.symbol(export{name, name, pkgdoc.Method}, shown))
		}
	}
}

// methodS4 adds a method of S4, under the name that help has for it.
func (d *draft) methodS4(b *binder, u usage) {
	name := u.s4[0] + "," + u.s4[1] + "-method"
	if b.taken["S4:"+name] { // the alias itself is taken where a page has it
		return
	}
	b.taken["S4:"+name] = true
	if _, ok := b.generics[u.s4[0]]; !ok {
		b.generics[u.s4[0]] = shownOn{d.ID, u}
	}
	d.Symbols = append(d.Symbols, pkgdoc.Symbol{ID: name, Name: name, Kind: pkgdoc.Method, Signature: u.text, Params: u.params})
}

func (d *draft) symbol(e export, shown []usage) pkgdoc.Symbol {
	s := pkgdoc.Symbol{ID: e.alias, Name: e.name, Kind: e.kind}
	shown = slices.Clone(shown)
	slices.SortStableFunc(shown, func(a, b usage) int { return len(a.s4) - len(b.s4) }) // a method says less of the generic
	for _, u := range shown {
		if u.name == e.name && u.s3 == nil && e.kind != pkgdoc.Method || u.s3 != nil && u.s3[0]+"."+u.s3[1] == e.name {
			if s.Signature == "" {
				s.Signature, s.Params = u.text, u.params
			}
			if s.Kind == "" && u.call {
				s.Kind = pkgdoc.Function
			}
		}
	}
	if s.Kind == "" {
		s.Kind = pkgdoc.Variable
		if slices.Contains(d.kinds, "data") || slices.Contains(d.keywords, "datasets") {
			s.Kind = pkgdoc.Data
		} else if len(d.Params) > 0 || s.Signature != "" {
			s.Kind = pkgdoc.Function
		}
	}
	return s
}

// deprecated says why a page should not be used for new code, as far as its title, its name or a badge says so.
func deprecated(p *pkgdoc.Page) string {
	for _, word := range []string{"Deprecated", "Defunct", "Superseded"} {
		lower := strings.ToLower(word)
		if strings.Contains(p.Text, `\[`+word+`\]`) || strings.HasPrefix(p.Title, word) || strings.HasSuffix(p.ID, "-"+lower) {
			return lower
		}
	}
	return ""
}
