package screen

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/skl-project/skl/spec/diag"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"abc": 3, "größe": 5, "日本": 4, "e\u0301": 1, "👩‍💻": 2, "": 0, "✓ …": 3} {
		if got := Width(text); got != want {
			t.Errorf("Width(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	u, a := Look{}, Look{Signs: ASCII}
	for _, c := range []struct{ got, want string }{
		{u.Cut("release-notes", 20), "release-notes"},
		{u.Cut("release-notes", 8), "release…"},
		{a.Cut("release-notes", 8), "relea..."},
		{u.Cut("日本語の説明", 6), "日本…"},
		{u.Cut("two words", 5), "two…"},
		{u.CutMiddle(".agents/skills/pdf-forms/SKILL.md", 20), ".agents/…/SKILL.md"},
		{u.CutMiddle(".agents/skills/pdf-forms/SKILL.md", 28), ".agents/…/pdf-forms/SKILL.md"},
		{u.CutMiddle("https://example.org/a/long/way/to/a.git", 30), "https://example.org/…/to/a.git"},
		{a.CutMiddle(".agents/skills/pdf-forms/SKILL.md", 20), ".agents/.../SKILL.md"},
		{u.CutMiddle("abcdefghijklmnop", 8), "abc…mnop"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	lines := []Line{
		{Left: []Span{T("? Which skills of "), {Bold, "github.com/acme/handbook"}, T("?")}, Right: []Span{T("2 of 402 chosen")}},
		Prose(4, T("  one  Fill, flatten and check PDF forms. Use when a form has fields or boxes that somebody else drew.")),
		{Left: []Span{{Cyan, "skl install acme/handbook -s query-tours -s fuzz-basics -s a-third-one"}}, Whole: true},
		L(Look{}.Mark(Done), T(" pdf\x1b[2J 1.4.2 in .agents/skills, linked for Claude Code, and there is more")),
	}
	for _, c := range []struct {
		look Look
		want string
	}{
		{Look{Width: 60}, `
? Which skills of github.com/acme/handboo…  2 of 402 chosen
  one  Fill, flatten and check PDF forms. Use when a form
    has fields or boxes that somebody else drew.
skl install acme/handbook -s query-tours -s fuzz-basics -s a-third-one
✓ pdf\x1b[2J 1.4.2 in .agents/skills, linked for Claude Co…
`[1:]},
		{Look{Width: 40, Signs: ASCII}, `
? Which skills of github.com/acme/ha...
  one  Fill, flatten and check PDF
    forms. Use when a form has fields
    or boxes that somebody else drew.
skl install acme/handbook -s query-tours -s fuzz-basics -s a-third-one
✓ pdf\x1b[2J 1.4.2 in .agents/skills...
`[1:]},
		{Look{}, `
? Which skills of github.com/acme/handbook?  2 of 402 chosen
  one  Fill, flatten and check PDF forms. Use when a form has fields or boxes that somebody else drew.
skl install acme/handbook -s query-tours -s fuzz-basics -s a-third-one
✓ pdf\x1b[2J 1.4.2 in .agents/skills, linked for Claude Code, and there is more
`[1:]},
	} {
		if got := c.look.Lines(lines...); got != c.want {
			t.Errorf("%+v:\n%swant\n%s", c.look, got, c.want)
		}
	}
	if got := (Look{Width: 80, Color: true}).Lines(lines[0]); !strings.HasPrefix(got, "? Which skills of \x1b[1mgithub.com/acme/handbook\x1b[0m?") {
		t.Errorf("painted %q", got)
	}
}

var catalogue = Table{
	Columns: []Column{{Head: "NAME", Kind: Name}, {Head: "FILES", Right: true}, {Head: "PATH", Kind: Path}, {Head: "DESCRIPTION", Kind: Text}},
	Rows: [][]Span{
		{{Bold, "release-notes"}, T("12"), T("skills/writing/release-notes/SKILL.md"), T("Write the notes of a release from its commits and its issues")},
		{T("日本語"), T("3"), T("skills/ja/SKILL.md"), T("説明の文章")},
	},
}

func TestTable(t *testing.T) {
	for _, c := range []struct {
		look Look
		want string
	}{
		{Look{Width: 120}, `
NAME           FILES  PATH                                   DESCRIPTION
release-notes     12  skills/writing/release-notes/SKILL.md  Write the notes of a release from its commits and its iss…
日本語             3  skills/ja/SKILL.md                     説明の文章
`},
		{Look{Width: 80}, `
NAME           FILES  PATH                                   DESCRIPTION
release-notes     12  skills/writing/release-notes/SKILL.md  Write the notes o…
日本語             3  skills/ja/SKILL.md                     説明の文章
`},
		{Look{Width: 60}, `
NAME           FILES  PATH                     DESCRIPTION
release-notes     12  skills/…/SKILL.md        Write the n…
日本語             3  skills/ja/SKILL.md       説明の文章
`},
		{Look{Width: 50}, `
name         release-notes
files        12
path         skills/…/release-notes/SKILL.md
description  Write the notes of a release from
             its commits and its issues

name         日本語
files        3
path         skills/ja/SKILL.md
description  説明の文章
`},
		{Look{}, `
NAME           FILES  PATH                                   DESCRIPTION
release-notes     12  skills/writing/release-notes/SKILL.md  Write the notes of a release from its commits and its issues
日本語             3  skills/ja/SKILL.md                     説明の文章
`},
	} {
		if got := c.look.Table(catalogue); got != c.want[1:] {
			t.Errorf("%+v:\n%swant\n%s", c.look, got, c.want[1:])
		}
	}
}

var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Nothing that is laid out is wider than the screen, holds what a terminal obeys, or splits what is one sign.
func FuzzCut(f *testing.F) {
	for _, text := range []string{"a/b/c/d", "https://example.org/a/b/c", "日本語/の/説明", "e\u0301e\u0301 x", "👩‍💻👨‍👩‍👧‍👦", "🇩🇪🇫🇷", "\x1b[2J\u202e\x00\xff", "a  b", "क्षि"} {
		f.Add(text, 7)
	}
	f.Add("👩\u200d𨒻{\x9f\x91\xa8\u200d👩\u200d👧\u200d👦", 203)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = 1 + (n%200+200)%200
		safe := diag.Printable(text)
		whole, widest := map[string]bool{}, 2
		for g := uniseg.NewGraphemes(safe); g.Next(); {
			whole[g.Str()], widest = true, max(widest, g.Width())
		}
		for _, k := range []Look{{Width: n + 1}, {Width: n + 1, Color: true, Signs: ASCII}} {
			mark := k.Sign(Ellipsis)
			for _, got := range []string{k.Cut(safe, n), k.CutMiddle(safe, n)} {
				if Width(got) > n {
					t.Errorf("%q cut to %d is %q, %d wide", safe, n, got, Width(got))
				}
				if got == safe {
					continue
				}
				start, end, _ := strings.Cut(got, mark)
				if !strings.HasPrefix(safe, start) || !strings.HasSuffix(safe, end) {
					continue // the text holds the mark itself
				}
				for g := uniseg.NewGraphemes(start); g.Next(); {
					if !whole[g.Str()] {
						t.Errorf("%q cut to %d splits a sign: %q", safe, n, got)
					}
				}
			}
			table := k.Table(Table{Columns: []Column{{Head: "A", Kind: Name}, {Head: "B", Kind: Path}}, Rows: [][]Span{{{Bold, text}, T(text)}}})
			laid := k.Lines(L(Span{Red, text}), Prose(4, T(text), Span{Bold, text}), Line{Left: []Span{T(text)}, Right: []Span{T(text)}}) + table
			for row := range strings.Lines(sequences.ReplaceAllString(laid, "")) {
				row = strings.TrimSuffix(row, "\n")
				joined := strings.NewReplacer("\u200c", "", "\u200d", "").Replace(row) // where text is cut, what it was joined to may be gone
				if Width(row) > max(n, widest) || !utf8.ValidString(row) || diag.Printable(joined) != joined {
					t.Errorf("%q on %d columns: row %q, %d wide", text, n, row, Width(row))
				}
			}
		}
	})
}
