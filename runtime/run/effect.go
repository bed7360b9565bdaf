package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// An effect is one thing that reaches outside.
type effect struct {
	kind   string
	path   string // of the visit
	node   string
	digest string
	acts   bool

	gives string                      // what it must give, in words: "" if nothing depends on it
	take  func(string) (reply, error) // reads what a person says it gave; nil: it gives nothing
	whole bool                        // a skill without a tree: --done and --rerun are about its last call, not about all of it
	begun *past                       // a leaf that is gone on with where it was interrupted; nil: it begins
}

// reply is what an effect gave, live or from the journal.
type reply struct {
	Output json.RawMessage
	Text   string
	How    string
	Model  string
	Usage  *model.Usage
	Did    *Deed

	waits bool // a call of a leaf waits for a person's leave
}

// do carries out e, or takes what the journal has for it. The live func gets the key that its own records go under.
func (m *Machine) do(ctx context.Context, e effect, live func(ctx context.Context, key string) (reply, error)) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, err
	}
	key := e.path + "!" + strconv.Itoa(m.ordinal)
	m.ordinal++
	p, err := m.recorded(e, key)
	if err != nil {
		return reply{}, err
	}
	if p != nil {
		m.s.spend(p.done.Usage)
		if p.done.Err != nil {
			m.failedKey = key
			err := p.done.Err.err()
			m.s.denies(e, err)
			return reply{Did: p.done.Did}, err
		}
		if p.done.How == byWord {
			m.tellDone(e)
		}
		return reply{Output: p.done.Output, Text: p.done.Text, How: p.done.How, Model: p.done.Model, Usage: p.done.Usage, Did: p.done.Did}, nil
	}
	m.live = true
	if m.open(key) && !e.whole {
		if got, ok, err := m.finished(e); err != nil {
			return reply{}, suspendSignal{message: "unfinished effect", err: err}
		} else if ok {
			m.tellDone(e)
			rec := Record{Type: DoneRecord, Key: key, Kind: e.kind, Node: e.node, Digest: e.digest, Acts: true, Output: got.Output, Text: got.Text, How: got.How}
			return got, m.s.journal(rec, true)
		}
	}
	if e.begun == nil && e.kind != "exists" && e.kind != "read" && e.kind != "ask" && e.kind != "dispatch" {
		if err := m.s.journal(Record{Type: StartedRecord, Key: key, Kind: e.kind, Node: e.node, Digest: e.digest, Acts: e.acts}, e.acts); err != nil {
			return reply{}, err
		}
	}
	got, err := live(ctx, key)
	if err != nil {
		if _, ok := errors.AsType[suspendSignal](err); ok || ctx.Err() != nil {
			m.s.spend(got.Usage)
			return reply{Did: got.Did}, err
		}
		if diag.ClassOf(err) == diag.NeedsInput {
			return reply{}, m.waits(e, key, got, err)
		}
		m.s.denies(e, err)
	}
	m.s.spend(got.Usage)
	got.Usage = e.begun.spentWith(got.Usage)
	rec := Record{Type: DoneRecord, Key: key, Kind: e.kind, Node: e.node, Digest: e.digest, Acts: e.acts || m.acted[key] > 0,
		Output: got.Output, Text: got.Text, How: got.How, Model: got.Model, Usage: got.Usage, Did: got.Did}
	if err != nil {
		rec.Err = recordError(err)
		rec.Acts = rec.Acts && diag.ClassOf(err) != diag.Refused // what was refused did nothing
		m.failedKey = key
	}
	return got, cmp.Or(m.s.journal(rec, rec.Acts), err)
}

// waits suspends the run for what a person has to say. An effect that did nothing yet is released: it begins anew then. A leaf
// that acted, or of which a call waits for leave, stays open, and is gone on with.
func (m *Machine) waits(e effect, key string, got reply, err error) error {
	m.s.spend(got.Usage)
	if m.acted[key] == 0 && e.begun == nil && !got.waits {
		if jerr := m.s.journal(Record{Type: ReleasedRecord, Key: key, Usage: got.Usage}, e.acts); jerr != nil {
			return jerr
		}
	}
	return suspendSignal{message: err.Error(), err: err}
}

