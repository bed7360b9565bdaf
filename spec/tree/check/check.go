// Package check holds the CNP- rules: what is wrong, doubtful or could be better
// in a skill that is written as a tree. The language and the rules are those of
// spec/canopy-tree.md.
//
//   - It reads only what tree.Load has read, and the files of the skill: at most
//     MaxFileBytes of each. It runs nothing and asks no model. It never panics.
//   - A finding is reported once. The parser's findings are among them;
//     those that spec/skill reports under its own rules are not reported again (see below).
//   - A Fix is a splice in the one file of its finding. Several findings can carry
//     the same fix; skill.Apply makes it once. The caller applies fixes and checks again
//     until nothing changes, since a fix can hide another below it.
//   - A skill without "## Tree" has no findings, unless something else in it says
//     that it is meant for a tree: a guard, a manifest, an Agent section in one of its forms, a marker.
//   - Errors about files that only an op refers to which nothing calls are warnings.
//
// Rules of the language's catalogue that are not here:
//
//   - CNP-F01 and CNP-F02 for "skill.md" are PKG-SKILL-MD-CASE; F01 is reported for
//     agent files alone. F03 is SPEC-FRONTMATTER and SPEC-YAML-*, F04
//     SPEC-NAME-MISSING, F05 SPEC-NAME-CHARS, SPEC-NAME-LENGTH and SPEC-NAME-ASCII,
//     F06 SPEC-NAME-DIR, F07 SPEC-DESC-MISSING and SPEC-DESC-LENGTH, F10
//     SPEC-FIELD-TYPE and SPEC-NOT-STRING, F11 SPEC-COMPAT-LENGTH, F14
//     SPEC-YAML-QUOTE. F08 leaves keys that nobody knows to SPEC-UNKNOWN-KEY.
//   - CNP-T23 (prose that branches) needs a model. CNP-M07 contradicts the present
//     form of subagents. CNP-O12 compares several skills: see [Shared]. CNP-B01 is about
//     files outside of skills: see runtime/skills.
package check

