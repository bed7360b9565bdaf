// Package vt is a small terminal for tests: it obeys the few sequences that skl sends, as a real one does, and refuses
// every other one.
package vt

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// A Screen is what a terminal of some width shows. It has no end at the bottom.
type Screen struct {
	Width   int
	Hidden  bool // the cursor is
	Wrapped int  // rows that the terminal had to wrap itself
	Raw     bool // line ends are taken as they are
	Refused []string

	rows  [][]cell
	goOn  map[int]bool // rows that the terminal began, as the one before was full
	x, y  int
	style string
	rest  string
}

type cell struct{ text, style string }

// Write obeys p.
func (s *Screen) Write(p []byte) (int, error) {
	text := s.rest + string(p)
	s.rest = ""
	for text != "" {
		switch c := text[0]; {
		case c == 0x1b:
			end := strings.IndexFunc(text[min(2, len(text)):], func(r rune) bool { return r >= '@' && r <= '~' })
			if len(text) < 3 || end < 0 {
				s.rest = text
				return len(p), nil
			}
			s.obey(text[:2+end+1])
			text = text[2+end+1:]
		case c == '\r':
			s.x, text = 0, text[1:]
		case c == '\n':
			s.y, text = s.y+1, text[1:]
			if !s.Raw {
				s.x = 0
			}
		case c == '\t':
			s.x, text = min(s.x/8*8+8, max(s.Width-1, s.x)), text[1:]
		case c < 0x20 || c == 0x7f:
			s.Refused, text = append(s.Refused, fmt.Sprintf("%q", c)), text[1:]
		default:
			cluster, after, w, _ := uniseg.FirstGraphemeClusterInString(text, -1)
			s.put(cluster, w)
			text = after
		}
	}
	return len(p), nil
}

func (s *Screen) put(text string, w int) {
	if s.x+w > s.Width {
		s.x, s.y = 0, s.y+1
		s.Wrapped++
		if s.goOn == nil {
			s.goOn = map[int]bool{}
		}
		s.goOn[s.y] = true
	}
	s.row()
	row := s.rows[s.y]
	for len(row) < s.x+w {
		row = append(row, cell{" ", ""})
	}
	row[s.x] = cell{text, s.style}
	for i := 1; i < w; i++ {
		row[s.x+i] = cell{"", s.style}
	}
	s.rows[s.y] = row
	s.x += w
}

// row makes the row of the cursor.
func (s *Screen) row() {
	for len(s.rows) <= s.y {
		s.rows = append(s.rows, nil)
	}
}

func (s *Screen) obey(seq string) {
	n := 1
	fmt.Sscanf(seq[2:], "%d", &n)
	s.row()
	switch final := seq[len(seq)-1]; {
	case seq == "\x1b[?25l", seq == "\x1b[?25h":
		s.Hidden = final == 'l'
	case final == 'm':
		s.style = strings.TrimSuffix(seq[2:], "m")
		if s.style == "0" {
			s.style = ""
		}
	case final == 'A':
		s.y = max(s.y-n, 0)
	case seq == "\x1b[K", seq == "\x1b[J":
		if s.x < len(s.rows[s.y]) {
			s.rows[s.y] = s.rows[s.y][:s.x]
		}
		if final == 'J' {
			s.rows = s.rows[:s.y+1]
		}
	default:
		s.Refused = append(s.Refused, fmt.Sprintf("%q", seq))
	}
}

// Text is what the screen shows, without colours.
func (s *Screen) Text() string { return s.text(false) }

// Lines are the lines that were sent, those whole that the terminal had to wrap.
func (s *Screen) Lines() (lines []string) {
	for y, row := range strings.Split(strings.TrimSuffix(s.Text(), "\n"), "\n") {
		if s.goOn[y] && y > 0 {
			last := &lines[len(lines)-1]
			*last += strings.Repeat(" ", max((uniseg.StringWidth(*last)+s.Width-1)/s.Width*s.Width-uniseg.StringWidth(*last), 0)) + row
			continue
		}
		lines = append(lines, row)
	}
	return lines
}

// Painted is Text with the style of each run of text in braces: {36:text}.
func (s *Screen) Painted() string { return s.text(true) }

// A Run is text of a row in one style, such as "36"; "" is none.
type Run struct{ Text, Style string }

// Runs are the rows of the screen, without blanks at their ends.
func (s *Screen) Runs() (rows [][]Run) {
	for _, row := range s.rows {
		var runs []Run
		for _, c := range row {
			if n := len(runs); n > 0 && runs[n-1].Style == c.style {
				runs[n-1].Text += c.text
			} else {
				runs = append(runs, Run{c.text, c.style})
			}
		}
		for n := len(runs) - 1; n >= 0; n = len(runs) - 1 {
			if runs[n].Text = strings.TrimRight(runs[n].Text, " "); runs[n].Text != "" {
				break
			}
			runs = runs[:n]
		}
		rows = append(rows, runs)
	}
	return rows
}

func (s *Screen) text(painted bool) string {
	var b strings.Builder
	for _, row := range s.rows {
		line, style := "", ""
		for _, c := range row {
			if painted && c.style != style {
				if style != "" {
					line += "}"
				}
				if c.style != "" {
					line += "{" + c.style + ":"
				}
				style = c.style
			}
			line += c.text
		}
		if style != "" {
			line += "}"
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
