package rpkg

import (
	"strings"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/pkgdoc/rd"
)

// A usage is one statement of a topic's usage.
type usage struct {
	name   string // of what is called or named
	text   string // on one line
	call   bool
	params []pkgdoc.Param
	s3     []string // generic and class of a method of S3
	s4     []string // generic and classes of one of S4, with commas
}

// usages reads a section of usage.
func usages(nodes []rd.Node) (out []usage) {
	var w strings.Builder
	methods := map[int][]string{} // by offset in the code
	usageText(&w, nodes, methods)
	src := w.String()
	for _, s := range statements(scan(src)) {
		if s = visible(s); len(s) > 0 {
			out = append(out, oneUsage(src, s, methods))
		}
	}
	return out
}

// usageText writes the code of nodes, a method by the name of its generic in backquotes where that is no name.
func usageText(w *strings.Builder, nodes []rd.Node, methods map[int][]string) {
	for i := range nodes {
		n := &nodes[i]
		switch n.Tag {
		case `\method`, `\S3method`, `\S4method`:
			if len(n.Children) != 2 {
				continue
			}
			generic, class := rd.Plain(n.Children[0].Children), rd.Plain(n.Children[1].Children)
			if n.Tag != `\S4method` {
				methods[w.Len()] = []string{generic, class}
			} else {
				methods[w.Len()] = []string{generic, strings.Join(strings.Fields(class), ""), "S4"}
			}
			if len(scan(generic)) == 1 && scan(generic)[0].kind == name {
				w.WriteString(generic)
			} else {
				w.WriteString("`" + strings.ReplaceAll(generic, "`", "") + "`")
			}
		case rd.List, `\dontshow`, `\code`:
			usageText(w, n.Children, methods)
		default:
			w.WriteString(rd.Plain(nodes[i : i+1]))
		}
	}
}

func oneUsage(src string, s []token, methods map[int][]string) usage {
	u := usage{text: source(src, s)}
	switch m := methods[s[0].at]; len(m) {
	case 2:
		u.s3 = m
	case 3:
		u.s4 = m[:2]
	}
	switch {
	case s[0].kind == open || s[0].kind == shut || s[0].kind == newline:
		return u
	case len(s) > 1 && s[1].kind == open && s[1].text == "(" && (s[0].kind == name || s[0].kind == str):
		u.name, u.call = s[0].text, true
		end := matching(s, 1)
		u.params = paramsOf(src, inside(s, 1))
		if end+1 < len(s) && s[end].text == "<-" {
			u.name += "<-"
			if rest := s[end+1:]; len(rest) == 1 && rest[0].kind == name {
				u.params = append(u.params, pkgdoc.Param{Name: rest[0].text, Required: true})
			}
			if u.s3 != nil && !strings.HasSuffix(u.s3[0], "<-") {
				u.s3 = []string{u.s3[0] + "<-", u.s3[1]}
			}
			if u.s4 != nil && !strings.HasSuffix(u.s4[0], "<-") {
				u.s4 = []string{u.s4[0] + "<-", u.s4[1]}
			}
		}
	case len(s) == 3 && s[1].kind == op: // x %>% y
		u.name, u.call = s[1].text, true
		u.params = []pkgdoc.Param{{Name: s[0].text, Required: true}, {Name: s[2].text, Required: true}}
	default:
		u.name = s[0].text
	}
	return u
}

// paramsOf reads formal arguments. One without a default may still be left out: R decides that when it is used.
func paramsOf(src string, tokens []token) (out []pkgdoc.Param) {
	for _, arg := range arguments(tokens) {
		arg = visible(arg)
		if len(arg) == 0 {
			continue
		}
		p := pkgdoc.Param{Name: arg[0].text}
		if len(arg) > 2 && arg[1].text == "=" {
			p.Default = source(src, arg[2:])
		} else {
			p.Required = arg[0].text != "..."
		}
		if strings.HasPrefix(source(src, arg), "...") {
			p.Name, p.Required = "...", false
		}
		out = append(out, p)
	}
	return out
}
