package content

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/skill"
)

// hidden finds characters that people do not see, and reads what they carry. Written is a text that wrote them as escapes.
func (s *scan) hidden(text []byte, written bool) {
	if s.line > 0 && len(s.decoded) > 0 {
		return // what was decoded is shown as it is
	}
	rightToLeft := sync.OnceValue(func() bool { return isRightToLeft(text) })
	mixed := sync.OnceValue(func() bool { return reorders(text) })
	for _, h := range skill.FindHidden(text) {
		switch h.Kind {
		case skill.Carries:
			if run := string(text[h.Offset:min(h.Offset+3*h.Count, len(text))]); h.Count <= 3 && strings.Trim(run, "\ufe0f") == "" { // an emoji that is marked as one twice
				s.add("AUD-ZERO-WIDTH", Low, h.Line, h.Column, h.String(), around(text, h.Offset))
				continue
			}
			s.add("AUD-HIDDEN-TEXT", Refuse, h.Line, h.Column, h.String(), h.Text)
			if len(h.Text) > 3 {
				s.inner(h.Line, "invisible characters", []byte(h.Text))
			}
		case skill.Reorders:
			severity := Refuse
			if leftToRight(text[h.Offset:min(h.Offset+3*h.Count, len(text))]) && !mixed() {
				severity = Low // all goes from left to right, with it and without
			} else if embeds(text[h.Offset:min(h.Offset+3*h.Count, len(text))]) && rightToLeft() {
				severity = Low // the text is written from right to left
			} else if written { // people see the escape, and who shows the value does not
				severity = Medium
			}
			s.add("AUD-REORDERED-TEXT", severity, h.Line, h.Column, h.String(), around(text, h.Offset))
		case skill.ZeroWidth:
			s.add("AUD-ZERO-WIDTH", s.rules.severity("AUD-ZERO-WIDTH"), h.Line, h.Column, h.String(), around(text, h.Offset))
		}
	}
}

// leftToRight reports whether text starts with an embedding or an isolate of what is written from left to right, or the end of one.
func leftToRight(text []byte) bool {
	q, _ := utf8.DecodeRune(text)
	return q == 0x202a || q == 0x202c || q == 0x2066 || q == 0x2069
}

// embeds reports whether hidden characters are embeddings or isolates, and no overrides.
func embeds(run []byte) bool { return !bytes.ContainsAny(run, "\u202d\u202e") }

// isRightToLeft reports whether a text is written from right to left: so is one in three of its letters.
func isRightToLeft(text []byte) bool {
	right, left := 0, 0
	for _, q := range string(text) {
		switch {
		case q|0x20 >= 'a' && q|0x20 <= 'z':
			left++
		case q >= 0x590 && q <= 0x8ff && unicode.IsLetter(q):
			right++
		}
	}
	return right*2 > left
}

// reorders reports whether a text has characters that make it be shown in another order than it is read.
func reorders(text []byte) bool { return bytes.ContainsAny(text, "\u202b\u202d\u202e\u2067\u2068") }

// around is the text of the line around a byte.
func around(text []byte, at int) string {
	from, to := max(at-maxEvidence/2, 0), min(at+maxEvidence, len(text))
	if i := bytes.LastIndexByte(text[from:at], '\n'); i >= 0 {
		from += i + 1
	}
	if i := bytes.IndexByte(text[at:to], '\n'); i >= 0 {
		to = at + i
	}
	return strings.ToValidUTF8(string(text[from:to]), "")
}

// inner reads a text that was hidden in a line of another.
func (s *scan) inner(line int, how string, text []byte) { s.within(line, how, "decoded.md", text) }

// within reads a text with a name that was in a line of another.
func (s *scan) within(line int, how, name string, text []byte) {
	if len(s.decoded) >= maxDecoded {
		return
	}
	outer, was := s.line, len(s.decoded)
	if s.line == 0 {
		s.line = line
	}
	s.decoded = append(s.decoded, how)
	s.says(name, text)
	s.links(text)
	s.runs(name, text)
	s.encoded(name, text)
	s.line, s.decoded = outer, s.decoded[:was]
}
