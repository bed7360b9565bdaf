package run_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"testing/fstest"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/testdata/long"
)

// instant answers at once.
type instant struct{}

func (instant) Name() string                     { return "instant" }
func (instant) Capabilities() model.Capabilities { return model.Capabilities{Parallel: true} }
func (instant) Fill(_ context.Context, r model.Request) (model.Reply, error) {
	return model.Reply{Text: "x", Value: []byte(`{"x":1}`)}, nil
}

func planOf(tb testing.TB, body, ops string) *plan.Plan {
	tb.Helper()
	files := fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: bench\ndescription: Does things. Use when asked.\n---\n\n## Tree\n\n" + body)}}
	if ops != "" {
		files["references/ops.md"] = &fstest.MapFile{Data: []byte(ops)}
	}
	files["assets/templates/note.md"] = &fstest.MapFile{Data: []byte("A note.\n")}
	skill, err := tree.Load(files, "")
	if err != nil {
		tb.Fatal(err)
	}
	p, err := plan.New(context.Background(), skill, plan.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// wide is a tree of n nodes: bindings, conditions, calls of an op.
func wide(n int) (body, ops string) {
	var b strings.Builder
	b.WriteString("* bind mode = 1\n")
	for i := 1; i < n; i += 5 {
		fmt.Fprintf(&b, "* bind b = %d\n* IF << mode == 1\n  * bind c = \"text\"\n* ELSE\n  * bind d = 2\n", i)
	}
	return b.String(), ""
}

// How much does the interpreter add to each node? The limit is 20 µs.
func BenchmarkNode(b *testing.B) {
	body, ops := wide(10_000)
	p := planOf(b, body, ops)
	for _, events := range []bool{false, true} {
		b.Run(fmt.Sprintf("events=%v", events), func(b *testing.B) {
			r := run.Runner{}
			if events {
				r.Events = func(run.Event) {}
			}
			for b.Loop() {
				if result, err := r.Run(b.Context(), p, ""); err != nil || result.Status != run.OK {
					b.Fatal(result.Status, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/node")
		})
	}
}

// How long does a PARALLEL of 64 children take that answer at once? The limit is 10 ms.
func BenchmarkParallel64(b *testing.B) {
	body := "* PARALLEL\n" + strings.Repeat("  * Find it >> x\n", 64)
	p := planOf(b, body, "")
	for b.Loop() {
		r := run.Runner{Model: instant{}, Journal: &run.Memory{}}
		if result, err := r.Run(b.Context(), p, ""); err != nil || result.Status != run.OK {
			b.Fatal(result.Status, err)
		}
	}
}

// How long does a resumption take to walk through 1,000 leaves that are done?
func BenchmarkResume(b *testing.B) {
	p := planOf(b, strings.Repeat("* Find it >> x\n", 1000), "")
	journal := &run.Memory{}
	r := run.Runner{Model: instant{}, Journal: journal}
	if _, err := r.Run(b.Context(), p, ""); err != nil {
		b.Fatal(err)
	}
	records := journal.Records()
	for b.Loop() {
		again := run.Runner{}
		if result, err := again.Replay(b.Context(), p, records); err != nil || result.Status != run.OK {
			b.Fatal(result.Status, err)
		}
	}
}

// The budget of the issue, coarsely, so that a change of order shows in every test run.
func TestSpeed(t *testing.T) {
	long.Slow(t)
	body, ops := wide(10_000)
	p := planOf(t, body, ops)
	perNode := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if result, err := (&run.Runner{}).Run(context.Background(), p, ""); err != nil || result.Status != run.OK {
				b.Fatal(err)
			}
		}
	}).NsPerOp() / 10_000
	if perNode > 20_000 {
		t.Errorf("%d ns per node, more than 20 µs", perNode)
	}
	t.Logf("%d ns per node", perNode)
}

// Memory is linear in the tree: ten times the nodes take not much more than ten times the bytes.
func TestMemory(t *testing.T) {
	bytes := func(n int) uint64 {
		body, ops := wide(n)
		p := planOf(t, body, ops)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := (&run.Runner{}).Run(t.Context(), p, ""); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := bytes(1_500), bytes(15_000)
	if large > 15*small {
		t.Errorf("%d bytes for 1,500 nodes, %d for 15,000", small, large)
	}
}
