package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/anthropic"
	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/runtime/model/openai"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

const key = "sk-secret-0123456789"

// A provider is one of the ways to reach a model over HTTP.
type provider struct {
	name  string
	serve func(modeltest.Script) *modeltest.Server
	open  func(url string, retries int, idle time.Duration) (model.Model, error)
}

var providers = []provider{
	{"anthropic", modeltest.NewAnthropic, func(url string, retries int, idle time.Duration) (model.Model, error) {
		return anthropic.New(anthropic.Config{APIKey: key, BaseURL: url, Model: "m", MaxRetries: retries, Idle: idle})
	}},
	{"chat", modeltest.NewOpenAI, func(url string, retries int, idle time.Duration) (model.Model, error) {
		return openai.New(openai.Config{APIKey: key, BaseURL: url, Model: "m", MaxRetries: retries, Idle: idle})
	}},
	{"responses", modeltest.NewOpenAI, func(url string, retries int, idle time.Duration) (model.Model, error) {
		return openai.New(openai.Config{APIKey: key, BaseURL: url, Model: "m", MaxRetries: retries, Idle: idle, API: openai.Responses})
	}},
}

// each runs a test for every provider, against a server with a script of its own.
func each(t *testing.T, script func() modeltest.Script, test func(t *testing.T, m model.Model, s *modeltest.Server)) {
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			s := p.serve(script())
			t.Cleanup(s.Close)
			m, err := p.open(s.URL, 2, 0)
			if err != nil {
				t.Fatal(err)
			}
			test(t, m, s)
		})
	}
}

func turns(list ...modeltest.Turn) func() modeltest.Script {
	return func() modeltest.Script { return modeltest.Turns(list...) }
}

var daySchema = json.RawMessage(`{"type":"object","properties":{"day":{"type":"string"}},"required":["day"],"additionalProperties":false}`)

// A schema that services cannot force: a property is optional.
var looseSchema = json.RawMessage(`{"type":"object","properties":{"day":{"type":"string"},"note":{"type":"string"}},"required":["day"]}`)

func TestText(t *testing.T) {
	each(t, turns(modeltest.Turn{Match: "which day", Text: "It is Monday, as far as anyone knows.", InputTokens: 100, CachedTokens: 40, OutputTokens: 9}), func(t *testing.T, m model.Model, s *modeltest.Server) {
		var streamed strings.Builder
		reply, err := m.Fill(t.Context(), model.Request{System: "be brief", Prompt: "which day is it?", Stream: func(text string) { streamed.WriteString(text) }})
		if err != nil {
			t.Fatal(err)
		}
		if want := "It is Monday, as far as anyone knows."; reply.Text != want || streamed.String() != want {
			t.Errorf("text %q, streamed %q, want %q", reply.Text, streamed.String(), want)
		}
		if want := (model.Usage{Calls: 1, InputTokens: 100, OutputTokens: 9, CachedTokens: 40}); reply.Usage != want {
			t.Errorf("usage %+v, want %+v", reply.Usage, want)
		}
		r := s.Requests()[0]
		if reply.Model != "m" || r.System != "be brief" || !r.Stream || len(r.Tools) != 0 {
			t.Errorf("model %q, request %+v", reply.Model, r)
		}
	})
}

func TestSchema(t *testing.T) {
	for name, schema := range map[string]json.RawMessage{"strict": daySchema, "loose": looseSchema} {
		t.Run(name, func(t *testing.T) {
			each(t, turns(modeltest.Turn{Value: json.RawMessage(`{"day":"Monday"}`)}), func(t *testing.T, m model.Model, s *modeltest.Server) {
				reply, err := m.Fill(t.Context(), model.Request{Prompt: "which day?", Schema: schema})
				if err != nil || string(reply.Value) != `{"day":"Monday"}` || reply.Text != "" {
					t.Fatalf("%+v, %v", reply, err)
				}
				r := s.Requests()[0]
				switch want := map[string]string{"strict": "json_schema", "loose": "json_object"}[name]; {
				case r.Path == "/v1/messages" && r.Force != "answer":
					t.Errorf("the tool that must be used is %q, want answer", r.Force)
				case r.Path != "/v1/messages" && (r.Format != want || (name == "loose") != strings.Contains(r.System, "note")):
					t.Errorf("format %q, want %q; the schema belongs into the system prompt where it is not forced: %q", r.Format, want, r.System)
				}
			})
		})
	}
}

