package skill

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/skl-project/skl/spec/diag"
)

// cut reports that a text without quotes ends at a " #", where YAML begins a comment: hosts never see the rest of the line,
// and nothing else says so. Whether a comment was meant, only the author knows, so there is no fix.
func (r *reader) cut(f Field) {
	from := f.Value.End
	switch {
	case f.Value.IsNull():
		from = f.KeySpan.End + 1 + max(0, bytes.IndexByte(r.fm.src[f.KeySpan.End:r.fm.end], ':'))
	case f.Value.Kind != Scalar || f.Value.Style == Block:
		return
	}
	if rest, ok := r.comment(from); ok && (f.Value.Style == Plain || len(r.fm.quotes) > 0) {
		r.report(RuleYAMLComment, r.fm.span(from, from), "%s ends here, where YAML begins a comment: %q is not read. Put the value in quotes, or the comment on a line of its own",
			diag.Printable(f.Key), diag.Clip(diag.Printable(rest), 60))
	}
}

// comment is the comment that follows offset from on its line.
func (r *reader) comment(from int) (string, bool) {
	if from < r.fm.start || from > r.fm.end {
		return "", false
	}
	line, _, _ := bytes.Cut(r.fm.src[from:r.fm.end], []byte("\n"))
	text := strings.TrimSpace(string(line))
	return text, strings.HasPrefix(text, "#") && len(line) > 0 && (line[0] == ' ' || line[0] == '\t')
}

// control reports control characters of a text, which an escape of YAML can hold: a terminal that shows them obeys them.
func (r *reader) control(label, text string, at Span) {
	i := strings.IndexFunc(text, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' })
	if i < 0 {
		return
	}
	c := []rune(text[i:])[0]
	r.report(RuleControl, at, "%s holds a control character, U+%04X, which terminals may obey", diag.Printable(label), c)
}
