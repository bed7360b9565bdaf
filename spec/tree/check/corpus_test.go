package check_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/testdata/corpus"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// published are the skills of the snapshots, by the path of the entry file.
func published(tb testing.TB) map[string]*tree.Skill {
	tb.Helper()
	files := corpus.Files(tb)
	entry := func(name string) bool { return corpus.IsEntry(name) || corpus.IsAgent(name) }
	dirs := corpus.Below(files, entry)
	skills := map[string]*tree.Skill{}
	for name := range files {
		if !entry(name) {
			continue
		}
		load, base := tree.Load, path.Base(path.Dir(name))
		if corpus.IsAgent(name) {
			load, base = tree.LoadAgent, path.Base(name)
		}
		if s, err := load(dirs[path.Dir(name)], base); err == nil {
			skills[name] = s
		}
	}
	return skills
}

// Every skill of the corpus has the findings of testdata/corpus.txt, by rule.
// "go test -run Corpus -update" rewrites the table.
func TestCorpus(t *testing.T) {
	skills := published(t)
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