// recorded finds what the journal has for e: nil when e has to be done now.
func (m *Machine) recorded(e effect, key string) (*past, error) {
	h := m.s.past
	if h == nil {
		return nil, nil
	}
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	p := h.effects[key]
	if p != nil && p.done != nil {
		if p.done.Kind == e.kind && p.done.Digest == e.digest {
			if !p.used {
				p.used = true
				h.left--
			}
			return p, nil
		}
		if !m.set {
			return nil, other(e, *p.done)
		}
	} else if !m.set && !h.strict {
		if left := h.leftUnder(m.prefix); left != "" {
			return nil, diag.New(diag.Unmet, CodeDiverged, "the run differs from its journal at node %s (visit %s): it wants %s, and the journal goes on with %s", e.node, e.path, e.kind, left)
		}
	}
	if h.strict && (!m.set || m.s.r.Model == nil && e.kind == "model" || m.s.r.Tools == nil && e.acts) {
		if m.set {
			return nil, diag.New(diag.Unmet, CodeDiverged, "node %s (visit %s) needs %s that the journal does not have, after a value was set", e.node, e.path, e.kind)
		}
		if h.leftUnder(m.prefix) == "" && (h.ended == Suspended || h.ended == "" || h.ended == Failed) {
			return nil, suspendSignal{message: "the journal ends here"}
		}
		return nil, diag.New(diag.Unmet, CodeDiverged, "the run differs from its journal at node %s (visit %s): it wants %s, and the journal has nothing there", e.node, e.path, e.kind)
	}
	if p != nil && p.done == nil && p.acted() && !m.consents(e) && !m.wrote(e, p) {
		call := p.unseen()
		if !p.goesOn(e) || call != nil {
			return nil, suspendSignal{message: "unfinished effect", err: m.unfinished(e, call)}
		}
	}
	return nil, nil
}

// wrote reports whether an unfinished effect did take place: a file that has just the bytes that were to be written.
func (m *Machine) wrote(e effect, p *past) bool {
	return e.kind == "write" && p.started.Digest == e.digest && m.already != nil && m.already()
}

func (m *Machine) consents(e effect) bool {
	return slices.ContainsFunc(m.s.r.Rerun, func(r string) bool { return r == "*" || e.matches(r) }) ||
		slices.ContainsFunc(m.s.r.Done, func(d Done) bool { return e.matches(d.Node) })
}

// open reports whether the journal has the beginning of an effect and not its end.
func (m *Machine) open(key string) bool {
	if m.s.past == nil {
		return false
	}
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	p := m.s.past.effects[key]
	return p != nil && p.done == nil
}

func (m *Machine) tellDone(e effect) {
	m.warn("effect_done", "visit "+e.path+": "+e.kind+" is taken as done, as --done says; nobody saw it end")
}

// digest is a short name for what goes into an effect.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// fill asks the model: the events, the budget, the tools and the journal of one request.
func (m *Machine) fill(ctx context.Context, n *tree.Node, req model.Request, readOnly bool) (reply, error) {
	req.Skill = m.s.plan.Skill.Name
	if n != nil {
		req.Node = m.id(n)
	}
	e := effect{kind: "model", path: req.Path, node: req.Node, digest: digest(string(req.Purpose), req.System, marked(req.Prompt, shownMark), string(req.Schema)), whole: req.Purpose == model.Whole}
	keys := schemaKeys(req.Schema)
	if req.Schema != nil {
		e.gives = "an answer"
		if len(keys) > 0 {
			e.gives = strings.Join(keys, ", ")
		}
	}
	e.take = takeAnswer(e, req.Schema, keys)
	key := e.path + "!" + strconv.Itoa(m.ordinal)
	e.begun = m.begun(e, key)
	m.live = m.live || m.s.past != nil && !m.s.past.has(key)
	m.emit(Event{Kind: ModelCalled, Path: req.Path, Node: req.Node, Name: string(req.Purpose), Text: marked(req.Prompt, shownMark), Agent: req.Isolated})
	replayed, began := true, m.s.now()
	got, err := m.do(ctx, e, func(ctx context.Context, key string) (reply, error) {
		replayed = false
		return m.ask(ctx, req, e, key, readOnly)
	})
	if replayed {
		m.retellTools(req, key, false)
	}
	if err != nil {
		if _, ok := errors.AsType[suspendSignal](err); !ok && n != nil {
			err = placed(err, n)
		}
		return got, err
	}
	ev := Event{Kind: ModelReplied, Path: req.Path, Node: req.Node, Name: string(req.Purpose), Text: got.Text, Value: got.Output, Usage: got.Usage, Model: got.Model, Agent: req.Isolated}
	if !replayed && !began.IsZero() {
		ev.Took = time.Since(began)
	}
	m.emit(ev)
	return got, nil
}

