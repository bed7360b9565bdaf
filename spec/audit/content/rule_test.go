package content

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/audit"
)

var escapes = regexp.MustCompile(`\\u\{[0-9A-F]+\}|\\x[0-9a-f]{2}|\\r|\\n`)

// example is the file of an example: its name, and its text with the escapes of Go resolved.
func example(text string) audit.File {
	text = escapes.ReplaceAllStringFunc(text, func(s string) string {
		switch {
		case s == `\r`:
			return "\r"
		case s == `\n`:
			return "\n"
		case s[1] == 'x':
			n, _ := strconv.ParseUint(s[2:], 16, 8)
			return string([]byte{byte(n)})
		}
		n, _ := strconv.ParseUint(s[3:len(s)-1], 16, 32)
		return string(rune(n))
	})
	name, body, _ := strings.Cut(text, "\n")
	return audit.File{Path: name, Data: []byte(strings.TrimRight(body, "\n") + "\n")}
}

// Every example of every rule is found by it, and no look-alike is.
func TestExamples(t *testing.T) {
	for _, r := range Rules() {
		if len(r.Match) == 0 || len(r.Similar) == 0 {
			t.Errorf("%s has no examples", r.ID)
		}
		finds := func(text string) bool {
			report := Scan([]audit.File{example(text)})
			return slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Rule == r.ID && (f.Severity != Low || r.Severity == Low) })
		}
		for _, text := range r.Match {
			if !finds(text) {
				t.Errorf("%s does not find %q", r.ID, text)
			}
		}
		for _, text := range r.Similar {
			if finds(text) {
				t.Errorf("%s finds %q", r.ID, text)
			}
		}
	}
}
