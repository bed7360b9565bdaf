// Package anthropic fills leaves by the Messages API, of Anthropic or of any
// service that speaks it.
//
//   - Answers are streamed. A stream that breaks off is asked for once more;
//     a second time the error has code model_truncated.
//   - An answer with a schema comes as the input of a tool that the model must
//     use. Where a service refuses to force a tool, the model is asked to use
//     it, and an object in its text is taken as well.
//   - Tools and system prompt are marked for the prompt cache, and the end of
//     a conversation with tools, so that each turn pays for its news only.
//   - Requests refused for load or rate are sent again, at most MaxRetries
//     times, after the time that the service names (to 60 s) or 0.5, 1, 2, 4 s.
//   - Keys and addresses are not read from the environment, and the key is in
//     no error.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/internal/wire"
	"github.com/skl-project/skl/spec/diag"
)

// DefaultModel is used when a Config names none.
const DefaultModel = "claude-sonnet-5-5"

const (
	defaultBaseURL = "https://api.anthropic.com/"
	apiVersion     = "2023-06-01" // of the protocol; there is no newer one
	defaultTokens  = 16_384       // the API wants a limit; Request.MaxTokens overrules it
	maxPauses      = 16           // turns that the service interrupts by itself
)

// A Config says which model, and where. The zero value but the key is right
// for Anthropic's own service.
type Config struct {
	APIKey     string
	KeyName    string        // variable that holds APIKey, for messages; "" is ANTHROPIC_API_KEY
	BaseURL    string        // "" is Anthropic's; the part before /v1/messages
	Model      string        // "" is DefaultModel
	HTTPClient *http.Client  // nil is a plain one with the proxy of the environment; redirects are never followed
	MaxRetries int           // 0 means 4, below 0 none
	Idle       time.Duration // silence after which an answer is given up; 0 means 5 minutes
	Insecure   bool          // plain http to other machines too
}

type client struct {
	service wire.Service
	id      string
	loose   atomic.Bool // the service does not let tools be forced
}

// New checks c. It sends nothing. A missing key is an error of code
// model_credentials, except for another service than Anthropic's.
func New(c Config) (model.Model, error) {
	if c.Model == "" {
		c.Model = DefaultModel
	}
	c.KeyName = cmp.Or(c.KeyName, "ANTHROPIC_API_KEY")
	if c.BaseURL == "" {
		if c.APIKey == "" {
			return nil, diag.New(diag.NeedsInput, model.CodeCredentials, "anthropic:%s needs an API key", c.Model).Hint("export %s=…", c.KeyName)
		}
		c.BaseURL = defaultBaseURL
	}
	base, err := wire.BaseURL(c.BaseURL, c.Insecure)
	if err != nil {
		return nil, err
	}
	header := map[string]string{"Anthropic-Version": apiVersion}
	if c.APIKey != "" {
		header["X-Api-Key"] = c.APIKey
	}
	return &client{
		service: wire.Service{Name: "anthropic:" + c.Model, Key: c.APIKey, KeyName: c.KeyName, Base: base, Header: header, HTTP: wire.Client(c.HTTPClient, c.Idle), Retries: c.MaxRetries},
		id:      c.Model,
	}, nil
}

func (c *client) Name() string { return c.service.Name }

func (c *client) Capabilities() model.Capabilities {
	return model.Capabilities{Tools: true, Parallel: true}
}

// Fill implements model.Model.
func (c *client) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	talk := c.begin(r)
	reply, err := model.Loop(ctx, r, talk.next)
	if err == nil {
		return reply, nil
	}
	if d, ok := errors.AsType[*diag.Error](err); ok && d.Code == model.CodeTruncated && !d.Retryable && r.MaxTokens == 0 {
		d.Hint("ask for less in one node")
	}
	return reply, err
}

// A talk is one conversation.
type talk struct {
	c       *client
	r       model.Request
	params  params
	answer  string   // name of the answer tool; "" without a schema
	calls   []string // ids of the calls of the last turn
	answers []string // ids of its calls of the answer tool
	loose   bool     // no tool is forced
	mark    **cache  // of the block that ends the conversation
}

