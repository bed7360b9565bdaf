package refactor_test

import (
	"fmt"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/author/refactor"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/testdata/corpus"
)

// snapshots are the skills of each state of each repository, and those of all states of one together, which have much alike.
func snapshots(tb testing.TB) map[string]skills {
	files := corpus.Files(tb)
	out := map[string]skills{}
	add := func(snapshot, name string, fsys fstest.MapFS) {
		if out[snapshot] == nil {
			out[snapshot] = skills{}
		}
		memory := bundle.Memory{}
		for file, f := range fsys {
			memory[file] = bundle.MemoryFile{Data: f.Data, Executable: f.Mode&0o100 != 0}
		}
		out[snapshot][name] = memory
	}
	for dir, fsys := range corpus.Below(files, func(name string) bool { return path.Base(name) == "SKILL.md" }) {
		repository, rest, _ := strings.Cut(dir, "/")
		commit, _, _ := strings.Cut(rest, "/")
		add(repository+"/"+commit, path.Base(dir), fsys)
		add(repository, path.Base(dir)+"-"+commit, fsys)
	}
	return out
}

// Find runs over the skills of each snapshot of the corpus, says the same twice, and Extract keeps the rules.
func TestCorpus(t *testing.T) {
	found, conflicts, left := 0, 0, map[string]int{}
	for name, given := range snapshots(t) {
		r, err := refactor.Find(given.systems(), 2)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := refactor.Find(given.systems(), 2); err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("%s: a second Find differs: %v", name, err)
		}
		if found += len(r.Candidates); testing.Verbose() && len(r.Candidates)+len(r.Conflicts)+len(r.Left) > 0 {
			t.Logf("%s\n%s", name, show(r))
		}
		conflicts += len(r.Conflicts)
		for _, a := range r.Left {
			left[a.Kind]++
		}
		e, err := refactor.Extract(given.systems(), r, "shared-lib")
		if (err == nil) != (len(r.Candidates) > 0) || len(e.Moved) != len(r.Candidates) {
			t.Errorf("%s: %d candidates, %d moved, %v", name, len(r.Candidates), len(e.Moved), err)
		}
		if err == nil {
			rules(t, given, r, e, "shared-lib", 2)
		}
	}
	if found == 0 {
		t.Error("nothing is alike")
	}
	t.Logf("%d candidates moved, %d conflicts, left %v", found, conflicts, left)
}

// How long does a person wait for the comparison of a hundred skills?
func BenchmarkFind(b *testing.B) {
	given := skills{}
	bytes := 0
	for i := range 100 {
		var ops strings.Builder
		for n := range 20 {
			fmt.Fprintf(&ops, "## OP_%d << x >> y\n\n* OP_%d << x >> y\n  * IF << x is empty\n    * END Nothing.\n  * Read `references/f%d.md` >> y\n\n", n, n, n)
		}
		files := bundle.Memory{"references/ops.md": {Data: []byte(ops.String())}}
		steps := ""
		for n := range 20 {
			steps += fmt.Sprintf("* OP_%d << \"x\" >> y%d\n", n, n)
			files[fmt.Sprintf("references/f%d.md", n)] = bundle.MemoryFile{Data: []byte(strings.Repeat("Some text.\n", 100))}
		}
		name := fmt.Sprintf("skill-%d", i)
		files["SKILL.md"] = bundle.MemoryFile{Data: []byte("---\nname: " + name + "\ndescription: d\n---\n\n## Tree\n\n" + steps)}
		given[name] = files
		for _, f := range files {
			bytes += len(f.Data)
		}
	}
	systems := given.systems()
	b.SetBytes(int64(bytes))
	for b.Loop() {
		r, err := refactor.Find(systems, 0)
		if err != nil || len(r.Candidates) != 20 {
			b.Fatal(len(r.Candidates), err, show(r))
		}
	}
}
