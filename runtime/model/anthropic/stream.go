package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/internal/wire"
	"github.com/skl-project/skl/spec/diag"
)

// request sends the conversation and adds what the model says to it.
func (t *talk) request(ctx context.Context, last bool) (model.Turn, string, error) {
	var got *message
	var usage model.Usage
	try := func() error {
		got = &message{}
		err := t.read(ctx, last, got)
		usage = usage.Add(got.usage())
		return err
	}
	err := t.c.service.Twice(ctx, try)
	if t.choice(last).forced() && refusesForce(err) {
		t.loose = true
		if err = t.c.service.Twice(ctx, try); err == nil {
			t.c.loose.Store(true)
		}
	}
	turn := model.Turn{Model: got.model, Usage: usage}
	if err != nil {
		return turn, "", err
	}
	t.keep(got, &turn)
	return turn, got.stop, nil
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
	stop   string
	ended  bool
	size   int // bytes of all blocks
	blocks []*block
	tokens tokens
}

// A block is one part of a message.
type block struct {
	kind      string // text, tool_use, thinking, redacted_thinking; others are dropped
	id, name  string // of tool_use
	text      strings.Builder
	signature strings.Builder // of thinking; of redacted_thinking the data
}

func (m *message) usage() model.Usage {
	n := m.tokens
	return model.Usage{Calls: 1, InputTokens: n.input + n.written + n.read, OutputTokens: n.output, CachedTokens: n.read}
}

// read sends the conversation once and reads the stream that answers it into m.
func (t *talk) read(ctx context.Context, last bool, m *message) error {
	params := t.params
	params.ToolChoice = t.choice(last)
	stream, err := t.c.service.Ask(ctx, "v1/messages", params)
	if err != nil {
		return err
	}
	defer stream.Close()
	for !m.ended && stream.Next() {
		if stream.Name == "" || stream.Name == "ping" {
			continue
		}
		var e event
		if err := wire.Decode(stream.Data, &e); err != nil {
			return err
		}
		if stream.Name == "error" {
			return t.c.streamed(e.Error.Type, stream.Data)
		}
		if err := t.event(m, e); err != nil {
			return err
		}
	}
	if m.ended {
		return nil
	}
	return wire.Breaks(stream.Err())
}

// streamed is the error that the service sent inside of a stream. Load and
// faults of its own pass; the rest is like the same error before a stream.
func (c *client) streamed(kind string, raw []byte) error {
	switch kind {
	case "authentication_error", "permission_error", "billing_error":
		return c.service.Failure(http.StatusUnauthorized, nil, raw)
	case "not_found_error":
		return c.service.Failure(http.StatusNotFound, nil, raw)
	case "invalid_request_error":
		return c.service.Failure(http.StatusBadRequest, nil, raw)
	}
	return &wire.Broken{Why: strings.TrimSpace(c.service.Say(kind) + " " + c.service.Message(raw)), Unready: true}
}

// event adds one event of the stream.
func (t *talk) event(m *message, e event) error {
	switch e.Type {
	case "message_start":
		m.model = e.Message.Model
		m.tokens.take(e.Message.Usage)
	case "content_block_start":
		if e.Index != float64(len(m.blocks)) || len(m.blocks) > 4096 {
			return &wire.Broken{Why: "its parts came out of order"}
		}
		b := &block{kind: e.Block.Type, id: e.Block.ID, name: e.Block.Name}
		b.text.WriteString(e.Block.Text)
		b.signature.WriteString(e.Block.Data)
		// Some services send the whole input at once instead of as deltas.
		if input := string(e.Block.Input); b.kind == "tool_use" && len(input) > len("{}") && input != "null" {
			b.text.WriteString(input)
			m.size += len(input)
		}
		m.blocks = append(m.blocks, b)
		m.size += len(e.Block.Text) + len(e.Block.Data)
		t.show(e.Block.Text)
	case "content_block_delta":
		if e.Index < 0 || e.Index >= float64(len(m.blocks)) {
			return &wire.Broken{Why: "its parts came out of order"}
		}
		b, d := m.blocks[int(e.Index)], e.Delta
		b.text.WriteString(d.Text)
		b.text.WriteString(d.Input)
		b.text.WriteString(d.Thinking)
		b.signature.WriteString(d.Signature)
		m.size += len(d.Text) + len(d.Input) + len(d.Thinking) + len(d.Signature)
		t.show(d.Text)
	case "message_delta":
		if e.Delta.StopReason != "" {
			m.stop = e.Delta.StopReason
		}
		m.tokens.take(e.Usage)
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
	var blocks []any
	for _, b := range m.blocks {
		switch b.kind {
		case "text":
			text.WriteString(b.text.String())
			if strings.TrimSpace(b.text.String()) != "" { // the API takes no empty text
				blocks = append(blocks, newText(b.text.String()))
			}
		case "thinking":
			blocks = append(blocks, &thinkingBlock{Type: b.kind, Thinking: b.text.String(), Signature: b.signature.String()})
		case "redacted_thinking":
			blocks = append(blocks, &redactedBlock{Type: b.kind, Data: b.signature.String()})
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
			// Input that is not an object cannot be sent back; the result says what was wrong.
			if trimmed := strings.TrimSpace(string(input)); !json.Valid(input) || trimmed[0] != '{' {
				input = json.RawMessage("{}")
			}
			blocks = append(blocks, &useBlock{Type: b.kind, ID: b.id, Name: b.name, Input: input})
		}
	}
	turn.Text = text.String()
	if len(blocks) > 0 {
		t.params.Messages = append(t.params.Messages, spoken{Role: "assistant", Content: blocks})
	}
}
