package otlp

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// A service is a collector on loopback: it takes what OTLP/HTTP sends and keeps the spans.
type service struct {
	t   *testing.T
	URL string

	mu       sync.Mutex
	spans    []*spans.Span
	resource map[string]string
	headers  http.Header
	answer   func(w http.ResponseWriter, r *http.Request) bool // false: it was answered already
}

func collect(t *testing.T) *service {
	c := &service{t: t}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.answer != nil && !c.answer(w, r) {
		return
	}
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(r.Body); err != nil {
			c.t.Error(err)
			return
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return
	}
	if r.Method != "POST" || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("%s %s, %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(data, &request); err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = r.Header
	for _, rs := range request.ResourceSpans {
		c.resource = attributes(rs.Resource.Attributes)
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	out, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Write(out)
}

func attributes(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[kv.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[kv.Key] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_BoolValue:
			out[kv.Key] = fmt.Sprint(v.BoolValue)
		default:
			out[kv.Key] = fmt.Sprint(v)
		}
	}
	return out
}

// tree draws the spans by their parents, in the order in which they began.
func (c *service) tree() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.spans)
	slices.SortStableFunc(all, func(a, b *spans.Span) int { return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano)) })
	var b strings.Builder
	var draw func(parent, in string)
	draw = func(parent, in string) {
		for _, s := range all {
			if string(s.ParentSpanId) != parent {
				continue
			}
			status := ""
			if s.Status.GetCode() == spans.Status_STATUS_CODE_ERROR {
				status = " ERROR " + s.Status.Message
			}
			kind := ""
			if s.Kind == spans.Span_SPAN_KIND_CLIENT {
				kind = " (client)"
			}
			fmt.Fprintf(&b, "%s%s%s %dms%s\n", in, s.Name, kind, (s.EndTimeUnixNano-s.StartTimeUnixNano)/1e6, status)
			draw(string(s.SpanId), in+"  ")
		}
	}
	draw("", "")
	return b.String()
}

// span finds the one span of that name.
func (c *service) span(t *testing.T, name string) (*spans.Span, map[string]string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found *spans.Span
	for _, s := range c.spans {
		if s.Name == name {
			if found != nil {
				t.Errorf("two spans %q", name)
			}
			found = s
		}
	}
	if found == nil {
		t.Fatalf("no span %q", name)
	}
	return found, attributes(found.Attributes)
}

// send gives events to a sink, ten milliseconds apart.
func send(t *testing.T, cfg Config, events []run.Event) error {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		e.Time = time.Unix(1700000000, int64(i)*10_000_000)
		s.Event(e)
	}
	return s.Close()
}

