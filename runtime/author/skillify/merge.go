package skillify

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Base is what was made of the package before a person edited it.
type Base struct {
	Index *Index
	Files map[string][]byte // what was made, by path; nil where only the index is left of it
}

// A Merge is a skill that was edited, brought to a new version of its package.
type Merge struct {
	Files     map[string][]byte // the whole skill; those of Conflicts have markers
	Kept      []Place           // what a person changed, and is still as they wrote it
	Conflicts []Place           // what both changed
}

// A Place is one of a skill that a person changed.
type Place struct {
	File    string `json:"file"`
	Section string `json:"section,omitempty"` // its heading, or the key of the frontmatter; "" for the file
	What    string `json:"what"`              // edited, added, deleted, section_deleted, order; both_changed, both_added, package_removed for conflicts
}

func (p Place) String() string {
	if p.Section == "" {
		return p.File
	}
	return p.File + " " + p.Section
}

// Edited lists what a person changed of what was made. Files that are no part of it are not compared.
func (x *Index) Edited(ours map[string][]byte) (out []Place) {
	pages := pagesOf(union(x.Files, nil), union(ours, nil))
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		out = append(out, x.editedPage(pages[page], ours)...)
	}
	if data, ok := ours[IndexName]; !ok {
		out = append(out, Place{IndexName, "", "deleted"})
	} else if x.isEdited(data) {
		out = append(out, Place{IndexName, "", "edited"})
	}
	return out
}

// isEdited reports whether an index is not the one that was made.
func (x *Index) isEdited(data []byte) bool {
	now, err := ReadIndex(data)
	return err != nil || now.Self != x.Self
}

// editedPage is Edited of one page. A file of a person in its row is none of it.
func (x *Index) editedPage(names []string, ours map[string][]byte) (out []Place) {
	gone := false
	for _, name := range names {
		if _, there := ours[name]; !there {
			gone = true
			out = append(out, Place{name, "", "deleted"})
		}
	}
	list := cutPage(names, ours)
	if gone && len(list) == 0 || x.same(names, ours, list) {
		return out
	}
	made := x.made(names, nil)
	here := map[string]bool{}
	n := len(out)
	for i := range list {
		p := &list[i]
		if _, known := x.Files[p.file]; !known {
			continue
		}
		here[short16(p.key)[:8]] = true
		switch was, ok := made.sum[short16(p.key)[:8]]; {
		case !ok:
			out = append(out, Place{p.file, p.title(), "added"})
		case was != p.sum():
			out = append(out, Place{p.file, p.title(), "edited"})
		}
	}
	for _, name := range names {
		if _, there := ours[name]; there && slices.ContainsFunc(strings.Fields(x.Files[name]), func(sum string) bool { return !here[sum[:min(8, len(sum))]] }) {
			out = append(out, Place{name, "", "section_deleted"}) // only its sum is known
		}
	}
	if _, known := x.Files[names[0]]; len(out) == n && known { // another order
		out = append(out, Place{names[0], "", "order"})
	}
	return out
}

// A madePage is a page of a base: the sums of its parts by their hashed keys, and their texts where these are known.
type madePage struct {
	keys  []string
	sum   map[string]string
	text  map[string]string
	known bool
}

func (x *Index) made(names []string, files map[string][]byte) *madePage {
	m := &madePage{nil, map[string]string{}, map[string]string{}, false}
	if _, ok := files[names[0]]; ok {
		m.known = true
		for _, p := range cutPage(names, files) {
			m.add(p.sum())
			m.text[short16(p.key)[:8]] = p.text
		}
		return m
	}
	for _, name := range names {
		for _, sum := range strings.Fields(x.Files[name]) {
			m.add(sum)
		}
	}
	return m
}

func (m *madePage) add(sum string) {
	key := sum[:min(8, len(sum))]
	m.keys = append(m.keys, key)
	m.sum[key] = sum
}

// MergeWith brings a skill that a person edited to a new version: theirs is what is made of it now, and to is its name in conflicts, whose markers have the word mark, which neither can have foreseen. What only one
// side changed is taken; what a person deleted stays deleted; what both changed is merged by lines where the lines of the base are
// known, and is a conflict otherwise. Regions between <!-- skl:keep --> and <!-- /skl:keep --> stay whatever the package does. No text of
// a person is lost: it is in Files, in a conflict if need be.
func MergeWith(base *Base, ours, theirs map[string][]byte, to, mark string) *Merge {
	m := &merger{base: base, to: to + " " + mark, mark: mark, out: &Merge{Files: map[string][]byte{}}}
	pages := pagesOf(union(ours, theirs), union(base.Index.Files, nil))
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		m.page(pages[page], ours, theirs)
	}
	return m.out
}

type merger struct {
	base *Base
	to   string
	mark string
	out  *Merge
}

func (m *merger) keep(file, section, what string) {
	m.out.Kept = append(m.out.Kept, Place{file, section, what})
}

func (m *merger) conflict(file, section, what string) {
	m.out.Conflicts = append(m.out.Conflicts, Place{file, section, what})
}

