package skillify

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/skill"
)

// A target says where a link leads in the skill; ok is false for one that leads nowhere, of which the text stays.
type target func(link string) (to string, ok bool)

// maxLink bounds the target of a link, a label and a tag of HTML, in bytes: what is longer is text.
const maxLink = 500

// web is the target of texts that are on no page of their own: only addresses lead anywhere.
func web(link string) (string, bool) {
	scheme, _, ok := strings.Cut(strings.ToLower(link), ":")
	return link, ok && (scheme == "https" || scheme == "http" || scheme == "mailto") || strings.HasPrefix(link, "//")
}

// prose is text of the package whose links lead somewhere.
func (m *maker) prose(text string) string { return relinked(m.clean(text), web, false) }

// guideLinks is the target of a guide: addresses, what the package has and the skill holds too, and its own headings.
func (m *maker) guideLinks(g *pkgdoc.Guide, text string) target {
	own := anchors(text)
	return func(link string) (string, bool) {
		if to, ok := web(link); ok {
			return to, true
		}
		file, anchor, _ := strings.Cut(link, "#")
		if file == "" {
			return link, own[strings.ToLower(anchor)]
		}
		file = path.Join(path.Dir(g.File), file)
		if m.p.LicenseText != "" && slices.Contains(pkgdoc.LicenseNames(), file) {
			return "../../LICENSE", true
		}
		for i := range m.p.Guides {
			if other := &m.p.Guides[i]; other.File == file && m.guideAt[other.ID] != "" {
				return path.Base(m.guideAt[other.ID]), true
			}
		}
		return "", false
	}
}

// partLinks is the target of a part of a text, whose headings may be in another one.
func partLinks(own int, parts []map[string]bool, names []string) target {
	return func(link string) (string, bool) {
		anchor, ok := strings.CutPrefix(link, "#")
		if !ok || parts[own][strings.ToLower(anchor)] {
			return link, true
		}
		for i := range parts {
			if parts[i][strings.ToLower(anchor)] {
				return path.Base(names[i]) + link, true
			}
		}
		return "", false
	}
}

var anchorTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<[a-zA-Z][^<>]*?\s(?:id|name)\s*=\s*["']?([^"'\s<>]+)`)
})

// anchors are those of a text, in lower case: of its headings as forges make them, and of tags.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	all := skill.Anchors{}
	add := func(title string) {
		out[all.Of(relinked(title, func(string) (string, bool) { return "", false }, false))] = true
	}
	fence, before := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		was := fence
		if fence = pkgdoc.Fenced(line, was); fence != "" || was != "" {
			before = ""
			continue
		}
		switch {
		case level(line) > 0:
			add(strings.Trim(line, "# \t"))
			before = ""
		case before != "" && line != "" && (strings.Trim(line, "=") == "" || strings.Trim(line, "-") == ""):
			add(before)
			before = ""
		default:
			before = line
		}
		for _, m := range anchorTag().FindAllStringSubmatch(line, -1) {
			out[strings.ToLower(m[1])] = true
		}
	}
	return out
}

// relinked is Markdown in which each link leads where to says. One that leads nowhere is its text, a picture its alternative text. With inline,
// links by a label are written with their targets: what a label means may be in another part of a text that is cut.
func relinked(text string, to target, inline bool) string {
	if !strings.ContainsAny(text, "[<") {
		return text
	}
	l := &linker{to: to, inline: inline, labels: map[string]string{}}
	lines := l.definitions(text)
	var w, block strings.Builder
	fence := ""
	flush := func() {
		w.WriteString(l.paragraph(block.String()))
		block.Reset()
	}
	for _, line := range lines {
		was := fence
		if fence = pkgdoc.Fenced(strings.TrimRight(line, "\r\n"), was); fence != "" || was != "" {
			flush()
			w.WriteString(line)
			continue
		}
		block.WriteString(line)
		if strings.TrimSpace(line) == "" {
			flush()
		}
	}
	flush()
	return w.String()
}

