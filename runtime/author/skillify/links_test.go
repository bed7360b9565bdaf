package skillify

import (
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/testdata/growth"
)

// resolves holds that every link of a skill leads to an address, to one of its files, or to a heading that the file has. It reads links in
// another way than what made them: code goes first, then a link is brackets and parentheses on any line.
func resolves(t *testing.T, s *Skill) {
	t.Helper()
	fenced, code := regexp.MustCompile("(?ms)^ *(```+|~~~+).*?^ *(```+|~~~+) *$"), regexp.MustCompile("``.*?``|`[^`\n]*`|\\\\[][]")
	number := regexp.MustCompile(`-[0-9]+$`)
	text := func(name string) string { return fenced.ReplaceAllString(string(s.File(name)), "") }
	for _, f := range s.Files {
		if path.Ext(f.Path) != ".md" {
			continue
		}
		for _, m := range regexp.MustCompile(`\]\(<?([^()\s<>]+)>?[^()]*\)|<(?:img|a)\b[^<>]*(?:src|href)="([^"]*)"`).FindAllStringSubmatch(code.ReplaceAllString(text(f.Path), ""), -1) {
			link := m[1] + m[2]
			if strings.HasPrefix(link, "https:") || strings.HasPrefix(link, "http:") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(link, "#")
			at := path.Join(path.Dir(f.Path), file)
			if file == "" {
				at = f.Path
			}
			if s.File(at) == nil {
				t.Errorf("%s leads to %s, which is not there", f.Path, link)
			} else if heading := regexp.MustCompile(`(?im)^#+ +` + strings.ReplaceAll(regexp.QuoteMeta(number.ReplaceAllString(anchor, "")), "-", `[^\pL\pN]+`) + `[^\pL\pN]*$`); anchor != "" && !heading.MatchString(text(at)) {
				t.Errorf("%s leads to %s, which has no such heading", f.Path, link)
			}
		}
	}
}

// TestLinks is a README whose links lead everywhere: those that lead nowhere in the skill are their text.
func TestLinks(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"See [the guide](./docs/a.md).", "See the guide."},
		{"See [the guide](https://example.com/a_(b)) and [it](http://x.example \"T\").", "See [the guide](https://example.com/a_(b)) and [it](http://x.example \"T\")."},
		{"![Logo](media/logo.png \"A (b)\") [![Build](b.svg)](ci.html) [![Build](https://x.example/b.svg)](ci.html)", "Logo Build ![Build](https://x.example/b.svg)"},
		{"[a](#use) [b](#none) [c](#Use)\n\n## Use", "[a](#use) b [c](#Use)\n\n## Use"},
		{"[a](#use-it-now-1)\n\n## `Use it`, now!\n\n### Use it now", "[a](#use-it-now-1)\n\n## `Use it`, now!\n\n### Use it now"},
		{"[license](LICENSE.md) [other](other.md) [self](./README.md) [up](../other.md)", "[license](../../LICENSE) [other](other.md) [self](readme.md) up"},
		{"[a][x] [b][] [x] [y] [Z z][y]\n\n[x]: docs/x.md \"X\"\n[b]: b.md\n[y]: https://y.example\n", "a b x [y] [Z z][y]\n\n[y]: https://y.example\n"},
		{"`[a](b.md)` and ``[a`](b.md)``\n\n```\n[a](b.md)\n[x]: y.md\n```\n\n\\[a](b.md) [a] (b.md)", "`[a](b.md)` and ``[a`](b.md)``\n\n```\n[a](b.md)\n[x]: y.md\n```\n\n\\[a](b.md) [a] (b.md)"},
		{"[a `]` b](c.md) [d [e](f.md) g](h.md)", "a `]` b d e g"},
		{"[a\nb](\nc.md) [d](<e f.md>)", "a\nb d"},
		{"<img src='logo.png' alt=\"Logo\"> <a href=\"docs/x.html\" id=k>x</a> <a href=\"https://x.example\">y</a> <img\nsrc=z.png>", "Logo <a id=k>x</a> <a href=\"https://x.example\">y</a> "},
		{"[x](javascript:alert) [y](data:text/html,x) <https://x.example/[a](b)> <a@b.example>", "x y <https://x.example/[a](b)> <a@b.example>"},
		{"[ ] open [x] done [^1] a[0](b) c", "[ ] open [x] done [^1] a0 c"},
		{"[open [a](b.md", "[open [a](b.md"},
	} {
		p := &pkgdoc.Package{Ecosystem: "npm", Name: "p", Version: "1.0.0", Title: "P", LicenseText: "MIT", Guides: []pkgdoc.Guide{{ID: "readme", Title: "README", File: "README.md", Text: c.text}, {ID: "other", Title: "Other", File: "other.md", Text: "# Other"}}}
		s := mustMake(t, p)
		if got := strings.TrimSpace(strings.TrimPrefix(string(s.File("references/guides/readme.md")), "# README\n\n")); got != strings.TrimSpace(c.want) {
			t.Errorf("%q\ngot  %q\nwant %q", c.text, got, c.want)
		}
		if !strings.Contains(c.text, `\[`) && !strings.Contains(c.text, "/[") { // which look like links and are none
			clean(t, s)
		}
	}
}

