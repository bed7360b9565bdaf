package check_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// An op that three skills define alike is worth a skill of its own; two may share one, and another body is another op.
func TestShared(t *testing.T) {
	load := func(name, ops string) *tree.Skill {
		s, err := tree.Load(fstest.MapFS{
			"SKILL.md":          {Data: []byte("---\nname: " + name + "\ndescription: x\n---\n\n## Tree\n\n* SAY << \"a\"\n")},
			"references/ops.md": {Data: []byte(ops)},
		}, name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const list, box = "## SAY << what\n\n* SAY << what\n  * IF << what is empty\n    * END\n  * Say `what`\n", "## SAY << what\n\n```\nSAY << what\n├── IF << what is empty\n│   └── END\n└── Say `what`\n```\n"
	found := func(skills ...*tree.Skill) string {
		var out []string
		for i, fs := range check.Shared(skills) {
			for _, f := range fs {
				out = append(out, skills[i].Name+" "+f.File+" "+f.Rule+" "+f.Message)
			}
		}
		return strings.Join(out, "\n")
	}
	a, b, c := load("a", list), load("b", box), load("c", list)
	if got := found(a, b); got != "" {
		t.Errorf("two skills: %s", got)
	}
	want := "a references/ops.md CNP-O12 SAY is the same in 3 skills: a skill of its own could hold it for all"
	if got := found(a, b, c); strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, want) {
		t.Errorf("three skills: %s", got)
	}
	if got := found(a, b, load("d", "## SAY << what\n\nSay `what` twice.\n")); got != "" {
		t.Errorf("another body: %s", got)
	}
}
