package prose

import (
	"io/fs"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// oneStep is the skill with all of its text but Rules and Response in a file, and a tree of one step that does what the file says: a list
// that is no procedure would be a wrong tree.
func (c *reader) oneStep(fsys fs.FS, name string) (Conversion, error) {
	m := &mover{reader: c, fsys: fsys, taken: map[string]bool{}}
	var text strings.Builder // what moves
	keep := ""
	titled := false
	for _, r := range m.regions() {
		lines := string(c.src[c.start(r.first):c.start(r.end)])
		switch {
		case !r.whole && r.title != "" && headLevel(c.line(r.first)) == 2: // Rules and Response
			keep += strings.TrimRight(lines, "\r\n") + c.nl + c.nl
			continue
		case r.title == "" && r.first == r.end:
			continue
		}
		titled = titled || strings.TrimSpace(text.String()) == "" && headLevel(c.line(r.first)) == 1
		text.WriteString(lines)
	}
	file := m.addWhole(text.String(), titled)
	c.out = []string{"* " + label(name), "  * Read `" + file + "`", "  * Do what `" + file + "` says, for $ARGUMENTS"}
	c.lose(0, "there are lists, and none is surely the steps: all text is in "+file+" now, and the tree is one step that does what it says; "+
		"write the steps below a heading \"## Steps\" for a tree of them")
	for _, own := range [...]string{"$ARGUMENTS", "!`", "${"} {
		if strings.Contains(text.String(), own) {
			c.lose(0, file+" has "+own+", which hosts replace in SKILL.md alone")
		}
	}
	body := "## Tree" + c.nl + c.nl + c.text(c.out) + strings.ReplaceAll(c.tail(), "\n", c.nl)
	if keep != "" {
		body += c.nl + strings.TrimSuffix(keep, c.nl)
	}
	if c.blank(c.doc.BodyLine) {
		body = c.nl + body
	}
	src := skill.Apply(c.src, append(c.front(), diag.Fix{Start: c.doc.Body, End: len(c.src), Text: body}))
	src = []byte(m.define(string(src), c.definitions())) // of Rules and Response
	conv := Conversion{Source: src, Files: m.files, Losses: c.losses}
	if err := c.proved(src); err != nil {
		return Conversion{}, err
	}
	conv.move(fsys, nil) // of Response
	conv.mend(fsys, name)
	return conv, nil
}

// addWhole adds a file with the text of a skill, below a title if it has none.
func (m *mover) addWhole(text string, titled bool) string {
	name := m.add("Instructions", text)
	if f := &m.files[len(m.files)-1]; titled {
		_, f.Text, _ = strings.Cut(f.Text, m.nl+m.nl)
	}
	return name
}
