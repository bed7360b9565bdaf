package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/testdata/long"
)

// oracle answers every request by its path alone, after a pause that nobody can foresee.
type oracle struct {
	mu   sync.Mutex
	rand *rand.Rand // guarded by mu
}

func (o *oracle) Name() string { return "oracle" }
func (o *oracle) Capabilities() model.Capabilities {
	return model.Capabilities{Tools: true, Parallel: true}
}

func (o *oracle) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	o.mu.Lock()
	n := o.rand.IntN(20)
	o.mu.Unlock()
	for range n {
		runtime.Gosched()
	}
	h := fnv.New32a()
	h.Write([]byte(r.Path))
	sum := h.Sum32()
	if sum%7 == 0 && r.Call != nil {
		r.Call(ctx, "read", json.RawMessage(`{}`))
		r.Call(ctx, "write", json.RawMessage(`{"path":"`+r.Path+`"}`))
	}
	if sum%31 == 0 {
		return model.Reply{}, diag.New(diag.Failed, model.CodeRefused, "no")
	}
	reply := model.Reply{Text: "said at " + r.Path, Usage: model.Usage{Calls: 1, InputTokens: 1}}
	switch {
	case r.Purpose == model.Condition:
		reply.Value = json.RawMessage(fmt.Sprintf(`{"value":%v,"reason":"so"}`, sum%2 == 0))
	case r.Schema != nil:
		var schema struct {
			Required []string `json:"required"`
		}
		if err := json.Unmarshal(r.Schema, &schema); err != nil {
			return reply, err
		}
		object := map[string]any{}
		for _, key := range schema.Required {
			object[key] = key + " at " + r.Path
		}
		reply.Value, _ = json.Marshal(object)
	}
	return reply, nil
}

// grow writes a random tree.
type grower struct {
	*rand.Rand
	strings.Builder
	loops int
}

func (g *grower) line(level int, format string, args ...any) {
	fmt.Fprintf(g, "%s* %s\n", strings.Repeat("  ", level), fmt.Sprintf(format, args...))
}

func (g *grower) nodes(level, n int) {
	for range n {
		g.node(level)
	}
}

func (g *grower) node(level int) {
	pick := g.IntN(13)
	if level > 2 {
		pick = g.IntN(6)
	}
	name := func() string { return fmt.Sprintf("name_%d", g.IntN(6)) }
	switch pick {
	case 0:
		g.line(level, "bind %s = %d", name(), g.IntN(3))
	case 1:
		g.line(level, "Do something with `%s`", name())
	case 2:
		g.line(level, "Find out more >> %s", name())
	case 3:
		g.line(level, "LEAF << %s >> %s", name(), name())
	case 4:
		g.line(level, "**AGENT** << %s >> %s", name(), name())
	case 5:
		g.line(level, "Read `scripts/run.sh` >> %s", name())
	case 6, 7:
		cond := fmt.Sprintf("%s == %d", name(), g.IntN(3))
		switch g.IntN(3) {
		case 0:
			cond = fmt.Sprintf("the value of `%s` looks right", name())
		case 1:
			cond = name() + " is missing or empty"
		}
		g.line(level, "IF << %s", cond)
		g.nodes(level+1, 1+g.IntN(3))
		if g.IntN(2) == 0 {
			g.line(level, "ELSE")
			g.nodes(level+1, 1+g.IntN(2))
		}
	case 8:
		g.loops++
		g.line(level, "FOR_EACH << item_%d in [1, 2, 3]", g.loops)
		g.nodes(level+1, 1+g.IntN(3))
	case 9, 10:
		g.line(level, "PARALLEL")
		for range 2 + g.IntN(4) {
			g.node(level + 1)
		}
	case 11:
		g.line(level, "ASK << Which of %s? | one | two | three >> %s", name(), name())
	case 12:
		g.line(level, "TREE << %s >> %s", name(), name())
	}
}

const randomOps = `## LEAF << what >> result

Work on what was given.

## AGENT << what >> result

> **Subagent.** Output contract: ` + "`assets/schemas/any.json`" + `

AGENT << what
├── bind inner = what
├── IF << the value of ` + "`what`" + ` is odd
│   └── END no use
└── Work on ` + "`inner`" + `

## TREE << what >> result

TREE << what
├── PARALLEL
│   ├── Look left >> left
│   └── Look right >> right
├── IF << left failed
│   └── BREAK
└── bind result = what
`

