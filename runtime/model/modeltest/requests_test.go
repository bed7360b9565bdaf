package modeltest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/anthropic"
	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/runtime/model/openai"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

var update = flag.Bool("update", false, "rewrite testdata/requests with what is sent now")

// A tap records requests on their way to a server, or answers them by streams
// written by hand.
type tap struct {
	base    *url.URL // of the server
	streams []string // lines of data, one stream a request; nil: ask the server

	mu   sync.Mutex // guards what is below
	sent []sentRequest
}

// A sentRequest is one request as testdata/requests has it.
type sentRequest struct {
	URL    string            `json:"url"` // without the scheme and host of the test's server
	Header map[string]string `json:"header"`
	Body   json.RawMessage   `json:"body"`
}

// RoundTrip implements http.RoundTripper.
func (p *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	sent := sentRequest{URL: strings.TrimPrefix(req.URL.String(), p.base.Scheme+"://"+p.base.Host), Header: map[string]string{}, Body: body}
	for name, values := range req.Header {
		if name != "User-Agent" || values[0] != "skl" { // the SDKs named themselves, and the machine
			sent.Header[name] = strings.Join(values, ", ")
		}
	}
	p.mu.Lock()
	n := len(p.sent)
	p.sent = append(p.sent, sent)
	p.mu.Unlock()
	if p.streams != nil {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req,
			Body: io.NopCloser(strings.NewReader(byHand(p.streams[min(n, len(p.streams)-1)])))}, nil
	}
	again := req.Clone(req.Context())
	again.URL.Scheme, again.URL.Host, again.Host = p.base.Scheme, p.base.Host, ""
	again.Body = io.NopCloser(bytes.NewReader(body))
	return http.DefaultTransport.RoundTrip(again)
}

// byHand is a stream with an event for each line of JSON.
func byHand(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		var e struct{ Type string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Type != "" {
			b.WriteString("event: " + e.Type + "\n")
		}
		b.WriteString("data: " + strings.TrimSpace(line) + "\n\n")
	}
	return b.String()
}

// A requestCase is a conversation whose requests are in testdata/requests.
type requestCase struct {
	name    string
	request model.Request
	turns   []modeltest.Turn
	result  model.ToolResult
	streams map[string][]string // by provider, instead of turns
	own     bool                // at the address that the provider has by itself
	keyless bool
	model   string
	refused string // providers, with spaces, that give up
}

