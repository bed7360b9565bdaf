package skillify

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/skill"
)

// A part is a piece of a file that is kept or replaced as a whole: a key of the frontmatter, or a heading with what is below it up to
// the next one. The parts of a file are all of its text, in order. A file that is not Markdown is one part.
type part struct {
	key  string // unique in the page, and the same on that of another version of the package
	text string
	file string // the one that it begins in
	cuts []cutAt
}

// A cutAt is where a part goes on in another file of its page.
type cutAt struct {
	offset int
	file   string
}

// title is the heading of the part for people; of a key of the frontmatter, the key.
func (p *part) title() string {
	line, _, _ := strings.Cut(p.text, "\n")
	if frontKey(p.key) {
		return strings.TrimPrefix(p.key, frontPrefix)
	}
	if level(line) > 0 {
		return strings.TrimSpace(line)
	}
	return ""
}

const frontPrefix = "front:"

func frontKey(key string) bool { return strings.HasPrefix(key, frontPrefix) }

// stampKeys are the keys of a stamp: a person who keeps edits of a skill that was made has the second of a pair.
var stampKeys = [][2]string{{"corteza-generated-from", "corteza-derived-from"}, {"generated_from", "derived_from"}}

// sum identifies the key and the text of a part, whatever its line ends are and by whom the stamp says it is.
func (p *part) sum() string {
	text := p.text
	if strings.HasPrefix(p.key, frontPrefix) {
		for _, pair := range stampKeys {
			text = strings.Replace(text, pair[1]+":", pair[0]+":", 1)
		}
	}
	return short16(p.key)[:8] + short16(strings.TrimRight(text, "\n"))
}

func short16(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}

// A cutter cuts the files of a page into parts, one after the other.
type cutter struct {
	out   []part
	count map[string]int
	file  string
}

// parts cuts the one file of a page.
func parts(name, text string) []part {
	c := &cutter{count: map[string]int{}}
	c.cut(name, text, "")
	return c.out
}

// cut cuts the next file of a page, whose text has the line ends of [unix]. next is the file that the page goes on in, "" if there is none.
func (c *cutter) cut(name, text, next string) {
	c.file = name
	switch {
	case path.Ext(name) != ".md":
		c.add("", text)
		return
	case name == skill.FileName:
		text = c.front(text)
	}
	tail := ""
	if rest, ok := strings.CutSuffix(text, "\n\n"+goesOn(next)); ok && next != "" {
		text, tail = rest+"\n\n", goesOn(next)
	}
	var below [7]string
	title := true
	if len(c.out) > 0 {
		if line, rest, ok := strings.Cut(text, "\n\n"); ok && strings.HasPrefix(line, "Part ") && !strings.Contains(line, "\n") {
			c.add(generated+"head "+name, text[:len(text)-len(rest)])
			below, title = belowIn(line), false
			text = c.more(rest)
		}
	}
	c.sections(text, below, title)
	if tail != "" {
		c.add(generated+"tail "+name, tail)
	}
}

// generated begins the keys of lines that say in which file a page goes on.
const generated = "\x03"

// more gives what stands above the first heading of a file to the part that it goes on from, and returns the rest.
func (c *cutter) more(text string) (rest string) {
	at := heading(text)
	if at == 0 {
		return text
	}
	for i := len(c.out) - 1; i >= 0; i-- {
		if p := &c.out[i]; !strings.HasPrefix(p.key, generated) {
			if len(p.cuts) == maxCuts {
				return text
			}
			p.cuts = append(p.cuts, cutAt{len(p.text), c.file})
			p.text += text[:at]
			return text[at:]
		}
	}
	return text
}

// maxCuts bounds how many files one part goes over: a longer text is a part in each of the others.
const maxCuts = 100

// heading is the offset of the first heading outside of code, or the end.
func heading(text string) (pos int) {
	fence := ""
	for line := range strings.Lines(text) {
		was := fence
		if fence = pkgdoc.Fenced(strings.TrimRight(line, "\n"), was); level(strings.TrimRight(line, "\n")) > 0 && fence == "" && was == "" {
			return pos
		}
		pos += len(line)
	}
	return pos
}

func (c *cutter) add(key, text string) {
	if text != "" || path.Ext(c.file) != ".md" {
		c.out = append(c.out, part{key: numbered(c.count, key), text: text, file: c.file})
	}
}

