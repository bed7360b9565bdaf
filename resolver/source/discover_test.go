package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDiscover(t *testing.T) {
	for name, tt := range map[string]struct{ files, named, want string }{
		"ranks":                                 {".claude/skills/e tools/d plugins/p/skills/c skills/b tests/f", "", "1:skills/b 2:plugins/p/skills/c 3:tools/d 4:.claude/skills/e 5:tests/f"},
		"the root beside skills":                {". skills/a", "", "0: 1:skills/a"},
		"nothing below a skill":                 {"skills/a skills/a/nested skills/a/x/y", "", "1:skills/a"},
		"groups":                                {"skills/g/a skills/g/h/b", "", "1:skills/g/a 1:skills/g/h/b"},
		"a plugin names its skills":             {"elsewhere/x tests/y", "elsewhere/x tests/y", "2:elsewhere/x 2:tests/y"},
		"a skill may be called like a test":     {"skills/testing skills/tests tools/templates", "", "1:skills/testing 1:skills/tests 3:tools/templates"},
		"never in .git, node_modules, too deep": {".git/a node_modules/b a/b/c/d/e/f/g/h/i", "", ""},
	} {
		var files []string
		for f := range strings.FieldsSeq(tt.files) {
			files = append(files, strings.TrimPrefix(f+"/SKILL.md", "./"))
		}
		named := map[string]bool{}
		for n := range strings.FieldsSeq(tt.named) {
			named[n] = true
		}
		var got []string
		for _, d := range Discover(files, named) {
			got = append(got, fmt.Sprintf("%d:%s", d.Rank, d.Path))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
		slices.Reverse(files)
		if again := Discover(files, named); len(again) != len(got) {
			t.Errorf("%s: the order of the files matters", name)
		}
	}
}
