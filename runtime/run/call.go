package run

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// visitCall starts an op. The body of a tree is pushed; another body is one leaf.
func (m *Machine) visitCall(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	c, ok := m.s.callee(n)
	if !ok {
		return diag.New(diag.Unmet, CodeCall, "there is no op %s", n.Name).At(position(n))
	}
	if n.Bold && !c.Op.Subagent {
		return diag.New(diag.Unmet, CodeCall, "%s is called as a subagent, and is not marked as one", n.Name).At(position(n))
	}
	if outs := len(c.Op.Outs); outs > 1 && len(n.Outs) > outs { // ruling 5.13
		return diag.New(diag.Unmet, CodeCall, "%s gives %d outputs, and the call names %d", n.Name, outs, len(n.Outs)).At(position(n))
	}
	params, lacking, err := m.inputs(n, c)
	if err != nil {
		return err
	}
	m.begin(n, path, params)
	if !n.Bold && c.Op.Subagent {
		m.warn("marker_ignored", n.Name+" is a subagent, and the call is not bold: it runs in the caller's context")
	}
	return m.enter(ctx, f, n, path, began, c, params, lacking, n.Bold)
}

// enter begins the body of an op, for a call or for EXPLORE.
func (m *Machine) enter(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time, c plan.Callee, params map[string]any, lacking lacks, isolated bool) error {
	if err := m.checkInput(n, c, params); err != nil {
		return err
	}
	if err := m.depth(n); err != nil {
		return err
	}
	body := &frame{Kind: opFrame, Base: path + ">" + c.Op.Name, Owner: n.ID, Locals: params, Lacks: lacking, Isolated: isolated, node: n, callee: c}
	if isolated {
		body.Scope = newScope()
	}
	if c.Op.Kind == tree.TreeBody && c.Op.Tree != nil {
		body.nodes = c.Op.Tree.Nodes
		m.push(body)
		body.started = began
		return nil
	}
	m.push(body) // so that names, policies and files are those of the op
	text := c.Op.Prose
	if strings.TrimSpace(text) == "" {
		text = n.Text
	}
	outs, schema := m.declared(body)
	names := make([]string, 0, len(c.Op.Params))
	for _, p := range c.Op.Params {
		names = append(names, p.Name)
	}
	value, err := m.fillLeaf(ctx, leaf{purpose: model.Leaf, path: path, node: n, text: text, names: names, outs: outs, schema: schema, about: c.Op.Name, isolated: body.Agent})
	m.pop()
	if err == nil {
		err = m.checkResult(n, c, schema, value)
	}
	if err != nil {
		return err
	}
	return m.returned(f, n, path, began, body, outs, schema, value, true)
}

// depth refuses ops that call ops without end.
func (m *Machine) depth(n *tree.Node) error {
	limit, ops := m.s.r.Limits.Depth, 0
	if limit == 0 {
		limit = 32
	}
	for _, f := range m.st.Frames {
		if f.Kind == opFrame {
			ops++
		}
	}
	if ops >= limit {
		return suspendSignal{message: fmt.Sprintf("out of budget, depth: %s is called %d ops deep, which is the limit (%s)", n.Name, limit, position(n))}
	}
	return nil
}

// inputs evaluates what a call passes: the locals of the body, and what they lack.
func (m *Machine) inputs(n *tree.Node, c plan.Callee) (params map[string]any, lacking lacks, err error) {
	params = map[string]any{}
	args := n.Args
	if len(args) == 0 && n.Inline != "" {
		args = []tree.Arg{{Value: tree.Value{Kind: tree.Word, Text: n.Inline}}}
	}
	at := 0
	for _, a := range args {
		v := m.value(n, a.Value)
		name := a.Name
		if name == "" {
			for at < len(c.Op.Params) && has(params, c.Op.Params[at].Name) {
				at++
			}
			if at >= len(c.Op.Params) {
				return nil, nil, diag.New(diag.Unmet, CodeCall, "%s takes %d inputs, and the call passes more", n.Name, len(c.Op.Params)).At(position(n))
			}
			name = c.Op.Params[at].Name
			at++
		}
		lacking.set(name, v.lack)
		if v.none {
			m.warn(CodeUnbound, v.lack+" has no value: "+n.Name+" gets none for "+name)
			continue
		}
		params[name] = v.value
	}
	for _, p := range c.Op.Params {
		if !p.Optional && !has(params, p.Name) && lacking[p.Name] == "" {
			m.warn(CodeUnbound, n.Name+" is called without "+p.Name)
		}
	}
	return params, lacking, nil
}

