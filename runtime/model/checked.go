package model

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/diag"
)

// maxRecall bounds the account of earlier tool calls in a repair, in bytes.
const maxRecall = 64 << 10

// Checked answers with m, and gives back only answers that fit: with a schema
// a value that the schema accepts, without one a text of at most MaxAnswer
// bytes. From a model that answers a schema in text it takes the JSON object
// in the text, see [Extract].
//
// An answer that does not fit is asked for again with what was wrong,
// at most repairs times (0 means 2, below 0 never), then the error has code
// [CodeBadAnswer]. A model that repairs by itself, as those that use [Loop],
// is told how often by Request.Repairs and not asked a second time. When tools
// were called, the repair has none: it is told what they gave, because asking
// anew could repeat their effects. The usage is the sum, also beside an error.
func Checked(m Model, repairs int) Model { return &checked{m: m, repairs: repairs} }

type checked struct {
	m       Model
	repairs int
	schemas schemas
}

func (c *checked) Name() string               { return c.m.Name() }
func (c *checked) Capabilities() Capabilities { return c.m.Capabilities() }

// Unwrap gives the model inside, for those that ask it for more.
func (c *checked) Unwrap() Model { return c.m }

func (c *checked) Fill(ctx context.Context, r Request) (Reply, error) {
	if r.Repairs == 0 {
		r.Repairs = c.repairs
	}
	if r.Schema == nil {
		reply, err := c.m.Fill(ctx, r)
		if err == nil {
			err = tooLong(reply)
		}
		if err != nil {
			reply.Text = ""
		}
		return reply, err
	}
	schema, err := c.schemas.get(r.Schema)
	if err != nil {
		return Reply{}, err
	}
	r.schema = schema
	ask, calls := r, &recall{}
	if r.Call != nil {
		ask.Call = calls.around(r.Call)
	}
	var usage Usage
	for left := r.repairs(); ; left-- {
		reply, err := c.m.Fill(ctx, ask)
		usage = usage.Add(reply.Usage)
		if err != nil {
			return Reply{Model: reply.Model, Usage: usage}, err
		}
		value, wrong := answer(schema, reply.Text, reply.Value)
		if wrong == nil {
			return Reply{Value: value, Model: reply.Model, Usage: usage}, nil
		}
		if left <= 0 {
			return Reply{Model: reply.Model, Usage: usage}, badAnswer(c.m.Name(), r, wrong)
		}
		said := string(reply.Value)
		if reply.Value == nil {
			said = reply.Text
		}
		ask.Prompt = r.Prompt + calls.text() + "\n\nYour answer to this was " + Fence(cut(said, 4<<10)) + "\n\n" + complaint(wrong)
		if calls.made() {
			ask.Tools, ask.Call = nil, nil
		}
	}
}

// recall is what tools were called for an answer and what they gave.
type recall struct {
	mu    sync.Mutex // guards the fields below
	n     int
	lines strings.Builder
}

func (c *recall) around(call func(context.Context, string, json.RawMessage) ToolResult) func(context.Context, string, json.RawMessage) ToolResult {
	return func(ctx context.Context, name string, input json.RawMessage) ToolResult {
		result := call(ctx, name, input)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.n++
		if c.lines.Len() < maxRecall {
			fmt.Fprintf(&c.lines, "\n%s %s gave %s\n", name, cut(string(input), 4<<10), Fence(cut(result.Text, 16<<10)))
		}
		return result
	}
}

func (c *recall) made() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n > 0
}

func (c *recall) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == 0 {
		return ""
	}
	return "\n\nYou have already called these tools, and cannot call more:\n" + c.lines.String()
}

// cut shortens s to about n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " …"
}

// Unavailable is an error of code [CodeUnavailable]: the same request may be
// answered later.
func Unavailable(format string, args ...any) error {
	e := diag.New(diag.Failed, CodeUnavailable, format, args...)
	e.Retryable = true
	return e
}
