package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
)

// A region is some rows at the end of what a terminal shows, which are drawn again and erased at the end.
type region struct {
	w      io.Writer
	widths []int // of the rows that are drawn
}

// draw replaces the rows of the region. It counts with rows that a terminal wrapped when it became narrower.
func (r *region) draw(look screen.Look, lines []screen.Line) {
	bare := look
	bare.Color = false
	var b strings.Builder
	b.WriteString(r.back(look.Width))
	r.widths = r.widths[:0]
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(look.Row(l, look.Width-1) + "\x1b[K")
		r.widths = append(r.widths, screen.Width(bare.Row(l, look.Width-1)))
	}
	io.WriteString(r.w, b.String()+"\x1b[J")
}

// erase takes the rows away; the cursor is where the first one began.
func (r *region) erase(look screen.Look) {
	if len(r.widths) > 0 {
		io.WriteString(r.w, r.back(look.Width)+"\x1b[J")
		r.widths = nil
	}
}

// back moves the cursor to the start of the first row.
func (r *region) back(width int) string {
	if len(r.widths) == 0 {
		return ""
	}
	up := -1
	for _, w := range r.widths {
		up += max(1, (w+width-1)/max(width, 1))
	}
	if up > 0 {
		return fmt.Sprintf("\r\x1b[%dA", up)
	}
	return "\r"
}

// forget leaves what is drawn where it is: something else was printed below it.
func (r *region) forget() { r.widths = nil }
