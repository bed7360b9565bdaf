// Package mcp turns a model inside out: an agent that speaks MCP drives a run.
// The run stays in skl and decides what comes next; the agent is given the
// steps that wait for an answer, and answers them.
//
//   - A [Driver] is the model of one run. A question of the run becomes a pending
//     [Step]; nothing else can be answered. Answering a step that is not pending
//     yet, or that was answered, is an error and changes nothing, so no step can
//     be skipped or repeated.
//   - An answer that does not fit the schema of its step is an error that says
//     why; the step stays pending.
//   - The agent uses tools of the run through [Driver.Call], with the run's
//     permissions. skl cannot see what it does with tools of its own.
//   - [Register] adds the tools skill_run and skill_resume to a server. Runs live
//     in the process of the server: at most MaxRuns at once, and for IdleTimeout
//     after the agent was last heard of.
//
// Answers have at most model.MaxAnswer bytes.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// Codes of errors.
const (
	CodeStepUnknown = "mcp_step_unknown" // no step of this name is waiting, or ever was
	CodeStepDone    = "mcp_step_done"    // the step was answered, or given up by the run
	CodeStepBusy    = "mcp_step_busy"    // a tool that was called for the step still runs
	CodeAnswer      = "mcp_answer"       // the answer does not fit the step
	CodeToolUnknown = "mcp_tool_unknown" // the step has no such tool
	CodeRunUnknown  = "mcp_run_unknown"  // no such run in this server
	CodeRunsFull    = "mcp_runs_full"    // MaxRuns runs are waiting already
	CodeInput       = "mcp_input"        // the arguments of a call are wrong
	CodePerson      = "mcp_person"       // a question is for the person, and the agent answered it or the client could not ask
	CodeStopped     = "mcp_stopped"      // the run was stopped while it waited
)

// settle is how long Next waits, with steps to give, for the parts of the run that are still at work: they may
// need an answer too, or run a script for minutes. Their steps are in a later answer then.
const settle = 2 * time.Second

// Kinds of steps.
const (
	Fill     = "fill"     // a leaf, a condition or another request to a model
	Question = "question" // ASK: a person decides
)

// A Step waits for an answer.
type Step struct {
	ID       string          `json:"id"` // unique in the run
	Run      string          `json:"run"`
	Kind     string          `json:"kind"` // fill or question
	Node     string          `json:"node,omitempty"`
	Purpose  string          `json:"purpose,omitempty"`
	Isolated bool            `json:"isolated,omitempty"` // a subagent's: use nothing but what the step says
	System   string          `json:"system,omitempty"`
	Prompt   string          `json:"prompt"` // of a question, the question
	Options  []string        `json:"options,omitempty"`
	Schema   json.RawMessage `json:"schema,omitempty"` // of the answer; absent: a text
	Tools    []Tool          `json:"tools,omitempty"`
	Note     string          `json:"note,omitempty"` // what to do with the step, besides answering it
	Next     int             `json:"next,omitempty"` // the prompt goes on at this byte: skill_resume with offset
}

// A Tool that can be called for a step.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// A Driver is a model whose answers come from an agent. Its methods may be
// called concurrently.
type Driver struct {
	run    string
	person bool // the client puts questions to the person, and the agent answers none

	mu      sync.Mutex    // guards the fields below and the pending steps
	pending []*pending    // in the order they began
	strands int           // parts of the run that are at work, those that wait for an answer included
	last    int           // number of the newest step
	note    string        // see Note
	changed chan struct{} // closed at the next change
	ended   bool

	done chan struct{} // closed by End
}

type pending struct {
	Step
	schema *model.Schema
	call   func(context.Context, string, json.RawMessage) model.ToolResult
	turns  int                  // calls of tools left
	idle   chan struct{}        // closed when no call runs any more after the step was given up
	answer chan json.RawMessage // nil: the person was asked and did not answer

	over <-chan struct{} // closed when the request needs no answer any more

	how     string // guarded by the driver's mu: who answered
	claimed bool   // guarded by the driver's mu: the person is being asked

	// The calls of tools that run, by the turns that were left. They end with the Fill that waits.
	calls map[int]context.CancelFunc
}

// NewDriver gives the model of the run with that name.
func NewDriver(run string) *Driver {
	return &Driver{run: run, strands: 1, changed: make(chan struct{}), done: make(chan struct{})}
}

// Run is the name of the run.
func (d *Driver) Run() string { return d.run }

// Person reports whether the agent's client puts questions to the person itself, so that the agent cannot answer them.
func (d *Driver) Person() bool { return d.person }

// Note has the first answer of the run say something of the skill. It is called before the first step.
func (d *Driver) Note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note = text
}

// noted is what Note was given, the first time.
func (d *Driver) noted() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	note := d.note
	d.note = ""
	return note
}

// Name is "mcp".
func (d *Driver) Name() string { return "mcp" }

// Capabilities: an agent uses tools and can have several steps at once.
func (d *Driver) Capabilities() model.Capabilities {
	return model.Capabilities{Tools: true, Parallel: true}
}

