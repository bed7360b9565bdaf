package screen

import "strings"

// tabs is how far apart the stops of a terminal are.
const tabs = 8

// Fold breaks the lines of text, such as a file, that are wider than the screen, at words and without losing one. Rows that go on are
// indented by two columns more than the line, or stand below the text of an item. Lines that fit stay as they are.
func (k Look) Fold(text string) string {
	return k.foldEach(text, func(line, _ string) string {
		body := strings.TrimLeft(line, " ")
		return strings.Repeat(" ", len(line)-len(body)+len(item(body)))
	})
}

// FoldTree is Fold for a tree that is drawn with lines, which go on beside the rows that are added.
func (k Look) FoldTree(text string) string {
	return k.foldEach(text, func(line, next string) string {
		rails := railsOf(line)
		if rails == "" {
			return "  "
		}
		lead := below.Replace(rails)
		if inner, ok := strings.CutPrefix(railsOf(next), lead); ok && inner != "" { // it has nodes below it
			if strings.ContainsAny(inner, "|`") {
				return lead + "|   "
			}
			return lead + "│   "
		}
		return lead + "  "
	})
}

// foldEach folds the lines of text that are too wide; lead is what the rows below the first begin with, given the line and the next.
func (k Look) foldEach(text string, lead func(line, next string) string) string {
	if k.Width == 0 {
		return text
	}
	var b strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		b.WriteString(k.foldLine(line, func(line string) string { return lead(line, next) }))
	}
	return b.String()
}

// foldLine folds one line with its end, if it is too wide.
func (k Look) foldLine(line string, lead func(string) string) string {
	body, ended := strings.CutSuffix(line, "\n")
	spans := Parse(expand(body))
	if widthOf(spans) <= k.room() {
		return line
	}
	plain := textOf(spans)
	before := lead(plain)
	hang := Width(before)
	if hang > max(min(k.room()/2, k.room()-2), 0) { // too deep to be kept
		before, hang = "", 0
	}
	rows := fold(commands(words(spans)), k.room(), hang, true)
	for _, row := range rows[1:] {
		if row[0].Text == strings.Repeat(" ", hang) {
			row[0].Text = before
		}
	}
	text := strings.Join(k.painted(rows), "\n")
	if ended {
		text += "\n"
	}
	return text
}

// item is what an item of a list begins with, of two columns where there is none.
func item(body string) string {
	mark, rest, ok := strings.Cut(body, " ")
	if ok && len(mark) < 4 && rest != "" && (mark == "-" || mark == "*" || mark == "+" || strings.HasSuffix(mark, ".") && strings.Trim(mark, "0123456789") == ".") {
		return mark + " "
	}
	return "  "
}

// expand writes tabs as the blanks that a terminal shows for them.
func expand(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	at := 0
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			n := tabs - at%tabs
			b.WriteString(strings.Repeat(" ", n))
			at += n
		}
		b.WriteString(part)
		at += widthOf(Parse(part))
	}
	return b.String()
}

// below turns the lines of a tree before a node into those before what stands below it.
var below = strings.NewReplacer("├── ", "│   ", "└── ", "    ", "╰── ", "    ", "|-- ", "|   ", "`-- ", "    ", "╰-- ", "    ")

// railsOf are the lines of a tree with which a line begins.
func railsOf(line string) string {
	n := 0
	for rest := line; ; rest = line[n:] {
		size := 0
		for _, rail := range []string{"│   ", "├── ", "└── ", "╰── ", "    ", "|   ", "|-- ", "`-- ", "╰-- "} {
			if strings.HasPrefix(rest, rail) {
				size = len(rail)
			}
		}
		if size == 0 {
			return line[:n]
		}
		n += size
	}
}
