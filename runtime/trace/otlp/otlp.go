// Package otlp sends the events of a run as OpenTelemetry spans over OTLP/HTTP, named after the GenAI conventions:
// invoke_workflow for the run, invoke_agent for a subagent, chat for a model call,
// execute_tool for a tool, and one span per node between them.
//
//   - What a model is asked and says, what tools are given and give, the texts of nodes, which are prompts, the values of
//     conditions and choices, the arguments of the run and messages of errors are left out unless Content is set, since they may
//     hold what a collector should not keep. Names, kinds, places in the tree, statuses, codes, durations and counts of tokens are sent.
//   - A collector that is slow or away costs a run nothing: at most QueueSize spans wait for it, further ones are lost.
//   - Close waits for it FlushTimeout at most, and its error says how many spans were lost.
//   - A text has at most MaxText bytes in an attribute.
//
// Where to send and with which headers is what OTEL_EXPORTER_OTLP_ENDPOINT and its relatives say.
package otlp

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

const (
	// FlushTimeout bounds how long Close waits for the collector.
	FlushTimeout = 5 * time.Second
	// QueueSize is how many spans wait for the collector.
	QueueSize = 8192
	// MaxText is the size of a text in an attribute, in bytes.
	MaxText = 32 << 10
)

// Codes of errors.
const (
	CodeEndpoint = "trace_endpoint" // Config.Endpoint is no URL
	CodeLost     = "trace_lost"     // the collector did not take everything
)

// Config says what is sent where.
type Config struct {
	Endpoint string // "http://127.0.0.1:4318"; "" leaves it to the environment
	Version  string // of skl
	Run      string // id of the run
	Model    string // who fills the leaves, as --model names it: "anthropic:ID"; "" if it is not known
	Content  bool   // also prompts, answers, inputs and results; see [CapturesContent]
}

// ContentVariable is the variable by which the GenAI conventions ask for content.
const ContentVariable = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

// CapturesContent says that a value of ContentVariable asks for content in spans: true, SPAN_ONLY or SPAN_AND_EVENT in any case.
// Everything else does not, such as EVENT_ONLY: a run has no events of its own in the log.
func CapturesContent(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "true", "span_only", "span_and_event":
		return true
	}
	return false
}

// A Sink makes spans of events. It is used by one goroutine at a time.
type Sink struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	sent     *counting
	ended    int // spans that were given to the provider
	cfg      Config
	root     trace.Span // of the run; nil before its first event
	ran      bool       // whether root has ended
	open     map[key]trace.Span
}

// kind says what a span is about.
type kind uint8

const (
	node kind = iota
	chat
	tool
)

// A key names an open span: of a path there are one visit, one request at a time, and any number of calls of tools.
type key struct {
	kind kind
	path string
	call int
}

// New prepares the exporter; it connects only when there is something to send. Its error has code [CodeEndpoint].
func New(ctx context.Context, cfg Config) (*Sink, error) {
	opts := []otlptracehttp.Option{otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: 200 * time.Millisecond, MaxInterval: time.Second, MaxElapsedTime: FlushTimeout})}
	if cfg.Endpoint != "" {
		u, err := url.Parse(cfg.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, diag.New(diag.Misuse, CodeEndpoint, "%q is not the address of a collector", cfg.Endpoint).Hint("http://127.0.0.1:4318")
		}
		opts = append(opts, otlptracehttp.WithEndpointURL(u.JoinPath("v1", "traces").String()))
	}
	exporter, err := otlptracehttp.New(ctx, opts...)
	if err != nil {
		return nil, diag.New(diag.Misuse, CodeEndpoint, "preparing the trace exporter: %w", err)
	}
	// The environment may say more, or another name of the service; what it says wrong is left out.
	about, _ := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "skl"), attribute.String("service.version", cfg.Version)), resource.WithFromEnv())
	sent := &counting{SpanExporter: exporter}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(sent, sdk.WithMaxQueueSize(QueueSize), sdk.WithBatchTimeout(time.Second)), sdk.WithResource(about))
	return &Sink{provider: provider, tracer: provider.Tracer("skl", trace.WithInstrumentationVersion(cfg.Version)), sent: sent, cfg: cfg, open: map[key]trace.Span{}}, nil
}

// A counting exporter keeps errors to itself: the provider would print them in the middle of whatever the terminal shows.
type counting struct {
	sdk.SpanExporter

	mu    sync.Mutex // guards what is below
	spans int        // that the collector took
	err   error      // why it did not take others
}

func (c *counting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err = err
		return nil
	}
	c.spans += len(spans)
	return nil
}

