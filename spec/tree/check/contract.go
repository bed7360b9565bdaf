package check

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
	"github.com/skl-project/skl/spec/tree"
)

// sorted yields the keys of a map in order.
func sorted(m map[string]any) iter.Seq[string] { return slices.Values(slices.Sorted(maps.Keys(m))) }

// contracts checks the contracts of all ops, and what metadata says of them.
func (c *checker) contracts() {
	s := c.skill
	with, marked := 0, 0
	for i := range c.bodies {
		op := c.bodies[i].op
		if op == nil {
			continue
		}
		if op.Output != nil || op.Input != nil {
			with++
		}
		if op.Subagent {
			marked++
		}
		if op.Output != nil {
			c.contractFile(OutputMissing, op.Output.Pos, op.Output.Path, "the output contract", c.bodies[i].reached)
			var names []string
			for _, o := range op.Outs {
				names = append(names, o.Name)
			}
			c.schemaFields(op, op.Output, names, "output")
		}
		if op.Input != nil {
			c.contractFile(InputMissing, op.Input.Pos, op.Input.Path, "the input contract", c.bodies[i].reached)
			var names []string
			for _, p := range op.Params {
				names = append(names, p.Name)
			}
			c.schemaFields(op, op.Input, names, "input")
		}
	}
	if s.Doc == nil {
		return
	}
	meta, _ := field(s.Doc.Fields, "metadata")
	mode, ok := field(meta.Value.Fields, contractsKey)
	c.nearMode(s.Doc.Fields, "")
	c.nearMode(meta.Value.Fields, contractsKey)
	at := pos(s.File, mode.KeySpan)
	switch {
	case ok && mode.Value.Text != "strict":
		c.report(ContractsMode, at, "canopy-contracts is "+diag.Clip(strconv.Quote(mode.Value.Text), 60)+": its only value is strict")
	case ok && with == 0 && (s.Agent == nil || !s.Agent.Named):
		c.report(NoContracts, at, "contracts are strict, and no op has one")
	case !ok && with > 1 && 2*with > len(s.Ops):
		c.report(NotStrict, tree.Pos{File: s.File, Line: max(meta.KeySpan.Line, 1)}, strconv.Itoa(with)+" of "+count(len(s.Ops), "op")+" have contracts: \"canopy-contracts: strict\" in metadata enforces them")
	}
}

const contractsKey = "canopy-contracts" // below metadata

// nearMode reports keys that look like the one by which contracts are strict, but for known: nothing would be checked.
func (c *checker) nearMode(fields []skill.Field, known string) {
	for _, f := range fields {
		plain := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(f.Key))
		if f.Key != known && (spell.Distance(plain, "canopycontracts", 3) < 3 || plain == "contracts" && f.Value.Text == "strict") {
			c.report(ContractsMode, pos(c.skill.File, f.KeySpan), "unknown key "+diag.Clip(f.Key, 60)+": did you mean metadata."+contractsKey+"?")
		}
	}
}

// schemaFields compares a signature of several names with the properties of its contract.
func (c *checker) schemaFields(op *tree.Op, at *tree.Contract, names []string, side string) {
	sch := c.schema(at.Path)
	if len(names) < 2 || sch == nil || len(sch.properties) == 0 {
		return
	}
	root := shape{c, sch, sch.root}.resolve()
	for _, name := range names {
		if _, ok := root.prop(name); !ok && IsName(name) {
			c.report(SchemaFields, at.Pos, "the "+side+" contract of "+diag.Clip(op.Name, 60)+" has no property "+diag.Clip(name, 60)+", which its signature names")
		}
	}
}

// A producer is what is known of the value of a name.
type producer struct {
	shape
	by   string // the op, or EXPLORE
	name string // the property or declared result
}

// maxProducers is how many ops may bind one name before nothing is said of it.
const maxProducers = 64

// A flowMap says what contracts promise of each name. A name that something
// without a contract binds too is nil there.
type flowMap map[string][]producer

// flow checks each use of a value against the contract that made it.
func (c *checker) flow() {
	types, from := flowMap{}, sources{}
	untyped := map[string]bool{}
	for i := range c.bodies {
		c.bodies[i].each(func(n *tree.Node, _ []*tree.Node, _ int) { c.produce(n, types, from, untyped) })
	}
	from.follow(types, untyped)
	for name := range untyped {
		delete(types, name)
	}
	if len(types) == 0 {
		return
	}
	c.parameters(types)
	for i := range c.bodies {
		b := &c.bodies[i]
		b.each(func(n *tree.Node, _ []*tree.Node, _ int) {
			seen := map[string]bool{}
			for _, path := range reads(n) {
				if _, why := c.typeOf(path, types, b); why != "" && !seen[why] {
					seen[why] = true
					c.report(FlowMismatch, n.Pos, why)
				}
			}
			if n.Kind == tree.Call {
				c.consume(n, types, b)
			}
		})
	}
}

