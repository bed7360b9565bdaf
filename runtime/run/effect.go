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

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// An effect is one thing that reaches outside.
type effect struct {
	kind   string
	path   string // of the visit
	node   string
	digest string
	acts   bool
	tool   string // of an op that calls one: its name

	gives   string                      // what it must give, in words: "" if nothing depends on it
	take    func(string) (reply, error) // reads what a person says it gave; nil: it gives nothing
	already func() bool                 // whether what it is to do is there already; nil: that cannot be seen
	whole   bool                        // a skill without a tree: --done and --rerun are about its last call, not about all of it
	begun   *past                       // a leaf that is gone on with where it was interrupted; nil: it begins
}

// reply is what an effect gave, live or from the journal.
type reply struct {
	Output json.RawMessage
	Text   string
	How    string
	Model  string
	Tool   string // canonical name of the one that an op called
	Usage  *model.Usage
	Did    *Deed

	waits bool // a call of a leaf waits for a person's leave
}

// effects are what one machine does outside, and how that stands to the journal.
type effects struct {
	s      *session
	prefix string // of the visits of a child of PARALLEL; "" of the run
	next   int    // ordinal of the next effect in this visit
	live   bool   // something was done that was not in the journal
	set    bool   // Runner.Set changed a value
	failed string // key of the effect whose error is being raised
	acted  map[string]int
}

func newEffects(s *session) effects { return effects{s: s, acted: map[string]int{}} }

// fork is that of a child of PARALLEL, whose visits begin with prefix.
func (x *effects) fork(prefix string) effects {
	return effects{s: x.s, prefix: prefix, live: x.live, set: x.set, acted: map[string]int{}}
}

// step begins another visit.
func (x *effects) step() { x.next, x.failed = 0, "" }

// key is that of the next effect of a visit.
func (x *effects) key(path string) string { return path + "!" + strconv.Itoa(x.next) }

// do carries out e, or takes what the journal has for it. The live func gets the key that its own records go under.
func (x *effects) do(ctx context.Context, e effect, live func(ctx context.Context, key string) (reply, error)) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, err
	}
	key := x.key(e.path)
	x.next++
	p, err := x.recorded(e, key)
	if err != nil {
		return reply{}, err
	}
	if p != nil {
		return x.replay(e, key, p.done)
	}
	if e.kind != "ask" && e.kind != "dispatch" { // these look for their answer first
		if err := x.s.overruled(); err != nil {
			return reply{}, err
		}
	}
	x.live = true
	if x.open(key) && !e.whole {
		if got, ok, err := x.s.finished(e); err != nil {
			return reply{}, suspendSignal{message: "unfinished effect", err: err}
		} else if ok {
			rec := Record{Type: DoneRecord, Key: key, Kind: e.kind, Node: e.node, Digest: e.digest, Acts: true, Output: got.Output, Text: got.Text, How: got.How}
			return got, x.s.journal.append(rec, true)
		}
	}
	if e.begun == nil && e.kind != "exists" && e.kind != "read" && e.kind != "ask" && e.kind != "dispatch" {
		if err := x.s.journal.append(Record{Type: StartedRecord, Key: key, Kind: e.kind, Node: e.node, Digest: e.digest, Acts: e.acts}, e.acts); err != nil {
			return reply{}, err
		}
	}
	got, err := live(ctx, key)
	return x.end(ctx, e, key, got, err)
}

// replay is what the journal has for e.
func (x *effects) replay(e effect, key string, done *Record) (reply, error) {
	x.s.budget.spend(done.Usage)
	if done.Err != nil {
		x.failed = key
		err := done.Err.err()
		x.s.denies(e, err)
		return reply{Text: done.Text, Tool: done.Tool, Did: done.Did}, err
	}
	return reply{Output: done.Output, Text: done.Text, How: done.How, Model: done.Model, Tool: done.Tool, Usage: done.Usage, Did: done.Did}, nil
}

// end records how e ended that was done now.
func (x *effects) end(ctx context.Context, e effect, key string, got reply, err error) (reply, error) {
	if err != nil {
		if _, ok := errors.AsType[suspendSignal](err); ok || ctx.Err() != nil {
			x.s.budget.spend(got.Usage)
			return reply{Did: got.Did}, err
		}
		if diag.ClassOf(err) == diag.NeedsInput {
			return reply{}, x.wait(e, key, got, err)
		}
		x.s.denies(e, err)
	}
	x.s.budget.spend(got.Usage)
	got.Usage = e.begun.spentWith(got.Usage)
	rec := Record{Type: DoneRecord, Key: key, Kind: e.kind, Node: e.node, Digest: e.digest, Acts: e.acts || x.acted[key] > 0,
		Output: got.Output, Text: got.Text, How: got.How, Model: got.Model, Tool: got.Tool, Usage: got.Usage, Did: got.Did}
	if err != nil {
		rec.Err = recordError(err)
		rec.Acts = rec.Acts && diag.ClassOf(err) != diag.Refused // what was refused did nothing
		x.failed = key
	}
	return got, cmp.Or(x.s.journal.append(rec, rec.Acts), err)
}

