package prose

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// boldLabel cuts a paragraph that is a step among others: a word and a number, and the text in bold behind them.
var boldLabel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\*\*((?i:step|phase|stage|task)\s)?([0-9]{1,2})\s*(?:[.:)–—-]+\s*)?([^*]*)\*\*\s*(?:[:–—-]+\s*)?(.*)$`)
})

// headed is the text with headings in place of such paragraphs, as if they had been written so: they are the steps where one section alone
// has them, numbered one after the other, and its heading speaks of steps. It has as many lines; nil where there are none.
func (c *reader) headed() []byte {
	var steps []int
	for i, head := range c.heads {
		end := c.lastLine() + 1
		if i+1 < len(c.heads) {
			end = c.heads[i+1]
		}
		found := c.boldNumbers(head, end)
		if len(found) < 2 {
			continue
		}
		if title := strings.ToLower(headText(c.line(head))); steps != nil || besides(title) || !ofSteps(title) && !isWork(title) && !strings.HasPrefix(title, "execution") {
			return nil
		}
		steps = found
	}
	if steps == nil {
		return nil
	}
	var b strings.Builder
	at := 1
	for _, n := range steps {
		b.Write(c.src[c.start(at):c.start(n)])
		text, last := strings.TrimSpace(c.line(n)), n
		for ; c.continues(last + 1); last++ {
			text += " " + strings.TrimSpace(c.line(last+1))
		}
		b.WriteString(c.deeper(n) + " " + headingOf(text) + strings.Repeat(c.nl, last+1-n))
		at = last + 1
	}
	b.Write(c.src[c.start(at):])
	return []byte(b.String())
}

// boldNumbers are the lines on which such paragraphs begin, nil where their numbers do not follow each other.
func (c *reader) boldNumbers(head, end int) (lines []int) {
	next := -1
	for n := head + 1; n < end; n++ {
		line := c.line(n)
		if c.kinds[n] != textLine || c.kinds[n-1] == textLine || indentOf(line) > 0 || !boldStep().MatchString(line) {
			continue
		}
		m := boldLabel().FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		number, _ := strconv.Atoi(m[2])
		if next >= 0 && number != next || next < 0 && number > 1 {
			return nil
		}
		next = number + 1
		lines = append(lines, n)
	}
	return lines
}

// continues reports whether a line is more of the paragraph before it.
func (c *reader) continues(n int) bool {
	if n > c.lastLine() || c.kinds[n] != textLine {
		return false
	}
	_, item, _ := marker(c.line(n))
	return item == 0 && !strings.ContainsAny(strings.TrimSpace(c.line(n))[:1], "|>{")
}

// deeper is the mark of a heading one level below that which a line is below.
func (c *reader) deeper(n int) string {
	level := 1
	for _, head := range c.heads {
		if head < n {
			level = headLevel(c.line(head))
		}
	}
	return strings.Repeat("#", min(level+1, 6))
}

// headingOf is the text of a heading for a paragraph that boldLabel cuts.
func headingOf(text string) string {
	m := boldLabel().FindStringSubmatch(text)
	label, title, rest := m[2]+".", strings.TrimSpace(m[3]), strings.TrimSpace(m[4])
	if m[1] != "" {
		label = "Step " + m[2] + ":"
	}
	switch {
	case title == "":
		title = rest
	case rest == "":
	case strings.ContainsAny(title[len(title)-1:], ".:!?") || strings.HasPrefix(rest, "("):
		title += " " + rest
	default:
		title += ": " + rest
	}
	return strings.TrimSpace(label + " " + title)
}