// A linker rewrites the links of one text.
type linker struct {
	to     target
	inline bool
	labels map[string]string // targets; "" for one that leads nowhere
}

var definition = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ {0,3}\[([^\[\]]+)\]:[ \t]*<?([^\s<>]+)>?[ \t]*(?:["'(].*)?$`)
})

// definitions are the lines of a text without those that say where a label leads, if it leads nowhere or its links are written with it.
func (l *linker) definitions(text string) (lines []string) {
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, " \t\r\n")
		was := fence
		if fence = pkgdoc.Fenced(bare, was); fence == "" && was == "" && len(bare) <= 2*maxLink && !strings.HasPrefix(strings.TrimLeft(bare, " "), "[^") {
			if found := definition().FindStringSubmatch(bare); found != nil {
				to, ok := l.to(found[2])
				if !ok {
					to = ""
				}
				if key := label(found[1]); !l.has(key) {
					l.labels[key] = to
				}
				switch {
				case !ok || l.inline:
					continue
				case to != found[2]:
					line = strings.Replace(line, found[2], to, 1)
				}
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func (l *linker) has(label string) bool {
	_, ok := l.labels[label]
	return ok
}

// label is a label as labels are compared.
func label(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// A patch replaces a span of a text.
type patch struct {
	from, to int
	text     string
}

// paragraph rewrites the links of a paragraph.
func (l *linker) paragraph(text string) string {
	if !strings.ContainsAny(text, "[<") {
		return text
	}
	var patches []patch
	var open []int
	unclosed := map[int]bool{} // lengths of runs of backticks that no other one closes
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '\\':
			i++
		case '`':
			i = behindCode(text, i, unclosed) - 1
		case '[':
			open = append(open, i)
		case ']':
			if n := len(open); n > 0 {
				from := open[n-1]
				open = open[:n-1]
				if end, more := l.link(text, from, i); end > 0 {
					patches = append(patches, more...)
					i = end - 1
				}
			}
		case '<':
			if end, more := l.tag(text, i); end > 0 {
				patches = append(patches, more...)
				i = end - 1
			}
		}
		i++
	}
	return edited(text, patches)
}

// behindCode is the offset behind the code that begins with the backticks at i, or behind these if nothing closes them.
func behindCode(text string, i int, unclosed map[int]bool) int {
	run := func(at int) int {
		n := 0
		for at+n < len(text) && text[at+n] == '`' {
			n++
		}
		return n
	}
	n := run(i)
	if unclosed[n] {
		return i + n
	}
	for at := i + n; at < len(text); {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			break
		}
		at += next
		m := run(at)
		at += m
		if m == n {
			return at
		}
	}
	unclosed[n] = true
	return i + n
}

// link rewrites the link whose text is between two brackets, and is the offset behind it; 0 for what is none, or leads where it should.
func (l *linker) link(text string, from, to int) (end int, patches []patch) {
	start := from
	if from > 0 && text[from-1] == '!' && !(from > 1 && text[from-2] == '\\') {
		start-- // a picture
	}
	bare := func(end int) (int, []patch) {
		return end, []patch{{start, from + 1, ""}, {to, end, ""}}
	}
	rest := text[to+1:]
	switch {
	case strings.HasPrefix(rest, "("):
		link, at, size := destination(rest)
		if size == 0 {
			break
		}
		now, ok := l.to(link)
		switch {
		case !ok:
			return bare(to + 1 + size)
		case now != link:
			return to + 1 + size, []patch{{to + 1 + at, to + 1 + at + len(link), now}}
		}
		return to + 1 + size, nil
	case strings.HasPrefix(rest, "["):
		size := strings.IndexByte(rest[:min(len(rest), maxLink)], ']') + 1
		if size == 0 {
			break
		}
		key := label(rest[1 : size-1])
		if key == "" {
			key = label(text[from+1 : to])
		}
		return l.labelled(key, to+1+size, to, bare)
	}
	if to-from <= maxLink {
		return l.labelled(label(text[from+1:to]), to+1, to, bare)
	}
	return 0, nil
}

