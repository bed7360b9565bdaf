package chunk

import (
	"bytes"
	"slices"
	"strings"
)

// htmlStarts returns the kind of the HTML block that a line starts, as CommonMark numbers them, 0 for none.
func htmlStarts(line []byte) int {
	rest := line[1:]
	switch {
	case bytes.HasPrefix(rest, []byte("!--")):
		return 2
	case bytes.HasPrefix(rest, []byte("?")):
		return 3
	case bytes.HasPrefix(rest, []byte("![CDATA[")):
		return 5
	case len(rest) > 1 && rest[0] == '!' && isLetter(rest[1]):
		return 4
	}
	closing := len(rest) > 0 && rest[0] == '/'
	if closing {
		rest = rest[1:]
	}
	n := 0
	for n < len(rest) && (isLetter(rest[n]) || n > 0 && (rest[n] == '-' || '0' <= rest[n] && rest[n] <= '9')) {
		n++
	}
	if n == 0 {
		return 0
	}
	if n <= len("blockquote") {
		name, after := strings.ToLower(string(rest[:n])), rest[n:]
		ends := len(after) == 0 || isSpace(after[0]) || after[0] == '>'
		if !closing && ends && slices.Contains([]string{"script", "pre", "style", "textarea"}, name) {
			return 1
		}
		if (ends || bytes.HasPrefix(after, []byte("/>"))) && isHTMLBlock(name) {
			return 6
		}
	}
	if wholeTag(rest[n:], closing) {
		return 7
	}
	return 0
}

// htmlEnds says whether a block of the kind ends with the line. Kinds 6 and 7 end before a blank one.
func htmlEnds(line []byte, kind int) bool {
	switch kind {
	case 1:
		for _, tag := range []string{"</script>", "</pre>", "</style>", "</textarea>"} {
			if containsFold(line, tag) {
				return true
			}
		}
	case 2:
		return bytes.Contains(line, []byte("-->"))
	case 3:
		return bytes.Contains(line, []byte("?>"))
	case 4:
		return bytes.IndexByte(line, '>') >= 0
	case 5:
		return bytes.Contains(line, []byte("]]>"))
	}
	return false
}

// containsFold says whether line has the tag, whatever its case.
func containsFold(line []byte, tag string) bool {
	for {
		i := bytes.Index(line, []byte("</"))
		if i < 0 || len(line)-i < len(tag) {
			return false
		}
		if strings.EqualFold(string(line[i:i+len(tag)]), tag) {
			return true
		}
		line = line[i+2:]
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isHTMLBlock says whether the tag is one that starts a block of kind 6.
func isHTMLBlock(name string) bool {
	switch name {
	case "address", "article", "aside", "base", "basefont", "blockquote", "body", "caption", "center", "col",
		"colgroup", "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer",
		"form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "iframe",
		"legend", "li", "link", "main", "menu", "menuitem", "nav", "noframes", "ol", "optgroup", "option", "p", "param",
		"search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "track", "ul":
		return true
	}
	return false
}

// wholeTag says whether b, what follows the name of a tag, is its rest and nothing more.
func wholeTag(b []byte, closing bool) bool {
	i := 0
	space := func() bool {
		start := i
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		return i > start
	}
	for {
		spaced := space()
		if i >= len(b) {
			return false
		}
		if c := b[i]; c == '>' || c == '/' && !closing && i+1 < len(b) && b[i+1] == '>' {
			return isBlank(b[i+bytes.IndexByte(b[i:], '>')+1:])
		}
		if closing || !spaced || !isLetter(b[i]) && b[i] != '_' && b[i] != ':' {
			return false
		}
		for i < len(b) && (isLetter(b[i]) || '0' <= b[i] && b[i] <= '9' || b[i] == '_' || b[i] == ':' || b[i] == '.' || b[i] == '-') {
			i++
		}
		mark := i
		if space(); i >= len(b) || b[i] != '=' {
			i = mark
			continue
		}
		i++
		if space(); i >= len(b) {
			return false
		}
		switch quote := b[i]; quote {
		case '"', '\'':
			n := bytes.IndexByte(b[i+1:], quote)
			if n < 0 {
				return false
			}
			i += n + 2
		default:
			start := i
			for i < len(b) && !isSpace(b[i]) && bytes.IndexByte([]byte("\"'=<>`"), b[i]) < 0 {
				i++
			}
			if i == start {
				return false
			}
		}
	}
}