// ask makes one live request.
func (m *Machine) ask(ctx context.Context, req model.Request, e effect, key string, readOnly bool) (reply, error) {
	s := m.s
	if e.begun != nil {
		m.retellTools(req, key, true)
		if said, err := m.settled(req, e); said != nil || err != nil {
			return reply{Output: said}, err
		}
	}
	if s.r.Model == nil {
		return reply{}, diag.New(diag.NeedsInput, CodeModel, "node %s needs a model, and there is none", req.Node)
	}
	if err := s.budget(); err != nil {
		return reply{}, err
	}
	ctx, cancel := s.timed(ctx)
	defer cancel()
	if s.r.Tools != nil && (req.Purpose == model.Leaf || req.Purpose == model.Whole || req.Purpose == model.Explore || req.Purpose == model.Condition || req.Purpose == model.Checklist) {
		req.Tools = s.r.Tools.For(readOnly)
	}
	ctx, wait := context.WithCancelCause(ctx)
	defer wait(nil)
	calls := &caller{m: m, req: req, key: key, readOnly: readOnly, wait: wait, calls: e.begun.calls()}
	m.acted[key] = e.begun.acts()
	if e.begun != nil {
		if err := m.goOn(ctx, &req, e.begun, calls); calls.stopped() != "" {
			return reply{waits: true}, m.cut(e, calls.stopped(), context.Cause(ctx))
		} else if err != nil {
			return reply{waits: true}, s.inTime(err)
		}
	}
	if strings.Contains(req.Prompt, fence) {
		req.Mark = model.Mark(req.System, req.Prompt)
		req.Prompt = marked(req.Prompt, req.Mark)
	}
	if len(req.Tools) > 0 {
		req.Call, req.Turned = calls.call, calls.turned
	}
	got, err := s.r.Model.Fill(ctx, req)
	if cut := calls.stopped(); cut != "" {
		return reply{Usage: &got.Usage}, m.cut(e, cut, context.Cause(ctx))
	}
	if calls.final != nil && ctx.Err() == nil {
		return reply{Output: calls.final, Model: got.Model, Usage: &got.Usage}, nil
	}
	cause := context.Cause(ctx)
	if _, ok := errors.AsType[suspendSignal](cause); ok || diag.ClassOf(cause) == diag.NeedsInput { // a tool waits for a person, or the budget ended
		return reply{Usage: &got.Usage, waits: calls.waiting}, cause
	}
	if err != nil && cause == errTime {
		return reply{Usage: &got.Usage}, s.inTime(cause)
	}
	usage := got.Usage
	if usage.Calls == 0 && err == nil {
		usage.Calls = 1
	}
	out := reply{Text: got.Text, Model: got.Model, Usage: &usage}
	if err == nil && req.Schema != nil {
		out.Text = ""
		if !json.Valid(got.Value) {
			return out, diag.New(diag.Failed, model.CodeBadAnswer, "the model's answer for node %s is not a JSON value", req.Node)
		}
		v, _ := decode(got.Value)
		out.Output = encode(v) // in one spelling, so that the journal and the events do not depend on the provider's
	}
	return out, err
}

// inTime is err, or the suspension of a run whose time is up.
func (s *session) inTime(err error) error {
	if err == errTime {
		return suspendSignal{message: "out of budget, time: " + s.r.Limits.Time.String()}
	}
	return err
}

// refused keeps a tool call that was denied, for the result.
func (s *session) refused(req model.Request, rec Record) {
	if rec.Status != Denied {
		return
	}
	s.deny(DeniedCall{Path: req.Path, Node: req.Node, Tool: cmp.Or(rec.Tool, rec.Name), Why: diag.Clip(rec.Text, maxTold), Code: rec.How})
}

// denies keeps an effect of the tree itself that was not let through, for the result.
func (s *session) denies(e effect, err error) {
	if diag.ClassOf(err) == diag.Refused && (e.kind == "script" || e.kind == "write" || e.kind == "read") {
		s.deny(DeniedCall{Path: e.path, Node: e.node, Tool: e.kind, Why: err.Error(), Code: codeOf(err), Tree: true})
	}
}

func (s *session) deny(d DeniedCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = append(s.denied, d)
}

func codeOf(err error) string {
	e, _ := errors.AsType[*diag.Error](err)
	if e == nil {
		return ""
	}
	return e.Code
}

func toolReplied(req model.Request, rec Record) Event {
	return Event{Kind: ToolReplied, Path: req.Path, Node: req.Node, Name: cmp.Or(rec.Tool, rec.Name), Text: diag.Clip(rec.Text, maxTold), Status: rec.Status, Call: rec.Call, Did: rec.Did, Agent: req.Isolated}
}

// retellTools emits the tool calls that a journal has for a leaf, but for those that wait where they are made now.
func (m *Machine) retellTools(req model.Request, key string, now bool) {
	if m.s.past == nil || m.s.past.effects[key] == nil {
		return
	}
	for _, t := range m.s.past.effects[key].tools {
		if now && t.waits() && m.s.r.Tools != nil {
			continue
		}
		m.emit(Event{Kind: ToolCalled, Path: req.Path, Node: req.Node, Name: t.started.Name, Value: t.started.Input, Call: t.started.Call, Agent: req.Isolated})
		if t.done != nil {
			m.emit(toolReplied(req, *t.done))
			m.s.refused(req, *t.done)
		}
	}
}
