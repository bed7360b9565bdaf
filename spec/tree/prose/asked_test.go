package prose_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/prose"
)

// Questions and loops are nodes only where what is asked, of whom, and what the loop is over are certain.
func TestQuestionsAndLoops(t *testing.T) {
	for _, test := range []struct{ item, want string }{
		{"Ask the user which region to use.", "* ASK << Which region to use?"},
		{"Ask the user for approval before anything is deleted", ""},
		{"Ask for confirmation", ""},
		{"Ask the user for the project's name", "* ASK << The project's name?"},
		{"Ask the user: \"Red or blue?\" (Red / Blue)", "* ASK << Red or blue? | Red | Blue"},
		{"Ask the user: \"Go on?\" (Yes / No)", ""},
		{"Ask the user: \"Go on?\" (Go on / Cancel)", ""},
		{"Ask the user: \"Add tests?\" Options: yes, no.", ""},
		{"Ask the user: \"Go on?\" (Yes / No). If the answer is \"No\", stop.", "* ASK << Go on? | Yes | No\n  * IF << user chose No\n    * END"},
		{"Ask the user which one to take if there are several", ""},
		{"Ask the user whether to go on, then go on", ""},
		{"Ask the user for the name and write it down", ""},
		{"Ask the user for a file or suggest one", ""},
		{"Ask yourself: is this needed?", ""},
		{"Ask a colleague which one is right", ""},
		{"Ask the user: \"Which one?\" if that is not clear", ""},
		{"Ask for each setting", ""},
		{"For each changed file: read it", "* FOR_EACH << file in every changed file\n    * read it"},
		{"For every test that fails, fix it.", "* FOR_EACH << test in every test that fails\n    * fix it."},
		{"For each, read it", ""},
		{"For each file, its tests and its docs, check the links", ""},
		{"For each issue found and each reviewer, report it", ""},
	} {
		src, losses, err := prose.FromProse([]byte(head+"## Steps\n\n1. "+test.item+"\n2. last\n"), "")
		if err != nil {
			t.Fatal(err)
		}
		want := test.want
		if want == "" {
			want = "* " + test.item
		}
		_, got, _ := strings.Cut(string(src), "* demo\n")
		if got, _, _ = strings.Cut(got, "  * last\n"); got != "  "+want+"\n" {
			t.Errorf("%q is\n%s", test.item, got)
		}
		if strings.HasPrefix(want, "* ASK") && !strings.Contains(strings.Join(losses, "\n"), test.item) {
			t.Errorf("%q is asked in other words, and no remark has it: %q", test.item, losses)
		}
	}
}

// A question that offers to stop goes to a tree and back without a word about what a negative answer does, unless the text has one.
func TestQuestionsBack(t *testing.T) {
	for _, step := range []string{
		"Ask the user: \"Add tests?\" Options: yes, no.",
		"Ask for approval before you push.",
		"Ask the user: \"Go on?\" (Yes / Cancel). If the answer is \"Cancel\": Stop.",
	} {
		src, _, err := prose.FromProse([]byte(head+"## Steps\n\n1. "+step+"\n2. Write the code in any case.\n"), "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: src}}, "demo")
		if err != nil {
			t.Fatal(err)
		}
		back, _, err := prose.Convert(s)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(back)), "stop") != strings.Contains(step, "Stop") || !strings.Contains(string(back), step[:20]) {
			t.Errorf("%q is, there and back,\n%s", step, back)
		}
	}
}
