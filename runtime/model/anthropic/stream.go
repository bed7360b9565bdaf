package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/internal/wire"
	"github.com/skl-project/skl/spec/diag"
)

// request sends the conversation and adds what the model says to it.
func (t *talk) request(ctx context.Context, last bool) (model.Turn, sdk.StopReason, error) {
	var said *message
	var usage model.Usage
	try := func() error {
		said = &message{}
		err := t.read(ctx, last, said)
		usage = usage.Add(said.usage())
		return err
	}
	err := t.c.service.Twice(ctx, try)
	if forced := t.choice(last); (forced.OfTool != nil || forced.OfAny != nil) && refusesForce(err) {
		t.loose = true
		if err = t.c.service.Twice(ctx, try); err == nil {
			t.c.loose.Store(true)
		}
	}
	turn := model.Turn{Model: said.model, Usage: usage}
	if err != nil {
		return turn, "", err
	}
	t.keep(said, &turn)
	return turn, said.stop, nil
}

// refusesForce says whether the service refused because a tool was forced:
// models that think before they answer, and some compatible services, do.
func refusesForce(err error) bool {
	d, ok := errors.AsType[*diag.Error](err)
	return ok && d.Code == model.CodeRejected && (strings.Contains(d.Message, "tool_choice") || strings.Contains(d.Message, "hinking"))
}

// A message is what has come of a turn so far.
type message struct {
	model  string
	stop   sdk.StopReason
	ended  bool
	size   int // bytes of all blocks
	blocks []*block
	tokens sdk.Usage
}

// A block is one part of a message.
type block struct {
	kind      string // text, tool_use, thinking, redacted_thinking; others are dropped
	id, name  string // of tool_use
	text      strings.Builder
	signature strings.Builder // of thinking; of redacted_thinking the data
}

func (m *message) usage() model.Usage {
	cached := int(m.tokens.CacheReadInputTokens)
	return model.Usage{
		Calls:        1,
		InputTokens:  int(m.tokens.InputTokens) + int(m.tokens.CacheCreationInputTokens) + cached,
		OutputTokens: int(m.tokens.OutputTokens),
		CachedTokens: cached,
	}
}

// read sends the conversation once and reads the stream that answers it into m.
func (t *talk) read(ctx context.Context, last bool, m *message) error {
	params := t.params
	params.ToolChoice = t.choice(last)
	var res *http.Response
	stream := t.c.api.NewStreaming(ctx, params, option.WithResponseInto(&res))
	if err := t.c.service.Stream(ctx, res, stream.Err()); err != nil {
		if res != nil && res.Body != nil {
			_ = res.Body.Close()
		}
		return err
	}
	defer stream.Close()
	for stream.Next() {
		if err := t.event(m, stream.Current()); err != nil {
			return err
		}
		if m.ended {
			return nil
		}
	}
	if e, ok := errors.AsType[*sdk.Error](stream.Err()); ok {
		return t.c.streamed(e)
	}
	return wire.Breaks(stream.Err())
}

// streamed is the error that the service sent inside of a stream. Load and
// faults of its own pass; the rest is like the same error before a stream.
func (c *client) streamed(e *sdk.Error) error {
	raw := []byte(e.RawJSON())
	switch e.Type() {
	case "authentication_error", "permission_error", "billing_error":
		return c.service.Failure(http.StatusUnauthorized, nil, raw)
	case "not_found_error":
		return c.service.Failure(http.StatusNotFound, nil, raw)
	case "invalid_request_error":
		return c.service.Failure(http.StatusBadRequest, nil, raw)
	}
	return &wire.Broken{Why: strings.TrimSpace(string(e.Type()) + " " + c.service.Message(raw)), Unready: true}
}

