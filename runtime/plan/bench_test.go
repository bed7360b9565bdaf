package plan_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/testdata/growth"
)

// wide is a skill with about n nodes of all kinds, a tenth of them in ops.
func wide(n int) fstest.MapFS {
	var body, ops strings.Builder
	nodes := 0
	for i := 0; nodes < n; i++ {
		fmt.Fprintf(&body, `* STEP_%d << "x" >> result_%d
* IF << result_%d == "done" AND $ARGUMENTS is not empty
  * Write down result_%d
* ELSE_IF << the result looks odd
  * bind odd_%d = "yes"
* ELSE
  * Read `+"`assets/constants/a.md`"+` → § Limits >> limits
  * FOR_EACH << item in result_%d
    * Look at item
`, i, i, i, i, i, i)
		fmt.Fprintf(&ops, "## STEP_%d << what >> result_%d\n\n* Do what\n* LOG << what\n\n", i, i)
		nodes += 11
	}
	ops.WriteString("## LOG << what\n\nWrite it to the log.\n")
	return fstest.MapFS{
		"SKILL.md":              {Data: []byte("---\nname: wide\ndescription: Has many nodes.\n---\n\n## Tree\n\n" + body.String())},
		"references/ops.md":     {Data: []byte(ops.String())},
		"assets/constants/a.md": {Data: []byte("# Limits\n\n1\n")},
	}
}

// How long does a run of a big skill wait before its first step? At most 100 ms for 10,000 nodes.
func BenchmarkNew(b *testing.B) {
	for _, nodes := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			s := load(b, wide(nodes), "wide")
			var p *plan.Plan
			for b.Loop() {
				var err error
				if p, err = plan.New(b.Context(), s, plan.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			count := 0
			for range p.Nodes() {
				count++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/node")
		})
	}
}

func BenchmarkEffects(b *testing.B) {
	p, err := plan.New(b.Context(), load(b, wide(10_000), "wide"), plan.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.ReportMetric(float64(len(p.Effects("x"))), "effects")
	}
}

// Twice the nodes take about twice the time and memory, not four times.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	bytes := map[int]uint64{}
	skills := map[int]*tree.Skill{}
	for _, nodes := range []int{2_000, 16_000} {
		skills[nodes] = load(t, wide(nodes), "wide")
	}
	work := func(nodes int) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := plan.New(t.Context(), skills[nodes], plan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.Effects("x")
		runtime.ReadMemStats(&after)
		bytes[nodes] = after.TotalAlloc - before.TotalAlloc
	}
	work(2_000)
	small, big := growth.Times(2_000, 8, 40, 0, work) // 8 if linear, 64 if quadratic
	smallBytes, bigBytes := bytes[2_000], bytes[16_000]
	t.Logf("%v and %d KiB for 2,000 nodes, %v and %d KiB for 16,000", small, smallBytes>>10, big, bigBytes>>10)
	if big > 40*small {
		t.Errorf("8 times the nodes take %v instead of %v", big, small)
	}
	if bigBytes > 20*smallBytes {
		t.Errorf("8 times the nodes take %d KiB instead of %d", bigBytes>>10, smallBytes>>10)
	}
}

// Ops that call each other many times make a walk that would never end: it is cut, and says so.
func TestEffectsAreBounded(t *testing.T) {
	var ops strings.Builder
	for i := range 30 {
		fmt.Fprintf(&ops, "## OP_%d << n\n\n* OP_%d << 1\n* OP_%d << 2\n* Do it\n\n", i, i+1, i+1)
	}
	ops.WriteString("## OP_30 << n\n\nDone.\n")
	p, err := plan.New(t.Context(), load(t, fstest.MapFS{
		"SKILL.md":          {Data: []byte("---\nname: wide\ndescription: Has many nodes.\n---\n\n## Tree\n\n* OP_0 << 1\n")},
		"references/ops.md": {Data: []byte(ops.String())},
	}, "wide"), plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	notes := 0
	effects := p.Effects("")
	for _, e := range effects {
		if e.Kind == "note" {
			notes++
		}
	}
	if len(effects) > plan.MaxVisits+1 || notes != 1 {
		t.Errorf("%d effects, %d notes", len(effects), notes)
	}
}
