package lang

import "strings"

// A usePrefix is the path in front of a list in a use declaration.
type usePrefix struct {
	text string // with ::, without white space
	list bool   // what follows stands in braces right behind it
	last int    // token of its last component, 0 for none
}

// maxPrefix is the length in bytes of a path in a use declaration. What is longer is cut.
const maxPrefix = 1000

func (u usePrefix) with(name string, token int) usePrefix {
	if u.text != "" {
		name = u.text + "::" + name
	}
	return usePrefix{text: name[:min(len(name), maxPrefix)], last: token}
}

// useTree reads one tree of a use declaration behind a prefix.
func (p *rust) useTree(u usePrefix) {
	p.take(rPath)
	for p.i < p.limit {
		switch k := p.kind(); {
		case k == rBrace:
			u.list = true
			p.inside(func() {
				p.useTree(u)
				p.take(rComma)
			})
			return
		case k == rStar:
			p.i++
			if u.last > 0 {
				t := &p.tokens[u.last]
				p.reference(Import, parentPath(u.text), int(t.start), int(t.end))
			}
			return
		case k == rDollar:
			p.i++
		case k.name():
			if p.at(1) == rPath && p.i+1 < p.limit {
				t := &p.tokens[p.i]
				u = u.with(p.text(int(t.start), int(t.end)), p.i)
				p.i += 2
				continue
			}
			t := &p.tokens[p.i]
			qualifier := u.text
			if k == rSelf && u.last > 0 && u.list {
				t = &p.tokens[u.last]
				qualifier = parentPath(u.text)
			}
			p.reference(Import, qualifier, int(t.start), int(t.end))
			p.i++
			if p.take(rAs) {
				p.i++
			}
			return
		default:
			return
		}
	}
}

// parentPath returns path without its last component.
func parentPath(path string) string {
	if i := strings.LastIndex(path, "::"); i >= 0 {
		return path[:i]
	}
	return ""
}
