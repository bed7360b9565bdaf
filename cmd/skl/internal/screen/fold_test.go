package screen

import (
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/growth"
)

// Text that is folded has all its words, in order; lines that fit are as they were.
func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"short\n\n\tstays\n":                          "short\n\n\tstays\n",
		"- an item that is longer than the screen\n":  "- an item that is\n  longer than the\n  screen\n",
		"    indented text that is too long":          "    indented text\n      that is too\n      long",
		"a\ttab that is too wide\n":                   "a       tab that is\n  too wide\n",
		"https://example.org/a/path/to/copy more\n":   "https://example.org/a/path/to/copy\n  more\n",
		"    $ skl install acme/handbook\n    text\n": "$ skl install acme/handbook\n    text\n",
		"長い説明文長い説明文長い説明文":                             "長い説明文長い説明\n  文長い説明文",
	} {
		if got := (Look{Width: 20}).Fold(text); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
		if got := (Look{}).Fold(text); got != text {
			t.Errorf("a pipe gets %q for %q", got, text)
		}
	}
}

// The lines of a tree go on beside the rows that are added.
func TestFoldTree(t *testing.T) {
	const tree = `
demo
├── IF << a condition that is long   remark
│   └── a node that is long as well
└── the last one is long, too
`
	want := `
demo
├── IF << a condition
│   │   that is long
│   │   remark
│   └── a node that is
│         long as well
└── the last one is
      long, too
`
	for _, signs := range []Signs{Unicode, ASCII} {
		k := Look{Width: 24, Signs: signs}
		if got := k.FoldTree(k.Drawn(tree)); got != k.Drawn(want) {
			t.Errorf("%s\nwant\n%s", got, k.Drawn(want))
		}
	}
}

// Whatever a line repeats, four times as much of it takes about four times the time.
func TestFoldLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures times")
	}
	for _, piece := range []string{"長", "a ", "a", "skl list ", "'a ", "; skl 'a ", "│   ", "├── ", "\ta", "👨‍👩‍👧‍👦", "e\u0301"} {
		for _, width := range []int{2, 80} {
			fold := func(n int) {
				line := "skl x " + strings.Repeat(piece, n/len(piece))
				Look{Width: width}.Fold(line)
				Look{Width: width}.FoldTree(line)
			}
			one, four := growth.Times(32<<10, 4, 10, 0, fold)
			if four > 10*one {
				t.Errorf("%q at %d columns: some take %v, four times as many %v", piece, width, one, four)
			}
		}
	}
}

// Nothing but blanks is added to text that is folded, and nothing else is lost.
func FuzzFold(f *testing.F) {
	for _, text := range []string{"- a/b c", "日本語/の/説明", "skl: hint: skl list 'a b' or", "\ta\tb", "🇩🇪🇫🇷", "    skl x; skl y", "1. `skl a"} {
		f.Add(text, 7)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 1 + (width%200+200)%200
		safe := diag.Printable(text)
		folded := Look{Width: width}.Fold(safe)
		if got, want := strings.Join(strings.Fields(folded), ""), strings.Join(strings.Fields(safe), ""); got != want {
			t.Errorf("at %d columns %q is %q", width, safe, folded)
		}
	})
}