func has(object map[string]any, key string) bool {
	_, ok := object[key]
	return ok
}

// checkInput and checkOutput hold strict contracts.
func (m *Machine) checkInput(n *tree.Node, c plan.Callee, inputs map[string]any) error {
	schema := m.s.plan.Input(c)
	if schema == nil || !m.s.plan.Skill.Strict {
		return nil
	}
	return violation(n, c, "input", schema.Validate(map[string]any(inputs)))
}

func (m *Machine) checkOutput(n *tree.Node, c plan.Callee, schema *plan.Schema, value any) error {
	if schema == nil || !m.s.plan.Skill.Strict {
		return nil
	}
	return violation(n, c, "output", schema.Validate(value))
}

// checkResult is checkOutput for an op that was called, or did the work of the Agent section: then that section's contract holds, too.
func (m *Machine) checkResult(n *tree.Node, c plan.Callee, schema *plan.Schema, value any) error {
	if n.Kind == tree.Explore {
		if err := m.checkOutput(n, explored, m.s.plan.AgentSchema(), value); err != nil {
			return err
		}
	}
	return m.checkOutput(n, c, schema, value)
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

// leaveOp ends the body of an op. It changes nothing when it is suspended.
func (m *Machine) leaveOp(ctx context.Context, f *frame) error {
	n, c := f.node, f.callee
	outs, schema := m.declared(f)
	value, given := f.Return, f.Returned
	wants := len(n.Outs) > 0 || (schema != nil || n.Kind == tree.Explore && m.s.plan.AgentSchema() != nil) && m.s.plan.Skill.Strict
	if !given && wants {
		value, given = m.collected(f, outs, schema)
	}
	if !given && wants && !f.Broke && len(outs) > 0 {
		// The body ended without binding what it declares: one leaf puts the result together.
		v, err := m.fillLeaf(ctx, leaf{purpose: model.Leaf, path: f.Base + "/return", node: n, text: "Give the result of " + c.Op.Name + ": " + strings.Join(outs, ", ") + ".",
			names: append(paramNames(c.Op), outs...), outs: outs, schema: schema, isolated: f.Agent})
		if err != nil {
			return err
		}
		value, given = v, true
	}
	if given {
		if err := m.checkResult(n, c, schema, value); err != nil {
			return err
		}
	}
	m.pop()
	below := m.top()
	path := below.path()
	err := m.returned(below, n, path, f.started, f, outs, schema, value, given)
	if err != nil {
		m.done(n, path, f.started, Failed, nil)
	}
	return err
}

func paramNames(op *tree.Op) []string {
	names := make([]string, 0, len(op.Params))
	for _, p := range op.Params {
		names = append(names, p.Name)
	}
	return names
}

// collected makes the result of what the body bound: of the declared names, and for a contract of all its properties that a
// binding or an input has.
func (m *Machine) collected(f *frame, outs []string, schema *plan.Schema) (any, bool) {
	object := map[string]any{}
	for _, name := range outs {
		v, ok := f.Wrote[name]
		if !ok {
			return nil, false
		}
		object[name] = v
	}
	if len(outs) == 0 {
		return nil, false
	}
	if schema == nil || schema.Hint {
		return object, true
	}
	props := schema.Properties()
	wrapper := false
	for _, p := range props {
		if has(object, p) {
			wrapper = true
		}
	}
	if !wrapper && len(outs) == 1 {
		return object[outs[0]], true
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

// returned binds the result of an op, whose frame was body, where it was called.
func (m *Machine) returned(f *frame, n *tree.Node, path string, began time.Time, body *frame, outs []string, schema *plan.Schema, value any, given bool) error {
	c := body.callee
	var bound map[string]any
	if given {
		var err error
		if bound, err = m.bindTargets(n, path, outs, n.Outs, schema, value, body.Unsure); err != nil {
			return err
		}
		if _, op := m.s.callee(n); len(n.Outs) == 0 && op && c.Op.Kind != tree.TreeBody {
			m.note(path, value)
		}
	} else if len(n.Outs) > 0 {
		m.warn("output_missing", c.Op.Name+" ended without "+strings.Join(outs, ", "))
	}
	for _, t := range n.Outs {
		m.outcome(t.Name, outcome{Status: OK})
	}
	m.finish(f, n, began, OK, values(bound))
	return nil
}
