// Package screen lays out text for terminals: it measures, cuts and wraps, and paints last.
//
// Text is measured in cells by grapheme (wide ones are two, combining ones none), after everything in it was made
// printable. A Look decides the rest: its width, whether it has colours, and which signs it can show. Colour
// repeats what a word or a sign says already. The zero Look is that of a pipe: nothing is cut, wrapped or painted.
//
// The package writes nowhere and asks for nothing; ui does both.
package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/skl-project/skl/spec/diag"
)

// A Style is one of the few ways in which text stands out.
type Style uint8

const (
	Plain  Style = iota
	Bold         // the name of a thing, changed numbers, what a filter found
	Dim          // column heads, sources, what did not change
	Red          // failed, refused, a permission gained
	Green        // done, added
	Yellow       // needs a look, held, changed
	Cyan         // what can be typed, the row of the cursor
)

var codes = [...]string{Bold: "1", Dim: "2", Red: "31", Green: "32", Yellow: "33", Cyan: "36"}

// A Sign is a symbol that stands beside a word.
type Sign uint8

const (
	Done Sign = iota
	Failed
	Attention
	Dot
	Closed
	Open
	Waiting
	Ask
	Arrow
	Ellipsis
	Bar
)

// Signs are the forms of all signs.
type Signs uint8

const (
	Unicode Signs = iota
	ASCII         // for --no-unicode and for locales without UTF-8
	Words         // for those who listen
)

var signs = [...][11]string{
	Unicode: {"✓", "✗", "!", "·", "▸", "▾", "◌", "?", "→", "…", "|"},
	ASCII:   {"ok", "FAIL", "!", "-", ">", "v", ".", "?", "->", "...", "|"},
	Words:   {"ok", "failed", "attention", "-", "closed", "open", "waiting", "question", "to", "...", "|"},
}

var inASCII = strings.NewReplacer("├── ", "|-- ", "└── ", "`-- ", "│", "|", "─", "-", "◆", "*", "◇", "o", "✓", "ok", "✗", "FAIL", "⊘", "-", "⏸", "!", "■", "=", "▸", ">",
	"▾", "v", "◌", ".", "⟳", "@", "·", "-", "…", "...", "→", "->", "§", "#")

// Drawn is text of our own, such as a tree, with the signs that the look can show.
func (k Look) Drawn(text string) string {
	if k.Signs == Unicode {
		return text
	}
	return inASCII.Replace(text)
}

// A Look is what a stream can show.
type Look struct {
	Width int  // columns; 0 means that nothing is cut or wrapped
	Color bool // the 16 colours of the theme
	Signs Signs
	Quiet bool // results only: no word about what to do next
	All   bool // what is else summed up is listed
}

// Sign is a sign as the look shows it.
func (k Look) Sign(s Sign) string { return signs[k.Signs][s] }

// Mark is a sign with its own colour.
//
//go:noinline
func (k Look) Mark(s Sign) Span {
	style := Plain
	switch s {
	case Done:
		style = Green
	case Failed:
		style = Red
	case Attention:
		style = Yellow
	case Closed, Open, Waiting, Dot, Ellipsis:
		style = Dim
	}
	return Span{style, k.Sign(s)}
}

// room is the number of columns that text may take: the last one stays free, since some terminals wrap after it.
func (k Look) room() int {
	if k.Width <= 0 {
		return 0
	}
	return max(k.Width-1, 1)
}

// A Span is text of one style. Its text is made printable when it is laid out.
type Span struct {
	Style Style
	Text  string
}

// T is text that does not stand out.
func T(text string) Span { return Span{Text: text} }

// A Line is what stands in one row of the screen, unless it wraps.
type Line struct {
	Left  []Span
	Right []Span // at the right margin, where there is one
	Wrap  bool   // prose: wrapped at words instead of cut, at most 100 columns wide
	Hang  int    // columns by which wrapped rows are indented
	Whole bool   // something to copy: neither cut nor wrapped
	// Unbroken keeps words whole that are wider than the screen, as they may have to be copied.
	Unbroken bool
}

// L is a line of spans.
func L(spans ...Span) Line { return Line{Left: spans} }

// Prose is a line of text that wraps.
func Prose(hang int, spans ...Span) Line { return Line{Left: spans, Wrap: true, Hang: hang} }

// paint writes spans with their colours.
func (k Look) paint(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		if k.Color && s.Style != Plain && s.Text != "" {
			b.WriteString("\x1b[" + codes[s.Style] + "m" + s.Text + "\x1b[0m")
			continue
		}
		b.WriteString(s.Text)
	}
	return b.String()
}

