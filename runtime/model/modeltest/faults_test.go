package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// The time that a service names is waited for, in all its forms, and not what
// the client would wait by itself.
func TestRetryAfter(t *testing.T) {
	long.Slow(t)
	for _, p := range providers {
		for name, test := range map[string]struct {
			header, value string
			atLeast       time.Duration
			atMost        time.Duration
		}{
			"seconds":       {"Retry-After", "1", time.Second, 3 * time.Second},
			"part of one":   {"Retry-After", "0.01", 10 * time.Millisecond, 300 * time.Millisecond},
			"milliseconds":  {"Retry-After-Ms", "700", 700 * time.Millisecond, 3 * time.Second},
			"a date, past":  {"Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT", 0, 300 * time.Millisecond},
			"no time":       {"Retry-After", "soon", 370 * time.Millisecond, 3 * time.Second},
			"nothing":       {"X-Nothing", "", 370 * time.Millisecond, 3 * time.Second},
			"asked to stay": {"X-Should-Retry", "true", 370 * time.Millisecond, 3 * time.Second},
		} {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				fine := modeltest.Turn{Text: "fine"}
				good := p.serve(modeltest.Turns(fine, fine, fine))
				defer good.Close()
				var n atomic.Int32
				m := front(t, p, good, 2, func(w http.ResponseWriter) bool {
					if n.Add(1) > 1 {
						return false
					}
					w.Header().Set(test.header, test.value)
					status := http.StatusTooManyRequests
					if test.header == "X-Should-Retry" {
						status = http.StatusBadRequest
					}
					w.WriteHeader(status)
					return true
				})
				// A busy machine may answer late three times over only if the
				// client waits too long itself.
				for try := 1; ; try++ {
					n.Store(0)
					start := time.Now()
					reply, err := m.Fill(t.Context(), model.Request{Prompt: "p"})
					took := time.Since(start)
					if err != nil || reply.Text != "fine" || took < test.atLeast {
						t.Fatalf("%+v, %v after %v", reply, err, took)
					}
					if took <= test.atMost {
						return
					}
					if try == 3 {
						t.Fatalf("answered after %v, later than %v, three times", took, test.atMost)
					}
				}
			})
		}
	}
}

// A service that asks to stay away is not asked again.
func TestShouldNotRetry(t *testing.T) {
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			good := p.serve(modeltest.Turns(modeltest.Turn{Text: "fine"}))
			defer good.Close()
			m := front(t, p, good, 2, func(w http.ResponseWriter) bool {
				w.Header().Set("X-Should-Retry", "false")
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			})
			_, err := m.Fill(t.Context(), model.Request{Prompt: "p"})
			if !errors.Is(err, diag.Code(model.CodeUnavailable)) || len(good.Requests()) != 0 {
				t.Errorf("%v", err)
			}
		})
	}
}

// front opens a model whose requests pass through first; those that it does
// not answer go on to s.
func front(t *testing.T, p provider, s *modeltest.Server, retries int, first func(http.ResponseWriter) bool) model.Model {
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: base.Scheme, Host: base.Host})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The body is read before it goes on: a server closes a request's body
		// with the first byte of its response, and a transport that looks for
		// the body's end just then gives the connection up.
		body, err := io.ReadAll(r.Body)
		if err != nil || first(w) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	m, err := p.open(proxy.URL+base.Path, retries, 0)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A connection that ends without a response is asked again.
func TestDropped(t *testing.T) {
	long.Slow(t)
	each(t, turns(modeltest.Turn{Fault: modeltest.Drop}, modeltest.Turn{Text: "fine"}), func(t *testing.T, m model.Model, s *modeltest.Server) {
		if reply, err := m.Fill(t.Context(), model.Request{Prompt: "p"}); err != nil || reply.Text != "fine" || len(s.Requests()) != 2 {
			t.Errorf("%+v, %v after %d requests", reply, err, len(s.Requests()))
		}
	})
}

