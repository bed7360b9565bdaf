package prose_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/prose"
)

// treeOf is the tree that a section of steps becomes, without its label.
func treeOf(t *testing.T, steps string) (got string, losses []string) {
	t.Helper()
	src, losses, err := prose.FromProse([]byte(head+"## Steps\n\n"+steps+"\n## Rules\n\n- r\n\n## Response: x\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ = strings.Cut(string(src), "* demo\n")
	got, _, _ = strings.Cut(got, "\n## ")
	return strings.ReplaceAll(strings.TrimPrefix(got, "  "), "\n  ", "\n"), losses
}

// The other branch of a condition is an ELSE where its end is certain, and else the whole item is text. It is never a step of the IF.
func TestOtherBranches(t *testing.T) {
	for _, test := range []struct{ name, steps, want string }{
		{"a paragraph between lists", "1. If the branch is clean:\n   - push it.\n\n   Otherwise:\n   - delete the branch.\n2. Report.\n",
			"* IF << the branch is clean\n  * push it.\n* ELSE\n  * delete the branch.\n* Report.\n"},
		{"a line between lists", "1. If Y:\n   1. do d.\n   2. do e.\n   Otherwise:\n   1. do f.\n2. Report.\n",
			"* IF << Y\n  * do d.\n  * do e.\n* ELSE\n  * do f.\n* Report.\n"},
		{"a paragraph at the end", "1. If it is red:\n   1. do i.\n\n   Else, do j.\n2. Report.\n",
			"* IF << it is red\n  * do i.\n* ELSE\n  * do j.\n* Report.\n"},
		{"if not", "1. If it is red:\n   - do i.\n\n   If not:\n   - do j.\n2. Report.\n",
			"* IF << it is red\n  * do i.\n* ELSE\n  * do j.\n* Report.\n"},
		{"three branches", "1. If it is red:\n   - do i.\n\n   Otherwise, if it is blue:\n   - do j.\n\n   **Otherwise:**\n   - do k.\n",
			"* IF << it is red\n  * do i.\n* ELSE_IF << it is blue\n  * do j.\n* ELSE\n  * do k.\n"},
		{"text behind the branches", "1. If it is red:\n   - do i.\n\n   Otherwise:\n   - do j.\n\n   Then tell the user.\n2. Report.\n",
			"* If it is red:\n  * do i.\n  * Otherwise:\n    * do j.\n  * Then tell the user.\n* Report.\n"},
		{"the end of a nested item", "1. If it is red:\n   - do i. Otherwise:\n   - do j.\n2. Report.\n",
			"* If it is red:\n  * do i. Otherwise:\n  * do j.\n* Report.\n"},
		{"a nested item says it", "1. If it is red:\n   - do i.\n   - Alternatively, do j.\n2. Report.\n",
			"* If it is red:\n  * do i.\n  * Alternatively, do j.\n* Report.\n"},
		{"an item whose branch is elsewhere", "1. If it is red: do i.\n2. Otherwise:\n3. do j.\n",
			"* If it is red: do i.\n* Otherwise:\n* do j.\n"},
		{"a condition that cannot be cut", "1. If it is red: do i.\n2. Otherwise, if it is, do j.\n3. Report.\n",
			"* If it is red: do i.\n* Otherwise, if it is, do j.\n* Report.\n"},
		{"a third case", "1. If it is red: do i.\n2. If neither, do j.\n3. Report.\n",
			"* If it is red: do i.\n* If neither, do j.\n* Report.\n"},
		{"sentences", "1. If Z is set, use g. If not, use h.\n2. Report.\n", "* IF << Z is set\n  * use g.\n* ELSE\n  * use h.\n* Report.\n"},
		{"a paragraph outside of the list", "1. Look.\n2. If it is red:\n   - do i.\n\nOtherwise:\n\n- do j.\n",
			"* Look.\n* IF << it is red\n  * do i.\n* ELSE\n  * do j.\n"},
		{"a list of the same kind behind it", "1. Look.\n2. If it is red:\n   - do i.\n\nOtherwise:\n\n1. do j.\n2. do k.\n",
			"* Look.\n* If it is red:\n  * do i.\n* Otherwise:\n* do j.\n* do k.\n"},
		{"two lists", "If it is red:\n\n1. do i.\n2. do j.\n\nOtherwise:\n\n1. do k.\n",
			"* IF << it is red\n  * do i.\n  * do j.\n* ELSE\n  * do k.\n"},
		{"a question of one branch", "1. If it is red:\n   - do nothing else.\n2. Report.\n", "* IF << it is red\n  * do nothing else.\n* Report.\n"},
		{"inner branches", "1. For each file in the list:\n   - If it is red: do i.\n   - Otherwise: do j.\n2. Report.\n",
			"* FOR_EACH << file in the list\n  * IF << it is red\n    * do i.\n  * ELSE\n    * do j.\n* Report.\n"},
		{"a paragraph of an item", "1. Look:\n   - here\n   - there\n\n   Note both.\n2. Report.\n", "* Look:\n  * here\n  * there\n  * Note both.\n* Report.\n"},
		{"a second paragraph", "1. Look.\n\n   Note it.\n2. Report.\n", "* Look. Note it.\n* Report.\n"},
	} {
		got, losses := treeOf(t, test.steps)
		if got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
		told := strings.Contains(strings.Join(losses, "\n"), "nobody can tell")
		if told != strings.Contains("\n"+got, "\n* If ") {
			t.Errorf("%s: losses %q", test.name, losses)
		}
	}
}

// Text that names a step by its number stays, and is a loss with its line, in both directions: the numbers change.
func TestNumbers(t *testing.T) {
	src := head + "Skip to step 12 if needed.\n\n## Steps\n\n1. If it is red: wait. Otherwise: go.\n2. Do the second thing.\n3. If it fails, go back to step 2.\n\n## Rules\n\n- Steps 2-3 are quick.\n\n## Response: x\n"
	out, losses, err := prose.FromProse([]byte(src), "")
	if err != nil {
		t.Fatal(err)
	}
	want := func(losses []string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !slices.ContainsFunc(losses, func(l string) bool {
				return strings.HasPrefix(l, "SKILL.md:"+line+": it names a step by its number")
			}) {
				t.Errorf("no loss names line %s: %q", line, losses)
			}
		}
	}
	want(losses, "6", "12", "16")
	s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: out}}, "demo")
	if err != nil {
		t.Fatal(err)
	}
	back, losses, err := prose.Convert(s)
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) string {
		return strconv.Itoa(1 + strings.Count(string(out[:strings.Index(string(out), text)]), "\n"))
	}
	want(losses, at("Skip to step 12"), at("go back to step 2"), at("Steps 2-3"))
	if !strings.Contains(string(back), "4. If it fails, go back to step 2.") {
		t.Errorf("the text is\n%s", back)
	}
}

