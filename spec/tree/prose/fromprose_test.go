package prose_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/prose"
)

const head = "---\nname: demo\ndescription: Does it.\n---\n\n"

func TestFromProseNodes(t *testing.T) {
	for _, test := range []struct{ name, list, want string }{
		{"flat", "1. one thing\n2. another thing\n", "* one thing\n* another thing\n"},
		{"nested detail", "1. look:\n   - here\n   - there\n2. go on\n", "* look:\n  * here\n  * there\n* go on\n"},
		{"lines that continue", "1. one\n   thing\nand more\n2. two\n", "* one thing and more\n* two\n"},
		{"condition", "1. If the file is there: read it\n2. Otherwise: write it\n3. done\n",
			"* IF << the file is there\n  * read it\n* ELSE\n  * write it\n* done\n"},
		{"condition with steps", "1. If x:\n   1. one\n   2. two\n2. Otherwise, if y:\n   1. three\n3. Otherwise:\n   1. four\n",
			"* IF << x\n  * one\n  * two\n* ELSE_IF << y\n  * three\n* ELSE\n  * four\n"},
		{"comma", "1. If it fails, stop.\n2. go on\n", "* IF << it fails\n  * END\n* go on\n"},
		{"both in one item", "1. If x: do a. Otherwise: do b.\n2. c\n", "* IF << x\n  * do a.\n* ELSE\n  * do b.\n* c\n"},
		{"a lone otherwise is prose", "1. start\n2. Otherwise: write it\n", "* start\n* Otherwise: write it\n"},
		{"question", "1. Ask the user: \"Go where?\" (Up / Down)\n2. end it\n", "* ASK << Go where? | Up | Down\n* then end it\n"},
		{"question that would stop", "1. Ask the user: \"Go on?\" (Yes / No)\n2. look\n", "* Ask the user: \"Go on?\" (Yes / No)\n* look\n"},
		{"question with a list", "1. Ask which one?\n   - red\n   - blue\n2. x\n", "* ASK << which one? | red | blue\n* x\n"},
		{"what follows a question stays", "1. Ask \"Go?\" (Yes / No). If the answer is \"No\", stop.\n2. x\n", "* ASK << Go? | Yes | No\n* IF << user chose No\n  * END\n* x\n"},
		{"loop", "1. For each `f` in files:\n   1. read it\n2. x\n", "* FOR_EACH << f in the files\n  * read it\n* x\n"},
		{"plan", "1. Show the plan before anything is changed: a, b.\n2. x\n", "* SHOW_PLAN >> a | b\n* x\n"},
		{"result", "1. count; keep the result as `a` and `b`\n2. x\n", "* count >> a | b\n* x\n"},
		{"words of the language", "1. END the call\n2. DEPLOY\n3. **PUSH**\n4. cat << EOF\n", "* then end the call\n* do DEPLOY\n* do PUSH\n* cat < < EOF\n"},
		{"checks", "- [ ] one\n- [x] two\n", "* one\n* two\n"},
		{"check of the result", "1. x\n2. Check the result against every item of `assets/verify/v.md`, and report the items that fail.\n", "* x\n* VERIFY_EXPECTED << assets/verify/v.md\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			src, _, err := prose.FromProse([]byte(head+"## Steps\n\n"+test.list+"\n## Rules\n\n- r\n\n## Response: x\n"), "")
			if err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(string(src), "## Tree\n\n")
			got, _, _ = strings.Cut(got, "\n## Rules")
			want := "* demo\n  " + strings.TrimSuffix(strings.ReplaceAll(test.want, "\n", "\n  "), "  ")
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if test.name == "check of the result" {
				return // its file is not there
			}
			for _, e := range checkErrors(t, src) {
				t.Errorf("%s\n%s", e, src)
			}
		})
	}
}

