package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

func isCode(err error, code string) bool { return errors.Is(err, diag.Code(code)) }

// suspendResume: a question without an answer suspends; the answer finishes the run, and nothing before it runs again.
func TestSuspendAndResume(t *testing.T) {
	p := planOf(t, "* Find it >> x\n* ASK << Go on with <x>? | Yes | No\n* IF << Yes\n  * Use `x` >> y\n", "")
	m := newScripted(`0 = {"x":"a"}` + "\n" + `2/0 = {"y":"b"}`)
	journal := &run.Memory{}
	r := run.Runner{Model: m, Journal: journal}
	result, err := r.Run(t.Context(), p, "")
	if err != nil || result.Status != run.Suspended || result.ExitCode != 5 || result.Pending == nil || result.Pending.Question != "Go on with a?" {
		t.Fatalf("%+v, %v", result, err)
	}
	again := run.Runner{Model: m, Journal: journal, Answers: map[string]run.Answer{result.Pending.ID: {Text: "yes", How: "file"}}}
	result, err = again.Resume(t.Context(), p, journal.Records())
	if err != nil || result.Status != run.OK || result.Bindings["y"] != "b" || result.Pending != nil {
		t.Fatalf("%+v, %v", result, err)
	}
	if m.served["0"] != 1 || result.Usage.Calls != 2 {
		t.Errorf("the first leaf was asked %d times, usage %+v", m.served["0"], result.Usage)
	}
}

// A child of PARALLEL that waits: its siblings are done once, and the block is finished after the answer.
func TestParallelWaits(t *testing.T) {
	p := planOf(t, "* PARALLEL\n  * One >> a\n  * CONFIRM >> b\n* bind c = b\n", "## CONFIRM >> b\n\n* ASK << Really? | Yes | No >> b\n")
	m := newScripted(`0/0 = {"a":1}`)
	journal := &run.Memory{}
	r := run.Runner{Model: m, Journal: journal}
	result, err := r.Run(t.Context(), p, "")
	if err != nil || result.Status != run.Suspended || result.Pending.ID != "0/1>CONFIRM/0" {
		t.Fatalf("%+v, %v", result, err)
	}
	r.Ask = func(_ context.Context, q run.Question) (run.Answer, error) { return run.Answer{Text: "y"}, nil }
	result, err = r.Resume(t.Context(), p, journal.Records())
	if err != nil || result.Status != run.OK || result.Bindings["c"] != "Yes" || m.served["0/0"] != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
}

// The person is asked again after an answer that is no option, and nobody there suspends.
func TestAsk(t *testing.T) {
	p := planOf(t, "* ASK << Which? | one | two >> x\n", "")
	said := []string{"three", "", "TWO"}
	r := run.Runner{Ask: func(context.Context, run.Question) (run.Answer, error) {
		text := said[0]
		said = said[1:]
		return run.Answer{Text: text}, nil
	}}
	if result, err := r.Run(t.Context(), p, ""); err != nil || result.Bindings["x"] != "two" {
		t.Errorf("%+v, %v", result, err)
	}
	r.Ask = func(context.Context, run.Question) (run.Answer, error) { return run.Answer{}, run.ErrNoAnswer }
	if result, err := r.Run(t.Context(), p, ""); err != nil || result.Status != run.Suspended {
		t.Errorf("%+v, %v", result, err)
	}
}

// A run that failed is tried again at the leaf that failed.
func TestResumeAfterFailure(t *testing.T) {
	p := planOf(t, "* One >> a\n* Two >> b\n", "")
	m := newScripted(`0 = {"a":1}` + "\n1 ! model_unavailable overloaded\n" + `1 = {"b":2}`)
	journal := &run.Memory{}
	r := run.Runner{Model: m, Journal: journal}
	result, err := r.Run(t.Context(), p, "")
	if !isCode(err, model.CodeUnavailable) || result.Status != run.Failed || result.ExitCode != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	result, err = r.Resume(t.Context(), p, journal.Records())
	if err != nil || result.Status != run.OK || result.Bindings["b"] != float64(2) || m.served["0"] != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
}

