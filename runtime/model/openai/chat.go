package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/internal/wire"
)

// chatParams is the body of a request for a chat completion.
type chatParams struct {
	Model               string         `json:"model"`
	Messages            []chatMessage  `json:"messages"`
	Tools               []chatTool     `json:"tools,omitempty"`
	ToolChoice          string         `json:"tool_choice,omitempty"`
	Format              *chatFormat    `json:"response_format,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Store               *bool          `json:"store,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content *string         `json:"content,omitempty"` // nil beside calls only
	Calls   []chatCallParam `json:"tool_calls,omitempty"`
	CallID  string          `json:"tool_call_id,omitempty"` // of a result
}

type chatCallParam struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type chatFormat struct {
	Type   string      `json:"type"`
	Schema *chatSchema `json:"json_schema,omitempty"`
}

type chatSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// A chatTalk is a conversation by chat completions.
type chatTalk struct {
	c        *client
	r        model.Request
	tools    []chatTool
	messages []chatMessage // without the system's
	calls    []model.Call  // of the last turn
}

func (c *client) beginChat(r model.Request) speaker {
	t := &chatTalk{c: c, r: r, messages: []chatMessage{{Role: "user", Content: &r.Prompt}}}
	for _, tool := range r.Tools {
		t.tools = append(t.tools, chatTool{Type: "function", Function: chatFunction{Name: tool.Name, Description: tool.Description, Parameters: model.ObjectSchema(tool.Schema)}})
	}
	return t
}

func (t *chatTalk) hear(said model.Said) {
	for i, result := range said.Results {
		t.messages = append(t.messages, chatMessage{Role: "tool", Content: &result.Text, CallID: t.calls[i].ID})
	}
	if said.Note != "" {
		t.messages = append(t.messages, chatMessage{Role: "user", Content: &said.Note})
	}
}

func (t *chatTalk) keep(p *part) {
	t.calls = p.calls
	said := chatMessage{Role: "assistant"}
	if text := p.text.String(); text != "" || len(p.calls) == 0 {
		said.Content = &text
	}
	for _, call := range p.calls {
		param := chatCallParam{ID: call.ID, Type: "function"}
		param.Function.Name, param.Function.Arguments = call.Name, sound(call.Input)
		said.Calls = append(said.Calls, param)
	}
	t.messages = append(t.messages, said)
}

func (t *chatTalk) params(format int32, last bool) chatParams {
	p := chatParams{Model: t.c.id, Tools: t.tools, Messages: t.messages, Stream: true}
	if text := system(t.r, format); text != "" {
		p.Messages = append([]chatMessage{{Role: "system", Content: &text}}, t.messages...)
	}
	if t.r.MaxTokens > 0 {
		// The old name is the one that compatible services know, the new one
		// the only one that OpenAI's models which think first take.
		if t.c.own {
			p.MaxCompletionTokens = t.r.MaxTokens
		} else {
			p.MaxTokens = t.r.MaxTokens
		}
	}
	if t.c.own {
		p.Store = new(bool) // false
	}
	if !t.c.unmetered.Load() {
		p.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if last && len(t.tools) > 0 {
		p.ToolChoice = "none"
	}
	if t.r.Schema != nil {
		switch format {
		case bySchema:
			p.Format = &chatFormat{Type: "json_schema", Schema: &chatSchema{Name: model.AnswerTool, Schema: model.ObjectSchema(t.r.Schema), Strict: true}}
		case byObject:
			p.Format = &chatFormat{Type: "json_object"}
		}
	}
	return p
}

func (t *chatTalk) read(ctx context.Context, format int32, last bool, p *part) error {
	err := t.stream(ctx, format, last, p)
	if rejected(err) && !t.c.unmetered.Load() && strings.Contains(err.Error(), "stream_options") {
		t.c.unmetered.Store(true)
		calls := p.usage.Calls
		*p = part{limit: p.limit}
		err = t.stream(ctx, format, last, p)
		p.usage.Calls += calls
	}
	return err
}

// A chunk is one event of the stream. Numbers are float64, as some services
// write 1.0.
type chunk struct {
	Model   string `json:"model"`
	Choices []struct {
		Delta struct {
			Content string      `json:"content"`
			Refusal string      `json:"refusal"`
			Calls   []chatDelta `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     float64 `json:"prompt_tokens"`
		Completion float64 `json:"completion_tokens"`
		Details    struct {
			Cached float64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// A chatDelta is a piece of a call.
type chatDelta struct {
	Index    float64 `json:"index"`
	ID       string  `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (t *chatTalk) stream(ctx context.Context, format int32, last bool, p *part) error {
	p.usage.Calls = 1
	stream, err := t.c.service.Ask(ctx, "chat/completions", t.params(format, last))
	if err != nil {
		return err
	}
	defer stream.Close()
	var calls chatCalls
	for {
		var c chunk
		if more, err := t.c.next(stream, &c); err != nil {
			return err
		} else if !more {
			break
		}
		if err := t.add(&c, &calls, p); err != nil {
			return err
		}
	}
	// Some services leave out the last line; the reason to stop is what counts.
	if err := stream.Err(); err != nil || p.stop == "" {
		return wire.Breaks(err)
	}
	p.calls = calls.list()
	return nil
}

// add adds a chunk to calls and p.
func (t *chatTalk) add(c *chunk, calls *chatCalls, p *part) error {
	if c.Model != "" {
		p.model = c.Model
	}
	if u := c.Usage; u.Prompt > 0 || u.Completion > 0 {
		p.usage.InputTokens, p.usage.OutputTokens, p.usage.CachedTokens = int(u.Prompt), int(u.Completion), int(u.Details.Cached)
	}
	if len(c.Choices) == 0 {
		return nil
	}
	choice := c.Choices[0]
	if choice.FinishReason != "" {
		p.stop = choice.FinishReason
	}
	p.text.WriteString(choice.Delta.Content)
	p.refusal.WriteString(choice.Delta.Refusal)
	size := len(choice.Delta.Content) + len(choice.Delta.Refusal)
	for _, d := range choice.Delta.Calls {
		size += calls.add(d)
	}
	if err := p.grow(size); err != nil {
		return err
	}
	show(t.r, choice.Delta.Content)
	return nil
}

// chatCalls puts calls of tools together from their pieces.
type chatCalls struct {
	open []*chatCall
	at   map[float64]*chatCall // by the index that the service gives them
}

type chatCall struct {
	id, name string
	input    strings.Builder
}

// add adds a piece and gives its size in bytes. A new id begins a new call also
// at an index that is taken: some services number all calls 0.
func (c *chatCalls) add(d chatDelta) int {
	call := c.at[d.Index]
	if call == nil || d.ID != "" && call.id != "" && d.ID != call.id {
		call = &chatCall{}
		if c.at == nil {
			c.at = map[float64]*chatCall{}
		}
		c.at[d.Index] = call
		c.open = append(c.open, call)
	}
	if d.ID != "" {
		call.id = d.ID
	}
	if d.Function.Name != "" {
		call.name = d.Function.Name
	}
	call.input.WriteString(d.Function.Arguments)
	return len(d.Function.Arguments) + len(d.ID) + len(d.Function.Name) + 16
}

// list gives the calls in the order in which they began, each with an id of its own.
func (c *chatCalls) list() []model.Call {
	var calls []model.Call
	seen := map[string]bool{}
	for i, call := range c.open {
		id := call.id
		if id == "" || seen[id] {
			id = fmt.Sprintf("call_%d", i)
		}
		seen[id] = true
		calls = append(calls, model.Call{ID: id, Name: call.name, Input: []byte(call.input.String())})
	}
	return calls
}
