package prose

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A phase is a numbered heading with a list below it.
type phase struct {
	listing
	next int // the line of the next heading, or behind the file
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

// phases are the numbered headings of one level, if there are two at least and each has a list: then the tree goes over all
// of them, and not over the one list at head alone.
func (c *reader) phases(head int) (out []phase) {
	level, has := 0, false
	for i, n := range c.heads {
		l := c.line(n)
		if !isPhase(headText(l)) || level > 0 && headLevel(l) != level {
			continue
		}
		level = headLevel(l)
		end := c.lastLine() + 1
		if i+1 < len(c.heads) {
			end = c.heads[i+1]
		}
		list, _, count := c.firstList(n, end)
		if count == 0 {
			return nil
		}
		has = has || n == head
		out = append(out, phase{list, end})
	}
	if len(out) < 2 || !has {
		return nil
	}
	return out
}

// ofPhases are the edits that put a tree over phases before the first of them. Their lists go, other text stays where it is.
func (c *reader) ofPhases(phases []phase) (edits []diag.Fix) {
	var items []*item
	for _, p := range phases {
		items = append(items, &item{line: p.head, text: clean(headText(c.line(p.head))), kids: c.items(p.listing)})
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
