package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// bound is what New found. It is not changed afterwards, but for files, which has its own lock.
type bound struct {
	entries  []entry              // of every reachable body, parents first
	index    map[*tree.Node]int32 // into entries
	ids      map[string]int32
	schemas  map[fileKey]*Schema // contracts by the path that an op names
	agent    *Schema
	siblings map[string]*tree.Skill // skills that are depended on, by name
	names    map[string]bool        // every name that some node binds
	words    *check.Words
	free     []string        // names that nodes read and nothing binds, sorted
	options  map[string]bool // options of questions, folded: `IF << Yes` reads no name
	arguer   *arguer         // nil: the skill takes one raw string
	asks     bool            // a model reads the free names from the arguments
	files    *fileCache
}

// An entry is a node with what was found for it.
type entry struct {
	node   *tree.Node
	in     Callee // the body that it is in
	callee Callee
	parsed any // cond.Expr, cond.Expression, cond.Operand, cond.Collection or Expr, by kind
}

//go:noinline
func (p *Plan) entry(n *tree.Node) *entry {
	i, ok := p.index[n]
	if !ok {
		return &entry{}
	}
	return &p.entries[i]
}

// Callee returns what a Call, Explore or bold EXPLORE node means.
func (p *Plan) Callee(n *tree.Node) (Callee, bool) {
	c := p.entry(n).callee
	return c, c.Op != nil
}

// Cond returns the parsed condition of an If or ElseIf node.
func (p *Plan) Cond(n *tree.Node) cond.Expr {
	if e, ok := p.entry(n).parsed.(cond.Expr); ok {
		return e
	}
	return cond.Parse(n.Cond)
}

// parsed is what New made of the text of n; the zero value for a node of another kind.
func parsed[T any](p *Plan, n *tree.Node) T {
	v, _ := p.entry(n).parsed.(T)
	return v
}

// Order is the place of n in Nodes, counting from 0; -1 if it is not reached.
func (p *Plan) Order(n *tree.Node) int {
	if i, ok := p.index[n]; ok {
		return int(i)
	}
	return -1
}

// NodeByID finds a node of a reachable body by its id, and says which body it is in: in.Op is nil in the
// main tree. The nodes of another skill have its name and a colon before the id.
func (p *Plan) NodeByID(id string) (*tree.Node, Callee, bool) {
	i, ok := p.ids[id]
	if !ok {
		return nil, Callee{}, false
	}
	return p.entries[i].node, p.entries[i].in, true
}

// ID is what NodeByID finds n by; "" for a node that is not reached.
func (p *Plan) ID(n *tree.Node) string {
	i, ok := p.index[n]
	if !ok {
		return ""
	}
	return p.idIn(p.entries[i].in.Skill, n.ID)
}

func (p *Plan) idIn(s *tree.Skill, id string) string {
	if s == nil || s == p.Skill {
		return id
	}
	return s.Name + ":" + id
}

// Nodes yields every node of every reachable body with the body that it is in: the main tree first, then ops in
// the order in which calls of them are first written; parents before children.
func (p *Plan) Nodes() iter.Seq2[*tree.Node, Callee] {
	return func(yield func(*tree.Node, Callee) bool) {
		for i := range p.entries {
			if !yield(p.entries[i].node, p.entries[i].in) {
				return
			}
		}
	}
}

// A binder makes one plan. Bodies are bound in the order in which calls of them are met.
type binder struct {
	*Plan
	opt      Options
	queue    []Callee
	queued   map[*tree.Op]bool
	calls    map[callKey]call
	deps     []dependency
	loaded   bool // deps are
	features map[string]bool
	reads    map[string]bool // names that nodes read
	found    []diag.Finding  // stop a run
	warned   []diag.Finding
	require  string   // a skill that would have a missing op
	absent   string   // the dependency that could have had a missing op, and is not installed
	meant    []string // candidates for the first unknown op
}

type callKey struct {
	skill *tree.Skill
	name  string
}

type call struct {
	Callee
	problem   string // why there is none
	ambiguous bool
	absent    string // the skill that may have it and is not installed
}

type dependency struct {
	name  string
	skill *tree.Skill
	err   error
}

