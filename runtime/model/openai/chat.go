package openai

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/skl-project/skl/runtime/model"
)

// A chatTalk is a conversation by chat completions.
type chatTalk struct {
	c        *client
	r        model.Request
	tools    []sdk.ChatCompletionToolUnionParam
	messages []sdk.ChatCompletionMessageParamUnion // without the system's
	calls    []model.Call                          // of the last turn
}

func (c *client) beginChat(r model.Request) speaker {
	t := &chatTalk{c: c, r: r, messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage(r.Prompt)}}
	for _, tool := range r.Tools {
		f := shared.FunctionDefinitionParam{Name: tool.Name, Parameters: object(tool.Schema)}
		if tool.Description != "" {
			f.Description = sdk.String(tool.Description)
		}
		t.tools = append(t.tools, sdk.ChatCompletionToolUnionParam{OfFunction: &sdk.ChatCompletionFunctionToolParam{Function: f}})
	}
	return t
}

func (t *chatTalk) hear(said model.Said) {
	for i, result := range said.Results {
		t.messages = append(t.messages, sdk.ToolMessage(result.Text, t.calls[i].ID))
	}
	if said.Note != "" {
		t.messages = append(t.messages, sdk.UserMessage(said.Note))
	}
}

func (t *chatTalk) keep(p *part) {
	t.calls = p.calls
	var said sdk.ChatCompletionAssistantMessageParam
	if text := p.text.String(); text != "" || len(p.calls) == 0 {
		said.Content.OfString = sdk.String(text)
	}
	for _, call := range p.calls {
		said.ToolCalls = append(said.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
			ID: call.ID, Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: sound(call.Input)},
		}})
	}
	t.messages = append(t.messages, sdk.ChatCompletionMessageParamUnion{OfAssistant: &said})
}

func (t *chatTalk) params(format int32, last bool) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{Model: t.c.id, Tools: t.tools, Messages: t.messages}
	if text := system(t.r, format); text != "" {
		p.Messages = append([]sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage(text)}, t.messages...)
	}
	if t.r.MaxTokens > 0 {
		// The old name is the one that compatible services know, the new one
		// the only one that OpenAI's models which think first take.
		if t.c.own {
			p.MaxCompletionTokens = sdk.Int(int64(t.r.MaxTokens))
		} else {
			p.MaxTokens = sdk.Int(int64(t.r.MaxTokens))
		}
	}
	if t.c.own {
		p.Store = sdk.Bool(false)
	}
	if !t.c.unmetered.Load() {
		p.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	if last && len(t.tools) > 0 {
		p.ToolChoice.OfAuto = sdk.String("none")
	}
	if t.r.Schema != nil {
		switch format {
		case bySchema:
			p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: model.AnswerTool, Schema: object(t.r.Schema), Strict: sdk.Bool(true),
			}}
		case byObject:
			p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
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

func (t *chatTalk) stream(ctx context.Context, format int32, last bool, p *part) error {
	p.usage.Calls = 1
	var res *http.Response
	stream := t.c.chat.NewStreaming(ctx, t.params(format, last), option.WithResponseInto(&res))
	if err := t.c.service.Stream(ctx, res, stream.Err()); err != nil {
		if res != nil && res.Body != nil {
			_ = res.Body.Close()
		}
		return err
	}
	defer stream.Close()
	var calls chatCalls
	for stream.Next() {
		chunk := stream.Current()
		if chunk.Model != "" {
			p.model = chunk.Model
		}
		if u := chunk.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 {
			p.usage.InputTokens, p.usage.OutputTokens = int(u.PromptTokens), int(u.CompletionTokens)
			p.usage.CachedTokens = int(u.PromptTokensDetails.CachedTokens)
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		choice := chunk.Choices[0]
		if choice.FinishReason != "" {
			p.stop = choice.FinishReason
		}
		p.text.WriteString(choice.Delta.Content)
		p.refusal.WriteString(choice.Delta.Refusal)
		size := len(choice.Delta.Content) + len(choice.Delta.Refusal)
		for _, d := range choice.Delta.ToolCalls {
			size += calls.add(d)
		}
		if err := p.grow(size); err != nil {
			return err
		}
		show(t.r, choice.Delta.Content)
	}
	// Some services leave out the last line; the reason to stop is what counts.
	if err := stream.Err(); err != nil || p.stop == "" {
		return t.c.streamed(err)
	}
	p.calls = calls.list()
	return nil
}

// chatCalls puts calls of tools together from their pieces.
type chatCalls struct {
	open []*chatCall
	at   map[int64]*chatCall // by the index that the service gives them
}

type chatCall struct {
	id, name string
	input    strings.Builder
}

// add adds a piece and gives its size in bytes. A new id begins a new call also
// at an index that is taken: some services number all calls 0.
func (c *chatCalls) add(d sdk.ChatCompletionChunkChoiceDeltaToolCall) int {
	call := c.at[d.Index]
	if call == nil || d.ID != "" && call.id != "" && d.ID != call.id {
		call = &chatCall{}
		if c.at == nil {
			c.at = map[int64]*chatCall{}
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
