// Package skillify makes a skill of the documentation of a package. SKILL.md is a short overview within the budgets of the format: how the
// package is loaded, which symbol does which task, what not to use, and when to read which reference. The references hold the rest:
// references/guides has the longer texts, references/api a file for each page, references/index.json every symbol with its file.
//
// Everything is computed: the same package and options give the same bytes. Text of the package is data of somebody else: what hides
// in it or means something to an agent that loads a file is taken out, and said. Nothing that runs is ever written.
package skillify

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/skill"
)

// Generator is how skills that are made here name what made them.
const Generator = "skl"

// templates is raised when the same package gives other files.
const templates = 6

// Budgets. A token is about four bytes.
const (
	overviewTokens  = 1500 // of SKILL.md, as far as the tables may fill it
	referenceTokens = 6000 // of one reference: a longer one is split
	maxTasks        = 25   // rows of the table
	maxPages        = 300  // references of API: more pages are put together
	maxDescription  = 300  // characters
)

// Options are what a person may choose.
type Options struct {
	Version  string // of the generator
	TopLevel bool   // the keys of corteza.skill/v1 at top level, not in metadata

	Integrity string // what the ecosystem says of the package's bytes; "" if nothing is known

	Summary *Summary // prose of the overview, which is checked; nil writes none
}

// A File is one of a skill.
type File struct {
	Path       string
	Data       []byte
	Executable bool // of a person: nothing that is made is
}

// A Skill is what was made.
type Skill struct {
	Name   string
	Files  []File // sorted by path
	Origin skill.Origin
	Report Report
}

// A Report measures a skill.
type Report struct {
	Symbols    int `json:"symbols"`    // of the package
	Documented int `json:"documented"` // described by a page of the package
	Signatures int `json:"signatures"`
	Pages      int `json:"pages"`
	Guides     int `json:"guides"`
	Files      int `json:"files"`
	Bytes      int `json:"bytes"`
	Lines      int `json:"lines"`   // of SKILL.md
	Tokens     int `json:"tokens"`  // of SKILL.md, about
	Largest    int `json:"largest"` // of the longest reference

	Hidden int           `json:"hidden"` // characters that do not show, taken out
	Notes  []pkgdoc.Note `json:"notes"`
}

// Recipe names the options and templates: the same package with the same recipe gives the same skill.
func (o Options) Recipe() string {
	return fmt.Sprintf("skl/%d%s", templates, map[bool]string{true: "+top"}[o.TopLevel])
}

// Name is what the skill of a package is called: as the package is, and with its ecosystem before that if no skill may have the name: CON is
// a device of Windows, and its skill is r-con.
func Name(p *pkgdoc.Package) string {
	name := strings.ReplaceAll(strings.ReplaceAll(p.Name, "/", "-"), ".", "-")
	return cmp.Or(skill.Respell(name), skill.Respell(p.Ecosystem+"-"+name))
}

// Make makes the skill of a package. Pages that would make it too large to install are left out, and noted.
func Make(p *pkgdoc.Package, o Options) (*Skill, error) {
	if len(p.Skills) > 0 {
		return nil, &HasSkills{p.Name, p.Skills}
	}
	if err := valid(p); err != nil {
		return nil, err
	}
	if o.Summary != nil {
		if err := CheckSummary(p, o.Summary); err != nil {
			return nil, err
		}
	}
	return fitted(p, o, installable())
}

