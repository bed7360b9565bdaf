package run_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

// An effect that needs a person's leave suspends the run where nobody can be asked: nothing happened, and with the
// leave the run goes on as if it had never stopped. Nothing that was done is done again.
func TestLeave(t *testing.T) {
	for name, file := range map[string]string{"script": "read_scripts", "leaf that writes": "tools", "tool of an op": "tool_op", "file": "read_categories", "child of PARALLEL": "parallel_leave"} {
		t.Run(name, func(t *testing.T) {
			f := load(t, "testdata/"+file+".txtar")
			r, _, granted := f.world(t)
			whole, err := r.Run(t.Context(), f.plan, f.args)
			if err != nil || len(granted.acted) == 0 {
				t.Fatalf("with leave: %+v, %v", whole, err)
			}

			leave := diag.New(diag.NeedsInput, "effect_unanswered", "nobody agreed to it")
			journal := &run.Memory{}
			r, _, world := f.world(t)
			r.Journal, world.leave = journal, leave
			first, err := r.Run(t.Context(), f.plan, f.args)
			if !isCode(err, "effect_unanswered") || first.Status != run.Suspended || first.ExitCode != 5 || len(world.acted) > 0 || len(first.Denied) > 0 {
				t.Fatalf("without leave: %+v, %v, acted %q", first, err, world.acted)
			}
			r, _, world = f.world(t)
			r.Journal, world.leave = journal, leave
			if again, err := r.Resume(t.Context(), f.plan, journal.Records()); !isCode(err, "effect_unanswered") || again.Status != run.Suspended || len(world.acted) > 0 {
				t.Fatalf("resumed without leave: %+v, %v, acted %q", again, err, world.acted)
			}
			r, _, world = f.world(t)
			r.Journal = journal
			last, err := r.Resume(t.Context(), f.plan, journal.Records())
			slices.Sort(world.acted)
			slices.Sort(granted.acted)
			if err != nil || last.Status != whole.Status || !slices.Equal(world.acted, granted.acted) || string(encoded(last.Bindings)) != string(encoded(whole.Bindings)) {
				t.Errorf("resumed with leave: %+v, %v, acted %q, want %q", last, err, world.acted, granted.acted)
			}
			if last.Usage.Calls < whole.Usage.Calls {
				t.Errorf("what the model was paid before it had to wait is lost: %+v, at once %+v", last.Usage, whole.Usage)
			}
			r, _, _ = f.world(t)
			if told, err := r.Replay(t.Context(), f.plan, journal.Records()); err != nil || told.Status != whole.Status || told.Usage != last.Usage {
				t.Errorf("replay: %+v, %v", told, err)
			}
		})
	}
}

