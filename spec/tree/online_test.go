package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/tree"
)

// outline writes nodes in one line: kinds, with those below in brackets.
func outline(nodes []*tree.Node) string {
	var parts []string
	for _, n := range nodes {
		s := n.Kind.String()
		if n.Kind == tree.Prose {
			s = n.Text
		}
		if len(n.Children) > 0 {
			s += "[" + outline(n.Children) + "]"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

// A step on the line of its branch is read as one on a line of its own. Where the step that follows may have slipped out of the branch, it
// is an error, and else a warning or nothing.
func TestOnLine(t *testing.T) {
	for _, tt := range []struct{ text, want, finding string }{
		{"* IF << a → b\n", "IF[b]", "warning"},
		{"* IF a → PUSH << x\n", "IF[call]", "warning"},
		{"* IF << a — bind x = 1\n* ELSE_IF << c → d\n* ELSE print e\n", "IF[bind] ELSE_IF[d] ELSE[print e]", "warning warning"},
		{"* IF << a — b\n* c\n", "IF[b] c", "error"},
		{"* IF a → b\n* c\n", "IF[b] c", "error"},
		{"* IF << a — b → c\n", "IF[c]", "error"},
		{"* IF a — b\n", "IF a — b", ""}, // no step at all, which lint says
		{"* IF << \"a → b\" is there\n", "IF", ""},
		{"* IF << a → b\n  * c\n", "IF[c]", ""},
		{"* IF << a → b ← why b\n", "IF[b]", "warning"},
		{"* ELSE — b ← why b\n", "ELSE[b]", ""},
		{"* ELSE — IF << a → b ← why b\n", "ELSE[IF[b]]", "warning"},
		{"* ASK << Go? | Yes | No\n  * Yes — b ← why b\n  * No: c ← why c\n    * d\n", "ASK[Yes[b] No[c d]]", ""},
		{"* ELSE — IF << a → b\n", "ELSE[IF[b]]", "warning"},
		{"* SWITCH << a\n  * CASE << \"x\" → PUSH\n  * DEFAULT — END no\n", "SWITCH[CASE[call] DEFAULT[END]]", "warning"},
		{"* ASK << Go? | Yes | Yes, later | No\n  * Yes, later — PUSH << x\n  * `Yes`: bind y = 1\n    * then\n  * No way\n", "ASK[Yes, later[call] `Yes`[bind then] No way]", ""},
	} {
		got, findings := tree.ParseTree(tt.text, "SKILL.md", 1, "demo", nil)
		var severities []string
		for _, f := range findings {
			severities = append(severities, string(f.Severity))
		}
		if s, f := outline(got.Nodes), strings.Join(severities, " "); s != tt.want || f != tt.finding {
			t.Errorf("%q: got %s, %q\nwant %s, %q", tt.text, s, f, tt.want, tt.finding)
		}
		again, _ := tree.ParseTree(tree.Print(got), "SKILL.md", 1, "demo", nil)
		if !tree.Equal(got, again) {
			t.Errorf("%q is printed as %q", tt.text, tree.Print(got))
		}
		if !strings.Contains(tt.text, "IF a →") && tree.Print(got) != tt.text {
			t.Errorf("%q is printed as %q", tt.text, tree.Print(got))
		}
	}
}

// However many branches a line has, no more levels and nodes are read than from lines.
func TestOnLineLimits(t *testing.T) {
	for _, n := range []int{tree.MaxDepth, tree.MaxDepth + 1, 20_000} {
		got, findings := tree.ParseTree("* "+strings.Repeat("ELSE — ", n)+"end\n", "SKILL.md", 1, "demo", nil)
		depth := 0
		for nodes := got.Nodes; len(nodes) > 0; nodes = nodes[0].Children {
			depth++
		}
		if said := fmt.Sprint(findings); depth != tree.MaxDepth+1 || strings.Contains(said, "levels") != (n > tree.MaxDepth) {
			t.Errorf("%d: %d levels, %v", n, depth, findings)
		}
	}
}

func TestOption(t *testing.T) {
	got, _ := tree.ParseTree("* ASK << Go? | Yes | Yes, later | No\n  * Yes, later — wait\n  * Yes\n    * Go on\n", "SKILL.md", 1, "demo", nil)
	for option, want := range map[string]string{"yes": "Go on", `"Yes, later"`: "wait", "No": ""} {
		text := ""
		if n := got.Nodes[0].Option(option); n != nil {
			text = outline(n.Children)
		}
		if text != want {
			t.Errorf("%s: got %q, want %q", option, text, want)
		}
	}
}
