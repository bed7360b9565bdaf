package screen

import "testing"

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
