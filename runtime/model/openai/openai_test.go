package openai

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

func TestStrict(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                                                              true,
		`{"type":"object","properties":{},"required":[],"additionalProperties":false}`:                                                                                      true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/b"}}},"required":["a"],"additionalProperties":false,"$defs":{"b":{"enum":["x"]}}}`:     true,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}`:                                  true,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                                               false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                                           false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"],"additionalProperties":false}`:                                                              false,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`:                                                              false,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},"required":["a"],"additionalProperties":false}`:                                                  false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{}},"required":[]}}},"required":["a"],"additionalProperties":false}`: false,
		`{"type":"object","properties":{"a":true},"required":["a"],"additionalProperties":false}`:                                                                           false,
		`{"type":"array","items":{"type":"string"}}`:                                                                                                                        false,
		`{}`: false, `[]`: false, ``: false,
	} {
		if got := Strict(json.RawMessage(schema)); got != want {
			t.Errorf("%s: %v, want %v", schema, got, want)
		}
	}
}

// say serves streams of chunks written by hand, and keeps what was asked.
func say(t *testing.T, c Config, streams ...string) (model.Model, func() []string) {
	var mu sync.Mutex
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "" {
			t.Errorf("a key was sent where there is none: %q", r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for line := range strings.Lines(streams[min(len(asked), len(streams)-1)]) {
			fmt.Fprintf(w, "data: %s\n\n", strings.TrimSpace(line))
		}
		asked = append(asked, string(body))
	}))
	t.Cleanup(s.Close)
	c.BaseURL, c.Model, c.MaxRetries = s.URL+"/v1", "local", -1
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m, func() []string { mu.Lock(); defer mu.Unlock(); return asked }
}

