package tree_test

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/testdata/corpus"
)

// Each skill of the corpus has the nodes, ops and findings of testdata/corpus.txt,
// prints to itself, and formats to a fixed point. "go test -run Corpus -update"
// rewrites the table.
func TestCorpus(t *testing.T) {
	files := corpus.Files(t)
	entry := func(name string) bool { return corpus.IsEntry(name) || corpus.IsAgent(name) }
	dirs := corpus.Below(files, entry)
	for _, fsys := range dirs {
		for name, f := range maps.Clone(fsys) {
			fsys["agents/"+name] = f
		}
	}
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if entry(name) {
			entries = append(entries, name)
		}
	}
	var b strings.Builder
	b.WriteString("# nodes of the tree, ops, ops with a tree, nodes of these, findings by rule; - without a tree, ! with an error\n")
	for _, name := range entries {
		dir, base := path.Split(name)
		dir = path.Clean(dir)
		var s *tree.Skill
		var err error
		if strings.EqualFold(base, "skill.md") {
			s, err = tree.Load(dirs[dir], path.Base(dir))
		} else if s, err = tree.LoadAgent(dirs[dir], "agents/"+base); err == nil && s.Tree == nil {
			continue
		}
		if err != nil {
			fmt.Fprintf(&b, "%s ! %v\n", name, err)
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", name, counts(s))
		again(t, s)
	}
	golden(t, "testdata/corpus.txt", b.String())

	formatted := 0
	for name, f := range files {
		if path.Ext(name) != ".md" {
			continue
		}
		once, _ := tree.Format(f.Data, name)
		if twice, _ := tree.Format(once, name); !bytes.Equal(once, twice) {
			t.Errorf("%s is not formatted after once", name)
		}
		if !bytes.Equal(once, f.Data) {
			formatted++
		}
	}
	t.Logf("%d entry files; Format changes %d of %d files", len(entries), formatted, len(files))
}

func counts(s *tree.Skill) string {
	rules := map[string]int{}
	for _, f := range s.Findings {
		rules[f.Rule]++
	}
	own, inOps, trees := 0, 0, 0
	if s.Tree != nil {
		tree.Walk(s.Tree.Nodes, func(*tree.Node) bool { own++; return true })
	}
	for _, op := range s.Ops {
		if op.Tree != nil {
			trees++
			tree.Walk(op.Tree.Nodes, func(*tree.Node) bool { inOps++; return true })
		}
	}
	out := fmt.Sprint(own)
	if s.Tree == nil {
		out = "-"
	}
	out += fmt.Sprintf(" %d %d %d", len(s.Ops), trees, inOps)
	for _, r := range slices.Sorted(maps.Keys(rules)) {
		out += fmt.Sprintf(" %s:%d", r, rules[r])
	}
	return out
}
