package run_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

// repeating is a model that makes the same calls in every process, whatever it is told of those before.
func repeating() *scripted {
	m := newScripted("0 $ write {\"path\":\"a\"}\n0 $ read {\"path\":\"a\"}\n0 $ write {\"path\":\"b\"}\n0 $ write {\"path\":\"c\"}\n0 = {\"done\":true}\n")
	m.deaf = true
	return m
}

// A leaf that is cut off after any record of its journal, and again after any record of what another process added, acts once for each
// call, whatever the model repeats. Of a call that nobody saw end a person says whether it happened.
func TestRepeatedCalls(t *testing.T) {
	for name, text := range map[string]string{"names": "* Write the files >> done\n", "no names": "* Look around and write the files\n"} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, text, "")
			// resume goes on from records, and gives what acted and what the journal has then. happened: a call without an end took place.
			resume := func(records []run.Record, happened bool) (acted []string, all []run.Record) {
				journal := &run.Memory{}
				for _, rec := range records {
					journal.Append(rec, false)
				}
				world := &project{}
				r := run.Runner{Model: repeating(), Tools: world, Journal: journal}
				result, err := r.Resume(t.Context(), p, records)
				if isCode(err, run.CodeUnfinished) {
					r.Rerun = []string{"0"}
					if happened {
						value := `{"done":true}`
						r.Rerun, r.Done = nil, []run.Done{{Node: "0", Value: &value}}
					}
					result, err = r.Resume(t.Context(), p, journal.Records())
				}
				if err != nil || result.Status != run.OK {
					t.Fatalf("%+v, %v", result, err)
				}
				if told, err := (&run.Runner{}).Replay(t.Context(), p, journal.Records()); err != nil || told.Usage != result.Usage {
					t.Fatalf("replay: %+v, %v", told, err)
				}
				return world.acted, journal.Records()
			}
			journal := &run.Memory{}
			r := run.Runner{Model: repeating(), Tools: &project{}, Journal: journal}
			if result, err := r.Run(t.Context(), p, ""); err != nil || result.Status != run.OK {
				t.Fatal(result, err)
			}
			first, answered := journal.Records(), 0
			for cut := 1; cut < len(first); cut++ {
				for _, happened := range []bool{false, true} {
					acted, all := resume(first[:cut], happened)
					once(t, ended(first[:cut]), acted)
					for again := cut; again < len(all); again++ {
						// Of the second process only what it did until it was cut off counts.
						did := ended(all[:again])
						more, last := resume(all[:again], happened)
						once(t, did, more)
						for _, rec := range last {
							if rec.Type == run.ToolDone && rec.Status == run.Repeated && !rec.Acts {
								answered++
							}
						}
					}
				}
			}
			if answered == 0 {
				t.Error("no call was answered from the journal")
			}
		})
	}
}

// ended are the writes that records show to have taken place.
func ended(records []run.Record) (acted []string) {
	for i, rec := range records {
		if rec.Type != run.ToolStarted || !rec.Acts {
			continue
		}
		end := slices.IndexFunc(records[i+1:], func(d run.Record) bool { return d.Key == rec.Key && d.Call == rec.Call })
		if end >= 0 && records[i+1+end].Type == run.ToolDone && records[i+1+end].Status == run.OK {
			acted = append(acted, rec.Name+" "+string(rec.Input))
		}
	}
	return acted
}

func once(t *testing.T, before, after []string) {
	t.Helper()
	all := slices.Concat(before, after)
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("acted %q, and then %q", before, after)
	}
}

// With leave for one call more at each time, a model that begins from the first does each once.
func TestRepeatedUntilLeave(t *testing.T) {
	p := planOf(t, "* Write the files >> done\n", "")
	leave := diag.New(diag.NeedsInput, "effect_unanswered", "nobody agreed to it")
	journal := &run.Memory{}
	r := run.Runner{Model: repeating(), Tools: &project{leave: leave}, Journal: journal}
	if _, err := r.Run(t.Context(), p, ""); !isCode(err, "effect_unanswered") {
		t.Fatal(err)
	}
	var acted []string
	for _, granted := range []string{"a", "b", "c"} {
		world, m := &project{leave: leave, granted: `{"path":"` + granted + `"}`}, repeating()
		var told []model.ToolResult
		r = run.Runner{Model: m, Tools: world, Journal: journal, Events: func(e run.Event) {
			if e.Kind == run.ToolReplied && e.Status == run.Repeated && strings.HasPrefix(e.Text, "made before the interruption") && strings.HasSuffix(e.Text, "\nwritten") {
				told = append(told, model.ToolResult{Text: e.Text})
			}
		}}
		result, err := r.Resume(t.Context(), p, journal.Records())
		if granted != "c" && !isCode(err, "effect_unanswered") || granted == "c" && (err != nil || result.Status != run.OK) {
			t.Fatalf("leave for %s: %+v, %v", granted, result, err)
		}
		if len(told) == 0 {
			t.Errorf("leave for %s: no call was answered from the journal", granted)
		}
		acted = append(acted, world.acted...)
	}
	if want := []string{`write {"path":"a"}`, `write {"path":"b"}`, `write {"path":"c"}`}; !slices.Equal(acted, want) {
		t.Errorf("acted %q, want %q", acted, want)
	}
}
