package run

import (
	"encoding/json"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// override is the value that Runner.Set has for a visit.
func (at visit) override() (json.RawMessage, bool) {
	if len(at.s.r.Set) == 0 {
		return nil, false
	}
	for _, key := range [2]string{at.path, at.id()} {
		if raw, ok := at.s.r.Set[key]; ok {
			if at.s.r.TookSet != nil {
				at.s.r.TookSet(key)
			}
			return raw, true
		}
	}
	return nil, false
}

// applySet gives a node the value that was set, in place of what it does. Conditions, choices, loops and questions look
// at their override themselves.
func (at visit) applySet() (done bool, err error) {
	raw, ok := at.override()
	if !ok {
		return false, nil
	}
	switch at.n.Kind {
	case tree.Prose, tree.Call, tree.Explore, tree.Read, tree.Bind:
	default:
		return false, nil
	}
	value, err := decode(raw)
	if err != nil {
		return true, diag.New(diag.Misuse, CodeValue, "the value set for %s is not JSON: %w", at.path, err)
	}
	at.eff.set = true
	at.begin(nil)
	at.tell(Event{Kind: Decided, Type: at.n.Kind.String(), Text: at.n.Text, Value: encode(value), How: bySet})
	outs := at.n.Outs
	if at.n.Kind == tree.Bind {
		outs = []tree.Target{{Name: at.n.Var}}
	}
	var bound map[string]any
	if len(outs) > 0 {
		if bound, err = at.bindTargets(outs, promiseOf(outs), value, nil); err != nil {
			return true, err
		}
	} else if o := at.owner(); at.returning() {
		o.Return, o.Returned = value, true
	} else {
		at.note(at.path, value)
	}
	at.finish(OK, values(bound))
	return true, nil
}
