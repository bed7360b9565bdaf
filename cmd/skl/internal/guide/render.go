package guide

import (
	"strings"
	"unicode/utf8"
)

// A Screen says how Render lays text out. The zero Screen is 80 columns without colours.
type Screen struct {
	Width int  // columns; 0 means 80, and no line of prose is longer
	Color bool // emphasise with terminal sequences
}

// A span is text of one style.
type span struct {
	text  string
	style string // parameters of an SGR sequence, "" for plain text
}

const (
	plain   = ""
	strong  = "1"
	code    = "36"
	heading = "1;4"
)

// Render lays Markdown out for a terminal. Its text must be printable: what the guides hold is.
// Bytes that are not UTF-8 become U+FFFD, so that taking marks away never joins them to a character.
// Fenced blocks are indented and never wrapped.
func Render(text string, s Screen) string {
	if s.Width <= 0 {
		s.Width = 80
	}
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	p := page{Screen: s, lines: strings.Split(strings.TrimSpace(text), "\n")}
	for p.at < len(p.lines) {
		p.block()
	}
	return p.out.String()
}

// A page is the state of one Render.
type page struct {
	Screen
	lines []string
	at    int
	out   strings.Builder
}

// block writes the block that begins at the current line, and an empty line before it unless it is the first.
func (p *page) block() {
	line := p.lines[p.at]
	switch {
	case strings.TrimSpace(line) == "":
		p.at++
		return
	case strings.HasPrefix(line, "<!--"):
		for ; p.at < len(p.lines) && !strings.Contains(p.lines[p.at], "-->"); p.at++ {
		}
		p.at++
		return
	}
	if p.out.Len() > 0 {
		p.out.WriteByte('\n')
	}
	switch {
	case strings.HasPrefix(line, "#"):
		p.at++
		p.out.WriteString(p.paint(span{strings.TrimLeft(line, "# "), heading}) + "\n")
	case strings.HasPrefix(line, "```"):
		p.fence()
	case strings.HasPrefix(line, "|"):
		p.table()
	case marker(line) != "":
		p.list()
	default:
		p.wrap(strings.Join(p.take(prose), " "), "", "")
	}
}

// take returns the lines from here on for which in holds, without the spaces around them.
func (p *page) take(in func(string) bool) []string {
	var out []string
	for ; p.at < len(p.lines) && in(p.lines[p.at]); p.at++ {
		out = append(out, strings.TrimSpace(p.lines[p.at]))
	}
	return out
}

// prose reports whether a line can go on with a paragraph.
func prose(line string) bool {
	return strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "#") &&
		!strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "<!--") && marker(line) == ""
}

// marker is what begins an item of a list, "- " or "1. ", "" if the line is none.
func marker(line string) string {
	line = strings.TrimLeft(line, " ")
	if strings.HasPrefix(line, "- ") {
		return "- "
	}
	digits := strings.TrimLeft(line, "0123456789")
	if n := len(line) - len(digits); n > 0 && n < 3 && strings.HasPrefix(digits, ". ") {
		return line[:n+2]
	}
	return ""
}

func (p *page) fence() {
	for p.at++; p.at < len(p.lines) && !strings.HasPrefix(p.lines[p.at], "```"); p.at++ {
		line := p.lines[p.at]
		style := plain
		if strings.HasPrefix(line, "$ ") {
			style = strong
		}
		p.out.WriteString(strings.TrimRight("    "+p.paint(span{line, style}), " ") + "\n")
	}
	p.at++
}

// list writes items. An item goes on in lines that are indented.
func (p *page) list() {
	for p.at < len(p.lines) && marker(p.lines[p.at]) != "" {
		line := p.lines[p.at]
		m := marker(line)
		indent := strings.Repeat(" ", 2+len(line)-len(strings.TrimLeft(line, " ")))
		p.at++
		rest := p.take(prose)
		text := strings.Join(append([]string{strings.TrimPrefix(strings.TrimLeft(line, " "), m)}, rest...), " ")
		p.wrap(text, indent+m, indent+strings.Repeat(" ", len(m)))
	}
}

// wrap writes text in lines of at most Width columns, the first after first, the others after rest.
func (p *page) wrap(text, first, rest string) {
	for i, line := range fill(inline(text), p.Width-len(rest)) {
		if i > 0 {
			first = rest
		}
		p.out.WriteString(first + p.join(line) + "\n")
	}
}

// A word is what stands between two spaces.
type word []span

func (w word) width() (n int) {
	for _, s := range w {
		n += utf8.RuneCountInString(s.text)
	}
	return n
}

// fill distributes words over lines of at most width columns. A word that is longer has a line of its own.
func fill(words []word, width int) [][]word {
	var out [][]word
	used := 0
	for _, w := range words {
		n := w.width()
		if len(out) == 0 || used+1+n > width {
			out, used = append(out, nil), -1
		}
		out[len(out)-1] = append(out[len(out)-1], w)
		used += 1 + n
	}
	return out
}

