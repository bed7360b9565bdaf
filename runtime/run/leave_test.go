package run_test

import (
	"slices"
	"testing"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

// What needs a person's leave where nobody can be asked suspends the run: nothing happened, and with the leave it goes on
// as if it had never stopped. Nothing that was done is done again.
func TestLeave(t *testing.T) {
	for name, file := range map[string]string{"script": "read_scripts", "leaf that writes": "tools", "file": "read_categories", "child of PARALLEL": "parallel_leave"} {
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
