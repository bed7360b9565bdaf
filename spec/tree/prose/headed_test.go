package prose

import (
	"strings"
	"testing"
)

// TestBoldSteps makes steps of paragraphs that are numbered in bold, where one section has them and speaks of steps.
func TestBoldSteps(t *testing.T) {
	const head = "---\nname: s\ndescription: Does s. Use when asked for s.\n---\n\n# S\n\n"
	const steps = "**Step 1: Check that it is there.**\n\n```bash\nls s\n```\n\n**Step 2:** Read the file\nof the user, whole.\n\n**Step 3 - Write it** (for the user):\n\n- to `out.md`\n- and to the log\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"steps": {"## Workflow\n\n" + steps, []string{"  * Step 1: Check that it is there.", "    * Do what `references/step-1-check-that-it-is-there.md` says", "  * Step 2: Read the file of the user, whole.", "  * Step 3: Write it (for the user):", "    * to `out.md`"}},
		"numbers alone": {"## Execution\n\n" + strings.NewReplacer("**Step 1: ", "**1. ", "**Step 2:**", "**2.**", "**Step 3 - ", "**3. ").Replace(steps),
			[]string{"  * Check that it is there.", "  * Read the file of the user, whole.", "  * Write it (for the user):"}},
		"one of several": {"## A workflow\n\n" + steps + "\n## Another workflow\n\n" + steps, nil},
		"an example":     {"## Examples of work\n\n" + steps, nil},
		"not in order":   {"## Workflow\n\n" + strings.Replace(steps, "Step 2", "Step 4", 1), nil},
		"a technique":    {"## Self-consistency\n\n" + steps, nil},
	} {
		conv, err := ToTree([]byte(head+c.text), "s", written{"SKILL.md": []byte(head + c.text)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, tree, _ := strings.Cut(string(conv.Source), "## Tree\n")
		tree, _, _ = strings.Cut(tree, "\n#")
		for _, want := range c.want {
			if !strings.Contains(tree, "\n"+want+"\n") {
				t.Errorf("%s: there is no %q in%s", name, want, tree)
			}
		}
		if c.want == nil && !strings.Contains(tree, "Do what `references/instructions.md` says, for $ARGUMENTS") {
			t.Errorf("%s: the tree is%s", name, tree)
		}
		for _, l := range conv.Losses {
			if strings.Contains(l, "SKILL.md:") && strings.Contains(l, "names a step by its number") {
				t.Errorf("%s: %s", name, l)
			}
		}
	}
	// numbered headings of two sections: the steps are those below the one that says so
	text := head + "## Execution steps\n\n### 1. Analysis\n\nLook at all.\n\n### 2. Design\n\nDraw it.\n\n### 3. State\n\nMove it.\n\n## Pitfalls of it\n\n### 1. Too much\n\nIt is.\n\n### 2. Too close\n\nIt was.\n\n### 3. Too far\n\nIt will be.\n"
	conv, err := ToTree([]byte(text), "s", written{"SKILL.md": []byte(text)})
	if err != nil || !strings.Contains(string(conv.Source), "\n  * Analysis\n    * Look at all.\n  * Design\n    * Draw it.\n  * State\n") {
		t.Errorf("%s, %v", conv.Source, err)
	}
}
