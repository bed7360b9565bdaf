package screen

import "strings"

// A Kind says how the cells of a column are shortened.
type Kind uint8

const (
	Word Kind = iota // a version, a count: never cut
	Name             // cut at the end, never below 24 columns
	Path             // a path or a URL: cut in the middle
	Text             // a description: cut at the end
)

// A Column of a table.
type Column struct {
	Head  string
	Kind  Kind
	Right bool // numbers
	Tight bool // one blank follows, not two
}

// A Table has a row of heads, and cells in rows, which may be shorter than the heads.
type Table struct {
	Columns []Column
	Rows    [][]Span
	Bare    bool // without the row of heads
}

// Narrow is the width below which there are no tables and no panes.
const Narrow = 60

// least is the narrowest that a column becomes.
func (c Column) least(natural int) int {
	switch c.Kind {
	case Name:
		return min(natural, 24)
	case Path:
		return min(natural, max(16, Width(c.Head)))
	case Text:
		return min(natural, max(12, Width(c.Head)))
	}
	return natural
}

// Table lays out t: aligned; on a screen without a wrapped line; in blocks of keys and values where it is narrow.
func (k Look) Table(t Table) string {
	if len(t.Rows) == 0 {
		return ""
	}
	for i, row := range t.Rows {
		t.Rows[i] = clean(row)
	}
	if k.Width > 0 && k.Width < Narrow {
		return k.blocks(t)
	}
	widths := t.widths()
	if k.Width > 0 {
		widths = t.squeeze(widths, k.room())
	}
	heads := make([]Span, len(t.Columns))
	for i, c := range t.Columns {
		heads[i] = Span{Dim, c.Head}
	}
	var b strings.Builder
	rows := t.Rows
	if !t.Bare {
		rows = append([][]Span{heads}, rows...)
	}
	for _, row := range rows {
		var out []Span
		for i, w := range widths {
			var cell Span
			if i < len(row) {
				cell = row[i]
			}
			cell.Text = k.short(t.Columns[i].Kind, cell.Text, w)
			pad := T(strings.Repeat(" ", max(w-Width(cell.Text), 0)))
			if t.Columns[i].Right {
				out = append(out, pad, cell)
			} else {
				out = append(out, cell, pad)
			}
			switch {
			case i == len(widths)-1:
			case t.Columns[i].Tight:
				out = append(out, T(" "))
			default:
				out = append(out, T("  "))
			}
		}
		b.WriteString(k.paint(trimmed(out)) + "\n")
	}
	return b.String()
}

// clean makes cells printable and keeps those that are empty.
func clean(row []Span) []Span {
	out := make([]Span, len(row))
	for i, cell := range row {
		if p := printable([]Span{cell}); len(p) == 1 {
			out[i] = p[0]
		}
	}
	return out
}

func (k Look) short(kind Kind, text string, w int) string {
	if kind == Path {
		return k.CutMiddle(text, w)
	}
	return k.Cut(text, w)
}

// widths are those that the cells want.
func (t Table) widths() []int {
	out := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		if !t.Bare {
			out[i] = Width(c.Head)
		}
		for _, row := range t.Rows {
			if i < len(row) {
				out[i] = max(out[i], Width(row[i].Text))
			}
		}
	}
	return out
}

// squeeze makes columns fit into room: it drops columns from the right while even the narrowest do not fit, then narrows
// descriptions, then paths, then names.
func (t Table) squeeze(widths []int, room int) []int {
	total := func(ws []int) int {
		n := 2 * (len(ws) - 1)
		for _, w := range ws {
			n += w
		}
		return n
	}
	least := make([]int, len(widths))
	for i, w := range widths {
		least[i] = t.Columns[i].least(w)
	}
	for len(widths) > 1 && total(least) > room {
		widths, least = widths[:len(widths)-1], least[:len(least)-1]
	}
	for _, kind := range []Kind{Text, Path, Name, Word} {
		for i := len(widths) - 1; i >= 0; i-- {
			if over := total(widths) - room; over > 0 && t.Columns[i].Kind == kind {
				widths[i] = max(widths[i]-over, least[i])
			}
		}
	}
	if over := total(widths) - room; over > 0 { // one column that is wider than the screen
		widths[0] = max(widths[0]-over, 1)
	}
	return widths
}

// blocks are the rows of t as keys and values, with a blank line between two rows.
func (k Look) blocks(t Table) string {
	wide := 0
	for _, c := range t.Columns {
		wide = max(wide, Width(c.Head))
	}
	wide = min(wide, k.room()/3)
	var b strings.Builder
	for n, row := range t.Rows {
		if n > 0 {
			b.WriteByte('\n')
		}
		mark := ""
		for i, cell := range row {
			if i < len(t.Columns) && t.Columns[i].Head == "" { // a mark, which stands before what follows
				mark = strings.TrimSpace(cell.Text)
				continue
			}
			if mark != "" {
				cell.Text, mark = mark+" "+cell.Text, ""
			}
			if strings.TrimSpace(cell.Text) == "" || i >= len(t.Columns) {
				continue
			}
			key := k.Cut(strings.ToLower(t.Columns[i].Head), wide)
			key += strings.Repeat(" ", wide-Width(key)+2)
			if t.Columns[i].Kind == Path {
				cell.Text = k.CutMiddle(cell.Text, k.room()-Width(key))
			}
			for _, r := range k.wrapped([]Span{{Dim, key}, cell}, k.room(), Width(key), false) {
				b.WriteString(r + "\n")
			}
		}
	}
	return b.String()
}
