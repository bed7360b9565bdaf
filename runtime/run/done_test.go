package run_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/run"
)

// An effect that a person says was done is not done again: every kind of effect that acts takes their word, and the
// journal keeps it.
func TestDone(t *testing.T) {
	text := func(s string) *string { return &s }
	cases := []struct {
		name, file string
		keep       func(run.Record) bool
		wrong      *string // a value that does not fit
		message    string
	}{
		{"script", "read_scripts", func(r run.Record) bool { return r.Type == run.StartedRecord && r.Kind == "script" }, nil, "needs the value"},
		{"tool of an op", "tool_op", func(r run.Record) bool { return r.Type == run.StartedRecord && r.Kind == "tool" && r.Acts }, nil, "needs the value"},
		{"leaf that wrote", "tools", func(r run.Record) bool { return r.Type == run.ToolStarted && r.Acts }, nil, "needs the value"},
		{"file", "read_categories", func(r run.Record) bool { return r.Type == run.StartedRecord && r.Kind == "write" }, text("x"), "gives no value"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, "testdata/"+c.file+".txtar")
			r, _, _ := f.world(t)
			journal := &run.Memory{}
			r.Journal = journal
			whole, err := r.Run(t.Context(), f.plan, f.args)
			if err != nil {
				t.Fatal(err)
			}
			all := journal.Records()
			at := slices.IndexFunc(all, c.keep)
			key := all[at].Key
			visit, _, _ := strings.Cut(key, "!")
			end := all[slices.IndexFunc(all, func(r run.Record) bool { return r.Type == run.DoneRecord && r.Key == key })]
			value := text(strings.TrimRight(end.Text, "\n"))
			switch {
			case end.Kind == "write":
				value = nil
			case len(end.Output) > 0:
				value = text(string(end.Output))
			}

			for _, d := range []run.Done{{Node: visit, Value: c.wrong}, {Node: "no/such/visit"}} {
				r, _, world := f.world(t)
				r.Done = []run.Done{d}
				result, err := r.Resume(t.Context(), f.plan, all[:at+1])
				if !isCode(err, run.CodeDone) || result.Status == run.OK || len(world.acted) > 0 {
					t.Errorf("%+v: %s, %v, %q", d, result.Status, err, world.acted)
				} else if d.Node == visit && !strings.Contains(err.Error(), c.message) {
					t.Errorf("%+v: %v", d, err)
				}
			}

			r, _, world := f.world(t)
			second := &run.Memory{}
			for _, rec := range all[:at+1] {
				second.Append(rec, false)
			}
			r.Journal, r.Done = second, []run.Done{{Node: visit, Value: value}}
			got, err := r.Resume(t.Context(), f.plan, all[:at+1])
			if err != nil || got.Status != whole.Status {
				t.Fatalf("%+v, %v", got, err)
			}
			for name, v := range whole.Bindings {
				if g := got.Bindings[name]; string(encoded(g)) != string(encoded(v)) {
					t.Errorf("%s is %v, and was %v", name, g, v)
				}
			}
			n := 0
			for _, rec := range second.Records() {
				if rec.Type == run.StartedRecord && rec.Key == key {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%s was begun %d times: %q", visit, n, world.acted)
			}
			r, _, _ = f.world(t)
			if again, err := r.Replay(t.Context(), f.plan, second.Records()); err != nil || again.Status != whole.Status {
				t.Errorf("replay: %+v, %v", again, err)
			}
		})
	}
}

// The bare value of a leaf with one name is taken as it is; JSON for several names has to have them all.
func TestDoneAnswer(t *testing.T) {
	for _, c := range []struct{ tree, value, want string }{
		{"* Do it >> a\n", "plain text", "plain text"},
		{"* Do it >> a\n", `{"a":"b"}`, "b"},
		{"* Do it >> a\n", "", ""},
		{"* Do it >> a | b\n", "plain text", "must be JSON with a, b"},
		{"* Do it >> a | b\n", `{"a":1}`, "lacks b"},
		{"* Do it >> a | b\n", `{"a":"x","b":2}`, "x"},
	} {
		p := planOf(t, c.tree, "")
		journal := &run.Memory{}
		r := run.Runner{Model: newScripted(`0 $ write {}` + "\n" + `0 = {"a":1,"b":2}`), Tools: &project{}, Journal: journal}
		if _, err := r.Run(t.Context(), p, ""); err != nil {
			t.Fatal(err)
		}
		records := journal.Records()
		records = records[:slices.IndexFunc(records, func(r run.Record) bool { return r.Type == run.ToolStarted })+1]
		r = run.Runner{Done: []run.Done{{Node: "0", Value: &c.value}}, Journal: &run.Memory{}}
		got, err := r.Resume(t.Context(), p, records)
		switch {
		case err != nil && (!isCode(err, run.CodeDone) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %q: %v", c.tree, c.value, err)
		case err == nil && got.Bindings["a"] != c.want:
			t.Errorf("%s %q: %v", c.tree, c.value, got.Bindings)
		}
	}
}

func encoded(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}
