package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

var day = json.RawMessage(`{"type":"object","properties":{"day":{"type":"string"}},"required":["day"],"additionalProperties":false}`)

func TestExtract(t *testing.T) {
	fits := func(v json.RawMessage) bool { return bytes.Contains(v, []byte(`"day"`)) }
	for name, test := range map[string]struct{ in, want string }{
		"alone":                     {`{"day":"Mon"}`, `{"day":"Mon"}`},
		"in a fence":                {"Here:\n```json\n{\"day\": \"Mon\"}\n```\nDone.", `{"day": "Mon"}`},
		"between sentences":         {`I think {"day":"Mon"} is right.`, `{"day":"Mon"}`},
		"the draft comes first":     {`{"day":"Mon"} no, better: {"day":"Tue"}`, `{"day":"Tue"}`},
		"what fits wins":            {`{"day":"Mon"} and {"other":1}`, `{"day":"Mon"}`},
		"none fits: the last":       {`{"a":1} {"b":2}`, `{"b":2}`},
		"braces in prose":           {`use {braces} like {"day":"{}"}`, `{"day":"{}"}`},
		"brackets in strings":       {`{"day":"]}\"{"}`, `{"day":"]}\"{"}`},
		"inner object of a bad one": {`{"x": nope, "y": {"day":"Mon"}}`, `{"day":"Mon"}`},
		"cut off":                   {`{"day":"Mon`, ``},
		"a list is not an object":   {`["day"]`, ``},
		"nothing":                   {`no`, ``},
		"too deep":                  {strings.Repeat(`{"a":`, 65) + `1` + strings.Repeat(`}`, 65), strings.Repeat(`{"a":`, 64) + `1` + strings.Repeat(`}`, 64)},
		"too large":                 {`{"day":"` + strings.Repeat("x", model.MaxAnswer) + `"}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := model.Extract(test.in, fits)
			if string(got) != test.want || ok != (test.want != "") {
				t.Errorf("%.80q, %v, want %.80q", got, ok, test.want)
			}
		})
	}
}

// The extracted value is a JSON object that stands in the text as it is.
func FuzzExtract(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, "```json\n{}\n```", `x {"a":"\"}"} {`, `{{{}`, "{\"\xff\":1}", `{"a":[{"b":{}}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := model.Extract(text, nil)
		if ok != (got != nil) {
			t.Fatalf("%q: %q but %v", text, got, ok)
		}
		if !ok {
			var whole map[string]any
			if len(text) < 1000 && json.Unmarshal([]byte(text), &whole) == nil && whole != nil && strings.Count(text, "{")+strings.Count(text, "[") <= model.MaxDepth {
				t.Errorf("%q is an object and was not found", text)
			}
			return
		}
		var object map[string]any
		if !strings.Contains(text, string(got)) || json.Unmarshal(got, &object) != nil {
			t.Errorf("%q from %q is not an object found in it", got, text)
		}
	})
}

func TestCompile(t *testing.T) {
	for name, test := range map[string]struct{ schema, wrong string }{
		"plain":               {string(day), ""},
		"references":          {`{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"type":"string"}}}`, ""},
		"a tree":              {`{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"left":{"$ref":"#/$defs/t"}}}}}`, ""},
		"a property $ref":     {`{"properties":{"$ref":{"type":"string"}}}`, ""},
		"a circle":            {`{"$ref":"#"}`, "in a circle"},
		"a circle below":      {`{"properties":{"a":{"allOf":[{"$ref":"#/properties/a"}]}}}`, "in a circle"},
		"a longer circle":     {`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#/$defs/b"}},"b":{"if":{"$ref":"#/$defs/a"}}}}`, "in a circle"},
		"many alternatives":   {explode(14), "too many alternatives"},
		"fewer alternatives":  {explode(10), ""},
		"another document":    {`{"$ref":"https://example.com/s.json"}`, "only references like"},
		"an anchor":           {`{"$ref":"#a","$defs":{"a":{"$anchor":"a"}}}`, "only references like"},
		"nowhere":             {`{"$ref":"#/$defs/a"}`, "is not a JSON Schema"},
		"not JSON":            {`{`, "not valid JSON"},
		"not a schema":        {`[]`, "is not a JSON Schema"},
		"a bad pattern":       {`{"pattern":"("}`, "is not a JSON Schema"},
		"too large":           {`{"title":"` + strings.Repeat("x", 256<<10) + `"}`, "at most 262144"},
		"too deep":            {strings.Repeat(`{"not":`, 70) + "{}" + strings.Repeat(`}`, 70), "nests deeper"},
		"a type that is none": {`{"type":"thing"}`, ""}, // accepted; nothing fits it
	} {
		t.Run(name, func(t *testing.T) {
			s, err := model.Compile(json.RawMessage(test.schema))
			if test.wrong == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = s.Check(json.RawMessage(`{"left":{"left":{}}}`)) // ends
				return
			}
			if !errors.Is(err, diag.Code(model.CodeBadSchema)) || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%v, want %q", err, test.wrong)
			}
		})
	}
}

// explode makes a schema of n steps with two ways each.
func explode(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{}}}`, n)
	return b.String()
}

// No schema and no answer may crash or stop the check.
func FuzzCheck(f *testing.F) {
	f.Add(`{"type":"object"}`, `{"a":1}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#"}}}}`, `[[[]]]`)
	f.Add(`{"properties":{"a":{"$dynamicRef":"#a"}}}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := model.Compile(json.RawMessage(schema))
		if err != nil {
			return
		}
		if s.Check(json.RawMessage(value)) == nil && !json.Valid([]byte(value)) {
			t.Errorf("%q is accepted", value)
		}
	})
}

// A fake answers with what it is given, one reply after the other.
type fake struct {
	replies []model.Reply
	asked   []model.Request
	use     string // tool to call each time
}

func (f *fake) Name() string                     { return "fake" }
func (f *fake) Capabilities() model.Capabilities { return model.Capabilities{} }
func (f *fake) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	f.asked = append(f.asked, r)
	if f.use != "" && r.Call != nil {
		r.Call(ctx, f.use, json.RawMessage(`{"path":"a"}`))
	}
	reply := f.replies[len(f.asked)-1]
	reply.Usage.Calls = 1
	return reply, nil
}

func TestChecked(t *testing.T) {
	for name, test := range map[string]struct {
		replies []model.Reply
		repairs int
		want    string // value
		asked   int
	}{
		"fits":                   {[]model.Reply{{Value: json.RawMessage(`{"day":"Mon"}`)}}, 0, `{"day":"Mon"}`, 1},
		"in a text":              {[]model.Reply{{Text: "It is\n```\n{\"day\":\"Mon\"}\n```"}}, 0, `{"day":"Mon"}`, 1},
		"second time":            {[]model.Reply{{Text: "Monday"}, {Text: `{"day":"Mon"}`}}, 0, `{"day":"Mon"}`, 2},
		"third time":             {[]model.Reply{{Text: "Monday"}, {Value: json.RawMessage(`{"day":1}`)}, {Text: `{"day":"Mon"}`}}, 0, `{"day":"Mon"}`, 3},
		"never":                  {[]model.Reply{{Text: "Monday"}, {Text: "Monday"}, {Text: "Monday"}}, 0, "", 3},
		"no repairs":             {[]model.Reply{{Text: "Monday"}}, -1, "", 1},
		"value that is not JSON": {[]model.Reply{{Value: json.RawMessage(`{"day":`)}}, -1, "", 1},
		"more than was asked":    {[]model.Reply{{Value: json.RawMessage(`{"day":"Mon","x":1}`)}}, -1, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{replies: test.replies}
			reply, err := model.Checked(f, test.repairs).Fill(t.Context(), model.Request{Prompt: "which day?", Schema: day})
			if string(reply.Value) != test.want || reply.Text != "" || len(f.asked) != test.asked || reply.Usage.Calls != test.asked {
				t.Errorf("%+v, asked %d times, want %q and %d", reply, len(f.asked), test.want, test.asked)
			}
			if (err != nil) != (test.want == "") || err != nil && !errors.Is(err, diag.Code(model.CodeBadAnswer)) {
				t.Error(err)
			}
			for _, again := range f.asked[1:] {
				if !strings.HasPrefix(again.Prompt, "which day?") || !strings.Contains(again.Prompt, "was not accepted") || strings.Count(again.Prompt, "was not accepted") != 1 {
					t.Errorf("asked again with %q", again.Prompt)
				}
			}
		})
	}
	t.Run("a text above the limit", func(t *testing.T) {
		f := &fake{replies: []model.Reply{{Text: strings.Repeat("x", model.MaxAnswer+1)}}}
		if reply, err := model.Checked(f, 0).Fill(t.Context(), model.Request{}); !errors.Is(err, diag.Code(model.CodeBadAnswer)) || reply.Text != "" {
			t.Error(err)
		}
	})
}