func TestFromProseFile(t *testing.T) {
	src, losses, err := prose.FromProse([]byte("---\nname: demo\ndescription: Does it.\ncompatibility: Needs git\n---\n# Demo\n\nSome text.\n\n## How to use it\n\nFirst read this.\n\n1. run:\n   ```sh\n   make\n   ```\n2. look\n\nThat was it.\n\n## More\n\n- a\n- b\n"), "demo")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/fromprose.md.golden", string(src)+"\n----\n"+strings.Join(losses, "\n")+"\n")
	s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: src}}, "demo")
	if err != nil || s.Tree == nil || s.Tree.Label == nil || len(s.Tree.Nodes) != 2 || s.Guard == nil || len(s.Findings) > 0 {
		t.Errorf("%v %+v", err, s)
	}
}

func TestFromProseErrors(t *testing.T) {
	for _, test := range []struct{ name, src, code string }{
		{"no skill", "text", "E_NO_DESCRIPTION"},
		{"no list", head + "text\n", prose.CodeNoSteps},
		{"a list in code", head + "```\n1. a\n2. b\n```\n", prose.CodeNoSteps},
		{"rules are no steps", head + "## Rules\n\n1. a\n2. b\n", prose.CodeNoSteps},
		{"safety rules are no steps", head + "## Safety Rules\n\n1. a\n2. b\n", prose.CodeNoSteps},
		{"constraints are no steps", head + "## Constraints\n\n- a\n- b\n", prose.CodeNoSteps},
		{"guidelines are no steps", head + "## Code Guidelines\n\n- a\n- b\n", prose.CodeNoSteps},
		{"principles are no steps", head + "## Core Principles\n\n- a\n- b\n", prose.CodeNoSteps},
		{"red flags are no steps", head + "## Red Flags\n\n- a\n- b\n", prose.CodeNoSteps},
		{"prohibitions are no steps", head + "## Safety\n\n1. Never restart it.\n2. **Do not** delete it.\n3. Ask first.\n", prose.CodeNoSteps},
		{"a tree", head + "## Tree\n\n* a\n* b\n", prose.CodeHasTree},
	} {
		t.Run(test.name, func(t *testing.T) {
			src, losses, err := prose.FromProse([]byte(test.src), "")
			if !errors.Is(err, diag.Code(test.code)) || src != nil || losses != nil {
				t.Errorf("%q %v %v", src, losses, err)
			}
		})
	}
}

// Prose that converts becomes a skill with a tree, and converts back to one without.
func FuzzFromProse(f *testing.F) {
	f.Add("## Steps\n\n1. If x: y\n2. Otherwise:\n   - z\n3. Ask a? (b / c)\n")
	f.Add("- a << b\n- `c`\n  > q\n\n```\nx\n```\n* d\r\n")
	f.Add("# x\n1) END\n\t2) IF\n\n---\n")
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > 1<<14 {
			return
		}
		src, _, err := prose.FromProse([]byte(head+body), "demo")
		if err != nil {
			return
		}
		s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: src}}, "demo")
		if err != nil {
			if strings.Contains(err.Error(), "UTF-8") {
				return
			}
			t.Fatalf("%v\n%q", err, src)
		}
		if s.Tree == nil || len(s.Tree.Nodes) == 0 {
			t.Fatalf("no tree in %q", src)
		}
		back, _, err := prose.Convert(s)
		if err != nil {
			return
		}
		if s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: back}}, "demo"); err != nil || s.Tree != nil {
			t.Fatalf("%v, or a tree in %q", err, back)
		}
	})
}

