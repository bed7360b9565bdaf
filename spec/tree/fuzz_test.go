package tree_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// seeds are trees that show most of the language, and some that show its corners.
var seeds = []string{
	"* demo\n  * GREET << name | tone=\"very kind\" >> greeting | mood\n  * IF << greeting is empty\n    * END Nothing to say — <<context.name>>\n  * ELSE — say it ← a note\n",
	"```\ndemo\n├── PARALLEL\n│   ├── **REVIEW** << \"a\"  | context.files >> x\n│   └── **REVIEW** << [a, 'b|c'] >> {p, q}\n└── SHOW_PLAN >> version | action: \"push | pull\"\n```\n",
	"IF << a\n├── b\nELSE\n└── c\n",
	"+ a\n\t+ b\n\n      goes on\n- c\n",
	"* \\<\\< x \\>\\> y\n* `a\\|b` \\`c\n* \\\\`d` e\\\\`\n* don't >> stop | 'a | b'\n",
	"├── a\n└── ELSE\n└── b\n",
	"* a\n├── b\n",
	"* OP >> b << a\n* OP <<<a>> b\n* ASK <<q>> << A | B >> c\n* ASK Install <<context.v>>? << Yes | No\n* x >>← y\n",
	"*\n  * a\n* Read `a/b.md` → § matching `c` >> d\n* bind x = [1, [2, null]] >> y\n",
	"* a\n  ```\n  * b\n  ```\n* c\n```\n├── d\n```\n<!-- e\n* f\n-->\n* g\n---\n* h\n",
	"```\nfoo\n  bar\n|   baz\n├── │ ├── qux\n",
	"* SWITCH << x\n  * CASE << \"a\" | b\n  * DEFAULT >> y\n  * **IF** << z → w\n* FOR_EACH << `i` in `list`\n",
	"* IF << : → w\n* IF << a - — b\n* ELSE: — c\n* ASK q << A | B >> r\n  * A: - d\n",
	"- said first\n    - of it\n\nmore\n\n* OP << x\n  * step\n* last\n",
}

func isOp(name string) bool { return name == "OP" || name == "REVIEW" }

// Print(t) parses to t, and is printed the same again.
func FuzzParseTree(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "demo")
		f.Add(s, "OP")
	}
	f.Fuzz(func(t *testing.T, src, owner string) {
		if strings.ContainsAny(owner, "\n") {
			t.Skip()
		}
		first, _ := tree.ParseTree(src, "SKILL.md", 1, owner, isOp)
		printed := tree.Print(first)
		second, _ := tree.ParseTree(printed, "SKILL.md", 1, owner, isOp)
		if !tree.Equal(first, second) {
			t.Errorf("%q\nis printed\n%s\nwhich is another tree:\n%s\nnot\n%s", src, printed, dump(second), dump(first))
		}
		if again := tree.Print(second); again != printed {
			t.Errorf("%q\nis printed\n%s\nand then\n%s", src, printed, again)
		}
		if first == nil {
			return
		}
		nodes := 0
		lines := strings.Count(src, "\n") + 1
		tree.Walk(first.Nodes, func(n *tree.Node) bool {
			nodes++
			if n.Pos.Line < 1 || n.Last < n.Pos.Line || n.Last > lines || n.Pos.Column < 1 || n.Text == "" {
				t.Errorf("%q: node %s at %d:%d to line %d", src, n.ID, n.Pos.Line, n.Pos.Column, n.Last)
			}
			return true
		})
		if nodes == 0 || nodes > tree.MaxNodes {
			t.Errorf("%d nodes", nodes)
		}
	})
}

func FuzzFormat(f *testing.F) {
	for _, s := range seeds {
		f.Add("---\nname: demo\ndescription: d\n---\nIntro.\r\n\n## Tree\n\n" + s + "\n## Rules\n\n- one\n")
		f.Add("# Ops\n\n## OP << a\n\n> **Tool.** `server__x`. Output contract: `x.json`.\n> **Subagent**\n\n" + s)
		f.Add("# Ops\n\n## OP << a\n\nText.\n\n" + s + "\n---\n## TWO\n\n" + s)
		f.Add(strings.ReplaceAll("## Tree\n"+s, "\n", "\r\n"))
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, file := range []string{"SKILL.md", "references/ops.md"} {
			once, findings := tree.Format([]byte(src), file)
			twice, again := tree.Format(once, file)
			if !bytes.Equal(once, twice) {
				t.Errorf("%s: %q\nis formatted\n%q\nand then\n%q", file, src, once, twice)
			}
			if len(findings) == 0 && len(again) != 0 {
				t.Errorf("%s: %q\nis formatted\n%q\nwhich has findings %v", file, src, once, again)
			}
			// Only blanks, box characters, fences and bullets may differ.
			if strings.Contains(src, "`") || strings.Contains(src, "~") {
				continue
			}
			if a, b := letters(src), letters(string(once)); a != b {
				t.Errorf("%s: %q\nis formatted\n%q", file, src, once)
			}
		}
	})
}

// letters is s without what a layout is made of.
func letters(s string) string {
	return strings.NewReplacer(" ", "", "\t", "", "\r", "", "\v", "", "\f", "", "\n", "", "*", "", "-", "", "+", "",
		"│", "", "├", "", "└", "", "─", "", "|", "", "\\", "").Replace(s)
}

func FuzzLoad(f *testing.F) {
	for _, s := range seeds {
		f.Add("> **Runtime required.** x\n\n## Agent\n\n**explore** — execute LOOK.\n\n## Tree\n\n"+s+"\n## Response: a / b | c\n", "# T\n\n## OP \\<\\< a [| b]\n\n> **Subagent.** Output contract: `x.json`.\n> Inputs:\n> - `a` — b\n\n"+s, "fetch-it")
	}
	f.Fuzz(func(t *testing.T, body, ops, name string) {
		fsys := fstest.MapFS{
			"SKILL.md":          {Data: []byte("---\nname: demo\ndescription: d\n---\n" + body)},
			"references/ops.md": {Data: []byte(ops)},
			"ops/fetch-it.md":   {Data: []byte(ops)},
		}
		s, err := tree.Load(fsys, name)
		if err != nil {
			if s != nil || diag.ClassOf(err) == 0 {
				t.Errorf("Load = %v, %v", s, err)
			}
			return
		}
		if s.Name != "demo" || s.Doc == nil || s.File != skill.FileName {
			t.Errorf("name %q, file %q", s.Name, s.File)
		}
		nodes := 0
		count := func(*tree.Node) bool { nodes++; return true }
		if s.Tree != nil {
			tree.Walk(s.Tree.Nodes, count)
		}
		ids := map[string]bool{}
		for _, op := range s.Ops {
			if op.Last < op.Pos.Line || op.Kind == tree.TreeBody != (op.Tree != nil) {
				t.Errorf("op %s, lines %d to %d", op.Name, op.Pos.Line, op.Last)
			}
			if op.Tree == nil {
				continue
			}
			tree.Walk(op.Tree.Nodes, func(n *tree.Node) bool {
				if ids[n.ID] {
					t.Errorf("two nodes are %s", n.ID)
				}
				ids[n.ID] = true
				return count(n)
			})
		}
		if nodes > tree.MaxSkillNodes {
			t.Errorf("%d nodes", nodes)
		}
	})
}
