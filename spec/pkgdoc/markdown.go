package pkgdoc

import (
	"regexp"
	"strings"
	"sync"
)

var chunk = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(\\s*)(`{3,}|~{3,})\\s*\\{\\.?([A-Za-z0-9_+-]+)[^}]*\\}\\s*$")
})

// Body is the text of a Markdown file without its frontmatter and comments; chunks that a program would run are code of their
// language. Lines end with LF.
func Body(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\r", "\n")
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if _, after, ok := strings.Cut(rest, "\n---\n"); ok {
			text = after
		} else if _, after, ok := strings.Cut(rest, "\n...\n"); ok {
			text = after
		}
	}
	var out []string
	fence, comment := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		if m := chunk().FindStringSubmatch(line); m != nil && fence == "" {
			line = m[1] + m[2] + m[3]
		}
		fence = Fenced(line, fence)
		if fence == "" || comment {
			line, comment = uncommented(line, comment)
			if line == "" && comment {
				continue
			}
		}
		out = append(out, line)
	}
	return strings.Trim(strings.Join(out, "\n"), "\n")
}

// Fenced is the fence that is open behind a line.
func Fenced(line, open string) string {
	text := strings.TrimLeft(line, " ")
	mark := text[:len(text)-len(strings.TrimLeft(text, "`"))]
	if mark == "" {
		mark = text[:len(text)-len(strings.TrimLeft(text, "~"))]
	}
	switch {
	case open == "" && len(mark) >= 3 && !(mark[0] == '`' && strings.Contains(text[len(mark):], "`")):
		return mark
	case open != "" && len(mark) >= len(open) && mark[0] == open[0] && strings.TrimSpace(text[len(mark):]) == "":
		return ""
	}
	return open
}

// uncommented is a line without comments of HTML.
func uncommented(line string, inside bool) (string, bool) {
	var w strings.Builder
	for line != "" {
		if inside {
			_, after, ok := strings.Cut(line, "-->")
			if !ok {
				break
			}
			line, inside = after, false
			continue
		}
		before, after, ok := strings.Cut(line, "<!--")
		w.WriteString(before)
		if !ok {
			break
		}
		line, inside = after, true
	}
	return strings.TrimRight(w.String(), " \t"), inside
}

// Opening is the first paragraph of prose of a Markdown text, on one line: no heading, list, picture, table or code.
func Opening(text string) string {
	fence := ""
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		was := fence
		if fence = Fenced(line, was); fence != "" || was != "" {
			continue
		}
		if line == "" || strings.ContainsAny(line[:1], "#-*+>|<![=~") {
			if len(out) > 0 {
				break
			}
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, " ")
}

// Code is text as code in a line of Markdown.
func Code(s string) string {
	mark := "`"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return mark + s + mark
}

// Fence is text as a block of code.
func Fence(language, text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + language + "\n" + strings.Trim(text, "\n") + "\n" + mark
}

var attributes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s*\{[^{}]*\}\s*$`) })

// Headings are those of a Markdown text, outside its code.
func Headings(text string) (out []Heading) {
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if was := fence; Fenced(line, was) != "" || was != "" {
			fence = Fenced(line, was)
			continue
		}
		level := len(line) - len(strings.TrimLeft(line, "#"))
		if level == 0 || level > 6 || !strings.HasPrefix(line[level:], " ") {
			continue
		}
		title := strings.Trim(attributes().ReplaceAllString(strings.TrimSpace(line[level:]), ""), "# ")
		if title != "" {
			out = append(out, Heading{level, title})
		}
	}
	return out
}
