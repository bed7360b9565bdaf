package sqlite

import (
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/skillsearch"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/testdata/long"
)

// An ask is a question and the name of the skill that is right.
type ask struct{ text, right string }

// TestQuality publishes 416 real skills, from whose descriptions what they say about when to use them was taken out, and
// asks for each by the first such sentence. The half of the names that nothing was tuned on has to be found. With -v it says
// which of the other half is not.
//
// Of those that are judged, 0.11 come among the first three if a skill must have all words, and 0.94 since some are enough.
func TestQuality(t *testing.T) {
	long.Slow(t)
	s := openTest(t, filepath.Join(t.TempDir(), "meta.db"), Options{})
	releases := corpus(t)
	var tuning, held []ask
	for i, r := range releases {
		c := skillsearch.ReadClauses(r.Description)
		if len(c.When) == 0 || len(strings.Fields(c.When[0])) < 6 {
			continue // nothing is asked
		}
		releases[i].Description = c.What
		if a := (ask{c.When[0], r.Name}); judging(r.Name) {
			held = append(held, a)
		} else {
			tuning = append(tuning, a)
		}
	}
	if err := s.Update(t.Context(), func(tx *meta.Tx) error {
		for _, r := range releases {
			if err := tx.CreateRelease(t.Context(), r); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	first, third := recall(t, s, tuning)
	t.Logf("%d sentences for tuning: recall@1 %.3f, recall@3 %.3f", len(tuning), first, third)
	first, third = recall(t, s, held)
	t.Logf("%d sentences for judging: recall@1 %.3f, recall@3 %.3f", len(held), first, third)
	if third < 0.9 {
		t.Errorf("recall@3 is %.3f, want 0.9", third)
	}
}

// recall returns the shares of asks whose skill comes first, and among the first three.
func recall(t *testing.T, s *store, asks []ask) (first, third float64) {
	for _, a := range asks {
		var names []string
		if err := s.View(t.Context(), func(tx *meta.Tx) error {
			m, err := tx.Search(t.Context(), meta.Search{Text: a.text, Limit: 3})
			for _, k := range m.Skills {
				names = append(names, k.Name)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		switch slices.Index(names, a.right) {
		case 0:
			first++
			third++
		case 1, 2:
			third++
		default:
			if testing.Verbose() && !judging(a.right) {
				t.Logf("%s: %.120q finds %v", a.right, a.text, names)
			}
		}
	}
	n := float64(max(len(asks), 1))
	return first / n, third / n
}

// judging reports whether a name belongs to the half that nothing is tuned on; it is the half of index/skillsearch.
func judging(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()%2 == 0
}

// corpus returns the skills of two public repositories, which lie beside this one, as releases.
func corpus(tb testing.TB) []meta.Release {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("git is not here")
	}
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	var all []meta.Release
	for _, name := range []string{"awesome-copilot", "superpowers"} {
		from, to := beside(dir, name+".bundle"), filepath.Join(tb.TempDir(), name)
		if from == "" {
			tb.Skipf("no %s.bundle beside the repository", name)
		}
		if out, err := exec.Command("git", "clone", "--quiet", from, to).CombinedOutput(); err != nil {
			tb.Fatalf("%v: %s", err, out)
		}
		files, err := filepath.Glob(filepath.Join(to, "skills", "*", skill.FileName))
		if err != nil {
			tb.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			d, err := skill.Read(src)
			if err != nil || d.Name == "" {
				continue
			}
			body := src[min(d.Body, len(src)):]
			all = append(all, meta.Release{Namespace: name, Name: filepath.Base(filepath.Dir(file)), Version: "1.0.0", State: meta.Approved, Description: d.Description,
				Text: strings.ToValidUTF8(string(body[:min(len(body), 8<<10)]), ""), LogIndex: -1})
		}
	}
	return all
}

// beside finds a file of test data above dir, or returns "".
func beside(dir, name string) string {
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "shared", "data", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
