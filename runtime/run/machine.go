package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

type phase uint8

const (
	phaseBegin phase = iota
	phaseWalk
	phaseRespond
	phaseDone
)

// state is all that a machine needs to go on, apart from its session.
type state struct {
	Phase phase `json:"phase"`
	stack
	Tally    tally             `json:"tally"`
	Cache    map[string]bool   `json:"cache,omitempty"` // conditions that the model decided, by digest
	Shown    string            `json:"shown,omitempty"` // the phase last announced
	Checks   []Check           `json:"checks,omitempty"`
	End      *ending           `json:"end,omitempty"`
	Response map[string]any    `json:"response,omitempty"`
	Unfilled map[string]string `json:"unfilled,omitempty"` // see Result
	Stop     bool              `json:"stop,omitempty"`     // Until was reached
}

// A Machine is a run between two steps. It is used by one goroutine at a time.
type Machine struct {
	s   *session
	st  state
	eff effects

	events []Event // with KeepEvents: in canonical order
	quiet  bool    // warnings are not told
}

// Run steps until the run is over or suspended. Its error is that of a run that failed, of an interruption, or of what
// has to be decided before the run can go on; a run that ended, halted or waits for an answer has none.
func (m *Machine) Run(ctx context.Context) (Result, error) {
	for {
		if more, err := m.Step(ctx); !more {
			return m.Result(), err
		}
	}
}

// Start makes the machine of a new run and writes the head of the journal.
func (r *Runner) Start(p *plan.Plan, args string) (*Machine, error) {
	m := r.machine(p, args)
	return m, m.s.journal.append(Record{Type: HeaderRecord, Version: JournalVersion, Skill: p.Skill.Name, Plan: p.Digest, Args: args}, true)
}

func (r *Runner) machine(p *plan.Plan, args string) *Machine {
	s := &session{r: r, plan: p, args: args, sink: r.Events != nil || r.KeepEvents, journal: writer{to: r.Journal}, budget: newBudget(r)}
	m := &Machine{s: s, eff: newEffects(s)}
	m.st.push(&frame{Kind: rootFrame, Scope: newScope(), nodes: p.Main(), started: s.now()})
	return m
}

// Snapshot writes the machine down. It is meant for between steps.
func (m *Machine) Snapshot() ([]byte, error) {
	s := m.s
	usage, visits := s.budget.spent()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(written{JournalVersion, s.plan.Digest, s.args, usage, visits, m.eff.live, m.eff.set, m.st, m.events, s.denials()})
	return b.Bytes(), err
}

type written struct {
	Version int         `json:"version"`
	Plan    string      `json:"plan"`
	Args    string      `json:"args"`
	Usage   model.Usage `json:"usage"`
	Visits  int         `json:"visits"`
	Live    bool        `json:"live,omitempty"`
	Set     bool        `json:"set,omitempty"`
	State   state       `json:"state"`
	Events  []Event     `json:"events,omitempty"`

	Denied []DeniedCall `json:"denied,omitempty"`
}

// Restore makes a machine of what Snapshot wrote. The plan must be that of the same skill: code run_other_plan.
// Its journal begins anew, and so does its time.
func (r *Runner) Restore(p *plan.Plan, data []byte) (*Machine, error) {
	var w written
	if err := json.Unmarshal(data, &w); err != nil || w.Version != JournalVersion || len(w.State.Frames) == 0 && w.State.Phase < phaseRespond {
		return nil, diag.New(diag.Failed, CodeJournal, "the snapshot cannot be read")
	}
	if w.Plan != p.Digest {
		return nil, OtherPlan(p.Skill.Name, cmp.Or(r.Called, p.Skill.Name))
	}
	m := r.machine(p, w.Args)
	m.st, m.eff.live, m.eff.set, m.events = w.State, w.Live, w.Set, w.Events
	m.s.budget.usage, m.s.budget.visits, m.s.denied = w.Usage, w.Visits, w.Denied
	if !m.s.bindNodes(m.st.Frames) {
		return nil, diag.New(diag.Failed, CodeJournal, "the snapshot does not fit the tree of %s", p.Skill.Name)
	}
	return m, nil
}

