package tree

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// Rules of the findings that the parser makes.
const (
	ruleOrder  = "CNP-T01" // >> before <<
	ruleLayout = "CNP-T04" // mixed syntaxes, lost indentation
	ruleInline = "CNP-T08" // a branch on the line of its condition
	ruleTrees  = "CNP-S05" // two trees, or an empty one
	ruleLimit  = "CNP-S11" // bigger than what is read, or not text
	ruleNear   = "CNP-S12" // nearly a tree
	ruleStray  = "CNP-S13" // a line among steps that is none
)

// lineKind is what a line of a Markdown file is to this package.
type lineKind uint8

const (
	textLine lineKind = iota
	headingLine
	commentLine // of an HTML comment, its first and last line too
	fenceOpen
	fencedLine
	fenceClose
)

// A line is a span of a page, without its line end.
type line struct {
	start, end int32
	kind       lineKind
	level      uint8 // of a heading
	plain      bool  // fenceOpen: without an info string
}

// A page is a Markdown file cut into lines. Fences and HTML comments are opaque
// to the search for headings.
type page struct {
	file   string
	src    string
	first  int // number of lines[0]
	offset int // of src in the file
	lines  []line
}

func newPage(src, file string, first int) *page {
	p := &page{file: file, src: src, first: first, lines: make([]line, 0, strings.Count(src, "\n")+1)}
	var fence string // the opening run, "" outside
	comment := false
	for at := 0; at < len(src); {
		end, next := len(src), len(src)
		if i := strings.IndexByte(src[at:], '\n'); i >= 0 {
			end, next = at+i, at+i+1
		}
		for end > at && src[end-1] == '\r' {
			end--
		}
		l := line{start: int32(at), end: int32(end)}
		switch text := strings.Trim(src[at:end], blanks); {
		case comment:
			l.kind = commentLine
			comment = !strings.Contains(text, "-->")
		case fence != "":
			l.kind = fencedLine
			if closes(text, fence) {
				l.kind, fence = fenceClose, ""
			}
		case text == "":
		case text[0] == '`' || text[0] == '~':
			if run, info, ok := opens(text); ok {
				l.kind, l.plain, fence = fenceOpen, info == "", run
			}
		case text[0] == '#' && src[at] == '#':
			l.level = headingLevel(text)
			if l.level > 0 {
				l.kind = headingLine
			}
		case strings.HasPrefix(text, "<!--"):
			l.kind = commentLine
			comment = !strings.Contains(text[4:], "-->")
		}
		p.lines = append(p.lines, l)
		at = next
	}
	return p
}

// blanks are what is trimmed around the text of a line.
const blanks = " \t\r\v\f"

//go:noinline
func trim(s string) string { return strings.Trim(s, blanks) }

// opens reports whether text opens a fence. A fence of backticks has none in its info string.
func opens(text string) (run, info string, ok bool) {
	n := 0
	for n < len(text) && text[n] == text[0] {
		n++
	}
	run, info = text[:n], trim(text[n:])
	return run, info, n >= 3 && (text[0] == '~' || !strings.Contains(info, "`"))
}

func closes(text, fence string) bool {
	return len(text) >= len(fence) && strings.Trim(text, fence[:1]) == ""
}

// headingLevel returns 0 for a line that is no heading.
func headingLevel(text string) uint8 {
	n := 0
	for n < len(text) && text[n] == '#' {
		n++
	}
	if n > 6 || n < len(text) && text[n] != ' ' && text[n] != '\t' {
		return 0
	}
	return uint8(n)
}

func (p *page) text(i int) string { return p.src[p.lines[i].start:p.lines[i].end] }

func (p *page) blank(i int) bool { return trim(p.text(i)) == "" }

// title is the text of a heading, without a closing run of number signs, and its column.
func (p *page) title(i int) (string, int) {
	text, level := p.text(i), int(p.lines[i].level)
	rest := strings.TrimLeft(text[level:], blanks)
	col := len(text) - len(rest) + 1
	rest = trim(rest)
	if open := strings.TrimRight(rest, "#"); open == "" || strings.HasSuffix(open, " ") {
		rest = trim(open)
	}
	return rest, col
}

// rule reports whether line i is a horizontal rule.
func (p *page) rule(i int) bool {
	s := trim(p.text(i))
	return p.lines[i].kind == textLine && len(s) >= 3 && (strings.Trim(s, "-") == "" || strings.Trim(s, "_") == "" || strings.Trim(s, "*") == "")
}

func (p *page) pos(i, column int) Pos { return Pos{p.file, p.first + i, column} }

// prose is the text of lines lo to hi without those that drop accepts, HTML
// comments and horizontal rules, trimmed.
func (p *page) prose(lo, hi int, drop func(int) bool) string {
	var b strings.Builder
	for i := lo; i < hi; i++ {
		if p.lines[i].kind == commentLine || p.rule(i) || drop != nil && drop(i) {
			continue
		}
		b.WriteString(p.text(i))
		b.WriteByte('\n')
	}
	return strings.Trim(b.String(), blanks+"\n")
}

func (p *page) finding(i, column int, rule string, s diag.Severity, message string) diag.Finding {
	return diag.Finding{File: p.file, Line: p.first + i, Column: column, Rule: rule, Severity: s, Message: message}
}