// Event implements trace.Sink.
func (s *Sink) Event(e run.Event) {
	at := e.Time
	if at.IsZero() {
		at = time.Now()
	}
	switch e.Kind {
	case run.RunStarted:
		s.begin(e, at)
	case run.RunEnded, run.RunSuspended:
		s.finish(e, at)
	case run.NodeStarted:
		s.start(key{node, e.Path, 0}, e, at)
	case run.NodeDone, run.NodeSkipped: // a branch that was looked at and not taken was started
		s.within(e, at)
		s.end(key{node, e.Path, 0}, e, at)
	case run.ModelCalled:
		s.start(key{chat, e.Path, 0}, e, at)
	case run.ModelReplied:
		s.end(key{chat, e.Path, 0}, e, at)
	case run.ToolCalled:
		s.start(key{tool, e.Path, e.Call}, e, at)
	case run.ToolReplied:
		s.end(key{tool, e.Path, e.Call}, e, at)
	case run.Decided:
		if o, ok := s.open[key{node, e.Path, 0}]; ok {
			attrs := []attribute.KeyValue{text("skl.how", e.How)}
			if s.cfg.Content {
				attrs = append(attrs, text("skl.value", string(e.Value)))
			}
			o.AddEvent("decided", trace.WithTimestamp(at), trace.WithAttributes(attrs...))
		}
	}
}

// text is an attribute that a collector takes: one text that is no UTF-8 would lose a whole batch.
func text(name, value string) attribute.KeyValue {
	if len(value) > MaxText {
		value = value[:MaxText]
	}
	return attribute.String(name, strings.ToValidUTF8(value, "\ufffd"))
}

func spanName(operation, of string) string {
	name := strings.TrimSpace(operation + " " + of)
	return strings.ToValidUTF8(name[:min(len(name), 200)], "")
}

// begin opens the span of the run.
func (s *Sink) begin(e run.Event, at time.Time) {
	if s.root != nil && !s.ran {
		return
	}
	attrs := []attribute.KeyValue{text("gen_ai.operation.name", "invoke_workflow"), text("gen_ai.workflow.name", e.Text), text("skl.run.id", s.cfg.Run)}
	if s.cfg.Content {
		attrs = append(attrs, text("skl.run.arguments", string(e.Value)))
	}
	_, s.root = s.tracer.Start(context.Background(), spanName("invoke_workflow", e.Text), trace.WithTimestamp(at), trace.WithAttributes(attrs...))
	s.ran = false
}

// finish ends the span of the run, and what is still open in it.
func (s *Sink) finish(e run.Event, at time.Time) {
	if s.root == nil || s.ran {
		return
	}
	for k := range s.open {
		s.end(k, run.Event{Status: e.Status}, at)
	}
	s.root.SetAttributes(text("skl.run.status", string(e.Status)))
	if e.Status == run.Failed || e.Status == run.Halted {
		s.fail(s.root, e)
	}
	s.close(s.root, at)
	s.ran = true
}

// within ends what is open at the path of a node that ends: a request that failed has no reply.
func (s *Sink) within(e run.Event, at time.Time) {
	for k := range s.open {
		if k.kind != node && k.path == e.Path {
			s.end(k, run.Event{Status: e.Status, Code: e.Code}, at)
		}
	}
}

// start opens a span below the nearest open one. It ends one that was there before.
func (s *Sink) start(k key, e run.Event, at time.Time) {
	if s.root == nil {
		return
	}
	if _, ok := s.open[k]; ok {
		s.end(k, run.Event{Status: run.Errored}, at)
	}
	name, attrs := s.describe(k.kind, e)
	if e.Replayed {
		attrs = append(attrs, attribute.Bool("skl.replayed", true))
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(at), trace.WithAttributes(attrs...)}
	if k.kind == chat {
		options = append(options, trace.WithSpanKind(trace.SpanKindClient))
	}
	_, s.open[k] = s.tracer.Start(trace.ContextWithSpan(context.Background(), s.parent(k)), name, options...)
}

// parent is the nearest open span above k.
func (s *Sink) parent(k key) trace.Span {
	path := k.path
	if k.kind == tool {
		if o, ok := s.open[key{chat, path, 0}]; ok {
			return o
		}
	}
	if k.kind != node {
		if o, ok := s.open[key{node, path, 0}]; ok {
			return o
		}
	}
	for i := strings.LastIndexAny(path, "/>["); i >= 0; i = strings.LastIndexAny(path, "/>[") {
		path = path[:i]
		if o, ok := s.open[key{node, path, 0}]; ok {
			return o
		}
	}
	return s.root
}

