// Package otlp sends the events of a run as OpenTelemetry spans over OTLP/HTTP, named after the GenAI conventions:
// invoke_workflow for the run, invoke_agent for a subagent, chat for a model call,
// execute_tool for a tool, and one span per node between them. Prompts and answers are left out unless Content is set, since they
// may hold what a collector should not keep.
//
// Where to send and with which headers is what OTEL_EXPORTER_OTLP_ENDPOINT and its relatives say.
package otlp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/skl-project/skl/runtime/run"
)

// FlushTimeout bounds how long Close waits for the collector.
const FlushTimeout = 5 * time.Second

// Config says what is sent where.
type Config struct {
	Endpoint string // "http://127.0.0.1:4318"; "" leaves it to the environment
	Version  string // of skl
	Run      string // id of the run
	Content  bool   // also prompts, answers, inputs and results
}

// A Sink makes spans of events. It is used by one goroutine at a time.
type Sink struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	cfg      Config
	root     context.Context
	span     trace.Span
	open     map[string]opened // by kind and path
}

type opened struct {
	ctx  context.Context
	span trace.Span
}

// New prepares the exporter; it connects only when there is something to send.
func New(ctx context.Context, cfg Config) (*Sink, error) {
	var opts []otlptracehttp.Option
	if cfg.Endpoint != "" {
		opts = append(opts, otlptracehttp.WithEndpointURL(strings.TrimSuffix(cfg.Endpoint, "/")+"/v1/traces"))
	}
	exporter, err := otlptracehttp.New(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("preparing the trace exporter: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", "skl"), attribute.String("service.version", cfg.Version))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return &Sink{provider: provider, tracer: provider.Tracer("skl"), cfg: cfg, open: map[string]opened{}}, nil
}

// Event implements trace.Sink.
func (s *Sink) Event(e run.Event) {
	at := e.Time
	if at.IsZero() {
		at = time.Now()
	}
	switch e.Kind {
	case run.RunStarted:
		s.root, s.span = s.tracer.Start(context.Background(), "invoke_workflow "+e.Text, trace.WithTimestamp(at), trace.WithAttributes(
			attribute.String("gen_ai.operation.name", "invoke_workflow"), attribute.String("gen_ai.workflow.name", e.Text), attribute.String("skl.run.id", s.cfg.Run)))
	case run.RunEnded, run.RunSuspended:
		if s.span == nil {
			return
		}
		s.span.SetAttributes(attribute.String("skl.run.status", string(e.Status)))
		if e.Status == run.Failed || e.Status == run.Halted {
			s.span.SetStatus(codes.Error, e.Text)
		}
		s.span.End(trace.WithTimestamp(at))
	case run.NodeStarted:
		s.start("node", e, at)
	case run.NodeDone:
		s.end("node", e, at)
	case run.ModelCalled:
		s.start("model", e, at)
	case run.ModelReplied:
		s.end("model", e, at)
	case run.ToolCalled:
		s.start("tool "+e.Name, e, at)
	case run.ToolReplied:
		s.end("tool "+e.Name, e, at)
	case run.Decided:
		if o, ok := s.open["node\x00"+e.Path]; ok {
			o.span.AddEvent("decided", trace.WithTimestamp(at), trace.WithAttributes(attribute.String("skl.value", string(e.Value)), attribute.String("skl.how", e.How)))
		}
	}
}

// start opens a span below the nearest open one.
func (s *Sink) start(kind string, e run.Event, at time.Time) {
	if s.root == nil {
		return
	}
	name, attrs := s.describe(kind, e)
	options := []trace.SpanStartOption{trace.WithTimestamp(at), trace.WithAttributes(attrs...)}
	if kind == "model" {
		options = append(options, trace.WithSpanKind(trace.SpanKindClient))
	}
	ctx, span := s.tracer.Start(s.parent(kind, e.Path), name, options...)
	s.open[kind+"\x00"+e.Path] = opened{ctx, span}
}

// parent is the context of the nearest open span above path.
func (s *Sink) parent(kind, path string) context.Context {
	if kind != "node" {
		if o, ok := s.open["model\x00"+path]; ok && strings.HasPrefix(kind, "tool") {
			return o.ctx
		}
		if o, ok := s.open["node\x00"+path]; ok {
			return o.ctx
		}
	}
	for {
		i := strings.LastIndexAny(path, "/>[")
		if i < 0 {
			return s.root
		}
		path = path[:i]
		if o, ok := s.open["node\x00"+path]; ok {
			return o.ctx
		}
	}
}

func (s *Sink) describe(kind string, e run.Event) (string, []attribute.KeyValue) {
	attrs := []attribute.KeyValue{attribute.String("skl.node.path", e.Path), attribute.String("skl.node.id", e.Node)}
	switch {
	case kind == "model":
		attrs = append(attrs, attribute.String("gen_ai.operation.name", "chat"), attribute.String("skl.purpose", e.Name))
		if e.Model != "" {
			provider, id, _ := strings.Cut(e.Model, ":")
			attrs = append(attrs, attribute.String("gen_ai.provider.name", provider), attribute.String("gen_ai.request.model", id))
		}
		if s.cfg.Content {
			attrs = append(attrs, attribute.String("gen_ai.input.messages", e.Text))
		}
		return "chat " + e.Model, attrs
	case kind != "node":
		attrs = append(attrs, attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", e.Name))
		if s.cfg.Content {
			attrs = append(attrs, attribute.String("gen_ai.tool.call.arguments", string(e.Value)))
		}
		return "execute_tool " + e.Name, attrs
	case e.Agent && e.Type == "call":
		attrs = append(attrs, attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.agent.name", e.Name))
		return "invoke_agent " + e.Name, attrs
	}
	return e.Type, append(attrs, attribute.String("skl.node.kind", e.Type), attribute.String("skl.node.text", e.Text))
}

func (s *Sink) end(kind string, e run.Event, at time.Time) {
	key := kind + "\x00" + e.Path
	o, ok := s.open[key]
	if !ok {
		return
	}
	delete(s.open, key)
	if e.Status != "" {
		o.span.SetAttributes(attribute.String("skl.status", string(e.Status)))
	}
	if e.Usage != nil {
		o.span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", e.Usage.InputTokens), attribute.Int("gen_ai.usage.output_tokens", e.Usage.OutputTokens))
	}
	if e.Model != "" {
		o.span.SetAttributes(attribute.String("gen_ai.response.model", e.Model))
	}
	if e.Status == run.Failed || e.Status == run.Errored || e.Status == run.Denied {
		o.span.SetStatus(codes.Error, e.Code)
	}
	o.span.End(trace.WithTimestamp(at))
}

// Close ends what is still open and sends everything, for at most FlushTimeout. Its error says that spans were lost.
func (s *Sink) Close() error {
	for _, o := range s.open {
		o.span.End()
	}
	if s.span != nil {
		s.span.End()
	}
	ctx, cancel := context.WithTimeout(context.Background(), FlushTimeout)
	defer cancel()
	if err := s.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("sending the trace: %w", err)
	}
	return nil
}