// Text is kept as it stands, or a loss says how it changed.
func TestLiteral(t *testing.T) {
	for _, test := range []struct{ item, want, loss string }{
		{"[x] two", "two", "it is ticked"},
		{"[X] two", "two", "it is ticked"},
		{"[ ] two", "two", ""},
		{"cat << EOF", "cat < < EOF", "written apart"},
		{"`cat << EOF`", "`cat << EOF`", ""},
		{"If, after two tries, it fails, give up", "If, after two tries, it fails, give up", ""},
		{"Read `references/x.md` and run `scripts/y.sh`.", "Read `references/x.md` and run `scripts/y.sh`.", ""},
		{"`IF << code`", "`IF << code`", ""},
		{"\\* ELSE", "\\* ELSE", ""},
	} {
		src := []byte(head + "## Steps\n\n1. " + test.item + "\n2. last of all\n\n## Rules\n\n- r\n\n## Response: x\n")
		out, err := prose.ToTree(src, "demo", fstest.MapFS{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: out.Source}}, "demo")
		if err != nil {
			t.Fatal(err)
		}
		back, _, err := prose.Convert(s)
		if err != nil || !strings.Contains(string(back), "1. "+test.want+"\n") {
			t.Errorf("%q is, there and back, %v\n%s", test.item, err, back)
		}
		if got := strings.Join(out.Losses, "\n"); (got != "") != (test.loss != "") || !strings.Contains(got, test.loss) {
			t.Errorf("%q: losses %q", test.item, got)
		}
	}
}
