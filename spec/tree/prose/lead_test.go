package prose_test

import (
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/tree/prose"
)

// A paragraph right above the steps that says when, how often or for what they are done is above them in the tree too.
func TestLeadIn(t *testing.T) {
	for _, test := range []struct{ name, steps, want string }{
		{"a condition", "If the cause is outside:\n\n1. note it.\n2. stop.\n", "* IF << the cause is outside\n  * note it.\n  * END\n"},
		{"a loop", "For each task:\n1. mark it.\n2. do it.\n", "* FOR_EACH << task in every task\n  * mark it.\n  * do it.\n"},
		{"a moment", "After all tasks are complete:\n- say so.\n- go.\n", "* After all tasks are complete:\n  * say so.\n  * go.\n"},
		{"a label", "**BLOCKED:** The task cannot be done. Assess the blocker:\n1. ask.\n2. wait.\n",
			"* **BLOCKED:** The task cannot be done. Assess the blocker:\n  * ask.\n  * wait.\n"},
		{"several lines", "If the cause\nis outside:\n\n1. note it.\n2. go.\n", "* IF << the cause is outside\n  * note it.\n  * go.\n"},
		{"a statement", "Auto-repair will fix:\n\n- missing marks\n- wrong numbers\n", "* Auto-repair will fix:\n  * missing marks\n  * wrong numbers\n"},
		{"an announcement", "Do the following steps:\n\n1. note it.\n2. go.\n", "* note it.\n* go.\n"},
		{"a conditional announcement", "If it is red, follow these steps:\n\n1. note it.\n2. go.\n", "* IF << it is red\n  * follow these steps:\n  * note it.\n  * go.\n"},
		{"no colon", "If it is red, note it.\n\n1. look.\n2. go.\n", "* look.\n* go.\n"},
		{"a heading in the list", "1. Look.\n2. **If it fails**\n   - STOP\n   - count.\n3. Go.\n", "* Look.\n* IF << it fails\n  * do STOP\n  * count.\n* Go.\n"},
	} {
		if got, _ := treeOf(t, test.steps); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// The list of a section that is for one case is under that case, and another list is taken first.
func TestConditionalHeading(t *testing.T) {
	const list = "## If the build is red\n\n1. read the log.\n2. mend it.\n"
	for _, test := range []struct{ name, body, want string }{
		{"alone", list, "* IF << the build is red\n  * read the log.\n  * mend it.\n"},
		{"beside another", list + "\n## Work\n\n- look.\n- go.\n", "* look.\n* go.\n"},
	} {
		src, _, err := prose.FromProse([]byte(head+test.body+"\n## Rules\n\n- r\n\n## Response: x\n"), "")
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(src), "* demo\n")
		got, _, _ = strings.Cut(got, "\n## ")
		if got = strings.ReplaceAll(strings.TrimPrefix(got, "  "), "\n  ", "\n"); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}
