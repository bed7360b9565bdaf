package openai

import (
	"context"
	"encoding/json"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/internal/wire"
)

// A responseTalk is a conversation by responses. The service keeps nothing of
// it: every request says all of it again.
type responseTalk struct {
	c     *client
	r     model.Request
	tools []responses.ToolUnionParam
	items responses.ResponseInputParam
	calls []model.Call // of the last turn
}

func (c *client) beginResponses(r model.Request) speaker {
	t := &responseTalk{c: c, r: r}
	t.items = append(t.items, responses.ResponseInputItemParamOfMessage(r.Prompt, responses.EasyInputMessageRoleUser))
	for _, tool := range r.Tools {
		f := &responses.FunctionToolParam{Name: tool.Name, Parameters: object(tool.Schema), Strict: sdk.Bool(false)}
		if tool.Description != "" {
			f.Description = sdk.String(tool.Description)
		}
		t.tools = append(t.tools, responses.ToolUnionParam{OfFunction: f})
	}
	return t
}

func (t *responseTalk) hear(said model.Said) {
	for i, result := range said.Results {
		t.items = append(t.items, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
			CallID: sdk.String(t.calls[i].ID), Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: sdk.String(result.Text)},
		}})
	}
	if said.Note != "" {
		t.items = append(t.items, responses.ResponseInputItemParamOfMessage(said.Note, responses.EasyInputMessageRoleUser))
	}
}

func (t *responseTalk) keep(p *part) {
	t.calls = p.calls
	for _, item := range p.items {
		t.items = append(t.items, param.Override[responses.ResponseInputItemUnionParam](item))
	}
}

func (t *responseTalk) params(format int32, last bool) responses.ResponseNewParams {
	p := responses.ResponseNewParams{Model: t.c.id, Tools: t.tools, Store: sdk.Bool(false)}
	p.Input.OfInputItemList = t.items
	if text := system(t.r, format); text != "" {
		p.Instructions = sdk.String(text)
	}
	if t.r.MaxTokens > 0 {
		p.MaxOutputTokens = sdk.Int(int64(t.r.MaxTokens))
	}
	if last && len(t.tools) > 0 {
		p.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptionsNone)
	}
	if t.r.Schema != nil {
		switch format {
		case bySchema:
			p.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{Name: model.AnswerTool, Schema: object(t.r.Schema), Strict: sdk.Bool(true)}
		case byObject:
			p.Text.Format.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		}
	}
	return p
}

func (t *responseTalk) read(ctx context.Context, format int32, last bool, p *part) error {
	p.usage.Calls = 1
	var res *http.Response
	stream := t.c.responses.NewStreaming(ctx, t.params(format, last), option.WithResponseInto(&res))
	if err := t.c.service.Stream(ctx, res, stream.Err()); err != nil {
		if res != nil && res.Body != nil {
			_ = res.Body.Close()
		}
		return err
	}
	defer stream.Close()
	for stream.Next() {
		e := stream.Current()
		if err := p.grow(len(e.Delta)); err != nil {
			return err
		}
		switch e.Type {
		case "response.output_text.delta":
			show(t.r, e.Delta)
		case "response.output_item.done":
			if err := p.item([]byte(e.Item.RawJSON())); err != nil {
				return err
			}
		case "error":
			return t.c.failed("", e.Code, t.c.service.Say(e.Message))
		case "response.failed":
			p.ended(e.Response)
			return t.c.failed("", string(e.Response.Error.Code), t.c.service.Say(e.Response.Error.Message))
		case "response.completed", "response.incomplete":
			return p.finish(e.Response)
		}
	}
	return t.c.streamed(stream.Err())
}

// ended takes what a response says about itself.
func (p *part) ended(r responses.Response) {
	p.model = r.Model
	p.usage.InputTokens, p.usage.OutputTokens = int(r.Usage.InputTokens), int(r.Usage.OutputTokens)
	p.usage.CachedTokens = int(r.Usage.InputTokensDetails.CachedTokens)
}

func (p *part) finish(r responses.Response) error {
	p.ended(r)
	if r.Status == "incomplete" {
		if p.stop = r.IncompleteDetails.Reason; p.stop == "" {
			p.stop = "max_output_tokens"
		}
	}
	if len(p.items) > 0 || p.text.Len() > 0 || len(p.calls) > 0 {
		return nil
	}
	// Services that are not OpenAI's may send the items at the end only.
	for _, item := range r.Output {
		if err := p.item([]byte(item.RawJSON())); err != nil {
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