import (
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// MaxFileBytes is how much of a schema, script or document is read: one that is
// larger is only known to exist.
const MaxFileBytes = 1 << 20

// Bounds of the work that could grow with the square of a skill's size. What lies
// beyond is not found; no real skill comes near.
const (
	maxFits   = 200_000 // pairs of properties that are compared
	maxStrict = 200_000 // steps that are looked at from subagents
	maxAsks   = 200_000 // steps that are looked at behind questions
	maxNear   = 50      // suggestions for unknown names
)

// Check reports every finding of the CNP- rules on s, those of the parser included,
// sorted. Mechanical ones carry a Fix. Files are paths inside the skill.
func Check(s *tree.Skill) []diag.Finding { return CheckWith(s, nil) }

// Blocking reports whether a finding stops a run: what a preflight refuses. These
// are errors that leave open what the tree does, or that are certain to fail on the
// way. Style never stops a run.
func Blocking(f diag.Finding) bool {
	if f.Severity != diag.SeverityError {
		return false
	}
	switch f.Rule {
	case TwoTrees, NearTree, StrayLine, TooBig, Layout, Chain, NearStep, LowerCase, ProseAsk, UnknownOp, Arity,
		NoCondition, NoInput, ParallelOperators, NoQuestion, NoPlanFields, ParallelJump,
		FileMissing, VerifyMissing, PathEscapes, SectionMissing, TwoForms, TwoMarkers, ToolMissing, ToolName, ToolTree,
		BoldUnmarked, ContractsMode, OutputMissing, InputMissing, StrictInput, BadSchema, SampleSchema, AgentSchema:
		return true
	}
	return false
}

// A body is a tree or a text that runs: the skill's own, where op is nil, or an op's.
type body struct {
	op      *tree.Op
	file    string
	nodes   []*tree.Node
	reached bool // from the skill's tree
}

type checker struct {
	skill    *tree.Skill
	provides func(string) bool
	bodies   []body // the skill's own first
	files    map[string]*source
	schemas  map[string]*schema
	bound    map[string]bool              // names that something binds anywhere
	planned  map[string]*tree.Node        // of these the names that only one SHOW_PLAN binds
	inside   map[string]bool              // of these the names that only an op has as a parameter
	main     map[*tree.Node]bool          // the nodes of the skill's own tree, which sees none of those
	params   map[*tree.Op]flowMap         // what is known of the parameters of ops, see parameters
	opBinds  map[*tree.Op]map[string]bool // see binds; nil before the first
	ends     map[string][]string          // see Facts; nil in Check
	offered  map[string]bool              // options of questions, folded
	words    *Words
	guesses  guesses
	meant    map[string]bool        // names that a finding asks after: "did you mean x?"
	guess    string                 // why a name that nothing binds may have a value all the same, "" if it cannot
	created  bool                   // a fix makes the key metadata: only one may
	opNames  []string               // for suggestions; nil before the first
	forms    map[string][3]*tree.Op // the first definition of a name in each form; nil before the first call
	budget   struct {               // bounds what is not linear in the size of the skill
		fits, strict, asks, near int
	}
	nodes    map[tree.Pos]*tree.Node // for fixes; nil before the first
	found    map[string]bool         // files that exist, and that do not
	findings []diag.Finding
}

// CheckWith is Check for a skill whose tree may call ops that other skills
// provide: provides reports whether one does. Nil provides none.
func CheckWith(s *tree.Skill, provides func(string) bool) []diag.Finding {
	c := newChecker(s, provides)
	c.parser()
	if s.Tree == nil && !intended(s) {
		diag.SortFindings(c.findings)
		return c.findings
	}
	c.collect()
	c.bound = c.boundNames()
	c.answers()
	c.document()
	c.subagents()
	c.tools()
	c.contracts()
	if s.Tree != nil {
		c.frontmatter()
		c.guard()
		c.manifest()
		c.agent()
		c.ops()
	}
	for i := range c.bodies {
		b := &c.bodies[i]
		c.syntax(b)
		c.structure(b)
		c.calls(b)
		c.resources(b)
		c.names(b)
		c.questions(b)
	}
	c.unread()
	c.flow()
	diag.SortFindings(c.findings)
	return c.findings
}

func newChecker(s *tree.Skill, provides func(string) bool) *checker {
	c := &checker{skill: s, provides: provides, files: map[string]*source{}, schemas: map[string]*schema{},
		found: map[string]bool{}}
	c.budget.fits, c.budget.strict, c.budget.asks, c.budget.near = maxFits, maxStrict, maxAsks, maxNear
	return c
}

// intended reports whether a skill without a tree is meant to have one.
func intended(s *tree.Skill) bool {
	if s.Guard != nil || s.Features != nil || s.Agent != nil && s.Agent.Marked() {
		return true
	}
	for _, op := range s.Ops {
		if op.Subagent || op.CallsTool() {
			return true
		}
	}
	return false
}

// report adds a finding with its rule's severity.
func (c *checker) report(rule string, at tree.Pos, message string) *diag.Finding {
	c.findings = append(c.findings, diag.Finding{
		File: at.File, Line: at.Line, Column: at.Column,
		Rule: rule, Severity: lookup(rule).Severity, Message: message,
	})
	return &c.findings[len(c.findings)-1]
}

// collect lists the bodies, and finds out which of them the tree reaches.
func (c *checker) collect() {
	s := c.skill
	main := body{file: s.File, reached: true}
	if s.Tree != nil {
		main.nodes = s.Tree.Nodes
	}
	c.bodies = append(c.bodies, main)
	index := map[*tree.Op]int{}
	for _, op := range s.Ops {
		b := body{op: op, file: op.Pos.File}
		if op.Tree != nil {
			b.nodes = op.Tree.Nodes
		}
		index[op] = len(c.bodies)
		c.bodies = append(c.bodies, b)
	}
	inFile := map[string][]*tree.Op{}
	for _, op := range s.Ops {
		inFile[op.Pos.File] = append(inFile[op.Pos.File], op)
	}
	queue := []int{0}
	reach := func(op *tree.Op) {
		if i, ok := index[op]; ok && !c.bodies[i].reached {
			c.bodies[i].reached = true
			queue = append(queue, i)
		}
	}
	mention := func(text string) {
		for name := range words(text) {
			if isOpName(name) {
				reach(s.Op(name))
			}
		}
	}
	if s.Agent != nil {
		mention(s.Agent.Text)
	}
	for len(queue) > 0 {
		b := c.bodies[queue[0]]
		queue = queue[1:]
		if b.op != nil {
			mention(b.op.Prose)
		}
		tree.Walk(b.nodes, func(n *tree.Node) bool {
			if n.Kind == tree.Read {
				// A procedure can be read and followed instead of being called.
				for _, op := range inFile[n.Path] {
					reach(op)
				}
				delete(inFile, n.Path)
			}
			mention(n.Text)
			return true
		})
	}
}

// each calls f for every node of b, with the list that holds it and its place there.
//
//go:noinline
func (b *body) each(f func(n *tree.Node, list []*tree.Node, i int)) { eachNode(b.nodes, f) }

func eachNode(list []*tree.Node, f func(n *tree.Node, list []*tree.Node, i int)) {
	for i, n := range list {
		f(n, list, i)
		eachNode(n.Children, f)
	}
}
