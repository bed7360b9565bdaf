package run

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// visitProse does a node in natural language: a literal text, a leaf, or a heading with steps below it.
func (m *Machine) visitProse(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	if n == m.s.plan.Whole {
		return m.visitWhole(ctx, f, n, path, began)
	}
	m.begin(n, path, nil)
	l := m.s.plan.Leaf(n)
	switch l.Kind {
	case plan.Nothing:
		m.finish(f, n, began, OK, nil)
		return nil
	case plan.Say:
		said, _ := m.told(n, l.Text)
		m.emit(Event{Kind: Output, Path: path, Node: m.id(n), Text: said})
		m.finish(f, n, began, OK, nil)
		return nil
	}
	var bound map[string]any
	if l.Kind != plan.Title {
		var err error
		if bound, err = m.prose(ctx, n, path, l); err != nil {
			return err
		}
	}
	if l.Kind == plan.Title || l.Kind == plan.Header {
		m.push(&frame{Kind: branchFrame, Base: path, Owner: n.ID, node: n, nodes: n.Children})
		m.top().started = began
		return nil
	}
	m.finish(f, n, began, OK, values(bound))
	return nil
}

// prose is the leaf of a prose node.
func (m *Machine) prose(ctx context.Context, n *tree.Node, path string, p plan.Leaf) (map[string]any, error) {
	l := leaf{purpose: model.Leaf, path: path, node: n, text: p.Text, detail: outline(p.Detail, 0), outs: targetNames(n.Outs), isolated: m.top().Agent || m.top().Kind == childFrame}
	o := m.owner()
	returns := p.Kind == plan.Ask && len(n.Outs) == 0 && m.returning(n)
	if returns {
		l.outs, l.schema = m.declared(o)
	}
	value, err := m.fillLeaf(ctx, l)
	if err != nil {
		return nil, err
	}
	if text, ok := value.(string); ok && p.Report {
		m.emit(Event{Kind: Output, Path: path, Node: m.id(n), Text: text})
	}
	if returns && (l.schema != nil || len(l.outs) > 0) {
		o.Return, o.Returned = value, true
		return nil, nil
	}
	if len(n.Outs) == 0 {
		m.note(path, value)
		return nil, nil
	}
	return m.bindTargets(n, path, targetNames(n.Outs), n.Outs, nil, value, nil)
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// returning reports whether n is the last step of an op's body, whose answer is the op's result.
func (m *Machine) returning(n *tree.Node) bool {
	for i := len(m.st.Frames) - 1; i >= 0; i-- {
		f := m.st.Frames[i]
		switch f.Kind {
		case opFrame:
			if !last(f) {
				return false
			}
			outs, schema := m.declared(f)
			return schema != nil || slices.ContainsFunc(outs, func(name string) bool { _, ok := f.Wrote[name]; return !ok })
		case branchFrame:
			if !last(f) {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// last reports whether nothing is visited after the node that f is at: only the rest of its chain may follow.
func last(f *frame) bool {
	for _, n := range f.nodes[min(f.Index+1, len(f.nodes)):] {
		if n.Kind != tree.ElseIf && n.Kind != tree.Else {
			return false
		}
	}
	return true
}

// declared are the names that an op gives, and the schema of its result if it has one: for an op without one that an Agent section
// executes, that of the section.
func (m *Machine) declared(f *frame) ([]string, *plan.Schema) {
	names := targetNames(f.callee.Op.Outs)
	if len(names) == 0 && f.node != nil {
		names = targetNames(f.node.Outs)
	}
	schema := m.s.plan.Output(f.callee)
	if schema == nil && f.node != nil && f.node.Kind == tree.Explore {
		schema = m.s.plan.AgentSchema()
	}
	return names, schema
}

func targetNames(outs []tree.Target) []string {
	names := make([]string, 0, len(outs))
	for _, t := range outs {
		names = append(names, t.Name)
	}
	return names
}

// leaf is one instruction for the model.
type leaf struct {
	purpose  model.Purpose
	path     string
	node     *tree.Node
	text     string   // verbatim
	detail   string   // what hangs below it
	names    []string // values to show beside those that text mentions
	outs     []string // names to answer with
	schema   *plan.Schema
	about    string // op description; "" takes that of the op
	isolated bool
}

// fillLeaf asks the model and gives a value: what fits the contract, an object with the names, or text.
func (m *Machine) fillLeaf(ctx context.Context, l leaf) (any, error) {
	var p prompt
	p.line(l.text)
	if l.detail != "" {
		p.WriteString(l.detail)
	}
	m.values(&p, l.text+"\n"+l.detail, l.names, false)
	m.loaded(&p)
	var schema json.RawMessage
	switch {
	case l.schema != nil && !l.schema.Hint:
		schema = l.schema.JSON
	case len(l.outs) > 0:
		schema = keysSchema(l.outs)
	}
	if l.schema != nil && l.schema.Hint {
		p.part("The answer looks like this sample", string(l.schema.JSON))
	}
	if len(l.outs) > 0 && (l.schema == nil || l.schema.Hint) {
		p.part("Answer with an object that has exactly these keys", strings.Join(l.outs, ", "))
	}
	about := l.about
	if o := m.owner(); about == "" && o.Kind == opFrame {
		about = o.callee.Op.Name + "\n" + o.callee.Op.Prose
	}
	req := model.Request{Purpose: l.purpose, Path: l.path, Isolated: l.isolated, System: m.system(about), Prompt: p.String(), Schema: schema}
	got, err := m.fill(ctx, l.node, req, false)
	if err != nil {
		return nil, err
	}
	if schema == nil {
		return got.Text, nil
	}
	return decode(got.Output)
}

// bindTargets gives the targets of a node their values (rulings 5.12 and 5.13) and returns what was bound. lacking is by declared name.
func (m *Machine) bindTargets(n *tree.Node, path string, declared []string, targets []tree.Target, schema *plan.Schema, value any, lacking lacks) (map[string]any, error) {
	pairs, err := project(declared, targets, schema, value)
	if err != nil {
		return nil, diag.New(diag.Failed, CodeValue, "%q: %w", diag.Clip(n.Text, 80), err).At(position(n))
	}
	bound := map[string]any{}
	for i, t := range targets {
		v, ok := pairs[t.Name]
		if !ok {
			m.warn("output_missing", t.Name+" has no value: the result of "+diag.Clip(n.Text, 60)+" does not have it")
			continue
		}
		bound[t.Name] = v
		lack := lacking[t.Name]
		if !t.Group && i < len(declared) {
			lack = lacking[declared[i]]
		}
		m.assign(t.Name, v, lack)
		m.outcome(t.Name, outcome{Status: OK})
		if m.s.sink {
			m.emit(Event{Kind: Bound, Path: path, Node: m.id(n), Name: t.Name, Value: encode(v)})
		}
	}
	return bound, nil
}

// project takes a result apart into the targets of a call. declared are the names that the op gives.
func project(declared []string, targets []tree.Target, schema *plan.Schema, value any) (map[string]any, error) {
	out := map[string]any{}
	if len(targets) == 0 {
		return out, nil
	}
	object, isObject := value.(map[string]any)
	if len(declared) <= 1 {
		// One name: a wrapper is opened, anything else is bound whole.
		name := targets[0].Name
		if len(declared) == 1 {
			name = declared[0]
		}
		if inner, ok := object[name]; ok {
			wrapper := len(object) == 1
			if schema != nil {
				wrapper = slices.Contains(schema.Properties(), name)
			}
			if wrapper {
				value = inner
				object, isObject = inner.(map[string]any)
			}
		}
		if len(targets) == 1 && !targets[0].Group {
			out[targets[0].Name] = value
			return out, nil
		}
		if !isObject {
			return nil, diag.New(diag.Failed, CodeValue, "%d names for a result that is not an object", len(targets))
		}
		for _, t := range targets {
			if v, ok := object[t.Name]; ok {
				out[t.Name] = v
			}
		}
		if len(out) == 0 && len(targets) == 1 {
			out[targets[0].Name] = value
		}
		return out, nil
	}
	if len(targets) > len(declared) {
		return nil, diag.New(diag.Failed, CodeValue, "%d names for %d outputs", len(targets), len(declared))
	}
	if !isObject {
		return nil, diag.New(diag.Failed, CodeValue, "the result is not an object with %s", strings.Join(declared, ", "))
	}
	for i, t := range targets {
		if v, ok := object[t.Name]; ok && t.Group {
			out[t.Name] = v
		} else if v, ok := object[declared[i]]; ok {
			out[t.Name] = v
		} else if v, ok := object[t.Name]; ok {
			out[t.Name] = v
		}
	}
	return out, nil
}

// values is what a node bound, for its event.
func values(bound map[string]any) json.RawMessage {
	if len(bound) == 0 {
		return nil
	}
	return encode(bound)
}

// visitBind does "bind x = …". What is no value is asked of the model.
func (m *Machine) visitBind(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	m.begin(n, path, nil)
	value, ok, err := m.sum(n, m.s.plan.Expr(n))
	if err != nil {
		return err
	}
	if !ok {
		v, err := m.fillLeaf(ctx, leaf{purpose: model.Leaf, path: path, node: n, text: n.Text, outs: []string{n.Var}, isolated: m.top().Agent})
		if err != nil {
			return err
		}
		bound, err := m.bindTargets(n, path, []string{n.Var}, []tree.Target{{Name: n.Var}}, nil, v, nil)
		if err != nil {
			return err
		}
		m.finish(f, n, began, OK, values(bound))
		return nil
	}
	m.assign(n.Var, value.value, value.lack)
	if !m.s.sink {
		m.finish(f, n, began, OK, nil)
		return nil
	}
	m.emit(Event{Kind: Bound, Path: path, Node: m.id(n), Name: n.Var, Value: encode(value.value)})
	m.finish(f, n, began, OK, values(map[string]any{n.Var: value.value}))
	return nil
}
