package search

import (
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":               "",
		" -- ":           "",
		"PDF-forms v2.0": "pdf forms v2 0",
		"Ångström ångström A\u030angstro\u0308m": "angstrom angstrom angstrom",
		"ǽ ſtraße ΣΊΣΥΦΟΣ":                       "æ straße σίσυφοσ",
		"\u0301 x\u0301":                         "x",
		"数据 don't a\xffb":                        "数据 don t a b",
		"\u19b0\x00end":                          "end",
		strings.Repeat("ä", 400):                 strings.Repeat("a", maxWord-3),
	} {
		if got := strings.Join(Words(text), " "); got != want {
			t.Errorf("%q has the words %q, want %q", text, got, want)
		}
	}
	if got := split("one two three", 2); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("got %v", got)
	}
}
