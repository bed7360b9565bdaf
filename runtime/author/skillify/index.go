package skillify

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/pkgdoc"
)

// IndexName is the file that says what a skill was made of.
const IndexName = "references/index.json"

// maxIndex bounds an index that is read: bytes.
const maxIndex = 64 << 20

// An Index is what a skill keeps of the package and of its own files: what moved on and what a person changed is seen without the
// package that it was made of.
type Index struct {
	Package  string        `json:"package"`
	Version  string        `json:"version"`
	Digest   string        `json:"digest"` // of what the package says
	Symbols  []Symbol      `json:"symbols"`
	Notes    []pkgdoc.Note `json:"notes"`
	Internal int           `json:"internal"` // symbols for who works on the package

	// Files are the sums of the parts of every other file, in order, with spaces between them.
	Files map[string]string `json:"files"`
	Self  string            `json:"self"` // the sum of this file with "" here
}

// A Symbol is one of the package.
type Symbol struct {
	ID         string      `json:"id"`
	Kind       pkgdoc.Kind `json:"kind"`
	Signature  string      `json:"signature,omitempty"`
	Deprecated string      `json:"deprecated,omitempty"`
	File       string      `json:"file"`
}

// index writes [IndexName], when all other files are there.
func (m *maker) index() error {
	out := Index{m.p.Name, m.p.Version, m.p.Digest(), []Symbol{}, append([]pkgdoc.Note{}, m.p.Notes...), 0, map[string]string{}, ""}
	for i := range m.p.Pages {
		page := &m.p.Pages[i]
		for _, s := range page.Symbols {
			out.Symbols = append(out.Symbols, Symbol{s.ID, s.Kind, m.clean(s.Signature), cmp.Or(s.Deprecated, page.Deprecated), m.at(page.ID, s.ID)})
			if page.Internal {
				out.Internal++
			}
		}
	}
	slices.SortFunc(out.Symbols, func(a, b Symbol) int { return strings.Compare(a.ID, b.ID) })
	files := map[string][]byte{}
	for _, f := range m.files {
		files[f.Path] = f.Data
	}
	out.Files = allSums(files)
	text, err := out.text()
	if err != nil {
		return err
	}
	m.add(IndexName, text)
	return nil
}

// text is the file.
func (x *Index) text() (string, error) {
	self := *x
	self.Self = ""
	text, err := encoded(&self)
	if err != nil {
		return "", err
	}
	self.Self = short16(text)
	return encoded(&self)
}

func encoded(x *Index) (string, error) {
	var w strings.Builder
	e := json.NewEncoder(&w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(x); err != nil {
		return "", err
	}
	return visible(w.String()), nil
}

// sums are those of the parts of a page, for each of its files, and "" where these are not there.
func sums(names []string, parts []part) map[string]string {
	list := map[string][]string{}
	for i := range parts {
		list[parts[i].file] = append(list[parts[i].file], parts[i].sum())
	}
	out := map[string]string{}
	for _, name := range names {
		out[name] = strings.Join(list[name], " ")
	}
	return out
}

// allSums are those of files.
func allSums(files map[string][]byte) map[string]string {
	out := map[string]string{}
	for _, names := range pagesOf(union(files, files)) {
		maps.Copy(out, sums(names, cutPage(names, files)))
	}
	return out
}

// ReadIndex reads an index. One that a person or a program changed since is an error with code index_unreadable.
func ReadIndex(data []byte) (*Index, error) {
	bad := func(why string) error {
		return diag.New(diag.Unmet, "index_unreadable", "%s", why).At(diag.Position{File: IndexName})
	}
	if len(data) > maxIndex {
		return nil, bad("it is too large")
	}
	x := &Index{}
	if err := json.Unmarshal(data, x); err != nil {
		return nil, bad("it is not JSON of the expected form")
	}
	if again, err := x.text(); err != nil || unix(strings.TrimRight(string(data), "\r\n"))+"\n" != again {
		return nil, bad("it was changed since it was written")
	}
	return x, nil
}

// An APIDiff is how the symbols of two versions of a package differ, by id.
type APIDiff struct {
	Added      []string       `json:"added"`
	Removed    []string       `json:"removed"`
	Changed    []SignatureNow `json:"changed"`
	Deprecated []string       `json:"deprecated"` // and were not before
}

// A SignatureNow is a symbol whose signature changed.
type SignatureNow struct {
	ID   string `json:"id"`
	From string `json:"from"`
	To   string `json:"to"`
}

// API compares the symbols of two indexes.
func API(from, to *Index) APIDiff {
	d := APIDiff{[]string{}, []string{}, []SignatureNow{}, []string{}}
	was, is := from.byID(), to.byID()
	for _, id := range slices.Sorted(maps.Keys(is)) {
		now, before := is[id], was[id]
		switch {
		case before == nil:
			d.Added = append(d.Added, id)
			continue
		case before.Signature != now.Signature && !(now.Kind == pkgdoc.Command && strings.ReplaceAll(before.Signature, from.Version, to.Version) == now.Signature): // which names the version
			d.Changed = append(d.Changed, SignatureNow{id, before.Signature, now.Signature})
		}
		if now.Deprecated != "" && before.Deprecated == "" {
			d.Deprecated = append(d.Deprecated, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if is[id] == nil {
			d.Removed = append(d.Removed, id)
		}
	}
	return d
}

func (x *Index) byID() map[string]*Symbol {
	out := make(map[string]*Symbol, len(x.Symbols))
	for i := range x.Symbols {
		out[x.Symbols[i].ID] = &x.Symbols[i]
	}
	return out
}
