// Package pkgdoc holds what the documentation of a language package says, in one form for every ecosystem: who it is, its pages with the
// symbols that each describes, its guides, and what could not be read. The packages below it read the ecosystems; runtime/author makes
// skills of it. Everything is taken from files: no code of a package runs.
//
// The same files give the same [Package], in whatever order a directory lists them. All text is that of somebody else: it is data.
package pkgdoc

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of what is read of one package.
const (
	MaxFile    = 16 << 20  // bytes of one file
	MaxTotal   = 256 << 20 // bytes of all files
	MaxFiles   = 50_000
	MaxSymbols = 100_000
)

// ErrTooLarge is wrapped by the error of a package that is beyond the limits.
var ErrTooLarge = errors.New("it is too large")

// A Package is the documentation of one version of a package.
type Package struct {
	Ecosystem string   `json:"ecosystem"` // r, go, npm or pypi
	Name      string   `json:"name"`
	Module    string   `json:"module,omitempty"` // what code imports, where that is not Name: of @types/x it is x
	Version   string   `json:"version"`
	Title     string   `json:"title,omitempty"` // one line
	Text      string   `json:"text,omitempty"`  // a paragraph; Markdown, as all text below
	License   string   `json:"license,omitempty"`
	URLs      []string `json:"urls,omitempty"`

	Pages  []Page   `json:"pages"`            // sorted by ID
	Guides []Guide  `json:"guides"`           // in the order of the package
	Skills []string `json:"skills,omitempty"` // folders of the package that are skills: it speaks for itself
	Notes  []Note   `json:"notes,omitempty"`  // what could not be read, and what was decided
	Inputs []Input  `json:"-"`

	LicenseText string `json:"-"` // of the file that has it; "" if none has
}

// Imported is what code imports.
func (p *Package) Imported() string { return cmp.Or(p.Module, p.Name) }

// A Page describes some symbols together: a help topic of R, a package of Go, a module of npm or Python.
type Page struct {
	ID         string    `json:"id"` // unique in the package, and the same in its next version
	Title      string    `json:"title"`
	Text       string    `json:"text,omitempty"`
	Symbols    []Symbol  `json:"symbols"`          // in the order of the page
	Params     []Param   `json:"params,omitempty"` // those that the page describes for all its symbols
	Returns    string    `json:"returns,omitempty"`
	Sections   []Section `json:"sections,omitempty"`
	Examples   []string  `json:"examples,omitempty"` // code
	See        []string  `json:"see,omitempty"`      // ids of other pages
	Deprecated string    `json:"deprecated,omitempty"`
	Internal   bool      `json:"internal,omitempty"` // for who works on the package
	File       string    `json:"file,omitempty"`
}

// UndocumentedID is the id of the page of what is public and described nowhere.
const UndocumentedID = "undocumented"

// Undocumented reports whether p is that page.
func (p *Page) Undocumented() bool { return p.ID == UndocumentedID }

// A Symbol is a name that code can use.
type Symbol struct {
	ID         string  `json:"id"` // unique in the package, and the same in its next version
	Name       string  `json:"name"`
	Kind       Kind    `json:"kind"`
	Signature  string  `json:"signature,omitempty"` // one line of code
	Params     []Param `json:"params,omitempty"`
	Returns    string  `json:"returns,omitempty"`
	Text       string  `json:"text,omitempty"`
	Deprecated string  `json:"deprecated,omitempty"`
	Line       int     `json:"line,omitempty"`
}

// A Kind says what a symbol is.
type Kind string

const (
	Function  Kind = "function"
	Method    Kind = "method"
	Class     Kind = "class"
	Type      Kind = "type"
	Interface Kind = "interface"
	Variable  Kind = "variable"
	Constant  Kind = "constant"
	Data      Kind = "data"
	Namespace Kind = "namespace"
	Command   Kind = "command"
)

// A Param is a parameter of a symbol, or what a page says of parameters of that name.
type Param struct {
	Name     string `json:"name"`
	Type     string `json:"type,omitempty"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"` // a call has to give it, as far as the signature says so
	Text     string `json:"text,omitempty"`
}

// A Section is a part of a page with a title of its own.
type Section struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// A Guide is a longer text: a vignette, a README.
type Guide struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Kind     string    `json:"kind"` // vignette, readme or news
	File     string    `json:"file"`
	Headings []Heading `json:"headings,omitempty"`
	Text     string    `json:"text,omitempty"` // "" where only its outline could be read
}

// A Heading is one of a guide's. Level counts from 1.
type Heading struct {
	Level int    `json:"level"`
	Text  string `json:"text"`
}

// A Note says what could not be read, or what was decided where a package leaves it open. Line is 0 for a file as a whole.
type Note struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
	Gap  string `json:"gap,omitempty"` // a sentence for who reads what was made of the package: what is not in it
}

func (n Note) String() string {
	switch {
	case n.File == "":
		return n.Text
	case n.Line == 0:
		return n.File + ": " + n.Text
	}
	return fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.Text)
}

// An Input is a file that was read.
type Input struct {
	Path   string
	Size   int
	SHA256 string // hex
}

