package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

const notes = `
# a leaf in a loop: the second round has its own answer, all later ones too
{"node":"2.1","purpose":"leaf","text":"first"}
{"node":"2.1","purpose":"leaf","text":"later"}
{"path":"2.1#4","text":"the fourth round"}
{"node":"3","purpose":"condition","value":{"value":true}}
{"node":"3","text":"a leaf of the same node"}
{"node":"4","error":"model_refused"}
`

func ExampleParse() {
	answers, err := Parse("answers.jsonl", []byte(`{"node":"1.3","purpose":"condition","value":{"value":true}}`))
	if err != nil {
		panic(err)
	}
	reply, err := New("replay:answers.jsonl", answers).Fill(context.Background(), model.Request{
		Node: "1.3", Purpose: model.Condition, Schema: json.RawMessage(`{"type":"object"}`),
	})
	fmt.Println(string(reply.Value), err)
	// Output: {"value":true} <nil>
}

func TestFill(t *testing.T) {
	digest := Digest(model.Request{Purpose: model.Leaf, Prompt: "moved"})
	answers, err := Parse("notes", []byte(notes+`{"digest":"`+digest+`","text":"found by what is asked"}`))
	if err != nil {
		t.Fatal(err)
	}
	m := New("replay:notes", answers)
	schema := json.RawMessage(`{"type":"object"}`)
	for _, test := range []struct {
		name string
		r    model.Request
		want string
	}{
		{"first round", model.Request{Node: "2.1", Purpose: model.Leaf, Path: "2.1#1"}, "first"},
		{"second round", model.Request{Node: "2.1", Purpose: model.Leaf, Path: "2.1#2"}, "later"},
		{"the last line stays", model.Request{Node: "2.1", Purpose: model.Leaf, Path: "2.1#3"}, "later"},
		{"a path beats its node", model.Request{Node: "2.1", Purpose: model.Leaf, Path: "2.1#4"}, "the fourth round"},
		{"purpose", model.Request{Node: "3", Purpose: model.Condition, Schema: schema}, `{"value":true}`},
		{"no purpose fits all", model.Request{Node: "3", Purpose: model.Leaf}, "a leaf of the same node"},
		{"a value for a text", model.Request{Node: "3", Purpose: model.Condition}, model.CodeBadAnswer},
		{"an error", model.Request{Node: "4", Purpose: model.Leaf}, model.CodeRefused},
		{"another node, same words", model.Request{Node: "9", Purpose: model.Leaf, Prompt: "moved"}, "found by what is asked"},
		{"no answer", model.Request{Node: "9", Purpose: model.Leaf, Prompt: "new"}, model.CodeNoAnswer},
		{"a node of another purpose", model.Request{Node: "2.1", Purpose: model.Choice}, model.CodeNoAnswer},
	} {
		t.Run(test.name, func(t *testing.T) {
			reply, err := m.Fill(t.Context(), test.r)
			got := reply.Text + string(reply.Value)
			if e, ok := errors.AsType[*diag.Error](err); ok {
				got = e.Code
				if e.Code == model.CodeNoAnswer && (len(e.Hints) == 0 || !strings.Contains(e.Message, test.r.Node)) {
					t.Errorf("the error %q with hints %q does not help", e, e.Hints)
				}
			}
			if got != test.want || reply.Usage != (model.Usage{}) {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`{"node":"1"}`:                         "exactly one of text, value and error",
		`{"node":"1","text":"a","value":1}`:    "exactly one of text, value and error",
		`{"node":"1","value":null}`:            "exactly one of text, value and error",
		`{"text":"a"}`:                         "no path, node or digest",
		`{"nodes":"1","text":"a"}`:             "unknown field",
		`{"node":"1","text":"a"} {"node":"2"}`: "more than one object",
		`["node"]`:                             "cannot unmarshal",
		`{"node":`:                             "unexpected EOF",
	} {
		_, err := Parse("a.jsonl", []byte("\n"+line+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "a.jsonl:2: ") {
			t.Errorf("%s: got %v, want %q at line 2", line, err, want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, diag.Code(CodeFile)) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// scripted answers by a func.
type scripted func(model.Request) (model.Reply, error)

func (scripted) Name() string                     { return "scripted" }
func (scripted) Capabilities() model.Capabilities { return model.Capabilities{Parallel: true} }
func (s scripted) Fill(_ context.Context, r model.Request) (model.Reply, error) {
	return s(r)
}

// Recorded answers are given again to the same requests, errors included.
func TestRecordThenReplay(t *testing.T) {
	source := scripted(func(r model.Request) (model.Reply, error) {
		switch {
		case r.Node == "bad":
			return model.Reply{}, diag.New(diag.Failed, model.CodeRefused, "no")
		case r.Node == "offline":
			return model.Reply{}, model.Unavailable("no network")
		case r.Schema != nil:
			return model.Reply{Value: json.RawMessage(`{"n":"` + r.Path + `"}`), Model: "m-1"}, nil
		}
		return model.Reply{Text: "line one of " + r.Path + "\nline two \u2028", Model: "m-1"}, nil
	})
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	recorder, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	m := Record(source, recorder)
	var asked []model.Request
	for i := range 20 {
		asked = append(asked, model.Request{Node: fmt.Sprint(i % 3), Path: fmt.Sprint(i), Purpose: model.Leaf})
		asked = append(asked, model.Request{Node: "c", Path: fmt.Sprint("c", i), Purpose: model.Condition, Schema: json.RawMessage(`{}`)})
	}
	asked = append(asked, model.Request{Node: "bad", Path: "bad"})
	var wait sync.WaitGroup
	for _, r := range asked {
		wait.Go(func() { m.Fill(t.Context(), r) })
	}
	wait.Go(func() { m.Fill(t.Context(), model.Request{Node: "offline", Path: "offline", Prompt: "else"}) })
	wait.Wait()
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	replayed, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range asked {
		want, wantErr := source(r)
		got, err := replayed.Fill(t.Context(), r)
		if !reflect.DeepEqual(got, want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: got %+v, %v; want %+v, %v", r.Path, got, err, want, wantErr)
		}
	}
	if _, err := replayed.Fill(t.Context(), model.Request{Node: "offline", Path: "offline", Prompt: "else"}); !errors.Is(err, diag.Code(model.CodeNoAnswer)) {
		t.Errorf("a broken network was recorded: %v", err)
	}
}

// A recording that a crash cut off at any byte is read and continued.
func TestCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	one := `{"node":"1","text":"a"}` + "\n"
	for n := range len(one) + 1 {
		if err := os.WriteFile(path, []byte(one+one[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		recorder, err := Create(path)
		if err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		text := "b"
		recorder.Add(Answer{Node: "2", Text: &text})
		if err := recorder.Close(); err != nil {
			t.Fatal(err)
		}
		answers, err := Load(path)
		want := 2
		if n >= len(one)-1 {
			want = 3
		}
		if err != nil || len(answers) != want || answers[want-1].Node != "2" {
			t.Errorf("after %d bytes: %d answers, %v", n, len(answers), err)
		}
	}
}

func TestRecorderLimits(t *testing.T) {
	recorder, err := Create(filepath.Join(t.TempDir(), "answers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a", MaxLine)
	recorder.Add(Answer{Node: "1", Text: &text})
	text = "b"
	recorder.Add(Answer{Node: "2", Text: &text})
	if err := recorder.Close(); !errors.Is(err, diag.Code(CodeFile)) || !errors.Is(recorder.Close(), diag.Code(CodeFile)) {
		t.Errorf("got %v", err)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("no answers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(broken); !errors.Is(err, diag.Code(CodeFile)) {
		t.Errorf("a file of something else: %v", err)
	}
}

// Layout of a schema and tools do not change what is asked; words do.
func TestDigest(t *testing.T) {
	r := model.Request{Purpose: model.Leaf, Prompt: "a", Schema: json.RawMessage(`{"type": "object"}`)}
	same := r
	same.Schema, same.Node, same.Path = json.RawMessage(`{"type":"object"}`), "7", "7#1"
	if Digest(r) != Digest(same) {
		t.Error("place or layout count")
	}
	for _, other := range []model.Request{
		{Purpose: model.Choice, Prompt: "a", Schema: r.Schema}, {Purpose: model.Leaf, System: "a", Schema: r.Schema}, {Purpose: model.Leaf, Prompt: "a"},
		{Purpose: model.Leaf, Prompt: "a", Schema: r.Schema, Tools: []model.Tool{{Name: "x"}}},
	} {
		if Digest(r) == Digest(other) {
			t.Errorf("%+v is the same", other)
		}
	}
}

// Answers that Parse accepts, it accepts again once they are written anew.
func FuzzParse(f *testing.F) {
	f.Add([]byte(notes))
	f.Add([]byte(`{"path":"p","value":{"a":[1,2]}}`))
	f.Add([]byte("{\"node\":\"1\",\"text\":\"a\"}\n{\"no"))
	f.Fuzz(func(t *testing.T, file []byte) {
		answers, err := Parse("f", file)
		if err != nil {
			return
		}
		var again []byte
		for _, a := range answers {
			line, err := json.Marshal(a)
			if err != nil {
				t.Fatalf("%+v: %v", a, err)
			}
			again = append(append(again, line...), '\n')
		}
		second, err := Parse("f", again)
		if err != nil || len(second) != len(answers) {
			t.Errorf("%q: %v", again, err)
		}
		New("m", answers).Fill(context.Background(), model.Request{Node: "1"})
	})
}

func BenchmarkFill(b *testing.B) {
	var answers []Answer
	text := "x"
	for i := range 10_000 {
		answers = append(answers, Answer{Path: fmt.Sprint(i), Node: fmt.Sprint(i), Text: &text})
	}
	m := New("m", answers)
	r := model.Request{Path: "5000", Node: "5000", Purpose: model.Leaf, Prompt: strings.Repeat("word ", 400)}
	for b.Loop() {
		if _, err := m.Fill(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