// A tree of any text converts to a skill without a tree, or to an error.
func FuzzConvert(f *testing.F) {
	f.Add("* IF << x\n  * OP\n* ELSE\n  * ASK << a | No\n", "## OP\n\n* OP\n  * OP\n")
	f.Add("```\n├── SWITCH << x\n│   └── CASE << y\n└── **OP** << 1 >> z\n```\n## Tree\n* b\n", "# OP << a\n\n```\n## Tree\n")
	f.Fuzz(func(t *testing.T, nodes, ops string) {
		if len(nodes)+len(ops) > 1<<14 {
			return
		}
		s, err := tree.Load(fstest.MapFS{
			"SKILL.md":          {Data: []byte(head + "## Tree\n\n" + nodes)},
			"references/ops.md": {Data: []byte(ops)},
		}, "demo")
		if err != nil {
			return
		}
		src, losses, err := prose.Convert(s)
		if err != nil {
			return
		}
		after, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: src}}, "demo")
		if err != nil || after.Tree != nil {
			t.Fatalf("%v, or a tree in %q", err, src)
		}
		for _, l := range losses {
			if strings.ContainsAny(l, "\n\x1b") {
				t.Fatalf("loss %q", l)
			}
		}
	})
}

// Numbered headings, each with a list, are one tree. Where one has none, the list that was found is the tree.
func TestFromProsePhases(t *testing.T) {
	const rest = "## Rules\n\n- r\n\n## Response: x\n"
	for _, test := range []struct{ name, body, want string }{
		{"all have lists", "# Demo\n\n## Phase 1: Look\n\n- see\n- If it is red, stop.\n\n## Phase 2: Act\n\nCarefully.\n\n1. do\n2. check\n\n```\nx\n```\n\n",
			"# Demo\n\n## Tree\n\n* demo\n  * Phase 1: Look\n    * see\n    * IF << it is red\n      * END\n  * Phase 2: Act\n    * do\n    * check\n\n## Phase 2: Act\n\nCarefully.\n\n\n```\nx\n```\n\n"},
		{"deeper headings", "## Workflow\n\n### Step 1: Look\n\n- see\n- say\n\n### Step 2: Act\n\n- do\n\n", "## Workflow\n\n## Tree\n\n* demo\n  * Step 1: Look\n    * see\n    * say\n  * Step 2: Act\n    * do\n\n"},
		{"one has none", "## Phase 1: Look\n\n- see\n- say\n\n## Phase 2: Act\n\nDo it.\n\n", "## Tree\n\n* demo\n  * Phase 1: Look\n    * see\n    * say\n  * Phase 2: Act\n    * Do it.\n\n"},
		{"none has, and a list of rules", "## Workflow\n\n### Phase 1: Look\n\nRead the log\nof the server.\n\nList all errors.\n\n### Phase 2: Mend\n\nWrite a patch.\n\n## Safety Rules\n\n1. Stay here.\n2. Be quick.\n\n",
			"## Workflow\n\n## Tree\n\n* demo\n  * Phase 1: Look\n    * Read the log of the server.\n    * List all errors.\n  * Phase 2: Mend\n    * Write a patch.\n\n## Safety Rules\n\n1. Stay here.\n2. Be quick.\n\n"},
		{"deeper lists", "## Phase 1: Look\n\n- see\n- say\n\n## Phase 2: Act\n\nDo it.\n\n### Now\n\n- a\n\n", "## Tree\n\n* demo\n  * Phase 1: Look\n    * see\n    * say\n  * Phase 2: Act\n\n## Phase 2: Act\n\nDo it.\n\n### Now\n\n- a\n\n"},
		{"the steps are elsewhere", "## Steps\n\n1. a\n2. b\n\n## Phase 1\n\n- c\n\n## Phase 2\n\n- d\n\n", "## Tree\n\n* demo\n  * a\n  * b\n\n## Phase 1\n\n- c\n\n## Phase 2\n\n- d\n\n"},
	} {
		src, _, err := prose.FromProse([]byte(head+test.body+rest), "")
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(src), "what its steps mean.\n\n")
		if got != test.want+rest {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want+rest)
		}
		for _, e := range checkErrors(t, src) {
			if !strings.Contains(e, "S04") {
				t.Errorf("%s: %s\n%s", test.name, e, src)
			}
		}
	}
}