// An answer that does not fit is asked for again in the same conversation.
func TestRepair(t *testing.T) {
	each(t, turns(modeltest.Turn{Value: json.RawMessage(`{"day":7}`)}, modeltest.Turn{Match: "was not accepted", Value: json.RawMessage(`{"day":"Sunday"}`)}), func(t *testing.T, m model.Model, s *modeltest.Server) {
		reply, err := model.Checked(m, 0).Fill(t.Context(), model.Request{Prompt: "which day?", Schema: daySchema})
		if err != nil || string(reply.Value) != `{"day":"Sunday"}` || reply.Usage.Calls != 2 {
			t.Fatalf("%+v, %v", reply, err)
		}
	})
	t.Run("to the end", func(t *testing.T) {
		each(t, turns(modeltest.Turn{Repeat: true, Value: json.RawMessage(`{"day":7}`)}), func(t *testing.T, m model.Model, s *modeltest.Server) {
			reply, err := model.Checked(m, 1).Fill(t.Context(), model.Request{Prompt: "which day?", Schema: daySchema, Node: "n1"})
			if !errors.Is(err, diag.Code(model.CodeBadAnswer)) || reply.Value != nil || reply.Usage.Calls != 2 || len(s.Requests()) != 2 {
				t.Fatalf("%+v, %v, %d requests", reply, err, len(s.Requests()))
			}
			if !strings.Contains(err.Error(), "node n1") || !strings.Contains(err.Error(), "string") {
				t.Errorf("the sentence should name the node and the fault: %v", err)
			}
		})
	})
}

