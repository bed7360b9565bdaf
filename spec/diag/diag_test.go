package diag

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestErrorIsItsCode(t *testing.T) {
	err := fmt.Errorf("reading: %w", New(Refused, "E_DIGEST", "pdf: %w", fs.ErrNotExist).Hint("skl update %s", "pdf").At(Position{File: "skl.toml", Line: 3}))
	switch {
	case !errors.Is(err, Code("E_DIGEST")), errors.Is(err, Code("other")), !errors.Is(err, fs.ErrNotExist):
		t.Error("an error should be found by its code and by its cause, and by nothing else")
	case ClassOf(err) != Refused || ClassOf(errors.New("x")) != Failed || ClassOf(nil) != 0:
		t.Error("ClassOf is wrong")
	case err.Error() != "reading: skl.toml:3: pdf: file does not exist":
		t.Errorf("sentence %q", err)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain – ünï 数据 🙂":         "plain – ünï 数据 🙂",
		"\x1b[31mred\x1b[0m":       `\x1b[31mred\x1b[0m`,
		"a\x1b]8;;http://x\x07b":   `a\x1b]8;;http://x\x07b`,
		"line\nbreak\ttab\rreturn": `line\nbreak\ttab\x0dreturn`,
		"c1 \u009b31m":             `c1 \u009b31m`,
		"bidi \u202egpj.exe":       `bidi \u202egpj.exe`,
		"tags \U000e0041":          `tags \U000e0041`,
		"bad \xff utf8":            `bad \xff utf8`,
		"👩\u200d🚀":                 "👩\u200d🚀",
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("\x1b[2J")
	f.Add("ok\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		p := Printable(s)
		if !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl) || Printable(p) != p {
			t.Errorf("Printable(%q) = %q is not safe, or not settled", s, p)
		}
	})
}

func TestSARIF(t *testing.T) {
	text, err := json.Marshal(SARIF([]Finding{
		{File: "skills/pdf/SKILL.md", Line: 2, Column: 7, Rule: "SPEC-NAME-DIR", Severity: SeverityWarning, Message: "m"},
		{File: "skills/pdf/SKILL.md", Rule: "PKG-TOO-BIG", Severity: SeverityInfo, Message: "n"},
	}, "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"version":"2.1.0"`, `"ruleId":"SPEC-NAME-DIR"`, `"level":"warning"`, `"startLine":2`, `"level":"note"`, `"rules":[{"id":"SPEC-NAME-DIR"},{"id":"PKG-TOO-BIG"}]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("SARIF has no %s:\n%s", want, text)
		}
	}
}

func ExampleError() {
	err := New(Misuse, "unknown_skill", "no skill called %q is installed", "pfd").Meant("pdf").Hint("did you mean pdf?")
	fmt.Println(err, err.Hints)
	// Output: no skill called "pfd" is installed [did you mean pdf?]
}