// Fill waits for the agent's answer to r.
func (d *Driver) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	p := &pending{
		Step: Step{
			Kind: Fill, Node: r.Node, Purpose: string(r.Purpose), Isolated: r.Isolated,
			System: r.System, Prompt: r.Prompt, Schema: r.Schema,
		},
		call: r.Call, turns: r.MaxTurns,
	}
	if p.turns <= 0 {
		p.turns = 50
	}
	if r.Schema != nil {
		var err error
		if p.schema, err = model.Compile(r.Schema); err != nil {
			return model.Reply{}, err
		}
	}
	if r.Call != nil {
		for _, t := range r.Tools {
			p.Tools = append(p.Tools, Tool{t.Name, t.Description, t.Schema})
		}
	}
	answer, err := d.wait(ctx, p)
	if err != nil {
		return model.Reply{}, err
	}
	reply := model.Reply{Model: "mcp", Usage: model.Usage{Calls: 1}}
	if p.schema != nil {
		reply.Value = answer
		return reply, nil
	}
	if reply.Text, err = text(answer); err != nil {
		return model.Reply{}, err
	}
	if r.Stream != nil {
		r.Stream(reply.Text)
	}
	return reply, nil
}

// Ask waits for the answer to a question of the run: one of options, as it is
// written there, or any text when there are none. node is where it is asked.
// how is ByPerson or Relayed. A person who was asked and did not answer is the
// error [model.CodeNoAnswer].
func (d *Driver) Ask(ctx context.Context, node, question string, options []string) (said, how string, err error) {
	p := &pending{Step: Step{Kind: Question, Node: node, Prompt: question, Options: slices.Clone(options)}}
	if !d.person {
		p.Note = noteRelay
	}
	answer, err := d.wait(ctx, p)
	if err != nil {
		return "", "", err
	}
	if answer == nil {
		return "", "", diag.New(diag.NeedsInput, model.CodeNoAnswer, "the person did not answer %q", diag.Clip(question, 200))
	}
	said, err = text(answer)
	d.mu.Lock()
	defer d.mu.Unlock()
	return said, p.how, err
}

// wait publishes p and waits for its answer.
func (d *Driver) wait(ctx context.Context, p *pending) (json.RawMessage, error) {
	p.over = ctx.Done()
	p.answer, p.idle, p.calls = make(chan json.RawMessage, 1), make(chan struct{}), map[int]context.CancelFunc{}

	d.mu.Lock()
	if d.ended {
		d.mu.Unlock()
		return nil, d.stopped()
	}
	d.last++
	p.ID, p.Run = stepName(d.last), d.run
	d.pending = append(d.pending, p)
	d.signal()
	d.mu.Unlock()

	err := d.stopped()
	select {
	case answer := <-p.answer:
		return answer, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-d.done:
	}
	d.giveUp(p)
	select { // Answer told the agent that this one was taken
	case answer := <-p.answer:
		return answer, nil
	default:
		return nil, err
	}
}

// giveUp takes p back, cancels its tools and waits until none of them runs.
func (d *Driver) giveUp(p *pending) {
	d.mu.Lock()
	d.remove(p)
	for _, cancel := range p.calls {
		cancel()
	}
	busy := len(p.calls) > 0
	d.mu.Unlock()
	if busy {
		<-p.idle
	}
}

// remove takes p out of the list; d.mu is held.
func (d *Driver) remove(p *pending) {
	if i := slices.Index(d.pending, p); i >= 0 {
		d.pending = slices.Delete(d.pending, i, i+1)
		d.signal()
	}
}

// signal wakes all that wait for a change; d.mu is held.
func (d *Driver) signal() {
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *Driver) stopped() error {
	return diag.New(diag.NeedsInput, CodeStopped, "the run %s was stopped before its agent answered", d.run)
}

// End tells the driver that the run is over, or has to be: what still waits
// gets an error with code [CodeStopped], and Next returns. Twice is as good as once.
func (d *Driver) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended {
		d.ended = true
		close(d.done)
		d.signal()
	}
}

// Strands says how many more parts of the run are at work at the same time, or fewer. It begins with one; see run.Runner.
func (d *Driver) Strands(more int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.strands += more
	d.signal()
}

// Next waits until steps are pending and no part of the run comes to a step without an answer, and gives all of them,
// oldest first. It gives none when the run ended.
func (d *Driver) Next(ctx context.Context) ([]Step, error) {
	var late <-chan time.Time // from when a step was seen
	for {
		d.mu.Lock()
		changed, ended, n, busy := d.changed, d.ended, len(d.pending), d.strands-len(d.pending)
		d.mu.Unlock()
		switch {
		case ended:
			return nil, nil
		case n > 0 && busy <= 0:
			if steps := d.Pending(); len(steps) > 0 {
				return steps, nil
			}
		case n > 0 && late == nil:
			late = time.After(settle)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		case <-late:
			if steps := d.Pending(); len(steps) > 0 {
				return steps, nil
			}
			late = nil
		}
	}
}