// whole makes the skill of all pages of a package.
func whole(p *pkgdoc.Package, o Options) (*Skill, error) {
	m := &maker{p: p, o: o, name: Name(p)}
	m.origin()
	m.guides()
	m.api()
	m.overview()
	if p.LicenseText != "" {
		m.add("LICENSE", m.clean(p.LicenseText))
	}
	if err := m.index(); err != nil {
		return nil, err
	}
	slices.SortFunc(m.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	s := &Skill{Name: m.name, Files: m.files, Origin: m.from, Report: m.report()}
	return s, nil
}

// HasSkills is the error of a package that brings skills of its own: these say better how it is used.
type HasSkills struct {
	Package string
	Skills  []string // folders in the package
}

func (e *HasSkills) Error() string {
	return fmt.Sprintf("%s brings skills of its own: %s", e.Package, strings.Join(e.Skills, ", "))
}

// Invalid is the error of a package that its ecosystem does not let be called so, or whose version is no version: both are written into
// commands that people copy.
type Invalid struct {
	Ecosystem string
	What      string // name or version
	Value     string
}

func (e *Invalid) Error() string {
	return fmt.Sprintf("%q is not a %s that a package of %s has", short(diag.Printable(e.Value), 80), e.What, map[string]string{"r": "R", "go": "Go", "npm": "npm", "pypi": "Python"}[e.Ecosystem])
}

// valid refuses a package by its name and version.
func valid(p *pkgdoc.Package) error {
	if !skill.ValidPackage(p.Ecosystem, p.Name) {
		return &Invalid{p.Ecosystem, "name", p.Name}
	}
	for _, c := range p.Version {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune(".+_~-", c)) {
			return &Invalid{p.Ecosystem, "version", p.Version}
		}
	}
	if p.Version == "" || len(p.Version) > 128 || strings.ContainsRune(".+_~-", rune(p.Version[0])) {
		return &Invalid{p.Ecosystem, "version", p.Version}
	}
	return nil
}

type maker struct {
	p    *pkgdoc.Package
	o    Options
	name string
	from skill.Origin

	files    []File
	guideAt  map[string]string // file of each guide, by id
	pageAt   map[string]string // file of each page, by id
	symbolAt map[string]string // that of each symbol which has a place of its own on its page
	mentions map[string]int    // of symbols in guides and examples, by id

	describes map[string][]string // pages by the ids of themselves and their symbols; made when it is asked for
	imports   []clause            // that guides write; made when it is asked for
	own, of   map[string]string   // see values; made when it is asked for
	hidden    int
	largest   int
}

func (m *maker) add(name, text string) {
	text = strings.TrimRight(text, "\n") + "\n"
	m.files = append(m.files, File{Path: name, Data: []byte(text)})
}

func (m *maker) origin() {
	m.from = skill.Origin{Ecosystem: m.p.Ecosystem, Package: m.p.Name, Version: m.p.Version, SourceHash: m.p.SourceHash(),
		Generator: Generator, GeneratorVersion: m.o.Version, Recipe: m.o.Recipe(), Integrity: m.o.Integrity}
	if m.o.Summary != nil {
		m.from.SummarizedBy = m.o.Summary.By
	}
}

// at is the file that tells of a symbol of a page.
func (m *maker) at(page, symbol string) string {
	return cmp.Or(m.symbolAt[symbol], m.pageAt[page])
}

func tokens(text string) int { return (len(text) + 3) / 4 }

func (m *maker) report() Report {
	r := Report{Symbols: m.p.Count(), Pages: len(m.p.Pages), Guides: len(m.p.Guides), Files: len(m.files), Largest: m.largest, Hidden: m.hidden,
		Notes: append([]pkgdoc.Note{}, m.p.Notes...)}
	for i := range m.p.Pages {
		for _, s := range m.p.Pages[i].Symbols {
			if s.Signature != "" {
				r.Signatures++
			}
			if m.p.Pages[i].Text != "" || s.Text != "" {
				r.Documented++
			}
		}
	}
	for _, f := range m.files {
		r.Bytes += len(f.Data)
		if f.Path == skill.FileName {
			r.Lines, r.Tokens = strings.Count(string(f.Data), "\n"), tokens(string(f.Data))
		}
	}
	return r
}

// fileName is a path below references for an id; taken holds those that are given, by their folded form.
func fileName(dir, id string, taken map[string]bool) string {
	base := fileSlug(id)
	name := base
	for n := 2; taken[dir+name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	taken[dir+name] = true
	return path.Join("references", dir, name+".md")
}

// fileSlug is an id in letters that every disk keeps apart: lower case, digits and dashes.
func fileSlug(id string) string {
	var w strings.Builder
	for _, c := range strings.ToLower(id) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
			w.WriteRune(c)
		} else if s := w.String(); s != "" && !strings.HasSuffix(s, "-") {
			w.WriteByte('-')
		}
		if w.Len() >= 60 {
			break
		}
	}
	s := strings.Trim(w.String(), "-_")
	switch s {
	case "", "con", "prn", "aux", "nul", "com1", "lpt1", "index":
		return "page-" + cmp.Or(s, "symbols")
	}
	return s
}
