package guide

import (
	"regexp"
	"strings"
)

var relative = regexp.MustCompile(`\[([^\]\n]+)\]\(([^)\s]+)\)`)

// Portable is the Markdown of a guide for where its neighbours are not: a link to another guide names the command that shows
// it, one to a file the path in the repository, one within the page nothing. Addresses stay links, and fenced blocks as they are.
func Portable(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if fenced {
			b.WriteString(line)
			continue
		}
		b.WriteString(relative.ReplaceAllStringFunc(line, func(link string) string {
			m := relative.FindStringSubmatch(link)
			if strings.Contains(m[2], "://") {
				return link
			}
			switch to := destination(m[2]); {
			case to == "" || strings.Trim(m[1], "`") == to:
				return m[1]
			case strings.HasPrefix(to, "skl "):
				return m[1] + " (`" + to + "`)"
			default:
				return m[1] + " (" + to + ")"
			}
		}))
	}
	return b.String()
}