// New binds and checks skill. Its error is a *diag.Error of class Unmet and code plan_refused, whose
// message is the first finding and whose Err is a Refusal; or that of a folder that makes no bundle, or of ctx.
func New(ctx context.Context, s *tree.Skill, opt Options) (*Plan, error) {
	whole, err := wholeOf(s)
	if err != nil {
		return nil, refuse(s, opt, []diag.Finding{finding(s.File, 1, check.NoTree, "%s", err)})
	}
	b := &binder{
		Plan: &Plan{Skill: s, Whole: whole, bound: bound{
			index: map[*tree.Node]int32{}, ids: map[string]int32{}, schemas: map[fileKey]*Schema{}, names: map[string]bool{},
			siblings: map[string]*tree.Skill{}, options: map[string]bool{}, files: &fileCache{files: map[fileKey]file{}},
		}},
		opt: opt, queued: map[*tree.Op]bool{}, calls: map[callKey]call{}, features: map[string]bool{},
		reads: map[string]bool{},
	}
	if whole == nil {
		b.agentSection()
	}
	b.arguments()
	b.body(Callee{Skill: s}, b.Main())
	for i := 0; i < len(b.queue); i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b.op(b.queue[i])
	}
	b.rules()
	b.finish()
	if len(b.found) > 0 {
		e := refuse(s, opt, b.found).Meant(b.meant...)
		if b.absent != "" {
			e = e.Hint("skl install").Hint("skl search %s", diag.Quote(b.absent)) // where skl.lock has it, and where not
		}
		if b.require != "" {
			e = e.Hint("add skl-requires: %s to metadata", b.require)
		}
		return nil, e
	}
	b.Digest, err = b.digest()
	return b.Plan, err
}

func finding(file string, line int, rule, format string, args ...any) diag.Finding {
	return diag.Finding{File: file, Line: line, Rule: rule, Severity: diag.SeverityError, Message: fmt.Sprintf(format, args...)}
}

func refuse(s *tree.Skill, opt Options, found []diag.Finding) *diag.Error {
	f := found[0]
	e := &diag.Error{
		Class: diag.Unmet, Code: CodeRefused, Message: f.Message,
		Where: diag.Position{File: f.File, Line: f.Line, Column: f.Column},
		Hints: []string{"skl lint " + cmp.Or(opt.Path, s.Name)},
		Err:   Refusal{found},
	}
	if !opt.NoLint && !slices.ContainsFunc(found, func(f diag.Finding) bool { return check.Blocking(f) || f.Rule == check.NoTree }) {
		return e.Hint("--no-lint runs it all the same")
	}
	return e
}

// Error lists the findings, one a line.
func (r Refusal) Error() string {
	var b strings.Builder
	for i, f := range r.Findings {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s (%s)", f.Sentence(), f.Rule)
	}
	return b.String()
}

// place is a file of s as findings name it: relative to the skill that is run.
func (b *binder) place(s *tree.Skill, file string) string {
	if s == b.Skill {
		return file
	}
	return "../" + s.Name + "/" + file
}

func (b *binder) stop(s *tree.Skill, pos tree.Pos, rule, format string, args ...any) {
	f := finding(b.place(s, pos.File), pos.Line, rule, format, args...)
	f.Column = pos.Column
	b.found = append(b.found, f)
}

func (b *binder) warn(s *tree.Skill, pos tree.Pos, rule, format string, args ...any) {
	f := finding(b.place(s, pos.File), pos.Line, rule, format, args...)
	f.Column, f.Severity = pos.Column, diag.SeverityWarning
	b.warned = append(b.warned, f)
}

func (b *binder) enqueue(c Callee) {
	if !b.queued[c.Op] {
		b.queued[c.Op] = true
		b.queue = append(b.queue, c)
	}
}

func (b *binder) op(c Callee) {
	for _, p := range c.Op.Params {
		b.names[p.Name] = true
	}
	if c.Op.Subagent {
		b.features["subagent"] = true
	}
	b.loadContract(c, c.Op.Input, "input", check.InputMissing)
	b.loadContract(c, c.Op.Output, "output", check.OutputMissing)
	if c.Op.Kind == tree.TreeBody && c.Op.Tree != nil {
		b.body(c, c.Op.Tree.Nodes)
	}
}

