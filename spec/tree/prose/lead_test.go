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

// Work that ends in a case ends the run there: the step alone would be done, and those behind it too.
func TestStops(t *testing.T) {
	for _, test := range []struct{ step, want string }{
		{"If it is red, stop.", "* IF << it is red\n  * END\n* Go.\n"},
		{"If it is red, stop at once.", "* IF << it is red\n  * END stop at once.\n* Go.\n"},
		{"If it is red, stop and tell the owner.", "* IF << it is red\n  * END stop and tell the owner.\n* Go.\n"},
		{"If it is red: STOP and report to the user", "* IF << it is red\n  * END STOP and report to the user\n* Go.\n"},
		{"If it is red: stop. Do not print it.", "* IF << it is red\n  * END stop. Do not print it.\n* Go.\n"},
		{"If it is red, exit with an error message.", "* IF << it is red\n  * END exit with an error message.\n* Go.\n"},
		{"If it is red, tell the user and stop.", "* IF << it is red\n  * tell the user and stop.\n  * END\n* Go.\n"},
		{"If it is red, stop: nothing was changed before it.", "* IF << it is red\n  * END nothing was changed before it.\n* Go.\n"},
		{"If it is red, stop and wait for the user.", "* IF << it is red\n  * stop and wait for the user.\n* Go.\n"},
		{"If it is red, stop the server.", "* IF << it is red\n  * stop the server.\n* Go.\n"},
		{"If it is red, stop and fix it before continuing.", "* IF << it is red\n  * stop and fix it before continuing.\n* Go.\n"},
		{"Stop and tell the owner.", "* Stop and tell the owner.\n* Go.\n"},
	} {
		got, losses := treeOf(t, "1. "+test.step+"\n2. Go.\n")
		if got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.step, got, test.want)
		}
		ends := strings.Contains(got, "END") || strings.Contains(test.step, "server")
		if told := strings.Contains(strings.Join(losses, "\n"), "a step of text ends no run"); told == ends && !strings.Contains(test.step, "server") {
			t.Errorf("%s: losses %q", test.step, losses)
		}
	}
}

// A condition on what something says ends at the colon before its steps, if there is no other.
func TestSpoken(t *testing.T) {
	for _, test := range []struct{ steps, want string }{
		{"1. If the log says it is still in progress:\n   1. fetch it.\n2. Go.\n", "* IF << the log says it is still in progress\n  * fetch it.\n* Go.\n"},
		{"1. If the log says error: disk full:\n   1. fetch it.\n2. Go.\n", "* If the log says error: disk full:\n  * fetch it.\n* Go.\n"},
		{"1. If the log says so, or not:\n   1. fetch it.\n2. Go.\n", "* If the log says so, or not:\n  * fetch it.\n* Go.\n"},
	} {
		if got, _ := treeOf(t, test.steps); got != test.want {
			t.Errorf("got\n%s\nwant\n%s", got, test.want)
		}
	}
}

// A paragraph behind the steps of a loop or condition may be for every case: nothing is cut there.
func TestBehindTheList(t *testing.T) {
	for _, test := range []struct{ steps, want string }{
		{"1. For each target in the list:\n   - compile it\n   - strip it\n\n   Once all are built, publish.\n2. Go.\n", "* For each target in the list:\n  * compile it\n  * strip it\n  * Once all are built, publish.\n* Go.\n"},
		{"1. If the disk is full:\n   - delete the cache\n\n   In any case, tell the user.\n2. Go.\n", "* If the disk is full:\n  * delete the cache\n  * In any case, tell the user.\n* Go.\n"},
		{"1. If it is private, read the token.\n 2. If it is public, read it.\n3. Go.\n", "* IF << it is private\n  * read the token.\n* IF << it is public\n  * read it.\n* Go.\n"},
		{"- If the build fails, note it.\n - Tell the user.\n- Go.\n", "* IF << the build fails\n  * note it.\n* Tell the user.\n* Go.\n"},
	} {
		if got, _ := treeOf(t, test.steps); got != test.want {
			t.Errorf("got\n%s\nwant\n%s", got, test.want)
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
