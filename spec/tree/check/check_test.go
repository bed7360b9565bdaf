package check_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

func rulesOf(found []diag.Finding) (out []string) {
	for _, f := range found {
		out = append(out, f.Rule)
	}
	return out
}

// demo is the fixture "clean" with another tree.
func demo(t testing.TB, lines string) fstest.MapFS {
	f := readFixture(t, "testdata/rules/clean.txtar")
	f.files["SKILL.md"] = &fstest.MapFile{Data: []byte(strings.Replace(frame, "%s\n## Rules", lines+"\n## Rules", 1))}
	f.features(t)
	return f.files
}

// An op that another skill provides is known; nothing else changes.
func TestProvides(t *testing.T) {
	s := load(t, demo(t, "* demo\n  * UPLOAD << \"a\" >> link\n  * LOOSE << \"a\"\n"))
	provides := func(op string) bool { return op == "UPLOAD" }
	if got, want := rulesOf(check.CheckWith(s, provides)), []string{"CNP-T17", "CNP-O04", "CNP-O04"}; !reflect.DeepEqual(sorted(got), sorted(want)) {
		t.Errorf("with UPLOAD: %v, want %v", got, want)
	}
	if got := rulesOf(check.Check(s)); len(got) != 4 {
		t.Errorf("without: %v", got)
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// An agent file of the old layout has its own rule.
func TestAgentFile(t *testing.T) {
	s, err := tree.LoadAgent(fstest.MapFS{"agents/demo.md": {Data: []byte("---\nname: demo\ndescription: d\n---\n\n## Tree\n\n* demo\n  * END All done.\n")}}, "agents/demo.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := rulesOf(check.Check(s)); !slices.Contains(got, check.AgentFile) {
		t.Errorf("findings %v", got)
	}
}

// A tree too big to be read stops a run.
func TestTooBig(t *testing.T) {
	var b strings.Builder
	for i := range tree.MaxDepth + 3 {
		fmt.Fprintf(&b, "%*s* step\n", 2*i, "")
	}
	for _, f := range check.Check(load(t, demo(t, b.String()))) {
		if f.Rule == check.TooBig && check.Blocking(f) {
			return
		}
	}
	t.Error("a tree that is too deep has no finding")
}

// A preflight refuses what cannot run, and nothing that only looks bad.
func TestBlocking(t *testing.T) {
	blocks := []string{"M01", "M04", "M05", "M06", "C01", "C05", "C06", "T04", "T05", "T17", "T18", "X01", "X02", "X04", "X06", "X07", "X11", "O06", "O07", "O08", "O09", "A02", "S05", "S11", "S12", "S13", "M09", "M10", "M11", "M12", "M13", "T06", "T09", "T23"}
	for _, r := range check.Rules() {
		for _, severity := range []diag.Severity{diag.SeverityError, diag.SeverityWarning, diag.SeverityInfo} {
			want := severity == diag.SeverityError && slices.Contains(blocks, strings.TrimPrefix(r.ID, "CNP-"))
			if got := check.Blocking(diag.Finding{Rule: r.ID, Severity: severity}); got != want {
				t.Errorf("Blocking(%s %s) is %v", r.ID, severity, got)
			}
		}
	}
	if check.Blocking(diag.Finding{Rule: skill.RuleNameMissing, Severity: diag.SeverityError}) {
		t.Error("another rule stops a run")
	}
}

// False findings of the language's first linter (spec/canopy-tree.md, 5.36) do not occur here.
func TestNoFalseFindings(t *testing.T) {
	marker := "\n\n> **Subagent.** Output contract: `assets/schemas/look.json`.\n\n"
	for _, c := range []struct{ name, tree, ops string }{
		{"features of ops count", "* demo\n  * NOTE\n", "## NOTE\n\n* NOTE\n  * ASK << Which? >> file\n"},
		{"a skill's own EXPLORE is called in bold", "* demo\n  * **EXPLORE** >> found\n", "## EXPLORE >> found" + marker + "Look."},
		{"call sites name results as they like", "* demo\n  * **LOOK** << \"a\" >> left_items\n  * NOTE << left_items\n", "## LOOK << target >> items" + marker + "List `target`.\n\n## NOTE << items\n\nWrite them down."},
		{"headings of ops have any level", "* demo\n  * NOTE\n  * MARK\n", "# NOTE\n\nWrite it down.\n\n# MARK\n\nMark it."},
		{"a rule ends no section", "* demo\n  * NOTE\n", "## NOTE\n\nWrite it\n\n---\n\n* NOTE\n  * IF << $ARGUMENTS is empty\n    * END\n"},
		{"files of the runtime and of the project are read", "* demo\n  * Read `../canopy-runtime/SKILL.md`\n  * NOTE\n  * Read `README.md`\n", "## NOTE\n\nWrite it down."},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := demo(t, c.tree)
			files["references/ops.md"] = &fstest.MapFile{Data: []byte(c.ops)}
			files["SKILL.md"] = &fstest.MapFile{Data: []byte(strings.Replace(frame, "%s\n## Rules", c.tree+"\n## Rules", 1))}
			fixture{files: files}.features(t)
			for _, f := range check.Check(load(t, files)) {
				t.Errorf("%s:%d %s %s", f.File, f.Line, f.Rule, f.Message)
			}
		})
	}
	t.Run("trees in ops are checked", func(t *testing.T) {
		files := demo(t, "* demo\n  * NOTE\n")
		files["references/ops.md"] = &fstest.MapFile{Data: []byte("## NOTE\n\n* NOTE\n  * ELSE\n    * print it\n")}
		if got := rulesOf(check.Check(load(t, files))); !slices.Contains(got, check.Chain) {
			t.Errorf("findings %v", got)
		}
	})
}

