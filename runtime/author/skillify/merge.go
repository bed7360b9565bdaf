package skillify

import (
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
	for _, name := range slices.Sorted(maps.Keys(x.Files)) {
		data, there := ours[name]
		if !there {
			out = append(out, Place{name, "", "deleted"})
			continue
		}
		if x.Files[name] == sums(name, string(data)) {
			continue
		}
		made := x.made(name, nil)
		here := map[string]bool{}
		n := len(out)
		for _, p := range parts(name, unix(string(data))) {
			here[short16(p.key)[:8]] = true
			switch was, ok := made.sum[short16(p.key)[:8]]; {
			case !ok:
				out = append(out, Place{name, p.title(), "added"})
			case was != p.sum():
				out = append(out, Place{name, p.title(), "edited"})
			}
		}
		for _, key := range made.keys {
			if !here[key] {
				out = append(out, Place{name, "", "section_deleted"}) // only its sum is known
				break
			}
		}
		if len(out) == n { // another order
			out = append(out, Place{name, "", "order"})
		}
	}
	if data, ok := ours[IndexName]; !ok {
		out = append(out, Place{IndexName, "", "deleted"})
	} else if now, err := ReadIndex(data); err != nil || now.Self != x.Self {
		out = append(out, Place{IndexName, "", "edited"})
	}
	return out
}

// A madeFile is a file of a base: the sums of its parts by their hashed keys, and their texts where these are known.
type madeFile struct {
	keys  []string
	sum   map[string]string
	text  map[string]string
	known bool
}

func (x *Index) made(name string, files map[string][]byte) *madeFile {
	m := &madeFile{nil, map[string]string{}, map[string]string{}, false}
	if data, ok := files[name]; ok {
		m.known = true
		for _, p := range parts(name, unix(string(data))) {
			m.add(p.sum())
			m.text[short16(p.key)[:8]] = p.text
		}
		return m
	}
	for _, sum := range strings.Fields(x.Files[name]) {
		m.add(sum)
	}
	return m
}

func (m *madeFile) add(sum string) {
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
	names := map[string]bool{}
	for _, set := range []map[string][]byte{ours, theirs} {
		for name := range set {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		m.file(name, ours, theirs)
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

func (m *merger) file(name string, ours, theirs map[string][]byte) {
	mine, inOurs := ours[name]
	new, inTheirs := theirs[name]
	was, inBase := m.base.Index.Files[name]
	if name == IndexName { // of no person
		if inTheirs {
			m.out.Files[name] = new
		}
		return
	}
	same := func(data []byte) bool { return sums(name, string(data)) == was }
	switch {
	case !inBase && !inTheirs: // a person's
		m.out.Files[name] = mine
	case !inOurs && !inBase:
		m.out.Files[name] = new
	case !inOurs: // a person took it away
		if inTheirs {
			m.keep(name, "", "deleted")
		}
	case !inTheirs && same(mine):
	case !inTheirs:
		m.conflict(name, "", "package_removed")
		m.out.Files[name] = []byte(marked(string(mine), nil, "", m.to, m.mark))
	case inBase && same(mine):
		m.out.Files[name] = ended(new, mine)
	case inBase && same(new): // the package did not change it
		m.out.Files[name] = mine
		for _, p := range m.base.Index.Edited(map[string][]byte{name: mine}) {
			if p.File == name {
				m.out.Kept = append(m.out.Kept, p)
			}
		}
	default:
		m.out.Files[name] = ended([]byte(m.sections(name, unix(string(mine)), unix(string(new)))), mine)
	}
}

// ended is text with the line ends of mine.
func ended(text, mine []byte) []byte {
	if n := strings.Count(string(mine), "\r\n"); n > 0 && n == strings.Count(string(mine), "\n") {
		return []byte(strings.ReplaceAll(unix(string(text)), "\n", "\r\n"))
	}
	return text
}

// sections merges a file that both changed, or both added.
func (m *merger) sections(name, mine, new string) string {
	ours, theirs := parts(name, mine), parts(name, new)
	made := m.base.Index.made(name, m.base.Files)
	o, t := byKey(ours), byKey(theirs)
	text := map[string]string{} // of the parts that stay, by key
	for i := range theirs {
		p := &theirs[i]
		if s, stays := m.part(name, o[p.key], p, made); stays {
			text[p.key] = s
		}
	}
	for i := range ours {
		p := &ours[i]
		if t[p.key] != nil {
			continue
		}
		if s, stays := m.part(name, p, nil, made); stays {
			text[p.key] = s
		}
	}
	order, own := woven(ours, theirs, made)
	if own {
		m.keep(name, "", "order")
	}
	return joined(order, text, ours, theirs)
}

func byKey(list []part) map[string]*part {
	out := make(map[string]*part, len(list))
	for i := range list {
		out[list[i].key] = &list[i]
	}
	return out
}

// part merges one part; mine or new is nil where a side has none.
func (m *merger) part(file string, mine, new *part, made *madeFile) (text string, stays bool) {
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
func (m *merger) both(file string, mine, new *part, made *madeFile, inBase bool) (string, bool) {
	key := short16(mine.key)[:8]
	regions, bare := kept(mine.text)
	without := part{mine.key, bare}
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
func woven(ours, theirs []part, made *madeFile) (out []string, own bool) {
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

// joined are the parts that stay, in order. Parts that stood behind one another on neither side have an empty line between them.
func joined(order []string, text map[string]string, sides ...[]part) string {
	next := map[[2]string]bool{}
	for _, side := range sides {
		for i := 1; i < len(side); i++ {
			next[[2]string{side[i-1].key, side[i].key}] = true
		}
	}
	var w strings.Builder
	last, begun := "", false
	for _, key := range order {
		s, ok := text[key]
		if !ok {
			continue
		}
		if begun && w.Len() > 0 && !frontKey(key) && !next[[2]string{last, key}] {
			for written := w.String(); !strings.HasSuffix(written, "\n\n"); written = w.String() {
				w.WriteByte('\n')
			}
		}
		if written := w.String(); written != "" && !strings.HasSuffix(written, "\n") { // the last part of a text may end without one
			w.WriteByte('\n')
		}
		w.WriteString(s)
		last, begun = key, true
	}
	return w.String()
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
