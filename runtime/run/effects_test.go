package run_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"testing/fstest"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/testdata/long"
)

// growOp writes the body of an op that may give its results or not: in branches and loops, by ops that it calls, by its last
// leaf, and with BREAK on the way.
func growOp(g *rand.Rand, b *strings.Builder, level, op, ops int) {
	name := func() string { return []string{"out", "more", "other", "name"}[g.IntN(4)] }
	line := func(format string, args ...any) {
		fmt.Fprintf(b, "%s* %s\n", strings.Repeat("  ", level), fmt.Sprintf(format, args...))
	}
	below := func() {
		for range 1 + g.IntN(2) {
			growOp(g, b, level+1, op, ops)
		}
	}
	pick := g.IntN(13)
	if level > 2 {
		pick = g.IntN(6)
	}
	switch pick {
	case 0, 1:
		line("bind %s = %d", name(), g.IntN(3))
	case 2:
		line("Do something")
	case 3:
		line("Find out >> %s", name())
	case 4:
		line("BREAK")
	case 5:
		if op+1 == ops {
			line("bind out = 1")
			break
		}
		call := fmt.Sprintf("OP_%d << %s", op+1+g.IntN(ops-op-1), name())
		if g.IntN(4) > 0 {
			call += " >> " + name()
		}
		line("%s", call)
	case 6, 7, 8:
		line("IF << the value of `%s` looks right", name())
		below()
		if g.IntN(2) == 0 {
			line("ELSE")
			below()
		}
	case 9:
		line("FOR_EACH << %s in [1, 2]", name())
		below()
	case 10:
		line("FOR_EACH << item in `list`")
		below()
	case 11:
		line("SWITCH << `%s`", name())
		fmt.Fprintf(b, "%s* CASE << 1\n", strings.Repeat("  ", level+1))
		growOp(g, b, level+2, op, ops)
	case 12:
		line("PARALLEL")
		for range 2 {
			fmt.Fprintf(b, "%s* Look around >> %s\n", strings.Repeat("  ", level+1), name())
		}
	}
}

// givingPlan is a skill whose ops have results of all kinds.
func givingPlan(t testing.TB, seed uint64) (*plan.Plan, string) {
	t.Helper()
	g := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	ops := 1 + g.IntN(4)
	for i := range ops {
		fmt.Fprintf(&b, "## OP_%d << %s%s\n\n* OP_%d\n", i, []string{"what", "name", "out"}[g.IntN(3)], []string{"", " >> out", " >> out | more", " >> other"}[g.IntN(4)], i)
		for range 1 + g.IntN(3) {
			growOp(g, &b, 1, i, ops)
		}
		b.WriteByte('\n')
	}
	main := "* Find the list >> list\n* OP_0 << 1 >> got\n* OP_0 << 2\n"
	s, err := tree.Load(fstest.MapFS{
		"SKILL.md":          {Data: []byte("---\nname: random\ndescription: Does things. Use when asked.\n---\n\n## Tree\n\n" + main)},
		"references/ops.md": {Data: []byte(b.String())},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(t.Context(), s, plan.Options{NoLint: true})
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, b.String())
	}
	return p, b.String()
}

var index = regexp.MustCompile(`\[\d+\]`)

// Whatever a run asks of its model, a dry run has listed: in loops without the index of the element.
func TestEffectsCoverRuns(t *testing.T) {
	long.Slow(t)
	asked, returns := 0, 0
	for seed := range uint64(2000) {
		p, text := givingPlan(t, seed)
		could := map[string]bool{}
		for _, e := range p.Effects("args") {
			if e.Kind == "model" {
				could[e.Mode+" "+index.ReplaceAllString(e.Path, "[*]")] = true
			}
		}
		r, _ := randomRunner(seed)
		result, _ := r.Run(t.Context(), p, "args")
		for _, e := range result.Events {
			if e.Kind != run.ModelCalled {
				continue
			}
			asked++
			if strings.HasSuffix(e.Path, "/return") {
				returns++
			}
			if what := e.Name + " " + index.ReplaceAllString(e.Path, "[*]"); !could[what] {
				t.Fatalf("seed %d: the run asks for %s, and the dry run does not list it:\n%s\n%v", seed, what, text, could)
			}
		}
	}
	t.Log(asked, "requests,", returns, "of them for the result of an op")
	if returns < 100 {
		t.Errorf("only %d requests put a result together", returns)
	}
}
