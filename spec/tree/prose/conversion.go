package prose

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// A File is one that a conversion adds to a skill. Its path is inside the skill, and was free before.
type File struct{ Name, Text string }

// A Conversion is a skill with a tree: its SKILL.md, the files that it reads besides, and what a person should look at.
type Conversion struct {
	Source []byte
	Files  []File
	Losses []string
}

// maxConversions bounds how often a skill is written again because lint refuses what was written: each time an item
// that is refused is written plainer, and there are three plainer ways.
const maxConversions = 5

// ToTree is [FromProse] for a whole skill, whose files are fsys: code, tables and data, which no SKILL.md with a tree
// may hold, move to files in references, which the tree reads first. Keys of hosts move below metadata, and the
// manifest is written. An item that lint refuses as a branch or question stays a step of text, whole. Where there are lists, and none
// is surely the steps, the whole text moves, and the tree is one step that does what it says.
func ToTree(src []byte, name string, fsys fs.FS) (Conversion, error) {
	mode := map[int]writing{}
	for pass := 0; ; pass++ {
		out, c, err := fromProse(src, name, mode)
		switch {
		case err != nil && c != nil && c.unsure && fsys != nil:
			conv, err := c.oneStep(fsys, name)
			if err == nil {
				conv.follow(src)
			}
			return conv, err
		case err != nil:
			return Conversion{}, err
		}
		conv := Conversion{Source: out, Losses: c.losses}
		conv.move(fsys, c.stays)
		found := conv.mend(fsys, name)
		if bytes.Contains(conv.Source, []byte("## "+notesWord)) { // what stands there was no text beside the tree before
			conv.move(fsys, nil)
			found = conv.mend(fsys, name)
		}
		if pass == maxConversions || !c.plainer(mode, conv, found) {
			conv.follow(src)
			return conv, nil
		}
	}
}

// plainer makes the items plainer that findings about conv refuse, and reports whether there were any.
func (c *reader) plainer(mode map[int]writing, conv Conversion, found []diag.Finding) (again bool) {
	written := c.linesIn(conv.Source)
	for _, f := range found {
		i := written[f.Line]
		if f.Severity != diag.SeverityError || f.File != skill.FileName || i < 1 {
			continue
		}
		if f.Rule == check.Chain {
			i = c.opener(i)
		}
		if at := c.from[i]; mode[at] < maxMode {
			mode[at]++
			again = true
		}
	}
	return again
}

// linesIn are the indices of c.out by the lines of src, which may have more steps among them.
func (c *reader) linesIn(src []byte) map[int]int {
	at := max(0, bytes.Index(src, []byte("## Tree"+c.nl)))
	n := bytes.Count(src[:at], []byte("\n"))
	lines, i := map[int]int{}, 0
	for l := range bytes.Lines(src[at:]) {
		n++
		if i < len(c.out) && string(bytes.TrimRight(l, "\r\n")) == c.out[i] {
			lines[n] = i
			i++
		}
	}
	return lines
}

// unsaid makes questions text that would end the skill by an answer of which the text says nothing, and reports whether there were any.
func (c *reader) unsaid(mode map[int]writing, src []byte) (again bool) {
	s, err := tree.Load(written{skill.FileName: src}, c.doc.Name)
	if err != nil || s.Tree == nil {
		return false
	}
	ends := check.FindFacts(s).Ends
	written := c.linesIn(src)
	tree.Walk(s.Tree.Nodes, func(n *tree.Node) bool {
		if i := written[n.Pos.Line]; len(ends[n.ID]) > 0 && i >= 1 && mode[c.from[i]] == free {
			mode[c.from[i]] = plain
			again = true
		}
		return true
	})
	return again
}

// maxOpener bounds how many lines opener looks through, and maxHeadings how many headings change in one pass.
const (
	maxOpener   = 200
	maxHeadings = 50
)

// opener is the line of the tree that is refused where something stands below it: of a line in a branch the line itself.
func (c *reader) opener(i int) int {
	for j := i - 1; j > max(0, i-maxOpener); j-- {
		if indentOf(c.out[j]) >= indentOf(c.out[i]) {
			continue
		}
		word, _, _ := strings.Cut(strings.TrimLeft(c.out[j], " *"), " ")
		if _, primitive := tree.Primitive(word); primitive {
			return i
		}
		return j
	}
	return i
}

// mend applies what lint can mend outside of the steps, and returns what is left.
func (conv *Conversion) mend(fsys fs.FS, name string) (found []diag.Finding) {
	conv.moveKeys()
	for range maxConversions {
		s, err := tree.Load(conv.over(fsys), name)
		if err != nil {
			return nil
		}
		found = check.Check(s)
		var fixes []diag.Fix
		heads := 0
		for _, f := range found {
			switch {
			case f.File != skill.FileName:
			case f.Rule == check.NearTree && f.Fix == nil && heads < maxHeadings:
				heads++
				fixes = append(fixes, conv.unhead(f.Line)...)
			case f.Fix != nil && outsideSteps(f.Rule):
				fixes = append(fixes, *f.Fix)
			}
		}
		if len(fixes) == 0 {
			return found
		}
		conv.Source = skill.Apply(conv.Source, fixes)
	}
	return found
}

