package tree_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/tree"
)

// corpus reads the shared snapshots of real skills, as files of one file system.
func corpus(t *testing.T) fstest.MapFS {
	t.Helper()
	dir, err := os.Getwd()
	var f *os.File
	for ; err == nil && f == nil && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		f, _ = os.Open(filepath.Join(filepath.Dir(dir), "shared", "data", "canopy-corpus.tar.gz"))
	}
	if f == nil {
		if os.Getenv("SKL_TEST_REQUIRE") == "all" {
			t.Fatal("shared/data/canopy-corpus.tar.gz is not beside the repository")
		}
		t.Skip("skipped: shared/data/canopy-corpus.tar.gz is not beside the repository")
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[path.Clean(h.Name)] = &fstest.MapFile{Data: data}
	}
}

// Each skill of the corpus has the nodes, ops and findings of testdata/corpus.txt,
// prints to itself, and formats to a fixed point. "go test -run Corpus -update"
// rewrites the table.
func TestCorpus(t *testing.T) {
	files := corpus(t)
	dirs := map[string]fstest.MapFS{} // by directory of an entry file
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		agent := path.Base(path.Dir(name)) == "agents" && path.Ext(name) == ".md"
		if base := path.Base(name); base == "SKILL.md" || base == "skill.md" && path.Base(path.Dir(name)) != "templates" || agent {
			entries = append(entries, name)
			dirs[path.Dir(name)] = fstest.MapFS{}
		}
	}
	for name, f := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if fsys := dirs[dir]; fsys != nil {
				fsys[strings.TrimPrefix(name, dir+"/")] = f
				fsys["agents/"+strings.TrimPrefix(name, dir+"/")] = f
			}
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
