package run

import (
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// A call is a visit of a node that calls an op, or has the Agent section do its work.
type call struct {
	visit
	op       plan.Callee
	params   map[string]any // the locals of the body
	lacking  lacks          // of params
	isolated bool
}

// run starts an op.
func (at call) run(ctx context.Context) (err error) {
	var ok bool
	if at.op, ok = at.s.callee(at.n); !ok {
		return diag.New(diag.Unmet, CodeCall, "there is no op %s", at.n.Name).At(at.position())
	}
	if at.n.Bold && !at.op.Op.Subagent {
		return diag.New(diag.Unmet, CodeCall, "%s is called as a subagent, and is not marked as one", at.n.Name).At(at.position())
	}
	if outs := len(at.op.Op.Outs); outs > 1 && len(at.n.Outs) > outs { // ruling 5.13
		return diag.New(diag.Unmet, CodeCall, "%s gives %d outputs, and the call names %d", at.n.Name, outs, len(at.n.Outs)).At(at.position())
	}
	if at.params, at.lacking, err = at.inputs(at.op); err != nil {
		return err
	}
	at.begin(at.params)
	if !at.n.Bold && at.op.Op.Subagent {
		at.warn("marker_ignored", at.n.Name+" is a subagent, and the call is not bold: it runs in the caller's context")
	}
	at.isolated = at.n.Bold
	return at.enter(ctx)
}

// explore runs the Agent section, or the op that stands for it.
func (at call) explore(ctx context.Context) (err error) {
	at.phase("Explore")
	at.isolated = true
	var ok bool
	if at.op, ok = at.s.callee(at.n); ok {
		at.begin(nil)
		if at.params, at.lacking, err = at.inputs(at.op); err != nil {
			return err
		}
		return at.enter(ctx)
	}
	a := at.s.plan.Skill.Agent
	if a == nil {
		return diag.New(diag.Unmet, CodeCall, "EXPLORE needs an Agent section").At(at.position())
	}
	at.begin(nil)
	if err := at.depth(); err != nil {
		return err
	}
	wall := &frame{Kind: opFrame, Base: at.path + ">EXPLORE", Isolated: true, Scope: newScope(), callee: plan.Callee{Op: &tree.Op{Name: "EXPLORE", Outs: at.n.Outs}, Skill: at.home()}}
	gives := promise{targetNames(at.n.Outs), at.s.plan.AgentSchema()}
	at.into(wall)
	value, err := at.fillLeaf(ctx, leaf{purpose: model.Explore, text: a.Text, gives: gives, about: "EXPLORE", isolated: true})
	at.pop()
	if err == nil {
		err = at.checkOutput(explored, gives.schema, value)
	}
	if err != nil {
		return err
	}
	return at.returned(wall, gives, value, true)
}

// enter begins the body of an op, for a call or for EXPLORE: that of a tree is pushed, another is one leaf.
func (at call) enter(ctx context.Context) error {
	if err := at.checkInput(at.op, at.params); err != nil {
		return err
	}
	if at.op.Op.CallsTool() {
		return at.tool(ctx)
	}
	if err := at.depth(); err != nil {
		return err
	}
	op := at.op.Op
	body := &frame{Kind: opFrame, Base: at.path + ">" + op.Name, Locals: at.params, Lacks: at.lacking, Isolated: at.isolated, callee: at.op}
	if at.isolated {
		body.Scope = newScope()
	}
	if op.Kind == tree.TreeBody && op.Tree != nil {
		body.nodes = op.Tree.Nodes
		at.into(body)
		return nil
	}
	at.into(body) // so that names, policies and files are those of the op
	text := op.Prose
	if strings.TrimSpace(text) == "" {
		text = at.n.Text
	}
	gives := at.s.promised(body)
	value, err := at.fillLeaf(ctx, leaf{purpose: model.Leaf, text: text, names: paramNames(op), gives: gives, about: op.Name, isolated: body.Agent})
	at.pop()
	if err == nil {
		err = at.checkResult(gives.schema, value)
	}
	if err != nil {
		return err
	}
	return at.returned(body, gives, value, true)
}

// leaveOp ends the body of an op, which f walks. It changes nothing when it is suspended.
func (m *Machine) leaveOp(ctx context.Context, f *frame) error {
	below := m.st.Frames[len(m.st.Frames)-2]
	at := call{visit: m.visitOf(below, f.node, below.path(), f.started), op: f.callee}
	gives := m.s.promised(f)
	value, given := f.Return, f.Returned
	wants := len(at.n.Outs) > 0 || (gives.schema != nil || at.n.Kind == tree.Explore && m.s.plan.AgentSchema() != nil) && m.s.plan.Skill.Strict
	if !given && wants {
		value, given = f.collected(gives)
	}
	if !given && wants && !f.Broke && len(gives.names) > 0 {
		// The body ended without binding what it declares: one leaf puts the result together.
		v, err := at.to(at.n, f.Base+"/return").fillLeaf(ctx, leaf{purpose: model.Leaf, text: "Give the result of " + at.op.Op.Name + ": " + strings.Join(gives.names, ", ") + ".",
			names: append(paramNames(at.op.Op), gives.names...), gives: gives, isolated: f.Agent})
		if err != nil {
			return err
		}
		value, given = v, true
	}
	if given {
		if err := at.checkResult(gives.schema, value); err != nil {
			return err
		}
	}
	m.st.pop()
	err := at.returned(f, gives, value, given)
	if err != nil {
		at.done(Failed, nil)
	}
	return err
}

// returned binds the result of an op, whose frame was body, where it was called.
func (at call) returned(body *frame, gives promise, value any, given bool) error {
	c := body.callee
	var bound map[string]any
	if given {
		var err error
		if bound, err = at.bindTargets(at.n.Outs, gives, value, body.Unsure); err != nil {
			return err
		}
		if _, op := at.s.callee(at.n); len(at.n.Outs) == 0 && op && c.Op.Kind != tree.TreeBody {
			at.note(at.path, value)
		}
	} else if len(at.n.Outs) > 0 {
		at.warn("output_missing", c.Op.Name+" ended without "+strings.Join(gives.names, ", "))
	}
	for _, t := range at.n.Outs {
		at.outcome(t.Name, outcome{Status: OK})
	}
	at.finish(OK, values(bound))
	return nil
}

// depth refuses ops that call ops without end.
func (at call) depth() error {
	limit, ops := at.s.r.Limits.Depth, 0
	if limit == 0 {
		limit = 32
	}
	for _, f := range at.Frames {
		if f.Kind == opFrame {
			ops++
		}
	}
	if ops >= limit {
		return out("depth: %s is called %d ops deep, which is the limit (%s)", at.n.Name, limit, at.position())
	}
	return nil
}

// inputs evaluates what the node passes to an op: the locals of its body, and what they lack.
func (at place) inputs(c plan.Callee) (params map[string]any, lacking lacks, err error) {
	params = map[string]any{}
	args := at.n.Args
	if len(args) == 0 && at.n.Inline != "" {
		args = []tree.Arg{{Value: tree.Value{Kind: tree.Word, Text: at.n.Inline}}}
	}
	next := 0
	for _, a := range args {
		v := at.value(a.Value)
		name := a.Name
		if name == "" {
			for next < len(c.Op.Params) && has(params, c.Op.Params[next].Name) {
				next++
			}
			if next >= len(c.Op.Params) {
				return nil, nil, diag.New(diag.Unmet, CodeCall, "%s takes %d inputs, and the call passes more", at.n.Name, len(c.Op.Params)).At(at.position())
			}
			name = c.Op.Params[next].Name
			next++
		}
		lacking.set(name, v.lack)
		if v.none {
			at.warn(CodeUnbound, v.lack+" has no value: "+at.n.Name+" gets none for "+name)
			continue
		}
		params[name] = v.value
	}
	for _, p := range c.Op.Params {
		if !p.Optional && !has(params, p.Name) && lacking[p.Name] == "" {
			at.warn(CodeUnbound, at.n.Name+" is called without "+p.Name)
		}
	}
	return params, lacking, nil
}

func has(object map[string]any, key string) bool {
	_, ok := object[key]
	return ok
}

// checkInput and checkOutput hold strict contracts.
func (at place) checkInput(c plan.Callee, inputs map[string]any) error {
	schema := at.s.plan.Input(c)
	if schema == nil || !at.s.plan.Skill.Strict {
		return nil
	}
	return violation(at.n, c, "input", schema.Validate(map[string]any(inputs)))
}

func (at place) checkOutput(c plan.Callee, schema *plan.Schema, value any) error {
	if schema == nil || !at.s.plan.Skill.Strict {
		return nil
	}
	return violation(at.n, c, "output", schema.Validate(value))
}

// checkResult is checkOutput for an op that was called, or did the work of the Agent section: then that section's contract holds, too.
func (at call) checkResult(schema *plan.Schema, value any) error {
	if at.n.Kind == tree.Explore {
		if err := at.checkOutput(explored, at.s.plan.AgentSchema(), value); err != nil {
			return err
		}
	}
	return at.checkOutput(at.op, schema, value)
}

// explored is what messages call the Agent section.
var explored = plan.Callee{Op: &tree.Op{Name: "EXPLORE"}}

func violation(n *tree.Node, c plan.Callee, side string, err error) error {
	if err == nil {
		return nil
	}
	name := n.Name
	if c.Op != nil {
		name = c.Op.Name
	}
	e := diag.New(diag.Unmet, CodeContract, "[contract-violation] %s of %s: %w", side, name, err).At(position(n))
	return endSignal{Status: Halted, Exit: exitHalted, Message: e.Message, err: e}
}

func paramNames(op *tree.Op) []string {
	names := make([]string, 0, len(op.Params))
	for _, p := range op.Params {
		names = append(names, p.Name)
	}
	return names
}

// A promise is what an op gives: its names, and the schema of its result if it has one.
type promise struct {
	names  []string
	schema *plan.Schema
}

// promised is the promise of the op whose body f is. The schema of one that has none and that an Agent section executes is that of the section.
func (s *session) promised(f *frame) promise {
	names := targetNames(f.callee.Op.Outs)
	if len(names) == 0 && f.node != nil {
		names = targetNames(f.node.Outs)
	}
	schema := s.plan.Output(f.callee)
	if schema == nil && f.node != nil && f.node.Kind == tree.Explore {
		schema = s.plan.AgentSchema()
	}
	return promise{names, schema}
}

// collected makes the result of what the body bound: of the declared names, and for a contract of all its properties that a
// binding or an input has.
func (f *frame) collected(gives promise) (any, bool) {
	object := map[string]any{}
	for _, name := range gives.names {
		v, ok := f.Wrote[name]
		if !ok {
			return nil, false
		}
		object[name] = v
	}
	if len(gives.names) == 0 {
		return nil, false
	}
	if gives.schema == nil || gives.schema.Hint {
		return object, true
	}
	props := gives.schema.Properties()
	wrapper := slices.ContainsFunc(props, func(p string) bool { return has(object, p) })
	if !wrapper && len(gives.names) == 1 {
		return object[gives.names[0]], true
	}
	for _, p := range props {
		if v, ok := f.Wrote[p]; ok {
			object[p] = v
		} else if v, ok := f.Locals[p]; ok && !has(object, p) {
			object[p] = v
		}
	}
	return object, true
}
