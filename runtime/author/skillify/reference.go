package skillify

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// guides writes the longer texts. One of which only the outline is known has that.
func (m *maker) guides() {
	m.guideAt = map[string]string{}
	taken := map[string]bool{}
	for i := range m.p.Guides { // all, for links from one to another
		m.guideAt[m.p.Guides[i].ID] = fileName("guides", m.p.Guides[i].ID, taken)
	}
	for i := range m.p.Guides {
		g := &m.p.Guides[i]
		text := m.clean(g.Text)
		if text == "" {
			var w strings.Builder
			w.WriteString("Its text is in a form that is not read; this is its outline.\n\n")
			for _, h := range g.Headings {
				fmt.Fprintf(&w, "%s- %s\n", strings.Repeat("  ", min(h.Level-1, 5)), m.clean(h.Text))
			}
			text = w.String()
		}
		if !strings.HasPrefix(text, "# ") {
			text = "# " + m.clean(g.Title) + "\n\n" + text
		}
		m.reference(m.guideAt[g.ID], relinked(text, m.guideLinks(g, text), len(text) > referenceTokens*4))
	}
}

// reference writes a file, or several where it is too long: see [split]. It says in which of them each offset of the text is.
func (m *maker) reference(at, text string) func(offset int) string {
	parts := split(text, referenceTokens*4)
	names := []string{at}
	for i := range parts[1:] {
		names = append(names, partName(at, i+2))
	}
	var heads []map[string]bool
	for i := range parts {
		heads = append(heads, anchors(parts[i].text))
	}
	for i, part := range parts {
		text := part.text
		if len(parts) > 1 {
			text = relinked(text, partLinks(i, heads, names), false)
		}
		if i+1 < len(parts) {
			text += "\n\n" + goesOn(names[i+1])
		}
		if i > 0 {
			text = fmt.Sprintf("Part %d of %d of %s%s.\n\n", i+1, len(parts), at, belowText(part.above)) + text
		}
		m.add(names[i], text)
		m.largest = max(m.largest, tokens(text))
	}
	return func(offset int) string {
		n, found := slices.BinarySearchFunc(parts, offset, func(p piece, offset int) int { return cmp.Compare(p.from, offset) })
		if !found {
			n = max(n-1, 0)
		}
		return names[n]
	}
}

// goesOn is the line at the end of a file whose page has another one.
func goesOn(next string) string { return "Continued in " + next + ".\n" }

// belowText names the headings that a part of a page stands below, of which the title is none.
func belowText(above [7]string) string {
	out := ""
	for n := 1; n < len(above); n++ {
		if above[n] != "" {
			out += ", below " + strconv.Quote(strings.Repeat("#", n)+" "+above[n])
		}
	}
	return out
}

// belowIn reads what belowText wrote.
func belowIn(line string) (above [7]string) {
	for {
		_, rest, ok := strings.Cut(line, ", below ")
		if !ok {
			return above
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return above
		}
		line = rest[len(quoted):]
		if text, err := strconv.Unquote(quoted); err == nil && level(text) > 0 {
			above[level(text)] = strings.TrimSpace(strings.Trim(text, "# \t"))
		}
	}
}

// A piece is a part of a text: from its offset up to the next one's. above are the headings that it begins below, by their levels.
type piece struct {
	from  int
	text  string
	above [7]string
}

// maxFence bounds the line that opens code, as far as it is written again where code is cut.
const maxFence = 100

// split cuts text into parts of at most limit bytes, each at the best place in its last three quarters: at a heading, else at an empty line
// outside code, else at a line end, else anywhere. Code that is cut is closed, and opened again in the next part.
func split(text string, limit int) (parts []piece) {
	limit -= 200 + 2*maxFence // for what says where it goes on
	from, open := 0, ""
	for len(text)-from > limit {
		at, inside := cut(text[from:], limit, open)
		part := reopened(open, strings.Trim(text[from:from+at], "\n"))
		if inside != "" {
			part += "\n" + inside[:len(inside)-len(strings.TrimLeft(inside, " "))] + pkgdoc.Fenced(inside, "")
		}
		parts = append(parts, piece{from: from, text: part})
		for from += at; from < len(text) && text[from] == '\n'; from++ {
		}
		open = inside
	}
	parts = append(parts, piece{from: from, text: reopened(open, strings.Trim(text[from:], "\n"))})
	if len(parts) > 1 {
		headings(parts, text)
	}
	return parts
}

