package npmpkg

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// A docComment is what a comment of documentation says.
type docComment struct {
	text, returns, deprecated string
	params                    map[string]string
	examples                  []string
}

// inline are tags within text: {@link a | text}, {@code a}.
var inline = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{@(link|linkcode|linkplain|code|see|inheritDoc)\s*([^}|]*?)\s*(?:\|\s*([^}]*?)\s*)?\}`)
})

var named = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\{[^}]*\}\s*)?\[?([A-Za-z_$][\w$.]*)(?:\s*=[^\]]*)?\]?\s*(?:-\s*)?`)
})

// comment reads "/** … */".
func comment(src string) (d docComment) {
	src = strings.TrimSuffix(strings.TrimPrefix(src, "/**"), "*/")
	tag, fence := "", false
	var block []string
	end := func() {
		text := strings.TrimSpace(strings.Join(block, "\n"))
		block = nil
		switch tag {
		case "":
			d.text = links(pkgdoc.Body(text))
		case "param", "arg", "argument":
			if m := named().FindStringSubmatch(text); m != nil {
				if d.params == nil {
					d.params = map[string]string{}
				}
				d.params[m[1]] = links(strings.TrimSpace(text[len(m[0]):]))
			}
		case "returns", "return":
			d.returns = links(text)
		case "deprecated":
			d.deprecated = cmp.Or(strings.Join(strings.Fields(links(text)), " "), "it is deprecated")
		case "example":
			if code := unfenced(text); code != "" {
				d.examples = append(d.examples, code)
			}
		case "remarks", "description", "summary":
			d.text = strings.TrimSpace(d.text + "\n\n" + links(text))
		}
	}
	for line := range strings.Lines(src) {
		line = strings.TrimRight(line, " \t\r\n")
		if rest := strings.TrimLeft(line, " \t"); strings.HasPrefix(rest, "*") {
			line = strings.TrimPrefix(rest[1:], " ")
		} else {
			line = rest
		}
		text := strings.TrimLeft(line, " \t")
		if strings.HasPrefix(text, "```") {
			fence = !fence
		}
		if strings.HasPrefix(text, "@") && !fence && len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' {
			end()
			tag, text, _ = strings.Cut(text[1:], " ")
			block = []string{text}
			continue
		}
		block = append(block, line)
	}
	end()
	return d
}

func links(s string) string {
	return inline().ReplaceAllStringFunc(s, func(m string) string {
		parts := inline().FindStringSubmatch(m)
		if parts[3] != "" {
			return parts[3]
		}
		if parts[2] == "" {
			return ""
		}
		return "`" + parts[2] + "`"
	})
}

// unfenced is the code of an example, without a title and its fence.
func unfenced(s string) string {
	_, rest, ok := strings.Cut(s, "```")
	if !ok {
		return s
	}
	_, rest, _ = strings.Cut(rest, "\n")
	code, _, _ := strings.Cut(rest, "\n```")
	return strings.TrimRight(strings.TrimSuffix(code, "```"), "\n")
}

// with gives parameters their texts.
func (d *docComment) with(params []pkgdoc.Param) (out []pkgdoc.Param) {
	for _, p := range params {
		p.Text = d.params[p.Name]
		out = append(out, p)
	}
	return out
}

// overloads adds what is said of other signatures, each text once and with its signature.
func (d *docComment) overloads(more []overload) {
	seen := map[string]bool{"": true}
	var w strings.Builder
	for _, o := range more {
		one := comment(o.doc)
		if one.deprecated != "" && one.deprecated != d.deprecated {
			one.text = strings.TrimSpace("Deprecated: " + one.deprecated + "\n\n" + one.text)
		}
		if text := one.besides(d); !seen[text] {
			seen[text] = true
			w.WriteString("\n\n" + pkgdoc.Code(o.sig) + ":\n\n" + text)
		}
		for _, e := range one.examples {
			if !slices.Contains(d.examples[max(0, len(d.examples)-maxSame):], e) {
				d.examples = append(d.examples, e)
			}
		}
	}
	d.text = strings.TrimSpace(d.text + w.String())
}

// besides is the text of another signature, with what its comment says of parameters and of the result and the first one's does not.
func (d *docComment) besides(first *docComment) string {
	parts := []string{}
	if d.text != "" && d.text != first.text {
		parts = append(parts, d.text)
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(d.params)) {
		if text := d.params[name]; text != "" && text != first.params[name] {
			list = append(list, "- "+pkgdoc.Code(name)+": "+strings.ReplaceAll(text, "\n", "\n  "))
		}
	}
	if len(list) > 0 {
		parts = append(parts, strings.Join(list, "\n"))
	}
	if d.returns != "" && d.returns != first.returns {
		parts = append(parts, "Returns: "+d.returns)
	}
	return strings.Join(parts, "\n\n")
}

// maxSame are the examples before one that it is compared with.
const maxSame = 20
