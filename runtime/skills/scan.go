package skills

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A pair is one marker block in a file, by offsets: its lines are [from, to), and
// the text between its markers is [text, end).
type pair struct {
	from, text, end, to int
	line                int // of the first marker, from 1
}

// A mark is a line that holds a marker.
type mark struct {
	begin    bool
	from, to int // of the line, with its end
	line     int
}

// scan finds the marker blocks of src in order.
func scan(src []byte) ([]pair, error) {
	marks := findMarks(src)
	for i, m := range marks {
		if m.begin != (i%2 == 0) {
			return nil, mismatch(marks, m)
		}
	}
	if len(marks)%2 == 1 {
		return nil, mismatch(marks, marks[len(marks)-1])
	}
	var pairs []pair
	for i := 0; i < len(marks); i += 2 {
		b, e := marks[i], marks[i+1]
		pairs = append(pairs, pair{from: b.from, text: b.to, end: e.from, to: e.to, line: b.line})
	}
	return pairs, nil
}

// mismatch says what is wrong with marks, of which m is the first out of place.
func mismatch(marks []mark, m mark) *diag.Error {
	begins := 0
	for _, k := range marks {
		if k.begin {
			begins++
		}
	}
	switch ends := len(marks) - begins; {
	case begins != ends:
		return refuse(m.line, "the marker block of canopy-runtime begins %s and ends %s", times(begins), times(ends))
	case m.begin:
		return refuse(m.line, "the marker block of canopy-runtime begins again inside itself")
	}
	return refuse(m.line, "the marker block of canopy-runtime ends before it begins")
}

func times(n int) string {
	switch n {
	case 0:
		return "nowhere"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func refuse(line int, format string, args ...any) *diag.Error {
	return diag.New(diag.Unmet, CodeBlock, format, args...).At(diag.Position{Line: line}).
		Hint("leave one line %q and one line %q after it, or neither, then: skl activate", beginMarker, endMarker)
}

// findMarks returns the lines that are markers. Lines of a fenced block are text; a
// fence that is never closed is no fence, so that a block that is appended below it is found again.
func findMarks(src []byte) []mark {
	var marks []mark
	fences := closing(src)
	char, length := byte(0), 0 // of the fence that is open
	for from, n := 0, 1; from < len(src); n++ {
		to := lineEnd(src, from)
		line := src[from:to]
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		c, l, bare := fence(line)
		switch {
		case char != 0:
			if c == char && l >= length && bare {
				char = 0
			}
		case c != 0 && fences.closes(c, l, from):
			char, length = c, l
		default:
			if text := string(bytes.TrimSpace(line)); text == beginMarker || text == endMarker {
				marks = append(marks, mark{text == beginMarker, from, to, n})
			}
		}
		from = to
	}
	return marks
}

func lineEnd(src []byte, from int) int {
	if i := bytes.IndexByte(src[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(src)
}

// fence reads a line that opens or closes a fenced block: its character, the length of its run, and
// whether nothing follows. c is 0 for any other line.
func fence(line []byte) (c byte, length int, bare bool) {
	text := strings.TrimRight(string(line), " \t\r\n")
	rest := strings.TrimLeft(text, " ")
	if len(text)-len(rest) > 3 || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return 0, 0, false
	}
	c = rest[0]
	info := strings.TrimLeft(rest, string(rune(c)))
	length = len(rest) - len(info)
	if length < 3 || c == '`' && strings.IndexByte(info, '`') >= 0 {
		return 0, 0, false
	}
	return c, length, info == ""
}

// A closer is a line that can close fences.
type closer struct{ at, length int }

// closers are, by character and from the last to the first, the lines that close longer fences
// than all lines after them. They tell whether a fence is ever closed without reading on.
type closers map[byte][]closer

func closing(src []byte) closers {
	out := closers{}
	for to := len(src); to > 0; {
		from := bytes.LastIndexByte(src[:to-1], '\n') + 1
		if c, l, bare := fence(src[from:to]); bare {
			if s := out[c]; len(s) == 0 || l > s[len(s)-1].length {
				out[c] = append(s, closer{from, l})
			}
		}
		to = from
	}
	return out
}

// closes reports whether a fence that opens at offset from is closed after it.
func (s closers) closes(c byte, length, from int) bool {
	list := s[c]
	// The first that is long enough is the last such line of the file.
	i := sort.Search(len(list), func(i int) bool { return list[i].length >= length })
	return i < len(list) && list[i].at > from
}