// Compatible services differ from OpenAI: all calls are number 0, and ids, usage or the last line may be missing.
func TestCompatible(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from the environment") // is not read
	m, asked := say(t, Config{},
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":"}}]}}]}
{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}
{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}]}}]}
{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"name":"read","arguments":"{\"n\":3"}}]}}]}
{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
`,
		`{"choices":[{"index":0,"delta":{"content":"done"}}]}
{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
`)
	var inputs []string
	reply, err := m.Fill(t.Context(), model.Request{Prompt: "p", MaxTokens: 77, Tools: []model.Tool{{Name: "read"}},
		Call: func(_ context.Context, _ string, in json.RawMessage) model.ToolResult {
			inputs = append(inputs, string(in))
			return model.ToolResult{Text: "r"}
		}})
	if err != nil || reply.Text != "done" || strings.Join(inputs, " ") != `{"n":1} {"n":2}` {
		t.Fatalf("%+v, %v, inputs %q", reply, err, inputs)
	}
	if !strings.Contains(asked()[0], `"max_tokens":77`) || !strings.Contains(asked()[1], `"tool_call_id":"call_2"`) || !strings.Contains(asked()[1], `"arguments":"{}"`) {
		t.Errorf("asked %s", asked())
	}
}

func TestNoStreamOptions(t *testing.T) {
	s := modeltest.NewOpenAI(func(r modeltest.Recorded) modeltest.Turn {
		if bytes.Contains(r.Body, []byte("stream_options")) {
			return modeltest.Turn{Status: 400, Message: "unknown field stream_options"}
		}
		return modeltest.Turn{Text: "fine"}
	})
	defer s.Close()
	m, err := New(Config{BaseURL: s.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if reply, err := m.Fill(t.Context(), model.Request{Prompt: "p"}); err != nil || reply.Text != "fine" {
			t.Fatalf("%+v, %v", reply, err)
		}
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests, want 3: what the service does not take is remembered", n)
	}
}

func TestHostileStreams(t *testing.T) {
	huge := strings.Repeat(`{"choices":[{"index":0,"delta":{"content":"`+strings.Repeat("x", 1<<20)+`"}}]}`+"\n", 5)
	for name, test := range map[string]struct{ api, stream, code string }{
		"too much":                 {Chat, huge, model.CodeTruncated},
		"a request that is wrong":  {Chat, `{"error":{"type":"invalid_request_error","message":"no"}}`, model.CodeRejected},
		"load":                     {Chat, `{"error":{"type":"server_error","message":"no"}}`, model.CodeUnavailable},
		"an error of plain text":   {Chat, `{"error":"no"}`, model.CodeUnavailable},
		"no choice":                {Chat, `{"choices":[]}`, model.CodeTruncated},
		"a failed response":        {Responses, `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"no"}}}`, model.CodeUnavailable},
		"a wrong prompt":           {Responses, `{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"no"}}}`, model.CodeRejected},
		"items at the end only":    {Responses, `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}}`, ""},
		"an item that is a number": {Responses, `{"type":"response.output_item.done","item":7}`, model.CodeTruncated},
		"an event without a type":  {Responses, `{}`, model.CodeTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := say(t, Config{API: test.api}, test.stream)
			reply, err := m.Fill(t.Context(), model.Request{Prompt: "p"})
			if test.code == "" && (err != nil || reply.Text != "x") || test.code != "" && !errors.Is(err, diag.Code(test.code)) {
				t.Errorf("%+v, %v, want %q", reply, err, test.code)
			}
		})
	}
}

// Reasoning that the service sealed is said again, and nothing is stored there.
func TestReasoning(t *testing.T) {
	m, asked := say(t, Config{API: Responses},
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"}}
{"type":"response.output_item.done","output_index":1,"item":{"type":"reasoning","id":"rs_2","summary":[]}}
{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"read","arguments":"{}"}}
{"type":"response.completed","response":{"status":"completed","model":"m-2","usage":{"input_tokens":3,"output_tokens":4}}}
`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"done"}]}}
{"type":"response.completed","response":{"status":"completed","model":"m-2","usage":{"input_tokens":5,"output_tokens":6}}}
`)
	reply, err := m.Fill(t.Context(), model.Request{Prompt: "p", Tools: []model.Tool{{Name: "read"}},
		Call: func(context.Context, string, json.RawMessage) model.ToolResult { return model.ToolResult{Text: "r"} }})
	if err != nil || reply.Text != "done" || reply.Usage != (model.Usage{Calls: 2, InputTokens: 8, OutputTokens: 10}) {
		t.Fatalf("%+v, %v", reply, err)
	}
	second := asked()[1]
	if !strings.Contains(second, `"encrypted_content":"sealed"`) || strings.Contains(second, "rs_2") || strings.Contains(second, "fc_1") || !strings.Contains(second, `"store":false`) {
		t.Errorf("asked %s", second)
	}
}

func TestConfig(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		code   string
		name   string
	}{
		"no key":                   {Config{}, model.CodeCredentials, ""},
		"own service":              {Config{APIKey: "k"}, "", "openai:" + DefaultModel},
		"another without a key":    {Config{BaseURL: "http://127.0.0.1:1/v1", Model: "m"}, "", "openai:m"},
		"another without a model":  {Config{BaseURL: "http://127.0.0.1:1/v1"}, model.CodeUnknown, ""},
		"an API that is not there": {Config{APIKey: "k", API: "soap"}, model.CodeUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(test.config)
			if test.code != "" {
				if !errors.Is(err, diag.Code(test.code)) || m != nil {
					t.Errorf("%v, %v", m, err)
				}
				return
			}
			if err != nil || m.Name() != test.name || !m.Capabilities().Parallel {
				t.Errorf("%v, %v", m, err)
			}
		})
	}
}

func ExampleNew() {
	s := modeltest.NewOpenAI(modeltest.Turns(modeltest.Turn{Match: "which day", Text: "Monday."}))
	defer s.Close()
	m, err := New(Config{BaseURL: s.URL, Model: "local"})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := m.Fill(context.Background(), model.Request{Prompt: "which day is it?"})
	fmt.Println(m.Name(), reply.Text, err)
	// Output: openai:local Monday. <nil>
}
