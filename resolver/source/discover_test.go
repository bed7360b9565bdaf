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
		dirs, passed := Discover(files, named)
		for _, d := range dirs {
			got = append(got, fmt.Sprintf("%d:%s", d.Rank, d.Path))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
		slices.Reverse(files)
		if again, also := Discover(files, named); len(again) != len(got) || len(also) != len(passed) {
			t.Errorf("%s: the order of the files matters", name)
		}
	}
}

func TestPassedOver(t *testing.T) {
	for name, tt := range map[string]struct{ files, want string }{
		"below a skill":       {"skills/a/SKILL.md skills/a/b/c/SKILL.md", "skills/a/b/c/SKILL.md: below the skill skills/a"},
		"but not of the root": {"SKILL.md skills/a/SKILL.md", ""},
		"in another case":     {"skills/a/skill.md skills/b/Skill.MD", "skills/a/skill.md: a skill's file is called SKILL.md; skills/b/Skill.MD: a skill's file is called SKILL.md"},
		"too deep":            {"a/b/c/d/e/f/g/h/i/SKILL.md", "a/b/c/d/e/f/g/h/i/SKILL.md: deeper than 8 directories"},
		"vendored":            {"x/node_modules/b/SKILL.md", "x/node_modules/b/SKILL.md: in node_modules"},
	} {
		dirs, passed := Discover(strings.Fields(tt.files), nil)
		var got []string
		for _, p := range passed {
			got = append(got, p.Path+": "+p.Reason)
		}
		if strings.Join(got, "; ") != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if files := strings.Fields(tt.files); len(dirs)+len(passed) != len(files) {
			t.Errorf("%s: of %d files, %d are skills and %d passed over", name, len(files), len(dirs), len(passed))
		}
	}
	var many []string
	for i := range MaxSkills + 2 {
		many = append(many, fmt.Sprintf("skills/%05d/SKILL.md", i))
	}
	if dirs, passed := Discover(many, nil); len(dirs) != MaxSkills || len(passed) != 2 {
		t.Errorf("of %d skills %d are found and %d passed over", len(many), len(dirs), len(passed))
	}
}