// reviewing is a run with a subagent beside a leaf in PARALLEL, tools at the same time, a branch that is not taken, and a failure.
var reviewing = []run.Event{
	{Kind: run.RunStarted, Text: "review", Value: json.RawMessage(`{"arguments":"secret"}`)},
	{Kind: run.NodeStarted, Path: "0", Node: "SKILL.md#/0", Type: "PARALLEL", Text: "PARALLEL"},
	{Kind: run.NodeStarted, Path: "0/0", Node: "SKILL.md#/0/0", Type: "call", Text: "**REVIEW** << files >> style", Agent: true},
	{Kind: run.NodeStarted, Path: "0/1", Node: "SKILL.md#/0/1", Type: "prose", Text: "Count the lines >> lines"},
	{Kind: run.ModelCalled, Path: "0/1", Name: "leaf", Text: "secret"},
	{Kind: run.NodeStarted, Path: "0/0>REVIEW/0", Node: "ops.md#REVIEW/0", Type: "prose", Text: "Look", Agent: true},
	{Kind: run.ModelCalled, Path: "0/0>REVIEW/0", Name: "leaf", Text: "secret", Agent: true},
	{Kind: run.ToolCalled, Path: "0/0>REVIEW/0", Name: "Grep", Value: json.RawMessage(`{"pattern":"secret 1"}`), Call: 1},
	{Kind: run.ToolCalled, Path: "0/0>REVIEW/0", Name: "Grep", Value: json.RawMessage(`{"pattern":"secret 2"}`), Call: 2},
	{Kind: run.ToolReplied, Path: "0/0>REVIEW/0", Name: "grep", Text: "secret found", Status: run.OK, Call: 1},
	{Kind: run.ModelReplied, Path: "0/1", Text: "secret", Model: "big-1", Usage: &model.Usage{Calls: 1, InputTokens: 12, OutputTokens: 3, CachedTokens: 8}},
	{Kind: run.NodeDone, Path: "0/1", Type: "prose", Status: run.OK},
	{Kind: run.ToolReplied, Path: "0/0>REVIEW/0", Name: "grep", Text: "secret denied", Status: run.Denied, Call: 2},
	{Kind: run.ModelReplied, Path: "0/0>REVIEW/0", Value: json.RawMessage(`{"style":"secret"}`), Model: "big-1", Usage: &model.Usage{Calls: 2, InputTokens: 20, OutputTokens: 5}},
	{Kind: run.NodeDone, Path: "0/0>REVIEW/0", Type: "prose", Status: run.OK},
	{Kind: run.NodeDone, Path: "0/0", Type: "call", Status: run.OK},
	{Kind: run.NodeDone, Path: "0", Type: "PARALLEL", Status: run.OK},
	{Kind: run.NodeStarted, Path: "1", Type: "IF", Text: "IF << it is late"},
	{Kind: run.Decided, Path: "1", Type: "IF", Value: json.RawMessage("false"), How: "model"},
	{Kind: run.NodeSkipped, Path: "1", Type: "IF", Status: run.Skipped},
	{Kind: run.NodeStarted, Path: "2", Type: "SWITCH", Text: "SWITCH << `name`"},
	{Kind: run.Decided, Path: "2", Type: "SWITCH", Value: json.RawMessage(`"secret"`), How: "rule"},
	{Kind: run.NodeDone, Path: "2", Type: "SWITCH", Status: run.OK},
	{Kind: run.NodeStarted, Path: "3", Type: "FOR_EACH", Text: "FOR_EACH << f in files"},
	{Kind: run.NodeStarted, Path: "3[1]/0", Type: "prose", Text: "Look at {f}"},
	{Kind: run.ModelCalled, Path: "3[1]/0", Name: "leaf", Text: "secret"},
	{Kind: run.NodeDone, Path: "3[1]/0", Type: "prose", Status: run.Failed, Code: "model_refused"}, // without a reply
	{Kind: run.NodeDone, Path: "3", Type: "FOR_EACH", Status: run.Failed},
	{Kind: run.ModelCalled, Path: "response", Name: "respond", Text: "secret"},
	{Kind: run.ModelReplied, Path: "response", Model: "big-1"},
	{Kind: run.RunEnded, Status: run.Failed, Text: "secret was refused"},
}

