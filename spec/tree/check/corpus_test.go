package check_test

import (
	"archive/tar"
	"compress/gzip"
	"flag"
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

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// corpus reads the shared snapshots of real skills: the files of each skill by the path of its entry file.
func corpus(tb testing.TB) map[string]*tree.Skill {
	tb.Helper()
	dir, err := os.Getwd()
	var f *os.File
	for ; err == nil && f == nil && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		f, _ = os.Open(filepath.Join(filepath.Dir(dir), "shared", "data", "canopy-corpus.tar.gz"))
	}
	if f == nil {
		if os.Getenv("SKL_TEST_REQUIRE") == "all" {
			tb.Fatal("shared/data/canopy-corpus.tar.gz is not beside the repository")
		}
		tb.Skip("skipped: shared/data/canopy-corpus.tar.gz is not beside the repository")
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	dirs := map[string]fstest.MapFS{}
	entries := map[string]bool{} // true for an agent file
	files := map[string]*fstest.MapFile{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			tb.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		name := path.Clean(h.Name)
		files[name] = &fstest.MapFile{Data: data}
		agent := path.Base(path.Dir(name)) == "agents" && path.Ext(name) == ".md"
		if base := path.Base(name); base == "SKILL.md" || base == "skill.md" && path.Base(path.Dir(name)) != "templates" || agent {
			entries[name] = agent
			dirs[path.Dir(name)] = fstest.MapFS{}
		}
	}
	for name, file := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if fsys := dirs[dir]; fsys != nil {
				fsys[strings.TrimPrefix(name, dir+"/")] = file
			}
		}
	}
	skills := map[string]*tree.Skill{}
	for name, agent := range entries {
		var s *tree.Skill
		if fsys := dirs[path.Dir(name)]; agent {
			s, err = tree.LoadAgent(fsys, path.Base(name))
		} else {
			s, err = tree.Load(fsys, path.Base(path.Dir(name)))
		}
		if err == nil {
			skills[name] = s
		}
	}
	return skills
}

// Every skill of the corpus has the findings of testdata/corpus.txt, by rule.
// "go test -run Corpus -update" rewrites the table.
func TestCorpus(t *testing.T) {
	skills := corpus(t)
	var b strings.Builder
	b.WriteString("# path, findings, of these errors, blocking ones, count by rule; skills without a tree and without findings are left out\n")
	verbose := os.Getenv("SKL_TEST_FINDINGS")
	for _, name := range slices.Sorted(maps.Keys(skills)) {
		found := check.Check(skills[name])
		if len(found) == 0 && skills[name].Tree == nil {
			continue
		}
		rules := map[string]int{}
		errors, blocking := 0, 0
		for _, f := range found {
			rules[f.Rule]++
			if f.Severity == diag.SeverityError {
				errors++
			}
			if check.Blocking(f) {
				blocking++
			}
			if verbose != "" && strings.Contains(f.Rule, verbose) {
				t.Logf("%s %s:%d:%d %s %s %s", name, f.File, f.Line, f.Column, f.Rule, f.Severity, f.Message)
			}
		}
		fmt.Fprintf(&b, "%s %d %d %d", name, len(found), errors, blocking)
		for _, r := range slices.Sorted(maps.Keys(rules)) {
			fmt.Fprintf(&b, " %s:%d", strings.TrimPrefix(r, "CNP-"), rules[r])
		}
		b.WriteByte('\n')
	}
	golden(t, "testdata/corpus.txt", b.String())
}

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
	if string(want) != got {
		w, g := strings.Split(string(want), "\n"), strings.Split(got, "\n")
		for i := range max(len(w), len(g)) {
			if i >= len(w) || i >= len(g) || w[i] != g[i] {
				t.Fatalf("%s differs from line %d on; go test -run %s -update rewrites it", name, i+1, t.Name())
			}
		}
	}
}
