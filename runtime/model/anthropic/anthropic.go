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
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/internal/wire"
	"github.com/skl-project/skl/spec/diag"
)

// DefaultModel is used when a Config names none.
const DefaultModel = sdk.ModelClaudeSonnet5_5

const (
	defaultBaseURL = "https://api.anthropic.com/"
	defaultTokens  = 16_384 // the API wants a limit; Request.MaxTokens overrules it
	defaultRetries = 4
	maxPauses      = 16 // turns that the service interrupts by itself
)

// A Config says which model, and where. The zero value but the key is right
// for Anthropic's own service.
type Config struct {
	APIKey     string
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
	api     sdk.MessageService
	loose   atomic.Bool // the service does not let tools be forced
}

// New checks c. It sends nothing. A missing key is an error of code
// model_credentials, except for another service than Anthropic's.
func New(c Config) (model.Model, error) {
	if c.Model == "" {
		c.Model = DefaultModel
	}
	if c.BaseURL == "" {
		if c.APIKey == "" {
			return nil, diag.New(diag.NeedsInput, model.CodeCredentials, "anthropic:%s needs an API key", c.Model).Hint("export ANTHROPIC_API_KEY=…")
		}
		c.BaseURL = defaultBaseURL
	}
	base, err := wire.BaseURL(c.BaseURL, c.Insecure)
	if err != nil {
		return nil, err
	}
	retries := c.MaxRetries
	if retries == 0 {
		retries = defaultRetries
	}
	options := []option.RequestOption{
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(wire.Client(c.HTTPClient, c.Idle)),
		option.WithMaxRetries(max(0, retries)),
		option.WithoutOpenTelemetry(), // the run records its own spans, once
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	return &client{
		service: wire.Service{Name: "anthropic:" + c.Model, Key: c.APIKey},
		id:      c.Model,
		api:     sdk.NewMessageService(options...),
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
	params  sdk.MessageNewParams
	answer  string   // name of the answer tool; "" without a schema
	calls   []string // ids of the calls of the last turn
	answers []string // ids of its calls of the answer tool
	loose   bool     // no tool is forced
	mark    *sdk.CacheControlEphemeralParam
}

func (c *client) begin(r model.Request) *talk {
	t := &talk{c: c, r: r, loose: c.loose.Load()}
	t.params = sdk.MessageNewParams{Model: c.id, MaxTokens: defaultTokens}
	if r.MaxTokens > 0 {
		t.params.MaxTokens = int64(r.MaxTokens)
	}
	if r.System != "" {
		t.params.System = []sdk.TextBlockParam{{Text: r.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, tool := range r.Tools {
		t.tool(tool.Name, tool.Description, tool.Schema)
	}
	if r.Schema != nil {
		t.answer = model.AnswerName(r)
		t.tool(t.answer, "Gives the answer. Call it once, when nothing else is left to do, with the whole answer as its input.", r.Schema)
	}
	if n := len(t.params.Tools); n > 0 {
		t.params.Tools[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	prompt := r.Prompt
	if prompt == "" {
		prompt = "(no text)" // the API takes no empty message
	}
	t.user(sdk.NewTextBlock(prompt))
	return t
}

func (t *talk) tool(name, description string, schema json.RawMessage) {
	p := &sdk.ToolParam{Name: name, InputSchema: param.Override[sdk.ToolInputSchemaParam](model.ObjectSchema(schema))}
	if description != "" {
		p.Description = sdk.String(description)
	}
	t.params.Tools = append(t.params.Tools, sdk.ToolUnionParam{OfTool: p})
}

// user says blocks, and moves the mark for the cache to their end.
func (t *talk) user(blocks ...sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if t.mark != nil {
		*t.mark = sdk.CacheControlEphemeralParam{}
		t.mark = nil
	}
	// A single question is not asked again: writing it to the cache would cost
	// more than it saves.
	if len(t.r.Tools) > 0 {
		switch last := blocks[len(blocks)-1]; {
		case last.OfText != nil:
			t.mark = &last.OfText.CacheControl
		case last.OfToolResult != nil:
			t.mark = &last.OfToolResult.CacheControl
		}
	}
	if t.mark != nil {
		*t.mark = sdk.NewCacheControlEphemeralParam()
	}
	t.params.Messages = append(t.params.Messages, sdk.NewUserMessage(blocks...))
}

// next implements the side of the provider in model.Loop.
func (t *talk) next(ctx context.Context, said model.Said) (model.Turn, error) {
	var blocks []sdk.ContentBlockParamUnion
	for i, result := range said.Results {
		text := result.Text
		if text == "" {
			text = "(nothing)"
		}
		blocks = append(blocks, sdk.NewToolResultBlock(t.calls[i], text, result.IsError))
	}
	for _, id := range t.answers {
		blocks = append(blocks, sdk.NewToolResultBlock(id, said.Note, true))
	}
	if said.Note != "" && len(t.answers) == 0 {
		blocks = append(blocks, sdk.NewTextBlock(said.Note))
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
		if stop != sdk.StopReasonPauseTurn || len(part.Calls) > 0 {
			return turn, t.stopped(stop)
		}
		if pauses == maxPauses {
			return turn, diag.New(diag.Failed, model.CodeTruncated, "%s paused %d times and gave no answer", t.c.service.Name, pauses)
		}
	}
}

// stopped is the error for a turn that did not end by itself.
func (t *talk) stopped(stop sdk.StopReason) error {
	switch stop {
	case sdk.StopReasonRefusal:
		return diag.New(diag.Failed, model.CodeRefused, "%s declined to answer", t.c.service.Name)
	case sdk.StopReasonMaxTokens:
		return diag.New(diag.Failed, model.CodeTruncated, "the answer of %s ended at its limit of %d tokens", t.c.service.Name, t.params.MaxTokens)
	case sdk.StopReasonModelContextWindowExceeded:
		return diag.New(diag.Failed, model.CodeTruncated, "the answer of %s ended because its context is full", t.c.service.Name)
	}
	return nil
}

// choice says how free the model is to use tools.
func (t *talk) choice(last bool) sdk.ToolChoiceUnionParam {
	switch {
	case len(t.params.Tools) == 0:
		return sdk.ToolChoiceUnionParam{}
	case t.answer == "" && last:
		return sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
	case t.answer == "" || t.loose:
		return sdk.ToolChoiceUnionParam{OfAuto: &sdk.ToolChoiceAutoParam{}}
	case last || len(t.r.Tools) == 0:
		return sdk.ToolChoiceUnionParam{OfTool: &sdk.ToolChoiceToolParam{Name: t.answer}}
	}
	return sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{}}
}
