package ui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// paneFrom is the width from which a pane shows the option of the cursor.
const paneFrom = 100

// keysOfPicker explains the keys, one line each.
var keysOfPicker = []string{
	"up down, k j    move; PgUp PgDn g G far",
	"right left, l h open and close a group",
	"space           choose, or drop; on a group: all its rows",
	"a               all that is shown; again: none of it",
	"/               filter; tab chooses there, enter or down goes to the list",
	"p               preview on and off",
	"enter           go on with what is chosen",
	"esc             clear the filter, then leave; nothing changes",
	"ctrl-c          stop",
}

// view is what the picker shows: at most 60 % of height and 20 rows.
func (p *picker) view(look screen.Look, height int) []screen.Line {
	room := max(min(height*6/10, 20), 6)
	head := screen.Line{Left: []screen.Span{look.Mark(screen.Ask), screen.T(" "), {Style: screen.Bold, Text: p.choice.Question}}, Right: []screen.Span{screen.T(p.counted())}}
	lines := []screen.Line{head}
	p.paned = false
	if p.keysShown {
		for _, text := range keysOfPicker {
			lines = append(lines, screen.L(screen.T("  "), screen.Span{Style: screen.Dim, Text: text}))
		}
		return lines[:min(len(lines), room)]
	}
	if p.filtering || p.filter != "" {
		cursor := map[bool]string{true: "_"}[p.filtering]
		lines = append(lines, screen.Line{
			Left:  []screen.Span{screen.T("  / "), {Style: screen.Cyan, Text: p.filter + cursor}},
			Right: []screen.Span{{Style: screen.Dim, Text: fmt.Sprintf("%d match%s", len(p.matches), map[bool]string{true: "es"}[len(p.matches) == 1])}}})
	}
	foot := p.foot(look)
	body := p.body(look, max(room-len(lines)-len(foot), 3))
	return append(append(lines, body...), foot...)
}

// counted says how many are chosen.
func (p *picker) counted() string {
	text := fmt.Sprintf("%d of %d", len(p.picked()), len(p.options))
	if p.choice.Note != "" {
		return p.choice.Note + ", " + text
	}
	return text + " chosen"
}

func (p *picker) foot(look screen.Look) []screen.Line {
	dim := func(text string) screen.Line {
		return screen.L(screen.T("  "), screen.Span{Style: screen.Dim, Text: text})
	}
	if p.told != "" {
		return []screen.Line{screen.L(screen.T("  "), look.Mark(screen.Attention), screen.T(" "+p.told))}
	}
	var lines []screen.Line
	if p.choice.Foot != nil {
		if text := p.choice.Foot(p.picked()); text != "" {
			lines = append(lines, dim(text))
		}
	}
	dot := " " + look.Sign(screen.Dot) + " "
	words := []string{"space choose", "a all " + strconv.Itoa(len(p.matches)), "/ filter", "enter go on", "esc leave", "? keys"}
	if p.filtering {
		words = []string{"tab choose", "enter to the list", "esc clear", "ctrl-c stop"}
	}
	return append(lines, dim(strings.Join(words, dot)))
}

// body is the list, scrolled to the cursor, beside the pane if there is room for one.
func (p *picker) body(look screen.Look, room int) []screen.Line {
	p.page = max(room-1, 1)
	if len(p.rows) == 0 {
		return []screen.Line{screen.L(screen.T("  nothing matches; esc clears the filter"))}
	}
	width := look.Width - 1
	var pane []screen.Line
	p.paned = look.Width >= paneFrom && p.preview && p.hasPreview()
	if p.paned {
		width = max(50, look.Width*43/100)
		pane = p.pane(look, look.Width-1-width-3, room)
	}
	top, shown := 0, len(p.rows)
	if len(p.rows) > room {
		shown = room - 1 // one row says how many are below or above
		top = min(max(p.cursor-shown+2, 0), len(p.rows)-shown)
	}
	columns := p.columns(width)
	var lines []screen.Line
	for i := top; i < top+shown; i++ {
		lines = append(lines, p.line(look, i, columns))
	}
	if below := len(p.rows) - top - shown; below > 0 {
		lines = append(lines, screen.L(screen.T("    "), screen.Span{Style: screen.Dim, Text: fmt.Sprintf("%s %d more below", look.Sign(screen.Ellipsis), below)}))
	} else if top > 0 {
		lines = append(lines, screen.L(screen.T("    "), screen.Span{Style: screen.Dim, Text: fmt.Sprintf("%s %d more above", look.Sign(screen.Ellipsis), top)}))
	}
	if !p.paned {
		return lines
	}
	return p.beside(look, lines, pane, width)
}

