package prose

import (
	"regexp"
	"strings"
	"sync"
)

// definition is a line that says where the links with a label lead, or what a footnote says.
var definition = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ {0,3}\[([^\[\]]{1,200})\]:[ \t]+(\S)`) })

// maxDefinitions bounds how many of a file are followed.
const maxDefinitions = 500

// definitions are the lines of the body that define labels, by these in lower case.
func (c *reader) definitions() map[string]string {
	out := map[string]string{}
	for n := c.doc.BodyLine; n <= c.lastLine() && len(out) < maxDefinitions; n++ {
		if c.kinds[n] != textLine {
			continue
		}
		if m := definition().FindStringSubmatch(c.line(n)); m != nil && out[strings.ToLower(m[1])] == "" {
			out[strings.ToLower(m[1])] = strings.TrimSpace(c.line(n))
		}
	}
	return out
}

// undefined are the definitions that a text uses and does not have, in the order of their use.
func undefined(text string, all map[string]string) (out []string) {
	has, used := map[string]bool{}, []string{}
	for line := range strings.Lines(text) {
		if m := definition().FindStringSubmatch(line); m != nil {
			has[strings.ToLower(m[1])] = true
			continue
		}
		for rest := line; ; {
			_, after, ok := strings.Cut(rest, "[")
			label, more, closed := strings.Cut(after, "]")
			if !ok || !closed {
				break
			}
			rest = after
			if i := strings.LastIndexByte(label, '['); i < 0 && !strings.HasPrefix(more, "(") {
				used = append(used, strings.ToLower(label))
			}
		}
	}
	for _, label := range used {
		if def := all[label]; def != "" && !has[label] {
			has[label] = true
			out = append(out, def)
		}
	}
	return out
}

// define gives each file, and what stays of SKILL.md, the definitions that it uses and that stand in another part now.
func (m *mover) define(source string, all map[string]string) string {
	if len(all) == 0 {
		return source
	}
	for i := range m.files {
		f := &m.files[i]
		if more := undefined(f.Text, all); len(more) > 0 {
			f.Text += m.nl + relinked(m.paper.text(more))
		}
	}
	if more := undefined(source, all); len(more) > 0 {
		if before, after, ok := strings.Cut(source, "## Tree"+m.nl); ok {
			source = before + m.paper.text(more) + m.nl + "## Tree" + m.nl + after
		}
	}
	return source
}