// The spans of a run hang together as its tree does, with the names and attributes of the GenAI conventions.
func TestSpans(t *testing.T) {
	c := collect(t)
	if err := send(t, Config{Endpoint: c.URL + "/", Version: "1.2.3", Run: "r-1", Model: "anthropic"}, reviewing); err != nil {
		t.Fatal(err)
	}
	const want = `invoke_workflow review 300ms ERROR failed
  PARALLEL 150ms
    invoke_agent REVIEW 130ms
      prose 90ms
        chat big-1 (client) 70ms
          execute_tool grep 20ms
          execute_tool grep 40ms ERROR denied
    prose 80ms
      chat big-1 (client) 60ms
  IF 20ms
  SWITCH 20ms
  FOR_EACH 40ms ERROR failed
    prose 20ms ERROR failed
      chat (client) 10ms ERROR failed
  chat big-1 (client) 10ms
`
	if got := c.tree(); got != want {
		t.Errorf("got\n%s", got)
	}
	root, has := c.span(t, "invoke_workflow review")
	expect(t, has, map[string]string{"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "review", "skl.run.id": "r-1", "skl.run.status": "failed", "error.type": "failed"})
	_, has = c.span(t, "invoke_agent REVIEW")
	expect(t, has, map[string]string{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "REVIEW", "skl.node.path": "0/0", "skl.node.id": "SKILL.md#/0/0", "skl.node.kind": "call", "skl.status": "ok"})
	iff, _ := c.span(t, "IF")
	if len(iff.Events) != 1 || iff.Events[0].Name != "decided" {
		t.Errorf("events of IF: %v", iff.Events)
	} else {
		expect(t, attributes(iff.Events[0].Attributes), map[string]string{"skl.how": "model", "skl.value": ""})
	}
	for _, s := range c.spans {
		if string(s.TraceId) != string(root.TraceId) {
			t.Errorf("%s is in another trace", s.Name)
		}
		has := attributes(s.Attributes)
		switch {
		case strings.HasPrefix(s.Name, "chat big") && has["skl.node.path"] == "0/1":
			expect(t, has, map[string]string{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.response.model": "big-1", "skl.purpose": "leaf",
				"gen_ai.usage.input_tokens": "12", "gen_ai.usage.output_tokens": "3", "gen_ai.usage.cache_read.input_tokens": "8"})
		case strings.HasPrefix(s.Name, "execute_tool"):
			expect(t, has, map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "grep", "gen_ai.tool.type": "function"})
		}
	}
	expect(t, c.resource, map[string]string{"service.name": "skl", "service.version": "1.2.3"})
}

func expect(t *testing.T, has, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if has[name] != value {
			t.Errorf("%s is %q, want %q", name, has[name], value)
		}
	}
}

// Questions and answers leave this machine only if Content is set.
func TestContent(t *testing.T) {
	for _, content := range []bool{false, true} {
		c := collect(t)
		if err := send(t, Config{Endpoint: c.URL, Model: "openai:big", Content: content}, reviewing); err != nil {
			t.Fatal(err)
		}
		all := ""
		for _, s := range c.spans {
			all += s.String()
		}
		if strings.Contains(all, "secret") != content {
			t.Errorf("with Content %v: %s", content, all)
		}
		if !content {
			continue
		}
		for _, s := range c.spans {
			has := attributes(s.Attributes)
			switch has["skl.node.path"] + " " + s.Name {
			case "0/1 chat big": // the model that was asked for
				expect(t, has, map[string]string{"gen_ai.request.model": "big", "gen_ai.provider.name": "openai",
					"gen_ai.input.messages":  `[{"parts":[{"content":"secret","type":"text"}],"role":"user"}]`,
					"gen_ai.output.messages": `[{"parts":[{"content":"secret","type":"text"}],"role":"assistant"}]`})
			case "0/0>REVIEW/0 execute_tool grep":
				// Two calls at the same time, of one name at one path: each with its own input and result.
				if got := has["gen_ai.tool.call.arguments"] + " " + has["gen_ai.tool.call.result"]; got != `{"pattern":"secret 1"} secret found` && got != `{"pattern":"secret 2"} secret denied` {
					t.Errorf("a call has the input and result %s", got)
				}
			}
		}
	}
}

