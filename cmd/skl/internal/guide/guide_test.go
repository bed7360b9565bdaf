package guide

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/packed"
)

var update = flag.Bool("update", false, "write guides.gz anew")

// TestPacked holds that the program carries the guides as the files have them.
func TestPacked(t *testing.T) {
	var all []byte
	for _, name := range names {
		text, err := os.ReadFile(name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		all = append(append(all, text...), 0)
	}
	if *update {
		if err := os.WriteFile("guides.gz", packed.Pack(all), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if texts() != string(all) {
		t.Error("guides.gz is not what the guides say; go test ./cmd/skl/internal/guide -run TestPacked -update writes it")
	}
}

// TestNames wants every file to be listed, and to begin with its name and a line for the list.
func TestNames(t *testing.T) {
	entries, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e, ".md"); !slices.Contains(names, name) {
			t.Errorf("%s is not in names", e)
		}
	}
	for _, g := range All() {
		if !strings.HasPrefix(g.Text, "# "+g.Name+": "+g.Summary+"\n\n") || g.Summary == "" || strings.HasSuffix(g.Summary, ".") || len(g.Summary) > 60 {
			t.Errorf("%s begins with %.80q", g.Name, g.Text)
		}
	}
}

// TestLinks wants every relative link of a guide to lead to a file.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	for _, g := range All() {
		for _, m := range link.FindAllStringSubmatch(g.Text, -1) {
			if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil {
				t.Errorf("%s links to %s: %v", g.Name, m[1], err)
			}
		}
	}
}

// TestRenderGuides wants no line to be wider than a screen of 80 columns or more, but in blocks, and no Markdown that Render
// does not know to be left.
func TestRenderGuides(t *testing.T) {
	for _, g := range All() {
		for _, width := range []int{40, 80, 100} {
			for line := range strings.Lines(Render(g.Text, Screen{Width: width})) {
				line = strings.TrimSuffix(line, "\n")
				if strings.HasPrefix(line, "    ") {
					continue // a block, or an item of an item
				}
				if n := utf8.RuneCountInString(line); n > max(width, 80) {
					t.Errorf("%s at %d columns has a line of %d: %s", g.Name, width, n, line)
				}
				if strings.Contains(line, "](") || strings.Contains(line, "**") || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "|") || strings.Contains(line, "<!--") {
					t.Errorf("%s shows Markdown: %s", g.Name, line)
				}
			}
		}
	}
}

func TestRender(t *testing.T) {
	text := "# demo: a page\n\nOne *two* **three** `four five` [six](seven.md)\nand [eight](../../x/nine.md), [ten](https://example.com).\n\n" +
		"<!-- not run: no -->\n```console\n$ skl list  --all\nNAME\n```\n\n- first item that is long enough to wrap\n- second\n  goes on\n\n1. one\n\n" +
		"| name | what it does |\n|---|---|\n| `a\\|b` | something that needs more than one line |\n| c | d |\n"
	want := "demo: a page\n\nOne *two* three four five six\n(skl help guide seven) and eight\n(x/nine.md), ten (https://example.com).\n\n" +
		"    $ skl list  --all\n    NAME\n\n  - first item that is long enough to\n    wrap\n  - second goes on\n\n  1. one\n\n" +
		"name  what it does\na|b   something that needs more than one\n      line\nc     d\n"
	if got := Render(text, Screen{Width: 40}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	colour := Render("# T\n\nA `b` **c**.\n\n```console\n$ d\n```\n", Screen{Color: true})
	if want := "\x1b[1;4mT\x1b[0m\n\nA \x1b[36mb\x1b[0m \x1b[1mc\x1b[0m.\n\n    \x1b[1m$ d\x1b[0m\n"; colour != want {
		t.Errorf("in colour: %q, want %q", colour, want)
	}
}

// FuzzRender: without colours, Render writes no character that the text does not hold.
func FuzzRender(f *testing.F) {
	for _, g := range All() {
		f.Add(g.Text, 60)
	}
	f.Add("| a |\n| b |", 1)
	f.Add("[a](b `c` **", 3)
	f.Add("\xcf`\x80`", 80)
	f.Fuzz(func(t *testing.T, text string, width int) {
		if width > 200 {
			return
		}
		held := map[rune]bool{utf8.RuneError: true}
		for _, r := range text + "\n |()skl help guide" {
			held[r] = true
		}
		for _, r := range Render(text, Screen{Width: width}) {
			if !held[r] {
				t.Fatalf("%q is not in %q", r, text)
			}
		}
	})
}
