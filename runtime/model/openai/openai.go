// Package openai fills leaves by the responses API of OpenAI, or by chat
// completions of any service that speaks them, local ones without a key too.
//
//   - Answers are streamed. A stream that breaks off is asked for once more;
//     a second time the error has code model_truncated.
//   - An answer with a schema is asked for by the strictest format there is:
//     json_schema if the schema is of the kind that the service can force
//     ([Strict]), else json_object with the schema in the system prompt. A
//     service that calls the format wrong is asked for plain text with an
//     object in it, and not for the format again.
//   - Requests refused for load or rate are sent again, at most MaxRetries
//     times, after the time that the service names (to 60 s) or 0.5, 1, 2, 4 s.
//   - Nothing is stored at OpenAI (store: false). Keys and addresses are not
//     read from the environment, and the key is in no error.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/internal/wire"
	"github.com/skl-project/skl/spec/diag"
)

// DefaultModel is used when a Config names none and no BaseURL.
const DefaultModel = "gpt-5.2"

const (
	ownHost        = "api.openai.com"
	defaultBaseURL = "https://" + ownHost + "/v1/"
)

// The two ways to ask.
const (
	Chat      = "chat"      // /chat/completions
	Responses = "responses" // /responses
)

// A Config says which model, and where. The zero value but the key is right
// for OpenAI's own service.
type Config struct {
	APIKey     string
	KeyName    string        // variable that holds APIKey, for messages; "" is OPENAI_API_KEY
	BaseURL    string        // "" is OpenAI's; with the version: http://127.0.0.1:11434/v1
	Model      string        // "" is DefaultModel, for OpenAI's service only
	API        string        // Chat or Responses; "" is Responses for OpenAI's service, else Chat
	HTTPClient *http.Client  // nil is a plain one with the proxy of the environment; redirects are never followed
	MaxRetries int           // 0 means 4, below 0 none
	Idle       time.Duration // silence after which an answer is given up; 0 means 5 minutes
	Insecure   bool          // plain http to other machines too
}

// How an answer with a schema is asked for, from strict to free.
const (
	bySchema int32 = iota // json_schema
	byObject              // json_object
	byText                // no format: an object in the text
)

type client struct {
	service   wire.Service
	id        string
	own       bool         // the service is OpenAI's
	level     atomic.Int32 // the strictest format that is not known to fail
	unmetered atomic.Bool  // the service does not take stream_options
	talks     func(model.Request) speaker
}

// A speaker is one conversation in one of the two APIs.
type speaker interface {
	// hear adds what is said to the conversation.
	hear(model.Said)
	// read asks for a turn, in a format, and reads the stream into p.
	read(ctx context.Context, format int32, last bool, p *part) error
	// keep adds what the model said to the conversation.
	keep(p *part)
}

// New checks c. It sends nothing. A missing key is an error of code
// model_credentials for OpenAI's service only.
func New(c Config) (model.Model, error) {
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
	}
	base, err := wire.BaseURL(c.BaseURL, c.Insecure)
	if err != nil {
		return nil, err
	}
	own := base.Host == ownHost
	c.KeyName = cmp.Or(c.KeyName, "OPENAI_API_KEY")
	switch {
	case c.Model == "" && own:
		c.Model = DefaultModel
	case c.Model == "":
		return nil, diag.New(diag.Misuse, model.CodeUnknown, "no model of the service at %s is named", base.Host).Hint("--model openai:NAME")
	}
	if own && c.APIKey == "" {
		return nil, diag.New(diag.NeedsInput, model.CodeCredentials, "openai:%s needs an API key", c.Model).Hint("export %s=…", c.KeyName)
	}
	if c.API == "" {
		if c.API = Chat; own {
			c.API = Responses
		}
	}
	header := map[string]string{}
	if c.APIKey != "" {
		header["Authorization"] = "Bearer " + c.APIKey
	}
	m := &client{
		service: wire.Service{Name: "openai:" + c.Model, Key: c.APIKey, KeyName: c.KeyName, Base: base, Header: header, HTTP: wire.Client(c.HTTPClient, c.Idle), Retries: c.MaxRetries},
		id:      c.Model,
		own:     own,
	}
	switch c.API {
	case Chat:
		m.talks = m.beginChat
	case Responses:
		m.talks = m.beginResponses
	default:
		return nil, diag.New(diag.Misuse, model.CodeUnknown, "the API %q of openai is neither %s nor %s", wire.Brief(c.API), Chat, Responses)
	}
	return m, nil
}

func (c *client) Name() string { return c.service.Name }

func (c *client) Capabilities() model.Capabilities {
	return model.Capabilities{Tools: true, Parallel: true}
}

// Fill implements model.Model.
func (c *client) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	t := &talk{c: c, r: r, speaker: c.talks(r), format: byText}
	if r.Schema != nil {
		if t.format = byObject; Strict(r.Schema) {
			t.format = bySchema
		}
	}
	return model.Loop(ctx, r, t.next)
}

// A talk is a conversation in either API.
type talk struct {
	speaker
	c      *client
	r      model.Request
	format int32
}

// next implements the side of the provider in model.Loop.
func (t *talk) next(ctx context.Context, said model.Said) (model.Turn, error) {
	t.hear(said)
	p, usage, err := t.request(ctx, said.Last)
	turn := model.Turn{Text: p.text.String(), Calls: p.calls, Model: p.model, Usage: usage}
	switch {
	case err != nil:
		return turn, err
	case p.refusal.Len() > 0:
		return turn, diag.New(diag.Failed, model.CodeRefused, "%s declined to answer: %s", t.c.service.Name, t.c.service.Say(p.refusal.String()))
	case p.stop == "content_filter":
		return turn, diag.New(diag.Failed, model.CodeRefused, "the answer of %s was held back by its content filter", t.c.service.Name)
	case p.stop == "length" || p.stop == "max_output_tokens":
		return turn, diag.New(diag.Failed, model.CodeTruncated, "the answer of %s ended at its limit of tokens", t.c.service.Name)
	}
	t.keep(p)
	return turn, nil
}