// headings fills above of the parts of a text.
func headings(parts []piece, text string) {
	var names [7]string
	fence, pos, first, k := "", 0, true, 0
	for line := range strings.Lines(text) {
		for k < len(parts) && parts[k].from <= pos {
			parts[k].above = names
			if n := level(strings.TrimRight(line, "\n")); n > 0 && fence == "" {
				clear(parts[k].above[n:])
			}
			k++
		}
		pos += len(line)
		was := fence
		line = strings.TrimRight(line, "\n")
		if fence = pkgdoc.Fenced(line, was); fence != "" || was != "" || level(line) == 0 {
			continue
		}
		n := level(line)
		names[n] = strings.TrimSpace(strings.Trim(line, "# \t"))
		if n == 1 && first {
			names[n] = ""
		}
		first = false
		clear(names[n+1:])
	}
	for ; k < len(parts); k++ { // within the last line
		parts[k].above = names
	}
}

// reopened is text behind the line that opens its code, if it begins in code.
func reopened(open, text string) string {
	if open == "" {
		return text
	}
	return open + "\n" + text
}

// cut is where a part of text ends, and the line that opens the code that it ends in. open is that of the code at its start.
func cut(text string, limit int, open string) (at int, inside string) {
	var heading, empty int
	fence := pkgdoc.Fenced(open, "")
	for pos := 0; pos < limit; {
		end := strings.IndexByte(text[pos:], '\n')
		if end < 0 {
			break
		}
		line := text[pos : pos+end]
		if fence == "" && pos > limit/4 {
			if strings.HasPrefix(line, "#") {
				heading = pos
			}
			if line == "" {
				empty = pos
			}
		}
		at, inside = pos, open
		was := fence
		if fence = pkgdoc.Fenced(line, was); fence == "" {
			open = ""
		} else if was == "" {
			open = strings.TrimRight(line, " \t\r")
		}
		pos += end + 1
	}
	if heading > 0 || empty > 0 {
		return cmp.Or(heading, empty), ""
	}
	if at == 0 {
		for at = limit; at > 0 && text[at]&0xc0 == 0x80; at-- {
		}
		at, inside = cmp.Or(at, limit), open
	}
	if len(inside) > maxFence {
		inside = ""
	}
	return at, inside
}

// api writes the pages. Many pages are put together, in their order.
func (m *maker) api() {
	m.pageAt, m.symbolAt = map[string]string{}, map[string]string{}
	taken := map[string]bool{}
	var group strings.Builder
	var places []place
	first := ""
	flush := func() {
		if len(places) == 0 {
			return
		}
		file := m.reference(fileName("api", first, taken), group.String())
		for _, p := range places {
			if p.symbol == "" {
				m.pageAt[p.page] = file(p.offset)
			} else if m.symbolAt[p.symbol] == "" {
				m.symbolAt[p.symbol] = file(p.offset)
			}
		}
		group.Reset()
		places = nil
	}
	for i := range m.p.Pages {
		page := &m.p.Pages[i]
		text, at := m.page(page)
		if len(m.p.Pages) <= maxPages || group.Len()+len(text) > referenceTokens*4/2 {
			flush()
		}
		if group.Len() > 0 {
			group.WriteString("\n\n")
		} else {
			first = page.ID
		}
		places = append(places, place{page: page.ID, offset: group.Len()})
		for _, p := range at {
			p.offset += group.Len()
			places = append(places, p)
		}
		group.WriteString(text)
	}
	flush()
}

// A place is where a text tells of a page, or of a symbol.
type place struct {
	page, symbol string
	offset       int
}