// The call that waited is what is made with the leave, as it was recorded and before the model is asked again, whatever the model
// would call then. A kill between its beginning and its end leaves it to a person.
func TestLeaveIsForTheRecordedCall(t *testing.T) {
	const first, other = `{"path":"b"}`, `{"path":"elsewhere"}`
	for name, text := range map[string]string{"tree": "* Write the file >> done\n", "leaf without names": "* Look around and write the file\n"} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, text, "")
			leave := diag.New(diag.NeedsInput, "effect_unanswered", "nobody agreed to it")
			answer := `0 = {"done":true}`
			journal := &run.Memory{}
			r := run.Runner{Model: newScripted("0 $ write " + first + "\n" + answer), Tools: &project{leave: leave}, Journal: journal}
			if _, err := r.Run(t.Context(), p, ""); !isCode(err, "effect_unanswered") {
				t.Fatal(err)
			}

			again := newScripted("0 $ write " + other + "\n" + answer)
			waiting := &project{leave: leave}
			r = run.Runner{Model: again, Tools: waiting, Journal: journal}
			if got, err := r.Resume(t.Context(), p, journal.Records()); !isCode(err, "effect_unanswered") || got.Status != run.Suspended || len(again.requests) > 0 || len(waiting.acted) > 0 {
				t.Fatalf("without leave: %+v, %v, model asked %d times, acted %q", got, err, len(again.requests), waiting.acted)
			}

			kept := journal.Records()
			world := &project{leave: leave, granted: first}
			r = run.Runner{Model: again, Tools: world, Journal: journal}
			got, err := r.Resume(t.Context(), p, journal.Records())
			if !isCode(err, "effect_unanswered") || got.Status != run.Suspended || !slices.Equal(world.acted, []string{"write " + first}) {
				t.Fatalf("leave for one call: %+v, %v, acted %q", got, err, world.acted)
			}
			if told := again.requests["0"].Prompt; !strings.Contains(told, "write "+first+"\n→ ok: written") {
				t.Errorf("the model is not told what the call gave:\n%s", told)
			}

			world = &project{leave: leave, granted: other}
			r = run.Runner{Model: newScripted(answer), Tools: world, Journal: journal}
			last, err := r.Resume(t.Context(), p, journal.Records())
			if err != nil || last.Status != run.OK || !slices.Equal(world.acted, []string{"write " + other}) {
				t.Fatalf("leave for the other: %+v, %v, acted %q", last, err, world.acted)
			}
			r = run.Runner{Model: newScripted("")}
			if told, err := r.Replay(t.Context(), p, journal.Records()); err != nil || told.Status != run.OK || told.Usage != last.Usage || string(encoded(told.Bindings)) != string(encoded(last.Bindings)) {
				t.Errorf("replay: %+v, %v", told, err)
			}

			// Killed while it was made.
			all := journal.Records()
			at := len(kept) + slices.IndexFunc(all[len(kept):], func(r run.Record) bool { return r.Type == run.ToolStarted })
			if all[at].Call != 1 || string(all[at].Input) != first {
				t.Fatalf("%+v", all[at])
			}
			world = &project{}
			r = run.Runner{Model: newScripted(answer), Tools: world}
			if got, err := r.Resume(t.Context(), p, all[:at+1]); !isCode(err, run.CodeUnfinished) || got.Status != run.Suspended || len(world.acted) > 0 {
				t.Errorf("killed: %+v, %v, acted %q", got, err, world.acted)
			}
			// Killed before it.
			world = &project{}
			r = run.Runner{Model: newScripted(answer), Tools: world}
			if got, err := r.Resume(t.Context(), p, all[:at]); err != nil || got.Status != run.OK || !slices.Equal(world.acted, []string{"write " + first}) {
				t.Errorf("killed before: %+v, %v, acted %q", got, err, world.acted)
			}
			// A person lets the leaf begin anew, without that call.
			world = &project{}
			r = run.Runner{Model: newScripted("0 $ write " + other + "\n" + answer), Tools: world, Rerun: []string{"0"}}
			if got, err := r.Resume(t.Context(), p, kept); err != nil || got.Status != run.OK || !slices.Equal(world.acted, []string{"write " + other}) {
				t.Errorf("begun anew: %+v, %v, acted %q", got, err, world.acted)
			}
		})
	}
}

// A no of a person lets the run go on where the tree allows it, and makes it no success. A leaf that was told no and then
// died did nothing that would have to be answered for: it is gone on with, and the no stays what a person said.
func TestNo(t *testing.T) {
	f := load(t, "testdata/tools.txtar")
	r, _, world := f.world(t)
	journal := &run.Memory{}
	r.Journal = journal
	world.leave = diag.New(diag.Refused, run.CodeDenied, "you said no")
	result, err := r.Run(t.Context(), f.plan, f.args)
	if err != nil || result.Status != run.OK || result.ExitCode != 4 || len(result.Denied) == 0 || result.Denied[0].Code != run.CodeDenied || len(world.acted) > 0 {
		t.Fatalf("%+v, %v, acted %q", result, err, world.acted)
	}
	all := journal.Records()
	r, _, _ = f.world(t)
	if told, err := r.Replay(t.Context(), f.plan, all); err != nil || told.ExitCode != 4 || len(told.Denied) != len(result.Denied) {
		t.Errorf("replay: %+v, %v", told, err)
	}
	at := slices.IndexFunc(all, func(r run.Record) bool { return r.Type == run.ToolDone && r.Status == run.Denied })
	r, _, _ = f.world(t)
	if resumed, err := r.Resume(t.Context(), f.plan, all[:at+1]); err != nil || resumed.Status != run.OK || resumed.ExitCode != 4 {
		t.Errorf("resumed after the no: %+v, %v", resumed, err)
	}
}

