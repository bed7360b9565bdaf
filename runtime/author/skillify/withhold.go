package skillify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/pkgdoc"
)

// withheld tells readers of the skill that text is missing.
const withheld = "Passages that `skl audit` rates high are left out of these pages."

// maxScans bounds how often what is left of one text is read again; after that the whole text goes.
const maxScans = 10

// Withhold takes out of p the text that an audit of the skill would rate high, and notes what it took something from:
// a host loads the skill for its agent, and nobody reviewed what the package says to agents. Of a longer text only the paragraph or the
// code goes, and what has such a name goes with it. Whoever makes the skill audits it as a whole.
func Withhold(p *pkgdoc.Package) {
	withholdNames(p)
	passages := passagesOf(p)
	files := make([]audit.File, len(passages))
	for i := range passages { // a file for each, so that none changes how another one is read
		files[i] = audit.File{Path: fmt.Sprintf("references/%06d.md", i), Data: []byte(passages[i].markdown(shown(*passages[i].text)))}
	}
	high := map[string]bool{}
	for _, f := range content.Scan(files).Findings {
		if f.Severity.AtLeast(content.High) {
			high[f.File] = true
		}
	}
	for i := range passages {
		if high[files[i].Path] {
			passages[i].withhold(p)
		}
	}
	for i := range p.Pages {
		p.Pages[i].Examples = slices.DeleteFunc(p.Pages[i].Examples, func(code string) bool { return code == "" })
	}
}

// shown is text as it comes into a skill: what does not show is no reason to leave it out.
func shown(text string) string { return (&maker{}).clean(text) }

// withholdNames takes out the pages, symbols and arguments whose names read as orders. Most names have no space, and say nothing.
func withholdNames(p *pkgdoc.Package) {
	loud := func(name, file, what string) bool {
		if !strings.ContainsAny(name, " \t\n\u00a0") {
			return false
		}
		for _, f := range content.Scan([]audit.File{{Path: "references/name.md", Data: []byte(shown(name) + "\n")}}).Findings {
			if f.Severity.AtLeast(content.High) {
				p.Lacks(file, withheld, "%s is left out for its name: %s [%s]", what, f.Message, f.Rule)
				return true
			}
		}
		return false
	}
	p.Pages = slices.DeleteFunc(p.Pages, func(page pkgdoc.Page) bool { return loud(page.ID, page.File, "a page") })
	for i := range p.Pages {
		page := &p.Pages[i]
		page.Symbols = slices.DeleteFunc(page.Symbols, func(s pkgdoc.Symbol) bool { return loud(s.Name, page.File, "a symbol of "+pkgdoc.Code(page.ID)) })
		page.Params = slices.DeleteFunc(page.Params, func(a pkgdoc.Param) bool { return loud(a.Name, page.File, "an argument of "+pkgdoc.Code(page.ID)) })
	}
}

// A passage is one text of a package.
type passage struct {
	text    *string
	file    string // of the package
	what    string
	code    string // the language of code, "" of prose
	whole   bool   // a part of it would say something else
	instead string // what a title is replaced with
}

// markdown is text of the passage as a page has it.
func (e *passage) markdown(text string) string {
	if e.code == "" {
		return text + "\n"
	}
	return pkgdoc.Fence(e.code, text) + "\n"
}

// withhold takes out what is rated high.
func (e *passage) withhold(p *pkgdoc.Package) {
	var why content.Finding
	rest := shown(*e.text)
	for n := 0; rest != ""; n++ {
		var lines []int
		for _, f := range content.Scan([]audit.File{{Path: "references/text.md", Data: []byte(e.markdown(rest))}}).Findings {
			if f.Severity.AtLeast(content.High) {
				lines = append(lines, f.Line)
				if why.Rule == "" {
					why = f
				}
			}
		}
		if len(lines) == 0 {
			break
		}
		cut := ""
		if e.code == "" && !e.whole && n < maxScans {
			cut = without(rest, lines)
		}
		if cut == rest {
			cut = ""
		}
		rest = cut
	}
	if why.Rule == "" {
		return
	}
	what := e.what
	if rest != "" {
		what = "a part of " + what
	} else {
		rest = e.instead
	}
	*e.text = rest
	p.Lacks(e.file, withheld, "%s is left out: %s [%s]", diag.Printable(what), why.Message, why.Rule)
}