// Pending gives the steps that wait now, oldest first.
func (d *Driver) Pending() []Step {
	d.mu.Lock()
	defer d.mu.Unlock()
	steps := make([]Step, 0, len(d.pending))
	for _, p := range d.pending {
		steps = append(steps, p.Step)
	}
	return steps
}

// Answer answers the step id, which must be pending: a JSON string for a text
// or a question, else a value that fits the schema of the step. On an error,
// with one of the codes above, nothing has changed.
func (d *Driver) Answer(id string, answer json.RawMessage) error {
	return d.take(id, answer, Relayed)
}

// take is Answer, and for questions says who answers. A person who did not answer is nil.
func (d *Driver) take(id string, answer json.RawMessage, how string) error {
	d.mu.Lock()
	p, err := d.find(id)
	d.mu.Unlock()
	if err != nil {
		return err
	}
	if p.Kind == Question && d.person && how != ByPerson {
		return diag.New(diag.Refused, CodePerson, "step %s is a question for the person, and your client asks them: you do not answer it", id).
			Hint("call skill_resume with the run alone to see what waits")
	}
	// Checking can take a while and needs no lock: a step does not change.
	if answer != nil || how != ByPerson {
		if answer, err = p.check(answer); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.find(id); err != nil {
		return err
	}
	if len(p.calls) > 0 {
		return diag.New(diag.Unmet, CodeStepBusy, "a tool that was called for step %s still runs", id).
			Hint("answer the step when the tool has answered")
	}
	p.how = how
	p.answer <- answer // has room for the one answer of a step
	d.remove(p)
	return nil
}

// Call calls a tool for the pending step id. Errors have the codes above; what
// the tool itself says against the call is in its result. over says that the call ended the step: it waits for a person, or nothing is left to spend.
func (d *Driver) Call(ctx context.Context, id, tool string, input json.RawMessage) (result model.ToolResult, over bool, err error) {
	d.mu.Lock()
	p, err := d.find(id)
	if err == nil && !slices.ContainsFunc(p.Tools, func(t Tool) bool { return t.Name == tool }) {
		err = diag.New(diag.Misuse, CodeToolUnknown, "step %s has no tool %q", id, tool).Meant(toolNames(p.Tools)...)
	}
	if err != nil {
		d.mu.Unlock()
		return model.ToolResult{}, false, err
	}
	if p.turns == 0 {
		d.mu.Unlock()
		return model.ToolResult{Text: "no more tools can be called for this step: answer it now", IsError: true}, false, nil
	}
	p.turns--
	turn := p.turns
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.calls[turn] = cancel
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(p.calls, turn)
		if len(p.calls) == 0 && !slices.Contains(d.pending, p) {
			close(p.idle)
		}
	}()
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	result = p.call(ctx, tool, input)
	select {
	case <-p.over: // Fill may not have seen it yet
		d.mu.Lock()
		d.remove(p)
		d.mu.Unlock()
		over = true
	default:
	}
	return result, over, nil
}

func toolNames(tools []Tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// find gives the pending step id, or says why there is none; d.mu is held.
func (d *Driver) find(id string) (*pending, error) {
	for _, p := range d.pending {
		if p.ID == id && !d.ended {
			return p, nil
		}
	}
	if n, ok := stepNumber(id); ok && n <= d.last {
		return nil, diag.New(diag.Unmet, CodeStepDone, "step %s is not waiting any more: it was answered, or the run gave it up", id).
			Hint("call skill_resume with the run alone to see what waits")
	}
	return nil, diag.New(diag.Misuse, CodeStepUnknown, "no step %q is waiting", id).
		Hint("call skill_resume with the run alone to see what waits")
}

func stepName(n int) string { return "s" + strconv.Itoa(n) }

func stepNumber(id string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "s"))
	return n, err == nil && n > 0 && stepName(n) == id
}

// check gives the answer as the run takes it.
func (p *pending) check(answer json.RawMessage) (json.RawMessage, error) {
	wrong := func(format string, args ...any) error {
		return diag.New(diag.Unmet, CodeAnswer, "the answer does not fit step "+p.ID+": "+format, args...)
	}
	if len(answer) > model.MaxAnswer {
		return nil, wrong("it has %d bytes; at most %d are taken", len(answer), model.MaxAnswer)
	}
	if p.schema != nil {
		if err := p.schema.Check(answer); err != nil {
			return nil, wrong("%w", err).(*diag.Error).Hint("answer with a value of the schema of the step, not with text that holds one")
		}
		return slices.Clone(answer), nil
	}
	s, err := text(answer)
	if err != nil {
		return nil, wrong("%w", err)
	}
	if len(p.Options) == 0 {
		return slices.Clone(answer), nil
	}
	for _, option := range p.Options {
		if strings.EqualFold(strings.TrimSpace(s), strings.TrimSpace(option)) {
			return json.Marshal(option)
		}
	}
	return nil, wrong("it is not one of the options %q", p.Options)
}

// text reads an answer in text.
func text(answer json.RawMessage) (string, error) {
	var s *string
	if err := json.Unmarshal(answer, &s); err != nil || s == nil {
		return "", fmt.Errorf("a text is wanted, as a JSON string")
	}
	return *s, nil
}