// beside joins the rows of the list with those of the pane.
func (p *picker) beside(look screen.Look, list, pane []screen.Line, width int) []screen.Line {
	for len(list) < len(pane) {
		list = append(list, screen.Line{})
	}
	for i := range list {
		list[i].Left = look.Fill(list[i], width)
		list[i].Right = nil
		list[i].Left = append(list[i].Left, screen.Span{Style: screen.Dim, Text: " " + look.Sign(screen.Bar) + " "})
		if i < len(pane) {
			list[i].Left = append(list[i].Left, pane[i].Left...)
		}
	}
	return list
}

func (p *picker) hasPreview() bool {
	for _, o := range p.options {
		if len(o.Preview) > 0 || o.Later != nil {
			return true
		}
	}
	return false
}

// pane is what is known of the option of the cursor.
func (p *picker) pane(look screen.Look, width, room int) []screen.Line {
	row, ok := p.current()
	if !ok || row.group != nil {
		return nil
	}
	o := p.options[row.option]
	head := screen.L(screen.Span{Style: screen.Bold, Text: o.Shown()})
	if o.Version != "" {
		head.Left = append(head.Left, screen.T("  "+screen.Version(o.Version)))
	}
	lines := []screen.Line{head}
	for _, text := range o.Preview {
		for _, part := range look.WrapText(text, width) {
			lines = append(lines, screen.L(screen.T(part)))
		}
	}
	rest := p.rest(look, row.option, width)
	if most := max(room-len(rest), 1); len(lines) > most && len(rest) > 0 { // a long description makes room
		lines = append(lines[:max(most-1, 1)], screen.L(screen.T(look.Sign(screen.Ellipsis))))
	}
	lines = append(lines, rest...)
	if len(lines) > room {
		lines = append(lines[:room-1], screen.L(screen.T(look.Sign(screen.Ellipsis))))
	}
	return lines
}

// rest is what was computed of an option, or why it is not there.
func (p *picker) rest(look screen.Look, of, width int) (lines []screen.Line) {
	got := p.later[of]
	switch {
	case p.options[of].Later == nil:
	case got == nil && p.reading:
		lines = append(lines, screen.L(screen.Span{Style: screen.Dim, Text: "reading its files " + look.Sign(screen.Ellipsis)}))
	case got == nil:
	case got.failed:
		for _, text := range got.lines {
			lines = append(lines, screen.L(look.Mark(screen.Attention), screen.T(" "+look.Cut(diag.Printable(text), width-2))))
		}
	default:
		for _, text := range got.lines {
			for _, part := range look.WrapText(look.Drawn(text), width) {
				lines = append(lines, screen.L(screen.T(part)))
			}
		}
	}
	return lines
}

// A pickColumns is the widths of an option's cells.
type pickColumns struct{ name, where, detail int }