// labelled rewrites a link by its label.
func (l *linker) labelled(key string, end, to int, bare func(int) (int, []patch)) (int, []patch) {
	link, ok := l.labels[key]
	switch {
	case !ok:
		return 0, nil
	case link == "":
		return bare(end)
	case l.inline:
		return end, []patch{{to, end, "](" + link + ")"}}
	}
	return end, nil
}

// destination reads (target "title"): the target, its offset, and the length of all; 0 for what is none.
func destination(s string) (link string, at, size int) {
	s = s[:min(len(s), maxLink)]
	at = 1 + len(s[1:]) - len(strings.TrimLeft(s[1:], " \n"))
	end := at
	if at < len(s) && s[at] == '<' {
		n := strings.IndexAny(s[at+1:], ">\n")
		if n < 0 || s[at+1+n] != '>' {
			return "", 0, 0
		}
		at, end = at+1, at+1+n
		link = s[at:end]
		end++
	} else {
		depth := 0
		for ; end < len(s) && s[end] > ' '; end++ {
			if s[end] == '(' {
				depth++
			} else if s[end] == ')' {
				if depth--; depth < 0 {
					break
				}
			}
		}
		link = s[at:end]
	}
	rest := strings.TrimLeft(s[end:], " \n")
	if rest != "" && strings.IndexByte(`"'(`, rest[0]) >= 0 && len(rest) < len(s[end:]) {
		closing := map[byte]string{'"': `"`, '\'': "'", '(': ")"}[rest[0]]
		n := strings.Index(rest[1:], closing)
		if n < 0 {
			return "", 0, 0
		}
		rest = strings.TrimLeft(rest[n+2:], " \n")
	}
	if !strings.HasPrefix(rest, ")") {
		return "", 0, 0
	}
	return link, at, len(s) - len(rest) + 1
}

var (
	linkTag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^<(a|img|source|video|picture)\s[^<>]*>`)
	})
	linkOfTag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\s(href|src|srcset|poster)\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>]+)`)
	})
	altOfTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\salt\s*=\s*("[^"<>]*"|'[^'<>]*')`) })
)

// tag rewrites a tag of HTML that leads somewhere, and is the offset behind it; 0 for what is none. An address in angle brackets stays.
func (l *linker) tag(text string, i int) (end int, patches []patch) {
	head := text[i:min(len(text), i+maxLink)]
	tag := linkTag().FindString(head)
	if tag == "" {
		if n := strings.IndexAny(head[1:], "<> \n"); n > 0 && head[1+n] == '>' && strings.Contains(head[:n], ":") {
			return i + n + 2, nil
		}
		return 0, nil
	}
	end = i + len(tag)
	for _, at := range linkOfTag().FindAllStringSubmatchIndex(tag, -1) {
		link := strings.Trim(tag[at[4]:at[5]], `"'`)
		now, ok := l.to(link)
		switch {
		case !ok && strings.EqualFold(tag[1:min(4, len(tag))], "img"):
			alt := ""
			if m := altOfTag().FindStringSubmatch(tag); m != nil {
				alt = strings.Trim(m[1], `"'`)
			}
			return end, []patch{{i, end, alt}}
		case !ok:
			patches = append(patches, patch{i + at[0], i + at[1], ""})
		case now != link:
			patches = append(patches, patch{i + at[4], i + at[5], `"` + now + `"`})
		}
	}
	return end, patches
}

// edited is a text with patches, which do not overlap.
func edited(text string, patches []patch) string {
	slices.SortStableFunc(patches, func(a, b patch) int { return a.from - b.from })
	var w strings.Builder
	at := 0
	for _, e := range patches {
		if e.from < at {
			continue // in what another one replaced
		}
		w.WriteString(text[at:e.from])
		w.WriteString(e.text)
		at = e.to
	}
	return w.String() + text[at:]
}
