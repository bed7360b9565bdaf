package chunk

import (
	"bytes"
	"path"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

const (
	tallCode      = 8     // lines from which a code block is a piece
	longParagraph = 600   // bytes from which a paragraph in a section is a node: about three times what its handle costs
	maxName       = 200   // bytes of a heading or info string
	maxHeading    = 4_000 // bytes of one that are looked at for it
)

// markdown makes blocks of a Markdown file and returns its language, which its text may decide.
func (d *divider) markdown(name, language string) string {
	body := frontmatter(d.src)
	leaves := scanBlocks(d.src, body)
	d.blocks = make([]block, 0, len(leaves)+1)
	if body > 0 {
		start, end := 0, body
		start, end = d.trim(start, end)
		part := Part{Type: Chunk, Region: d.lines.region(start, end, 0)}
		if language == "skill" {
			part.Name = skillName(name, d.src)
		}
		d.blocks = append(d.blocks, block{part: part, role: own})
	}
	d.sections(leaves)
	language = d.trees(name, language)
	d.nest()
	for i := range d.blocks {
		b := &d.blocks[i]
		b.from, b.to = b.part.Start, b.part.End
		p := b.part.Parent
		if p < 0 || b.part.Type == Chunk {
			continue
		}
		if b.part.Type == Section || b.part.Type == Op {
			d.blocks[p].gaps = false // what it says itself is a chunk of it
		}
		if b.part.Type != Node {
			b.part.Owner = d.blocks[p].part.Name
		}
	}
	for i := range d.blocks {
		if b := &d.blocks[i]; b.gaps && d.large(b.from, b.to) {
			b.gaps = false
		}
	}
	return language
}

// sections makes blocks of leaves.
func (d *divider) sections(leaves []leaf) {
	var open []int // sections, the outermost first
	closeTo := func(level, at int) {
		for len(open) > 0 && d.blocks[open[len(open)-1]].part.Level >= level {
			p := &d.blocks[open[len(open)-1]].part
			_, p.End = d.trim(p.Start, at)
			open = open[:len(open)-1]
		}
	}
	near := 0
	for _, l := range leaves {
		if len(d.blocks) == MaxNodes-MaxPieces {
			break
		}
		if l.start, l.end = d.trim(l.start, l.end); l.start >= l.end {
			continue // form feeds, which are text to CommonMark
		}
		b := block{}
		switch l.kind {
		case headingLeaf:
			if l.nested {
				continue // of a quote or item, not of the document
			}
			closeTo(l.level, l.start)
			open = append(open, len(d.blocks))
			b.part.Type, b.part.Level, b.role, b.gaps = Section, l.level, container, true
			b.part.Name = cutName(plain(d.src[l.textStart:min(l.textEnd, l.textStart+maxHeading)]))
		case fencedLeaf, indentedLeaf:
			b.part.Type = CodeBlock
			b.part.Name = cutName(string(d.src[l.textStart:min(l.textEnd, l.textStart+maxHeading)]))
		case paragraphLeaf:
			if len(open) > 0 && l.end-l.start < longParagraph {
				continue
			}
			b.part.Type = Paragraph
		default:
			continue
		}
		b.part.Region = d.lines.region(l.start, l.end, near)
		near = b.part.FirstLine - 1
		if b.part.Type == CodeBlock && b.part.LastLine-b.part.FirstLine+1 >= tallCode {
			b.role = own
		}
		d.blocks = append(d.blocks, b)
	}
	closeTo(0, len(d.src))
	for i := range d.blocks {
		if p := &d.blocks[i].part; p.Type == Section {
			p.Region = d.lines.region(p.Start, p.End, p.FirstLine-1)
		}
	}
}

// frontmatter returns where what follows the frontmatter starts, 0 if there is none: lines between "---" (YAML) or "+++" (TOML)
// at the start of the file.
func frontmatter(src []byte) int {
	body := bytes.TrimPrefix(src, []byte("\ufeff"))
	at := len(src) - len(body)
	line, rest, ok := bytes.Cut(body, []byte{'\n'})
	fence := string(bytes.TrimRight(line, " \t\r"))
	if !ok || fence != "---" && fence != "+++" {
		return 0
	}
	at += len(line) + 1
	for len(rest) > 0 {
		line, after, ok := bytes.Cut(rest, []byte{'\n'})
		at += len(line)
		if ok {
			at++
		}
		if string(bytes.TrimRight(line, " \t\r")) == fence {
			return at
		}
		rest = after
	}
	return 0
}

// skillName returns the name of the skill whose SKILL.md is at name.
func skillName(name string, src []byte) string {
	if doc, err := skill.Read(src); err == nil && doc.Name != "" {
		return cutName(doc.Name)
	}
	if dir := path.Base(path.Dir(name)); dir != "." && dir != "/" {
		return cutName(dir)
	}
	return ""
}

// cutName cuts s to maxName bytes, at the start of a character.
func cutName(s string) string { return diag.Head(s, maxName) }
