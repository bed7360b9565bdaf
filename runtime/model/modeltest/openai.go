package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// chat is the API of chat completions.
type chat struct{}

func (chat) parse(body []byte, r *Recorded) error {
	var in struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string `json:"role"`
			Content blocks `json:"content"`
			ID      string `json:"tool_call_id"`
			Calls   []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		Choice json.RawMessage `json:"tool_choice"`
		Format struct {
			Type string `json:"type"`
		} `json:"response_format"`
		Stream bool `json:"stream"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	if in.Model == "" || len(in.Messages) == 0 {
		return fmt.Errorf("model and messages are required")
	}
	r.Model, r.Stream, r.Format = in.Model, in.Stream, in.Format.Type
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	_ = json.Unmarshal(in.Choice, &r.Force)
	open := map[string]bool{}
	var said []string
	for _, m := range in.Messages {
		text := m.Content.text()
		switch m.Role {
		case "system", "developer":
			r.System += text
		case "assistant":
			for _, c := range m.Calls {
				open[c.ID] = true
			}
		case "tool":
			if !open[m.ID] {
				return fmt.Errorf("a result for the call %q that was not made", m.ID)
			}
			delete(open, m.ID)
			r.Results = append(r.Results, text)
			said = append(said, text)
		default:
			said = append(said, text)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls have no result", len(open))
	}
	r.Text = strings.Join(said, "\n")
	return nil
}

func (chat) fail(status int, message string) any {
	return object{"error": object{"message": message, "type": "error", "param": nil, "code": nil}}
}

func (chat) overload() event {
	return event{"", object{"error": object{"message": "The server had an error while processing your request", "type": "server_error"}}}
}

func (chat) stop(t Turn) string {
	switch {
	case t.Stop != "":
		return t.Stop
	case len(t.Tools) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (chat) usage(t Turn) object {
	return object{"prompt_tokens": t.InputTokens, "completion_tokens": t.OutputTokens, "total_tokens": t.InputTokens + t.OutputTokens,
		"prompt_tokens_details": object{"cached_tokens": t.CachedTokens}}
}

func (c chat) whole(r Recorded, t Turn) any {
	message := object{"role": "assistant", "content": t.say()}
	if t.Refuse != "" {
		message["refusal"] = t.Refuse
	}
	var calls []any
	for i, u := range t.Tools {
		calls = append(calls, object{"id": fmt.Sprintf("call_%d_%d", r.N, i), "type": "function", "function": object{"name": wireName(r, u.Name), "arguments": u.raw()}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return object{"id": fmt.Sprintf("chatcmpl-%d", r.N), "object": "chat.completion", "created": 0, "model": r.Model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": c.stop(t)}}, "usage": c.usage(t)}
}

func (c chat) events(r Recorded, t Turn) []event {
	var list []event
	chunk := func(delta object, stop any) {
		list = append(list, event{"", object{"id": fmt.Sprintf("chatcmpl-%d", r.N), "object": "chat.completion.chunk", "created": 0, "model": r.Model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": stop}}}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, s := range pieces(t.say()) {
		chunk(object{"content": s}, nil)
	}
	for _, s := range pieces(t.Refuse) {
		chunk(object{"refusal": s}, nil)
	}
	for i, u := range t.Tools {
		chunk(object{"tool_calls": []any{object{"index": i, "id": fmt.Sprintf("call_%d_%d", r.N, i), "type": "function", "function": object{"name": wireName(r, u.Name), "arguments": ""}}}}, nil)
		for _, s := range pieces(u.raw()) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": s}}}}, nil)
		}
	}
	chunk(object{}, c.stop(t))
	return append(list,
		event{"", object{"id": fmt.Sprintf("chatcmpl-%d", r.N), "object": "chat.completion.chunk", "created": 0, "model": r.Model, "choices": []any{}, "usage": c.usage(t)}},
		event{"", "[DONE]"})
}

// responses is the API of responses.
type responses struct{}

func (responses) parse(body []byte, r *Recorded) error {
	var in struct {
		Model        string          `json:"model"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Choice json.RawMessage `json:"tool_choice"`
		Text   struct {
			Format struct {
				Type string `json:"type"`
			} `json:"format"`
		} `json:"text"`
		Stream bool `json:"stream"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	if in.Model == "" || in.Input == nil {
		return fmt.Errorf("model and input are required")
	}
	r.Model, r.Stream, r.Format, r.System = in.Model, in.Stream, in.Text.Format.Type, in.Instructions
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	_ = json.Unmarshal(in.Choice, &r.Force)
	if json.Unmarshal(in.Input, &r.Text) == nil {
		return nil
	}
	var items []struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Content blocks `json:"content"`
		ID      string `json:"call_id"`
		Output  blocks `json:"output"`
	}
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return err
	}
	open := map[string]bool{}
	var said []string
	for _, item := range items {
		switch {
		case item.Type == "function_call":
			open[item.ID] = true
		case item.Type == "function_call_output":
			if !open[item.ID] {
				return fmt.Errorf("a result for the call %q that was not made", item.ID)
			}
			delete(open, item.ID)
			r.Results = append(r.Results, item.Output.text())
			said = append(said, item.Output.text())
		case item.Role == "system" || item.Role == "developer":
			r.System += item.Content.text()
		case item.Role == "user":
			said = append(said, item.Content.text())
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls have no result", len(open))
	}
	r.Text = strings.Join(said, "\n")
	return nil
}

func (responses) fail(status int, message string) any { return chat{}.fail(status, message) }

func (responses) overload() event {
	return event{"error", object{"type": "error", "code": "server_error", "message": "The server had an error while processing your request", "param": nil, "sequence_number": 1}}
}

// output is the answer in items, each with what a stream says of it.
func (responses) output(r Recorded, t Turn) (items []object) {
	var content []any
	if text := t.say(); text != "" {
		content = append(content, object{"type": "output_text", "text": text, "annotations": []any{}})
	}
	if t.Refuse != "" {
		content = append(content, object{"type": "refusal", "refusal": t.Refuse})
	}
	if content != nil {
		items = append(items, object{"type": "message", "id": fmt.Sprintf("msg_%d", r.N), "role": "assistant", "status": "completed", "content": content})
	}
	for i, u := range t.Tools {
		items = append(items, object{"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", r.N, i), "call_id": fmt.Sprintf("call_%d_%d", r.N, i),
			"name": wireName(r, u.Name), "arguments": u.raw(), "status": "completed"})
	}
	return items
}

func (p responses) whole(r Recorded, t Turn) any {
	status, details := "completed", any(nil)
	if t.Stop != "" {
		status, details = "incomplete", object{"reason": t.Stop}
	}
	output := []any{}
	for _, item := range p.output(r, t) {
		output = append(output, item)
	}
	return object{"id": fmt.Sprintf("resp_%d", r.N), "object": "response", "created_at": 0, "model": r.Model, "status": status, "incomplete_details": details, "error": nil,
		"output": output, "usage": object{"input_tokens": t.InputTokens, "input_tokens_details": object{"cached_tokens": t.CachedTokens},
			"output_tokens": t.OutputTokens, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": t.InputTokens + t.OutputTokens}}
}

func (p responses) events(r Recorded, t Turn) []event {
	var list []event
	n := 0
	add := func(name string, o object) {
		o["type"], o["sequence_number"] = name, n
		n++
		list = append(list, event{name, o})
	}
	start := object{"id": fmt.Sprintf("resp_%d", r.N), "object": "response", "created_at": 0, "model": r.Model, "status": "in_progress", "output": []any{}}
	add("response.created", object{"response": start})
	add("response.in_progress", object{"response": start})
	for i, item := range p.output(r, t) {
		id := item["id"]
		add("response.output_item.added", object{"output_index": i, "item": object{"type": item["type"], "id": id, "status": "in_progress", "call_id": item["call_id"], "name": item["name"], "arguments": "", "role": "assistant", "content": []any{}}})
		if item["type"] == "function_call" {
			for _, s := range pieces(item["arguments"].(string)) {
				add("response.function_call_arguments.delta", object{"output_index": i, "item_id": id, "delta": s})
			}
			add("response.function_call_arguments.done", object{"output_index": i, "item_id": id, "name": item["name"], "arguments": item["arguments"]})
		} else {
			for _, s := range pieces(t.say()) {
				add("response.output_text.delta", object{"output_index": i, "content_index": 0, "item_id": id, "delta": s, "logprobs": []any{}})
			}
			for _, s := range pieces(t.Refuse) {
				add("response.refusal.delta", object{"output_index": i, "content_index": 0, "item_id": id, "delta": s})
			}
		}
		add("response.output_item.done", object{"output_index": i, "item": item})
	}
	whole := p.whole(r, t).(object)
	add("response."+whole["status"].(string), object{"response": whole})
	return list
}
