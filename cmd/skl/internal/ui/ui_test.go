package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/spec/diag"
)

func TestErrorHasItsHintsApart(t *testing.T) {
	var out, errs bytes.Buffer
	u := &UI{Out: &out, Err: &errs}
	err := diag.New(diag.Misuse, "x", "no skill called %q", "\x1b[31mred").Meant("pdf").Hint("did you mean pdf?")
	u.Error(err)
	want := "skl: no skill called \"\\x1b[31mred\"\nskl:   pdf\nskl: hint: did you mean pdf?\n"
	if errs.String() != want || out.Len() != 0 {
		t.Errorf("printed %q, want %q", errs.String(), want)
	}
	u.JSON = true
	u.Error(err)
	for _, want := range []string{`"code": "x"`, `"hints": [`, `"candidates": [`, `"retryable": false`, `"where": {`, `"line": 0`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("JSON has no %s:\n%s", want, out.String())
		}
	}
}

// JSON is read on terminals too: it holds nothing that one obeys, and says the same.
func TestResultIsSafeToShow(t *testing.T) {
	var out bytes.Buffer
	u := &UI{Out: &out, Err: &out}
	text := "a\x1b[2J\x7f\u009b\u202e\u2066\U000e0001é🙂"
	for name, print := range map[string]func(any) error{"Result": u.Result, "Stream": u.Stream} {
		out.Reset()
		if err := print([]string{text}); err != nil {
			t.Fatal(err)
		}
		for _, r := range out.String() {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2066 || r == 0xe0001 {
				t.Errorf("%s: %q is printed as it is", name, r)
			}
		}
		var back []string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back[0] != text {
			t.Errorf("%s: %q became %q: %v", name, text, back, err)
		}
		if name == "Stream" && strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%q is not one line", out.String())
		}
	}
}

func TestRowsAreAligned(t *testing.T) {
	var out bytes.Buffer
	u := &UI{Out: &out}
	u.Rows([][]string{{"NAME", "PATH", "X"}, {"größe", "a", "1"}, {"b\x1b[1m", "long/path", "2"}})
	want := "NAME      PATH       X\ngröße     a          1\nb\\x1b[1m  long/path  2\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	if u.Rows([][]string{{"NAME"}}); out.Len() != 0 {
		t.Error("an empty table should print nothing")
	}
}

func TestChoose(t *testing.T) {
	options := []ask.Option{{Label: "claude-code", Default: true}, {Label: "codex"}, {Label: "cursor"}}
	for answer, want := range map[string][]int{
		"\n": {0}, "2\n": {1}, "1-2\n": {0, 1}, "all\n": {0, 1, 2}, "codex, 3\n": {1, 2}, "9\n\n": {0},
	} {
		u := &UI{In: strings.NewReader(answer), Out: io.Discard, Err: io.Discard, Terminal: true}
		if got, err := u.Choose(ask.Choice{Question: "which?", Options: options}); err != nil || !slices.Equal(got, want) {
			t.Errorf("answer %q: %v, %v; want %v", answer, got, err, want)
		}
	}
	u := &UI{In: strings.NewReader("1\n"), Err: io.Discard}
	if _, err := u.Choose(ask.Choice{Question: "which?", Options: options}); !errors.Is(err, ask.ErrNobody) {
		t.Errorf("without a terminal: %v", err)
	}
	if u.Yes = true; true {
		if got, err := u.Choose(ask.Choice{Question: "which?", Options: options}); err != nil || !slices.Equal(got, []int{0}) {
			t.Errorf("--yes takes %v, %v; want the defaults", got, err)
		}
	}
}

func TestConfirmIsNotAnsweredByYes(t *testing.T) {
	u := &UI{In: strings.NewReader("y\n"), Err: io.Discard, Yes: true}
	if ok, err := u.Confirm("run commands?"); ok || !errors.Is(err, ask.ErrNobody) {
		t.Errorf("Confirm = %v, %v; --yes answers choices only", ok, err)
	}
}

func TestSizeAndCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 58_692: "59 kB", 1_400_000: "1.4 MB", 2_000_000_000: "2.0 GB"} {
		if got := diag.Size(n); got != want {
			t.Errorf("Size(%d) = %s, want %s", n, got, want)
		}
	}
	if diag.Count(1, "file") != "1 file" || diag.Count(0, "file") != "0 files" {
		t.Error("Count is wrong")
	}
}