// An effect that acts, and was begun without being seen to end, is not begun again without consent; a leaf that only
// read is.
func TestUnfinishedEffects(t *testing.T) {
	cases := []struct {
		name, file string
		keep       func(run.Record) bool // the last record that the interrupted process wrote
		refused    bool
	}{
		{"script", "read_scripts", func(r run.Record) bool { return r.Type == run.StartedRecord && r.Kind == "script" }, true},
		{"tool of an op", "tool_op", func(r run.Record) bool { return r.Type == run.StartedRecord && r.Kind == "tool" && r.Acts }, true},
		{"tool of an op that reads", "tool_op", func(r run.Record) bool { return r.Type == run.StartedRecord && r.Kind == "tool" }, false},
		{"leaf that wrote", "tools", func(r run.Record) bool { return r.Type == run.ToolStarted && r.Acts }, true},
		{"leaf that read", "tools", func(r run.Record) bool { return r.Type == run.ToolStarted && !r.Acts }, false},
		{"leaf that did nothing yet", "tools", func(r run.Record) bool { return r.Type == run.StartedRecord }, false},
		{"file not yet written", "read_categories", func(r run.Record) bool { return r.Type == run.StartedRecord && r.Kind == "write" }, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, "testdata/"+c.file+".txtar")
			r, _, _ := f.world(t)
			journal := &run.Memory{}
			r.Journal = journal
			if _, err := r.Run(t.Context(), f.plan, f.args); err != nil {
				t.Fatal(err)
			}
			records := journal.Records()
			records = records[:slices.IndexFunc(records, c.keep)+1]
			r, m, world := f.world(t)
			for _, rec := range records {
				if rec.Type == run.DoneRecord && rec.Kind == "model" {
					m.skip(rec.Key)
				}
			}
			result, err := r.Resume(t.Context(), f.plan, records)
			if !c.refused {
				if err != nil || result.Status != run.OK {
					t.Fatalf("%+v, %v", result, err)
				}
				return
			}
			if !isCode(err, run.CodeUnfinished) || result.Status != run.Suspended || result.ExitCode != 5 || len(world.acted) > 0 {
				t.Fatalf("%+v, %v, acted %q", result, err, world.acted)
			}
			r.Rerun = []string{records[len(records)-1].Key[:strings.IndexByte(records[len(records)-1].Key, '!')]}
			if result, err = r.Resume(t.Context(), f.plan, records); err != nil || result.Status != run.OK || len(world.acted) == 0 {
				t.Fatalf("with consent: %+v, %v, acted %q", result, err, world.acted)
			}
		})
	}
}

// A file that has just the bytes that were to be written was written: that needs no consent, and it is not written again.
func TestUnfinishedWriteThatHappened(t *testing.T) {
	f := load(t, "testdata/read_categories.txtar")
	r, _, world := f.world(t)
	journal := &run.Memory{}
	r.Journal = journal
	if _, err := r.Run(t.Context(), f.plan, f.args); err != nil {
		t.Fatal(err)
	}
	records := journal.Records()
	records = records[:slices.IndexFunc(records, func(r run.Record) bool { return r.Type == run.StartedRecord && r.Kind == "write" })+1]
	text := world.files["notes/pdf.md"]
	r, _, world = f.world(t)
	world.files["notes/pdf.md"] = text
	if result, err := r.Resume(t.Context(), f.plan, records); err != nil || result.Status != run.OK || len(world.acted) > 0 {
		t.Fatalf("%+v, %v, acted %q", result, err, world.acted)
	}
}