// body binds the nodes of one body.
func (b *binder) body(in Callee, nodes []*tree.Node) {
	for _, n := range nodes {
		i := int32(len(b.entries))
		b.entries = append(b.entries, entry{node: n, in: in})
		b.index[n] = i
		b.ids[b.idIn(in.Skill, n.ID)] = i
		b.node(in, n, i)
		b.body(in, n.Children)
	}
}

func (b *binder) node(in Callee, n *tree.Node, i int32) {
	for _, t := range n.Outs {
		b.names[t.Name] = true
	}
	b.feature(n)
	switch n.Kind {
	case tree.Prose:
		if lib, op := check.Qualified(n); op != "" {
			b.stop(in.Skill, n.Pos, check.UnknownOp, "%s", check.NotQualified(lib, op, b.lookup(in.Skill, op).Op != nil))
		}
	case tree.Call:
		for _, a := range n.Args {
			b.readsValue(a.Value)
		}
		b.entries[i].callee = b.call(in, n)
	case tree.Explore:
		b.entries[i].callee = b.explore(in, n)
	case tree.If, tree.ElseIf:
		e := cond.Parse(n.Cond)
		b.entries[i].parsed = e
		for _, name := range cond.Names(e) {
			b.reads[cond.Root(name)] = true
		}
	case tree.Switch:
		x := cond.ParseExpression(n.Cond)
		b.entries[i].parsed = x
		b.readsOperand(x.Operand)
	case tree.Case:
		b.entries[i].parsed = cond.ParseCase(n.Cond)
	case tree.ForEach:
		b.names[n.Var] = true
		c := cond.ParseCollection(n.In)
		b.entries[i].parsed = c
		b.readsOperand(c.Of)
	case tree.Bind:
		b.names[n.Var] = true
		e := parseExpr(n.Body)
		b.entries[i].parsed = e
		for _, v := range e.Parts {
			b.readsValue(v)
		}
	case tree.Ask:
		b.names["answer"] = true
		for _, o := range n.Options {
			b.options[foldOption(o)] = true
		}
	case tree.ShowPlan:
		for _, f := range n.Fields {
			if name := f.Name(); isPath(name) {
				b.names[name] = true
			}
		}
	case tree.Read, tree.Verify:
		b.file(in.Skill, n)
	}
}

// readsOperand records what SWITCH and FOR_EACH go by, which is a name also when it is a bare word.
func (b *binder) readsOperand(o cond.Operand) {
	if o.Kind == cond.Path || o.Kind == cond.Word && o.Text != "" {
		b.reads[cond.Root(o.Text)] = true
	}
}

// readsValue records what surely is a reference: a bare word may be a literal.
func (b *binder) readsValue(v tree.Value) {
	if v.Kind == tree.Ref {
		b.reads[cond.Root(v.Text)] = true
	}
	for _, item := range v.Items {
		b.readsValue(item)
	}
}

// feature records the slice of the language that n needs.
func (b *binder) feature(n *tree.Node) {
	switch n.Kind {
	case tree.Ask, tree.ShowPlan:
		b.features["interaction"] = true
	case tree.Switch, tree.Case, tree.Default, tree.ForEach:
		b.features["control-flow"] = true
	case tree.Parallel:
		b.features["parallel"] = true
	case tree.Verify:
		b.features["verify"] = true
	case tree.Call:
		if n.Bold {
			b.features["subagent"] = true
		}
	}
}