func (c *client) begin(r model.Request) *talk {
	t := &talk{c: c, r: r, loose: c.loose.Load()}
	t.params = params{Model: c.id, MaxTokens: defaultTokens, Stream: true}
	if r.MaxTokens > 0 {
		t.params.MaxTokens = r.MaxTokens
	}
	if r.System != "" {
		system := newText(r.System)
		system.Cache = ephemeral
		t.params.System = []*textBlock{system}
	}
	for _, tool := range r.Tools {
		t.tool(tool.Name, tool.Description, tool.Schema)
	}
	if r.Schema != nil {
		t.answer = model.AnswerName(r)
		t.tool(t.answer, "Gives the answer. Call it once, when nothing else is left to do, with the whole answer as its input.", r.Schema)
	}
	if n := len(t.params.Tools); n > 0 {
		t.params.Tools[n-1].Cache = ephemeral
	}
	prompt := r.Prompt
	if prompt == "" {
		prompt = "(no text)" // the API takes no empty message
	}
	t.user(newText(prompt))
	return t
}

func (t *talk) tool(name, description string, schema json.RawMessage) {
	t.params.Tools = append(t.params.Tools, tool{Name: name, Description: description, Schema: model.ObjectSchema(schema)})
}

// user says blocks, and moves the mark for the cache to their end.
func (t *talk) user(blocks ...any) {
	if len(blocks) == 0 {
		return
	}
	if t.mark != nil {
		*t.mark, t.mark = nil, nil
	}
	// A single question is not asked again: writing it to the cache would cost
	// more than it saves.
	if len(t.r.Tools) > 0 {
		switch last := blocks[len(blocks)-1].(type) {
		case *textBlock:
			t.mark = &last.Cache
		case *resultBlock:
			t.mark = &last.Cache
		}
	}
	if t.mark != nil {
		*t.mark = ephemeral
	}
	t.params.Messages = append(t.params.Messages, spoken{Role: "user", Content: blocks})
}

// next implements the side of the provider in model.Loop.
func (t *talk) next(ctx context.Context, said model.Said) (model.Turn, error) {
	var blocks []any
	for i, result := range said.Results {
		text := result.Text
		if text == "" {
			text = "(nothing)"
		}
		blocks = append(blocks, newResult(t.calls[i], text, result.IsError))
	}
	for _, id := range t.answers {
		blocks = append(blocks, newResult(id, said.Note, true))
	}
	if said.Note != "" && len(t.answers) == 0 {
		blocks = append(blocks, newText(said.Note))
	}
	t.user(blocks...)

	var turn model.Turn
	for pauses := 0; ; pauses++ {
		part, stop, err := t.request(ctx, said.Last)
		turn.Usage = turn.Usage.Add(part.Usage)
		turn.Model = part.Model
		if err != nil {
			return turn, err
		}
		turn.Text += part.Text
		turn.Calls, turn.Value = part.Calls, part.Value
		if stop != stopPause || len(part.Calls) > 0 {
			return turn, t.stopped(stop)
		}
		if pauses == maxPauses {
			return turn, diag.New(diag.Failed, model.CodeTruncated, "%s paused %d times and gave no answer", t.c.service.Name, pauses)
		}
	}
}

// stopped is the error for a turn that did not end by itself.
func (t *talk) stopped(stop string) error {
	switch stop {
	case stopRefusal:
		return diag.New(diag.Failed, model.CodeRefused, "%s declined to answer", t.c.service.Name)
	case stopTokens:
		return diag.New(diag.Failed, model.CodeTruncated, "the answer of %s ended at its limit of %d tokens", t.c.service.Name, t.params.MaxTokens)
	case stopContext:
		return diag.New(diag.Failed, model.CodeTruncated, "the answer of %s ended because its context is full", t.c.service.Name)
	}
	return nil
}

// choice says how free the model is to use tools.
func (t *talk) choice(last bool) *toolChoice {
	switch {
	case len(t.params.Tools) == 0:
		return nil
	case t.answer == "" && last:
		return &toolChoice{Type: "none"}
	case t.answer == "" || t.loose:
		return &toolChoice{Type: "auto"}
	case last || len(t.r.Tools) == 0:
		return &toolChoice{Type: "tool", Name: t.answer}
	}
	return &toolChoice{Type: "any"}
}

// forced says whether the model must use a tool.
func (c *toolChoice) forced() bool { return c != nil && (c.Type == "tool" || c.Type == "any") }
