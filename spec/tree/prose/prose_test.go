package prose_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/prose"
	"github.com/skl-project/skl/testdata/corpus"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and read the change. Got\n%s", name, got)
	}
}

// plain reports what keeps src from being a skill without a tree.
func plain(src []byte, name string) error {
	fsys := fstest.MapFS{"SKILL.md": {Data: src}}
	s, err := tree.Load(fsys, name)
	if err != nil {
		return err
	}
	if s.Tree != nil {
		return errors.New("it has a tree")
	}
	for _, f := range skill.Lint(fsys, name, skill.LintOptions{}) {
		if f.Severity == diag.SeverityError {
			return fmt.Errorf("%s line %d: %s", f.Rule, f.Line, f.Message)
		}
	}
	return nil
}

// Each fixture is written without its tree as it was, with its losses. "go test
// -run Golden -update" rewrites the files.
func TestConvertGolden(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	if len(files) == 0 {
		t.Fatal("no fixtures")
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fsys := fstest.MapFS{}
			for _, f := range ar.Files {
				fsys[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			s, err := tree.Load(fsys, name)
			if err != nil {
				t.Fatal(err)
			}
			src, losses, err := prose.Convert(s)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/"+name+".md", string(src))
			golden(t, "testdata/"+name+".losses", strings.Join(losses, "\n")+"\n")
			if err := plain(src, name); err != nil {
				t.Error(err)
			}
		})
	}
}

// Everything but the tree stays byte for byte, line ends too.
func TestConvertIsMinimal(t *testing.T) {
	src := "---\nname: demo # its name\ndescription: 'Shows.'\ncompatibility: Requires canopy-runtime (see x). Install it with gh. Needs git.\nmetadata: {a: b, canopy-features: [verify], c: d}\nlicense: MIT\n---\n\n" +
		"> **Runtime required.** a\n>\n> b\n\n# Title  \n\nText with `## Tree`.\n\n## Tree\n\nIntro.\n\n```\ndemo\n├── do one thing\n└── END Done.\n```\n\n---\n\n## Rules\n\n-  odd   spacing\n\n## Response: a | b\nlast line"
	want := "---\nname: demo # its name\ndescription: 'Shows.'\ncompatibility: Needs git.\nmetadata: {a: b, c: d}\nlicense: MIT\n---\n\n" +
		"# Title  \n\nText with `## Tree`.\n\n## Steps\n\nIntro.\n\n1. do one thing\n2. Stop: Done.\n\n---\n\n## Rules\n\n-  odd   spacing\n\n## Response: a | b\nlast line"
	for _, nl := range []string{"\n", "\r\n"} {
		s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: []byte(strings.ReplaceAll(src, "\n", nl))}}, "demo")
		if err != nil {
			t.Fatal(err)
		}
		got, losses, err := prose.Convert(s)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != strings.ReplaceAll(want, "\n", nl) {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
		if len(losses) > 0 {
			t.Errorf("losses %q", losses)
		}
	}
}

func TestConvertErrors(t *testing.T) {
	for _, test := range []struct{ name, body, code string }{
		{"no tree", "text\n", prose.CodeNoTree},
		{"a tree in a fence only", "```\n## Tree\n* a\n```\n", prose.CodeNoTree},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: demo\ndescription: d\n---\n" + test.body)}}, "")
			if err != nil {
				t.Fatal(err)
			}
			src, losses, err := prose.Convert(s)
			if !errors.Is(err, diag.Code(test.code)) || src != nil || losses != nil {
				t.Errorf("%q %v %v", src, losses, err)
			}
		})
	}
}