// page is one page as Markdown, and where in it its symbols are.
func (m *maker) page(p *pkgdoc.Page) (string, []place) {
	var w strings.Builder
	section := func(level int, title, text string) {
		if text = strings.TrimSpace(m.prose(text)); text != "" {
			fmt.Fprintf(&w, "\n\n%s %s\n\n%s", strings.Repeat("#", level), title, text)
		}
	}
	title := m.prose(cmp.Or(p.Title, p.ID))
	fmt.Fprintf(&w, "# %s: %s", pkgdoc.Code(m.clean(p.ID)), title)
	if p.Deprecated != "" {
		fmt.Fprintf(&w, "\n\n**%s**: not for new code.", strings.ToUpper(p.Deprecated[:1])+p.Deprecated[1:])
	}
	if text := strings.TrimSpace(m.prose(p.Text)); text != "" {
		w.WriteString("\n\n" + text)
	}
	at := m.symbols(&w, p)
	if len(p.Params) > 0 {
		w.WriteString("\n\n## Arguments\n")
		for _, param := range p.Params {
			text := strings.ReplaceAll(strings.TrimSpace(m.prose(param.Text)), "\n", "\n  ")
			fmt.Fprintf(&w, "\n- %s: %s", pkgdoc.Code(m.clean(param.Name)), strings.ReplaceAll(text, "\n  \n", "\n\n"))
		}
	}
	section(2, "Value", p.Returns)
	for _, s := range p.Sections {
		if s.Title != "See also" || len(p.See) == 0 {
			section(2, m.clean(s.Title), s.Text)
		}
	}
	for i, e := range p.Examples {
		head := "\n\n## Examples\n"
		if i > 0 {
			head = "\n"
		}
		w.WriteString(head + "\n" + pkgdoc.Fence(m.language(), m.clean(e)))
	}
	if see := m.see(p); see != "" {
		w.WriteString("\n\n## See also\n\n" + see)
	}
	return w.String(), at
}

func (m *maker) language() string { return language(m.p.Ecosystem) }

// language is how code of an ecosystem is marked.
func language(ecosystem string) string {
	return map[string]string{"r": "r", "go": "go", "npm": "ts", "pypi": "python"}[ecosystem]
}

// symbols lists what a page describes: signatures as code, then what is said of each. A symbol is where its own text is, else at its signature.
func (m *maker) symbols(w *strings.Builder, p *pkgdoc.Page) (at []place) {
	const usage = "\n\n## Usage\n\n"
	var lines []string
	var bare []pkgdoc.Symbol
	seen := map[string]int{}
	size := 0
	for _, s := range p.Symbols {
		sig := strings.Trim(m.wrapped(m.clean(s.Signature)), "\n")
		if name := m.clean(m.shown(p.ID, s)); m.p.Ecosystem == "npm" {
			sig = owned(sig, name)
		}
		if s.Kind == pkgdoc.Method && m.p.Ecosystem == "r" && sig != "" {
			sig += "  # " + m.clean(methodName(s.Name))
		}
		if sig == "" {
			if s.Name != p.ID { // which is in the title
				bare = append(bare, s)
			}
			continue
		}
		if _, ok := seen[sig]; !ok {
			seen[sig] = size
			lines = append(lines, sig)
			size += len(sig) + 1
		}
		at = append(at, place{p.ID, s.ID, seen[sig]})
	}
	if len(lines) > 0 {
		code := pkgdoc.Fence(m.language(), strings.Join(lines, "\n"))
		for i := range at {
			at[i].offset += w.Len() + len(usage) + strings.IndexByte(code, '\n') + 1
		}
		w.WriteString(usage + code)
	}
	for i, s := range bare {
		switch {
		case i == 0:
			w.WriteString("\n\nAlso: ")
		case i%20 == 0:
			w.WriteString(",\n") // so that a long list is cut between names
		default:
			w.WriteString(", ")
		}
		at = append(at, place{p.ID, s.ID, w.Len()})
		w.WriteString(pkgdoc.Code(m.clean(m.shown(p.ID, s))))
	}
	if len(bare) > 0 {
		w.WriteByte('.')
	}
	return append(m.told(w, p), at...)
}