// Features come from the tree, all ops, markers and the Agent section.
func TestFeatures(t *testing.T) {
	got := check.Features(load(t, readFixture(t, "testdata/rules/clean.txtar").files))
	if want := []string{"control-flow", "interaction", "parallel", "subagent", "verify"}; !reflect.DeepEqual(got, want) {
		t.Errorf("features %v, want %v", got, want)
	}
	if got := check.Features(&tree.Skill{}); got == nil || len(got) != 0 {
		t.Errorf("features of nothing: %v", got)
	}
}

// The texts for new skills satisfy the rules they are made for, and the limits of the format.
func TestCanonical(t *testing.T) {
	if n := len(check.CanonicalCompatibility); n > 500 || strings.Contains(check.CanonicalCompatibility, ": ") {
		t.Errorf("compatibility has %d bytes, or must be quoted", n)
	}
	for _, name := range []string{"canopy-runtime", "github.com/skl-project/skl"} {
		if !strings.Contains(check.CanonicalCompatibility, name) {
			t.Errorf("compatibility does not name %s", name)
		}
	}
	if !strings.HasPrefix(check.CanonicalGuard, "> **Runtime required.**") || strings.Count(check.CanonicalGuard, "\n>\n") != 3 {
		t.Error("the guard is not four paragraphs in one blockquote")
	}
	for line := range strings.Lines(check.CanonicalGuard) {
		if !strings.HasPrefix(line, ">") || !strings.HasSuffix(line, "\n") {
			t.Errorf("a line of the guard is outside of it: %q", line)
		}
	}
}

// Fixes say what they do to the text.
func TestFixText(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"call in bold", "* demo\n  * LOOK << $ARGUMENTS >> found\n", "* demo\n  * **LOOK** << $ARGUMENTS >> found\n"},
		{"arrow", "* demo\n  * list the files → {a, b}\n", "* demo\n  * list the files >> {a, b}\n"},
		{"inline branch, list", "* demo\n  - IF << x is empty — print it\n", "* demo\n  - IF << x is empty\n    - print it\n"},
		{"inline branch, box", "```\ndemo\n├── IF << x is empty → print it\n└── END\n```\n", "```\ndemo\n├── IF << x is empty\n│   └── print it\n└── END\n```\n"},
		{"question", "* demo\n  * Ask: \"Which file?\"\n", "* demo\n  * ASK << Which file?\n"},
		{"plan", "* demo\n  * Show plan: file, action\n", "* demo\n  * SHOW_PLAN >> file | action\n"},
		{"capitals", "* demo\n  * if << x is empty\n    * END\n", "* demo\n  * IF << x is empty\n    * END\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := demo(t, c.before)
			src := files["SKILL.md"].Data
			out := string(skill.Apply(src, skill.Fixes(slices.DeleteFunc(check.Check(load(t, files)), func(f diag.Finding) bool { return f.File != "SKILL.md" || strings.HasPrefix(f.Rule, "CNP-N") }))))
			if want := strings.Replace(string(src), c.before, c.after, 1); out != want {
				t.Errorf("fixed to\n%s", out[strings.Index(out, "## Tree"):])
			}
		})
	}
}