// OtherPlan is the error of a skill that changed; a command calls it called.
func OtherPlan(name, called string) error {
	return diag.New(diag.Refused, CodePlan, "the skill %s is not the one that this run began with: its files have changed", name).
		Hint("skl run %s, to start anew", called)
}

// Step does one step: the visit of a node, or the return from a body. more is false when the run is over or suspended; what
// Run returns beside its Result is err.
func (m *Machine) Step(ctx context.Context) (more bool, err error) {
	if m.st.Stop {
		m.suspend(suspendSignal{message: "stopped after " + m.s.r.Until})
		return false, nil
	}
	m.eff.step()
	m.st.End = nil
	switch m.st.Phase {
	case phaseBegin:
		err = m.arguments(ctx)
		if err == nil {
			m.st.Phase = phaseWalk
		}
	case phaseWalk:
		if f := m.st.top(); f.Kind == rootFrame && f.Index >= f.end {
			m.st.Phase = phaseRespond
			break
		}
		err = m.walk(ctx)
	case phaseRespond:
		if err = m.respond(ctx, true); err == nil {
			m.finishRun(&ending{Status: OK})
		}
	}
	if err != nil {
		return m.raise(ctx, err)
	}
	return m.st.Phase != phaseDone, nil
}

// raise handles what a step of the main machine ended with.
func (m *Machine) raise(ctx context.Context, err error) (bool, error) {
	if s, ok := errors.AsType[suspendSignal](err); ok {
		m.suspend(s)
		if ctx.Err() != nil && errors.Is(s.err, ctx.Err()) { // a person interrupted it in the middle of an effect
			m.st.End.Exit = 130
		}
		return false, s.err
	}
	if cause := ctx.Err(); cause != nil {
		m.suspend(suspendSignal{message: "interrupted"})
		m.st.End.Exit = 130
		return false, cause
	}
	if e, ok := errors.AsType[endSignal](err); ok {
		end := ending(e)
		if rerr := m.respond(ctx, false); rerr != nil && end.err == nil {
			end.err = rerr
		}
		m.finishRun(&end)
		return false, end.err
	}
	end := failure(err, m.eff.failed)
	m.finishRun(end)
	return false, err
}

func (m *Machine) suspend(s suspendSignal) {
	m.st.End = &ending{Status: Suspended, Exit: exitSuspended, Message: s.message, Pending: s.pending, err: s.err}
	if diag.ClassOf(s.err) == diag.Misuse {
		m.st.End.Exit = exitMisuse
	}
	text := s.message
	if s.pending != nil {
		text = s.pending.Question
	}
	m.emit(Event{Kind: RunSuspended, Status: Suspended, Text: text})
	m.s.journal.append(Record{Type: EndRecord, Status: Suspended, Text: text}, true)
}

func (m *Machine) finishRun(end *ending) {
	m.st.Phase, m.st.End = phaseDone, end
	m.emit(Event{Kind: RunEnded, Status: end.Status, Text: end.Message})
	m.s.journal.append(Record{Type: EndRecord, Status: end.Status, Text: end.Message, Key: end.At}, true)
}

