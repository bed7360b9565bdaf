package tree_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skl-project/skl/spec/tree"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Errorf("%s:%d: got\n%s\nwant\n%s", name, i+1, g[i], strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
			return
		}
	}
	t.Errorf("%s: %d lines are missing", name, len(w)-len(g))
}

// Each archive in testdata is a small skill; "want" in it is what Load makes of it.
// "go test -update" rewrites that.
func TestSkills(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no fixtures")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var skill []txtar.File
			fsys := fstest.MapFS{}
			for _, f := range archive.Files {
				if f.Name != "want" {
					skill = append(skill, f)
					fsys[f.Name] = &fstest.MapFile{Data: f.Data}
				}
			}
			s, err := tree.Load(fsys, "demo")
			if err != nil {
				t.Fatal(err)
			}
			archive.Files = append(skill, txtar.File{Name: "want", Data: []byte(dumpSkill(s))})
			golden(t, file, string(txtar.Format(archive)))
			again(t, s)
		})
	}
}

// again checks that each tree of s is the same after it was printed.
func again(t *testing.T, s *tree.Skill) {
	t.Helper()
	check := func(what string, first *tree.Tree, owner string) {
		if first == nil || len(first.Nodes) == 0 {
			return
		}
		second, _ := tree.ParseTree(tree.Print(first), s.File, 1, owner, func(n string) bool { return s.Op(n) != nil })
		if !tree.Equal(first, second) {
			t.Errorf("%s is printed\n%s\nwhich is\n%s\nnot\n%s", what, tree.Print(first), dump(second), dump(first))
		}
	}
	check("the tree", s.Tree, s.Name)
	for _, op := range s.Ops {
		check(op.Name, op.Tree, op.Name)
	}
}

var bodyKinds = [...]string{"prose", "tree", "procedure", "empty"}

func dumpSkill(s *tree.Skill) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put("skill %s in %s", s.Name, s.File)
	if s.Features != nil {
		put("features %q", s.Features)
	}
	if s.Strict {
		put("strict")
	}
	if s.Guard != nil {
		put("guard %s:%d-%d %s", s.Guard.Pos.File, s.Guard.Pos.Line, s.Guard.Last, s.Guard.Title)
	}
	if s.Preamble != "" {
		put("preamble %q", s.Preamble)
	}
	for _, sec := range s.Sections {
		put("section %q lines %d-%d", sec.Title, sec.Pos.Line, sec.Last)
	}
	if a := s.Agent; a != nil {
		put("agent shape %c, op %q, tasks %q, schema %s, written %t", "ABC"[a.Shape], a.Op, a.Tasks, a.Schema, a.Named)
	}
	for _, r := range s.Rules {
		put("rule %q", r)
	}
	if s.Response != nil {
		put("response %q guide %q", s.Response, s.Guide)
	}
	if s.Tree != nil {
		put("tree %s", strings.TrimSuffix(dump(s.Tree), "\n"))
	}
	for _, op := range s.Ops {
		put("op %s %s:%d:%d to line %d, level %d, %s", op.Name, op.Pos.File, op.Pos.Line, op.Pos.Column, op.Last, op.Level, bodyKinds[op.Kind])
		for _, p := range op.Params {
			put("  param %q optional %t", p.Name, p.Optional)
		}
		for _, o := range op.Outs {
			put("  out %q group %t", o.Name, o.Group)
		}
		if op.Subagent {
			put("  subagent, marker in line %d", op.MarkerPos.Line)
		}
		if op.CallsTool() {
			put("  tool %q, marker in line %d", op.Tool, op.ToolPos.Line)
		}
		if c := op.Input; c != nil {
			put("  input %s at %d:%d", c.Path, c.Pos.Line, c.Pos.Column)
		}
		if c := op.Output; c != nil {
			put("  output %s at %d:%d", c.Path, c.Pos.Line, c.Pos.Column)
		}
		for _, p := range op.Params {
			if d := op.InputDoc[p.Name]; d != "" {
				put("  input %s: %s", p.Name, d)
			}
		}
		if op.Prose != "" {
			put("  prose %q", op.Prose)
		}
		if s.Op(op.Name) != op {
			put("  is not what a call means")
		}
		if op.Tree != nil {
			put("  tree %s", strings.TrimSuffix(dump(op.Tree), "\n"))
		}
	}
	for _, f := range s.Findings {
		put("finding %s:%d:%d %s %s: %s", f.File, f.Line, f.Column, f.Severity, f.Rule, f.Message)
	}
	return b.String()
}