// wordTools are two tools, one of which may overlap with itself.
func wordTools(call func(name string, input json.RawMessage) model.ToolResult) model.Request {
	return model.Request{
		Tools: []model.Tool{
			{Name: "read", Description: "reads a file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`), ReadOnly: true},
			{Name: "write", Description: "writes a file", Schema: json.RawMessage(`{}`)},
		},
		Call: func(_ context.Context, name string, input json.RawMessage) model.ToolResult { return call(name, input) },
	}
}

func TestTools(t *testing.T) {
	script := turns(
		modeltest.Turn{Text: "Looking.", Tools: []modeltest.Use{{Name: "read", Input: json.RawMessage(`{"path":"a"}`)}, {Name: "read", Input: json.RawMessage(`{"path":"b"}`)}}},
		modeltest.Turn{Match: "contents of b", Tools: []modeltest.Use{{Name: "write", Input: json.RawMessage(`{"path":"c"}`)}, {Name: "bash", Input: json.RawMessage(`{"command":"id"}`)}, {Name: "write", Raw: `{"path":`}}},
		modeltest.Turn{Match: "written", Value: json.RawMessage(`{"day":"Friday"}`)},
	)
	each(t, script, func(t *testing.T, m model.Model, s *modeltest.Server) {
		var mu sync.Mutex
		var called []string
		r := wordTools(func(name string, input json.RawMessage) model.ToolResult {
			mu.Lock()
			defer mu.Unlock()
			called = append(called, name+string(input))
			switch name {
			case "write":
				return model.ToolResult{Text: "written"}
			case "bash": // was not offered: it is for the caller to deny
				return model.ToolResult{Text: "bash is denied", IsError: true}
			}
			var in struct{ Path string }
			_ = json.Unmarshal(input, &in)
			return model.ToolResult{Text: "contents of " + in.Path}
		})
		r.Prompt, r.Schema = "copy the files", daySchema
		reply, err := model.Checked(m, 0).Fill(t.Context(), r)
		if err != nil || string(reply.Value) != `{"day":"Friday"}` || reply.Usage.Calls != 3 {
			t.Fatalf("%+v, %v", reply, err)
		}
		slices.Sort(called[:2])
		if want := []string{`read{"path":"a"}`, `read{"path":"b"}`, `write{"path":"c"}`, `bash{"command":"id"}`}; !slices.Equal(called, want) {
			t.Errorf("called %q, want %q", called, want)
		}
		got := s.Requests()[2].Results
		if len(got) != 5 || got[0] != "contents of a" || got[1] != "contents of b" || got[2] != "written" ||
			got[3] != "bash is denied" || !strings.Contains(got[4], "not a JSON object") {
			t.Errorf("results %q", got)
		}
	})
}

// A model that never stops calling tools is told to, and then given up.
func TestTooManyTurns(t *testing.T) {
	each(t, turns(modeltest.Turn{Repeat: true, Tools: []modeltest.Use{{Name: "read"}}}), func(t *testing.T, m model.Model, s *modeltest.Server) {
		r := wordTools(func(string, json.RawMessage) model.ToolResult { return model.ToolResult{} })
		r.Prompt, r.MaxTurns = "go on", 3
		_, err := m.Fill(t.Context(), r)
		if !errors.Is(err, diag.Code(model.CodeTruncated)) || len(s.Requests()) != 3 {
			t.Fatalf("%v after %d requests", err, len(s.Requests()))
		}
		if last := string(s.Requests()[2].Body); !strings.Contains(last, `"none"`) {
			t.Errorf("the last request still offers tools: %s", last)
		}
	})
}

func TestFaults(t *testing.T) {
	long.Slow(t)
	good := modeltest.Turn{Text: "a fine answer"}
	for _, test := range []struct {
		name  string
		turns []modeltest.Turn
		code  string // "" is an answer
		calls int    // requests that the server saw
		retry bool
	}{
		{"rate limit, then room", []modeltest.Turn{{Status: 429, RetryAfter: "0"}, good}, "", 2, false},
		{"overload, then room", []modeltest.Turn{{Status: 529, RetryAfter: "0"}, {Status: 503, RetryAfter: "0"}, good}, "", 3, false},
		{"rate limit without end", []modeltest.Turn{{Status: 429, RetryAfter: "0", Repeat: true}}, model.CodeUnavailable, 3, true},
		{"a wait that is too long", []modeltest.Turn{{Status: 429, RetryAfter: "3600", Repeat: true}}, model.CodeUnavailable, 1, true},
		{"broken server", []modeltest.Turn{{Status: 500, RetryAfter: "0", Message: "oh no", Repeat: true}}, model.CodeUnavailable, 3, true},
		{"broken server, broken body", []modeltest.Turn{{Status: 500, RetryAfter: "0", Fault: modeltest.Malformed, Repeat: true}}, model.CodeUnavailable, 3, true},
		{"wrong key", []modeltest.Turn{{Status: 401, Message: "bad key " + key}}, model.CodeCredentials, 1, false},
		{"no such model", []modeltest.Turn{{Status: 404}}, model.CodeUnknown, 1, false},
		{"wrong request", []modeltest.Turn{{Status: 400, Message: "prompt is too long"}}, model.CodeRejected, 1, false},
		{"stream cut, then whole", []modeltest.Turn{{Text: "half of it", Fault: modeltest.Truncate}, good}, "", 2, false},
		{"stream cut twice", []modeltest.Turn{{Text: "half of it", Fault: modeltest.Truncate, Repeat: true}}, model.CodeTruncated, 2, true},
		{"stream without an end", []modeltest.Turn{{Text: "half of it", Fault: modeltest.Unfinished, Repeat: true}}, model.CodeTruncated, 2, true},
		{"malformed event, then whole", []modeltest.Turn{{Text: "half of it", Fault: modeltest.Malformed}, good}, "", 2, false},
		{"malformed event twice", []modeltest.Turn{{Text: "half of it", Fault: modeltest.Malformed, Repeat: true}}, model.CodeTruncated, 2, true},
		{"overload inside of the stream", []modeltest.Turn{{Text: "half of it", Fault: modeltest.Overload}, good}, "", 2, false},
		{"overload inside, twice", []modeltest.Turn{{Text: "half of it", Fault: modeltest.Overload, Repeat: true}}, model.CodeUnavailable, 2, true},
		{"a page of HTML", []modeltest.Turn{{Fault: modeltest.ContentType, Repeat: true}}, model.CodeUnavailable, 1, false},
		{"a redirect", []modeltest.Turn{{Fault: modeltest.Redirect, Repeat: true}}, model.CodeUnavailable, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			each(t, turns(test.turns...), func(t *testing.T, m model.Model, s *modeltest.Server) {
				reply, err := m.Fill(t.Context(), model.Request{Prompt: "say something"})
				if n := len(s.Requests()); n != test.calls {
					t.Errorf("%d requests, want %d", n, test.calls)
				}
				if test.code == "" {
					if err != nil || reply.Text != "a fine answer" {
						t.Fatalf("%+v, %v", reply, err)
					}
					return
				}
				e, ok := errors.AsType[*diag.Error](err)
				if !ok || e.Code != test.code || e.Retryable != test.retry {
					t.Fatalf("%#v, want code %s, retryable %v", err, test.code, test.retry)
				}
				if all := fmt.Sprintf("%+v %#v %s", err, err, err); strings.Contains(all, key) || strings.Contains(all, "half of it") {
					t.Errorf("the error holds what it should not: %s", all)
				}
				if reply.Text != "" || reply.Value != nil {
					t.Errorf("an answer beside an error: %+v", reply)
				}
			})
		})
	}
}

