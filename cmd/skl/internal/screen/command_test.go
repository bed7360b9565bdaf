package screen

import (
	"strings"
	"testing"
)

// A command is not broken, and stands alone where it is wider than the screen; the sentence around it is folded.
func TestCommandsStayWhole(t *testing.T) {
	for text, want := range map[string]string{
		"skl: hint: to ask its source which it is: skl lock --upgrade pdf": "skl: hint: to ask its source which it\n     is: skl lock --upgrade pdf",
		"skl list --shadowed shows the copies, skl which pdf --host HOST the one it loads": "skl list --shadowed shows the copies,\n" +
			"     skl which pdf --host HOST the one\n     it loads",
		"skl: hint: skl install acme/handbook -s query-tours -s fuzz-basics, or others": "skl: hint:\nskl install acme/handbook -s query-tours -s fuzz-basics,\n     or others",
		"skl: hint: skl install acme/handbook -s tours":                                 "skl: hint:\n     skl install acme/handbook -s tours",
		"skl: hint: skl search 'two words and more of them' --limit":                    "skl: hint:\nskl search 'two words and more of them' --limit",
		"skl: skl keeps its journals in a folder of its own":                            "skl: skl keeps its journals in a folder\n     of its own",
		"skl: hint: they come with it: skl install skl: --all":                          "skl: hint: they come with it:\n     skl install skl: --all",
		"skl: hint: skl --scope user which pdf --host codex shows it":                   "skl: hint:\nskl --scope user which pdf --host codex\n     shows it",
		"skl: hint: skl info pdf    skl install pdf --host all":                         "skl: hint: skl info pdf\n     skl install pdf --host all",
	} {
		look := Look{Width: 40}
		if got := strings.TrimSuffix(look.Lines(Line{Left: []Span{T(text)}, Wrap: true, Unbroken: true, Hang: 5}), "\n"); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}