func randomPlan(t testing.TB, seed uint64) *plan.Plan {
	t.Helper()
	g := &grower{Rand: rand.New(rand.NewPCG(seed, 1))}
	for i := range 6 {
		g.line(0, "bind name_%d = %d", i, i)
	}
	g.nodes(0, 3+g.IntN(4))
	files := fstest.MapFS{
		"SKILL.md":                {Data: []byte("---\nname: random\ndescription: Does things. Use when asked.\n---\n\n## Tree\n\n" + g.String() + "\n## Response: name_0 | mood\n")},
		"references/ops.md":       {Data: []byte(randomOps)},
		"scripts/run.sh":          {Data: []byte("echo")},
		"assets/schemas/any.json": {Data: []byte(`{"type":"object","required":["result"],"properties":{"result":{}}}`)},
	}
	skill, err := tree.Load(files, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(t.Context(), skill, plan.Options{NoLint: true})
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, g.String())
	}
	return p
}

func randomRunner(seed uint64) (*run.Runner, *project) {
	world := &project{files: map[string]string{}, scripts: map[string]string{"scripts/run.sh": "ran"}}
	return &run.Runner{Model: &oracle{rand: rand.New(rand.NewPCG(seed, 2))}, Tools: world, KeepEvents: true, Limits: run.Limits{Nodes: 3000},
		Answers: map[string]run.Answer{"Which of": {Text: "two"}}}, world
}

// A thousand random trees: the events do not depend on the order in which children of PARALLEL finish, the journal gives
// them again, and a run that is killed after any record goes on to the same end without doing anything twice.
func TestRandomTrees(t *testing.T) {
	trees := long.Of[uint64](30, 150, 1000)
	statuses := map[run.Status]int{}
	for seed := range trees {
		p := randomPlan(t, seed)
		r, _ := randomRunner(seed)
		var live []run.Event
		r.Events = func(e run.Event) { live = append(live, e) }
		journal := &run.Memory{}
		r.Journal = journal
		result, err := r.Run(t.Context(), p, "args")
		want := describe(result, err)
		statuses[result.Status]++
		if got := describe(withEvents(result, live), err); got != want {
			t.Fatalf("seed %d: live events in canonical order differ:\n%s\nwant\n%s", seed, got, want)
		}
		other, _ := randomRunner(seed + 1e6)
		if again, err := other.Run(t.Context(), p, "args"); describe(again, err) != want {
			t.Fatalf("seed %d: another order of completion, other events:\n%s\nwant\n%s", seed, describe(again, err), want)
		}
		records := journal.Records()
		replay := &run.Runner{KeepEvents: true, Limits: r.Limits}
		if again, err := replay.Replay(t.Context(), p, records); !sameRun(describe(again, err), want) {
			t.Fatalf("seed %d: the replay differs:\n%s\nwant\n%s", seed, describe(again, err), want)
		}
		cuts := rand.New(rand.NewPCG(seed, 3)).Perm(len(records))
		if seed >= 40 {
			cuts = cuts[:min(2, len(cuts))]
		}
		for _, cut := range cuts {
			if cut > 0 {
				resumeAfter(t, seed, p, records[:cut], want)
			}
		}
	}
	t.Log(statuses)
}

func withEvents(r run.Result, events []run.Event) run.Result {
	r.Events = events
	return r
}

func resumeAfter(t *testing.T, seed uint64, p *plan.Plan, records []run.Record, want string) {
	t.Helper()
	done := map[string]bool{}
	for _, rec := range records {
		if rec.Type == run.DoneRecord {
			done[rec.Key] = rec.Err == nil || rec.Acts
		}
	}
	r, _ := randomRunner(seed)
	r.Rerun = []string{"*"}
	journal := &run.Memory{}
	for _, rec := range records {
		journal.Append(rec, false)
	}
	r.Journal = journal
	result, err := r.Resume(t.Context(), p, records)
	if got := describe(result, err); got != want {
		t.Fatalf("seed %d: killed after record %d and resumed, the run differs:\n%s\nwant\n%s", seed, len(records), got, want)
	}
	for _, rec := range journal.Records()[len(records):] {
		if rec.Type == run.StartedRecord && done[rec.Key] {
			t.Fatalf("seed %d: killed after record %d, %s ran twice", seed, len(records), rec.Key)
		}
	}
	replay := &run.Runner{KeepEvents: true, Limits: r.Limits}
	if again, err := replay.Replay(t.Context(), p, journal.Records()); !sameRun(describe(again, err), want) {
		t.Fatalf("seed %d: after record %d, the journal of the resumed run replays differently:\n%s\nwant\n%s", seed, len(records), describe(again, err), want)
	}
}
