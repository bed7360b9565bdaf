package audit

import (
	"html"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Pages are read without their structure: what browsers take for a remark or the value of an attribute depends on all that stands before
// it, and each of them repairs what is broken. So scripts and attributes count wherever they stand, in remarks too.

// maxOpen is how many beginnings of scripts one script may hold; what has more is dynamic-exec.
const maxOpen = 4

// page reads HTML, SVG and components of Vue, Svelte and Astro: their scripts, and the hosts that they load from when they are shown.
func (a *auditor) page(src string, line int) {
	ext := strings.ToLower(path.Ext(a.path))
	if rest, ok := strings.CutPrefix(src, "---\n"); ok && ext == ".astro" {
		code, _, _ := strings.Cut(rest, "\n---")
		a.part(script, code, line+1)
	}
	lower := strings.Map(func(r rune) rune { // as long as src
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, strings.ToValidUTF8(src, "?"))
	if len(lower) != len(src) {
		src = lower
	}
	p := pageText{a, src, lower, line, 0}
	for at := 0; ; {
		open := index(lower, "<script", at)
		if open < 0 {
			p.markup(at, len(src), ext)
			return
		}
		p.markup(at, open, ext)
		at = p.script(open, ext)
	}
}

// A pageText is a page that is read.
type pageText struct {
	*auditor
	src, lower string
	line, at   int // the line of a byte
}

// index is where what begins in s, from a place on.
func index(s, what string, from int) int {
	if i := strings.Index(s[from:], what); i >= 0 {
		return from + i
	}
	return -1
}

// lineOf is the line of a byte. They are asked for in order, or almost.
func (p *pageText) lineOf(at int) int {
	if at >= p.at {
		p.line += strings.Count(p.src[p.at:at], "\n")
	} else {
		p.line -= strings.Count(p.src[at:p.at], "\n")
	}
	p.at = at
	return p.line
}

// script reads the script whose tag begins at open, and returns where markup goes on.
func (p *pageText) script(open int, ext string) int {
	from := p.tag(open, ext)
	end := index(p.lower, "</script", from)
	if end < 0 {
		end = len(p.src)
	}
	kind := typed.get().FindStringSubmatch(p.lower[open:from])
	if kind != nil && data.get().MatchString(kind[1]) {
		return from // what is no code may be markup
	}
	l := script
	if kind != nil && strings.Contains(kind[1], "py") {
		l = python
	} else if kind != nil && strings.Contains(kind[1], "vb") {
		l = opaque
	}
	for n := 0; ; n++ { // in what is no script for a browser, a script may begin
		code := strings.TrimPrefix(strings.TrimSpace(p.src[from:end]), "<![CDATA[")
		if code != "" {
			p.part(l, strings.TrimSuffix(code, "]]>"), p.lineOf(from+strings.Index(p.src[from:end], code)))
		}
		inner := index(p.lower[:end], "<script", from)
		if inner < 0 {
			return end
		}
		if n == maxOpen || strings.Contains(p.lower[from:inner], "<!--") { // then its end is not that of the script
			p.add(Dynamic, "", p.lineOf(inner))
			return end
		}
		from = p.tag(inner, ext)
		if from > end {
			return from
		}
	}
}

// tag reads the attributes of the tag of a script, and returns where it ends: behind the first ">" that stands in no quotes.
func (p *pageText) tag(open int, ext string) int {
	quote := byte(0)
	for i := open; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.HasSuffix(strings.TrimRight(p.src[max(open, i-4):i], " \n"), "="):
			quote = c
		case c == '>':
			p.markup(open, i+1, ext)
			return i + 1
		}
	}
	p.markup(open, len(p.src), ext)
	return len(p.src)
}

var (
	typed = pattern{text: `\btype\s*=\s*["']?([\w/+.-]+)`}
	data  = pattern{text: `json|importmap|rules|template|html|handlebars|mustache|text/plain|text/x-|markdown|shader`}
)

// loads are the attributes whose addresses a page loads from when it is shown. Where a link leads and what a form sends is up to who is there.
const loads = " src srcset data poster background manifest codebase code archive icon lowsrc dynsrc longdesc classid imagesrcset "

