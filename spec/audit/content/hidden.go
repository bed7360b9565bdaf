package content

import (
	"bytes"
	"strings"

	"github.com/skl-project/skl/spec/skill"
)

// hidden finds characters that people do not see, and reads what they carry. Written is a text that wrote them as escapes.
func (s *scan) hidden(text []byte, written bool) {
	if s.line > 0 && len(s.decoded) > 0 {
		return // what was decoded is shown as it is
	}
	for _, h := range skill.FindHidden(text) {
		switch h.Kind {
		case skill.Carries:
			s.add("AUD-HIDDEN-TEXT", Refuse, h.Line, h.Column, h.String(), h.Text)
			if len(h.Text) > 3 {
				s.inner(h.Line, "invisible characters", []byte(h.Text))
			}
		case skill.Reorders:
			severity := Refuse
			if written { // people see the escape, and who shows the value does not
				severity = Medium
			}
			s.add("AUD-REORDERED-TEXT", severity, h.Line, h.Column, h.String(), around(text, h.Offset))
		case skill.ZeroWidth:
			s.add("AUD-ZERO-WIDTH", s.rules.severity("AUD-ZERO-WIDTH"), h.Line, h.Column, h.String(), around(text, h.Offset))
		}
	}
}

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
func (s *scan) inner(line int, how string, text []byte) {
	if len(s.decoded) >= maxDecoded {
		return
	}
	outer, was := s.line, len(s.decoded)
	if s.line == 0 {
		s.line = line
	}
	s.decoded = append(s.decoded, how)
	s.says("decoded.md", text)
	s.runs(text)
	s.encoded("decoded.md", text)
	s.line, s.decoded = outer, s.decoded[:was]
}