// Inputs that come in many pieces, cut anywhere, are whole when the tool runs.
func TestPieces(t *testing.T) {
	one, two := `{"path":"`+strings.Repeat("é😀\\n", 400)+`"}`, `{"path":["`+strings.Repeat("x", 3000)+`"]}`
	script := turns(modeltest.Turn{Text: strings.Repeat("Ich weiß. ", 50), Tools: []modeltest.Use{{Name: "read", Input: json.RawMessage(one)}, {Name: "read", Input: json.RawMessage(two)}}}, modeltest.Turn{Text: "done"})
	each(t, script, func(t *testing.T, m model.Model, s *modeltest.Server) {
		var got []string
		r := wordTools(func(_ string, input json.RawMessage) model.ToolResult {
			got = append(got, string(input))
			return model.ToolResult{Text: "r"}
		})
		r.Tools[0].ReadOnly = false // one after the other
		r.Prompt = "p"
		var streamed strings.Builder
		r.Stream = func(text string) { streamed.WriteString(text) }
		reply, err := m.Fill(t.Context(), r)
		if err != nil || reply.Text != "done" || len(got) != 2 || got[0] != one || got[1] != two || streamed.String() != strings.Repeat("Ich weiß. ", 50)+"done" {
			t.Errorf("%+v, %v, inputs %q", reply, err, got)
		}
	})
}

// A context that is too long is the request's fault, and is not asked again,
// whether it is said before the stream or in it.
func TestContextFull(t *testing.T) {
	const said = "prompt is too long: 250000 tokens > 200000 maximum"
	each(t, turns(modeltest.Turn{Status: 400, Message: said}), func(t *testing.T, m model.Model, s *modeltest.Server) {
		_, err := m.Fill(t.Context(), model.Request{Prompt: "p"})
		if !errors.Is(err, diag.Code(model.CodeRejected)) || !strings.Contains(err.Error(), "250000") || len(s.Requests()) != 1 {
			t.Errorf("%v after %d requests", err, len(s.Requests()))
		}
	})
	for name, test := range map[string]struct{ stream, code string }{
		"anthropic": {`{"type":"message_start","message":{"model":"m"}}
{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"}}
{"type":"message_stop"}`, model.CodeTruncated},
		"chat":      {`{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"` + said + `"}}`, model.CodeRejected},
		"responses": {`{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"` + said + `"}}}`, model.CodeRejected},
	} {
		t.Run("in the stream/"+name, func(t *testing.T) {
			m, n := spoken(t, name, test.stream)
			if _, err := m.Fill(t.Context(), model.Request{Prompt: "p"}); !errors.Is(err, diag.Code(test.code)) || n.Load() != 1 {
				t.Errorf("%v after %d requests", err, n.Load())
			}
		})
	}
}

// spoken opens a model that is answered by a stream written by hand, and
// counts the requests.
func spoken(t *testing.T, provider, stream string) (model.Model, *atomic.Int32) {
	return written(t, provider, byHand(stream))
}

// written is spoken with the bytes as they go over the wire.
func written(t *testing.T, provider, text string) (model.Model, *atomic.Int32) {
	n := new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	for _, p := range providers {
		if p.name == provider {
			m, err := p.open(s.URL, -1, 0)
			if err != nil {
				t.Fatal(err)
			}
			return m, n
		}
	}
	t.Fatalf("no provider %s", provider)
	return nil, nil
}