// markup reads what is between scripts: each NAME=VALUE, whatever stands around it, and addresses in styles.
func (p *pageText) markup(from, to int, ext string) {
	tag := "" // that was opened last
	for i := from; i < to; i++ {
		c := p.src[i]
		switch {
		case c == '<' && i+1 < to && 'a' <= p.lower[i+1] && p.lower[i+1] <= 'z':
			end := i + 1
			for end < to && (wordByte(p.lower[end]) || p.lower[end] == ':' || p.lower[end] == '-') {
				end++
			}
			tag = p.lower[i+1 : end]
		case c == '(' && i > 3 && strings.HasSuffix(p.lower[max(i-3, from):i], "url"), c == 't' && strings.HasSuffix(p.lower[max(i-6, from):i], "@impor"):
			address, _, _ := strings.Cut(decodedURL(p.value(i+1, to)), ")")
			p.net(address, false, p.lineOf(i))
		case c == '{' && (ext == ".svelte" || ext == ".astro"):
			end := closing(p.src[:to], i+1)
			if end == min(to, i+1+4096) {
				p.add(Dynamic, "", p.lineOf(i)) // it does not close
			} else {
				p.expression(p.src[i+1:end], i)
			}
			i = end - 1
		case c == '=':
			name := strings.TrimRight(p.lower[max(from, i-60):i], " \t\r\n")
			k := len(name)
			for k > 0 && (wordByte(name[k-1]) || strings.IndexByte(":.@-[]|", name[k-1]) >= 0) {
				k--
			}
			if name = name[k:]; name != "" {
				p.attribute(tag, name, p.value(i+1, to), i)
			}
		}
	}
}

// maxBare is how many bytes of a value without quotes are read: another may begin at each of them.
const maxBare = 128

// value is the value of an attribute that begins at i.
func (p *pageText) value(i, to int) string {
	for i < to && (p.src[i] <= ' ' || p.src[i] == '(') {
		i++
	}
	if i == to {
		return ""
	}
	if q := p.src[i]; q == '"' || q == '\'' {
		if end := strings.IndexByte(p.src[i+1:to], q); end >= 0 {
			return p.src[i+1 : i+1+end]
		}
		return ""
	}
	end := strings.IndexAny(p.src[i:min(to, i+maxBare)], " \t\r\n>")
	if end < 0 {
		return p.src[i:min(to, i+maxBare)]
	}
	return p.src[i : i+end]
}

// attribute reads one attribute.
func (p *pageText) attribute(tag, name, value string, at int) {
	if value == "" {
		return
	}
	if strings.HasPrefix(name, "hx-") {
		p.net(decodedURL(value), false, p.lineOf(at))
		return
	}
	if name[0] == '@' || name[0] == ':' || strings.HasPrefix(name, "v-") || strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "ng-") || strings.HasPrefix(name, "on") && len(name) > 4 {
		p.expression(strings.Trim(html.UnescapeString(value), "{}"), at)
		return
	}
	if k := strings.LastIndexByte(name, ':'); k >= 0 {
		name = name[k+1:]
	}
	if name == "srcdoc" {
		p.code(page, html.UnescapeString(value), p.lineOf(at))
		return
	}
	href := name == "href" || name == "action" || name == "formaction" || name == "content" || name == "to" || name == "values" || name == "from"
	if !href && !has(loads, name) {
		return
	}
	address := decodedURL(value)
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme = strings.ToLower(scheme); {
	case scheme == "javascript":
		p.expression(rest, at)
	case scheme == "vbscript":
		p.add(Dynamic, "", p.lineOf(at))
	case scheme == "data":
		p.inline64(rest, tag == "script", at)
	case href && !slices.Contains([]string{"link", "base", "image", "use", "feimage", "script"}, tag) && !(name == "content" && tag == "meta" && strings.Contains(strings.ToLower(address), "url=")):
	case strings.HasPrefix(address, "//"):
		p.net("https:"+address, false, p.lineOf(at))
	case tag == "script" && !strings.Contains(address, "://"):
		if own := p.owns(address); own != "" {
			p.ask(own, script)
		}
	default:
		p.net(address, false, p.lineOf(at))
	}
}

// decodedURL is an address as a browser reads it in an attribute.
func decodedURL(value string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, html.UnescapeString(value))
}

// expression reads code in an attribute.
func (p *pageText) expression(src string, at int) {
	if len(src) == maxBare {
		p.add(Dynamic, "", p.lineOf(at))
	}
	if strings.ContainsAny(src, "(=`.[") { // else it does nothing
		p.auditor.code(script, src, p.lineOf(at))
	}
}

// inline64 reads what is behind "data:".
func (p *pageText) inline64(rest string, isScript bool, at int) {
	kind, body, _ := strings.Cut(rest, ",")
	l := page
	switch kind = strings.ToLower(kind); {
	case isScript, strings.Contains(kind, "script"):
		l = script
	case !strings.Contains(kind, "html") && !strings.Contains(kind, "xml"):
		return
	}
	text, err := url.PathUnescape(body)
	ok := err == nil
	if ok && strings.Contains(kind, "base64") {
		text, ok = decodeBase64(text)
	}
	if !ok {
		p.add(Dynamic, "", p.lineOf(at))
		return
	}
	p.auditor.code(l, text, p.lineOf(at))
}