// Endings of an answer, in the words of each protocol.
func TestEnds(t *testing.T) {
	stops := map[string]map[string]string{
		"anthropic": {model.CodeTruncated: "max_tokens", model.CodeRefused: "refusal"},
		"chat":      {model.CodeTruncated: "length", model.CodeRefused: "content_filter"},
		"responses": {model.CodeTruncated: "max_output_tokens", model.CodeRefused: "content_filter"},
	}
	for _, p := range providers {
		for code, stop := range stops[p.name] {
			t.Run(p.name+"/"+stop, func(t *testing.T) {
				s := p.serve(modeltest.Turns(modeltest.Turn{Text: "half", Stop: stop}))
				defer s.Close()
				m, err := p.open(s.URL, 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				reply, err := m.Fill(t.Context(), model.Request{Prompt: "p"})
				if !errors.Is(err, diag.Code(code)) || reply.Text != "" || reply.Usage.OutputTokens == 0 {
					t.Errorf("%+v, %v", reply, err)
				}
			})
		}
	}
	each(t, turns(modeltest.Turn{Refuse: "I would rather not."}), func(t *testing.T, m model.Model, s *modeltest.Server) {
		if _, err := m.Fill(t.Context(), model.Request{Prompt: "p"}); !errors.Is(err, diag.Code(model.CodeRefused)) {
			t.Errorf("%v", err)
		}
	})
}

// Requests that run at the same time get their own answers.
func TestParallel(t *testing.T) {
	var list []modeltest.Turn
	for i := range 32 {
		list = append(list, modeltest.Turn{Match: fmt.Sprintf("question %02d.", i), Tools: []modeltest.Use{{Name: "read", Input: json.RawMessage(fmt.Sprintf(`{"path":"%d"}`, i))}}},
			modeltest.Turn{Match: fmt.Sprintf("question %02d.", i), Value: json.RawMessage(fmt.Sprintf(`{"day":"%d"}`, i))})
	}
	each(t, turns(list...), func(t *testing.T, m model.Model, s *modeltest.Server) {
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				r := wordTools(func(_ string, input json.RawMessage) model.ToolResult {
					return model.ToolResult{Text: string(input)}
				})
				r.Prompt, r.Schema = fmt.Sprintf("question %02d.", i), daySchema
				reply, err := m.Fill(t.Context(), r)
				if want := fmt.Sprintf(`{"day":"%d"}`, i); err != nil || string(reply.Value) != want {
					t.Errorf("%s, %v, want %s", reply.Value, err, want)
				}
			})
		}
		wg.Wait()
	})
}

