package content

import (
	"math/rand/v2"
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

// TestIsPython finds what Pythons compile, and not what is random.
func TestIsPython(t *testing.T) {
	tail := strings.Repeat("\x00", 40)
	for name, header := range map[string]string{
		"2.7":               "\x03\xf3\r\n" + "\x00\x01\x02\x03" + "c",
		"3.4":               "\xee\x0c\r\n" + "\x00\x01\x02\x03" + "\x10\x00\x00\x00" + "\xe3",
		"3.11":              "\xa7\x0d\r\n" + "\x00\x00\x00\x00" + "\x00\x01\x02\x03\x10\x00\x00\x00" + "\xe3",
		"3.14, by its hash": "\x2b\x0e\r\n" + "\x03\x00\x00\x00" + "\x00\x01\x02\x03\x10\x00\x00\x00" + "\xe3",
		"PyPy":              "\x50\x01\r\n" + "\x00\x00\x00\x00" + "\x00\x01\x02\x03\x10\x00\x00\x00" + "c",
	} {
		if !isPython([]byte(header + tail)) {
			t.Errorf("%s is not found", name)
		}
	}
	r, n := rand.New(rand.NewPCG(5, 7)), 0
	data := make([]byte, 64)
	for range 1 << 20 {
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if data[2], data[3] = '\r', '\n'; isPython(data) {
			n++
		}
	}
	if n > 1<<20/500 {
		t.Errorf("of random bytes with the end of a line, %d in a million are a compiled module", n)
	}
}
