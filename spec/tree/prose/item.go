package prose

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// An item is one entry of the list, or a paragraph between or behind the entries of one.
type item struct {
	line   int
	text   string
	whole  string   // the item that this is the branch of, "" if it is none
	lines  []string // of the text, while it is read
	para   bool
	goesOn bool // steps stand behind it
	kids   []*item
}

// A nest is the items that are open on a line, the outermost first.
type nest struct {
	c       *reader
	stack   []level
	last    *item
	all     []*item
	ordered bool // the list itself is numbered
	intro   bool // a paragraph begins it
}

// A level is an open item. What stands further right than its column is below it.
type level struct {
	col int
	it  *item
	at  int // the column of a paragraph, -1 for an entry
}

// announces reports whether an item says that a list follows.
func (l level) announces() bool {
	return strings.HasSuffix(strings.TrimRight(l.it.lines[len(l.it.lines)-1], "*_"), ":")
}

// closedBy reports whether an entry at a column ends the item. What is indented by one space stands beside it, as Markdown has it.
func (l level) closedBy(col int) bool {
	if l.at < 0 {
		return col < l.col+2
	}
	return col <= l.col
}

// items reads the list. Code and quotes inside are moved to the notes.
func (c *reader) items(l listing) []*item {
	root := &item{}
	s := &nest{c: c, stack: []level{{-2, root, -1}}}
	moved := false
	for n := l.first; n <= l.last; n++ {
		text := c.line(n)
		col, at, ordered := marker(text)
		trimmed := strings.TrimSpace(text)
		foreign := c.kinds[n] == codeLine || c.kinds[n] == hiddenLine || c.kinds[n] == textLine && at == 0 && strings.ContainsAny(trimmed[:1], ">|")
		switch {
		case foreign:
			if !moved && s.last != nil {
				c.noted++
				c.notes = append(c.notes, "", fmt.Sprintf("Note %d, for the step \"%s\":", c.noted, diag.Clip(s.last.lines[0], 60)), "")
				if c.kinds[n] == hiddenLine {
					c.lose(n, "a comment stands below the tree now")
				} else {
					c.lose(n, "code or a quote does not fit into a tree and stands below it now; a file in assets or scripts is better")
				}
				if end := &s.last.lines[len(s.last.lines)-1]; strings.HasSuffix(strings.TrimRight(*end, "*_"), ":") {
					*end += fmt.Sprintf(" (see note %d)", c.noted)
				}
			}
			c.notes = append(c.notes, strings.TrimPrefix(text, strings.Repeat(" ", min(indentOf(text), 3))))
			moved = true
		case c.kinds[n] == emptyLine, c.kinds[n] == ruleLine:
		case at > 0:
			moved = false
			s.entry(n, col, ordered && !isFirst(text), ordered, s.clean(n, strings.TrimSpace(text[at:])))
		default:
			moved = false
			s.line(n, text)
		}
	}
	for _, it := range s.all {
		it.text = strings.TrimSpace(strings.Join(it.lines, " "))
	}
	return root.kids
}

// isFirst reports whether the entry of a numbered list on a line has the number 1.
func isFirst(l string) bool {
	l = strings.TrimLeft(l, " \t")
	return strings.HasPrefix(l, "1.") || strings.HasPrefix(l, "1)")
}

// entry adds an entry of a list.
// continues says that its number is not that of a first one.
func (s *nest) entry(n, col int, continues, ordered bool, text string) {
	if rest, ticked := strings.CutPrefix(strings.Replace(text, "[X]", "[x]", 1), "[x] "); ticked {
		s.c.lose(n, "it is ticked, \"[x]\", and a step of a tree has no state")
		text = rest
	}
	if len(s.stack) == 1 {
		s.ordered = ordered
	}
	for s.top().closedBy(col) || len(s.stack) == 2 && s.top().at >= 0 && col == s.top().at && !s.intro && ordered == s.ordered && (!ordered || !s.top().announces() || otherBranch().MatchString(s.top().it.lines[0]) || continues && len(s.top().it.kids) == 0) {
		s.stack = s.stack[:len(s.stack)-1] // of the paragraph beside the list only another list is
	}
	s.add(level{col, &item{line: n, lines: []string{text}}, -1})
}

// line adds a line without a bullet: to the item before it, or as a paragraph of the item that it is indented below.
func (s *nest) line(n int, text string) {
	trimmed := s.clean(n, strings.TrimSpace(text))
	at := columnOf(text)
	behind := s.c.kinds[n-1] != textLine
	other := otherBranch().MatchString(trimmed) && !strings.HasPrefix(trimmed, strings.ToLower(trimmed[:1]))
	switch {
	case s.last == nil:
		s.intro = true
	case !behind && !(other && at <= s.top().col):
		s.last.lines = append(s.last.lines, trimmed)
		return
	}
	for len(s.stack) > 1 && (s.top().at >= at || s.top().at < 0 && s.top().col >= at) {
		s.stack = s.stack[:len(s.stack)-1]
	}
	if s.last != nil && s.top().it == s.last {
		s.last.lines = append(s.last.lines, trimmed)
		return
	}
	col := at
	if s.last == nil || strings.HasSuffix(strings.TrimRight(trimmed, "*_"), ":") { // the list behind it is what it speaks of
		col--
	}
	s.add(level{col, &item{line: n, lines: []string{trimmed}, para: true}, at})
}

// clean is clean of a line, with a remark where that changes an operator.
func (s *nest) clean(n int, text string) string {
	out := clean(text)
	if strings.Count(out, "<<")+strings.Count(out, ">>") < strings.Count(text, "<<")+strings.Count(text, ">>") {
		s.c.lose(n, "an operator of the language, << or >>, is written apart")
	}
	return out
}

func (s *nest) top() level { return s.stack[len(s.stack)-1] }

// add puts an item below the innermost open one. Deeper ones than a tree may have stay on its last level.
func (s *nest) add(l level) {
	parent := s.top().it
	if len(s.stack) > tree.MaxDepth-4 {
		parent = s.stack[tree.MaxDepth-4].it
	}
	parent.kids = append(parent.kids, l.it)
	s.last, s.all, s.stack = l.it, append(s.all, l.it), append(s.stack, l)
}

// columnOf is the column of the first character that is no blank, with tabs of four.
func columnOf(l string) (col int) {
	for _, r := range l {
		switch r {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return col
		}
	}
	return col
}