// call resolves a call and compares its form with the definition's.
func (b *binder) call(in Callee, n *tree.Node) Callee {
	c := b.lookup(in.Skill, n.Name)
	if c.Op == nil {
		if says := check.Meant(n.Name); says != "" {
			c.problem = "there is no " + n.Name + ": write " + says
		}
		b.stop(in.Skill, n.Pos, check.UnknownOp, "%s", c.problem)
		b.absent = cmp.Or(b.absent, c.absent)
		if b.meant == nil && !c.ambiguous {
			b.meant = spell.Nearest(n.Name, b.opNames(in.Skill), 3)
		}
		return Callee{}
	}
	switch {
	case n.Bold && !c.Op.Subagent && c.Op.CallsTool():
		b.stop(in.Skill, n.Pos, check.BoldUnmarked, "the call of %s is bold, but its definition at %s:%d is the call of a tool and no subagent",
			n.Name, b.place(c.Skill, c.Op.Pos.File), c.Op.Pos.Line)
	case n.Bold && !c.Op.Subagent:
		b.stop(in.Skill, n.Pos, check.BoldUnmarked, "the call of %s is bold, but its definition at %s:%d has no Subagent marker",
			n.Name, b.place(c.Skill, c.Op.Pos.File), c.Op.Pos.Line)
	case !n.Bold && c.Op.Subagent: // ruling 5.7: it runs inline
		say := b.stop
		if b.opt.NoLint {
			say = b.warn
		}
		say(in.Skill, n.Pos, check.PlainMarked, "%s is a subagent, but this call is not bold and runs in the caller's context", n.Name)
	}
	b.arity(in.Skill, n, c.Op)
	b.enqueue(c.Callee)
	return c.Callee
}

