package run

import (
	"context"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// visitExplore runs the Agent section, or the op that stands for it.
func (m *Machine) visitExplore(ctx context.Context, f *frame, n *tree.Node, path string, began time.Time) error {
	m.phase("Explore")
	if c, ok := m.s.callee(n); ok {
		m.begin(n, path, nil)
		params, lacking, err := m.inputs(n, c)
		if err != nil {
			return err
		}
		return m.enter(ctx, f, n, path, began, c, params, lacking, true)
	}
	a := m.s.plan.Skill.Agent
	if a == nil {
		return diag.New(diag.Unmet, CodeCall, "EXPLORE needs an Agent section").At(position(n))
	}
	m.begin(n, path, nil)
	if err := m.depth(n); err != nil {
		return err
	}
	schema := m.s.plan.AgentSchema()
	outs := targetNames(n.Outs)
	wall := &frame{Kind: opFrame, Base: path + ">EXPLORE", Owner: n.ID, Isolated: true, Scope: newScope(), node: n, callee: plan.Callee{Op: &tree.Op{Name: "EXPLORE", Outs: n.Outs}, Skill: m.home()}}
	m.push(wall)
	value, err := m.fillLeaf(ctx, leaf{purpose: model.Explore, path: path, node: n, text: a.Text, outs: outs, schema: schema, about: "EXPLORE", isolated: true})
	m.pop()
	if err == nil {
		err = m.checkOutput(n, explored, schema, value)
	}
	if err != nil {
		return err
	}
	return m.returned(f, n, path, began, wall, outs, schema, value, true)
}
