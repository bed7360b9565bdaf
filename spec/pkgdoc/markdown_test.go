package pkgdoc

import (
	"fmt"
	"strings"
	"testing"
)

func TestBody(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"---\ntitle: x\n---\n\n# A\n", "# A"},
		{"---\ntitle: x\n", "---\ntitle: x"},
		{"\ufeffa\r\nb\rc", "a\nb\nc"},
		{"a <!-- b --> c\n<!--\nd\n-->\ne", "a  c\n\ne"},
		{"```{r setup, echo = FALSE}\nx <!-- kept -->\n```", "```r\nx <!-- kept -->\n```"},
		{"````\n```\n<!-- kept -->\n````", "````\n```\n<!-- kept -->\n````"},
		{"<!-- open", ""},
	} {
		if got := Body(c.src); got != c.want {
			t.Errorf("%q\ngot  %q\nwant %q", c.src, got, c.want)
		}
	}
}

func TestHeadings(t *testing.T) {
	src := "# A\ntext\n## B {#b .x}\n```\n# no\n```\n#no\n####### no\n### C ###\n"
	if got, want := fmt.Sprint(Headings(src)), "[{1 A} {2 B} {3 C}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOpening(t *testing.T) {
	for src, want := range map[string]string{
		"# A\n\n[![x](y)](z)\n\n```\ncode\n```\n\nOne\ntwo.\n\nThree.": "One two.",
		"- a\n- b": "", "": "",
	} {
		if got := Opening(src); got != want {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}

func FuzzBody(f *testing.F) {
	f.Add("---\na: b\n---\n```{r}\n<!-- x -->\n```\n# A {#b}\n")
	f.Fuzz(func(t *testing.T, src string) {
		text := Body(src)
		if strings.Contains(text, "\r") {
			t.Error("a carriage return is left")
		}
		Headings(text)
		Opening(text)
	})
}
