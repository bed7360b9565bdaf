package run

import (
	"encoding/json"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// override is the value that Runner.Set has for a visit.
func (m *Machine) override(n *tree.Node, path string) (json.RawMessage, bool) {
	if len(m.s.r.Set) == 0 {
		return nil, false
	}
	if raw, ok := m.s.r.Set[path]; ok {
		return raw, true
	}
	raw, ok := m.s.r.Set[m.id(n)]
	return raw, ok
}

// applySet gives a node the value that was set, in place of what it does. Conditions, choices, loops and questions look
// at their override themselves.
func (m *Machine) applySet(f *frame, n *tree.Node, path string, began time.Time) (done bool, err error) {
	raw, ok := m.override(n, path)
	if !ok {
		return false, nil
	}
	switch n.Kind {
	case tree.Prose, tree.Call, tree.Explore, tree.Read, tree.Bind:
	default:
		return false, nil
	}
	value, err := decode(raw)
	if err != nil {
		return true, diag.New(diag.Misuse, CodeValue, "the value set for %s is not JSON: %w", path, err)
	}
	m.set = true
	m.begin(n, path, nil)
	m.emit(Event{Kind: Decided, Path: path, Node: m.id(n), Type: n.Kind.String(), Text: n.Text, Value: encode(value), How: bySet})
	outs := n.Outs
	if n.Kind == tree.Bind {
		outs = []tree.Target{{Name: n.Var}}
	}
	var bound map[string]any
	if len(outs) > 0 {
		if bound, err = m.bindTargets(n, path, targetNames(outs), outs, nil, value, nil); err != nil {
			return true, err
		}
	} else if o := m.owner(); m.returning(n) {
		o.Return, o.Returned = value, true
	} else {
		m.note(path, value)
	}
	m.finish(f, n, began, OK, values(bound))
	return true, nil
}