var requestCases = []requestCase{
	{name: "plain", request: model.Request{Prompt: "which day is it?"}, turns: []modeltest.Turn{{Text: "Monday."}}},
	{name: "no prompt", request: model.Request{}, turns: []modeltest.Turn{{Text: "Monday."}}},
	{name: "no key", request: model.Request{Prompt: "p"}, turns: []modeltest.Turn{{Text: "Monday."}}, keyless: true},
	{name: "system", request: model.Request{System: "be <brief> & \"kind\"", Prompt: "day\n\u2028 \x01 é 😀 </script>?"}, turns: []modeltest.Turn{{Text: "Monday."}}},
	{name: "limit", request: model.Request{Prompt: "p", MaxTokens: 77}, turns: []modeltest.Turn{{Text: "Monday."}}},
	{name: "schema", request: model.Request{System: "s", Prompt: "p", Schema: daySchema}, turns: []modeltest.Turn{{Value: json.RawMessage(`{"day":"Monday"}`)}}},
	{name: "loose schema", request: model.Request{System: "s", Prompt: "p", Schema: looseSchema}, turns: []modeltest.Turn{{Value: json.RawMessage(`{"day":"Monday"}`)}}},
	{name: "loose schema without system", request: model.Request{Prompt: "p", Schema: looseSchema}, turns: []modeltest.Turn{{Value: json.RawMessage(`{"day":"Monday"}`)}}},
	{name: "repair", request: model.Request{Prompt: "p", Schema: daySchema}, turns: []modeltest.Turn{{Value: json.RawMessage(`{"day":7}`)}, {Value: json.RawMessage(`{"day":"Monday"}`)}}},
	{name: "tools", request: model.Request{System: "s", Prompt: "p", Tools: someTools}, result: model.ToolResult{Text: "contents"},
		turns: []modeltest.Turn{{Text: "Looking.", Tools: []modeltest.Use{{Name: "read", Input: json.RawMessage(`{"path":"a"}`)}, {Name: "write"}}}, {Text: "done"}}},
	{name: "tools without system", request: model.Request{Prompt: "p", Tools: someTools[:1]}, turns: []modeltest.Turn{{Text: "done"}}},
	{name: "result that is an error", request: model.Request{Prompt: "p", Tools: someTools}, result: model.ToolResult{Text: "no such file", IsError: true},
		turns: []modeltest.Turn{{Tools: []modeltest.Use{{Name: "read"}}}, {Text: "done"}}},
	{name: "result without text", request: model.Request{Prompt: "p", Tools: someTools}, turns: []modeltest.Turn{{Tools: []modeltest.Use{{Name: "read"}}}, {Text: "done"}}},
	{name: "input that is not an object", request: model.Request{Prompt: "p", Tools: someTools},
		turns: []modeltest.Turn{{Tools: []modeltest.Use{{Name: "read", Raw: `{"path":`}, {Name: "read", Raw: `[1]`}, {Name: "read", Raw: ` {"n": 1e2, "é": "<&>"}`}}}, {Text: "done"}}},
	{name: "tools and schema", request: model.Request{Prompt: "p", Tools: someTools, Schema: daySchema}, result: model.ToolResult{Text: "r"},
		turns: []modeltest.Turn{{Tools: []modeltest.Use{{Name: "read"}}}, {Text: "I think it is Monday."}, {Value: json.RawMessage(`{"day":"Monday"}`)}}},
	{name: "answer beside calls", request: model.Request{Prompt: "p", Tools: someTools, Schema: daySchema}, result: model.ToolResult{Text: "r"},
		turns: []modeltest.Turn{{Tools: []modeltest.Use{{Name: "read"}}, Value: json.RawMessage(`{"day":"Sunday"}`)}, {Value: json.RawMessage(`{"day":"Monday"}`)}}},
	{name: "last turn", request: model.Request{Prompt: "p", Tools: someTools, MaxTurns: 2}, result: model.ToolResult{Text: "r"},
		turns: []modeltest.Turn{{Tools: []modeltest.Use{{Name: "read"}}}, {Text: "done"}}},
	{name: "last turn with schema", request: model.Request{Prompt: "p", Tools: someTools, Schema: looseSchema, MaxTurns: 2}, result: model.ToolResult{Text: "r"},
		turns: []modeltest.Turn{{Tools: []modeltest.Use{{Name: "read"}}}, {Value: json.RawMessage(`{"day":"Monday"}`)}}},
	{name: "refused format", request: model.Request{Prompt: "p", Schema: daySchema},
		turns: []modeltest.Turn{{Status: 400, Message: "tool_choice and formats"}, {Status: 400, Message: "formats"}, {Text: `{"day":"Monday"}`}}, refused: "anthropic"},
	{name: "refused measure", request: model.Request{Prompt: "p"}, turns: []modeltest.Turn{{Status: 400, Message: "stream_options"}, {Text: "Monday."}}, refused: "anthropic responses"},
	{name: "sent again", request: model.Request{Prompt: "p", MaxTokens: 5}, turns: []modeltest.Turn{{Status: 529, RetryAfter: "0"}, {Fault: modeltest.Drop}, {Text: "half", Fault: modeltest.Truncate}, {Text: "Monday."}}},
	{name: "own service", request: model.Request{System: "s", Prompt: "p", MaxTokens: 9, Tools: someTools}, turns: []modeltest.Turn{{Text: "Monday."}}, own: true, model: "-"},
	{name: "own service with schema", request: model.Request{Prompt: "p", Schema: daySchema}, turns: []modeltest.Turn{{Value: json.RawMessage(`{"day":"Monday"}`)}}, own: true},
	{name: "thinking", request: model.Request{Prompt: "p", Tools: someTools}, result: model.ToolResult{Text: "r"}, streams: map[string][]string{
		"anthropic": {`{"type":"message_start","message":{"model":"m-2","usage":{"input_tokens":5,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"well"}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig=="}}
{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"blob"}}
{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"  "}}
{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"tu_1","name":"read","input":{"path":"a"}}}
{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":13}}
{"type":"message_stop"}
`, `{"type":"message_start","message":{"model":"m-2","usage":{"input_tokens":5,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"one, "}}
{"type":"message_delta","delta":{"stop_reason":"pause_turn"},"usage":{"output_tokens":13}}
{"type":"message_stop"}
`, `{"type":"message_start","message":{"model":"m-2","usage":{"input_tokens":5,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"two"}}
{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":13}}
{"type":"message_stop"}
`},
		"responses": {`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"<b>"}],"encrypted_content":"sealed"}}
{"type":"response.output_item.done","output_index":1,"item":{"type":"reasoning","id":"rs_2","summary":[]}}
{"type":"response.output_item.done","output_index":2,"item":{"type":"message","id":"m_1","role":"assistant","content":[{"type":"output_text","text":"Looking "},{"type":"output_text","text":"now."}]}}
{"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"read","arguments":""}}
{"type":"response.completed","response":{"status":"completed","model":"m-2","usage":{"input_tokens":3,"output_tokens":4}}}
`, `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"done"}]}}
{"type":"response.completed","response":{"status":"completed","model":"m-2"}}
`},
		"chat": {`{"choices":[{"index":0,"delta":{"content":"Looking."}}]}
{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"read","arguments":""}}]}}]}
{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c","function":{"name":"read","arguments":"{\"a\":"}}]}}]}
{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"1}"}}]}}]}
{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
`, `{"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}
`},
	}},
}