// Streams as services write them that are not the first ones to speak the
// protocol: other ends of lines, comments, fields of other kinds.
func TestOddStreams(t *testing.T) {
	long.Slow(t)
	for name, test := range map[string]struct{ provider, stream, want string }{
		"ends of lines":       {"chat", ": hello\r\n\r\nid: 7\r\nretry: 10\r\ndata:{\"choices\":[{\"index\":0,\r\ndata: \"delta\":{\"content\":\"fine\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n", "fine"},
		"after the end":       {"chat", byHand(`{"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}`) + "data: [DONE]\n\ndata: not json\n\n", "fine"},
		"nulls":               {"chat", byHand(`{"id":null,"model":null,"usage":null,"choices":[{"index":0,"delta":{"role":null,"content":"fine","refusal":null,"tool_calls":null},"finish_reason":"stop","logprobs":null}]}`), "fine"},
		"fields of one's own": {"chat", byHand(`{"x":[1],"choices":[{"index":0,"delta":{"content":"fine","reasoning_content":"hm"},"finish_reason":"stop"}]}`), "fine"},
		"usage in parts":      {"chat", byHand(`{"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12.0,"completion_tokens":3.5e0}}`), "fine"},
		"text that is a list": {"chat", byHand(`{"choices":[{"delta":{"content":[{"type":"thinking"}]}}]}` + "\n" + `{"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}`), "fine"},
		"no end":              {"chat", byHand(`{"choices":[{"delta":{"content":"fi"}}]}`), ""},
		"a list":              {"chat", "data: []\n\n" + byHand(`{"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}`), ""},
		"half an event":       {"chat", strings.TrimSuffix(byHand(`{"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}`), "\n"), ""},
		"events without names": {"responses", "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"fine\"}]}}\n\n" +
			"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"error\":null,\"usage\":null}}\n\n", "fine"},
		"no end of responses": {"responses", byHand(`{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"fine"}]}}`), ""},
		"pings": {"anthropic", byHand(`{"type":"ping"}`) + "event: ping\ndata: not json\n\nevent: message_start\n\n: c\n\n" + byHand(`{"type":"message_start","message":{"model":"m","usage":{"input_tokens":1.0,"output_tokens":null}}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"fine","citations":null}}
{"type":"message_delta","delta":{"stop_reason":null},"usage":null}
{"type":"message_stop"}`), "fine"},
		"no end of messages": {"anthropic", byHand(`{"type":"message_start","message":{"model":"m"}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"fine"}}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, n := written(t, test.provider, test.stream)
			reply, err := m.Fill(t.Context(), model.Request{Prompt: "p"})
			if test.want == "" {
				if !errors.Is(err, diag.Code(model.CodeTruncated)) || n.Load() != 2 {
					t.Errorf("%+v, %v after %d requests", reply, err, n.Load())
				}
			} else if err != nil || reply.Text != test.want {
				t.Errorf("%+v, %v", reply, err)
			}
		})
	}
}

// A line without an end is given up, long before memory is.
func TestEndlessLine(t *testing.T) {
	long.Slow(t)
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			var sent atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "event: message_start\ndata: ")
				piece := []byte(strings.Repeat("x", 1<<20))
				for {
					n, err := w.Write(piece)
					if sent.Add(int64(n)); err != nil || sent.Load() > 200<<20 {
						return
					}
				}
			}))
			defer s.Close()
			m, err := p.open(s.URL, -1, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Fill(t.Context(), model.Request{Prompt: "p"}); !errors.Is(err, diag.Code(model.CodeTruncated)) || sent.Load() > 100<<20 {
				t.Errorf("%v after %d MiB", err, sent.Load()>>20)
			}
		})
	}
}

// A redirect to another host is not followed: neither the key nor the prompt
// gets there.
func TestRedirectElsewhere(t *testing.T) {
	for _, p := range providers {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprintf("%s/%d", p.name, status), func(t *testing.T) {
				var there atomic.Int32
				other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { there.Add(1) }))
				defer other.Close()
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, other.URL+"/v1/messages", status)
				}))
				defer s.Close()
				m, err := p.open(s.URL, 2, 0)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := m.Fill(t.Context(), model.Request{Prompt: "p"}); !errors.Is(err, diag.Code(model.CodeUnavailable)) || there.Load() != 0 {
					t.Errorf("%v, %d requests elsewhere", err, there.Load())
				}
			})
		}
	}
}

// Whoever cancels while the answer grows gets no more of it, and the service
// sees that nobody listens.
func TestCancelInMidStream(t *testing.T) {
	each(t, turns(modeltest.Turn{Text: strings.Repeat("word ", 40), Fault: modeltest.Hang, Repeat: true}), func(t *testing.T, m model.Model, s *modeltest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start := time.Now()
		reply, err := m.Fill(ctx, model.Request{Prompt: "p", Stream: func(string) { cancel() }})
		if !errors.Is(err, context.Canceled) || reply.Text != "" || time.Since(start) > long.Within(2*time.Second) || len(s.Requests()) != 1 {
			t.Errorf("%+v, %v after %v", reply, err, time.Since(start))
		}
	})
}
