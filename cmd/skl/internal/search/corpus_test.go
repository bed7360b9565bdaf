package search

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skl-project/skl/index/skillsearch"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/testdata/long"
)

// Skills are read and indexed once, and again after any change: of a text, of a set, of a name.
func TestCorpus(t *testing.T) {
	home, cache := t.TempDir(), t.TempDir()
	root := filepath.Join(home, ".agents", "skills")
	write := func(name, text string) {
		t.Helper()
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: "+name+"\ndescription: "+text+"\n---\n\n# "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		write(fmt.Sprintf("skill-%d", i), fmt.Sprintf("Handles case %d. Use when part %d of a page is missing.", i, i*7))
	}
	var c corpus
	ask := func() (*skillsearch.Searcher, skillsearch.Answer, time.Duration) {
		t.Helper()
		start := time.Now()
		l, err := roots.Discover(t.Context(), roots.Config{Home: home, Caches: roots.CachesIn(cache)})
		if err != nil {
			t.Fatal(err)
		}
		_, s, err := c.of(t.Context(), l)
		if err != nil || s == nil {
			t.Fatalf("%v, %v", s, err)
		}
		a := s.Search("rotate the zebra crossing", skillsearch.Context{})
		return s, a, time.Since(start)
	}
	first, _, cold := ask()
	time.Sleep(50 * time.Millisecond) // a cache does not believe what is younger than a tick of the clock
	ask()
	warm := time.Hour
	for range 5 {
		s, _, took := ask()
		if s != first {
			t.Fatal("skills that did not change were read again")
		}
		warm = min(warm, took)
	}
	t.Logf("the first answer took %v, a later one %v", cold, warm)
	if warm > long.Within(max(cold/2, 20*time.Millisecond)) {
		t.Errorf("the first answer took %v, a later one %v", cold, warm)
	}
	for _, change := range []func(){
		func() { write("skill-7", "Rotates a zebra crossing.") },
		func() { write("another", "Paints fences.") },
		func() {
			if err := os.RemoveAll(filepath.Join(root, "another")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		before, _, _ := ask()
		change()
		after, a, _ := ask()
		if after == before {
			t.Error("a change was not seen")
		}
		if len(a.Skills) == 0 || a.Skills[0].Name != "skill-7" {
			t.Errorf("found %+v", a.Skills)
		}
	}
}
