package prose

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/skill"
)

// inPage is a link to a heading of the same file.
var inPage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\]\(#([^()\s]{1,200})\)`) })

// A page is a text with the anchors of its headings, in lower case.
type page struct {
	*reader
	anchors map[string]bool
}

// pageOf reads a Markdown text.
func pageOf(src []byte) *page {
	doc, err := skill.Read(src)
	if err != nil {
		doc = &skill.Document{BodyLine: 1}
	}
	p := &page{&reader{paper: newPaper(src), doc: doc}, map[string]bool{}}
	p.scan()
	all := skill.Anchors{}
	for _, n := range p.heads {
		p.anchors[all.Of(linkText().ReplaceAllString(headText(p.line(n)), "$1"))] = true
	}
	return p
}

var linkText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\[\]]*)\]\([^()]*\)`) })

// follow has the links to headings of src, the text before, lead to where these are now. Those to a phase lead to the tree.
func (conv *Conversion) follow(src []byte) {
	if !inPage().Match(src) {
		return
	}
	before, main := pageOf(src).anchors, pageOf(conv.Source)
	pages := make([]*page, len(conv.Files))
	for i, f := range conv.Files {
		pages[i] = pageOf([]byte(f.Text))
	}
	elsewhere := func(anchor string) (file string) {
		for i, p := range pages {
			if p.anchors[anchor] {
				return conv.Files[i].Name
			}
		}
		return ""
	}
	conv.Source = main.relink(func(anchor string) string {
		switch file := elsewhere(anchor); {
		case main.anchors[anchor] || !before[anchor]:
			return ""
		case file != "":
			return file + "#" + anchor
		}
		return "#tree"
	})
	for i, p := range pages {
		f := &conv.Files[i]
		f.Text = string(p.relink(func(anchor string) string {
			switch file := elsewhere(anchor); {
			case p.anchors[anchor] || !before[anchor]:
				return ""
			case file != "":
				return path.Base(file) + "#" + anchor
			case main.anchors[anchor]:
				return "../" + skill.FileName + "#" + anchor
			}
			return "../" + skill.FileName + "#tree"
		}))
	}
}

// relink is the text with other targets for links to its headings; "" leaves one as it is.
func (p *page) relink(to func(anchor string) string) []byte {
	var b strings.Builder
	for n := 1; n <= p.lastLine(); n++ {
		line := string(p.src[p.start(n):p.start(n+1)])
		if k := p.kinds[n]; n >= p.doc.BodyLine && k != codeLine && k != hiddenLine && strings.Contains(line, "](#") {
			line = inPage().ReplaceAllStringFunc(line, func(link string) string {
				if target := to(strings.ToLower(link[len("](#") : len(link)-1])); target != "" {
					return "](" + target + ")"
				}
				return link
			})
		}
		b.WriteString(line)
	}
	return []byte(b.String())
}