// without is Markdown without the paragraphs and the code that the lines are in, which count from 1.
func without(text string, lines []int) string {
	var out, block strings.Builder
	bad, fence, n := false, "", 0
	flush := func() {
		if !bad {
			out.WriteString(block.String())
		}
		block.Reset()
		bad = false
	}
	for line := range strings.Lines(text) {
		n++
		was := fence
		bare := strings.TrimRight(line, "\r\n")
		fence = pkgdoc.Fenced(bare, was)
		if was == "" && fence != "" {
			flush()
		}
		block.WriteString(line)
		bad = bad || slices.Contains(lines, n)
		if fence == "" && (was != "" || strings.TrimSpace(bare) == "") {
			flush()
		}
	}
	flush()
	return strings.TrimSpace(out.String())
}

// passagesOf are the texts of a package that a skill has.
func passagesOf(p *pkgdoc.Package) (out []passage) {
	add := func(e passage) {
		if *e.text != "" {
			out = append(out, e)
		}
	}
	add(passage{text: &p.Title, what: "the title of the package"})
	add(passage{text: &p.Text, what: "the description of the package"})
	add(passage{text: &p.License, what: "the name of the license", whole: true})
	add(passage{text: &p.LicenseText, what: "the text of the license", whole: true})
	for i := range p.Pages {
		pagePassages(&p.Pages[i], language(p.Ecosystem), add)
	}
	for i := range p.Guides {
		g := &p.Guides[i]
		add(passage{text: &g.Title, file: g.File, what: "the title of a guide", instead: g.ID})
		add(passage{text: &g.Text, file: g.File, what: "the text of " + pkgdoc.Code(g.ID)})
		for j := range g.Headings {
			add(passage{text: &g.Headings[j].Text, file: g.File, what: "a heading of " + pkgdoc.Code(g.ID), instead: "…"})
		}
	}
	return out
}

func pagePassages(p *pkgdoc.Page, language string, add func(passage)) {
	of := func(what, id string) string { return "the " + what + " of " + pkgdoc.Code(id) }
	add(passage{text: &p.Title, file: p.File, what: of("title", p.ID), instead: p.ID})
	add(passage{text: &p.Text, file: p.File, what: of("text", p.ID)})
	add(passage{text: &p.Returns, file: p.File, what: of("value", p.ID)})
	add(passage{text: &p.Deprecated, file: p.File, what: of("deprecation", p.ID), instead: "deprecated"})
	for i := range p.Params {
		add(passage{text: &p.Params[i].Text, file: p.File, what: of("argument "+pkgdoc.Code(p.Params[i].Name), p.ID)})
	}
	for i := range p.Sections {
		add(passage{text: &p.Sections[i].Title, file: p.File, what: of("heading of a section", p.ID), instead: "…"})
		add(passage{text: &p.Sections[i].Text, file: p.File, what: of("section "+pkgdoc.Code(p.Sections[i].Title), p.ID)})
	}
	for i := range p.Examples {
		add(passage{text: &p.Examples[i], file: p.File, what: "an example of " + pkgdoc.Code(p.ID), code: language})
	}
	for i := range p.Symbols {
		s := &p.Symbols[i]
		add(passage{text: &s.Signature, file: p.File, what: of("signature", s.ID), code: language})
		add(passage{text: &s.Text, file: p.File, what: of("text", s.ID)})
		add(passage{text: &s.Returns, file: p.File, what: of("value", s.ID)})
		add(passage{text: &s.Deprecated, file: p.File, what: of("deprecation", s.ID), instead: "it is deprecated"})
	}
}
