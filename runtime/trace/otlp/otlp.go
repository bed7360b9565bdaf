// Package otlp sends the events of a run as OpenTelemetry spans over OTLP/HTTP, named after the GenAI conventions:
// invoke_workflow for the run, invoke_agent for a subagent, chat for a model call,
// execute_tool for a tool, and one span per node between them.
//
//   - Prompts and answers of models, arguments and results of tools, the texts of nodes, which are prompts, the values of
//     conditions and choices, the arguments of the run and messages of errors are left out unless Content is set, since they may
//     hold what a collector should not keep. Names, kinds, places in the tree, statuses, codes, durations and counts of tokens are sent.
//   - A collector that is slow or away costs a run nothing: at most QueueSize spans wait for it, further ones are lost.
//   - Close waits for it FlushTimeout at most, and its error says how many spans were lost.
//   - A text has at most MaxText bytes in an attribute.
//
// Where to send and with which headers is what OTEL_EXPORTER_OTLP_ENDPOINT and its relatives say.
package otlp

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

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
	CodeEndpoint = "trace_endpoint" // Config.Endpoint, or a variable of the environment, cannot be used
	CodeLost     = "trace_lost"     // the collector did not take everything
)

// Config says what is sent where.
type Config struct {
	Endpoint string // "http://127.0.0.1:4318"; "" leaves it to the environment
	Version  string // of skl
	Run      string // id of the run
	Model    string // who fills the leaves, as --model names it: "anthropic:ID"; "" if it is not known

	Getenv  func(string) string // the environment; nil is an empty one
	Content bool                // also prompts, answers, inputs and results; see [CapturesContent]
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
	cfg     Config
	batch   *batch
	trace   id
	sampled bool
	ended   int   // spans that were to be sent
	root    *live // of the run; nil before its first event
	ran     bool  // whether root has ended
	open    map[key]*live
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
func New(cfg Config) (*Sink, error) {
	sent, err := newExporter(cfg)
	if err != nil {
		return nil, err
	}
	env := variables{cfg.Getenv}
	about, err := env.sender(cfg.Version)
	if err != nil {
		return nil, err
	}
	s := &Sink{cfg: cfg, trace: newID(16), open: map[key]*live{}}
	if s.sampled, err = env.sampled(s.trace); err != nil {
		return nil, err
	}
	s.batch = newBatch(sent, about)
	return s, nil
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
			attrs := []keyValue{text("skl.how", e.How)}
			if s.cfg.Content {
				attrs = append(attrs, text("skl.value", string(e.Value)))
			}
			o.Events = append(o.Events, event{Time: nano(at), Name: "decided", keyValues: keyValues{Attributes: attrs}})
		}
	}
}

func text(name, value string) keyValue { return keyValue{name, textValue(clean(value))} }

func number(name string, n int) keyValue {
	v := int64(n)
	return keyValue{name, value{Number: &v}}
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
	attrs := []keyValue{text("gen_ai.operation.name", "invoke_workflow"), text("gen_ai.workflow.name", e.Text), text("skl.run.id", s.cfg.Run)}
	if s.cfg.Content {
		attrs = append(attrs, text("skl.run.arguments", string(e.Value)))
	}
	s.root = s.begun(nil, spanName("invoke_workflow", e.Text), at, attrs)
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
	s.root.set(text("skl.run.status", string(e.Status)))
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
		attrs = append(attrs, flag("skl.replayed"))
	}
	o := s.begun(s.parent(k), name, at, attrs)
	if k.kind == chat {
		o.Kind = kindClient
	}
	s.open[k] = o
}

// begun is a new span below parent, nil for the root.
func (s *Sink) begun(parent *live, name string, at time.Time, attrs []keyValue) *live {
	o := &live{span{TraceID: s.trace, SpanID: newID(8), Flags: fromLocal | 1, Name: name, Kind: kindInternal, Start: nano(at)}}
	if parent != nil {
		o.ParentID = parent.SpanID
	}
	o.set(attrs...)
	return o
}

// parent is the nearest open span above k.
func (s *Sink) parent(k key) *live {
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
func (s *Sink) describe(k kind, e run.Event) (string, []keyValue) {
	attrs := []keyValue{text("skl.node.path", e.Path), text("skl.node.id", e.Node)}
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
			attrs = append(attrs, text("gen_ai.input.messages", messageText("user", e.Text)))
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

// messageText is one message as the conventions write it.
func messageText(role, content string) string {
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
		o.set(text("skl.status", string(e.Status)))
	}
	if e.Usage != nil {
		o.set(number("gen_ai.usage.input_tokens", e.Usage.InputTokens), number("gen_ai.usage.output_tokens", e.Usage.OutputTokens))
		if e.Usage.CachedTokens > 0 {
			o.set(number("gen_ai.usage.cache_read.input_tokens", e.Usage.CachedTokens))
		}
	}
	if k.kind == chat && e.Model != "" {
		o.set(text("gen_ai.response.model", e.Model))
		if !strings.Contains(s.cfg.Model, ":") {
			o.Name = spanName("chat", e.Model) // nobody asked for a certain one
		}
	}
	if k.kind == tool && e.Name != "" {
		o.set(text("gen_ai.tool.name", e.Name)) // the call has the name on the wire, the reply that of the handler
		o.Name = spanName("execute_tool", e.Name)
	}
	if s.cfg.Content && e.Text+string(e.Value) != "" {
		switch k.kind {
		case chat:
			o.set(text("gen_ai.output.messages", messageText("assistant", e.Text+string(e.Value))))
		case tool:
			o.set(text("gen_ai.tool.call.result", e.Text))
		}
	}
	switch e.Status {
	case run.Failed, run.Halted, run.Errored, run.Denied:
		s.fail(o, e)
	}
	s.close(o, at)
}

// fail marks a span. Its message is content: it may quote anything.
func (s *Sink) fail(span *live, e run.Event) {
	kind, why := e.Code, string(e.Status)
	if kind == "" {
		kind = string(e.Status)
	}
	if s.cfg.Content && e.Text != "" {
		why = e.Text
	}
	span.set(text("error.type", kind))
	span.Status.Code, span.Status.Message = statusError, strings.ToValidUTF8(why[:min(len(why), MaxText)], "")
}

func (s *Sink) close(o *live, at time.Time) {
	o.End = nano(at)
	if s.sampled {
		s.ended++
		s.batch.add(o.span)
	}
}

// Close ends what is still open and sends everything, for at most FlushTimeout. Its error, with code [CodeLost], says how many spans were lost.
func (s *Sink) Close() error {
	s.finish(run.Event{}, time.Now())
	err := s.batch.close(FlushTimeout)
	taken, why := s.batch.sent.taken()
	lost := s.ended - taken
	if lost <= 0 {
		return nil
	}
	if why != nil {
		err = why
	}
	if err == nil {
		err = errors.New("more came than it could take")
	}
	return diag.New(diag.Failed, CodeLost, "%d of %d spans of the trace were not taken by the collector: %w", lost, s.ended, err)
}