// wait suspends the run for what a person has to say. An effect that did nothing yet is released: it begins anew then. A leaf
// that acted, or of which a call waits for leave, stays open, and is gone on with.
func (x *effects) wait(e effect, key string, got reply, err error) error {
	x.s.budget.spend(got.Usage)
	if x.acted[key] == 0 && e.begun == nil && !got.waits {
		if jerr := x.s.journal.append(Record{Type: ReleasedRecord, Key: key, Usage: got.Usage}, e.acts); jerr != nil {
			return jerr
		}
	}
	return suspendSignal{message: err.Error(), err: err}
}

// recorded finds what the journal has for e: nil when e has to be done now.
func (x *effects) recorded(e effect, key string) (*past, error) {
	h := x.s.past
	if h == nil {
		return nil, nil
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	p := h.effects[key]
	if p != nil && p.done != nil {
		if p.done.Kind == e.kind && p.done.Digest == e.digest {
			if !p.used {
				p.used = true
				h.left--
			}
			return p, nil
		}
		if !x.set {
			return nil, other(e, *p.done)
		}
	} else if !x.set && !h.strict {
		if left := h.leftUnder(x.prefix); left != "" {
			return nil, diag.New(diag.Unmet, CodeDiverged, "the run differs from its journal at node %s (visit %s): it wants %s, and the journal goes on with %s", e.node, e.path, e.kind, left)
		}
	}
	if h.strict && (!x.set || x.s.r.Model == nil && e.kind == "model" || x.s.r.Tools == nil && e.acts) {
		if x.set {
			return nil, diag.New(diag.Unmet, CodeDiverged, "node %s (visit %s) needs %s that the journal does not have, after a value was set", e.node, e.path, e.kind)
		}
		if h.leftUnder(x.prefix) == "" && (h.ended == Suspended || h.ended == "" || h.ended == Failed) {
			return nil, suspendSignal{message: "the journal ends here"}
		}
		return nil, diag.New(diag.Unmet, CodeDiverged, "the run differs from its journal at node %s (visit %s): it wants %s, and the journal has nothing there", e.node, e.path, e.kind)
	}
	if p != nil && p.done == nil && p.acted() && !x.s.consents(e) && !p.wrote(e) {
		call := p.unseen()
		if !p.goesOn(e) || call != nil {
			return nil, suspendSignal{message: "unfinished effect", err: x.s.unfinished(e, call)}
		}
	}
	return nil, nil
}

// open reports whether the journal has the beginning of an effect and not its end.
func (x *effects) open(key string) bool {
	if x.s.past == nil {
		return false
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	p := x.s.past.effects[key]
	return p != nil && p.done == nil
}

// begun is the leaf that was interrupted under key, if e goes on with it.
func (x *effects) begun(e effect, key string) *past {
	h := x.s.past
	if h == nil || h.strict {
		return nil
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	p := h.effects[key]
	if p == nil || p.done != nil || len(p.tools)+len(p.turns) == 0 || !p.goesOn(e) || !e.whole && x.s.consents(e) { // a person lets it begin again, or says what it gave
		return nil
	}
	return p
}

// wrote reports whether an unfinished effect did take place: a file that has just the bytes that were to be written.
func (p *past) wrote(e effect) bool {
	return e.kind == "write" && p.started.Digest == e.digest && e.already != nil && e.already()
}

// consents reports whether a person said of e that it took place, or may take place again.
func (s *session) consents(e effect) bool {
	return slices.ContainsFunc(s.r.Rerun, func(r string) bool { return r == "*" || e.matches(r) }) ||
		slices.ContainsFunc(s.r.Done, func(d Done) bool { return e.matches(d.Node) })
}

// denies keeps an effect of the tree itself that was not let through, for the result.
func (s *session) denies(e effect, err error) {
	if diag.ClassOf(err) == diag.Refused && (e.kind == "script" || e.kind == "write" || e.kind == "read" || e.kind == "tool") {
		s.deny(DeniedCall{Path: e.path, Node: e.node, Tool: cmp.Or(e.tool, e.kind), Why: err.Error(), Code: codeOf(err), Tree: true})
	}
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

func codeOf(err error) string {
	e, _ := errors.AsType[*diag.Error](err)
	if e == nil {
		return ""
	}
	return e.Code
}