// produce records what a node binds.
func (c *checker) produce(n *tree.Node, types flowMap, from sources, untyped map[string]bool) {
	if n.Kind == tree.Bind || n.Kind == tree.ForEach {
		untyped[n.Var] = true
	}
	var op *tree.Op
	path, by := "", ""
	switch {
	case n.Kind == tree.Explore && c.skill.Agent != nil:
		path, by = c.skill.Agent.Schema, n.Kind.String()
	case n.Kind == tree.Call:
		if op = c.skill.Op(n.Name); op != nil && op.Output != nil {
			path, by = op.Output.Path, op.Name
		} else if op != nil && op.Tree != nil {
			c.bindThrough(n, op, from, untyped)
			return
		}
	}
	sch := c.schema(path)
	if sch == nil || sch.bad != "" || sch.sample {
		for _, t := range n.Outs {
			untyped[t.Name] = true
		}
		return
	}
	root := shape{c, sch, sch.root}.resolve()
	for i, t := range n.Outs {
		declared := t.Name
		if op != nil && i < len(op.Outs) && !t.Group {
			declared = op.Outs[i].Name
		}
		value, ok := root.prop(declared)
		if !ok && t.Group && op != nil && i < len(op.Outs) {
			value, ok = root.prop(op.Outs[i].Name)
		}
		switch {
		case ok:
		case len(n.Outs) == 1 && !t.Group && (op == nil || len(op.Outs) <= 1):
			value = root
		case root.open():
			untyped[t.Name] = true
			continue
		default:
			c.report(FlowMismatch, n.Pos, "the contract of "+diag.Clip(by, 60)+" has no property "+diag.Clip(declared, 60)+", which the call binds")
			untyped[t.Name] = true
			continue
		}
		if len(types[t.Name]) == maxProducers {
			untyped[t.Name] = true
		} else if !slices.ContainsFunc(types[t.Name], func(p producer) bool { return p.by == by && p.name == declared }) {
			types[t.Name] = append(types[t.Name], producer{value, by, declared})
		}
	}
}

// typeOf returns what is known of a path. why says that a property on the way is missing.
func (c *checker) typeOf(path string, types flowMap, b *body) (found []producer, why string) {
	path = strings.Trim(path, "`")
	steps := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	if len(steps) == 0 {
		return nil, ""
	}
	name, rest := steps[0], steps[1:]
	if (name == "context" || name == "ctx") && len(rest) > 0 {
		if len(types[name]) == 0 || c.bound[rest[0]] {
			name, rest = rest[0], rest[1:]
		}
	}
	if b.op != nil && slices.ContainsFunc(b.op.Params, func(p tree.Param) bool { return p.Name == name }) {
		if found = c.params[b.op][name]; len(found) == 0 {
			return nil, ""
		}
	} else {
		found = types[name]
	}
	if len(found) == 0 || strings.ContainsAny(path, "$<>") {
		return nil, ""
	}
	for _, step := range rest {
		if _, err := strconv.Atoi(step); err == nil {
			found = slices.Clone(found)
			for i := range found {
				found[i].shape = found[i].items()
			}
			continue
		}
		var next []producer
		for _, p := range found {
			q, ok := p.prop(step)
			if !ok && p.open() {
				return nil, ""
			}
			if ok {
				next = append(next, producer{q, p.by, step})
			}
		}
		if len(next) == 0 {
			return nil, "the contract of " + diag.Clip(found[0].by, 60) + " has no property " + diag.Clip(step, 60) + ", so " + diag.Clip(path, 60) + " is never bound"
		}
		found = next
	}
	return found, ""
}

// consume compares the inputs of a call with the op's input contract.
func (c *checker) consume(n *tree.Node, types flowMap, b *body) {
	op := c.skill.Op(n.Name)
	if op == nil || op.Input == nil {
		return
	}
	sch := c.schema(op.Input.Path)
	if sch == nil || sch.bad != "" || sch.sample {
		return
	}
	root := shape{c, sch, sch.root}.resolve()
	for i, a := range n.Args {
		if a.Value.Kind != tree.Ref && a.Value.Kind != tree.Word {
			continue
		}
		name := a.Name
		if name == "" && i < len(op.Params) {
			name = op.Params[i].Name
		}
		want, ok := root.prop(name)
		if !ok {
			if len(op.Params) != 1 {
				continue
			}
			want = root
		}
		found, _ := c.typeOf(a.Value.Text, types, b)
		why := ""
		for _, p := range found {
			if why = p.misfit(want, &c.budget.fits); why == "" {
				break
			}
		}
		if why != "" {
			c.report(FlowMismatch, n.Pos, diag.Clip(a.Value.Text, 60)+" of "+diag.Clip(found[0].by, 60)+" "+why+" by "+diag.Clip(op.Name, 60))
		}
	}
}
