// Package draw lays out what commands say on a terminal: first a line that sums up, then what is unusual, last the next
// command. It gets the results of use cases and a look, and returns painted text; what is not on a terminal is in
// package report, uncut.
package draw

import (
	"strconv"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/install/hosts"
)

// A page collects lines and tables.
type page struct {
	k screen.Look
	b strings.Builder
}

func (p *page) line(spans ...screen.Span) { p.b.WriteString(p.k.Lines(screen.L(spans...))) }

// both is a line with a part at the right margin.
func (p *page) both(left []screen.Span, right ...screen.Span) {
	p.b.WriteString(p.k.Lines(screen.Line{Left: left, Right: right}))
}

func (p *page) prose(hang int, spans ...screen.Span) {
	p.b.WriteString(p.k.Lines(screen.Prose(hang, spans...)))
}

func (p *page) table(t screen.Table) { p.b.WriteString(p.k.Table(t)) }

// A step is a command to type, and what it is for: next, undo, mend.
type step struct{ label, command string }

// steps are commands on one line, if they fit, else each on its own; none is cut.
func (p *page) steps(steps ...step) {
	if p.k.Quiet {
		return
	}
	var spans []screen.Span
	width := 0
	for _, s := range steps {
		if s.command == "" {
			continue
		}
		part := []screen.Span{{Style: screen.Dim, Text: s.label}, screen.T("  "), {Style: screen.Cyan, Text: s.command}}
		w := screen.Width(s.label) + 2 + screen.Width(s.command)
		if width > 0 && width+6+w >= p.k.Width {
			p.b.WriteString(p.k.Lines(screen.Line{Left: spans, Whole: true}))
			spans, width = nil, 0
		}
		if width > 0 {
			spans, width = append(spans, screen.T("      ")), width+6
		}
		spans, width = append(spans, part...), width+w
	}
	if len(spans) > 0 {
		p.b.WriteString(p.k.Lines(screen.Line{Left: spans, Whole: true}))
	}
}

func (p *page) text() string { return p.b.String() }

func bold(text string) screen.Span   { return screen.Span{Style: screen.Bold, Text: text} }
func dim(text string) screen.Span    { return screen.Span{Style: screen.Dim, Text: text} }
func red(text string) screen.Span    { return screen.Span{Style: screen.Red, Text: text} }
func yellow(text string) screen.Span { return screen.Span{Style: screen.Yellow, Text: text} }

// oneLine is text without line ends and runs of blanks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// pad fills text up to width columns.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-screen.Width(text), 0))
}

// Agents are the names of agents.
func Agents(ids []string) (names []string) {
	for _, id := range ids {
		names = append(names, hosts.NameOf(id))
	}
	return names
}

// number is n with its digits in groups of three.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