// owned is the signatures of a member with the name of its owner before its own: static B.from(), function N.f().
func owned(sig, name string) string {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return sig
	}
	last := name[at+1:]
	lines := strings.Split(sig, "\n")
	for i, line := range lines {
		rest := line
		for {
			word, more, ok := strings.Cut(rest, " ")
			if !ok || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" || strings.HasPrefix(rest, last+" ") {
				break
			}
			rest = more
		}
		if after, ok := strings.CutPrefix(rest, last); ok && !strings.HasPrefix(line, " ") && (after == "" || strings.IndexByte("(<?: ", after[0]) >= 0) {
			lines[i] = line[:len(line)-len(rest)] + name + after
		}
	}
	return strings.Join(lines, "\n")
}

// methodName says of which classes a method of R is.
func methodName(name string) string {
	if generic, classes, ok := strings.Cut(strings.TrimSuffix(name, "-method"), ","); ok && generic != "" && strings.HasSuffix(name, "-method") {
		return "S4 method for signature '" + classes + "'"
	}
	return name
}

// told writes what is said of each symbol of a page.
func (m *maker) told(w *strings.Builder, p *pkgdoc.Page) (at []place) {
	for _, s := range p.Symbols {
		text := strings.TrimSpace(m.prose(s.Text))
		if text == "" && s.Returns == "" && s.Deprecated == "" {
			continue
		}
		w.WriteString("\n\n")
		at = append(at, place{p.ID, s.ID, w.Len()})
		fmt.Fprintf(w, "### %s", pkgdoc.Code(m.clean(s.ID)))
		if s.Deprecated != "" {
			fmt.Fprintf(w, "\n\n**Deprecated**: %s", m.prose(s.Deprecated))
			text = undeprecated(text, m.prose(s.Deprecated))
		}
		if text != "" {
			w.WriteString("\n\n" + text)
		}
	}
	return at
}

// undeprecated is text without the paragraph that says why its symbol is deprecated, which is told already.
func undeprecated(text, why string) string {
	var out []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(p), "Deprecated:"); ok {
			if rest = strings.Join(strings.Fields(rest), " "); rest == "" || rest == strings.TrimSpace(why) {
				continue
			}
		}
		out = append(out, p)
	}
	return strings.TrimSpace(strings.Join(out, "\n\n"))
}

// wrapped breaks a long signature at its arguments.
func (m *maker) wrapped(sig string) string {
	if len(sig) <= 100 || m.p.Ecosystem != "r" {
		return sig
	}
	at := strings.IndexByte(sig, '(')
	if at < 0 || !strings.HasSuffix(sig, ")") {
		return sig
	}
	var out []string
	depth, from := 0, at+1
	quote := byte(0)
	for i := at + 1; i < len(sig)-1; i++ {
		switch c := sig[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			out, from = append(out, strings.TrimSpace(sig[from:i])), i+1
		}
	}
	out = append(out, strings.TrimSpace(sig[from:len(sig)-1]))
	return sig[:at+1] + "\n  " + strings.Join(out, ",\n  ") + "\n)"
}

// pagesOf are the pages that are called id, or describe a symbol of that id.
func (m *maker) pagesOf(id string) []string {
	if m.describes == nil {
		m.describes = map[string][]string{}
		for i := range m.p.Pages {
			page := &m.p.Pages[i]
			m.describes[page.ID] = append(m.describes[page.ID], page.ID)
			for _, s := range page.Symbols {
				m.describes[s.ID] = append(m.describes[s.ID], page.ID)
			}
		}
	}
	return m.describes[id]
}

// see are the pages that a page points to, by their files.
func (m *maker) see(p *pkgdoc.Page) string {
	var out []string
	for _, id := range p.See {
		if slices.ContainsFunc(m.pagesOf(id), func(page string) bool { return page != p.ID }) {
			out = append(out, pkgdoc.Code(m.clean(id)))
		}
	}
	return strings.Join(out, ", ")
}