// Paint is one span as the look shows it.
func (k Look) Paint(s Span) string { return k.paint(printable([]Span{s})) }

func printable(spans []Span) []Span {
	out := make([]Span, 0, len(spans))
	for _, s := range spans {
		if s.Text != "" {
			out = append(out, Span{s.Style, diag.Printable(s.Text)})
		}
	}
	return out
}

func widthOf(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += Width(s.Text)
	}
	return n
}

// Lines are lines as the look shows them, each with its end.
func (k Look) Lines(lines ...Line) string {
	var b strings.Builder
	for _, l := range lines {
		for _, row := range k.rows(l) {
			b.WriteString(row + "\n")
		}
	}
	return b.String()
}

// leastLeft is what stays of the left part of a line before its right part goes.
const leastLeft = 24

// rows are the painted rows of a line.
func (k Look) rows(l Line) []string {
	left, right, room := printable(l.Left), printable(l.Right), k.room()
	if l.Whole || room == 0 {
		if len(right) > 0 {
			left = append(append(left, T("  ")), right...)
		}
		return []string{k.paint(trimmed(left))}
	}
	if l.Wrap {
		return k.wrapped(append(left, right...), min(room, 100), l.Hang, l.Unbroken)
	}
	return []string{k.fit(left, right, room)}
}

// Row is one row of exactly the given width or less: what does not fit is cut, the right part last.
func (k Look) Row(l Line, width int) string {
	return k.fit(printable(l.Left), printable(l.Right), width)
}

func (k Look) fit(left, right []Span, room int) string {
	w := widthOf(right)
	if w > 0 && room-w-2 < min(leastLeft, widthOf(left)) {
		right, w = nil, 0
	}
	if w == 0 {
		return k.paint(trimmed(k.cut(left, room)))
	}
	left = k.cut(left, room-w-2)
	gap := strings.Repeat(" ", max(room-w-widthOf(left), 2))
	return k.paint(append(append(left, T(gap)), right...))
}

// cut shortens spans to n columns.
func (k Look) cut(spans []Span, n int) []Span {
	if widthOf(spans) <= n {
		return spans
	}
	ellipsis := k.Sign(Ellipsis)
	if n < Width(ellipsis) {
		return nil
	}
	var out []Span
	n -= Width(ellipsis)
	for _, s := range spans {
		w := Width(s.Text)
		if w > n {
			out = append(out, Span{s.Style, strings.TrimRight(head(s.Text, n), " ") + ellipsis})
			break
		}
		out, n = append(out, s), n-w
	}
	return out
}

// trimmed takes blanks from the end of a row.
func trimmed(spans []Span) []Span {
	for len(spans) > 0 {
		last := &spans[len(spans)-1]
		if last.Text = strings.TrimRight(last.Text, " "); last.Text != "" {
			break
		}
		spans = spans[:len(spans)-1]
	}
	return spans
}

// wrapped breaks spans at blanks; words that are wider than a row are broken where they must be. A command to type stays whole: one
// that is wider than a row has a row to itself.
func (k Look) wrapped(spans []Span, room, hang int, unbroken bool) []string {
	return k.painted(fold(commands(words(spans)), room, hang, unbroken))
}

// painted are rows as the look shows them, without blanks at their ends.
func (k Look) painted(rows [][]Span) (out []string) {
	for _, row := range rows {
		out = append(out, k.paint(trimmed(row)))
	}
	return out
}

// fold distributes words over rows of at most room columns; rows below the first begin with hang blanks.
func fold(words [][]Span, room, hang int, unbroken bool) (rows [][]Span) {
	hang = max(min(hang, room/2, room-2), 0) // a wide sign fits beside it
	var row []Span
	used, started := 0, false
	flush := func(hang int) {
		rows = append(rows, row)
		row, used, started = []Span{T(strings.Repeat(" ", hang))}, hang, false
	}
	put := func(word []Span, w int) {
		row, used, started = append(row, word...), used+w, true
	}
	for _, word := range words {
		text, w := textOf(word), widthOf(word)
		blank := strings.Trim(text, " ") == ""
		if blank {
			if started || len(rows) == 0 {
				put(word, w)
			}
			continue
		}
		if command := strings.Contains(text, " "); used+w > room && command && indented(row) { // as far to the right as it fits
			used = max(room-w, 0)
			row = []Span{T(strings.Repeat(" ", used))}
		} else if used+w > room && command {
			flush(max(min(hang, room-w), 0))
		} else if used+w > room && started {
			flush(hang)
		}
		for breaks := used+w > room && !whole(text, unbroken); breaks && used+w > room; {
			first, rest := split(word, room-used)
			if len(first) == 0 { // not even one sign fits: it stands alone, too wide
				_, _, wide, _ := uniseg.FirstGraphemeClusterInString(word[0].Text, -1)
				first, rest = split(word, wide)
			}
			if len(rest) == 0 {
				break
			}
			n := widthOf(first)
			put(first, n)
			flush(hang)
			word, w = rest, w-n
		}
		put(word, w)
	}
	if started || len(rows) == 0 { // nothing is an empty row
		rows = append(rows, row)
	}
	return rows
}

