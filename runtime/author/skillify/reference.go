package skillify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// guides writes the longer texts. One of which only the outline is known has that.
func (m *maker) guides() {
	m.guideAt = map[string]string{}
	taken := map[string]bool{}
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
		at := fileName("guides", g.ID, taken)
		m.guideAt[g.ID] = at
		m.reference(at, text)
	}
}

// reference writes a file, or several where it is too long: cut at headings, else at empty lines outside code, else at line ends, else anywhere.
func (m *maker) reference(at, text string) {
	parts := split(text, referenceTokens*4)
	for i, part := range parts {
		name := at
		if i > 0 {
			name = fmt.Sprintf("%s-part%d.md", strings.TrimSuffix(at, ".md"), i+1)
		}
		if len(parts) > 1 {
			if i+1 < len(parts) {
				part += fmt.Sprintf("\n\nContinued in %s-part%d.md.\n", strings.TrimSuffix(at, ".md"), i+2)
			}
			if i > 0 {
				part = fmt.Sprintf("Part %d of %d of %s.\n\n", i+1, len(parts), at) + part
			}
		}
		m.add(name, part)
		m.largest = max(m.largest, tokens(part))
	}
}

// split cuts text into parts of at most limit bytes, each at the best place that there is.
func split(text string, limit int) (parts []string) {
	limit -= 200 // for what says where it goes on
	for len(text) > limit {
		at, better, worse := 0, 0, 0
		fence := ""
		for pos := 0; pos < limit; {
			end := strings.IndexByte(text[pos:], '\n')
			if end < 0 {
				break
			}
			line := text[pos : pos+end]
			if fence == "" {
				if strings.HasPrefix(line, "#") && pos > limit/4 {
					better = pos
				}
				if line == "" {
					at = pos
				}
			}
			worse = pos
			if t := strings.TrimSpace(line); strings.HasPrefix(t, "```") {
				if mark := t[:len(t)-len(strings.TrimLeft(t, "`"))]; fence == "" {
					fence = mark
				} else if t == mark && len(mark) >= len(fence) {
					fence = ""
				}
			}
			pos += end + 1
		}
		at = cmp.Or(better, at, worse)
		if at == 0 {
			at = limit
			for at > 0 && text[at]&0xc0 == 0x80 {
				at--
			}
		}
		parts = append(parts, strings.Trim(text[:at], "\n"))
		text = strings.TrimLeft(text[at:], "\n")
	}
	return append(parts, strings.Trim(text, "\n"))
}

// api writes the pages. Many pages are put together, in their order.
func (m *maker) api() {
	m.pageAt = map[string]string{}
	taken := map[string]bool{}
	var group []string
	var ids []string
	size := 0
	flush := func() {
		if len(ids) == 0 {
			return
		}
		at := fileName("api", ids[0], taken)
		for _, id := range ids {
			m.pageAt[id] = at
		}
		m.reference(at, strings.Join(group, "\n\n"))
		group, ids, size = nil, nil, 0
	}
	for i := range m.p.Pages {
		page := &m.p.Pages[i]
		text := m.page(page)
		if len(m.p.Pages) <= maxPages || size+len(text) > referenceTokens*4/2 {
			flush()
		}
		group, ids, size = append(group, text), append(ids, page.ID), size+len(text)
	}
	flush()
}

// page is one page as Markdown.
func (m *maker) page(p *pkgdoc.Page) string {
	var w strings.Builder
	section := func(level int, title, text string) {
		if text = strings.TrimSpace(m.clean(text)); text != "" {
			fmt.Fprintf(&w, "\n\n%s %s\n\n%s", strings.Repeat("#", level), title, text)
		}
	}
	title := m.clean(cmp.Or(p.Title, p.ID))
	fmt.Fprintf(&w, "# %s: %s", pkgdoc.Code(m.clean(p.ID)), title)
	if p.Deprecated != "" {
		fmt.Fprintf(&w, "\n\n**%s**: not for new code.", strings.ToUpper(p.Deprecated[:1])+p.Deprecated[1:])
	}
	if text := strings.TrimSpace(m.clean(p.Text)); text != "" {
		w.WriteString("\n\n" + text)
	}
	m.symbols(&w, p)
	if len(p.Params) > 0 {
		w.WriteString("\n\n## Arguments\n")
		for _, param := range p.Params {
			text := strings.ReplaceAll(strings.TrimSpace(m.clean(param.Text)), "\n", "\n  ")
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
	return w.String()
}

func (m *maker) language() string {
	return map[string]string{"r": "r", "go": "go", "npm": "ts", "pypi": "python"}[m.p.Ecosystem]
}

// symbols lists what a page describes: signatures as code, then what is said of each.
func (m *maker) symbols(w *strings.Builder, p *pkgdoc.Page) {
	var lines, bare []string
	seen := map[string]bool{}
	for _, s := range p.Symbols {
		sig := m.wrapped(m.clean(s.Signature))
		if s.Kind == pkgdoc.Method && m.p.Ecosystem == "r" && sig != "" {
			sig += "  # " + m.clean(s.Name)
		}
		switch {
		case sig == "":
			bare = append(bare, pkgdoc.Code(m.clean(s.Name)))
		case !seen[sig]:
			seen[sig] = true
			lines = append(lines, sig)
		}
	}
	if len(lines) > 0 {
		w.WriteString("\n\n## Usage\n\n" + pkgdoc.Fence(m.language(), strings.Join(lines, "\n")))
	}
	if len(bare) > 0 {
		w.WriteString("\n\nAlso: " + strings.Join(bare, ", ") + ".")
	}
	for _, s := range p.Symbols {
		text := strings.TrimSpace(m.clean(s.Text))
		if text == "" && s.Returns == "" && s.Deprecated == "" {
			continue
		}
		fmt.Fprintf(w, "\n\n### %s", pkgdoc.Code(m.clean(s.ID)))
		if s.Deprecated != "" {
			fmt.Fprintf(w, "\n\n**Deprecated**: %s", m.clean(s.Deprecated))
		}
		if text != "" {
			w.WriteString("\n\n" + text)
		}
	}
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