// page merges the files of a page.
func (m *merger) page(names []string, ours, theirs map[string][]byte) {
	in := func(set map[string][]byte) (n int) {
		for _, name := range names {
			if _, ok := set[name]; ok {
				n++
			}
		}
		return n
	}
	mine, new := cutPage(names, ours), cutPage(names, theirs)
	switch unedited := m.base.Index.same(names, ours, mine); {
	case names[0] == IndexName: // what a person wrote there has no place in the new one
		m.take(names, theirs, nil)
		if data, ok := ours[IndexName]; ok && m.base.Index.isEdited(data) {
			m.beside(data, ours, theirs)
		}
	case in(ours) == 0 && !slices.ContainsFunc(names, m.wasMade), unedited && in(theirs) > 0:
		m.take(names, theirs, ours)
	case unedited && slices.ContainsFunc(names, m.wasMade): // it goes with what it describes
	case in(ours) == 0: // a person took it away
		for _, name := range names {
			if _, ok := theirs[name]; ok {
				m.keep(name, "", "deleted")
			}
		}
	case in(theirs) == 0:
		sum := sums(names, mine)
		for _, name := range names {
			if !m.wasMade(name) || sum[name] != m.base.Index.Files[name] {
				m.withoutNew(name, ours)
			}
		}
	case slices.ContainsFunc(names, m.wasMade) && m.base.Index.same(names, theirs, new): // the package did not change it
		m.take(names, ours, nil)
		m.out.Kept = append(m.out.Kept, m.base.Index.editedPage(names, ours)...)
	default:
		for name, text := range m.sections(names, mine, new, ours) {
			m.out.Files[name] = ended([]byte(text), ours[names[0]])
		}
	}
}

// beside keeps an edited index in a file that no one has.
func (m *merger) beside(data []byte, ours, theirs map[string][]byte) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.yours-%d.json", strings.TrimSuffix(IndexName, ".json"), n)
		if has, mine := ours[name]; mine && bytes.Equal(has, data) {
			return
		} else if _, new := theirs[name]; mine || new {
			continue
		}
		m.out.Files[name] = data
		m.keep(name, "", "edited")
		return
	}
}

func (m *merger) wasMade(name string) bool {
	_, ok := m.base.Index.Files[name]
	return ok
}

// take takes the files of one side, with the line ends of another one.
func (m *merger) take(names []string, from, ends map[string][]byte) {
	for _, name := range names {
		if data, ok := from[name]; ok {
			m.out.Files[name] = ended(data, ends[name])
		}
	}
}

// withoutNew merges a file of a page that the package does not have any more.
func (m *merger) withoutNew(name string, ours map[string][]byte) {
	mine, ok := ours[name]
	switch {
	case !ok:
	case m.wasMade(name):
		m.conflict(name, "", "package_removed")
		m.out.Files[name] = []byte(marked(string(mine), nil, "", m.to, m.mark))
	default: // a person's
		m.out.Files[name] = mine
	}
}

// ended is text with the line ends of mine.
func ended(text, mine []byte) []byte {
	if n := strings.Count(string(mine), "\r\n"); n > 0 && n == strings.Count(string(mine), "\n") {
		return []byte(strings.ReplaceAll(unix(string(text)), "\n", "\r\n"))
	}
	return text
}

// sections merges a page that both changed, or both added, and gives the text of each of its files: where a part begins and goes on is where
// it does so in the new version, and what only a person has stands behind what it followed.
func (m *merger) sections(names []string, ours, theirs []part, files map[string][]byte) map[string]string {
	made := m.base.Index.made(names, m.base.Files)
	o, t := byKey(ours), byKey(theirs)
	order, own := woven(ours, theirs, made)
	if own {
		m.keep(names[0], "", "order")
	}
	var out []part
	deleted := map[string]bool{}
	file := names[0]
	if len(theirs) > 0 { // an empty page has no parts
		file = theirs[0].file
	}
	for _, key := range order {
		mine, new := o[key], t[key]
		switch {
		case new != nil:
			file = new.file
		case !m.wasMade(mine.file): // a file of the person
			file = mine.file
		}
		if _, there := files[file]; mine == nil && !there && m.wasMade(file) { // with the file that a person took away
			if !deleted[file] && made.sum[short16(key)[:8]] != "" {
				deleted[file] = true
				m.keep(file, "", "deleted")
			}
			if made.sum[short16(key)[:8]] != "" || strings.HasPrefix(key, generated) {
				continue
			}
		}
		text, stays := m.part(file, mine, new, made)
		if !stays {
			continue
		}
		p := part{key: key, text: text, file: file}
		if new != nil && text == new.text {
			p.cuts = new.cuts
		}
		out = append(out, p.pieces()...)
	}
	return joined(out, ours, theirs)
}

func byKey(list []part) map[string]*part {
	out := make(map[string]*part, len(list))
	for i := range list {
		out[list[i].key] = &list[i]
	}
	return out
}