func (p *page) join(line []word) string {
	var parts []string
	for _, w := range line {
		var b strings.Builder
		for _, s := range w {
			b.WriteString(p.paint(s))
		}
		parts = append(parts, b.String())
	}
	return strings.Join(parts, " ")
}

func (p *page) paint(s span) string {
	if !p.Color || s.style == plain || s.text == "" {
		return s.text
	}
	return "\x1b[" + s.style + "m" + s.text + "\x1b[0m"
}

// inline splits text into words and gives each part its style. Code of up to 40 columns is one word: a command
// is easier to copy from one line.
func inline(text string) []word {
	var words []word
	var current word
	add := func(text, style string) {
		for i, part := range strings.Split(text, " ") {
			if i > 0 && len(current) > 0 {
				words, current = append(words, current), nil
			}
			if part != "" {
				current = append(current, span{part, style})
			}
		}
	}
	for text != "" {
		i := strings.IndexAny(text, "`*[")
		if i < 0 {
			break
		}
		add(text[:i], plain)
		text = text[i:]
		switch {
		case text[0] == '`':
			inner, rest, ok := strings.Cut(text[1:], "`")
			if !ok {
				add(text, plain)
				text = ""
				break
			}
			if utf8.RuneCountInString(inner) <= 40 {
				current = append(current, span{inner, code})
			} else {
				add(inner, code)
			}
			text = rest
		case strings.HasPrefix(text, "**"):
			inner, rest, ok := strings.Cut(text[2:], "**")
			if !ok {
				inner, rest = text, ""
			}
			add(inner, strong)
			text = rest
		case text[0] == '[':
			inner, rest, ok := strings.Cut(text[1:], "](")
			target, after, closed := strings.Cut(rest, ")")
			if !ok || !closed || strings.Contains(inner, "]") {
				add("[", plain)
				text = text[1:]
				break
			}
			add(strings.Trim(inner, "`"), plain)
			if to := destination(target); to != "" {
				add(" (", plain)
				current = append(current, span{to, code})
				add(")", plain)
			}
			text = after
		default: // a lone asterisk
			add(text[:1], plain)
			text = text[1:]
		}
	}
	add(text, plain)
	if len(current) > 0 {
		words = append(words, current)
	}
	return words
}

// destination is how a terminal shows where a link leads: the command for another guide, the path in the
// repository for its files, the address for the rest; "" for a section of the same page.
func destination(target string) string {
	target, _, _ = strings.Cut(target, "#")
	name, isPage := strings.CutSuffix(target, ".md")
	if isPage && !strings.Contains(name, "/") {
		return "skl help guide " + name
	}
	for strings.HasPrefix(target, "../") {
		target = target[len("../"):]
	}
	return target
}

// table writes a table with aligned columns. The widest columns become narrower, and their cells get more lines,
// until a row fits.
func (p *page) table() {
	var rows [][][]word
	var width, least []int // of columns: their longest cells and words
	for i, line := range p.take(func(line string) bool { return strings.HasPrefix(line, "|") }) {
		if i == 1 {
			continue // |---|---|
		}
		var row [][]word
		for c, cell := range cells(line) {
			words := inline(cell)
			row = append(row, words)
			if c == len(width) {
				width, least = append(width, 0), append(least, 0)
			}
			width[c] = max(width[c], length(words))
			for _, w := range words {
				least[c] = max(least[c], w.width())
			}
		}
		rows = append(rows, row)
	}
	p.narrow(width, least)
	for i, row := range rows {
		p.row(row, width, i == 0)
	}
}

func length(words []word) int {
	n := -1
	for _, w := range words {
		n += 1 + w.width()
	}
	return max(n, 0)
}

// narrow shrinks the widest columns until all and the gaps of two between them fit, or each is as narrow as its longest word.
func (p *page) narrow(width, least []int) {
	for {
		total, widest := -2, -1
		for c, n := range width {
			total += n + 2
			if n > least[c] && (widest < 0 || n > width[widest]) {
				widest = c
			}
		}
		if total <= p.Width || widest < 0 {
			return
		}
		width[widest]--
	}
}

func (p *page) row(row [][]word, width []int, head bool) {
	var columns [][][]word
	height := 0
	for c, words := range row {
		lines := fill(words, width[c])
		columns = append(columns, lines)
		height = max(height, len(lines))
	}
	for i := range height {
		var b strings.Builder
		for c, lines := range columns {
			var line []word
			if i < len(lines) {
				line = lines[i]
			}
			text := p.join(line)
			if head && p.Color {
				text = p.paint(span{(&page{}).join(line), strong})
			}
			b.WriteString(text + strings.Repeat(" ", max(width[c]-length(line), 0)+2))
		}
		p.out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
}

// cells splits a row of a table. A bar in a cell is written \|.
func cells(line string) []string {
	const bar = "\x00"
	line = strings.Trim(strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar), "|")
	var out []string
	for _, cell := range strings.Split(line, "|") {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(cell), bar, "|"))
	}
	return out
}