// columns fits names, paths and descriptions into width; names stay at 24 columns or more.
func (p *picker) columns(width int) pickColumns {
	var c pickColumns
	for _, i := range p.matches {
		c.name = max(c.name, screen.Width(diag.Printable(p.options[i].Shown())))
		c.where = max(c.where, screen.Width(diag.Printable(p.options[i].Where)))
	}
	const before = len("▸   [x] ") - 2 // the sign has three bytes and one column
	left := width - before
	c.where = min(c.where, map[bool]int{true: 24, false: 16}[width >= 79])
	gaps := 1
	if c.where > 0 {
		gaps = 2
	}
	c.name = min(c.name, max(24, left-c.where-gaps-20))
	c.name = min(c.name, left)
	if c.where > 0 && left-c.name-c.where-2 < 0 {
		c.where = 0
	}
	if c.where > 0 {
		left -= c.where + 1
	}
	if c.detail = left - c.name - 2; c.detail < 8 {
		c.detail = 0
	}
	return c
}

// line is one row of the list.
func (p *picker) line(look screen.Look, i int, c pickColumns) screen.Line {
	row := p.rows[i]
	at := i == p.cursor
	mark := strings.Repeat(" ", screen.Width(look.Sign(screen.Closed)))
	if at {
		mark = look.Sign(screen.Closed)
	}
	style := screen.Plain
	if at {
		style = screen.Cyan
	}
	left := []screen.Span{{Style: style, Text: mark}, screen.T(" ")}
	if g := row.group; g != nil {
		if g.fixed {
			return screen.L(screen.T("  "), screen.Span{Style: screen.Bold, Text: g.name})
		}
		fold := look.Sign(screen.Closed)
		if g.open {
			fold = look.Sign(screen.Open)
		}
		count := fmt.Sprintf("%d of %d", g.matching, g.total)
		switch {
		case p.filter == "" && len(p.choice.Headings) > 0: // its name says how many
			count = ""
		case p.filter == "":
			count = strconv.Itoa(g.total)
			if n := p.chosenOf(g); n > 0 {
				count = fmt.Sprintf("%d of %d chosen", n, g.total)
			}
		}
		name := g.name
		if name == "" {
			name = "others"
		}
		return screen.Line{Left: append(left, screen.Span{Style: style, Text: fold + " " + name}), Right: []screen.Span{{Style: screen.Dim, Text: count}}}
	}
	o := p.options[row.option]
	box := "[ ] "
	if p.chosen[row.option] {
		box = "[x] "
	}
	if len(p.groups) > 1 && len(p.choice.Headings) == 0 {
		left = append(left, screen.T("  "))
	}
	left = append(left, screen.Span{Style: style, Text: box})
	name := look.Cut(diag.Printable(o.Shown()), c.name)
	left = append(left, p.hits(name, style)...)
	left = append(left, screen.T(strings.Repeat(" ", max(c.name-screen.Width(name), 0)+1)))
	if c.where > 0 {
		where := look.CutMiddle(diag.Printable(o.Where), c.where)
		left = append(left, screen.Span{Style: style, Text: where}, screen.T(strings.Repeat(" ", c.where-screen.Width(where)+1)))
	}
	if c.detail > 0 && o.Detail != "" {
		dim := style
		if !at {
			dim = screen.Dim
		}
		left = append(left, screen.Span{Style: dim, Text: " " + look.Cut(diag.Printable(o.Detail), c.detail-1)})
	}
	return screen.Line{Left: left}
}

func (p *picker) chosenOf(g *pickGroup) (n int) {
	for i, yes := range p.chosen {
		if yes && p.options[i].group == g {
			n++
		}
	}
	return n
}

// hits makes what the filter found bold.
func (p *picker) hits(name string, style screen.Style) []screen.Span {
	for _, w := range filterWords(p.filter) {
		lower := strings.ToLower(name)
		if i := strings.Index(lower, w); i >= 0 && len(lower) == len(name) {
			return []screen.Span{{Style: style, Text: name[:i]}, {Style: screen.Bold, Text: name[i : i+len(w)]}, {Style: style, Text: name[i+len(w):]}}
		}
	}
	return []screen.Span{{Style: style, Text: name}}
}