// A run that wants something else than its journal has stops, and names the node.
func TestDivergence(t *testing.T) {
	p := planOf(t, "* One >> a\n* Two >> b\n* Three >> c\n", "")
	m := newScripted("* = {\"a\":1,\"b\":2,\"c\":3}")
	journal := &run.Memory{}
	r := run.Runner{Model: m, Journal: journal}
	if _, err := r.Run(t.Context(), p, ""); err != nil {
		t.Fatal(err)
	}
	change := func(f func([]run.Record) []run.Record) []run.Record { return f(slices.Clone(journal.Records())) }
	at := func(key string, typ run.RecordType) int {
		return slices.IndexFunc(journal.Records(), func(r run.Record) bool { return r.Key == key && r.Type == typ })
	}
	for name, records := range map[string][]run.Record{
		"other input":    change(func(r []run.Record) []run.Record { r[at("1!0", run.DoneRecord)].Digest = "x"; return r }),
		"other kind":     change(func(r []run.Record) []run.Record { r[at("1!0", run.DoneRecord)].Kind = "script"; return r }),
		"one is missing": change(func(r []run.Record) []run.Record { i := at("1!0", run.StartedRecord); return slices.Delete(r, i, i+2) }),
	} {
		_, err := (&run.Runner{}).Replay(t.Context(), p, records)
		if !isCode(err, run.CodeDiverged) || !strings.Contains(err.Error(), "SKILL.md#/1") {
			t.Errorf("replay, %s: %v", name, err)
		}
		if _, err := (&run.Runner{Model: m}).Resume(t.Context(), p, records); !isCode(err, run.CodeDiverged) {
			t.Errorf("resume, %s: %v", name, err)
		}
	}
	more := change(func(r []run.Record) []run.Record {
		extra := r[at("2!0", run.DoneRecord)]
		extra.Key = "7!0"
		return slices.Insert(r, 3, extra)
	})
	if _, err := (&run.Runner{}).Replay(t.Context(), p, more); !isCode(err, run.CodeDiverged) {
		t.Errorf("an effect too many: %v", err)
	}
	other := planOf(t, "* One >> a\n* Two >> b\n* Four >> c\n", "")
	if _, err := (&run.Runner{}).Replay(t.Context(), other, journal.Records()); !isCode(err, run.CodePlan) || diag.ClassOf(err) != diag.Refused {
		t.Errorf("another skill: %v", err)
	}
	if _, err := (&run.Runner{AnyPlan: true}).Replay(t.Context(), other, journal.Records()); !isCode(err, run.CodeDiverged) {
		t.Errorf("another skill, forced: %v", err)
	}
}

// In a replay, a value that is set changes what follows: what still has the same input comes from the journal, the rest is live or an error.
func TestReplaySet(t *testing.T) {
	p := planOf(t, "* One >> a\n* Two with `a` >> b\n* Three >> c\n", "")
	m := newScripted("0 = {\"a\":1}\n1 = {\"b\":2}\n1 = {\"b\":20}\n2 = {\"c\":3}")
	journal := &run.Memory{}
	r := run.Runner{Model: m, Journal: journal}
	if _, err := r.Run(t.Context(), p, ""); err != nil {
		t.Fatal(err)
	}
	set := map[string]json.RawMessage{"SKILL.md#/0": json.RawMessage("10")}
	if _, err := (&run.Runner{Set: set}).Replay(t.Context(), p, journal.Records()); !isCode(err, run.CodeDiverged) {
		t.Errorf("without a model: %v", err)
	}
	result, err := (&run.Runner{Set: set, Model: m}).Replay(t.Context(), p, journal.Records())
	if err != nil || result.Bindings["a"] != float64(10) || result.Bindings["b"] != float64(20) || result.Bindings["c"] != float64(3) || m.served["2"] != 1 {
		t.Errorf("%+v, %v", result.Bindings, err)
	}
	result, err = (&run.Runner{Until: "1"}).Replay(t.Context(), p, journal.Records())
	if err != nil || result.Status != run.Suspended || result.Bindings["c"] != nil || result.Bindings["b"] == nil {
		t.Errorf("until: %+v, %v", result, err)
	}
}