// A repair by asking anew does not run tools again: it is told what they gave.
func TestCheckedRunsNoToolTwice(t *testing.T) {
	f := &fake{replies: []model.Reply{{Text: "Monday"}, {Text: `{"day":"Mon"}`}}, use: "write"}
	calls := 0
	_, err := model.Checked(f, 0).Fill(t.Context(), model.Request{
		Prompt: "p", Schema: day, Tools: []model.Tool{{Name: "write"}},
		Call: func(context.Context, string, json.RawMessage) model.ToolResult {
			calls++
			return model.ToolResult{Text: "wrote 7 bytes"}
		},
	})
	if err != nil || calls != 1 || f.asked[1].Tools != nil || !strings.Contains(f.asked[1].Prompt, "wrote 7 bytes") {
		t.Errorf("%v, %d calls, then asked %q", err, calls, f.asked[1].Prompt)
	}
}

// Read-only calls overlap, others do not, and results keep the order of the calls.
func TestLoopOrder(t *testing.T) {
	var now, most, writing atomic.Int32
	r := model.Request{
		Tools: []model.Tool{{Name: "read", ReadOnly: true}, {Name: "write"}},
		Call: func(_ context.Context, name string, input json.RawMessage) model.ToolResult {
			n := now.Add(1)
			defer now.Add(-1)
			if name == "write" {
				if n != 1 || writing.Add(1) != 1 {
					t.Error("a write ran beside something else")
				}
				defer writing.Add(-1)
			}
			for {
				old := most.Load()
				if n <= old || most.CompareAndSwap(old, n) {
					break
				}
			}
			time.Sleep(2 * time.Millisecond)
			return model.ToolResult{Text: name + string(input)}
		},
	}
	var calls []model.Call
	var want []string
	for i := range 40 {
		name := "read"
		if i%10 == 9 {
			name = "write"
		}
		input := fmt.Sprintf(`{"n":%d}`, i)
		calls = append(calls, model.Call{Name: name, Input: json.RawMessage(input)})
		want = append(want, name+input)
	}
	reply, err := model.Loop(t.Context(), r, func(_ context.Context, said model.Said) (model.Turn, error) {
		if said.Results == nil {
			return model.Turn{Calls: calls, Usage: model.Usage{Calls: 1}}, nil
		}
		var got []string
		for _, result := range said.Results {
			got = append(got, result.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("results %q, want %q", got, want)
		}
		return model.Turn{Text: "done", Usage: model.Usage{Calls: 1}}, nil
	})
	if err != nil || reply.Text != "done" || reply.Usage.Calls != 2 {
		t.Errorf("%+v, %v", reply, err)
	}
	if n := most.Load(); n < 2 || n > 8 {
		t.Errorf("%d calls ran at the same time, want 2 to 8", n)
	}
}

// Calls that no tool stands for, or that are no calls, come back as results.
func TestLoopRefusesCalls(t *testing.T) {
	many := make([]model.Call, 130)
	for i := range many {
		many[i] = model.Call{Name: "read"}
	}
	for name, test := range map[string]struct {
		calls []model.Call
		want  string // in the last result; "" is a call
	}{
		"fine":           {[]model.Call{{Name: "read", Input: json.RawMessage(` {} `)}}, ""},
		"without input":  {[]model.Call{{Name: "read"}}, ""},
		"not JSON":       {[]model.Call{{Name: "read", Input: json.RawMessage(`{"a`)}}, "not a JSON object"},
		"a list":         {[]model.Call{{Name: "read", Input: json.RawMessage(`[1]`)}}, "not a JSON object"},
		"too deep":       {[]model.Call{{Name: "read", Input: json.RawMessage(strings.Repeat(`{"a":`, 99) + "1" + strings.Repeat(`}`, 99))}}, "nests deeper"},
		"too large":      {[]model.Call{{Name: "read", Input: json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)}}, "at most"},
		"more than many": {many, "at most 128 calls"},
	} {
		t.Run(name, func(t *testing.T) {
			called := 0
			r := model.Request{Tools: []model.Tool{{Name: "read"}}, Call: func(_ context.Context, _ string, input json.RawMessage) model.ToolResult {
				called++
				if string(input) != "{}" {
					t.Errorf("input %q", input)
				}
				return model.ToolResult{Text: "fine"}
			}}
			_, err := model.Loop(t.Context(), r, func(_ context.Context, said model.Said) (model.Turn, error) {
				if said.Results == nil {
					return model.Turn{Calls: test.calls}, nil
				}
				last := said.Results[len(said.Results)-1]
				if last.IsError != (test.want != "") || !strings.Contains(last.Text, test.want) {
					t.Errorf("result %+v, want %q", last, test.want)
				}
				return model.Turn{Text: "done"}, nil
			})
			if err != nil || test.want == "" && called != 1 || called > 128 {
				t.Errorf("%v, %d calls", err, called)
			}
		})
	}
}