// TestLinksOfParts leads from one part of a long guide to headings and labels in another one, and pages lead nowhere.
func TestLinksOfParts(t *testing.T) {
	long := "# Long\n\n[end](#end) [gone](#gone) [label][l] [nowhere][n]\n\n" + strings.Repeat("## Part\n\n"+strings.Repeat("words of it ", 200)+"\n\n", 40) + "## End\n\n[start](#long)\n\n[l]: https://l.example\n[n]: n.md\n"
	p := &pkgdoc.Package{Ecosystem: "npm", Name: "p", Version: "1.0.0", Title: "Does [it](#x)", Guides: []pkgdoc.Guide{{ID: "long", Title: "Long", File: "README.md", Text: long}}}
	p.Pages = []pkgdoc.Page{{ID: "p", Title: "A [page](p.md)", Text: "See [a](#a).", Params: []pkgdoc.Param{{Name: "x", Text: "[b](b.md)"}}, Sections: []pkgdoc.Section{{Title: "S", Text: "![c](c.png)"}},
		Symbols: []pkgdoc.Symbol{{ID: "p#f", Name: "f", Kind: pkgdoc.Function, Text: "Like [g](#g)."}, {ID: "p#h", Name: "h", Kind: pkgdoc.Function, Deprecated: "use [g](./g.md)"}}}}
	s := mustMake(t, p)
	clean(t, s)
	first := string(s.File("references/guides/long.md"))
	if !strings.Contains(first, "[end](long-part") || !strings.Contains(first, ".md#end) gone [label](https://l.example) nowhere\n") {
		t.Errorf("%.300s", first)
	}
}

// TestLinksLinear reads texts that could be slow.
func TestLinksLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	for _, unit := range []string{"[", "[a](", "[a](b) ", "[a][b]", "![", "<a href=", "<", "`", "` ``", "``` `", "[a]: b\n", "# a\n", "<a id=b>", "[a](<", "[a]((", "]", "[[a](b)](c)", "[a](b \""} {
		small, large := growth.Times(64<<10, 8, 40, 5*time.Millisecond, func(n int) {
			text := strings.Repeat(unit, n/len(unit))
			m := &maker{p: &pkgdoc.Package{Guides: []pkgdoc.Guide{{File: "README.md", Text: text}}}}
			relinked(text, m.guideLinks(&m.p.Guides[0], text), true)
		})
		if large > 40*small {
			t.Errorf("%q: 64 KiB take %v, 512 KiB %v", unit, small, large)
		}
	}
}
