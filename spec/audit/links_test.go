package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/growth"
)

func TestLinked(t *testing.T) {
	files := []File{
		{Path: "SKILL.md", Data: []byte("# a\n")},
		{Path: "notes.txt", Data: []byte("curl https://a.example\n")},
		{Path: "docs/notes.txt", Data: []byte("curl https://b.example\n")},
		{Path: "docs/x.json", Data: []byte(`{"command": "gh"}`)},
		{Path: "lib/run.sh", Data: []byte("git push\n")},
	}
	for _, test := range []struct {
		links string // NAME→TARGET
		want  string // names and how they are read: ! otherwise, = the same way
		asks  string
	}{
		{"scripts/run.sh→../notes.txt", "scripts/run.sh!", "run:bash net:a.example run:curl"},
		{"scripts/run.sh→../lib/run.sh", "scripts/run.sh=", ""},
		{"a→docs scripts/run.sh→../a/notes.txt", "scripts/run.sh!", "net:b.example"}, // through a link
		{"a→b b→c c→notes.txt run.sh→a", "a= b= c= run.sh!", "net:a.example"},        // through several
		{"deep/a→../docs run.sh→deep/a/../notes.txt", "run.sh!", "net:a.example"},    // what .. is of is where the link leads
		{"hooks→docs", "hooks/notes.txt= hooks/x.json!", "run:gh"},                   // a folder that agents know
		{"elsewhere→docs", "", ""}, // one that they do not
		{"a→a b→c c→b out→../x/y abs→/etc/passwd none→nothing", "", ""},                                                                                          // in circles, out, and nowhere
		{"x.sh→notes.txt x.py→notes.txt x.json→notes.txt x.md→notes.txt x.js→notes.txt y.sh→notes.txt", "x.js! x.json! x.md! x.py! x.sh? y.sh?", "dynamic-exec"}, // too many
	} {
		links := map[string]string{}
		for _, l := range strings.Fields(test.links) {
			name, target, _ := strings.Cut(l, "→")
			links[name] = target
		}
		var got []string
		all := Linked(files, links)
		for _, f := range all[len(files):] {
			got = append(got, f.Path+map[Link]string{LinkRead: "!", LinkSame: "=", LinkUnread: "?"}[f.Link])
		}
		slices.Sort(got)
		if is := strings.Join(got, " "); is != test.want {
			t.Errorf("%s: %s, want %s", test.links, is, test.want)
		}
		set := Read(all).Set().Texts()
		for _, p := range strings.Fields(test.asks) {
			if !slices.Contains(set, p) {
				t.Errorf("%s: %v without %s", test.links, set, p)
			}
		}
	}
}

// TestLinkedLinear holds that links do not multiply the work: a release of thousands to one long file reads it a few times.
func TestLinkedLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: measures time")
	}
	long := File{Path: "hooks.d/a.txt", Data: []byte(strings.Repeat("curl https://a.example/x\n", 2000))}
	small, large := growth.Times(500, 8, 16, time.Millisecond, func(n int) {
		links := map[string]string{}
		for i := range n {
			links[fmt.Sprintf("d%d/run.sh", i)] = "../hooks.d/a.txt"
			links[fmt.Sprintf("e%d/hooks", i)] = "../hooks.d"
			links[fmt.Sprintf("chain%d", i)] = fmt.Sprintf("chain%d", i+1)
		}
		Read(Linked([]File{long}, links))
	})
	if large > 16*small {
		t.Errorf("500 of each take %v, 4000 take %v", small, large)
	}
}
