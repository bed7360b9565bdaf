package skillify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/mod/semver"

	"github.com/skl-project/skl/spec/skill"
)

// States of a skill that was made of a package, the one that matters most first.
const (
	Missing   = "missing"   // the package is not here
	Broken    = "broken"    // it names symbols that the package does not have any more
	Moved     = "version"   // the package has another version
	Source    = "source"    // it has the same version and other files
	OtherForm = "generator" // this program makes other files of the same package
	Edited    = "edited"    // a person changed it, and its stamp does not say so
	Current   = "current"

	Unreadable = "unreadable" // it, or its package, cannot be read: nothing is known
)

// A Freshness compares a skill that was made of a package with the package.
type Freshness struct {
	State  string    `json:"state"`
	From   string    `json:"from"`            // the version that it was made of
	To     string    `json:"to,omitempty"`    // the one that is here
	Drift  string    `json:"drift,omitempty"` // major, minor, patch, or older
	API    APIDiff   `json:"api"`
	Files  []string  `json:"files"`  // of the skill that are made otherwise now
	Edited []Place   `json:"edited"` // by a person
	Broken []Mention `json:"broken"`
}

// A Mention is where a skill names a symbol.
type Mention struct {
	Symbol string `json:"symbol"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// Compare says how a skill stands to what is made of its package now. ours are its files, x the index of what was made, o its stamp, and byHand
// that the stamp says that a person edited it.
func Compare(x *Index, o skill.Origin, byHand bool, ours map[string][]byte, now *Skill) (Freshness, error) {
	new, err := ReadIndex(now.File(IndexName))
	if err != nil {
		return Freshness{}, err
	}
	f := Freshness{From: o.Version, To: now.Origin.Version, API: API(x, new), Files: []string{}, Edited: append([]Place{}, x.Edited(ours)...), Broken: []Mention{}}
	for _, name := range slices.Sorted(maps.Keys(union(x.Files, new.Files))) {
		if x.Files[name] != new.Files[name] {
			f.Files = append(f.Files, name)
		}
	}
	f.Drift = Drift(now.Origin.Ecosystem, f.From, f.To)
	f.Broken = append(append(f.Broken, x.mentions(ours, f.API.Removed)...), new.Unknown(ours, now.Origin.Ecosystem)...)
	slices.SortFunc(f.Broken, func(a, b Mention) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, strings.Compare(a.Symbol, b.Symbol))
	})
	f.Broken = slices.Compact(f.Broken)
	switch {
	case len(f.Broken) > 0:
		f.State = Broken
	case f.Drift != "":
		f.State = Moved
	case o.SourceHash != now.Origin.SourceHash:
		f.State = Source
	case o.Recipe != now.Origin.Recipe:
		f.State = OtherForm
	case len(f.Edited) > 0 && !byHand:
		f.State = Edited
	default:
		f.State = Current
	}
	return f, nil
}

func union[V any](a, b map[string]V) map[string]bool {
	out := map[string]bool{}
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

// File is the content of a file, nil if there is none.
func (s *Skill) File(name string) []byte {
	for i := range s.Files {
		if s.Files[i].Path == name {
			return s.Files[i].Data
		}
	}
	return nil
}

// All are its files by path.
func (s *Skill) All() map[string][]byte {
	out := make(map[string][]byte, len(s.Files))
	for _, f := range s.Files {
		out[f.Path] = f.Data
	}
	return out
}

// mentions are the symbols that SKILL.md names, and those in what a person wrote, among ids.
func (x *Index) mentions(ours map[string][]byte, ids []string) (out []Mention) {
	if len(ids) == 0 {
		return nil
	}
	gone := make(map[string]string, len(ids))
	for _, id := range ids {
		gone[id] = id
		if _, rest, ok := strings.Cut(id, "::"); ok {
			gone[rest] = id
		}
		if _, rest, ok := strings.Cut(id, "#"); ok { // no text has the id itself in code
			gone[rest] = id
		}
	}
	for _, s := range x.Symbols { // what another entry exports under that name stays
		if _, rest, ok := strings.Cut(s.ID, "#"); ok && gone[rest] != "" && gone[s.ID] == "" {
			delete(gone, rest)
		}
	}
	x.parts(ours, func(name string, line int, p *part, edited bool) {
		if edited || name == skill.FileName && !frontKey(p.key) {
			out = append(out, named(p.text, name, line, gone)...)
		}
	})
	return out
}

// StillNamed are the places at which a merged skill names symbols that were removed.
func StillNamed(now *Skill, merged map[string][]byte, removed []string) []Mention {
	x, err := ReadIndex(now.File(IndexName))
	if err != nil {
		return nil
	}
	return x.mentions(merged, removed)
}

// Unknown are the places at which a person's text names in code what a part of the package could have and does not: a member of a class or of a
// Go package that is there, or of the package of R itself.
func (x *Index) Unknown(ours map[string][]byte, ecosystem string) (out []Mention) {
	full, spaces := map[string]bool{}, map[string]bool{}
	for i := range x.Symbols {
		_, id, ok := strings.Cut(x.Symbols[i].ID, "#")
		if !ok {
			id = x.Symbols[i].ID
		}
		for full[id] = true; ; {
			at := strings.LastIndexByte(id, '.')
			if at <= 0 {
				break
			}
			id = id[:at]
			spaces[id], full[id] = true, true
		}
	}
	member := func(word string) bool {
		if name, ok := strings.CutPrefix(word, x.Package+"::"); ok {
			return !full[name]
		}
		at := strings.LastIndexByte(word, '.') // which is part of a name in R
		return at > 0 && ecosystem != "r" && spaces[word[:at]] && !full[word] && !strings.Contains(word, "::")
	}
	x.parts(ours, func(name string, line int, p *part, edited bool) {
		if !edited {
			return
		}
		for l := range strings.Lines(p.text) {
			for i, span := range strings.Split(l, "`") {
				if i%2 == 0 {
					continue
				}
				for _, word := range qualified().FindAllString(span, -1) {
					if word = strings.Trim(word, "."); member(word) {
						out = append(out, Mention{word, name, line})
					}
				}
			}
			line++
		}
	})
	return out
}

