// Package rpkg reads the documentation of R packages, installed ones and the folders of their sources: DESCRIPTION, NAMESPACE, the help
// topics and the outlines of vignettes. Both give the same [pkgdoc.Package] as far as both hold the same: macros are expanded in an
// installed package, and its version may be of another day.
//
// A help topic is a page. Exports are the directives of NAMESPACE; one that no topic describes is on the page "undocumented", as the
// sources define it: an installed package does not hold them. Nothing of the package is run, so that what \Sexpr computes and what a
// condition of NAMESPACE decides is noted.
package rpkg

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/pkgdoc/rd"
)

// ErrNoPackage is that of a folder which is no R package.
var ErrNoPackage = errors.New("there is no DESCRIPTION of an R package")

// Read reads the package at the root of fsys.
func Read(fsys fs.FS) (*pkgdoc.Package, error) {
	r := &reader{files: &pkgdoc.Files{FS: fsys}}
	if err := r.description(); err != nil {
		return nil, err
	}
	topics, err := r.topics()
	if err != nil {
		return nil, err
	}
	ns := &namespace{all: true}
	if text, err := r.files.Read("NAMESPACE"); err == nil {
		ns = readNamespace(utf8Text(text, r.latin1))
		r.p.Notes = append(r.p.Notes, ns.notes...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := r.pages(topics, ns); err != nil {
		return nil, err
	}
	if err := r.guides(); err != nil {
		return nil, err
	}
	r.p.Skills = r.files.Skills("inst/skills", "skills")
	if err := r.files.Finish(&r.p); err != nil {
		return nil, err
	}
	return &r.p, nil
}

// reader reads one package.
type reader struct {
	files     *pkgdoc.Files
	p         pkgdoc.Package
	installed bool
	latin1    bool // what the files are that are not UTF-8
	macros    map[string]rd.Macro
	computed  int // uses of \Sexpr
}

// description reads DESCRIPTION.
func (r *reader) description() error {
	text, err := r.files.Read("DESCRIPTION")
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoPackage
	}
	if err != nil {
		return err
	}
	fields := fieldsOf(string(text))
	r.latin1 = strings.Contains(strings.ToLower(fields["Encoding"]), "latin")
	r.files.Latin1 = r.latin1
	if r.latin1 {
		fields = fieldsOf(utf8Text(text, true))
	}
	r.installed = fields["Built"] != ""
	r.p = pkgdoc.Package{Ecosystem: "r", Name: fields["Package"], Version: fields["Version"], Title: words(fields["Title"]),
		Text: words(fields["Description"]), License: words(fields["License"]), Pages: []pkgdoc.Page{}, Guides: []pkgdoc.Guide{}}
	if r.p.Name == "" || r.p.Version == "" {
		return fmt.Errorf("DESCRIPTION: it says no Package or no Version: %w", ErrNoPackage)
	}
	for _, u := range strings.FieldsFunc(fields["URL"]+" "+fields["BugReports"], func(c rune) bool { return c == ',' || c == ' ' || c == '\n' }) {
		if (strings.HasPrefix(u, "https://") || strings.HasPrefix(u, "http://")) && !slices.Contains(r.p.URLs, u) {
			r.p.URLs = append(r.p.URLs, u)
		}
	}
	return nil
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// fieldsOf reads the fields of a control file; lines that begin with a blank go on.
func fieldsOf(text string) map[string]string {
	out := map[string]string{}
	last := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
		case line[0] == ' ' || line[0] == '\t':
			out[last] += "\n" + strings.TrimSpace(line)
		default:
			key, value, ok := strings.Cut(line, ":")
			if last = strings.TrimSpace(key); ok {
				out[last] = strings.TrimSpace(value)
			}
		}
	}
	return out
}

