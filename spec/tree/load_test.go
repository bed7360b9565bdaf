package tree_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

func TestLoadErrors(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		code  string
		class diag.Class
	}{
		{"nothing there", nil, "no_skill", diag.Misuse},
		{"a directory of that name", map[string]string{"SKILL.md/x": ""}, "no_skill", diag.Misuse},
		{"no frontmatter", map[string]string{"SKILL.md": "## Tree\n* a\n"}, "E_NO_DESCRIPTION", 0},
		{"no text", map[string]string{"SKILL.md": front + "\x00"}, "unreadable", diag.Failed},
		{"too large", map[string]string{"SKILL.md": front + strings.Repeat("x\n", tree.MaxFileBytes/2)}, "unreadable", diag.Failed},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := tree.Load(mapFS(test.files), "demo")
			if s != nil || !errors.Is(err, diag.Code(test.code)) || test.class != 0 && diag.ClassOf(err) != test.class {
				t.Errorf("Load = %v, %v (class %d)", s, err, diag.ClassOf(err))
			}
		})
	}
}

func mapFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return fsys
}

// An op file that cannot be read is a finding; the others are read.
func TestLoadOpFileLimits(t *testing.T) {
	many := map[string]string{
		"SKILL.md":            front + "## Tree\n* a\n",
		"references/ops.md":   "## GOOD\nprose\n",
		"references/ops/a.md": strings.Repeat("x", tree.MaxFileBytes+1),
		"ops/b.md":            "\xff",
		"ops/many.md":         strings.Repeat("# OP\nx\n", 5000),
		"ops/zz.md":           "# LATE\nx\n",
	}
	s, err := tree.Load(mapFS(many), "demo")
	if err != nil {
		t.Fatal(err)
	}
	if s.Op("GOOD") == nil || s.Op("LATE") != nil || len(s.Ops) != tree.MaxOps {
		t.Errorf("GOOD %v, LATE %v, %d ops", s.Op("GOOD"), s.Op("LATE"), len(s.Ops))
	}
	var got []string
	for _, f := range s.Findings {
		got = append(got, f.File+" "+f.Rule)
	}
	if want := "ops/b.md CNP-S11, ops/zz.md CNP-S11, references/ops/a.md CNP-S11"; strings.Join(got, ", ") != want {
		t.Errorf("findings %q, want %s", got, want)
	}
}

// Many files with many nodes each are read up to the limit of a skill.
func TestLoadNodeLimit(t *testing.T) {
	files := map[string]string{"SKILL.md": front + "## Tree\n* a\n"}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		files["ops/op-"+name+".md"] = "# OP_" + strings.ToUpper(name) + "\n* BREAK\n" + strings.Repeat("* x\n", tree.MaxNodes-1)
	}
	s, err := tree.Load(mapFS(files), "demo")
	if err != nil {
		t.Fatal(err)
	}
	nodes := 0
	for _, op := range s.Ops {
		if op.Tree != nil {
			tree.Walk(op.Tree.Nodes, func(*tree.Node) bool { nodes++; return true })
		}
	}
	if nodes != tree.MaxSkillNodes-1 || len(s.Findings) == 0 {
		t.Errorf("%d nodes, findings %v", nodes, s.Findings)
	}
}

// The older layout: an agent file, with its ops in a directory of the same name.
func TestLoadAgent(t *testing.T) {
	fsys := mapFS(map[string]string{
		"agents/deploy.md":         "---\nname: deploy\ndescription: d\n---\n## Tree\n* deploy\n  * SHIP\n",
		"agents/deploy/ops.md":     "## SHIP\n* SHIP\n  * go\n",
		"agents/deploy/x/data.txt": "x",
	})
	s, err := tree.LoadAgent(fsys, "agents/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	if s.File != "deploy.md" || s.Tree.Nodes[0].Kind != tree.Call || s.Op("SHIP").Tree.Label == nil {
		t.Errorf("file %s, tree %s", s.File, dump(s.Tree))
	}
	if f, err := s.FS.Open("x/data.txt"); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	if _, err := tree.LoadAgent(fsys, "agents/none.md"); !errors.Is(err, diag.Code("no_skill")) {
		t.Error(err)
	}
}

// Op files that are definitions of the same op are searched in a fixed order.
func TestOpOrder(t *testing.T) {
	all := []string{"references/ops.md", "references/ops/do-it.md", "ops.md", "ops/do-it.md"}
	for i := range all {
		files := map[string]string{"SKILL.md": front + "## Tree\n* DO_IT\n"}
		for _, name := range all[i:] {
			files[name] = "# DO_IT\n" + name + "\n"
		}
		s, err := tree.Load(mapFS(files), "demo")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Op("DO_IT").Prose; got != all[i] {
			t.Errorf("found in %s, want %s", got, all[i])
		}
	}
}
