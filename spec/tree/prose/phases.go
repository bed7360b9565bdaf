package prose

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A phase is a numbered heading with a list below it, or with paragraphs.
type phase struct {
	listing
	next  int  // the line of the next heading, or behind the file
	words bool // it has no list
}

// phaseWords begin the headings of phases, before their number.
var phaseWords = [...]string{"phase ", "step ", "stage "}

// isPhase reports whether a heading is that of a numbered phase.
func isPhase(title string) bool {
	lower := strings.ToLower(strings.TrimLeft(title, "*"))
	for _, w := range phaseWords {
		if rest, ok := strings.CutPrefix(lower, w); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return true
		}
	}
	return false
}

// phases are the numbered headings of one level, if there are two at least and each has a list or paragraphs: then the tree
// goes over all of them, and not over the one list at head alone. Unless they may be anywhere, head is one of them.
func (c *reader) phases(head int, anywhere bool) (out []phase) {
	level, has := 0, anywhere
	for i, n := range c.heads {
		l := c.line(n)
		if !isPhase(headText(l)) || level > 0 && headLevel(l) != level {
			continue
		}
		level = headLevel(l)
		end, deeper := c.lastLine()+1, false
		if i+1 < len(c.heads) {
			end = c.heads[i+1]
			deeper = headLevel(c.line(end)) > level
		}
		p := phase{next: end}
		count := 0
		if p.listing, _, count = c.firstList(n, end); count == 0 {
			p.listing = c.paragraphs(n, end)
			p.words = true
		}
		if p.first == 0 || p.words && deeper { // what is done stands below the deeper headings
			return nil
		}
		has = has || n == head
		out = append(out, p)
	}
	if len(out) < 2 || !has {
		return nil
	}
	return out
}

// paragraphs are the lines of text that follow a heading, up to code, a table or a quote. Its first is 0 where there are none.
func (c *reader) paragraphs(head, end int) listing {
	l := listing{head: head}
	for n := head + 1; n < end; n++ {
		switch text := strings.TrimSpace(c.line(n)); {
		case c.kinds[n] == emptyLine:
			continue
		case c.kinds[n] != textLine || text[0] == '|' || text[0] == '>':
			return l
		}
		if l.first == 0 {
			l.first = n
		}
		l.last = n
	}
	return l
}

// steps are the items of a phase.
func (c *reader) steps(p phase) (items []*item) {
	if !p.words {
		return c.items(p.listing)
	}
	for n := p.first; n <= p.last; n++ {
		text := clean(strings.TrimSpace(c.line(n)))
		switch {
		case c.kinds[n] == emptyLine:
		case n > p.first && c.kinds[n-1] == textLine:
			items[len(items)-1].text += " " + text
		default:
			items = append(items, &item{line: n, text: text})
		}
	}
	return items
}

// ofPhases are the edits that put a tree over phases before the first of them. Their lists go, other text stays where it is.
func (c *reader) ofPhases(phases []phase) (edits []diag.Fix) {
	var items []*item
	for _, p := range phases {
		items = append(items, &item{line: p.head, text: clean(headText(c.line(p.head))), kids: c.steps(p)})
		first := p.first
		if c.bare(p) {
			first, p.last = p.head, p.next-1
		}
		edits = append(edits, diag.Fix{Start: c.start(first), End: c.start(p.last + 1)})
	}
	c.nodes(items, "  ")
	text := "## Tree" + c.nl + c.nl + c.text(c.out) + c.nl
	if c.open {
		text = strings.ReplaceAll(strings.TrimSuffix(text, c.nl)+c.tail()+"\n", "\n", c.nl)
		text = strings.ReplaceAll(text, "\r\r", "\r")
	}
	if len(c.notes) > 0 {
		text += "## Notes" + c.nl + c.text(c.notes) + c.nl
	}
	at := c.start(phases[0].head)
	return append([]diag.Fix{{Start: at, End: at, Text: text}}, edits...)
}

// bare reports whether a phase holds nothing but its list.
func (c *reader) bare(p phase) bool {
	for n := p.head + 1; n < p.next; n++ {
		if (n < p.first || n > p.last) && c.kinds[n] != emptyLine && c.kinds[n] != ruleLine {
			return false
		}
	}
	return true
}
