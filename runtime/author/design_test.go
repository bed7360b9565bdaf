package author

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// lintAll are the findings of the format and of the tree.
func lintAll(name string) Linter {
	return func(files fs.FS) []diag.Finding {
		found := skill.Lint(files, name, skill.LintOptions{})
		if s, err := tree.Load(files, name); err == nil {
			found = append(found, check.Check(s)...)
		}
		return found
	}
}

func good() *Design {
	return &Design{What: "Counts words", When: []string{"a text is measured"}, Inputs: "<file>",
		Tree: []Step{
			{Kind: "call", Text: "FIND_TEXT", In: []string{"$ARGUMENTS"}, Out: []string{"text"}},
			{Kind: "for_each", Text: "part", In: []string{"text"}},
			{Depth: 1, Kind: "step", Text: "Count the words of part", Out: []string{"count"}},
			{Kind: "read", Text: "assets/policies/style.md"},
			{Kind: "ask", Text: "Keep it?", Options: []string{"Yes", "No"}},
			{Kind: "if", Text: "No"}, {Depth: 1, Kind: "end", Text: "Nothing is kept"},
			{Kind: "else"}, {Depth: 1, Kind: "step", Text: "Write the count down", Out: []string{"summary"}},
		},
		Ops:      []DesignOp{{Name: "FIND_TEXT", In: []string{"file"}, Out: []string{"text"}, Body: "Read the file and give its paragraphs."}},
		Rules:    []string{"Count twice."},
		Response: []string{"summary"},
		Files:    []DesignFile{{Category: "policy", Name: "style.md", Text: "# Style\n\nNumbers are digits.\n"}}}
}

// TestDesign writes a skill of parts in both syntaxes; it passes lint without a finding.
func TestDesign(t *testing.T) {
	for _, syntax := range []string{"list", "box"} {
		d := New("count-words")
		if err := good().Apply(d, syntax); err != nil {
			t.Fatal(err)
		}
		if err := (Mender{Lint: lintAll("count-words")}).Settle(d, nil); err != nil {
			t.Errorf("%s: %v", syntax, err)
		}
		s, err := tree.Load(d.FS(), "count-words")
		if err != nil || s.Tree == nil || len(s.Tree.Nodes) != 6 || len(s.Ops) != 1 || (s.Tree.Syntax == tree.BoxSyntax) != (syntax == "box") {
			t.Errorf("%s: another tree than was designed, %v", syntax, err)
		}
		for _, f := range lintAll("count-words")(d.FS()) {
			t.Errorf("%s: %s", syntax, f.Sentence())
		}
	}
}

func TestDesignRefused(t *testing.T) {
	for name, change := range map[string]func(x *Design){
		"no tree":           func(x *Design) { x.Tree = nil },
		"no description":    func(x *Design) { x.When = nil },
		"a long one":        func(x *Design) { x.What = strings.Repeat("long ", 300) },
		"a jump in depth":   func(x *Design) { x.Tree[2].Depth = 3 },
		"a negative depth":  func(x *Design) { x.Tree[0].Depth = -1 },
		"a kind":            func(x *Design) { x.Tree[0].Kind = "shell" },
		"an operator":       func(x *Design) { x.Tree[2].Text = "Count >> secret" },
		"a pipe":            func(x *Design) { x.Tree[4].Text = "Keep it? | Maybe" },
		"a primitive":       func(x *Design) { x.Tree[2].Text = "END now" },
		"an op's name":      func(x *Design) { x.Ops[0].Name = "find text" },
		"a reserved name":   func(x *Design) { x.Ops[0].Name = "SWITCH" },
		"an op twice":       func(x *Design) { x.Ops = append(x.Ops, x.Ops[0]) },
		"a heading":         func(x *Design) { x.Ops[0].Body = "x\n## OTHER\n\nDo it." },
		"a marker":          func(x *Design) { x.Ops[0].Body = "> **Tool.** `bash`\n\nDo it." },
		"a category":        func(x *Design) { x.Files[0].Category = "hook" },
		"a path":            func(x *Design) { x.Files[0].Name = "../../x.md" },
		"a file twice":      func(x *Design) { x.Files = append(x.Files, x.Files[0]) },
		"ops by a file":     func(x *Design) { x.Files[0] = DesignFile{"reference", "ops.md", "## OTHER\n"} },
		"an output":         func(x *Design) { x.Tree[0].Out = []string{"a b"} },
		"an undefined op":   func(x *Design) { x.Ops = nil },
		"a missing file":    func(x *Design) { x.Files = nil },
		"an unbound answer": func(x *Design) { x.Response = []string{"a b"} },
	} {
		x := good()
		change(x)
		d := New("count-words")
		err := x.Apply(d, "list")
		if err == nil {
			err = (Mender{Lint: lintAll("count-words")}).Settle(d, nil)
		}
		if w := (*Wrong)(nil); !errors.As(err, &w) || w.Why == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAdvice(t *testing.T) {
	d := Over("s", sample())
	text := string(mustRead(t, d.Before(), "SKILL.md"))
	row := func(file, anchor string) []byte {
		out, err := json.Marshal(Advice{Rows: []AdviceRow{{What: "x", File: file, Anchor: anchor, Action: "y\x1b[31m", Why: "z"}}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	x, err := ParseAdvice(row("SKILL.md", at(t, text, "## Rules")), d)
	if err != nil || x.Rows[0].Line != 11 || strings.ContainsRune(x.Rows[0].Action, 0x1b) {
		t.Errorf("%+v, %v", x, err)
	}
	for name, answer := range map[string][]byte{"no line": row("SKILL.md", "1:0000"), "no file": row("x.md", "1:0000"), "outside": row("../x", "1:0000"), "a file that is not there": row("nosuch/file.md", ""), "a file outside": row("../../etc/passwd", ""), "nothing": []byte("{}"), "no JSON": []byte("x"), "a key": []byte(`{"run":1}`)} {
		if _, err := ParseAdvice(answer, d); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// FuzzAnswers holds that whatever a model answers, a draft has no file outside of the skill, changes none that is no regular file, and is read again.
func FuzzAnswers(f *testing.F) {
	design, err := json.Marshal(good())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(design)
	f.Add([]byte(`{"edits":[{"file":"SKILL.md","how":"after","from":"3:aaaa","to":"","text":"x","why":""}],"new_files":[{"path":"a/b.md","text":"x","why":""}],"deleted_files":[{"path":"references/old.md","why":""}],"questions":[]}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		var drafts []*Draft
		if e, err := ParseEdits(answer); err == nil {
			if d := Over("s", sample()); e.Apply(d) == nil {
				drafts = append(drafts, d)
			}
		}
		if x, err := ParseDesign(answer); err == nil {
			for _, syntax := range []string{"list", "box"} {
				if d := New("s"); x.Apply(d, syntax) == nil {
					drafts = append(drafts, d)
				}
			}
		}
		for _, d := range drafts {
			for _, c := range d.Changes() {
				if bundle.CheckPath(c.Path) != nil || c.Path == "link.md" {
					t.Errorf("%q changes", c.Path)
				}
			}
			if s, err := tree.Load(d.FS(), "s"); err == nil && d.IsNew() && s.Tree == nil {
				t.Errorf("a design gives no tree: %s", answer)
			}
			shown := d.Before()
			if d.IsNew() {
				shown = nil
			}
			_ = (Mender{Lint: lintAll("s")}).Settle(d, shown) // a Wrong or none
		}
	})
}