// arity refuses a call that passes more than the op takes, or takes more than it gives (ruling 5.13): the run
// could not go on there. Fewer are allowed.
func (b *binder) arity(s *tree.Skill, n *tree.Node, op *tree.Op) {
	named := map[string]bool{}
	passed := 0
	for _, a := range n.Args {
		if a.Name == "" {
			passed++
		} else {
			named[a.Name] = true
		}
	}
	if len(n.Args) == 0 && n.Inline != "" {
		passed = 1
	}
	takes := 0
	for _, p := range op.Params {
		if !named[p.Name] {
			takes++
		}
	}
	switch {
	case passed > takes:
		b.stop(s, n.Pos, check.Arity, "%s takes %s, and this call passes %d", n.Name, count(len(op.Params), "input"), passed+len(named))
	case len(op.Outs) > 1 && len(n.Outs) > len(op.Outs):
		b.stop(s, n.Pos, check.Arity, "%s gives %s, and this call binds %d", n.Name, count(len(op.Outs), "result"), len(n.Outs))
	}
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// explore finds what EXPLORE means: an op of that name (ruling 5.8), the op that the Agent section executes, or
// the Agent section itself, for which there is no callee.
func (b *binder) explore(in Callee, n *tree.Node) Callee {
	if op := in.Skill.Op("EXPLORE"); op != nil {
		c := Callee{op, in.Skill}
		b.enqueue(c)
		return c
	}
	a := in.Skill.Agent
	if a == nil {
		b.stop(in.Skill, n.Pos, check.UnknownOp, check.NoAgent)
		return Callee{}
	}
	b.features["explore"] = true
	if a.Shape != tree.ShapeC {
		return Callee{}
	}
	c := b.lookup(in.Skill, a.Op)
	if c.Op == nil {
		b.stop(in.Skill, a.Pos, check.UnknownOp, "%s", c.problem)
		return Callee{}
	}
	b.enqueue(c.Callee)
	return c.Callee
}

// lookup finds the definition of name for a body of s.
func (b *binder) lookup(s *tree.Skill, name string) call {
	key := callKey{s, name}
	if c, ok := b.calls[key]; ok {
		return c
	}
	c := b.search(s, name)
	b.calls[key] = c
	return c
}

func (b *binder) search(s *tree.Skill, name string) call {
	if op := s.Op(name); op != nil {
		return call{Callee: Callee{op, s}}
	}
	var found []Callee
	var absent []string
	for _, d := range b.dependencies() {
		switch {
		case d.err != nil:
			absent = append(absent, d.name)
		case d.skill != s:
			if op := d.skill.Op(name); op != nil {
				found = append(found, Callee{op, d.skill})
			}
		}
	}
	switch {
	case len(found) == 1:
		return call{Callee: found[0]}
	case len(found) > 1:
		return call{problem: fmt.Sprintf("%s is ambiguous: %s define it", name, both(found)), ambiguous: true}
	case len(absent) > 0:
		return call{absent: absent[0], problem: fmt.Sprintf("no op %s in %s; it may be in %s, which cannot be read: %s",
			name, s.Name, strings.Join(absent, ", "), b.whyAbsent(absent[0]))}
	}
	problem := fmt.Sprintf("no op %s in %s", name, s.Name)
	if len(b.deps) > 0 {
		problem += ", nor in the skills that it depends on"
	}
	if other := b.compatible(s, name); other != "" {
		problem += "; compatibility names " + other + ", which has it"
		b.require = other
	}
	return call{problem: problem}
}

// compatible is an installed skill that the text of compatibility names and that has the op, "" if there is none. The
// text finds no op: it is a hint of what the author could require.
func (b *binder) compatible(s *tree.Skill, op string) string {
	if b.opt.Find == nil || s != b.Skill {
		return ""
	}
	for _, name := range s.Doc.Neighbours() {
		if other, err := b.opt.Find(name); err == nil && other != nil && other.Op(op) != nil {
			return name
		}
	}
	return ""
}

func (b *binder) whyAbsent(name string) string {
	for _, d := range b.deps {
		if d.name == name {
			return d.err.Error()
		}
	}
	return ""
}

func both(cs []Callee) string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = c.Skill.Name
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func (b *binder) opNames(s *tree.Skill) []string {
	var names []string
	for _, op := range s.Ops {
		names = append(names, op.Name)
	}
	for _, d := range b.deps {
		if d.skill != nil && d.skill != s {
			for _, op := range d.skill.Ops {
				names = append(names, op.Name)
			}
		}
	}
	return names
}

var errNotInstalled = errors.New("it is not installed")

// dependencies finds the skills of Depends, once, and only when something needs them.
func (b *binder) dependencies() []dependency {
	if b.loaded {
		return b.deps
	}
	b.loaded = true
	for _, name := range b.opt.Depends {
		if name == b.Skill.Name || slices.ContainsFunc(b.deps, func(d dependency) bool { return d.name == name }) {
			continue
		}
		d := dependency{name: name, err: errNotInstalled}
		if b.opt.Find != nil {
			d.skill, d.err = b.opt.Find(name)
			if d.err == nil && d.skill == nil {
				d.err = errNotInstalled
			}
		}
		if d.err == nil {
			b.siblings[name] = d.skill
		}
		b.deps = append(b.deps, d)
	}
	return b.deps
}

// arguments reads the schema of what follows the skill's name.
func (b *binder) arguments() {
	var err error
	if b.arguer, err = newArguer(b.Skill); err != nil {
		b.stop(b.Skill, tree.Pos{File: b.Skill.File, Line: 1}, skill.RuleArguments, "arguments.schema cannot be used: %s", diag.Printable(err.Error()))
	} else if b.arguer != nil {
		for _, name := range b.arguer.names {
			b.names[resource.ArgumentName(name)] = true
		}
	}
}

// finish sorts what was found, and computes what is left.
func (b *binder) finish() {
	b.found = settle(b.found)
	b.warned = slices.DeleteFunc(settle(b.warned), func(f diag.Finding) bool {
		return slices.ContainsFunc(b.found, func(g diag.Finding) bool { return sameFinding(f, g) })
	})
	b.Warnings = b.warned
	for f := range b.features {
		b.Features = append(b.Features, f)
	}
	slices.Sort(b.Features)
	for name := range b.reads {
		if !b.names[name] && !b.options[foldOption(name)] && isPath(name) {
			b.free = append(b.free, name)
		}
	}
	slices.Sort(b.free)
	_, understood := resource.ParseArguments(b.Preamble(), "")
	b.asks = !understood
	b.findWords()
}

// findWords tells names from texts where a tree has bare words.
func (b *binder) findWords() {
	known := slices.Collect(maps.Keys(b.names))
	if b.asks {
		known = append(known, b.free...)
	}
	slices.Sort(known)
	enums := map[string]bool{}
	for _, s := range b.schemas {
		if s != nil {
			check.AddEnums(enums, s.doc)
		}
	}
	b.words = check.FindWords(func(yield func(*tree.Node) bool) {
		for i := range b.entries {
			if !yield(b.entries[i].node) {
				return
			}
		}
	}, known, b.Plan.Names, enums)
}

func sameFinding(f, g diag.Finding) bool {
	return f.File == g.File && f.Line == g.Line && f.Rule == g.Rule
}

// settle sorts findings and leaves the first of those that say the same of one line.
func settle(fs []diag.Finding) []diag.Finding {
	diag.SortFindings(fs)
	return slices.CompactFunc(fs, sameFinding)
}