// Out of budget is a suspension; a bigger budget goes on where the run stopped.
func TestBudgets(t *testing.T) {
	p := planOf(t, strings.Repeat("* Do it\n", 5), "")
	for name, limits := range map[string][2]run.Limits{
		"calls":   {{Calls: 2}, {Calls: 10}},
		"tokens":  {{Tokens: 40}, {Tokens: 1000}},
		"nodes":   {{Nodes: 3}, {Nodes: 10}},
		"dollars": {{Dollars: 0.25}, {Dollars: 10}},
	} {
		m := priced{newScripted("* = done")}
		journal := &run.Memory{}
		r := run.Runner{Model: m, Journal: journal, Limits: limits[0]}
		result, err := r.Run(t.Context(), p, "")
		if err != nil || result.Status != run.Suspended || result.ExitCode != 5 || result.Pending != nil || !strings.HasPrefix(result.Message, "out of budget, "+name) {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		r.Limits = limits[1]
		if result, err = r.Resume(t.Context(), p, journal.Records()); err != nil || result.Status != run.OK || result.Usage.Calls != 5 {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

type priced struct{ *scripted }

func (p priced) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	reply, err := p.scripted.Fill(ctx, r)
	reply.Usage.Dollars = 0.1
	return reply, err
}

// Time is a budget too, also in the middle of an answer; a person has all the time.
func TestTimeBudget(t *testing.T) {
	p := planOf(t, "* Do it\n", "")
	slow := waiting{delay: time.Minute}
	r := run.Runner{Model: slow, Limits: run.Limits{Time: 20 * time.Millisecond}}
	if result, err := r.Run(t.Context(), p, ""); err != nil || result.Status != run.Suspended || !strings.Contains(result.Message, "time") {
		t.Errorf("%+v, %v", result, err)
	}
	r = run.Runner{Model: waiting{delay: 30 * time.Millisecond, person: true}, Limits: run.Limits{Time: time.Millisecond}}
	if result, err := r.Run(t.Context(), p, ""); err != nil || result.Status != run.OK {
		t.Errorf("%+v, %v", result, err)
	}
}

type waiting struct {
	delay  time.Duration
	person bool
}

func (waiting) Name() string { return "waiting" }
func (w waiting) Capabilities() model.Capabilities {
	return model.Capabilities{Parallel: true, Person: w.person}
}
func (w waiting) Fill(ctx context.Context, _ model.Request) (model.Reply, error) {
	select {
	case <-ctx.Done():
		return model.Reply{}, ctx.Err()
	case <-time.After(w.delay):
		return model.Reply{Text: "x"}, nil
	}
}

// An interruption leaves a run that can be resumed.
func TestInterrupted(t *testing.T) {
	p := planOf(t, "* One >> a\n* PARALLEL\n  * Two >> b\n  * Three >> c\n", "")
	ctx, cancel := context.WithCancel(t.Context())
	journal := &run.Memory{}
	r := run.Runner{Model: newScripted("* = {\"a\":1,\"b\":2,\"c\":3}"), Journal: journal, Events: func(e run.Event) {
		if e.Kind == run.NodeDone && e.Path == "1/0" {
			cancel()
		}
	}}
	result, err := r.Run(ctx, p, "")
	if !errors.Is(err, context.Canceled) || result.Status != run.Suspended || result.ExitCode != 130 {
		t.Fatalf("%+v, %v", result, err)
	}
	r.Events = nil
	if result, err = r.Resume(t.Context(), p, journal.Records()); err != nil || result.Status != run.OK || result.Usage.Calls != 3 {
		t.Fatalf("%+v, %v", result, err)
	}
}

// Children that want a context of their own run at the same time, but no more than the limit.
func TestParallelWidth(t *testing.T) {
	p := planOf(t, "* PARALLEL\n"+strings.Repeat("  * Find it >> x\n", 20), "")
	m := &counting{}
	r := run.Runner{Model: m, Limits: run.Limits{Parallel: 3}}
	if result, err := r.Run(t.Context(), p, ""); err != nil || result.Status != run.OK {
		t.Fatal(result, err)
	}
	if most := m.most.Load(); most < 2 || most > 3 {
		t.Errorf("%d at once, the limit is 3", most)
	}
}

type counting struct{ now, most atomic.Int64 }

func (*counting) Name() string                     { return "counting" }
func (*counting) Capabilities() model.Capabilities { return model.Capabilities{Parallel: true} }
func (c *counting) Fill(context.Context, model.Request) (model.Reply, error) {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for {
		most := c.most.Load()
		if n <= most || c.most.CompareAndSwap(most, n) {
			break
		}
	}
	time.Sleep(2 * time.Millisecond)
	return model.Reply{Value: json.RawMessage(`{"x":1}`)}, nil
}

// The process is killed in the middle, and another one resumes from the journal on disk.
func TestKilledProcess(t *testing.T) {
	if at := os.Getenv("RUN_KILL_AT"); at != "" {
		killAt(t, at)
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	for seed := range 8 {
		p := randomPlan(t, uint64(seed))
		fresh, _ := randomRunner(uint64(seed))
		result, err := fresh.Run(t.Context(), p, "args")
		want := describe(result, err)
		for _, share := range []int{10, 50, 90} {
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestKilledProcess$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("RUN_KILL_AT=%d %d %s", seed, len(result.Events)*share/100, dir))
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Fatalf("the process was not killed:\n%s", out)
			}
			journal, records, err := run.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			r, _ := randomRunner(uint64(seed))
			r.Journal, r.Rerun = journal, []string{"*"}
			again, err := r.Resume(t.Context(), p, records)
			if got := describe(again, err); got != want {
				t.Errorf("seed %d, killed at %d %%: the resumed run differs:\n%s\nwant\n%s", seed, share, got, want)
			}
			if err := journal.Close(); err != nil {
				t.Fatal(err)
			}
			if records, err = run.ReadFile(dir); err != nil {
				t.Fatal(err)
			}
			done := map[string]int{}
			for _, rec := range records {
				if rec.Type == run.DoneRecord {
					done[rec.Key]++
				}
			}
			for key, n := range done {
				if n > 1 {
					t.Errorf("seed %d, killed at %d %%: %s was done %d times", seed, share, key, n)
				}
			}
		}
	}
}

func killAt(t *testing.T, at string) {
	var seed uint64
	var n int
	var dir string
	if _, err := fmt.Sscan(at, &seed, &n, &dir); err != nil {
		t.Fatal(err)
	}
	journal, err := run.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := randomRunner(seed)
	r.Journal = journal
	r.Events = func(run.Event) {
		if n--; n < 0 {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				self.Kill()
			}
			select {}
		}
	}
	r.Run(t.Context(), randomPlan(t, seed), "args")
}

// The journal on disk: one writer, a torn last line, versions and damage.
func TestJournalFile(t *testing.T) {
	dir := t.TempDir()
	j, err := run.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := planOf(t, "* One >> a\n* ASK << Go? | Yes | No\n", "")
	r := run.Runner{Model: newScripted(`0 = {"a":"<b>"}`), Journal: j}
	if _, err := r.Run(t.Context(), p, "args"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run.Open(dir); !isCode(err, run.CodeBusy) {
		t.Errorf("a second writer: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Create(dir); err == nil {
		t.Error("a journal was created over another")
	}
	name := filepath.Join(dir, run.JournalName)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	records, err := run.ReadFile(dir)
	if err != nil || records[0].Args != "args" || records[0].Plan != p.Digest {
		t.Fatalf("%+v, %v", records, err)
	}
	for cut := 1; cut < 60; cut++ { // every torn end of the last record
		if err := os.WriteFile(name, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		j, torn, err := run.Open(dir)
		if err != nil || len(torn) != len(records)-1 {
			t.Fatalf("cut by %d: %d records of %d, %v", cut, len(torn), len(records), err)
		}
		if err := j.Append(run.Record{Type: run.ResumeRecord}, true); err != nil {
			t.Fatal(err)
		}
		j.Close()
		if again, err := run.ReadFile(dir); err != nil || len(again) != len(records) || again[len(again)-1].Type != run.ResumeRecord {
			t.Fatalf("cut by %d, after an append: %d records, %v", cut, len(again), err)
		}
	}
	head := whole[:bytes.IndexByte(whole, '\n')]
	for cut := range head { // every torn end of the first one: nothing had happened
		if err := os.WriteFile(name, head[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := run.ReadFile(dir); !isCode(err, run.CodeJournal) {
			t.Errorf("a head of %d bytes is a journal to look at: %v", cut, err)
		}
		j, none, err := run.Open(dir)
		if err != nil || len(none) != 0 {
			t.Fatalf("a head of %d bytes: %d records, %v", cut, len(none), err)
		}
		r.Model, r.Journal = newScripted(`0 = {"a":"<b>"}`), j
		if _, err := r.Run(t.Context(), p, "args"); err != nil {
			t.Fatal(err)
		}
		j.Close()
		if again, err := run.ReadFile(dir); err != nil || len(again) != len(records) {
			t.Fatalf("a head of %d bytes, after the run: %d records, %v", cut, len(again), err)
		}
	}
	if err := os.WriteFile(name, []byte(`{"t":"hello"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run.Open(dir); !isCode(err, run.CodeJournal) {
		t.Errorf("something else was taken for a torn journal: %v", err)
	}
	for name, text := range map[string]string{
		"empty":          "",
		"no head":        `{"t":"done"}` + "\n",
		"later version":  `{"t":"header","version":9}` + "\n",
		"damaged inside": `{"t":"header","version":1}` + "\nnonsense\n" + `{"t":"end"}` + "\n",
		"damaged end":    `{"t":"header","version":1}` + "\nnonsense\n",
		"no checksum":    `{"t":"header","version":2}` + "\n",
		"wrong checksum": `{"t":"header","version":2,"sum":"0000000000000000"}` + "\n",
		"version 0":      `{"t":"header"}` + "\n",
	} {
		if records, err := run.ReadRecords(strings.NewReader(text), "j"); !isCode(err, run.CodeJournal) || records != nil {
			t.Errorf("%s: %v, %v", name, records, err)
		}
	}
	if _, err := run.ReadFile(t.TempDir()); !isCode(err, run.CodeJournal) {
		t.Error(err)
	}
}

// No byte and no line of a journal changes unseen, and one of version 1 is still read and gone on with.
func TestJournalChecksums(t *testing.T) {
	dir := t.TempDir()
	j, err := run.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := planOf(t, "* One >> a\n* Two >> b\n* ASK << Go? | Yes | No\n", "")
	r := run.Runner{Model: newScripted(`0 = {"a":"x"}` + "\n" + `1 = {"b":"y"}`), Journal: j}
	if _, err := r.Run(t.Context(), p, "args"); err != nil {
		t.Fatal(err)
	}
	j.Close()
	name := filepath.Join(dir, run.JournalName)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what, text string) {
		t.Helper()
		if records, err := run.ReadRecords(strings.NewReader(text), "j"); !isCode(err, run.CodeJournal) || records != nil {
			t.Errorf("%s: %d records, %v", what, len(records), err)
		}
	}
	for i := range len(whole) - 1 { // the last line end makes a torn line
		if whole[i] == '\n' {
			continue
		}
		changed := slices.Clone(whole)
		changed[i] ^= 1
		refused(fmt.Sprintf("byte %d", i), string(changed))
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	for i := range lines {
		if i < len(lines)-1 {
			refused(fmt.Sprintf("without line %d", i), strings.Join(slices.Delete(slices.Clone(lines), i, i+1), ""))
		}
		refused(fmt.Sprintf("line %d twice", i), strings.Join(slices.Insert(slices.Clone(lines), i, lines[i]), ""))
	}
	lines[1], lines[2] = lines[2], lines[1]
	refused("lines changed places", strings.Join(lines, ""))

	old := strings.Replace(regexp.MustCompile(`,"sum":"[0-9a-f]{16}"`).ReplaceAllString(string(whole), ""), `"version":2`, `"version":1`, 1)
	if err := os.WriteFile(name, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	j, records, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	again := run.Runner{Journal: j, Answers: map[string]run.Answer{"Go?": {Text: "Yes"}}}
	if result, err := again.Resume(t.Context(), p, records); err != nil || result.Status != run.OK {
		t.Errorf("version 1: %+v, %v", result.Status, err)
	}
	j.Close()
	if more, err := run.ReadFile(dir); err != nil || len(more) <= len(records) {
		t.Errorf("version 1, after a resumption: %d records, %v", len(more), err)
	}
}

// A journal that cannot be written stops the run before the next effect.
func TestJournalFails(t *testing.T) {
	m := newScripted("* = x")
	r := run.Runner{Model: m, Journal: &full{left: 2}}
	result, err := r.Run(t.Context(), planOf(t, "* One\n* Two\n* Three\n", ""), "")
	if !isCode(err, run.CodeJournal) || result.Status != run.Failed || m.served["1"] > 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

type full struct{ left int }

func (f *full) Append(run.Record, bool) error {
	if f.left--; f.left < 0 {
		return errors.New("no space left")
	}
	return nil
}

func FuzzReadRecords(f *testing.F) {
	f.Add(`{"t":"header","version":1}` + "\n" + `{"t":"done","key":"0!0","kind":"model","call":-3}` + "\n" + `{"t":"tool.done","key":"0!0","call":99}` + "\n")
	p := planOf(f, "* One >> a\n", "")
	f.Fuzz(func(t *testing.T, text string) {
		records, err := run.ReadRecords(strings.NewReader(text), "j")
		if err != nil {
			if records != nil {
				t.Error("records beside an error")
			}
			return
		}
		// A hostile journal gives an error or an end, never a panic.
		(&run.Runner{AnyPlan: true}).Replay(t.Context(), p, records)
		(&run.Runner{AnyPlan: true}).Resume(t.Context(), p, records)
	})
}
