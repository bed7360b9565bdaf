package cond_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/testdata/corpus"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// The share of conditions in released skills that no model has to decide. The counts are kept, so
// that a change of the grammar is a line in a diff.
func TestShareDecidedWithoutModel(t *testing.T) {
	skills := published(t)
	count, answers := map[string]int{}, map[string]int{}
	for _, s := range skills {
		var conds []string
		options := map[string]bool{}
		nodes := func(tr *tree.Tree) {
			if tr == nil {
				return
			}
			tree.Walk(tr.Nodes, func(n *tree.Node) bool {
				if n.Kind == tree.If || n.Kind == tree.ElseIf {
					conds = append(conds, n.Cond)
				}
				for _, o := range n.Options {
					options[strings.ToLower(o)] = true
				}
				return true
			})
		}
		nodes(s.Tree)
		for _, op := range s.Ops {
			nodes(op.Tree)
		}
		for _, c := range conds {
			count[c]++
			// Natural language that is an option of the skill is a test of its answer.
			if options[strings.ToLower(cond.Option(cond.Parse(c)))] {
				answers[c]++
			}
		}
	}
	total, decided, distinct := 0, 0, 0
	kinds := map[string]int{}
	var left []string
	for text, n := range count {
		e := cond.Parse(text)
		if again := cond.Parse(e.String()); !reflect.DeepEqual(e, again) {
			t.Errorf("%q parses to %#v and then to %#v", text, e, again)
		}
		total += n
		kinds[strings.TrimPrefix(reflect.TypeOf(e).String(), "cond.")] += n
		if cond.Model(e) && answers[text] < n {
			decided += answers[text]
			left = append(left, fmt.Sprintf("%4d %s", n-answers[text], text))
			continue
		}
		decided += n
		distinct++
	}
	if total == 0 {
		t.Fatal("no conditions found")
	}
	share := 100 * float64(decided) / float64(total)
	var b strings.Builder
	fmt.Fprintf(&b, "skills %d\n", len(skills))
	fmt.Fprintf(&b, "conditions %d, without a model %d (%.1f %%)\n", total, decided, share)
	fmt.Fprintf(&b, "distinct %d, without a model %d (%.1f %%)\n", len(count), distinct, 100*float64(distinct)/float64(len(count)))
	for _, k := range slices.Sorted(func(yield func(string) bool) {
		for k := range kinds {
			if !yield(k) {
				return
			}
		}
	}) {
		fmt.Fprintf(&b, "%s %d\n", k, kinds[k])
	}
	slices.Sort(left)
	t.Logf("%sfor a model:\n%s", b.String(), strings.Join(left, "\n"))
	if share < 59 {
		t.Errorf("%.1f %% are decided without a model, the goal is 59", share)
	}
	golden := filepath.Join("testdata", "corpus.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != b.String() {
		t.Errorf("%s differs (%v); go test -update writes it. Now:\n%s", golden, err, b.String())
	}
}

// published are the skills of the snapshots that have a tree.
func published(t *testing.T) []*tree.Skill {
	t.Helper()
	dirs := corpus.Below(corpus.Files(t), func(name string) bool { return strings.EqualFold(path.Base(name), "SKILL.md") })
	var out []*tree.Skill
	for d, fsys := range dirs {
		s, err := tree.Load(fsys, path.Base(d))
		if err != nil {
			t.Logf("%s: %v", d, err)
			continue
		}
		if s.Tree != nil {
			out = append(out, s)
		}
	}
	return out
}