var someTools = []model.Tool{
	{Name: "read", Description: "reads <a> file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer","maximum":1e3}},"$defs":{"x":{"const":"&"}}}`)},
	{Name: "write"},
}

// Every request holds exactly what testdata/requests says, as it was recorded
// with the SDKs of the services: the same address, headers and values of JSON.
// Only the headers are gone by which the SDKs named themselves and the machine:
// User-Agent is skl, and there is no X-Stainless-* any more.
func TestRequests(t *testing.T) {
	long.Slow(t)
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			path := filepath.Join("testdata", "requests", p.name+".json")
			want := map[string][]sentRequest{}
			if !*update {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(text, &want); err != nil {
					t.Fatal(err)
				}
				if len(want) != len(requestCases) {
					t.Errorf("%d cases are recorded, want %d", len(want), len(requestCases))
				}
			}
			got := map[string][]sentRequest{}
			for _, c := range requestCases {
				t.Run(c.name, func(t *testing.T) {
					got[c.name] = c.sent(t, p)
					if !*update {
						compareRequests(t, got[c.name], want[c.name])
					}
				})
			}
			if *update {
				writeRequests(t, path, got)
			}
		})
	}
}

// sent is what the case sends to a provider.
func (c requestCase) sent(t *testing.T, p provider) []sentRequest {
	server := p.serve(modeltest.Turns(c.turns...))
	defer server.Close()
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	tap := &tap{base: base, streams: c.streams[p.name]}
	config := anthropic.Config{APIKey: key, BaseURL: server.URL, Model: strings.Trim(cmp.Or(c.model, "m"), "-"), HTTPClient: &http.Client{Transport: tap}, MaxRetries: 3}
	if c.own {
		config.BaseURL = ""
	}
	if c.keyless {
		config.APIKey = ""
	}
	var m model.Model
	if p.name == "anthropic" {
		m, err = anthropic.New(config)
	} else {
		m, err = openai.New(openai.Config{APIKey: config.APIKey, BaseURL: config.BaseURL, Model: config.Model, HTTPClient: config.HTTPClient, MaxRetries: 3, API: p.name})
	}
	if err != nil {
		t.Fatal(err)
	}
	r := c.request
	if r.Tools != nil {
		r.Call = func(context.Context, string, json.RawMessage) model.ToolResult { return c.result }
	}
	refused := strings.Contains(c.refused, p.name)
	if _, err := m.Fill(t.Context(), r); (err != nil) != refused || refused && !errors.Is(err, diag.Code(model.CodeRejected)) {
		t.Fatalf("%v, refused should be %v", err, refused)
	}
	return tap.sent
}

func compareRequests(t *testing.T, got, want []sentRequest) {
	if len(got) != len(want) {
		t.Fatalf("%d requests, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].URL != want[i].URL || !reflect.DeepEqual(got[i].Header, want[i].Header) {
			t.Errorf("request %d: %s %q\nwant %s %q", i+1, got[i].URL, got[i].Header, want[i].URL, want[i].Header)
		}
		if g, w := value(t, got[i].Body), value(t, want[i].Body); !reflect.DeepEqual(g, w) {
			t.Errorf("request %d:\n%s\nwant\n%s", i+1, got[i].Body, want[i].Body)
		}
	}
}

// value is JSON as a value: 1e3 is 1000, and no digit is lost.
func value(t *testing.T, text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return exact(v)
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok {
			return r.RatString() + " (a number)"
		}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = exact(v[name])
		}
	}
	return v
}

// writeRequests writes one request a line.
func writeRequests(t *testing.T, path string, all map[string][]sentRequest) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	line := func(v any) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(b.String())
	}
	var b bytes.Buffer
	for i, name := range slices.Sorted(maps.Keys(all)) {
		var lines []string
		for _, sent := range all[name] {
			lines = append(lines, "  "+line(sent))
		}
		fmt.Fprintf(&b, "%s%s: [\n%s\n]", map[bool]string{true: "{\n", false: ",\n"}[i == 0], line(name), strings.Join(lines, ",\n"))
	}
	b.WriteString("\n}\n")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
