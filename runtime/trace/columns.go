package trace

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/skl-project/skl/spec/diag"
)

// columns is how many columns of a terminal s takes. Where terminals differ, as for emoji of several
// runes, it is the larger number, so that what fits by this count fits everywhere.
//
//go:noinline
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r == 0x200c || r == 0x200d || unicode.In(r, unicode.Mn, unicode.Me):
		if r == 0xfe0f { // makes an emoji of the rune before it, which may have counted as one column
			return 1
		}
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut makes text printable and shortens it to n columns on one line.
func cut(text string, n int) string {
	if limit := 16*n + 1024; len(text) > limit { // so that a long prompt costs no more than its beginning
		text = diag.Clip(text, limit)
	}
	return shorten(diag.Printable(strings.Join(strings.Fields(text), " ")), n)
}

// shorten cuts a printable line to n columns, the last of which says that something is missing.
func shorten(line string, n int) string {
	if len(line) <= n || columns(line) <= n {
		return line
	}
	used := 0
	for i, r := range line {
		w := columnsOf(r)
		if used+w > n-1 {
			if n < 1 {
				return ""
			}
			return line[:i] + "…"
		}
		used += w
	}
	return line
}

// pad fills a printable line with blanks to n columns.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-columns(s), 0))
}

// paragraphs are the lines of a text for the person, printable, tabs as blanks.
func paragraphs(text string) []string {
	var out []string
	for _, line := range strings.Split(strings.TrimRight(text, "\r\n"), "\n") {
		out = append(out, diag.Printable(strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    ")))
	}
	return out
}

// comparePaths orders visits as a walk of the tree meets them: numbers by their value, parents first.
func comparePaths(a, b string) int {
	for a != "" && b != "" {
		x, restA := number(a)
		y, restB := number(b)
		if x >= 0 && y >= 0 {
			if x != y {
				return x - y
			}
			a, b = restA, restB
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// number is the number that s begins with, -1 if there is none.
func number(s string) (int, string) {
	n, i := 0, 0
	for i < len(s) && i < 9 && '0' <= s[i] && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	if i == 0 {
		return -1, s
	}
	return n, s[i:]
}

// depth is how deep a visit is nested: "2/0>REVIEW/1" is 2.
func depth(path string) int { return strings.Count(path, "/") }

// above yields the paths that can be those of visits around path, the innermost first: "2/0>REVIEW", "2/0", "2".
func above(path string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := strings.LastIndexAny(path, "/>["); i >= 0; i = strings.LastIndexAny(path, "/>[") {
			if path = path[:i]; !yield(path) {
				return
			}
		}
	}
}

// rows is how many rows of the screen a line of w columns takes where width columns fit.
func rows(w, width int) int { return max((w+width-1)/width, 1) }
