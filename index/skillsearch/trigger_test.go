package skillsearch

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

func TestReadClauses(t *testing.T) {
	for _, c := range []struct {
		name, description string
		want              Clauses
	}{
		{"nothing about when", "Merges PDF files.", Clauses{What: "Merges PDF files."}},
		{"a sentence", "Merges PDF files. Use when pages are wanted.", Clauses{What: "Merges PDF files.", When: []string{"Use when pages are wanted."}}},
		{"the end of a sentence", "Merges PDF files when asked to.", Clauses{What: "Merges PDF files", When: []string{"when asked to."}}},
		{"not", "Merges. Do not use for forms. Quick.", Clauses{What: "Merges. Quick.", WhenNot: []string{"Do not use for forms."}}},
		{"both in one sentence", "Use for pages, not for forms.", Clauses{When: []string{"Use for pages,"}, WhenNot: []string{"not for forms."}}},
		{"unless", "Do not use for forms unless they are flat.", Clauses{When: []string{"unless they are flat."}, WhenNot: []string{"Do not use for forms"}}},
		{"a list", "Merges.\n\nTriggers: merge,\n- split (e.g. In half)\n- rotate. Fast.", Clauses{What: "Merges. Fast.", When: []string{"Triggers: merge, - split (e.g. In half) - rotate."}}},
		{"words before", "You must use this for pages.", Clauses{When: []string{"You must use this for pages."}}},
		{"capitals", "DO NOT USE FOR: forms. USE FOR: pages.", Clauses{When: []string{"USE FOR: pages."}, WhenNot: []string{"DO NOT USE FOR: forms."}}},
		{"quotes", `Use when the user says "merge this. Now." or so.`, Clauses{When: []string{`Use when the user says "merge this. Now." or so.`}}},
		{"a trigger of a database", "Writes SQL triggers for audits.", Clauses{What: "Writes SQL triggers for audits."}},
		{"a word with the letters", "Reuse when possible.", Clauses{What: "Reuse when possible."}},
		{"nothing", "", Clauses{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ReadClauses(c.description); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+q\nwant %+q", got, c.want)
			}
		})
	}
}

// Every character of a description is in a clause: clauses divide it and leave nothing out.
func FuzzReadClauses(f *testing.F) {
	f.Add("Merges. Use when pages, not for forms unless flat. \"Quote.\" e.g. This\n\nThat")
	f.Add("do not use use this do not use")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > MaxDescription {
			ReadClauses(s)
			return
		}
		count := func(texts ...string) (n [256]int) {
			for _, text := range texts {
				for _, r := range text {
					if !unicode.IsSpace(r) {
						n[r%256]++
					}
				}
			}
			return n
		}
		c := ReadClauses(s)
		if count(s) != count(append(append([]string{c.What}, c.When...), c.WhenNot...)...) {
			t.Errorf("%q became %+q", s, c)
		}
	})
}

func TestLine(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"spaces", "  a \n\t b  ", "a b"},
		{"escapes", "a\x1b[31mb", "a[31mb"},
		{"direction", "a\u202eb\u2066c", "abc"},
		{"nothing to see", "a\u200b\ufeff\U000e0041\ufe0fb", "ab"},
		{"no text", "a\xff\xfeb", "ab"},
		{"other scripts", "añb 漢字", "añb 漢字"},
		{"cut behind a word", "one two three four five six", "one two three…"},
		{"cut in a word", strings.Repeat("x", 30), strings.Repeat("x", 17) + "…"},
		{"just so long", "one two three four 2", "one two three four 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := line(c.in, 20); got != c.want {
				t.Errorf("line(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

// A line is short, has nothing invisible, and is its own line.
func FuzzLine(f *testing.F) {
	f.Add("one two three four five six", 20)
	f.Add("a\x1b\u202e\n", 3)
	f.Add("𣣊𪪪", 6)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 0 || limit > 1000 {
			return
		}
		got := line(s, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) || diag.Invisible(r) }) {
			t.Errorf("line(%q, %d) = %q", s, limit, got)
		}
		if again := line(got, limit); again != got {
			t.Errorf("line(%q) = %q", got, again)
		}
	})
}
