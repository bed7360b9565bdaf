package run

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// FinalTool is the canonical name of the tool by which a skill without a tree ends with a result.
const FinalTool = "finalize"

// maxKept is how much of a tool's result a journal keeps, in bytes, so that a leaf that was interrupted can go on with it;
// maxTold is how much of it an event has.
const (
	maxKept = 64 << 10
	maxTold = 4 << 10
)

// A caller runs the tool calls of one request: each is journalled before and after.
type caller struct {
	m        *Machine
	req      model.Request
	key      string
	readOnly bool
	wait     func(error) // ends the request: a call needs a person's leave and nobody is there, or the budget is spent

	harmless map[string]bool // tools that only read, by name; nil before the first call

	mu      sync.Mutex
	calls   int
	waiting bool
	spent   model.Usage     // on the turns so far
	final   json.RawMessage // the result, once the model said that this is it
}

// turned keeps what a turn said and cost, and ends the request when nothing is left to spend.
func (c *caller) turned(t model.Turned) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spent = c.spent.Add(t.Usage)
	if err := c.m.s.journal(Record{Type: TurnRecord, Key: c.key, Text: diag.Clip(t.Text, maxTold), Usage: &t.Usage}, false); err != nil {
		c.waiting = true
		c.wait(err)
		return
	}
	if err := c.m.s.budgetWith(c.spent); err != nil {
		c.waiting = true
		c.wait(err)
	}
}

// acts reports whether a call of a tool may change something.
func (c *caller) acts(name string) bool {
	if c.readOnly {
		return false
	}
	if c.harmless == nil {
		c.harmless = map[string]bool{}
		for _, t := range c.m.s.r.Tools.For(true) {
			c.harmless[t.Name] = true
		}
	}
	return !c.harmless[name]
}

// call is [model.Request.Call].
func (c *caller) call(ctx context.Context, name string, input json.RawMessage) model.ToolResult {
	m := c.m
	if !json.Valid(input) {
		input = encode(string(input))
	}
	c.mu.Lock()
	if c.waiting || c.final != nil {
		c.mu.Unlock()
		return model.ToolResult{Text: "not called: the run " + map[bool]string{true: "waits for a person", false: "has its result"}[c.waiting], IsError: true}
	}
	acts := c.acts(name)
	c.calls++
	call := c.calls
	if acts {
		m.acted[c.key]++ // until it is known to have done nothing
	}
	err := m.s.journal(Record{Type: ToolStarted, Key: c.key, Call: call, Name: name, Input: input, Acts: acts}, acts)
	m.emit(Event{Kind: ToolCalled, Path: c.req.Path, Node: c.req.Node, Name: name, Value: input, Call: call, Agent: c.req.Isolated})
	c.mu.Unlock()
	if err != nil {
		return model.ToolResult{Text: err.Error(), IsError: true}
	}
	result, canonical, kept := m.s.r.Tools.Call(ctx, name, input, c.readOnly)
	rec := Record{Type: ToolDone, Key: c.key, Call: call, Name: name, Tool: canonical, Text: diag.Clip(result.Text, maxKept), Status: OK, Acts: acts}
	switch {
	case diag.ClassOf(kept) == diag.NeedsInput:
		rec.Status = Suspended
	case kept != nil:
		rec.Status, rec.How = Denied, codeOf(kept)
	case result.IsError:
		rec.Status = Errored
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if acts && kept != nil {
		m.acted[c.key]--
	}
	if rec.Status == Suspended {
		c.waiting = true
		defer c.wait(kept)
	}
	if err := m.s.journal(rec, acts); err != nil {
		return model.ToolResult{Text: err.Error(), IsError: true}
	}
	m.emit(toolReplied(c.req, rec))
	m.s.refused(c.req, rec)
	if canonical == FinalTool && rec.Status == OK && c.final == nil {
		c.final, result.Final = finalValue(input), true
	}
	return result
}

// finalValue is the result that a call of FinalTool has.
func finalValue(input json.RawMessage) json.RawMessage {
	var in struct{ Result json.RawMessage }
	if json.Unmarshal(input, &in) != nil || in.Result == nil {
		return encode("")
	}
	v, _ := decode(in.Result)
	return encode(v)
}
