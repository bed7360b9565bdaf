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
	request
	wait func(error) // ends the request: a call needs a person's leave and nobody is there, or the budget is spent

	harmless map[string]bool    // tools that only read, by name; nil before the first call
	made     map[string]*Record // what a repeated call is answered with, by Tools.Identity; nil before the first that acts

	mu      sync.Mutex
	calls   int
	waiting bool
	spent   model.Usage     // on the turns so far
	final   json.RawMessage // the result, once the model said that this is it
	cut     string          // the call that was stopped in the middle, if one was
}

// turned keeps what a turn said and cost, and ends the request when nothing is left to spend.
func (c *caller) turned(t model.Turned) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spent = c.spent.Add(t.Usage)
	if err := c.s.journal.append(Record{Type: TurnRecord, Key: c.key, Text: diag.Clip(t.Text, maxTold), Usage: &t.Usage}, false); err != nil {
		c.waiting = true
		c.wait(err)
		return
	}
	if err := c.s.budget.left(c.spent); err != nil {
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
		for _, t := range c.s.r.Tools.For(true) {
			c.harmless[t.Name] = true
		}
	}
	return !c.harmless[name]
}

// call is [model.Request.Call].
func (c *caller) call(ctx context.Context, name string, input json.RawMessage) model.ToolResult {
	if !json.Valid(input) {
		input = encode(string(input))
	}
	result, _ := c.perform(ctx, 0, name, input)
	return result
}

// perform makes a call and gives its end, nil if it was not begun. call is the number of one that waited before and is made
// now; 0 is the next.
func (c *caller) perform(ctx context.Context, call int, name string, input json.RawMessage) (model.ToolResult, *Record) {
	c.mu.Lock()
	if why := c.ended(ctx); why != "" {
		defer c.mu.Unlock()
		result := c.unmade(name, input, Skipped, why)
		result.Text, result.IsError = "not called: "+why, true
		return result, nil
	}
	acts := c.acts(name)
	if call == 0 {
		if acts {
			if before := c.before(name, input); before != nil {
				defer c.mu.Unlock()
				return c.unmade(name, input, Repeated, "made before the interruption, and not made again: what follows is what it gave then. "+
					"If it has to take place once more, make a call that differs.\n"+before.Text), nil
			}
		}
		c.calls++
		call = c.calls
	}
	if acts {
		c.eff.acted[c.key]++ // until it is known to have done nothing
	}
	err := c.s.journal.append(Record{Type: ToolStarted, Key: c.key, Call: call, Name: name, Input: input, Acts: acts}, acts)
	c.called(call, name, input)
	c.mu.Unlock()
	if err != nil {
		return model.ToolResult{Text: err.Error(), IsError: true}, nil
	}
	result, canonical, did, kept := c.s.r.Tools.Call(ctx, name, input, c.readOnly)
	if acts && kept == nil && result.IsError && ctx.Err() != nil {
		// Nobody knows how far the call came: its record stays without an end, and whoever resumes the run is asked.
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cut = asCalled(name, input)
		return result, nil
	}
	rec := Record{Type: ToolDone, Key: c.key, Call: call, Name: name, Tool: canonical, Text: diag.Clip(result.Text, maxKept), Status: OK, Acts: acts}
	if kept == nil && (acts || did.Leave != "") {
		rec.Did = &did
	}
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
		c.eff.acted[c.key]--
	}
	if rec.Status == Suspended {
		c.waiting = true
		defer c.wait(kept)
	}
	if err := c.s.journal.append(rec, acts); err != nil {
		return model.ToolResult{Text: err.Error(), IsError: true}, nil
	}
	c.replied(rec)
	c.refused(rec)
	if canonical == FinalTool && rec.Status == OK && c.final == nil {
		c.final, result.Final = finalValue(input), true
	}
	return result, &rec
}

// stopped is the call that was stopped in the middle, "" if none was.
func (c *caller) stopped() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

// asCalled is a call for a sentence.
func asCalled(name string, input json.RawMessage) string {
	return diag.Printable(name) + " " + diag.Brief(diag.Printable(string(input)), 200)
}

// ended says why no further call is made, "" if it is.
func (c *caller) ended(ctx context.Context) string {
	switch {
	case c.waiting:
		return "the run waits, for leave for another call or for a bigger budget"
	case c.final != nil:
		return "the run has its result"
	case ctx.Err() != nil:
		return "the run was interrupted"
	}
	return ""
}

// before is the end of a call that would do the same and that took place before the run was interrupted, nil if there is none:
// whatever a model was told, it may repeat itself. c.mu is held.
func (c *caller) before(name string, input json.RawMessage) *Record {
	s := c.s
	if s.past == nil {
		return nil
	}
	if c.made == nil {
		s.mu.Lock()
		c.made = s.past.made(c.key, s.r.Tools.Identity)
		s.mu.Unlock()
	}
	if len(c.made) == 0 {
		return nil
	}
	return c.made[s.r.Tools.Identity(name, input)]
}

// unmade records a call that is not made, and what it is answered with. c.mu is held.
func (c *caller) unmade(name string, input json.RawMessage, status Status, text string) model.ToolResult {
	c.calls++
	started := Record{Type: ToolStarted, Key: c.key, Call: c.calls, Name: name, Input: input}
	done := Record{Type: ToolDone, Key: c.key, Call: c.calls, Name: name, Text: diag.Clip(text, maxKept), Status: status}
	result := model.ToolResult{Text: text}
	if c.s.journal.append(started, false) != nil || c.s.journal.append(done, false) != nil {
		return result // the run ends with what the journal says
	}
	c.called(c.calls, name, input)
	c.replied(done)
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