// walk does one step on the stack.
func (m *Machine) walk(ctx context.Context) error {
	f := m.st.top()
	if f.Index >= f.end {
		return m.leave(ctx, f)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.s.budget.visit(); err != nil {
		return err
	}
	at := m.visitOf(f, f.nodes[f.Index], f.path(), m.s.now())
	height := len(m.st.Frames)
	err := at.run(ctx)
	if err == nil {
		return nil
	}
	if suspended(ctx, err) {
		return err
	}
	for len(m.st.Frames) > height { // the visit had begun a body
		m.st.pop()
	}
	at.done(statusOf(err), endValue(err))
	return m.unwind(err)
}

// suspended reports whether err leaves the machine as it is, to go on later.
func suspended(ctx context.Context, err error) bool {
	_, ok := errors.AsType[suspendSignal](err)
	return ok || ctx.Err() != nil
}

func statusOf(err error) Status {
	if _, ok := err.(breakSignal); ok {
		return OK
	}
	if e, ok := errors.AsType[endSignal](err); ok {
		return e.Status
	}
	return Failed
}

func endValue(err error) json.RawMessage {
	if e, ok := errors.AsType[endSignal](err); ok && e.Message != "" {
		return encode(e.Message)
	}
	return nil
}

// unwind takes frames off the stack until somebody handles err.
func (m *Machine) unwind(err error) error {
	_, brk := err.(breakSignal)
	for len(m.st.Frames) > m.st.base {
		f := m.st.top()
		switch {
		case brk && f.Kind == opFrame:
			f.Index, f.Broke = f.end, true
			return nil
		case brk && f.Kind == loopFrame:
			m.st.pop()
			m.left(f).finish(OK, nil)
			return nil
		case brk && f.Kind == rootFrame: // ruling 5.21
			f.Index = f.end
			return nil
		case f.Kind == rootFrame:
			return err
		}
		m.st.pop()
		m.closeTaken(f, statusOf(err))
		if f.Isolated {
			if e, ok := err.(endSignal); ok {
				e.Agent = true
				if m.st.base > 0 { // ruling 5.20: the outcome of a child of PARALLEL, and no more
					e.Status = Ended
				}
				err = e
			}
		}
		if len(m.st.Frames) > m.st.base {
			if brk {
				m.left(f).finish(OK, nil)
				continue
			}
			m.left(f).done(statusOf(err), nil)
		}
	}
	if brk {
		return nil // of a child of PARALLEL
	}
	return err
}

// leave ends a frame whose nodes are all visited.
func (m *Machine) leave(ctx context.Context, f *frame) error {
	switch f.Kind {
	case opFrame:
		err := m.leaveOp(ctx, f)
		if err == nil || suspended(ctx, err) {
			return err
		}
		return m.unwind(err)
	case loopFrame:
		if f.Item++; f.Item < len(f.Items) {
			f.Index, f.Chain, f.ChainAnswer = 0, noChain, false
			f.bindItem()
			return nil
		}
	}
	m.st.pop()
	m.closeTaken(f, OK)
	if len(m.st.Frames) > m.st.base {
		m.left(f).finish(OK, nil)
	}
	return nil
}

// left is the visit of the node whose body f, which was taken off the stack, was.
func (m *Machine) left(f *frame) visit {
	below := m.st.top()
	return m.visitOf(below, f.node, below.path(), f.started)
}

// closeTaken ends the CASE, or the option of an ASK, whose body f was.
func (m *Machine) closeTaken(f *frame, status Status) {
	if f.Kind == branchFrame && f.Take > 0 {
		m.visitOf(f, f.node.Children[f.Take-1], f.Base, f.started).done(status, nil)
	}
}

// phase announces a phase of the run once.
func (m *Machine) phase(name string) {
	if m.st.Shown != name && m.st.base == 0 { // a child of PARALLEL has no phases
		m.st.Shown = name
		m.emit(Event{Kind: PhaseStarted, Text: name})
	}
}

// emit tells an event to whoever wants it.
func (m *Machine) emit(e Event) {
	if !m.s.sink {
		return
	}
	e.Time = time.Now()
	e.Replayed = m.s.past != nil && !m.eff.live
	if len(m.st.Frames) > 0 {
		e.Op = m.st.opName()
		e.Agent = e.Agent || m.st.top().Agent
	}
	if m.s.r.KeepEvents {
		m.events = append(m.events, e)
	}
	if m.s.r.Events != nil {
		m.s.mu.Lock()
		m.s.r.Events(e)
		m.s.mu.Unlock()
	}
}

// home is the skill whose files the current body names.
func (m *Machine) home() *tree.Skill { return cmp.Or(m.st.opSkill(), m.s.plan.Skill) }

func (m *Machine) warn(code, text string) {
	if m.quiet || !m.s.sink {
		return
	}
	path := ""
	node := ""
	if len(m.st.Frames) > 0 {
		if f := m.st.top(); f.Index < len(f.nodes) {
			path, node = f.path(), m.nodeID(f.nodes[f.Index])
		}
	}
	m.emit(Event{Kind: Warned, Path: path, Node: node, Code: code, Text: text})
}
