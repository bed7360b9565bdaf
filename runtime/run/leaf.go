package run

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// A prose is a visit of a node in natural language.
type prose struct{ visit }

// run does a literal text, a leaf, a heading with steps below it, or the text of a skill without a tree.
func (at prose) run(ctx context.Context) error {
	if at.n == at.s.plan.Whole {
		return proseRun(at).run(ctx)
	}
	at.begin(nil)
	l := at.s.plan.Leaf(at.n)
	switch l.Kind {
	case plan.Nothing:
		at.finish(OK, nil)
		return nil
	case plan.Say:
		said, _ := at.told(l.Text)
		at.tell(Event{Kind: Output, Text: said})
		at.finish(OK, nil)
		return nil
	}
	var bound map[string]any
	if l.Kind != plan.Title {
		var err error
		if bound, err = at.leaf(ctx, l); err != nil {
			return err
		}
	}
	if l.Kind == plan.Title || l.Kind == plan.Header {
		at.into(&frame{Kind: branchFrame, Base: at.path, nodes: at.n.Children})
		return nil
	}
	at.finish(OK, values(bound))
	return nil
}

// leaf has the model do the node.
func (at prose) leaf(ctx context.Context, p plan.Leaf) (map[string]any, error) {
	l := leaf{purpose: model.Leaf, text: p.Text, detail: outline(p.Detail, 0), gives: promiseOf(at.n.Outs), isolated: at.top().Agent || at.top().Kind == childFrame}
	o := at.owner()
	returns := p.Kind == plan.Ask && len(at.n.Outs) == 0 && at.returning()
	if returns {
		l.gives = at.s.promised(o)
	}
	value, err := at.fillLeaf(ctx, l)
	if err != nil {
		return nil, err
	}
	if text, ok := value.(string); ok && p.Report {
		at.tell(Event{Kind: Output, Text: text})
	}
	if returns && (l.gives.schema != nil || len(l.gives.names) > 0) {
		o.Return, o.Returned = value, true
		return nil, nil
	}
	if len(at.n.Outs) == 0 {
		at.note(at.path, value)
		return nil, nil
	}
	return at.bindOuts(value)
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// returning reports whether n is the last step of an op's body, whose answer is the op's result.
func (at visit) returning() bool {
	for i := len(at.Frames) - 1; i >= 0; i-- {
		f := at.Frames[i]
		switch f.Kind {
		case opFrame:
			if !last(f) {
				return false
			}
			gives := at.s.promised(f)
			return gives.schema != nil || slices.ContainsFunc(gives.names, func(name string) bool { _, ok := f.Wrote[name]; return !ok })
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
	text     string   // verbatim
	detail   string   // what hangs below it
	names    []string // values to show beside those that text mentions
	gives    promise  // names to answer with, or the schema of the answer
	about    string   // op description; "" takes that of the op
	isolated bool
}

// fillLeaf asks the model and gives a value: what fits the contract, an object with the names, or text.
func (at visit) fillLeaf(ctx context.Context, l leaf) (any, error) {
	var p prompt
	p.line(l.text)
	if l.detail != "" {
		p.WriteString(l.detail)
	}
	at.writeValues(&p, l.text+"\n"+l.detail, l.names, false)
	at.loaded(&p)
	var schema json.RawMessage
	switch {
	case l.gives.schema != nil && !l.gives.schema.Hint:
		schema = l.gives.schema.JSON
	case len(l.gives.names) > 0:
		schema = keysSchema(l.gives.names)
	}
	if l.gives.schema != nil && l.gives.schema.Hint {
		p.part("The answer looks like this sample", string(l.gives.schema.JSON))
	}
	if len(l.gives.names) > 0 && (l.gives.schema == nil || l.gives.schema.Hint) {
		p.part("Answer with an object that has exactly these keys", strings.Join(l.gives.names, ", "))
	}
	about := l.about
	if o := at.owner(); about == "" && o.Kind == opFrame {
		about = o.callee.Op.Name + "\n" + o.callee.Op.Prose
	}
	req := model.Request{Purpose: l.purpose, Isolated: l.isolated, System: at.system(about), Prompt: p.String(), Schema: schema}
	got, err := at.fill(ctx, req, false)
	if err != nil {
		return nil, err
	}
	if schema == nil {
		return got.Text, nil
	}
	return decode(got.Output)
}

// promiseOf is that of a node that gives what its targets name.
func promiseOf(outs []tree.Target) promise { return promise{names: targetNames(outs)} }

// bindOuts gives the targets of the node their values.
func (at visit) bindOuts(value any) (map[string]any, error) {
	return at.bindTargets(at.n.Outs, promiseOf(at.n.Outs), value, nil)
}

// bindTargets gives targets their values (rulings 5.12 and 5.13) and returns what was bound. lacking is by the names of the promise.
func (at visit) bindTargets(targets []tree.Target, gives promise, value any, lacking lacks) (map[string]any, error) {
	pairs, err := gives.project(targets, value)
	if err != nil {
		return nil, diag.New(diag.Failed, CodeValue, "%q: %w", diag.Clip(at.n.Text, 80), err).At(at.position())
	}
	bound := map[string]any{}
	for i, t := range targets {
		v, ok := pairs[t.Name]
		if !ok {
			at.warn("output_missing", t.Name+" has no value: the result of "+diag.Clip(at.n.Text, 60)+" does not have it")
			continue
		}
		bound[t.Name] = v
		lack := lacking[t.Name]
		if !t.Group && i < len(gives.names) {
			lack = lacking[gives.names[i]]
		}
		at.assign(t.Name, v, lack)
		at.outcome(t.Name, outcome{Status: OK})
		at.bound(t.Name, v)
	}
	return bound, nil
}

// project takes a result apart into the targets of a call.
func (gives promise) project(targets []tree.Target, value any) (map[string]any, error) {
	declared := gives.names
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
			if gives.schema != nil {
				wrapper = slices.Contains(gives.schema.Properties(), name)
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

// bind does "bind x = …". What is no value is asked of the model.
func (at visit) bind(ctx context.Context) error {
	at.begin(nil)
	value, ok, err := at.sum(at.s.plan.Expr(at.n))
	if err != nil {
		return err
	}
	if !ok {
		outs := []tree.Target{{Name: at.n.Var}}
		v, err := at.fillLeaf(ctx, leaf{purpose: model.Leaf, text: at.n.Text, gives: promiseOf(outs), isolated: at.top().Agent})
		if err != nil {
			return err
		}
		bound, err := at.bindTargets(outs, promiseOf(outs), v, nil)
		if err != nil {
			return err
		}
		at.finish(OK, values(bound))
		return nil
	}
	at.assign(at.n.Var, value.value, value.lack)
	if !at.s.sink {
		at.finish(OK, nil)
		return nil
	}
	at.bound(at.n.Var, value.value)
	at.finish(OK, values(map[string]any{at.n.Var: value.value}))
	return nil
}
