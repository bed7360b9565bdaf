package run

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// history is what a journal says was done, by key.
type history struct {
	effects map[string]*past
	earlier map[string][]pastTool // calls of a leaf that began anew since, by the key of its effect
	left    int                   // effects that ended and were not asked for again
	ended   Status                // of the last process, "" if it did not say
	spent   model.Usage           // on effects that were released or are tried again
	strict  bool                  // replay: nothing is done that is not in the journal
}

// past is one effect in a journal.
type past struct {
	started Record
	done    *Record
	turns   []*Record
	tools   []pastTool
	used    bool
}

type pastTool struct {
	started Record
	done    *Record
}

// acted reports whether something outside may have changed.
func (p *past) acted() bool {
	if p.done != nil {
		return p.done.Acts
	}
	return slices.ContainsFunc(p.tools, pastTool.acted) || p.started.Acts
}

func (t pastTool) acted() bool {
	return t.started.Acts && (t.done == nil || t.done.Status != Denied && t.done.Status != Suspended)
}

// waits reports whether the call was kept from taking place until a person gives leave.
func (t pastTool) waits() bool { return t.done != nil && t.done.Status == Suspended }

// newHistory reads records. For a resumption, the error that a run failed with is forgotten, so that its effect is tried
// again, unless the effect acts.
func newHistory(records []Record, strict bool) *history {
	h := &history{effects: map[string]*past{}, earlier: map[string][]pastTool{}, strict: strict}
	failedAt := ""
	for i := range records {
		r := &records[i]
		switch r.Type {
		case StartedRecord:
			if p := h.effects[r.Key]; p != nil { // it begins again
				h.earlier[r.Key] = append(h.earlier[r.Key], p.tools...)
			}
			h.effects[r.Key] = &past{started: *r}
		case DoneRecord:
			p := h.effects[r.Key]
			if p == nil {
				p = &past{started: *r}
				h.effects[r.Key] = p
			}
			p.done = r
		case TurnRecord:
			if p := h.effects[r.Key]; p != nil {
				p.turns = append(p.turns, r)
			}
		case ToolStarted:
			switch p := h.effects[r.Key]; {
			case p == nil:
			case r.Call >= 1 && r.Call <= len(p.tools): // it waited for a person's leave, and is made
				p.tools[r.Call-1] = pastTool{started: *r}
			default:
				p.tools = append(p.tools, pastTool{started: *r})
			}
		case ToolDone:
			if p := h.effects[r.Key]; p != nil && r.Call >= 1 && r.Call <= len(p.tools) {
				p.tools[r.Call-1].done = r
			}
		case ReleasedRecord:
			delete(h.effects, r.Key)
			h.spend(r.Usage)
		case EndRecord:
			h.ended, failedAt = r.Status, r.Key
		case ResumeRecord:
			h.ended, failedAt = "", ""
		}
	}
	if p := h.effects[failedAt]; p != nil && !strict && p.done != nil && p.done.Err != nil && !p.acted() {
		h.spend(p.done.Usage)
		delete(h.effects, failedAt)
	}
	for _, p := range h.effects {
		if p.done != nil {
			h.left++
			continue
		}
		spent := p.spent()
		h.spend(&spent)
	}
	return h
}

// made are the ends of the acting calls that the leaf of key made before it was interrupted and that took place, by [Tools.Identity].
func (h *history) made(key string, identity func(name string, input json.RawMessage) string) map[string]*Record {
	calls := h.earlier[key]
	if p := h.effects[key]; p != nil {
		calls = slices.Concat(calls, p.tools)
	}
	out := map[string]*Record{}
	for _, t := range calls {
		if t.started.Acts && t.done != nil && t.done.Status == OK {
			out[identity(t.started.Name, t.started.Input)] = t.done
		}
	}
	delete(out, "")
	return out
}

func (h *history) spend(u *model.Usage) {
	if u != nil {
		h.spent = h.spent.Add(*u)
	}
}

// has reports whether the effect of a key was done.
func (h *history) has(key string) bool {
	p := h.effects[key]
	return p != nil && p.done != nil
}

// leftUnder names an effect below prefix that was recorded and not asked for again, "" if there is none.
func (h *history) leftUnder(prefix string) string {
	if h.left == 0 {
		return ""
	}
	first := ""
	for key, p := range h.effects {
		if p.done != nil && !p.used && under(key, prefix) && (first == "" || key < first) {
			first = key
		}
	}
	return first
}

// under reports whether the visit of a key is the visit at prefix or below it.
func under(key, prefix string) bool {
	if !strings.HasPrefix(key, prefix) {
		return false
	}
	return prefix == "" || len(key) == len(prefix) || strings.IndexByte("/>[!", key[len(prefix)]) >= 0
}

// other is the error of a run that does not do what its journal says.
func other(e effect, rec Record) error {
	what := "something else went into it"
	if rec.Kind != e.kind {
		what = "the journal has " + rec.Kind + " there"
	}
	return diag.New(diag.Unmet, CodeDiverged, "the run differs from its journal at node %s (visit %s): it wants %s, and %s", e.node, e.path, e.kind, what).
		Hint("skl run, to start anew: the skill, the program or what was set differs from the recorded run")
}