// indented reports whether a row has nothing but blanks.
func indented(row []Span) bool { return strings.TrimLeft(textOf(row), " ") == "" }

// whole reports whether a word may not be broken: a command, or where words may have to be copied, all but those of scripts that are
// written without blanks, whose signs are wide.
func whole(word string, unbroken bool) bool {
	return strings.Contains(word, " ") || unbroken && Width(word) <= utf8.RuneCountInString(word)
}

// words cuts spans at blanks into words, each of one span or more, and the runs of blanks between them.
func words(spans []Span) [][]Span {
	var out [][]Span
	var word []Span
	for _, s := range spans {
		for text := s.Text; text != ""; {
			n := strings.IndexByte(text, ' ')
			if n == 0 {
				n = len(text) - len(strings.TrimLeft(text, " "))
				if word != nil {
					out, word = append(out, word), nil
				}
				out, text = append(out, []Span{{s.Style, text[:n]}}), text[n:]
				continue
			}
			if n < 0 {
				n = len(text)
			}
			word, text = append(word, Span{s.Style, text[:n]}), text[n:]
		}
	}
	if word != nil {
		out = append(out, word)
	}
	return out
}

// split cuts a word after n columns; first is empty when not one grapheme fits.
func split(word []Span, n int) (first, rest []Span) {
	for i, s := range word {
		h := head(s.Text, n) // only that is measured: the rest may be long
		if len(h) == len(s.Text) {
			first, n = append(first, s), n-Width(h)
			continue
		}
		if h != "" {
			first = append(first, Span{s.Style, h})
		}
		rest = append(rest, Span{s.Style, s.Text[len(h):]})
		return first, append(rest, word[i+1:]...)
	}
	return first, nil
}

// Fill is a line cut or padded to exactly width columns, its right part at the end.
func (k Look) Fill(l Line, width int) []Span {
	left, right := printable(l.Left), printable(l.Right)
	w := widthOf(right)
	if w > 0 {
		w++
	}
	left = k.cut(left, width-w)
	left = append(left, T(strings.Repeat(" ", max(width-w-widthOf(left), 0)+min(w, 1))))
	return append(left, right...)
}

// WrapText is plain text wrapped at words to width columns.
func (k Look) WrapText(text string, width int) []string {
	k.Color = false
	return k.painted(fold(words(printable([]Span{T(text)})), width, 0, false))
}

// Parse turns text that was painted by a Look back into spans.
func Parse(painted string) []Span {
	var spans []Span
	style := Plain
	for painted != "" {
		at := strings.Index(painted, "\x1b[")
		if at < 0 {
			return append(spans, Span{style, painted})
		}
		if at > 0 {
			spans = append(spans, Span{style, painted[:at]})
		}
		code, rest, ended := strings.Cut(painted[at+2:], "m")
		if !ended {
			return append(spans, Span{style, painted[at:]})
		}
		style = Plain
		for s, c := range codes {
			if c == code && c != "" {
				style = Style(s)
			}
		}
		painted = rest
	}
	return spans
}

// Wrapped is a line as lines of one row each.
func (k Look) Wrapped(l Line) []Line {
	var out []Line
	for _, row := range k.rows(l) {
		out = append(out, Line{Left: Parse(row)})
	}
	return out
}

// Columns is text in columns that two blanks or more set apart, wrapped so that what goes on stands below its column.
func (k Look) Columns(text string) string {
	if k.Width == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if Width(line) < k.Width {
			b.WriteString(line + "\n")
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		hang := indent + 2
		if gap := strings.Index(line[indent:], "  "); gap >= 0 {
			rest := strings.TrimLeft(line[indent+gap:], " ")
			if at := Width(line[:len(line)-len(rest)]); at <= k.Width/2 {
				hang = at
			}
		}
		b.WriteString(k.Lines(Line{Left: []Span{T(line)}, Wrap: true, Hang: hang}))
	}
	return b.String()
}