// utf8Text is text that may be in Latin 1.
func utf8Text(b []byte, latin1 bool) string {
	if s := string(b); !latin1 {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	var w strings.Builder
	for _, c := range b {
		w.WriteRune(rune(c))
	}
	return w.String()
}

// A topic is one help topic before it is a page.
type topic struct {
	file  string // of the sources, as man/filter.Rd
	nodes []rd.Node
}

// topics are those of the package, sorted by file. One that cannot be read is noted.
func (r *reader) topics() ([]topic, error) {
	if r.installed {
		return r.installedTopics()
	}
	r.readMacros()
	var out []topic
	for _, name := range r.files.List("man") {
		if ext := path.Ext(name); ext != ".Rd" && ext != ".rd" {
			continue
		}
		file := path.Join("man", name)
		data, err := r.files.Read(file)
		if errors.Is(err, pkgdoc.ErrTooLarge) {
			return nil, err
		}
		if err != nil {
			r.p.Note(file, 0, "it is left out: %v", err)
			continue
		}
		nodes, err := rd.Parse(utf8Text(data, r.latin1 || encoded(data)), r.macros)
		if err != nil {
			r.leaveOut(file, err)
			continue
		}
		out = append(out, topic{file, nodes})
	}
	return out, nil
}

// encoded reports whether an Rd file says that it is in Latin 1.
func encoded(data []byte) bool {
	at := strings.Index(string(data), `\encoding{`)
	return at >= 0 && strings.Contains(strings.ToLower(string(data[at:min(len(data), at+24)])), "latin")
}

func (r *reader) leaveOut(file string, err error) {
	line := 0
	if bad := (*rd.Error)(nil); errors.As(err, &bad) {
		line = bad.Line
		err = errors.New(bad.Text)
	}
	r.p.Note(file, line, "it is left out: %v", err)
}

// readMacros reads the macros that the package defines for its help.
func (r *reader) readMacros() {
	r.macros = map[string]rd.Macro{}
	for _, name := range r.files.List("man/macros") {
		file := path.Join("man/macros", name)
		data, err := r.files.Read(file)
		if err == nil && path.Ext(name) == ".Rd" {
			err = rd.Macros(utf8Text(data, r.latin1), r.macros)
		}
		if err != nil {
			r.leaveOut(file, err)
		}
	}
}

// names are all that the package assigns, from which patterns of NAMESPACE choose.
func (r *reader) names() (out []string, err error) {
	if r.installed {
		return r.installedNames()
	}
	if err := r.sources(func(src string) { out = append(out, assigned(src)...) }); err != nil {
		return nil, err
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// pages makes the pages of topics, and gives each export its place.
func (r *reader) pages(topics []topic, ns *namespace) error {
	exports, err := r.exports(topics, ns)
	if err != nil {
		return err
	}
	b := &binder{exports: exports, s3: ns.s3, taken: map[string]bool{}, ids: map[string]bool{}, generics: map[string]shownOn{}}
	for _, t := range topics {
		page, ok := r.page(t, b)
		if !ok {
			r.p.Note(t.file, 0, "it is left out: it has no name")
			continue
		}
		r.p.Pages = append(r.p.Pages, page)
	}
	functions, err := r.functions(b)
	if err != nil {
		return err
	}
	if rest := r.shown(b.rest(functions), b.generics); len(rest) > 0 {
		r.p.Pages = append(r.p.Pages, pkgdoc.Page{ID: pkgdoc.UndocumentedID, Title: "Exported and not described", Symbols: rest})
	}
	slices.SortFunc(r.p.Pages, func(a, b pkgdoc.Page) int { return cmp.Compare(a.ID, b.ID) })
	if r.computed > 0 {
		r.p.Lacks("", "Parts of the help that R computes when it is shown are not here.", "%d parts of its help are computed by R code when they are shown: they are left out", r.computed)
	}
	return nil
}

// shown puts generics of S4 on the page that shows a method of each, and returns the other symbols.
func (r *reader) shown(symbols []pkgdoc.Symbol, generics map[string]shownOn) (rest []pkgdoc.Symbol) {
	at := map[string]int{}
	for i := range r.p.Pages {
		at[r.p.Pages[i].ID] = i
	}
	for _, s := range symbols {
		on, ok := generics[s.Name]
		if !ok {
			rest = append(rest, s)
			continue
		}
		if s.Signature == "" {
			s.Kind, s.Signature, s.Params = pkgdoc.Function, on.text, on.params
		}
		page := &r.p.Pages[at[on.page]]
		page.Symbols = append(page.Symbols, s)
	}
	return rest
}

// functions are those of the sources, by name, if an export is described nowhere. An installed package does not hold them as text.
func (r *reader) functions(b *binder) (map[string]usage, error) {
	if r.installed || !slices.ContainsFunc(b.exports, func(e export) bool { return !b.taken[e.alias] }) {
		return nil, nil
	}
	out := map[string]usage{}
	err := r.sources(func(src string) { defined(src, out) })
	if err != nil && !errors.Is(err, pkgdoc.ErrTooLarge) {
		r.p.Note("R", 0, "how exports that nothing describes are called is not known: %v", err)
		return nil, nil
	}
	return out, err
}

// sources calls do with each file of R code, in order.
func (r *reader) sources(do func(src string)) error {
	for _, file := range r.files.List("R") {
		if ext := strings.ToLower(path.Ext(file)); ext != ".r" && ext != ".s" && ext != ".q" {
			continue
		}
		data, err := r.files.Read(path.Join("R", file))
		if err != nil {
			return err
		}
		do(utf8Text(data, r.latin1))
	}
	return nil
}

// exports are all names that NAMESPACE makes public, sorted, with the kind that it says of each.
func (r *reader) exports(topics []topic, ns *namespace) ([]export, error) {
	kinds := map[string]pkgdoc.Kind{}
	for _, n := range ns.exports {
		kinds[n] = ""
	}
	for _, n := range ns.methods {
		kinds[n] = pkgdoc.Function
	}
	if len(ns.patterns) > 0 {
		all, err := r.names()
		if err != nil {
			r.p.Note("NAMESPACE", 0, "what its patterns export is not known: %v", err)
		}
		for _, p := range ns.patterns {
			more, err := named(p, all)
			if err != nil {
				r.p.Note("NAMESPACE", 0, "%v: what it exports is left out", err)
			}
			for _, n := range more {
				kinds[n] = ""
			}
		}
	}
	if len(kinds)+len(ns.classes)+len(ns.s3) > pkgdoc.MaxSymbols {
		return nil, fmt.Errorf("NAMESPACE: %w: it exports more than 100,000 names", pkgdoc.ErrTooLarge)
	}
	if ns.all { // as in R's base, which has no NAMESPACE: what its help names
		for _, t := range topics {
			for i := range t.nodes {
				if n := &t.nodes[i]; n.Tag == `\alias` {
					kinds[strings.TrimSpace(rd.Plain(n.Children))] = ""
				}
			}
		}
	}
	var out []export
	for n, kind := range kinds {
		out = append(out, export{n, n, kind})
	}
	for _, n := range ns.classes {
		out = append(out, export{n, n + "-class", pkgdoc.Class})
	}
	slices.SortFunc(out, func(a, b export) int { return cmp.Or(cmp.Compare(a.alias, b.alias), cmp.Compare(a.name, b.name)) })
	return out, nil
}
