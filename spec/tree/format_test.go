package tree_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/tree"
)

const front = "---\nname: demo\ndescription: d\n---\n"

func TestFormat(t *testing.T) {
	for _, test := range []struct {
		name, file, src, want string
		finding               string // rule; the source stays
	}{
		{name: "a list is indented by two blanks and has one kind of bullet",
			src:  front + "Intro  \n\n## Tree\n\n-   demo\n    + OP<<a|b>>c\n\n    - next\n      goes on\n\n## Rules\n*   stays\n",
			want: front + "Intro  \n\n## Tree\n\n- demo\n  - OP << a | b >> c\n  - next goes on\n\n## Rules\n*   stays\n"},
		{name: "box drawing is written out",
			src:  front + "## Tree\n  ```\n  demo\n  ├─ PARALLEL\n  │ └─ **A1**   <<  x   |  y\n  └─ done\n  ```\n---\n",
			want: front + "## Tree\n```\ndemo\n├── PARALLEL\n│   └── **A1** << x | y\n└── done\n```\n---\n"},
		{name: "an unclosed fence is closed",
			src: front + "## Tree\n```\n├── a\n", want: front + "## Tree\n```\n└── a\n```\n"},
		{name: "line ends are kept, and a missing one",
			src: "## Tree\r\n*  a\r\n*  b", want: "## Tree\r\n* a\r\n* b"},
		{name: "comments and text between the nodes stay",
			src: "## Tree\n*  a\n<!-- c -->\n\n   <!-- d\n  -->\ntext\n*  b\n", want: "## Tree\n* a\n<!-- c -->\n   <!-- d\n  -->\ntext\n* b\n"},
		{name: "a tree with uneven columns is left, since nobody knows which was meant", src: "## Tree\n* a\n    * b\n  * c\n", finding: "CNP-T04"},
		{name: "each tree of an op file, and nothing else of it", file: "references/ops.md",
			src:  "# Ops\n\n## OP \\<\\< a\n\n> **Subagent.**   x\n\n*  OP << a\n    * step\n\n---\n## TWO\n1.  procedure\n   -  IF << a\n\n## THREE\n```\nTHREE\n└─ x\n```\n",
			want: "# Ops\n\n## OP \\<\\< a\n\n> **Subagent.**   x\n\n* OP << a\n  * step\n\n---\n## TWO\n1.  procedure\n   -  IF << a\n\n## THREE\n```\nTHREE\n└── x\n```\n"},
		{name: "escapes that are needed stay", src: "## Tree\n*   a\\\\`b \\\\<\n", want: "## Tree\n* a\\\\`b \\\\<\n"},
		{name: "a tree that mixes syntaxes is left", src: "## Tree\n*  a\n├── b\n", finding: "CNP-T04"},
		{name: "a tree that lost its indentation is left", src: "## Tree\n```\n└── a\n└──   b\n```\n", finding: "CNP-T04"},
		{name: "text that would become part of a node", src: "## Tree\n      * a\n    text\n      * b\n", finding: "CNP-T04"},
		{name: "a canonical file", src: front + "## Tree\n\n* demo\n  * a\n"},
		{name: "no tree", src: front + "*   a list\n```\n## Tree\n*   b\n```\n"},
		{name: "no text", src: "## Tree\n*   a\x00\n", finding: "CNP-S11"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.file == "" {
				test.file = "SKILL.md"
			}
			if test.want == "" {
				test.want = test.src
			}
			got, findings := tree.Format([]byte(test.src), test.file)
			if string(got) != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			rule := ""
			if len(findings) > 0 {
				rule = findings[0].Rule
			}
			if rule != test.finding {
				t.Errorf("findings %v, want %q", findings, test.finding)
			}
			if again, _ := tree.Format(got, test.file); !bytes.Equal(again, got) {
				t.Errorf("then\n%s", again)
			}
		})
	}
}

// Canonical trees are printed as they are written.
func TestPrintCanonical(t *testing.T) {
	for _, src := range []string{
		"* demo\n  * GREET << \"x\" | n=1 >> a | {b, c} ← why\n  * IF << a\n    * END\n  * ELSE — b\n",
		"+ one\n+ two\n",
		"```\ndemo\n├── IF << x — y | z\n│   ├── a\n│   │   └── `b\\|c`\n│   └── SHOW_PLAN >> p | q: \"r | s\"\n└── ASK Who? << A | B >> c\n```\n",
		"├── a\n└── b\n",
	} {
		parsed, findings := tree.ParseTree(src, "f", 1, "demo", nil)
		if got := tree.Print(parsed); got != src || len(findings) > 0 {
			t.Errorf("got\n%s\nwant\n%s\nfindings %v", got, src, findings)
		}
	}
}

// A tree that a program made is printed from its texts.
func TestPrintMade(t *testing.T) {
	made := &tree.Tree{Nodes: []*tree.Node{{Text: "one\nline", Children: []*tree.Node{{Text: `a \< b`, Note: "n"}}}}}
	if got, want := tree.Print(made), "* one line\n  * a \\\\< b ← n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := tree.Print(nil); got != "" {
		t.Errorf("Print(nil) = %q", got)
	}
}

// Text beyond a limit is a finding and is not read; the rest still is.
func TestLimits(t *testing.T) {
	for _, test := range []struct {
		name, src string
		nodes     int
		text      string
	}{
		{"as many nodes as there may be", strings.Repeat("* a\n", tree.MaxNodes), tree.MaxNodes, ""},
		{"one more", strings.Repeat("* a\n", tree.MaxNodes+1), tree.MaxNodes, "nodes"},
		{"as many levels", nested(tree.MaxDepth + 1), tree.MaxDepth + 1, ""},
		{"one level more", nested(tree.MaxDepth+2) + "* b\n", tree.MaxDepth + 2, "levels"},
		{"many more", nested(500), tree.MaxDepth + 1, "levels"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, findings := tree.ParseTree(test.src, "f", 1, "demo", nil)
			nodes := 0
			tree.Walk(got.Nodes, func(*tree.Node) bool { nodes++; return true })
			if nodes != test.nodes {
				t.Errorf("%d nodes, want %d", nodes, test.nodes)
			}
			if test.text == "" && len(findings) > 0 || test.text != "" && (len(findings) != 1 || findings[0].Rule != "CNP-S11" || !strings.Contains(findings[0].Message, test.text)) {
				t.Errorf("findings %v", findings)
			}
			if again, _ := tree.ParseTree(tree.Print(got), "f", 1, "demo", nil); !tree.Equal(got, again) {
				t.Error("what is printed is another tree")
			}
		})
	}
}

// nested is n lines, each a level below the one before.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "* step one\n")
	}
	return b.String()
}
