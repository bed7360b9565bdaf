package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// anthropic is the Messages API.
type anthropic struct{}

// An object of JSON.
type object = map[string]any

// blocks is content that is a text or a list of blocks.
type blocks []struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"` // of tool_result: blocks again
}

func (b *blocks) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*b = blocks{{Type: "text", Text: text}}
		return nil
	}
	type plain blocks
	return json.Unmarshal(data, (*plain)(b))
}

func (b blocks) text() string {
	var list []string
	for _, one := range b {
		if one.Text != "" {
			list = append(list, one.Text)
		}
	}
	return strings.Join(list, "\n")
}

func (anthropic) parse(body []byte, r *Recorded) error {
	var in struct {
		Model    string `json:"model"`
		System   blocks `json:"system"`
		Messages []struct {
			Role    string `json:"role"`
			Content blocks `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Choice struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"tool_choice"`
		MaxTokens int  `json:"max_tokens"`
		Stream    bool `json:"stream"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	if in.Model == "" || in.MaxTokens <= 0 || len(in.Messages) == 0 {
		return fmt.Errorf("model, max_tokens and messages are required")
	}
	r.Model, r.System, r.Stream = in.Model, in.System.text(), in.Stream
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	if r.Force = in.Choice.Name; in.Choice.Type == "any" {
		r.Force = "any"
	}
	var said []string
	for i, m := range in.Messages {
		if len(m.Content) == 0 {
			return fmt.Errorf("messages.%d: content is empty", i)
		}
		if m.Role != "user" {
			continue
		}
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				said = append(said, b.Text)
			case "tool_result":
				var inner blocks
				if b.Content != nil {
					if err := json.Unmarshal(b.Content, &inner); err != nil {
						return err
					}
				}
				r.Results = append(r.Results, inner.text())
				said = append(said, inner.text())
			}
		}
	}
	r.Text = strings.Join(said, "\n")
	return nil
}

func (anthropic) fail(status int, message string) any {
	kind := map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	if kind == "" {
		kind = "api_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_test"}
}

func (anthropic) overload() event {
	return event{"error", object{"type": "error", "error": object{"type": "overloaded_error", "message": "Overloaded"}}}
}

// content is the answer in blocks. A value goes to the tool for answers.
func (anthropic) content(r Recorded, t Turn) (text string, uses []Use) {
	text, uses = t.Text, t.Tools
	if t.Value == nil {
		return text, uses
	}
	for _, name := range []string{r.Force, "answer", "answer_", "StructuredOutput"} {
		for _, tool := range r.Tools {
			if name == tool {
				return text, append(uses[:len(uses):len(uses)], Use{Name: name, Input: t.Value})
			}
		}
	}
	return t.say(), uses
}

func (a anthropic) stop(t Turn, uses []Use) string {
	switch {
	case t.Stop != "":
		return t.Stop
	case t.Refuse != "":
		return "refusal"
	case len(uses) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (anthropic) usage(t Turn) object {
	return object{"input_tokens": t.InputTokens - t.CachedTokens, "cache_read_input_tokens": t.CachedTokens, "cache_creation_input_tokens": 0, "output_tokens": t.OutputTokens}
}

func (a anthropic) whole(r Recorded, t Turn) any {
	text, uses := a.content(r, t)
	content := []any{}
	if text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	for i, u := range uses {
		content = append(content, object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", r.N, i), "name": wireName(r, u.Name), "input": json.RawMessage(u.raw())})
	}
	return object{"id": fmt.Sprintf("msg_%d", r.N), "type": "message", "role": "assistant", "model": r.Model, "content": content,
		"stop_reason": a.stop(t, uses), "stop_sequence": nil, "usage": a.usage(t)}
}

func (a anthropic) events(r Recorded, t Turn) []event {
	text, uses := a.content(r, t)
	usage := a.usage(t)
	usage["output_tokens"] = 1
	list := []event{
		{"message_start", object{"type": "message_start", "message": object{"id": fmt.Sprintf("msg_%d", r.N), "type": "message", "role": "assistant",
			"model": r.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}}},
		{"ping", object{"type": "ping"}},
	}
	index := 0
	part := func(start object, deltas []object) {
		list = append(list, event{"content_block_start", object{"type": "content_block_start", "index": index, "content_block": start}})
		for _, d := range deltas {
			list = append(list, event{"content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d}})
		}
		list = append(list, event{"content_block_stop", object{"type": "content_block_stop", "index": index}})
		index++
	}
	if text != "" {
		var deltas []object
		for _, s := range pieces(text) {
			deltas = append(deltas, object{"type": "text_delta", "text": s})
		}
		part(object{"type": "text", "text": ""}, deltas)
	}
	for i, u := range uses {
		deltas := []object{{"type": "input_json_delta", "partial_json": ""}}
		for _, s := range pieces(u.raw()) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": s})
		}
		part(object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", r.N, i), "name": wireName(r, u.Name), "input": object{}}, deltas)
	}
	return append(list,
		event{"message_delta", object{"type": "message_delta", "delta": object{"stop_reason": a.stop(t, uses), "stop_sequence": nil}, "usage": object{"output_tokens": t.OutputTokens}}},
		event{"message_stop", object{"type": "message_stop"}})
}
