package skillify

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/skill"
)

// escape is a sequence that tells a terminal something: it goes as a whole, for its end is no text.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`)
})

// clean is text of the package without what does not show: sequences of a terminal, controls, characters of direction, of no width, tags. They are counted.
func (m *maker) clean(text string) string {
	plain := true
	for i := range len(text) {
		if c := text[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	text = escape().ReplaceAllStringFunc(text, func(seq string) string {
		m.hidden += utf8.RuneCountInString(seq)
		return ""
	})
	hidden := map[int]int{} // how many characters from an offset
	for _, h := range skill.FindHidden([]byte(text)) {
		hidden[h.Offset] = h.Count
	}
	var w strings.Builder
	skip := 0
	for i, c := range text {
		if n := hidden[i]; n > 0 {
			skip = n
		}
		if skip > 0 {
			skip--
			m.hidden++
			continue
		}
		if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) || c == unicode.ReplacementChar {
			m.hidden++
			continue
		}
		w.WriteRune(c)
	}
	return w.String()
}

// line is text of the package on one line of SKILL.md, which agents expand: what would name an argument, a file or a command there
// does not. It is Markdown, as text of pkgdoc is.
func (m *maker) line(text string) string {
	text = strings.Join(strings.Fields(m.prose(text)), " ")
	text = strings.ReplaceAll(text, "<!--", "< !--")
	text = strings.ReplaceAll(text, "!`", "! `")
	var w strings.Builder
	for i := range len(text) {
		c := text[i]
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case c == '$' && (next == '{' || next >= '0' && next <= '9' || strings.HasPrefix(text[i+1:], "ARGUMENTS")): // a name is one only where arguments says so
			w.WriteString("$ ")
		case c == '@' && (i == 0 || text[i-1] == ' ' || text[i-1] == '(') && next != 0 && next != ' ': // in code it is no file
			w.WriteString("@ ")
		default:
			w.WriteByte(c)
		}
	}
	return w.String()
}

// visible is JSON with what does not show as escapes.
func visible(text string) string {
	var w strings.Builder
	for _, c := range text {
		if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
			for _, u := range utf16.Encode([]rune{c}) {
				fmt.Fprintf(&w, `\u%04x`, u)
			}
			continue
		}
		w.WriteRune(c)
	}
	return w.String()
}

// cell is a line in a table.
func (m *maker) cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(m.line(text), `\|`, "|"), "|", `\|`)
}

// short is text cut at a word, with at most n bytes.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := strings.LastIndexByte(s[:n-3], ' ')
	if at < n/2 {
		at = n - 3
		for at > 0 && s[at]&0xc0 == 0x80 {
			at--
		}
	}
	s = s[:at]
	if strings.Count(s, "`")%2 == 1 {
		s = s[:strings.LastIndexByte(s, '`')] // code that is cut would go on behind it
	}
	return strings.TrimRight(s, " ,.;:-") + "…"
}

// firstSentence is the first sentence of a paragraph, without its full stop.
func firstSentence(s string) string {
	s, _, _ = strings.Cut(s, "\n\n")
	s = strings.Join(strings.Fields(s), " ")
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '.' && s[i+1] == ' ' && i > 20 && !strings.HasSuffix(s[:i], "e.g") && !strings.HasSuffix(s[:i], "i.e") {
			return s[:i]
		}
	}
	return strings.TrimSuffix(s, ".")
}