// Fill returns soon after ctx ends, wherever the server is at that moment.
func TestCancel(t *testing.T) {
	for _, fault := range []modeltest.Fault{modeltest.Mute, modeltest.Hang} {
		t.Run(string(fault), func(t *testing.T) {
			each(t, turns(modeltest.Turn{Text: "half of it", Fault: fault, Repeat: true}), func(t *testing.T, m model.Model, s *modeltest.Server) {
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					_ = s.Wait(ctx, 1)
					time.Sleep(20 * time.Millisecond)
					cancel()
				}()
				start := time.Now()
				_, err := m.Fill(ctx, model.Request{Prompt: "p"})
				if !errors.Is(err, context.Canceled) || time.Since(start) > long.Within(2*time.Second) {
					t.Errorf("%v after %v", err, time.Since(start))
				}
			})
		})
	}
	t.Run("while it waits to retry", func(t *testing.T) {
		each(t, turns(modeltest.Turn{Status: 429, RetryAfter: "30", Repeat: true}), func(t *testing.T, m model.Model, s *modeltest.Server) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := m.Fill(ctx, model.Request{Prompt: "p"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	})
}

// A service that falls silent is given up.
func TestIdle(t *testing.T) {
	long.Slow(t)
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			s := p.serve(modeltest.Turns(modeltest.Turn{Text: "half of it", Fault: modeltest.Hang, Repeat: true}))
			defer s.Close()
			m, err := p.open(s.URL, -1, 50*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Fill(t.Context(), model.Request{Prompt: "p"})
			if !errors.Is(err, diag.Code(model.CodeTruncated)) || !strings.Contains(err.Error(), "silent") {
				t.Error(err)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			s := p.serve(modeltest.Turns())
			s.Close()
			m, err := p.open(s.URL, -1, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Fill(t.Context(), model.Request{Prompt: "p"})
			if e, ok := errors.AsType[*diag.Error](err); !ok || e.Code != model.CodeUnavailable || !e.Retryable {
				t.Errorf("%#v", err)
			}
		})
	}
}

// A service that does not take what it was asked with is asked in another way,
// and the next request knows it.
func TestFallback(t *testing.T) {
	want := map[string][]string{ // format or forced tool of each request
		"anthropic": {"answer", "", ""},
		"chat":      {"json_schema", "json_object", "", ""},
		"responses": {"json_schema", "json_object", "", ""},
	}
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			s := p.serve(func(r modeltest.Recorded) modeltest.Turn {
				if r.Format != "" || r.Force != "" {
					return modeltest.Turn{Status: http.StatusBadRequest, Message: "tool_choice and formats are not supported here"}
				}
				return modeltest.Turn{Text: "Sure:\n```json\n{\"day\": \"Monday\"}\n```\n"}
			})
			defer s.Close()
			m, err := p.open(s.URL, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				reply, err := m.Fill(t.Context(), model.Request{Prompt: "p", Schema: daySchema})
				if err != nil || string(reply.Value) != `{"day": "Monday"}` {
					t.Fatalf("%+v, %v", reply, err)
				}
			}
			var got []string
			for _, r := range s.Requests() {
				got = append(got, r.Format+r.Force)
			}
			if !slices.Equal(got, want[p.name]) {
				t.Errorf("asked by %q, want %q", got, want[p.name])
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for _, test := range []struct{ url, code string }{
		{"http://models.example/v1", "insecure_http"},
		{"https://user:" + key + "@models.example/v1", "invalid_url"},
		{"https://models.example/v1?key=" + key, "invalid_url"},
		{"ftp://models.example", "invalid_url"},
		{":", "invalid_url"},
	} {
		for _, p := range providers {
			_, err := p.open(test.url, 0, 0)
			if !errors.Is(err, diag.Code(test.code)) || strings.Contains(err.Error(), key) {
				t.Errorf("%s: %q gives %v, want %s", p.name, test.url, err, test.code)
			}
		}
	}
	for _, url := range []string{"http://127.0.0.1:1/v1", "http://[::1]:1", "http://localhost:1/", "https://models.example/v1"} {
		for _, p := range providers {
			if _, err := p.open(url, 0, 0); err != nil {
				t.Errorf("%s: %q gives %v", p.name, url, err)
			}
		}
	}
}

// BenchmarkFill asks what one answer costs besides the model: request, stream,
// check.
func BenchmarkFill(b *testing.B) {
	for _, p := range providers {
		b.Run(p.name, func(b *testing.B) {
			s := p.serve(modeltest.Turns(modeltest.Turn{Repeat: true, Value: json.RawMessage(`{"day":"Monday"}`)}))
			defer s.Close()
			m, err := p.open(s.URL, 0, 0)
			if err != nil {
				b.Fatal(err)
			}
			m = model.Checked(m, 0)
			for b.Loop() {
				if _, err := m.Fill(b.Context(), model.Request{System: "be brief", Prompt: "which day?", Schema: daySchema}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
