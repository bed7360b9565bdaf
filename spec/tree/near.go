package tree

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// near reports of the entry file what is nearly a tree and is none: its steps would be text for a model, and none of its questions asked.
//
// In a skill with a tree that is a heading that is nearly one of a tree's sections. In one without, it is a heading that says Tree in another
// way with a list below it, or one that is nearly Tree with steps below it; or steps anywhere, which no heading announces. A list without
// steps, and headings such as Rules and Agents, are what other skills have, too.
func (l *loader) near(p *page) {
	for i, h := range p.lines {
		if h.kind != headingLine {
			continue
		}
		title, _ := p.title(i)
		want, distance := nearest(title)
		end := p.upToHeading(i+1, len(p.lines))
		switch {
		case want == "" || h.level == 2 && distance == 0 && exact(title, want):
			continue
		case l.skill.Tree != nil:
			if distance > 0 && want == "Tree" && p.steps(i+1, end) == 0 {
				continue // a section of the text
			}
		case want != "Tree":
			continue
		case distance == 0 && !p.listed(i+1, end, h.level == 2) && p.steps(i+1, end) == 0, distance > 0 && p.steps(i+1, end) == 0:
			continue
		}
		message := "the heading " + strings.Repeat("#", int(h.level)) + " " + diag.Clip(title, 40) + " is nearly one of a tree, and what stands below it would be text for a model: write ## " + want
		l.skill.Findings = append(l.skill.Findings, p.finding(i, 1, ruleNear, diag.SeverityError, message))
		if l.skill.Tree == nil {
			return // once is enough, and the steps below it are what it says
		}
	}
	if l.skill.Tree != nil {
		return
	}
	if i := p.firstStep(0, len(p.lines), false); i >= 0 {
		l.skill.Findings = append(l.skill.Findings, p.finding(i, 1, ruleNear, diag.SeverityError,
			"this line is a step of a tree, and the skill has no tree, so it would be text for a model: write ## Tree above the steps"))
	}
}

// Near are the findings of [Load] about what in the text of a SKILL.md is nearly a tree, src, of which doc is the reading. It needs no other file.
func Near(doc *skill.Document, src []byte) []diag.Finding {
	l := &loader{skill: &Skill{Doc: doc, File: skill.FileName}}
	p := newPage(string(src[doc.Body:]), skill.FileName, doc.BodyLine)
	for _, h := range p.sections() {
		if h.title == "Tree" {
			l.skill.Tree = &Tree{}
		}
	}
	l.near(p)
	return l.skill.Findings
}

// exact reports whether a heading is one that is read.
func exact(title, want string) bool {
	return title == want || want == "Response" && strings.HasPrefix(title, want)
}

// nearest is the section of a tree that a heading is nearly called, and by how many letters it differs, cases and marks aside; "" for one
// that differs by more than two.
func nearest(title string) (want string, distance int) {
	if strings.HasPrefix(title, "Response") {
		return "Response", 0
	}
	if head, _, ok := strings.Cut(title, ":"); ok {
		title = head
	}
	word := strings.ToLower(strings.Trim(title, " \t*`_.:-–—"))
	if len(word) < 3 || len(word) > 10 || strings.ContainsAny(word, " \t") {
		return "", 0
	}
	distance = 3
	for _, w := range [...]string{"Tree", "Rules", "Response", "Agent"} {
		if d := spell.Distance(word, strings.ToLower(w), distance); d < distance {
			want, distance = w, d
		}
	}
	if distance > 2 || distance == 2 && len(want) < 5 && word[0] != 't' {
		return "", 0
	}
	return want, distance
}

// listed reports whether a list stands in lines lo to hi, or with drawn also a drawn tree in a fence, which is often one of folders.
func (p *page) listed(lo, hi int, drawn bool) bool {
	for i := lo; i < hi; i++ {
		if text, ok := p.item(i); ok && text != "" && (drawn || p.lines[i].kind != fencedLine) {
			return true
		}
	}
	return false
}

// item is the text of line i behind its bullet or connector. ok is false for a line without one.
func (p *page) item(i int) (text string, ok bool) {
	if k := p.lines[i].kind; k != textLine && k != fencedLine {
		return "", false
	}
	s := p.text(i)
	m := measure(s)
	switch {
	case m.kind == bulletMark && p.lines[i].kind == fencedLine: // a fence shows lists, and draws trees
		return "", false
	case m.kind == bulletMark || m.kind == connectorMark:
		return trim(s[m.text:]), true
	}
	return "", false
}

// steps is the number of lines from lo to hi that are steps of a tree.
func (p *page) steps(lo, hi int) (n int) {
	for lo < hi {
		i := p.firstStep(lo, hi, true)
		if i < 0 {
			return n
		}
		n, lo = n+1, i+1
	}
	return n
}

// firstStep is the first line from lo to hi that no reader takes for anything but a step: a primitive with what it needs behind
// its operator, or a call with inputs or outputs. It is -1 if there is none. What a fence shows counts if it is drawn, and fenced is set.
func (p *page) firstStep(lo, hi int, fenced bool) int {
	r := &nodeReader{}
	for i := lo; i < hi; i++ {
		text, ok := p.item(i)
		if !ok || !fenced && p.lines[i].kind == fencedLine || len(text) < 2 || text[0] < 'A' && text[0] != '*' || !strings.Contains(text, "<<") && !strings.Contains(text, ">>") {
			continue
		}
		n := &Node{}
		r.read(n, unescape(text), false)
		if n.Kind == Call && len(n.Args)+len(n.Outs) > 0 || n.Cond != "" || n.In != "" || n.Question != "" || len(n.Fields) > 0 ||
			n.Kind == Explore && len(n.Outs) > 0 || n.Kind == Verify && n.Path != "" || n.Kind == End && strings.HasPrefix(text, "END <<") {
			return i
		}
	}
	return -1
}