// event adds one event of the stream.
func (t *talk) event(m *message, e sdk.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		m.model, m.tokens = e.Message.Model, e.Message.Usage
	case "content_block_start":
		if e.Index != int64(len(m.blocks)) || len(m.blocks) > 4096 {
			return &wire.Broken{Why: "its parts came out of order"}
		}
		b := &block{kind: e.ContentBlock.Type, id: e.ContentBlock.ID, name: e.ContentBlock.Name}
		b.text.WriteString(e.ContentBlock.Text)
		b.signature.WriteString(e.ContentBlock.Data)
		// Some services send the whole input at once instead of as deltas.
		if input := e.ContentBlock.JSON.Input.Raw(); b.kind == "tool_use" && len(input) > len("{}") && input != "null" {
			b.text.WriteString(input)
			m.size += len(input)
		}
		m.blocks = append(m.blocks, b)
		m.size += len(e.ContentBlock.Text) + len(e.ContentBlock.Data)
		t.show(e.ContentBlock.Text)
	case "content_block_delta":
		if e.Index < 0 || e.Index >= int64(len(m.blocks)) {
			return &wire.Broken{Why: "its parts came out of order"}
		}
		b, d := m.blocks[e.Index], e.Delta
		b.text.WriteString(d.Text)
		b.text.WriteString(d.PartialJSON)
		b.text.WriteString(d.Thinking)
		b.signature.WriteString(d.Signature)
		m.size += len(d.Text) + len(d.PartialJSON) + len(d.Thinking) + len(d.Signature)
		t.show(d.Text)
	case "message_delta":
		if e.Delta.StopReason != "" {
			m.stop = e.Delta.StopReason
		}
		m.tokens.OutputTokens = e.Usage.OutputTokens
		if e.Usage.JSON.InputTokens.Valid() {
			m.tokens.InputTokens = e.Usage.InputTokens
		}
		if e.Usage.JSON.CacheCreationInputTokens.Valid() {
			m.tokens.CacheCreationInputTokens = e.Usage.CacheCreationInputTokens
		}
		if e.Usage.JSON.CacheReadInputTokens.Valid() {
			m.tokens.CacheReadInputTokens = e.Usage.CacheReadInputTokens
		}
	case "message_stop":
		m.ended = true
	}
	if m.size > wire.MaxTurn {
		return diag.New(diag.Failed, model.CodeTruncated, "%s answers with more than %d bytes", t.c.service.Name, wire.MaxTurn)
	}
	return nil
}

func (t *talk) show(text string) {
	if t.r.Stream != nil && text != "" {
		t.r.Stream(text)
	}
}

// keep puts m into the conversation, as the service wants to see it again, and
// into turn.
func (t *talk) keep(m *message, turn *model.Turn) {
	t.calls, t.answers = nil, nil
	var text strings.Builder
	var blocks []sdk.ContentBlockParamUnion
	for _, b := range m.blocks {
		switch b.kind {
		case "text":
			text.WriteString(b.text.String())
			if strings.TrimSpace(b.text.String()) != "" { // the API takes no empty text
				blocks = append(blocks, sdk.NewTextBlock(b.text.String()))
			}
		case "thinking":
			blocks = append(blocks, sdk.NewThinkingBlock(b.signature.String(), b.text.String()))
		case "redacted_thinking":
			blocks = append(blocks, sdk.NewRedactedThinkingBlock(b.signature.String()))
		case "tool_use":
			input := json.RawMessage(b.text.String())
			if len(input) == 0 {
				input = json.RawMessage("{}")
			}
			if t.answer != "" && b.name == t.answer {
				t.answers = append(t.answers, b.id)
				if turn.Value == nil {
					turn.Value = input
				}
			} else {
				t.calls = append(t.calls, b.id)
				turn.Calls = append(turn.Calls, model.Call{ID: b.id, Name: b.name, Input: input})
			}
			// What is not an object cannot be sent back; the result says what was wrong.
			if trimmed := strings.TrimSpace(string(input)); !json.Valid(input) || trimmed[0] != '{' {
				input = json.RawMessage("{}")
			}
			blocks = append(blocks, sdk.NewToolUseBlock(b.id, input, b.name))
		}
	}
	turn.Text = text.String()
	if len(blocks) > 0 {
		t.params.Messages = append(t.params.Messages, sdk.NewAssistantMessage(blocks...))
	}
}
