package prose

import (
	"bytes"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// maxFiles bounds how many files a conversion writes. What lies beyond stays in SKILL.md.
const maxFiles = 200

// A region is a part of SKILL.md from a heading to the next one of level 2 or less: lines first up to, not including, end. That of a phase
// goes to the next one of its own level or less.
type region struct {
	first, end int
	title      string // "" in front of the first heading
	whole      bool   // it can move as a whole; of others only the blocks of data move
}

// move takes what lint wants in files of its own out of SKILL.md. A section moves whole, so that code stays with the text
// about it; of the preamble, Rules and Response only the blocks move. Nothing moves where fsys is nil.
// The sections with one of the headings of stays move in any case, and are read below the line of the tree that it has for them.
func (conv *Conversion) move(fsys fs.FS, stays map[string]string) {
	doc, err := skill.Read(conv.Source)
	if fsys == nil || err != nil {
		return
	}
	c := &reader{paper: newPaper(conv.Source), doc: doc}
	c.scan()
	m := &mover{reader: c, fsys: conv.over(fsys), taken: map[string]bool{}, phases: map[string]string{}, stays: stays}
	m.keep(1, doc.BodyLine)
	regions := m.regions()
	for _, r := range regions {
		if blocks := m.blocks(r); stays[r.title] == "" && m.beside(r, blocks) {
			m.besides = append(m.besides, r)
		}
	}
	for _, r := range regions {
		blocks := m.blocks(r)
		switch {
		case r.agent(): // no explorer of a tree is meant
			m.section(r)
		case r.whole && len(m.files) < maxFiles && stays[r.title] != "":
			m.section(r)
			m.phases[stays[r.title]] = m.files[len(m.files)-1].Name
		case m.beside(r, blocks):
			m.background(r)
		case len(blocks) == 0 || len(m.files) == maxFiles:
			m.keep(r.first, r.end)
		case r.whole:
			m.section(r)
		default:
			m.parts(r, blocks)
		}
	}
	if len(m.files) == 0 {
		return
	}
	conv.Source = []byte(m.define(string(m.withReads()), m.definitions()))
	conv.Files = append(conv.Files, m.files...)
	conv.lose("%s moved to references, and the tree reads each before its first step, or in the phase that it is of: see which step needs which", diag.Count(len(m.files), "part"))
}

// A mover writes SKILL.md again without its blocks of data.
type mover struct {
	*reader
	fsys  fs.FS
	taken map[string]bool
	files []File
	text  bytes.Buffer
	// phases are the files that only a phase needs, by its line of the tree.
	phases  map[string]string
	stays   map[string]string // as in move
	besides []region          // text that no step would see
}

// beside reports whether a region is text alone, beside the tree: no step would see it there.
func (m *mover) beside(r region, blocks []block) bool {
	return r.whole && !r.agent() && len(blocks) == 0 && m.says(r) && !ofChoice(r.title)
}

// background moves the regions of text, all to one file, where the first of them stands.
func (m *mover) background(r region) {
	switch {
	case len(m.besides) == 1:
		m.section(r)
	case r.first == m.besides[0].first:
		var text strings.Builder
		for _, r := range m.besides {
			text.Write(m.src[m.start(r.first):m.start(r.end)])
		}
		m.text.WriteString("## " + backgroundWord + m.nl + m.nl + "See `" + m.add(backgroundWord, text.String()) + "`." + m.nl + m.nl)
	}
}

const backgroundWord = "Background"

// keep writes lines first up to, not including, end.
func (m *mover) keep(first, end int) { m.text.Write(m.src[m.start(first):m.start(end)]) }

// regions cuts the body at its headings.
func (m *mover) regions() (out []region) {
	r := region{first: m.doc.BodyLine, end: m.lastLine() + 1}
	for _, n := range m.heads {
		level, title := headLevel(m.line(n)), headText(m.line(n))
		if level > 2 && r.title != "Tree" && m.stays[title] == "" && (m.stays[r.title] == "" || level > headLevel(m.line(r.first))) {
			continue
		}
		r.end = n
		out = append(out, r)
		fixed := level < 2 || level == 2 && (title == "Tree" || title == "Rules" || strings.HasPrefix(title, "Response"))
		r = region{first: n, end: m.lastLine() + 1, title: title, whole: !fixed}
	}
	return append(out, r)
}

// says reports whether there is text below the heading of a region.
func (m *mover) says(r region) bool {
	for n := r.first + 1; n < r.end; n++ {
		if k := m.kinds[n]; k == codeLine || k == textLine && !m.moved(n) {
			return true
		}
	}
	return false
}

// moved reports whether a line says only which file has the text.
func (m *mover) moved(n int) bool {
	name, ok := strings.CutPrefix(strings.TrimSpace(m.line(n)), "See `references/")
	return ok && strings.HasSuffix(name, "`.") && m.exists("references/"+strings.TrimSuffix(name, "`."))
}

// ofChoice reports whether a section is for who chooses a skill rather than for who follows it.
func ofChoice(title string) bool {
	lower := strings.ToLower(title)
	return slices.ContainsFunc([]string{"when to use", "when not to use", "when to activate", "related ", "see also", "table of contents", "contents", "changelog", "version history", "license", "credits"},
		func(begin string) bool { return strings.HasPrefix(lower, begin) })
}

// A block is lines of code, a table or data, from first up to, not including, end.
type block struct{ first, end int }

// agent reports whether a region would be read as the Agent section of a tree.
func (r region) agent() bool { return r.whole && r.title == "Agent" }

// blocks finds the data of a region, as the rule CNP-S04 does.
func (m *mover) blocks(r region) (out []block) {
	for n := r.first; n < r.end; n++ {
		text := strings.TrimSpace(m.line(n))
		end := n + 1
		switch {
		case m.kinds[n] == codeLine:
			end = m.fenceEnd(n, r.end)
		case m.kinds[n] == textLine && r.title == "Tree":
			continue
		case m.kinds[n] == textLine && (text[0] == '|' && strings.Contains(m.line(end), "--") || text == "{" || text == "[{" || strings.HasPrefix(text, `{"`)):
			for end < r.end && m.kinds[end] == textLine {
				end++
			}
		default:
			continue
		}
		out = append(out, block{n, end})
		n = end - 1
	}
	return out
}

// fenceEnd is the line behind the fence that opens on line n.
func (m *mover) fenceEnd(n, end int) int {
	var code fence
	code.opens(strings.TrimSpace(m.line(n)))
	code.nests = code.nests && m.nests
	for n++; n < end && m.kinds[n] == codeLine && code.mark != ""; n++ {
		code.holds(strings.TrimSpace(m.line(n)))
	}
	return n
}

// section moves a region but its heading.
func (m *mover) section(r region) {
	name := m.add(r.title, string(m.src[m.start(r.first+1):m.start(r.end)]))
	if r.agent() {
		m.text.WriteString("## " + notesWord + r.title + m.nl)
	} else {
		m.keep(r.first, r.first+1)
	}
	m.text.WriteString(m.nl + "See `" + name + "`." + m.nl)
	if r.end <= m.lastLine() {
		m.text.WriteString(m.nl)
	}
}

// parts moves blocks of a region, all to one file.
func (m *mover) parts(r region, blocks []block) {
	var moved strings.Builder
	for i, b := range blocks {
		if i > 0 {
			moved.WriteString(m.nl)
		}
		moved.Write(m.src[m.start(b.first):m.start(b.end)])
	}
	title := r.title
	if title == "" {
		title = "Introduction"
	}
	name := m.add(title, moved.String())
	at := r.first
	for _, b := range blocks {
		m.keep(at, b.first)
		line := m.line(b.first)
		m.text.WriteString(line[:indentOf(line)] + "See `" + name + "`." + m.nl)
		at = b.end
	}
	m.keep(at, r.end)
}

// add writes a file, and returns its path, which nothing has yet.
func (m *mover) add(title, text string) string {
	slug := slugOf(title)
	name := "references/" + slug + ".md"
	for i := 2; m.taken[name] || m.exists(name); i++ {
		name = "references/" + slug + "-" + strconv.Itoa(i) + ".md"
	}
	m.taken[name] = true
	text = strings.Trim(text, "\r\n")
	m.files = append(m.files, File{name, "# " + title + m.nl + m.nl + relinked(text) + m.nl})
	return name
}

func (m *mover) exists(name string) bool {
	_, err := fs.Stat(m.fsys, name)
	return err == nil
}

const maxSlug = 40

// slugOf is a title as the name of a file: lower-case letters, digits and single hyphens.
func slugOf(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	switch s := strings.Trim(b.String(), "-"); s {
	case "", "ops": // the file of ops has that name
		return "notes"
	case "con", "prn", "aux", "nul": // no file of Windows can have it
		return "about-" + s
	default:
		if len(s) == 4 && (s[:3] == "com" || s[:3] == "lpt") {
			return "about-" + s
		}
		return s
	}
}

// relinked is Markdown whose relative links are right one directory deeper. What code holds is no link.
func relinked(text string) string {
	var b strings.Builder
	var code fence
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); code.mark != "" {
			code.holds(trimmed)
			b.WriteString(line)
			continue
		} else if code.opens(trimmed) {
			b.WriteString(line)
			continue
		}
		if m := definition().FindStringSubmatchIndex(line); m != nil && line[m[2]] != '^' {
			target, rest, _ := strings.Cut(line[m[4]:], " ")
			line = line[:m[4]]
			if relative(strings.TrimRight(target, "\r\n")) {
				line += "../"
			}
			line += target
			if rest != "" {
				line += " " + rest
			}
		}
		for {
			i := strings.Index(line, "](")
			if i < 0 {
				break
			}
			b.WriteString(line[:i+2])
			line = line[i+2:]
			if target, _, _ := strings.Cut(line[:min(len(line), 300)], ")"); relative(target) {
				b.WriteString("../")
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// relative reports whether the target of a link is a path from the file that it stands in.
func relative(target string) bool {
	return target != "" && !strings.ContainsAny(target, ":\n <>$") && !strings.ContainsAny(target[:1], "/#`\"'") && strings.ContainsAny(target, "./")
}

// withReads is what was kept, with a step for each file: below the phase that needs it, else below the label of the tree.
func (m *mover) withReads() []byte {
	out := m.text.Bytes()
	at := bytes.Index(out, []byte("## Tree"+m.nl))
	if at < 0 {
		return out
	}
	label := bytes.Index(out[at:], []byte("\n* "))
	if label < 0 {
		return out
	}
	at += label + 1
	var b bytes.Buffer
	b.Write(out[:at])
	below := map[string]bool{} // files that a phase reads
	var tree bytes.Buffer
	first := 0 // the end of the label
	inTree, pos := true, 0
	for l := range bytes.Lines(out[at:]) {
		tree.Write(l)
		if first == 0 {
			first = tree.Len()
		}
		line := string(bytes.TrimRight(l, "\r\n"))
		inTree = inTree && strings.HasPrefix(strings.TrimLeft(line, " "), "* ")
		if file := m.phases[line]; inTree && file != "" && !below[file] {
			below[file] = true
			tree.WriteString(line[:indentOf(line)] + "  * Read `" + file + "`" + m.nl)
			if rest := out[at+pos+len(l):]; !bytes.HasPrefix(rest, []byte(line[:indentOf(line)]+"  ")) { // all that it does is in the file
				tree.WriteString(line[:indentOf(line)] + "  * Do what `" + file + "` says" + m.nl)
			}
		}
		pos += len(l)
	}
	b.Write(tree.Bytes()[:first])
	for _, f := range m.files {
		if !below[f.Name] {
			b.WriteString("  * Read `" + f.Name + "`" + m.nl)
		}
	}
	b.Write(tree.Bytes()[first:])
	return b.Bytes()
}