// Nothing of any event but names, kinds, places, statuses and codes is sent unless it is asked for.
func TestNoContent(t *testing.T) {
	planted := []byte(`{"key":"planted"}`)
	var events []run.Event
	for _, kind := range []run.EventKind{run.RunStarted, run.NodeStarted, run.Decided, run.ModelCalled, run.ToolCalled, run.ToolReplied, run.ModelReplied, run.Bound, run.NodeDone, run.RunEnded} {
		e := run.Event{Kind: kind, Path: "0", Node: "SKILL.md#/0", Type: "leaf", Name: "name", How: "model", Text: "planted", Value: planted, Call: 1, Code: "code", Model: "big"}
		switch kind {
		case run.RunStarted:
			e.Text = "skill" // its name
		case run.ToolReplied, run.ModelReplied, run.NodeDone, run.RunEnded:
			e.Status = run.Failed
		}
		events = append(events, e)
	}
	for _, content := range []bool{false, true} {
		c := collect(t)
		if err := send(t, Config{Endpoint: c.URL, Content: content}, events); err != nil {
			t.Fatal(err)
		}
		all := ""
		for _, s := range c.spans {
			all += s.String() + "\n"
		}
		if len(c.spans) != 4 || strings.Contains(all, "planted") != content {
			t.Errorf("with Content %v, %d spans: %s", content, len(c.spans), all)
		}
	}
	for value, want := range map[string]bool{"": false, "false": false, "true": true, "True": true, "NO_CONTENT": false, "EVENT_ONLY": false, "span_only": true, "SPAN_AND_EVENT": true, "1": false} {
		if CapturesContent(value) != want {
			t.Errorf("CapturesContent(%q) is %v", value, !want)
		}
	}
}

// A text that is no UTF-8, or is very long, loses nothing but itself.
func TestTexts(t *testing.T) {
	c := collect(t)
	bad := "a\xff\xfeb\x1b[2J" + strings.Repeat("日", MaxText)
	err := send(t, Config{Endpoint: c.URL, Content: true}, []run.Event{
		{Kind: run.RunStarted, Text: bad},
		{Kind: run.NodeStarted, Path: bad, Node: bad, Type: bad, Text: "**" + bad},
		{Kind: run.ModelCalled, Path: bad, Name: bad, Text: bad},
		{Kind: run.ToolCalled, Path: bad, Name: bad, Call: 1},
		{Kind: run.ToolReplied, Path: bad, Name: bad, Text: bad, Call: 1, Status: run.Errored, Code: bad},
		{Kind: run.ModelReplied, Path: bad, Text: bad, Model: bad},
		{Kind: run.NodeDone, Path: bad, Status: run.Failed, Code: bad},
		{Kind: run.RunEnded, Status: run.Failed, Text: bad},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.spans) != 4 {
		t.Errorf("%d spans", len(c.spans))
	}
	for _, s := range c.spans {
		for name, value := range attributes(s.Attributes) {
			if len(value) > MaxText+3 {
				t.Errorf("%s has %d bytes", name, len(value))
			}
		}
	}
}

// A run that waits for an answer, or that was killed, has its spans too; those that were open end with it.
func TestSuspended(t *testing.T) {
	for _, last := range []run.Event{{Kind: run.RunSuspended, Status: run.Suspended, Text: "Go on?"}, {Kind: run.Bound}} {
		c := collect(t)
		err := send(t, Config{Endpoint: c.URL}, []run.Event{{Kind: run.RunStarted, Text: "s"}, {Kind: run.NodeStarted, Path: "0", Type: "ASK", Replayed: true}, last})
		if err != nil {
			t.Fatal(err)
		}
		_, has := c.span(t, "ASK")
		expect(t, has, map[string]string{"skl.status": string(last.Status), "skl.replayed": "true"})
		_, has = c.span(t, "invoke_workflow s")
		expect(t, has, map[string]string{"skl.run.status": string(last.Status)})
	}
}

// Where to send and as whom may come from the environment.
func TestEnvironment(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=docs")
	t.Setenv("OTEL_SERVICE_NAME", "nightly")
	if err := send(t, Config{Getenv: os.Getenv}, reviewing); err != nil {
		t.Fatal(err)
	}
	if c.headers.Get("X-Team") != "docs" {
		t.Errorf("headers %v", c.headers)
	}
	expect(t, c.resource, map[string]string{"service.name": "nightly"})
}

func TestEndpointIsNoAddress(t *testing.T) {
	for _, endpoint := range []string{"localhost:4318", "ftp://127.0.0.1", "http://", "http://[", "x"} {
		s, err := New(Config{Endpoint: endpoint})
		if s != nil || diag.ClassOf(err) != diag.Misuse {
			t.Errorf("%q: %v, %v", endpoint, s, err)
		}
	}
}

// A collector that is away, hangs, refuses or is slow costs a run no time; Close waits for a while, and says what was lost.
func TestBadCollectors(t *testing.T) {
	long.Slow(t)
	stop := make(chan struct{})
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := "http://" + gone.Addr().String()
	gone.Close()
	hanging, refusing, busy := collect(t), collect(t), collect(t)
	t.Cleanup(func() { close(stop) }) // before the servers close
	hanging.answer = func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
		return false
	}
	refusing.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "no", http.StatusForbidden)
		return false
	}
	var calls int
	busy.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		if calls++; calls > 2 {
			return true
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return false
	}
	const nodes = 2000
	for _, tt := range []struct {
		name, url string
		lost      bool
	}{{"away", away, true}, {"hanging", hanging.URL, true}, {"refusing", refusing.URL, true}, {"busy", busy.URL, false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := New(Config{Endpoint: tt.url})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			s.Event(run.Event{Kind: run.RunStarted, Text: "s"})
			for i := range nodes {
				s.Event(run.Event{Kind: run.NodeStarted, Path: fmt.Sprint(i), Type: "prose"})
				s.Event(run.Event{Kind: run.NodeDone, Path: fmt.Sprint(i), Status: run.OK})
			}
			s.Event(run.Event{Kind: run.RunEnded, Status: run.OK})
			if took := time.Since(began); took > long.Within(2*time.Second) {
				t.Errorf("the run took %s", took)
			}
			began = time.Now()
			err = s.Close()
			took := time.Since(began)
			t.Logf("%d events; Close took %s: %v", 2*nodes, took, err)
			if took > FlushTimeout+long.Within(time.Second) {
				t.Errorf("Close took %s", took)
			}
			if tt.lost != (err != nil) {
				t.Errorf("Close said %v", err)
			}
			if tt.lost && !strings.Contains(fmt.Sprint(err), fmt.Sprintf("%d of %d spans", nodes+1, nodes+1)) {
				t.Errorf("Close said %v", err)
			}
		})
	}
}