// describe is the name of a span and what is known at its start.
func (s *Sink) describe(k kind, e run.Event) (string, []attribute.KeyValue) {
	attrs := []attribute.KeyValue{text("skl.node.path", e.Path), text("skl.node.id", e.Node)}
	switch k {
	case chat:
		attrs = append(attrs, text("gen_ai.operation.name", "chat"), text("skl.purpose", e.Name))
		_, id, _ := strings.Cut(s.cfg.Model, ":")
		if id != "" {
			attrs = append(attrs, text("gen_ai.request.model", id))
		}
		if name := s.providerName(); name != "" {
			attrs = append(attrs, text("gen_ai.provider.name", name))
		}
		if s.cfg.Content {
			attrs = append(attrs, text("gen_ai.input.messages", message("user", e.Text)))
		}
		return spanName("chat", id), attrs
	case tool:
		attrs = append(attrs, text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", e.Name), text("gen_ai.tool.type", "function"))
		if s.cfg.Content {
			attrs = append(attrs, text("gen_ai.tool.call.arguments", string(e.Value)))
		}
		return spanName("execute_tool", e.Name), attrs
	}
	attrs = append(attrs, text("skl.node.kind", e.Type))
	if s.cfg.Content {
		attrs = append(attrs, text("skl.node.text", e.Text))
	}
	if name := agentName(e); name != "" {
		return spanName("invoke_agent", name), append(attrs, text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", name))
	}
	return spanName(e.Type, ""), attrs
}

// agentName is the op that a node calls as a subagent: in bold, or EXPLORE.
func agentName(e run.Event) string {
	if e.Type == "EXPLORE" {
		return e.Type
	}
	if rest, ok := strings.CutPrefix(e.Text, "**"); ok && e.Type == "call" {
		name, _, _ := strings.Cut(rest, "**")
		return name
	}
	return ""
}

// providerName is the well-known name of who serves the model, "" if there is none.
func (s *Sink) providerName() string {
	name, _, _ := strings.Cut(s.cfg.Model, ":")
	switch name {
	case "anthropic", "claude-code":
		return "anthropic"
	}
	return name // openai is its own; others have none that is well known
}

// message is one message as the conventions write it.
func message(role, content string) string {
	if len(content) > MaxText/2 {
		content = strings.ToValidUTF8(content[:MaxText/2], "")
	}
	out, err := json.Marshal([]any{map[string]any{"role": role, "parts": []any{map[string]string{"type": "text", "content": content}}}})
	if err != nil {
		return "" // strings always are JSON
	}
	return string(out)
}

func (s *Sink) end(k key, e run.Event, at time.Time) {
	o, ok := s.open[k]
	if !ok {
		return
	}
	delete(s.open, k)
	if e.Status != "" {
		o.SetAttributes(text("skl.status", string(e.Status)))
	}
	if e.Usage != nil {
		o.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", e.Usage.InputTokens), attribute.Int("gen_ai.usage.output_tokens", e.Usage.OutputTokens))
		if e.Usage.CachedTokens > 0 {
			o.SetAttributes(attribute.Int("gen_ai.usage.cache_read.input_tokens", e.Usage.CachedTokens))
		}
	}
	if k.kind == chat && e.Model != "" {
		o.SetAttributes(text("gen_ai.response.model", e.Model))
		if !strings.Contains(s.cfg.Model, ":") {
			o.SetName(spanName("chat", e.Model)) // nobody asked for a certain one
		}
	}
	if k.kind == tool && e.Name != "" {
		o.SetAttributes(text("gen_ai.tool.name", e.Name)) // the call has the name on the wire, the reply that of the handler
		o.SetName(spanName("execute_tool", e.Name))
	}
	if s.cfg.Content && e.Text+string(e.Value) != "" {
		switch k.kind {
		case chat:
			o.SetAttributes(text("gen_ai.output.messages", message("assistant", e.Text+string(e.Value))))
		case tool:
			o.SetAttributes(text("gen_ai.tool.call.result", e.Text))
		}
	}
	switch e.Status {
	case run.Failed, run.Halted, run.Errored, run.Denied:
		s.fail(o, e)
	}
	s.close(o, at)
}

// fail marks a span. Its message is content: it may quote anything.
func (s *Sink) fail(span trace.Span, e run.Event) {
	kind, why := e.Code, string(e.Status)
	if kind == "" {
		kind = string(e.Status)
	}
	if s.cfg.Content && e.Text != "" {
		why = e.Text
	}
	span.SetAttributes(text("error.type", kind))
	span.SetStatus(codes.Error, strings.ToValidUTF8(why[:min(len(why), MaxText)], ""))
}

func (s *Sink) close(span trace.Span, at time.Time) {
	if span.SpanContext().IsSampled() {
		s.ended++
	}
	span.End(trace.WithTimestamp(at))
}

// Close ends what is still open and sends everything, for at most FlushTimeout. Its error, with code [CodeLost], says how many spans were lost.
func (s *Sink) Close() error {
	s.finish(run.Event{}, time.Now())
	ctx, cancel := context.WithTimeout(context.Background(), FlushTimeout)
	defer cancel()
	err := s.provider.Shutdown(ctx)
	s.sent.mu.Lock()
	defer s.sent.mu.Unlock()
	lost := s.ended - s.sent.spans
	if lost <= 0 {
		return nil
	}
	if s.sent.err != nil && (err == nil || errors.Is(err, context.DeadlineExceeded)) {
		err = s.sent.err
	}
	if err == nil {
		err = errors.New("more came than it could take")
	}
	return diag.New(diag.Failed, CodeLost, "%d of %d spans of the trace were not taken by the collector: %w", lost, s.ended, err)
}
