package prose_test

import (
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/tree/prose"
)

// Questions and loops are nodes only where what is asked, of whom, and what the loop is over are certain.
func TestQuestionsAndLoops(t *testing.T) {
	for _, test := range []struct{ item, want string }{
		{"Ask the user which region to use.", "* ASK << Which region to use?"},
		{"Ask the user for approval before anything is deleted", "* ASK << Approval before anything is deleted? | Yes | No"},
		{"Ask for confirmation", "* ASK << Confirmation? | Yes | No"},
		{"Ask the user for the project's name", "* ASK << The project's name?"},
		{"Ask the user: \"Go on?\" (Yes / No)", "* ASK << Go on? | Yes | No"},
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
