package diag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
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

// Prefixes, hints and the like are added to a copy: an error that others hold does not change.
func TestOwn(t *testing.T) {
	cause := fs.ErrNotExist
	one := New(Refused, "E_DIGEST", "no layer: %w", cause).Hint("skl update").Meant("pdf")
	place := Position{File: "skl.toml", Line: 3}
	for _, test := range []struct {
		err  error
		want string
	}{
		{Prefixed(one, "acme/pdf"), "acme/pdf: no layer: file does not exist"},
		{Prefixed(Prefixed(one, "b"), "a"), "a: b: no layer: file does not exist"},
		{Prefixed(fmt.Errorf("reading: %w", one), "a"), "a: reading: no layer: file does not exist"},
		{Located(one, place), "skl.toml:3: no layer: file does not exist"},
		{Located(Located(one, place), Position{File: "other"}), "skl.toml:3: no layer: file does not exist"},
		{Located(fmt.Errorf("reading: %w", one), place), "skl.toml:3: reading: no layer: file does not exist"},
		{Prefixed(Located(one, place), "a"), "skl.toml:3: a: no layer: file does not exist"},
		{Prefixed(cause, "a"), "file does not exist"},
		{Located(cause, place), "file does not exist"},
	} {
		if test.err.Error() != test.want {
			t.Errorf("%q, want %q", test.err, test.want)
		}
		if e, ok := Own(test.err); ok {
			if e.Class != Refused || e.Code != "E_DIGEST" || len(e.Hints) != 1 || len(e.Candidates) != 1 || !errors.Is(e, cause) {
				t.Errorf("%q lost something: %+v", test.want, e)
			}
			e.Hint("another")
			e.Candidates[0] = "another"
		}
	}
	if one.Error() != "no layer: file does not exist" || len(one.Hints) != 1 || one.Candidates[0] != "pdf" || one.Where != (Position{}) {
		t.Errorf("it was changed: %+v", one)
	}
	if Prefixed(nil, "a") != nil || Located(nil, place) != nil {
		t.Error("nil is no error")
	}
	if _, ok := Own(cause); ok {
		t.Error("a foreign error was taken for an Error")
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
		"blank a\u2800b":           `blank a\u2800b`,
		"note \U0001d159":          `note \U0001d159`,
		"⠓⠊\u2800⠽⠕⠥":              "⠓⠊\u2800⠽⠕⠥",
		"⠓\u2800\u2800\u2800⠽":     "⠓\u2800" + `\u2800` + "\u2800⠽",
		"👩\u200d🚀":                 "👩\u200d🚀",
		"é\u200d\u200cé":           `é\u200d\u200cé`,
		"❤\ufe0f\u200d🔥":           "❤\ufe0f\u200d🔥",
		"1\ufe0f\u20e3":            "1\ufe0f\u20e3",
		"\u00ad\ufe0fé":            `\u00ad\ufe0fé`,
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("\x1b[2J")
	f.Add("ok\u202e\xff")
	f.Add("⠓\u2800\u2800\u2800a")
	f.Add("\u00e9\u200d\u202e\ufe0f\u200c\u00e9")
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

// Text already quoted for a shell is not quoted again; text that only looks quoted is.
func TestForShell(t *testing.T) {
	for text, want := range map[string]string{
		"pdf": "pdf", "o'b": "o'b", "a;b": "'a;b'", "'a;b'": "'a;b'", Quote("o'b;"): Quote("o'b;"), " --path 'o'\\''b'": " --path 'o'\\''b'", " --left-out '*.env' --path 'a b'": " --left-out '*.env' --path 'a b'",
		"'a';b": "''\\''a'\\'';b'", "'a": "'a", "'a;": "''\\''a;'", "\\'; rm -r x; \\'": "'\\'\\''; rm -r x; \\'\\'''", "a\\": "'a\\'", "'a'$(x)'b'": "''\\''a'\\''$(x)'\\''b'\\'''",
	} {
		if got := ForShell("skl expand%s %s", []any{text}); got[0] != want {
			t.Errorf("%s becomes %s, want %s", text, got[0], want)
		}
	}
}

// A log shows the cause that the sentence for users hides, once.
func TestLogValue(t *testing.T) {
	hidden := New(Failed, "unavailable", "the database does not answer")
	hidden.Err = errors.New("connection refused")
	for _, test := range []struct {
		err  *Error
		want string
	}{
		{hidden, "the database does not answer: connection refused"},
		{New(Failed, "x", "cannot read: %w", hidden.Err), "cannot read: connection refused"},
		{New(Failed, "x", "no cause"), "no cause"},
	} {
		var b bytes.Buffer
		slog.New(slog.NewJSONHandler(&b, nil)).Info("m", "error", test.err)
		if !strings.Contains(b.String(), `"error":"`+test.want+`"`) {
			t.Errorf("%s, want %s", &b, test.want)
		}
	}
}
