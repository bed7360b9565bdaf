package graph_test

import (
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/graph"
)

// Whatever a tree says, a picture is well-formed XML without scripts, JSON parses, and no
// text leaves its label.
func FuzzFormats(f *testing.F) {
	f.Add("* a\n  * IF << x\n    * b\n  * ELSE\n    * END <b>\"\n", "## A << x\n\ntext\n")
	f.Add("* SWITCH << x\n  * CASE << \"]\n    * A\n  * DEFAULT\n* PARALLEL\n  * **A** << `y`\n  * z\n", "# A\n\n* A\n  * A\n")
	f.Add("```\n├── FOR_EACH << x in y\n│   ├── BREAK\n│   └── ASK << q | a\n│       └── a — go\n```\n", "")
	f.Fuzz(func(t *testing.T, nodes, ops string) {
		if len(nodes)+len(ops) > 1<<14 {
			return
		}
		s := tryParse(nodes, ops)
		if s == nil {
			return
		}
		checkFormats(t, s, graph.Options{Ops: true})
		checkFormats(t, s, graph.Options{Depth: 1})
	})
}

func tryParse(nodes, ops string) *tree.Skill {
	s, err := tree.Load(fstest.MapFS{
		"SKILL.md":          {Data: []byte("---\nname: demo\ndescription: Shows.\n---\n\n## Tree\n\n" + nodes)},
		"references/ops.md": {Data: []byte(ops)},
	}, "")
	if err != nil {
		return nil
	}
	return s
}