// request asks for a turn, in a freer format when the service calls the
// stricter one wrong. What works is remembered for all conversations; when
// nothing does, the format was not the fault, and the first error counts.
func (t *talk) request(ctx context.Context, last bool) (p *part, usage model.Usage, err error) {
	ask := func(format int32) error {
		return t.c.service.Twice(ctx, func() error {
			p = &part{limit: t.c.service.Name}
			err := t.read(ctx, format, last, p)
			usage = usage.Add(p.usage)
			return err
		})
	}
	format := max(t.format, t.c.level.Load())
	first := ask(format)
	if first == nil || t.r.Schema == nil || !rejected(first) {
		return p, usage, first
	}
	for freer := format + 1; freer <= byText; freer++ {
		if err = ask(freer); err == nil {
			t.format = freer
			t.c.level.Store(freer)
			return p, usage, nil
		}
		if !rejected(err) {
			return p, usage, err
		}
	}
	return p, usage, first
}

func rejected(err error) bool { return errors.Is(err, diag.Code(model.CodeRejected)) }

// A part is what has come of a turn so far.
type part struct {
	limit   string // name of the model, for the error when it says too much
	model   string
	text    strings.Builder
	refusal strings.Builder
	stop    string
	size    int // bytes of all of it
	calls   []model.Call
	usage   model.Usage
	items   []json.RawMessage // of responses: what is said again in the next request
}

// grow counts n bytes more.
func (p *part) grow(n int) error {
	if p.size += n; p.size > wire.MaxTurn {
		return diag.New(diag.Failed, model.CodeTruncated, "%s answers with more than %d bytes", p.limit, wire.MaxTurn)
	}
	return nil
}

// done is the data of the line that ends a stream, where a service sends it.
const done = "[DONE]"

// next reads an event into v, which is zero. It is false at the end of the
// stream and at an error that the service sent in it.
func (c *client) next(stream *wire.Events, v any) (bool, error) {
	if !stream.Next() || bytes.HasPrefix(stream.Data, []byte(done)) {
		return false, nil
	}
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if err := wire.Decode(stream.Data, &e); err != nil {
		return false, err
	}
	if e.Error != nil && string(e.Error) != "null" {
		return false, c.streamed(e.Error, stream.Data)
	}
	return true, wire.Decode(stream.Data, v)
}

// streamed is the error that a service sent inside of a stream, in the event raw.
func (c *client) streamed(inner, raw []byte) error {
	var e struct {
		Type string          `json:"type"`
		Code json.RawMessage `json:"code"`
	}
	_ = json.Unmarshal(inner, &e) // it may be plain text, which Message knows
	return c.failed(e.Type, strings.Trim(string(e.Code), `"`), c.service.Message(raw))
}

// failed is the error for a failure in the words of the service. What is not
// the fault of the request may pass.
func (c *client) failed(kind, code, message string) error {
	body, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		body = nil
	}
	switch {
	case kind == "invalid_request_error", strings.HasPrefix(code, "invalid_"), code == "context_length_exceeded":
		return c.service.Failure(http.StatusBadRequest, nil, body)
	case kind == "authentication_error":
		return c.service.Failure(http.StatusUnauthorized, nil, body)
	}
	return &wire.Broken{Why: strings.TrimSpace(c.service.Say(code) + " " + message), Unready: true}
}

// system is the system prompt in a format: with the schema where the service
// does not take it apart.
func system(r model.Request, format int32) string {
	if r.Schema == nil || format == bySchema {
		return r.System
	}
	text := "Answer with one JSON object and nothing else. It must fit this JSON Schema:\n" + string(r.Schema)
	if r.System != "" {
		text = r.System + "\n\n" + text
	}
	return text
}

// Strict says whether schema is of the kind that services force: every object
// names all its properties as required and allows no others, and no keyword
// is used that they refuse.
func Strict(schema json.RawMessage) bool {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || root["type"] != "object" {
		return false
	}
	return strict(root)
}

func strict(node any) bool {
	object, ok := node.(map[string]any)
	if !ok {
		return false
	}
	for key, value := range object {
		switch key {
		case "type", "description", "title", "enum", "const", "required", "additionalProperties", "$ref", "$schema",
			"pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems":
		case "items":
			if !strict(value) {
				return false
			}
		case "anyOf":
			list, ok := value.([]any)
			if !ok || len(list) == 0 {
				return false
			}
			for _, sub := range list {
				if !strict(sub) {
					return false
				}
			}
		case "properties", "$defs":
			set, ok := value.(map[string]any)
			if !ok {
				return false
			}
			for _, sub := range set {
				if !strict(sub) {
					return false
				}
			}
		default:
			return false
		}
	}
	return object["type"] != "object" && object["properties"] == nil || closed(object)
}

// closed says whether an object names all of its properties and requires them.
func closed(object map[string]any) bool {
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	if object["additionalProperties"] != false || len(required) != len(properties) {
		return false
	}
	for _, name := range required {
		if text, ok := name.(string); !ok || properties[text] == nil {
			return false
		}
	}
	return true
}

// sound is input as it may be said again: services that parse it do not take
// what is no JSON. The result of the call has said what was wrong.
func sound(input json.RawMessage) string {
	if !json.Valid(input) {
		return "{}"
	}
	return string(input)
}

// show streams text to the person.
func show(r model.Request, text string) {
	if r.Stream != nil && text != "" {
		r.Stream(text)
	}
}