// Whatever a skill's files hold, nothing panics, findings are sorted, and a fix lies inside of its file.
func FuzzCheck(f *testing.F) {
	for _, name := range []string{"clean", "CNP-T05", "CNP-M06", "CNP-C03", "CNP-F08", "CNP-T08", "CNP-A03", "CNP-N03", "CNP-P03"} {
		files := readFixture(f, "testdata/rules/"+name+".txtar").files
		get := func(name string) string {
			if files[name] == nil {
				return ""
			}
			return string(files[name].Data)
		}
		f.Add(get("SKILL.md"), get("references/ops.md"), get("assets/schemas/look.json"))
	}
	f.Fuzz(func(t *testing.T, main, ops, schema string) {
		files := fstest.MapFS{"SKILL.md": {Data: []byte(main)}, "references/ops.md": {Data: []byte(ops)}, "assets/schemas/look.json": {Data: []byte(schema)}, "assets/schemas/out.json": {Data: []byte(schema)}}
		s, err := tree.Load(files, "demo")
		if err != nil {
			return
		}
		found := check.Check(s)
		again := slices.Clone(found)
		diag.SortFindings(again)
		for i, d := range found {
			if d.File != again[i].File || d.Line != again[i].Line || d.Rule != again[i].Rule {
				t.Fatal("findings are not sorted")
			}
			check.Blocking(d)
			if d.Fix != nil && (d.Fix.Start < 0 || d.Fix.End < d.Fix.Start || files[d.File] == nil || d.Fix.End > len(files[d.File].Data)) {
				t.Fatalf("%s: a fix lies outside of its file: %+v", d.Rule, *d.Fix)
			}
		}
	})
}

// The work is bounded where a skill is built to make it grow: each of these takes
// minutes when every question, subagent, layout or name is compared with all others.
func TestLarge(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, c := range []struct{ name, tree, ops string }{
		{"questions below branches", "* demo\n" + repeat(9000, "  * IF << x%d is empty\n    * ASK << Go on? | Yes | No\n"), ""},
		{"unknown ops", "* demo\n" + repeat(15000, "  * UNKNOWN_%d << \"a\"\n"), repeat(4000, "## OP_%d\n\ntext\n\n")},
		{"inline branches", "* demo\n" + repeat(15000, "  * IF << x%d — print it\n"), ""},
		{"layouts", "* demo\n  * OP_1\n", repeat(4000, "## OP_%[1]d\n\n* OP_%[1]d\n    * END\n   * BREAK\n\n")},
		{"names", "* demo\n" + repeat(6000, "  * bind name%d = 1\n") + repeat(6000, "  * bind other%[1]d = word%[1]d\n"), ""},
		{"subagents that share an op", "* demo\n  * OP_1\n", repeat(2000, "## OP_%d\n\n> **Subagent.**\n\n* WORK\n  * END\n\n") + "## WORK\n\n* WORK\n" + repeat(10000, "  * print `x%d`\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := demo(t, c.tree)
			files["references/ops.md"] = &fstest.MapFile{Data: []byte(c.ops)}
			s := load(t, files)
			start := time.Now()
			check.Check(s)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			} else {
				t.Logf("took %v", took)
			}
		})
	}
}

// How long a preflight checks a tree of 1,000 nodes.
func BenchmarkCheck(b *testing.B) {
	var lines strings.Builder
	lines.WriteString("* demo\n  * list the files >> files\n")
	for i := range 200 {
		fmt.Fprintf(&lines, "  * IF << files contains \"a%d\"\n    * **LOOK** << files >> found\n    * WRITE << found.items >> written\n  * ELSE\n    * print `files`\n", i)
	}
	s := load(b, demo(b, lines.String()))
	b.ReportAllocs()
	for b.Loop() {
		check.Check(s)
	}
}

func ExampleCheck() {
	files := fstest.MapFS{"SKILL.md": {Data: []byte(strings.Replace(fmt.Sprintf(frame, "", "* demo\n  * UPLOAD << \"a\"\n"), "\n## Rules", "\n## Rules", 1))}}
	s, err := tree.Load(files, "demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range check.Check(s) {
		fmt.Println(f.Line, f.Rule, f.Severity, f.Message)
	}
	// Output: 20 CNP-T17 error no op UPLOAD
}
