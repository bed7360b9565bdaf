package openai

import (
	"context"
	"encoding/json"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/internal/wire"
)

// responseParams is the body of a request for a response.
type responseParams struct {
	Model        string         `json:"model"`
	Instructions string         `json:"instructions,omitempty"`
	Input        []any          `json:"input"` // of the items below, and of items as the service gave them
	Tools        []responseTool `json:"tools,omitempty"`
	ToolChoice   string         `json:"tool_choice,omitempty"`
	Text         *responseText  `json:"text,omitempty"`
	MaxTokens    int            `json:"max_output_tokens,omitempty"`
	Store        bool           `json:"store"`
	Stream       bool           `json:"stream"`
}

type userItem struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type resultItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

type responseTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type responseText struct {
	Format responseFormat `json:"format"`
}

type responseFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Strict bool            `json:"strict,omitempty"`
}

// A responseTalk is a conversation by responses. The service keeps nothing of
// it: every request says all of it again.
type responseTalk struct {
	c     *client
	r     model.Request
	tools []responseTool
	items []any
	calls []model.Call // of the last turn
}

func (c *client) beginResponses(r model.Request) speaker {
	t := &responseTalk{c: c, r: r, items: []any{userItem{Role: "user", Content: r.Prompt}}}
	for _, tool := range r.Tools {
		t.tools = append(t.tools, responseTool{Type: "function", Name: tool.Name, Description: tool.Description, Parameters: model.ObjectSchema(tool.Schema)})
	}
	return t
}

func (t *responseTalk) hear(said model.Said) {
	for i, result := range said.Results {
		t.items = append(t.items, resultItem{Type: "function_call_output", CallID: t.calls[i].ID, Output: result.Text})
	}
	if said.Note != "" {
		t.items = append(t.items, userItem{Role: "user", Content: said.Note})
	}
}

func (t *responseTalk) keep(p *part) {
	t.calls = p.calls
	for _, item := range p.items {
		t.items = append(t.items, item)
	}
}

func (t *responseTalk) params(format int32, last bool) responseParams {
	p := responseParams{Model: t.c.id, Instructions: system(t.r, format), Input: t.items, Tools: t.tools, MaxTokens: max(0, t.r.MaxTokens), Stream: true}
	if last && len(t.tools) > 0 {
		p.ToolChoice = "none"
	}
	if t.r.Schema != nil {
		switch format {
		case bySchema:
			p.Text = &responseText{responseFormat{Type: "json_schema", Name: model.AnswerTool, Schema: model.ObjectSchema(t.r.Schema), Strict: true}}
		case byObject:
			p.Text = &responseText{responseFormat{Type: "json_object"}}
		}
	}
	return p
}

// A responseEvent is one of the stream: the fields of all kinds together.
type responseEvent struct {
	Type     string          `json:"type"`
	Delta    string          `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Code     string          `json:"code"`
	Message  string          `json:"message"`
	Response response        `json:"response"`
}

// A response is what is said of it at its end.
type response struct {
	Model      string `json:"model"`
	Status     string `json:"status"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Output []json.RawMessage `json:"output"`
	Usage  struct {
		Input   float64 `json:"input_tokens"`
		Output  float64 `json:"output_tokens"`
		Details struct {
			Cached float64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	} `json:"usage"`
}

func (t *responseTalk) read(ctx context.Context, format int32, last bool, p *part) error {
	p.usage.Calls = 1
	stream, err := t.c.service.Ask(ctx, "responses", t.params(format, last))
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		var e responseEvent
		if more, err := t.c.next(stream, &e); err != nil {
			return err
		} else if !more {
			return wire.Breaks(stream.Err())
		}
		if err := p.grow(len(e.Delta)); err != nil {
			return err
		}
		switch e.Type {
		case "response.output_text.delta":
			show(t.r, e.Delta)
		case "response.output_item.done":
			if err := p.item(e.Item); err != nil {
				return err
			}
		case "error":
			return t.c.failed("", e.Code, t.c.service.Say(e.Message))
		case "response.failed":
			p.ended(e.Response)
			return t.c.failed("", e.Response.Error.Code, t.c.service.Say(e.Response.Error.Message))
		case "response.completed", "response.incomplete":
			return p.finish(e.Response)
		}
	}
}

// ended takes what a response says about itself.
func (p *part) ended(r response) {
	p.model = r.Model
	p.usage.InputTokens, p.usage.OutputTokens, p.usage.CachedTokens = int(r.Usage.Input), int(r.Usage.Output), int(r.Usage.Details.Cached)
}

func (p *part) finish(r response) error {
	p.ended(r)
	if r.Status == "incomplete" {
		if p.stop = r.Incomplete.Reason; p.stop == "" {
			p.stop = "max_output_tokens"
		}
	}
	if len(p.items) > 0 || p.text.Len() > 0 || len(p.calls) > 0 {
		return nil
	}
	// Services that are not OpenAI's may send the items at the end only.
	for _, item := range r.Output {
		if err := p.item(item); err != nil {
			return err
		}
	}
	return nil
}

// item takes one finished item of the answer, and makes of it what is said
// again in the next request. Their own ids are left out, as they name what the
// service would have stored.
func (p *part) item(raw json.RawMessage) error {
	var in struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
		Encrypted string `json:"encrypted_content"`
		Content   []struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Refusal string `json:"refusal"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return wire.Breaks(err)
	}
	if err := p.grow(len(raw)); err != nil {
		return err
	}
	again := map[string]any{"type": in.Type}
	switch in.Type {
	case "message":
		text := ""
		for _, c := range in.Content {
			text += c.Text
			p.refusal.WriteString(c.Refusal)
		}
		p.text.WriteString(text)
		again["role"], again["content"] = "assistant", text
	case "function_call":
		p.calls = append(p.calls, model.Call{ID: in.CallID, Name: in.Name, Input: json.RawMessage(in.Arguments)})
		again["call_id"], again["name"], again["arguments"] = in.CallID, in.Name, sound(json.RawMessage(in.Arguments))
	case "reasoning":
		if in.Encrypted == "" { // cannot be said again: the service has not kept it
			return nil
		}
		p.items = append(p.items, raw)
		return nil
	default:
		return nil
	}
	text, err := json.Marshal(again)
	if err != nil {
		return wire.Breaks(err)
	}
	p.items = append(p.items, text)
	return nil
}
