package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/spec/diag"
)

// say serves streams written by hand, one after the other, and keeps what was asked.
func say(t *testing.T, streams ...string) (model.Model, func() []string) {
	var mu sync.Mutex
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for line := range strings.Lines(streams[len(asked)]) {
			var e struct{ Type string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Type, strings.TrimSpace(line))
		}
		asked = append(asked, string(body))
	}))
	t.Cleanup(s.Close)
	m, err := New(Config{BaseURL: s.URL, Model: "m", MaxRetries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return m, func() []string { mu.Lock(); defer mu.Unlock(); return asked }
}

const begin = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-2","content":[],"stop_reason":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11,"output_tokens":1}}}
`

func end(stop string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + stop + `"},"usage":{"output_tokens":13}}
{"type":"message_stop"}
`
}

// Thinking is said again with its signature when tools are used, as the API
// demands; input that comes at once counts as input that comes in pieces.
func TestThinking(t *testing.T) {
	m, asked := say(t,
		begin+`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"well, "}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"well"}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig=="}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"blob"}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"tu_1","name":"read","input":{"path":"a"}}}
{"type":"content_block_stop","index":2}
`+end("tool_use"),
		begin+`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"do"}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ne"}}
{"type":"content_block_stop","index":0}
`+end("end_turn"))
	var input string
	reply, err := m.Fill(t.Context(), model.Request{System: "s", Prompt: "p", Tools: []model.Tool{{Name: "read"}},
		Call: func(_ context.Context, _ string, in json.RawMessage) model.ToolResult {
			input = string(in)
			return model.ToolResult{Text: "contents", IsError: true}
		}})
	if err != nil || reply.Text != "done" || input != `{"path":"a"}` || reply.Model != "m-2" {
		t.Fatalf("%+v, %v, input %s", reply, err, input)
	}
	if want := (model.Usage{Calls: 2, InputTokens: 46, OutputTokens: 26, CachedTokens: 22}); reply.Usage != want {
		t.Errorf("usage %+v, want %+v", reply.Usage, want)
	}
	for _, want := range []string{`"thinking":"well, well"`, `"signature":"sig=="`, `"data":"blob"`, `"tool_use_id":"tu_1"`, `"is_error":true`} {
		if !strings.Contains(asked()[1], want) {
			t.Errorf("the second request has no %s: %s", want, asked()[1])
		}
	}
}

// The service may interrupt a turn: it is asked to go on with what it said.
func TestPause(t *testing.T) {
	text := func(s string) string {
		return `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"` + s + `"}}
{"type":"content_block_stop","index":0}
`
	}
	m, asked := say(t, begin+text("one, ")+end("pause_turn"), begin+text("two")+end("end_turn"))
	reply, err := m.Fill(t.Context(), model.Request{Prompt: "p"})
	if err != nil || reply.Text != "one, two" || !strings.Contains(asked()[1], `"one, "`) {
		t.Errorf("%+v, %v, %s", reply, err, asked())
	}
}

// Parts out of order, an answer without measure and unknown events.
func TestHostileStreams(t *testing.T) {
	huge := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
` + strings.Repeat(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+strings.Repeat("x", 1<<20)+`"}}
`, 5)
	for name, test := range map[string]struct{ stream, code string }{
		"a delta of no part":  {begin + `{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}` + "\n", model.CodeTruncated},
		"a negative part":     {begin + `{"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"x"}}` + "\n", model.CodeTruncated},
		"a part left out":     {begin + `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"x"}}` + "\n", model.CodeTruncated},
		"too much":            {begin + huge + end("end_turn"), model.CodeTruncated},
		"unknown events":      {begin + `{"type":"news","a":[1]}` + "\n" + end("end_turn"), ""},
		"an error of request": {begin + `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}` + "\n", model.CodeRejected},
		"an error of key":     {begin + `{"type":"error","error":{"type":"authentication_error","message":"no"}}` + "\n", model.CodeCredentials},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := say(t, test.stream, test.stream)
			_, err := m.Fill(t.Context(), model.Request{Prompt: "p"})
			if test.code == "" && err != nil || test.code != "" && !errors.Is(err, diag.Code(test.code)) {
				t.Errorf("%v, want %q", err, test.code)
			}
		})
	}
}

// The request holds at most four marks for the cache, the last at its end.
func TestCacheMarks(t *testing.T) {
	use := modeltest.Turn{Tools: []modeltest.Use{{Name: "read"}}}
	s := modeltest.NewAnthropic(modeltest.Turns(use, use, use, modeltest.Turn{Text: "done"}))
	defer s.Close()
	m, err := New(Config{BaseURL: s.URL, APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Fill(t.Context(), model.Request{System: "s", Prompt: "p", Tools: []model.Tool{{Name: "read", Schema: json.RawMessage(`{"properties":{"path":{"type":"string"}}}`)}},
		Call: func(context.Context, string, json.RawMessage) model.ToolResult { return model.ToolResult{} }})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Requests() {
		if n := bytes.Count(r.Body, []byte(`"cache_control"`)); n != 3 { // system, tools, end
			t.Errorf("%d marks in %s", n, r.Body)
		}
		if r.Header.Get("X-Api-Key") != "k" || r.Model != DefaultModel || !bytes.Contains(r.Body, []byte(`"properties":{"path":{"type":"string"}},"type":"object"`)) {
			t.Errorf("key %q, model %q, %s", r.Header.Get("X-Api-Key"), r.Model, r.Body)
		}
	}
}

func TestNeedsKey(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "from the environment") // is not read
	_, err := New(Config{})
	if e, ok := errors.AsType[*diag.Error](err); !ok || e.Code != model.CodeCredentials || e.Class != diag.NeedsInput || len(e.Hints) == 0 {
		t.Errorf("%#v", err)
	}
	s := modeltest.NewAnthropic(modeltest.Turns(modeltest.Turn{Text: "x"}))
	defer s.Close()
	m, err := New(Config{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fill(t.Context(), model.Request{Prompt: "p"}); err != nil || s.Requests()[0].Header.Get("X-Api-Key") != "" {
		t.Errorf("%v, key %q", err, s.Requests()[0].Header.Get("X-Api-Key"))
	}
}

func ExampleNew() {
	s := modeltest.NewAnthropic(modeltest.Turns(modeltest.Turn{Match: "which day", Text: "Monday."}))
	defer s.Close()
	m, err := New(Config{BaseURL: s.URL, Model: "claude-sonnet-5-5"})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := m.Fill(context.Background(), model.Request{Prompt: "which day is it?"})
	fmt.Println(m.Name(), reply.Text, err)
	// Output: anthropic:claude-sonnet-5-5 Monday. <nil>
}