// outsideSteps reports whether a rule is about the frontmatter, the guard or the manifest.
func outsideSteps(rule string) bool {
	id, _ := strings.CutPrefix(rule, "CNP-")
	return id != rule && id != "" && strings.IndexByte("FPN", id[0]) >= 0
}

// unhead writes a heading that could be one of a tree as bold text or, behind the tree, as one that could not.
func (conv *Conversion) unhead(line int) []diag.Fix {
	p := newPaper(conv.Source)
	start, end := p.start(line), p.start(line+1)
	old := strings.TrimRight(string(conv.Source[start:end]), "\r\n")
	title := headText(old)
	if headLevel(old) == 0 || title == "" || strings.HasPrefix(title, notesWord) {
		return nil
	}
	text := "**" + strings.ReplaceAll(title, "*", "") + "**"
	if bytes.Contains(conv.Source[:start], []byte("## Tree"+p.nl)) { // where text would be a line among the steps
		text = "## " + notesWord + title
	}
	conv.lose("the heading %q is %q now, since it reads like one of a tree", title, text)
	return []diag.Fix{{Start: start, End: start + len(old), Text: text}}
}

const notesWord = "Notes: "

func (conv *Conversion) lose(format string, args ...any) {
	if len(conv.Losses) < maxLosses {
		conv.Losses = append(conv.Losses, diag.Position{File: skill.FileName}.String()+": "+diag.Printable(fmt.Sprintf(format, args...)))
	}
}

// moveKeys moves the keys of hosts below metadata. Those that keep a skill from a model stay where hosts obey them.
func (conv *Conversion) moveKeys() {
	doc, err := skill.Read(conv.Source)
	if err != nil || doc.V1 != nil {
		return
	}
	var edits []diag.Fix
	var lines, names []string
	var meta *skill.Field
	for i, f := range doc.Fields {
		if f.KeySpan.Column != 1 {
			return
		}
		if f.Key == "metadata" {
			meta = &doc.Fields[i]
		}
		if _, host := skill.LookupKey(f.Key); !host {
			continue
		} else if check.Limit(f) {
			conv.lose("%s stays at top level: below metadata no host would obey it", f.Key)
			continue
		}
		cut := cutField(conv.Source, f)
		edits = append(edits, cut)
		names = append(names, f.Key)
		for l := range strings.Lines(string(conv.Source[cut.Start:cut.End])) {
			lines = append(lines, strings.TrimRight(l, "\r\n"))
		}
	}
	if len(names) == 0 {
		return
	}
	p := newPaper(conv.Source)
	add, ok := p.below(meta, lines)
	if !ok {
		return
	}
	if meta == nil { // one edit writes the key where the first of them stood
		add.Start, add.End = edits[0].Start, edits[0].End
		edits = edits[1:]
	}
	out := skill.Apply(conv.Source, append(edits, add))
	if after, err := skill.Read(out); err != nil || len(after.Fields) == 0 {
		return
	}
	conv.Source = out
	conv.lose("moved below metadata, where no host obeys it: %s", strings.Join(names, ", "))
}

// below is the edit that writes lines as entries of metadata, which is nil where there is none yet.
func (p *paper) below(meta *skill.Field, lines []string) (diag.Fix, bool) {
	indent := "  "
	at := 0
	head := "metadata:" + p.nl
	if meta != nil {
		if meta.Value.Kind != skill.Map || meta.Value.Style != skill.Lines || len(meta.Value.Fields) == 0 {
			return diag.Fix{}, false
		}
		first := meta.Value.Fields[0].KeySpan
		at, head = p.start(first.Line), ""
		if indent = string(p.src[at:first.Start]); strings.Trim(indent, " ") != "" {
			return diag.Fix{}, false
		}
	}
	for i, l := range lines {
		if l != "" {
			lines[i] = indent + l
		}
	}
	return diag.Fix{Start: at, End: at, Text: head + p.text(lines)}, true
}

// over is fsys with what was written.
func (conv *Conversion) over(fsys fs.FS) fs.FS {
	files := written{skill.FileName: conv.Source}
	for _, f := range conv.Files {
		files[f.Name] = []byte(f.Text)
	}
	if fsys == nil {
		return files
	}
	return layered{files, fsys}
}

// layered are files above others. Directories are those of the lower ones.
type layered struct {
	upper written
	lower fs.FS
}

func (l layered) Open(name string) (fs.File, error) {
	if f, err := l.upper.Open(path.Clean(name)); err == nil {
		return f, nil
	}
	return l.lower.Open(name)
}
