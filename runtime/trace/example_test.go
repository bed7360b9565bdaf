package trace_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/trace"
)

var told = []run.Event{
	{Kind: run.NodeStarted, Path: "0", Type: "FOR_EACH", Text: "FOR_EACH << file in files"},
	{Kind: run.Decided, Path: "0", Type: "FOR_EACH", Value: []byte("1"), How: "rule"},
	{Kind: run.NodeStarted, Path: "0[0]/0", Type: "prose", Text: "Look at {file} >> note"},
	{Kind: run.Bound, Path: "0[0]/0", Name: "note", Value: []byte(`"fine"`)},
	{Kind: run.NodeDone, Path: "0[0]/0", Type: "prose", Text: "Look at {file} >> note", Status: run.OK},
	{Kind: run.NodeDone, Path: "0", Type: "FOR_EACH", Text: "FOR_EACH << file in files", Status: run.OK},
}

func ExampleLines() {
	sink := trace.Tee(trace.Lines(os.Stdout))
	for _, e := range told {
		sink.Event(e)
	}
	sink.Close()
	// Output:
	// skl: ▸ FOR_EACH << file in files  1× (rule)
	// skl:   ✓ Look at {file} >> note
}

func ExampleReport() {
	for _, row := range trace.Report(told, true) {
		fmt.Println(row)
	}
	// Output:
	// 0       ✓ FOR_EACH << file in files  = 1 by rule
	// 0[0]/0  ✓   Look at {file} >> note   note=fine
}

// Events that were read are written and read again as the same; all of them can be shown.
func FuzzReadJSONL(f *testing.F) {
	var seed bytes.Buffer
	sink := trace.JSONL(&seed)
	for _, e := range told {
		sink.Event(e)
	}
	f.Add(seed.Bytes())
	f.Add([]byte("{\"event\":\"plan\",\"path\":\"0\",\"value\":[{\"field\":\"\u009b\"}]}\n{"))
	f.Fuzz(func(t *testing.T, file []byte) {
		events, err := trace.ReadJSONL(bytes.NewReader(file))
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		write(t, &first, events)
		again, err := trace.ReadJSONL(bytes.NewReader(first.Bytes()))
		if err != nil || len(again) != len(events) {
			t.Fatalf("%d events became %d, %v", len(events), len(again), err)
		}
		if write(t, &second, again); !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("written twice:\n%s\n%s", first.Bytes(), second.Bytes())
		}
		trace.Report(events, true)
		lines := trace.Lines(&second)
		for _, e := range events {
			lines.Event(e)
		}
		lines.Close()
	})
}

func write(t *testing.T, out *bytes.Buffer, events []run.Event) {
	t.Helper()
	sink := trace.JSONL(out)
	for _, e := range events {
		sink.Event(e)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
}