// More spans than the queue holds while nobody takes them are lost, and counted.
func TestQueueIsBounded(t *testing.T) {
	c := collect(t)
	start := make(chan struct{})
	c.answer = func(http.ResponseWriter, *http.Request) bool {
		<-start
		return true
	}
	s, err := New(Config{Endpoint: c.URL})
	if err != nil {
		t.Fatal(err)
	}
	s.Event(run.Event{Kind: run.RunStarted, Text: "s"})
	const nodes = 3 * QueueSize
	for i := range nodes {
		s.Event(run.Event{Kind: run.NodeStarted, Path: fmt.Sprint(i), Type: "prose"})
		s.Event(run.Event{Kind: run.NodeDone, Path: fmt.Sprint(i), Status: run.OK})
	}
	close(start)
	err = s.Close()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("of %d spans", nodes+1)) {
		t.Errorf("Close said %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.spans); n < QueueSize/2 || n > QueueSize+2048 || !strings.Contains(fmt.Sprint(err), fmt.Sprintf("%d of", nodes+1-n)) {
		t.Errorf("%d spans came; Close said %v", n, err)
	}
}

// BenchmarkNode measures what one node costs a run that is traced.
func BenchmarkNode(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	defer server.Close()
	s, err := New(Config{Endpoint: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	s.Event(run.Event{Kind: run.RunStarted, Text: "s"})
	for b.Loop() {
		s.Event(run.Event{Kind: run.NodeStarted, Path: "0", Type: "prose", Text: "Look"})
		s.Event(run.Event{Kind: run.NodeDone, Path: "0", Status: run.OK})
	}
	s.Close()
}