var qualified = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL_][\pL\pN_.]*(::[\pL_.][\pL\pN_.]*)?`) })

// parts calls do for each part of the texts, with the line that it begins at, and whether a person wrote it.
func (x *Index) parts(ours map[string][]byte, do func(name string, line int, p *part, edited bool)) {
	pages := pagesOf(union(x.Files, nil), union(ours, nil))
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		names := pages[page]
		list := cutPage(names, ours)
		if !strings.HasSuffix(page, ".md") || page != skill.FileName && x.same(names, ours, list) {
			continue
		}
		before := x.made(names, nil)
		line := map[string]int{}
		for i := range list {
			edited := before.sum[short16(list[i].key)[:8]] != list[i].sum()
			for _, p := range list[i].pieces() {
				do(p.file, line[p.file]+1, &p, edited)
				line[p.file] += strings.Count(p.text, "\n")
			}
		}
	}
}

// same reports whether the files of a page are what was made.
func (x *Index) same(names []string, files map[string][]byte, list []part) bool {
	for name, sum := range sums(names, list) {
		_, there := files[name]
		if was, known := x.Files[name]; there != known || was != sum {
			return false
		}
	}
	return true
}

// named are the symbols that a text names in code.
func named(text, file string, line int, gone map[string]string) (out []Mention) {
	for l := range strings.Lines(text) {
		seen := map[string]bool{}
		for i, span := range strings.Split(l, "`") {
			if i%2 == 0 && !strings.Contains(span, "(") {
				continue
			}
			for _, word := range identifier().FindAllString(span, -1) {
				word = strings.Trim(word, ".")
				if id := gone[word]; id != "" && !seen[id] && (i%2 == 1 || strings.Contains(span, word+"(")) {
					seen[id] = true
					out = append(out, Mention{id, file, line})
				}
			}
		}
		line++
	}
	return out
}

// Drift is how far a version is from another one: major, minor, patch, older; "" if they are the same.
func Drift(ecosystem, from, to string) string {
	from, to = strings.TrimPrefix(from, "v"), strings.TrimPrefix(to, "v")
	if from == to {
		return ""
	}
	a, b := numbers(from), numbers(to)
	order := slices.Compare(b, a)
	if ecosystem != "r" && semver.IsValid("v"+from) && semver.IsValid("v"+to) {
		order = semver.Compare("v"+to, "v"+from)
	}
	if order < 0 {
		return "older"
	}
	for i, name := range []string{"major", "minor"} {
		if at(a, i) != at(b, i) {
			return name
		}
	}
	return "patch"
}

func at(list []int, i int) int {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// numbers are those of a version.
func numbers(version string) (out []int) {
	version, _, _ = strings.Cut(version, "+")
	for _, word := range strings.FieldsFunc(version, func(c rune) bool { return c == '.' || c == '-' || c == '_' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			break
		}
		out = append(out, n)
	}
	return out
}

// Stamp is what a skill says that it was made of, and whether a person edited it since; nil if nothing.
func Stamp(doc *skill.Document) (o *skill.Origin, byHand bool) {
	if doc.V1 == nil {
		return nil, false
	}
	o = cmp.Or(doc.V1.DerivedFrom, doc.V1.GeneratedFrom)
	return o, doc.V1.DerivedFrom != nil
}

// Key names a stamp, by its keys as SKILL.md has them: the same one for the same package, version, files and recipe.
func Key(values map[string]string) string {
	var w strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w.WriteString(key + "\x00" + values[key] + "\x00")
	}
	sum := sha256.Sum256([]byte(w.String()))
	return hex.EncodeToString(sum[:16])
}

// Derived is SKILL.md with a stamp that says that a person edited it.
func Derived(src []byte) []byte {
	c := &cutter{count: map[string]int{}}
	rest := c.front(unix(string(src)))
	list := c.out
	if list == nil {
		return src
	}
	var w strings.Builder
	for _, p := range list {
		for _, pair := range stampKeys {
			if p.key == frontPrefix+pair[0] || p.key == frontPrefix+"metadata."+pair[0] {
				p.text = strings.Replace(p.text, pair[0]+":", pair[1]+":", 1)
			}
		}
		w.WriteString(p.text)
	}
	return ended([]byte(w.String()+rest), src)
}

// Marked reports whether a text holds a marker of a conflict with the word mark, or more lines that part the sides of one than each of the
// texts which were merged: these have no word.
func Marked(text, mark string, merged ...[]byte) bool {
	for line := range strings.Lines(text) {
		for _, marker := range []string{"<<<<<<< ", "||||||| ", ">>>>>>> "} {
			if strings.HasPrefix(line, marker) && strings.HasSuffix(strings.TrimSpace(line), " "+mark) {
				return true
			}
		}
	}
	own := 0
	for _, m := range merged {
		own = max(own, parting(string(m)))
	}
	return len(merged) > 0 && parting(text) > own
}

func parting(text string) (n int) {
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, "\r\n") == "=======" {
			n++
		}
	}
	return n
}