// part merges one part; mine or new is nil where a side has none.
func (m *merger) part(file string, mine, new *part, made *madePage) (text string, stays bool) {
	p := mine
	if p == nil {
		p = new
	}
	key := short16(p.key)[:8]
	was, inBase := made.sum[key]
	switch {
	case mine == nil && !inBase:
		return new.text, true
	case mine == nil:
		m.keep(file, new.title(), "deleted")
		return "", false
	case new == nil && !inBase:
		m.keep(file, mine.title(), "added")
		return mine.text, true
	case new == nil && mine.sum() == was:
		return "", false
	case new != nil && (mine.sum() == was || mine.sum() == new.sum()):
		return new.text, true
	case new != nil && inBase && new.sum() == was:
		m.keep(file, mine.title(), "edited")
		return mine.text, true
	}
	return m.both(file, mine, new, made, inBase)
}

// both merges a part that both sides changed.
func (m *merger) both(file string, mine, new *part, made *madePage, inBase bool) (string, bool) {
	key := short16(mine.key)[:8]
	regions, bare := kept(mine.text)
	without := part{key: mine.key, text: bare}
	unedited := inBase && len(regions) > 0 && without.sum() == made.sum[key]
	if new == nil {
		if unedited { // only the regions are a person's
			m.keep(file, mine.title(), "edited")
			head, _, _ := strings.Cut(mine.text, "\n")
			return head + "\n\n" + regionsText(regions), true
		}
		m.conflict(file, mine.title(), "package_removed")
		return marked(mine.text, nil, "", m.to, m.mark), true
	}
	if unedited {
		m.keep(file, mine.title(), "edited")
		return placed(new.text, regions), true
	}
	if inBase && made.known {
		merged, clashes := mergeLines(made.text[key], bare, new.text, m.to, m.mark)
		if clashes == 0 {
			m.keep(file, mine.title(), "edited")
		} else {
			m.conflict(file, mine.title(), "both_changed")
		}
		return placed(merged, regions), true
	}
	m.conflict(file, mine.title(), map[bool]string{true: "both_changed", false: "both_added"}[inBase])
	return marked(mine.text, nil, new.text, m.to, m.mark), true
}

// woven is the order of the parts of both: that of the package, unless a person has their own of the parts that were made. What only one side
// has stands behind what it follows there.
func woven(ours, theirs []part, made *madePage) (out []string, own bool) {
	o, t := byKey(ours), byKey(theirs)
	var mine, was []string
	for i := range ours {
		if p := &ours[i]; t[p.key] != nil && made.sum[short16(p.key)[:8]] != "" {
			mine = append(mine, short16(p.key)[:8])
		}
	}
	both := map[string]bool{}
	for _, key := range mine {
		both[key] = true
	}
	for _, key := range made.keys {
		if both[key] {
			was = append(was, key)
		}
	}
	first, second, have := theirs, ours, t
	if own = !slices.Equal(mine, was); own {
		first, second, have = ours, theirs, o
	}
	behind := map[string][]string{} // what only the second has, by what it follows in the first; "" is the start
	at := ""
	for i := range second {
		if key := second[i].key; have[key] != nil {
			at = key + "\x02"
		} else {
			behind[at] = append(behind[at], key)
		}
	}
	out = behind[""]
	for i := range first {
		out = append(append(out, first[i].key), behind[first[i].key+"\x02"]...)
	}
	return out, own
}

// joined are the files of parts, in their order. Parts that stood behind one another on neither side have an empty line between them.
func joined(list []part, sides ...[]part) map[string]string {
	next := map[[2]string]bool{}
	for _, side := range sides {
		for i := 1; i < len(side); i++ {
			next[[2]string{side[i-1].key, side[i].key}] = true
		}
	}
	files, last := map[string]*strings.Builder{}, map[string]string{}
	for _, p := range list {
		w, begun := files[p.file]
		if !begun {
			w = &strings.Builder{}
			files[p.file] = w
		}
		if begun && w.Len() > 0 && !frontKey(p.key) && !next[[2]string{last[p.file], p.key}] && last[p.file] != p.key {
			for written := w.String(); !strings.HasSuffix(written, "\n\n"); written = w.String() {
				w.WriteByte('\n')
			}
		}
		if written := w.String(); written != "" && !strings.HasSuffix(written, "\n") { // the last part of a text may end without one
			w.WriteByte('\n')
		}
		w.WriteString(p.text)
		last[p.file] = p.key
	}
	out := map[string]string{}
	for name, w := range files {
		out[name] = w.String()
	}
	return out
}

// marked is text that both sides changed, with markers as git has them; base is nil where it is not known.
func marked(mine string, base *string, new, to, mark string) string {
	var w strings.Builder
	block := func(mark, text string) {
		w.WriteString(mark + "\n" + text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			w.WriteByte('\n')
		}
	}
	block("<<<<<<< yours "+mark, mine)
	if base != nil {
		block("||||||| before "+mark, *base)
	}
	block("=======", new)
	fmt.Fprintf(&w, ">>>>>>> %s\n", to)
	return w.String()
}