// pagesOf are the pages of files by their names: the first file of each, in which it begins.
func pagesOf(sets ...map[string]bool) map[string][]string {
	names := map[string]bool{}
	for _, set := range sets {
		for name := range set {
			names[name] = true
		}
	}
	out, later := map[string][]string{}, map[string]bool{}
	for name := range names {
		if stem, number, ok := cutLast(strings.TrimSuffix(name, ".md"), "-part"); ok && names[stem+".md"] && strings.Trim(number, "0123456789") == "" && name != stem+".md" {
			continue
		}
		for n, at := 2, name; names[at]; n++ {
			out[name] = append(out[name], at)
			later[at] = true
			at = partName(name, n)
		}
	}
	for name := range names { // of a row with a gap
		if !later[name] {
			out[name] = []string{name}
		}
	}
	return out
}

// partName is the name of the n-th file of a page.
func partName(page string, n int) string {
	return strings.TrimSuffix(page, ".md") + "-part" + strconv.Itoa(n) + ".md"
}

// cutPage cuts the files of a page that are there.
func cutPage(names []string, files map[string][]byte) []part {
	c := &cutter{count: map[string]int{}}
	for i, name := range names {
		next := ""
		if i+1 < len(names) {
			next = names[i+1]
		}
		if data, ok := files[name]; ok {
			c.cut(name, unix(string(data)), next)
		}
	}
	return c.out
}

// pieces are a part in the files that it is in.
func (p *part) pieces() (out []part) {
	at, file := 0, p.file
	for _, c := range p.cuts {
		out = append(out, part{key: p.key, text: p.text[at:c.offset], file: file})
		at, file = c.offset, c.file
	}
	return append(out, part{key: p.key, text: p.text[at:], file: file})
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// unix is text with LF at its line ends.
func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// front cuts the frontmatter into its keys, and those of metadata; rest is what follows it.
func (c *cutter) front(text string) (rest string) {
	if !strings.HasPrefix(strings.TrimPrefix(text, "\ufeff"), "---\n") {
		return text
	}
	at, top, was := 0, "", len(c.out)
	add := func(key string, end int) {
		c.add(frontPrefix+key, text[at:end])
		at = end
	}
	key := ""
	for pos := 0; pos < len(text); {
		end := pos + strings.IndexByte(text[pos:], '\n') + 1
		if end == pos {
			end = len(text)
		}
		line := strings.TrimRight(text[pos:end], "\n")
		switch name, indent, ok := yamlKey(line); {
		case pos > 0 && line == "---":
			add(key, pos)
			add("end", end)
			return text[end:]
		case ok && indent == 0:
			add(key, pos)
			key, top = stamp(name), name
		case ok && indent == 2 && top == "metadata":
			add(key, pos)
			key = "metadata." + stamp(name)
		}
		pos = end
	}
	c.out = c.out[:was]
	clear(c.count)
	return text // it has no end
}

// yamlKey is the key at the start of a line in block style.
func yamlKey(line string) (name string, indent int, ok bool) {
	indent = len(line) - len(strings.TrimLeft(line, " "))
	name, _, ok = strings.Cut(line[indent:], ":")
	return name, indent, ok && name != "" && name[0] != '-' && !strings.ContainsAny(name, " #\"'{[")
}

// stamp is a key of the frontmatter as skills that nobody edited have it.
func stamp(key string) string {
	for _, pair := range stampKeys {
		if key == pair[1] {
			return pair[0]
		}
	}
	return key
}

// sections cuts Markdown at its headings; names are those above it. The title, if the first one is it, is no part of the keys: it names a version.
func (c *cutter) sections(text string, names [7]string, first bool) {
	key, fence, at := "", "", 0
	for pos := 0; pos < len(text); {
		end := pos + strings.IndexByte(text[pos:], '\n') + 1
		if end == pos {
			end = len(text)
		}
		line := strings.TrimRight(text[pos:end], "\n")
		was := fence
		fence = pkgdoc.Fenced(line, was)
		if n := level(line); n > 0 && fence == "" && was == "" {
			c.add(key, text[at:pos])
			at = pos
			name := strings.TrimSpace(strings.Trim(line, "# \t"))
			if n == 1 && first {
				name = "" // the title
			}
			first = false
			names[n] = name
			clear(names[n+1:])
			key = strings.Join(names[1:n+1], "\x00") + "\x00"
		}
		pos = end
	}
	c.add(key, text[at:])
}

// level is that of the heading on a line, 0 if it is none.
func level(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n == 0 || n > 6 || len(line) > n && line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

// numbered is a key that is unique.
func numbered(count map[string]int, key string) string {
	count[key]++
	if n := count[key]; n > 1 {
		return key + "\x01" + strconv.Itoa(n)
	}
	return key
}