// One step each, both ways where there is a way back.
func TestSteps(t *testing.T) {
	for _, test := range []struct{ name, nodes, ops, want string }{
		{"prose that looks like Markdown", "* # no heading\n* 3. third\n", "", "1. \\# no heading\n2. 3\\. third\n"},
		{"result", "* count them >> n\n", "", "1. count them; keep the result as `n`\n"},
		{"a negative answer that nothing tests", "* ASK << Go? | Yes | No\n", "", "1. Ask the user: \"Go?\" (Yes / No). If the answer is \"No\", stop.\n"},
		{"a negative answer that is tested", "* ASK << Go? | Yes | No\n* IF << No\n  * END\n", "", "1. Ask the user: \"Go?\" (Yes / No)\n2. If the answer is \"No\": Stop.\n"},
		{"tested further out", "* IF << x == 1\n  * ASK << Go? | Yes | No\n* IF << user chose No\n  * END\n", "",
			"1. If x == 1:\n   1. Ask the user: \"Go?\" (Yes / No)\n2. If the answer is \"No\": Stop.\n"},
		{"the other answer is tested", "* ASK << Go? | Yes | No\n* IF << Yes\n  * one two\n* ELSE\n  * three\n", "",
			"1. Ask the user: \"Go?\" (Yes / No)\n2. If the answer is \"Yes\": one two\n3. Otherwise: three\n"},
		{"two negative answers", "* ASK << Go? | Yes | No, thanks | Cancel\n* one two\n", "",
			"1. Ask the user: \"Go?\" (Yes / No, thanks / Cancel). If the answer is \"No, thanks\" or \"Cancel\", stop.\n2. one two\n"},
		{"cases", "* SWITCH << x\n  * CASE << a\n    * one two\n  * DEFAULT\n    * three\n    * END\n", "",
			"1. Depending on x:\n   - a: one two\n   - otherwise:\n     1. three\n     2. Stop.\n"},
		{"break by place", "* FOR_EACH << x in xs\n  * BREAK\n* BREAK\n* LOAD\n", "## LOAD\n* LOAD\n  * BREAK\n",
			"1. For each `x` in xs:\n   1. Leave this loop and go on behind it.\n2. Skip all remaining steps and give the response.\n3. **Load**:\n   1. Leave **Load** and go on behind it.\n"},
		{"recursion", "* LOAD << 1\n", "## LOAD << n\n* LOAD << n\n  * LOAD << 2\n", "1. **Load**, with `n` = 1:\n   1. Begin **Load** again, with `n` = 2\n"},
		{"prose with a fence that stays open", "* LOAD\n", "## LOAD\n```\nx\n", "1. **Load**:\n\n   ```\n   x\n   ```\n\n"},
		{"inline branches", "* IF << x == 1 — stop here\n* ELSE — go on there\n", "", "1. If x == 1: stop here\n2. Otherwise: go on there\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := tree.Load(fstest.MapFS{
				"SKILL.md":          {Data: []byte("---\nname: demo\ndescription: d\n---\n\n## Tree\n\n" + test.nodes)},
				"references/ops.md": {Data: []byte(test.ops)},
			}, "")
			if err != nil {
				t.Fatal(err)
			}
			src, _, err := prose.Convert(s)
			if err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(string(src), "## Steps\n\n")
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// Bodies that nest deeply follow the list, so that the text stays linear.
func TestDeepOps(t *testing.T) {
	var ops strings.Builder
	for i := range 300 {
		fmt.Fprintf(&ops, "## OP_%d\n\n* OP_%d\n  * OP_%d\n  * OP_%d\n\n", i, i, i+1, i+1)
	}
	s, err := tree.Load(fstest.MapFS{
		"SKILL.md":          {Data: []byte("---\nname: demo\ndescription: d\n---\n\n## Tree\n\n* OP_0\n* x y\n")},
		"references/ops.md": {Data: []byte(ops.String())},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	src, _, err := prose.Convert(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(src) > 100*300*2 {
		t.Errorf("%d bytes", len(src))
	}
	if !bytes.Contains(src, []byte("### Op 299")) && !bytes.Contains(src, []byte("**Op 299**")) {
		t.Error("the deepest op is missing")
	}
}

// Every skill of the corpus converts to prose that is a skill, and that back to a tree.
func TestCorpus(t *testing.T) {
	dirs := corpus.Below(corpus.Files(t), corpus.IsEntry)
	converted, back := 0, 0
	for dir, fsys := range dirs {
		s, err := tree.Load(fsys, path.Base(dir))
		if err != nil || s.Tree == nil {
			continue
		}
		src, _, err := prose.Convert(s)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		converted++
		after, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: src}}, path.Base(dir))
		if err != nil || after.Tree != nil {
			t.Errorf("%s: %v, or a tree", dir, err)
		}
		fsys["SKILL.md"] = fsys[s.File] // older ones are called skill.md
		before := errorsOf(fsys, path.Base(dir))
		fsys["SKILL.md"] = &fstest.MapFile{Data: src}
		for rule := range errorsOf(fsys, path.Base(dir)) {
			if !before[rule] {
				t.Errorf("%s: a new error %s", dir, rule)
			}
		}
		again, _, err := prose.FromProse(src, "")
		if err != nil {
			t.Errorf("%s: back: %v", dir, err)
			continue
		}
		if s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: again}}, path.Base(dir)); err != nil || s.Tree == nil {
			t.Errorf("%s: back: %v, or no tree", dir, err)
		} else {
			back++
		}
	}
	t.Logf("%d skills converted, %d of them back to a tree", converted, back)
}

func errorsOf(fsys fstest.MapFS, dir string) map[string]bool {
	rules := map[string]bool{}
	for _, f := range skill.Lint(fsys, dir, skill.LintOptions{}) {
		if f.Severity == diag.SeverityError {
			rules[f.Rule] = true
		}
	}
	return rules
}

func BenchmarkConvert(b *testing.B) {
	var nodes strings.Builder
	for i := range 500 {
		fmt.Fprintf(&nodes, "* IF << x == %d\n  * do something with `x`\n* ELSE\n  * FOR_EACH << y in ys\n    * say it\n", i)
	}
	s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: demo\ndescription: d\n---\n\n## Tree\n\n" + nodes.String())}}, "")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(nodes.Len()))
	for b.Loop() {
		if _, _, err := prose.Convert(s); err != nil {
			b.Fatal(err)
		}
	}
}

func checkErrors(t *testing.T, src []byte) (out []string) {
	t.Helper()
	s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: src}}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check.Check(s) {
		if f.Severity == diag.SeverityError {
			out = append(out, fmt.Sprintf("%s line %d: %s", f.Rule, f.Line, f.Message))
		}
	}
	return out
}