// An answer that comes beside calls has not seen their results.
func TestLoopTakesNoEarlyAnswer(t *testing.T) {
	r := model.Request{Schema: day, Tools: []model.Tool{{Name: "read"}}, Call: func(context.Context, string, json.RawMessage) model.ToolResult { return model.ToolResult{Text: "Tue"} }}
	reply, err := model.Loop(t.Context(), r, func(_ context.Context, said model.Said) (model.Turn, error) {
		if said.Results == nil {
			return model.Turn{Calls: []model.Call{{Name: "read"}}, Value: json.RawMessage(`{"day":"Mon"}`)}, nil
		}
		if !strings.Contains(said.Note, "not taken") {
			t.Errorf("note %q", said.Note)
		}
		return model.Turn{Value: json.RawMessage(`{"day":"Tue"}`)}, nil
	})
	if err != nil || string(reply.Value) != `{"day":"Tue"}` {
		t.Errorf("%s, %v", reply.Value, err)
	}
}

func TestAnswerName(t *testing.T) {
	r := model.Request{Tools: []model.Tool{{Name: "answer_"}, {Name: "answer"}}}
	if got := model.AnswerName(r); got != "answer__" {
		t.Error(got)
	}
}

func ExampleExtract() {
	value, ok := model.Extract("Certainly! ```json\n{\"day\": \"Monday\"}\n```", nil)
	fmt.Println(string(value), ok)
	// Output: {"day": "Monday"} true
}

// BenchmarkCheck asks what the check of one answer costs, with the reading of
// its schema.
func BenchmarkCheck(b *testing.B) {
	f := &same{model.Reply{Value: json.RawMessage(`{"day":"Mon"}`)}}
	m := model.Checked(f, 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Fill(b.Context(), model.Request{Schema: day}); err != nil {
			b.Fatal(err)
		}
	}
}

type same struct{ reply model.Reply }

func (*same) Name() string                                               { return "same" }
func (*same) Capabilities() model.Capabilities                           { return model.Capabilities{} }
func (s *same) Fill(context.Context, model.Request) (model.Reply, error) { return s.reply, nil }