// The calls that follow one that waits, in the same answer, are neither made nor lost: each is in the journal and told to the model.
func TestCallsAfterOneThatWaits(t *testing.T) {
	p := planOf(t, "* Write the files >> done\n", "")
	leave := diag.New(diag.NeedsInput, "effect_unanswered", "nobody agreed to it")
	journal := &run.Memory{}
	world := &project{leave: leave}
	var events []run.Event
	m := inOneAnswer{`{"path":"one"}`, `{"path":"two"}`, `{"path":"three"}`}
	r := run.Runner{Model: m, Tools: world, Journal: journal, Events: func(e run.Event) { events = append(events, e) }}
	if _, err := r.Run(t.Context(), p, ""); !isCode(err, "effect_unanswered") || len(world.acted) > 0 {
		t.Fatal(err, world.acted)
	}
	var got []string
	for _, rec := range journal.Records() {
		if rec.Type == run.ToolDone {
			got = append(got, string(rec.Status))
		}
	}
	if want := []string{"suspended", "skipped", "skipped"}; !slices.Equal(got, want) {
		t.Errorf("the journal has %q, want %q", got, want)
	}
	told := 0
	for _, e := range events {
		if e.Kind == run.ToolReplied && e.Status == run.Skipped {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d calls are told as not made", told)
	}
	again := newScripted("0 = {\"done\":true}")
	world = &project{}
	r = run.Runner{Model: again, Tools: world, Journal: journal}
	if _, err := r.Resume(t.Context(), p, journal.Records()); err != nil || !slices.Equal(world.acted, []string{"write " + m[0]}) {
		t.Fatal(err, world.acted)
	}
	for _, want := range []string{"write " + m[0] + "\n→ ok", "write " + m[1] + "\n→ not made", "write " + m[2] + "\n→ not made"} {
		if prompt := again.requests["0"].Prompt; !strings.Contains(prompt, want) {
			t.Errorf("no %q in\n%s", want, prompt)
		}
	}
}

// inOneAnswer is a model that calls write with each of its inputs in one turn.
type inOneAnswer []string

func (inOneAnswer) Capabilities() model.Capabilities { return model.Capabilities{} }

func (m inOneAnswer) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	return model.Loop(ctx, r, func(context.Context, model.Said) (model.Turn, error) {
		var turn model.Turn
		for _, input := range m {
			turn.Calls = append(turn.Calls, model.Call{Name: "write", Input: json.RawMessage(input)})
		}
		return turn, nil
	})
}

func (inOneAnswer) Name() string { return "inOneAnswer" }

// A file of the tree that may not be written, in a PARALLEL whose other children go on, makes the run no success, also when it is told
// again or gone on with; a tool that a model merely tried is listed, and no more.
func TestTreeDenied(t *testing.T) {
	p := planOf(t, "* PARALLEL\n  * Read `assets/templates/note.md` and write it to `out.md`\n  * Count the files >> count\n", "")
	journal := &run.Memory{}
	world := &project{leave: diag.New(diag.Refused, "tool_denied", "the policy has no writing"), files: map[string]string{}}
	r := run.Runner{Model: newScripted("0/1 = {\"count\":2}\n"), Tools: world, Journal: journal}
	result, err := r.Run(t.Context(), p, "")
	if err != nil || result.Status != run.OK || result.ExitCode != 4 || len(result.Denied) != 1 || !result.Denied[0].Tree || result.Message == "" {
		t.Fatalf("%+v, %v", result, err)
	}
	r = run.Runner{Tools: &project{files: map[string]string{}}}
	if told, err := r.Replay(t.Context(), p, journal.Records()); err != nil || told.ExitCode != 4 || len(told.Denied) != 1 {
		t.Errorf("told again: %+v, %v", told, err)
	}
	records := journal.Records()
	r = run.Runner{Model: newScripted("0/1 = {\"count\":2}\n"), Tools: &project{files: map[string]string{}}}
	if again, err := r.Resume(t.Context(), p, records[:len(records)-1]); err != nil || again.ExitCode != 4 {
		t.Errorf("gone on with: %+v, %v", again, err)
	}

	p = planOf(t, "* Write the files >> done\n", "")
	r = run.Runner{Model: newScripted("0 $ write {\"path\":\"b\"}\n0 = {\"done\":true}\n"), Tools: world}
	if result, err = r.Run(t.Context(), p, ""); err != nil || result.ExitCode != 0 || len(result.Denied) != 1 || result.Denied[0].Tree {
		t.Errorf("a model that tried: %+v, %v", result, err)
	}
}