// Note adds a note.
func (p *Package) Note(file string, line int, format string, args ...any) {
	p.Notes = append(p.Notes, Note{File: file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// Lacks adds a note of what is not described, once, with the sentence that says so to a reader.
func (p *Package) Lacks(file, gap, format string, args ...any) {
	if n := (Note{file, 0, fmt.Sprintf(format, args...), gap}); !slices.Contains(p.Notes[:min(len(p.Notes), maxCompared)], n) {
		p.Notes = append(p.Notes, n)
	}
}

// maxCompared bounds the notes that another one is compared with.
const maxCompared = 200

// Gaps are the sentences of the notes that say what is not described, each once, in their order.
func (p *Package) Gaps() (out []string) {
	seen := map[string]bool{"": true}
	for _, n := range p.Notes {
		if !seen[n.Gap] {
			seen[n.Gap] = true
			out = append(out, n.Gap)
		}
	}
	return out
}

// Symbol finds a symbol by its id, and the page that describes it.
func (p *Package) Symbol(id string) (*Symbol, *Page) {
	for i := range p.Pages {
		for j := range p.Pages[i].Symbols {
			if s := &p.Pages[i].Symbols[j]; s.ID == id {
				return s, &p.Pages[i]
			}
		}
	}
	return nil, nil
}

// Count is how many symbols there are.
func (p *Package) Count() (n int) {
	for i := range p.Pages {
		n += len(p.Pages[i].Symbols)
	}
	return n
}

// Digest names what the package says, "sha256:" and hex. Files that say the same in another way have the same.
func (p *Package) Digest() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers alone
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}

// SourceHash names the files that were read, "sha256:" and hex: over their paths, sizes and digests, sorted.
func (p *Package) SourceHash() string {
	h := sha256.New()
	for _, in := range p.Inputs {
		fmt.Fprintf(h, "%s\x00%d\x00%s\n", in.Path, in.Size, in.SHA256)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// Files reads the files of a package, and keeps what they were. It is not for concurrent use.
type Files struct {
	FS     fs.FS
	Latin1 bool // text that is no UTF-8 is in Latin 1

	read  map[string]Input
	total int
}

// Read is the content of a regular file.
func (f *Files) Read(name string) ([]byte, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", name)
	case info.Size() > MaxFile:
		return nil, fmt.Errorf("%s: %w: more than 16 MiB", name, ErrTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: %w: more than 16 MiB", name, ErrTooLarge)
	}
	if _, known := f.read[name]; !known {
		if f.total += len(data); f.total > MaxTotal || len(f.read) >= MaxFiles {
			return nil, fmt.Errorf("%w: more than 256 MiB or 50,000 files to read", ErrTooLarge)
		}
		if f.read == nil {
			f.read = make(map[string]Input)
		}
		sum := sha256.Sum256(data)
		f.read[name] = Input{name, len(data), hex.EncodeToString(sum[:])}
	}
	return data, nil
}

// List is the names of a folder's entries that are files, or links to one, sorted; none where there is no such folder.
func (f *Files) List(dir string) []string {
	entries, err := fs.ReadDir(f.FS, dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// Has reports whether there is such a file.
func (f *Files) Has(name string) bool {
	info, err := fs.Stat(f.FS, name)
	return err == nil && info.Mode().IsRegular()
}

// Text is the content of a regular file as text.
func (f *Files) Text(name string) (string, error) {
	data, err := f.Read(name)
	if err != nil || utf8.Valid(data) {
		return string(data), err
	}
	if !f.Latin1 {
		return strings.ToValidUTF8(string(data), "\uFFFD"), nil
	}
	var w strings.Builder
	for _, c := range data {
		w.WriteRune(rune(c))
	}
	return w.String(), nil
}

// Skills are the folders of skills in some folders, sorted.
func (f *Files) Skills(dirs ...string) (out []string) {
	for _, dir := range dirs {
		entries, err := fs.ReadDir(f.FS, dir)
		if err != nil {
			continue // there is none
		}
		for _, e := range entries {
			if at := path.Join(dir, e.Name()); f.Has(path.Join(at, "SKILL.md")) {
				out = append(out, at)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Finish reads what packages of every ecosystem have at their top, a README and a license, and notes in p what was read. A package
// without a title has the first words of its README. It is an error if p has more symbols than are read.
func (f *Files) Finish(p *Package) error {
	if n := p.Count(); n > MaxSymbols {
		return fmt.Errorf("%w: it has %d symbols, and at most 100,000 are read", ErrTooLarge, n)
	}
	for _, name := range f.List(".") {
		if lower := strings.ToLower(name); lower != "readme.md" && lower != "readme.markdown" {
			continue
		}
		text, err := f.Text(name)
		if errors.Is(err, ErrTooLarge) {
			return err
		}
		if err != nil {
			p.Note(name, 0, "it is left out: %v", err)
			break
		}
		text = Body(text)
		if p.Title == "" {
			p.Title = Opening(text)
			p.Text = p.Title
		}
		g := Guide{ID: "readme", Title: "README", Kind: "readme", File: name, Headings: Headings(text), Text: text}
		if slices.ContainsFunc(p.Guides, func(other Guide) bool { return other.ID == g.ID }) {
			g.ID = "readme-top"
		}
		p.Guides = append(p.Guides, g)
		break
	}
	for _, name := range LicenseNames() {
		if text, err := f.Text(name); err == nil && len(text) <= maxLicense {
			p.LicenseText = text
			break
		}
	}
	p.Inputs = f.Inputs()
	return nil
}

// Devel is the version of a Go module whose files are those of nobody's release.
const Devel = "devel"

// LicenseNames are the files that may hold the license of a package, the one that counts first.
func LicenseNames() []string {
	return []string{"LICENSE", "LICENCE", "LICENSE.md", "LICENSE.txt", "COPYING"}
}

const maxLicense = 256 << 10 // bytes; a longer text is none

// Inputs are the files that were read, sorted by path.
func (f *Files) Inputs() []Input {
	out := make([]Input, 0, len(f.read))
	for _, in := range f.read {
		out = append(out, in)
	}
	slices.SortFunc(out, func(a, b Input) int { return strings.Compare(a.Path, b.Path) })
	return out
}
