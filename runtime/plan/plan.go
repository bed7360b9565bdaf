// Package plan makes a parsed skill runnable: every call, condition, file, section, script
// and schema that its tree can reach is found before the first step, and what would stop a
// run half-way is refused before it starts. It follows spec/canopy-tree.md.
//
//   - A call means an op of the same skill, else an op of exactly one of the skills
//     that it depends on, else nothing: two are an ambiguity, and none is refused.
//   - Only bodies that can be reached are bound. A fault in an op that nothing
//     calls is a warning. Ops may call themselves.
//   - Files are read up to MaxFile bytes and stay as they were when first read. A path
//     that leaves its skill is refused, whichever way it is written; a link must lead to a
//     regular file of the skill.
//   - A contract is one JSON Schema document, draft-07 or 2020-12, of at most MaxSchemas
//     files of the skill. One that refers outside the skill, or to itself without end, is refused.
//   - [Plan.Effects] is symbolic: it reads no file of the project, asks nobody and runs
//     nothing. It visits at most MaxVisits nodes.
//
// A Plan is immutable and may be run many times, also concurrently. Memory is linear in the
// bodies that are reached, and in the files that are read, of which at most MaxKept bytes are kept.
package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// Options configure New. The zero value finds no other skill.
type Options struct {
	// Find returns an installed skill that the lock lists, by name; nil finds none. The ops of skills that this one
	// depends on are looked up in them (ruling 5.29); Depends are their names.
	Find    func(name string) (*tree.Skill, error)
	Depends []string

	// NoLint lets a tree run that lint finds errors in, unless they leave open what it does or are certain to fail.
	NoLint bool

	// Path is how a person names the skill in a command, for hints; "" is its name.
	Path string
}

// Limits of a plan.
const (
	MaxFile    = 1 << 20  // bytes of a resource or a schema file
	MaxKept    = 16 << 20 // bytes of files that a plan keeps; what is beyond is read again
	MaxSchemas = 64       // files that one contract is made of
	MaxVisits  = 50_000   // nodes that Effects visits
)

// Codes of errors.
const (
	CodeRefused  = "plan_refused"     // findings that stop a run; Err is a Refusal
	CodeMissing  = "resource_missing" // no such file in the skill
	CodeOutside  = "resource_outside" // a path that leaves the skill
	CodeTooLarge = "resource_large"   // a file above MaxFile
)

// A Plan is a skill with everything bound.
type Plan struct {
	Skill    *tree.Skill
	Digest   string         // of everything that is bound: the skill's folder and those of the skills that it uses
	Warnings []diag.Finding // findings that do not stop a run
	Features []string       // computed over the tree and all ops that it reaches, sorted
	Whole    *tree.Node     // stands for the text of a skill without a tree, which is one leaf; nil: the skill has a tree
	bound
}

// Main are the nodes that a run begins with: those of the tree, or Whole.
func (p *Plan) Main() []*tree.Node {
	if p.Whole != nil {
		return []*tree.Node{p.Whole}
	}
	return p.Skill.Tree.Nodes
}

// Preamble is the text that says how the tree's arguments are read; a skill without a tree takes them as they are.
func (p *Plan) Preamble() string {
	if p.Whole != nil {
		return ""
	}
	return p.Skill.Preamble
}

// A Callee is what a call means.
type Callee struct {
	Op    *tree.Op
	Skill *tree.Skill // where it is defined; resources of its body belong to it
}

// A Refusal holds the findings that stop a run.
type Refusal struct{ Findings []diag.Finding }

// Subject returns the parsed expression of a Switch node, Case the value of a Case node, Collection what
// a ForEach node goes over, and Expr the right side of a Bind node.
func (p *Plan) Subject(n *tree.Node) cond.Expression    { return parsed[cond.Expression](p, n) }
func (p *Plan) Case(n *tree.Node) cond.Operand          { return parsed[cond.Operand](p, n) }
func (p *Plan) Collection(n *tree.Node) cond.Collection { return parsed[cond.Collection](p, n) }
func (p *Plan) Expr(n *tree.Node) Expr                  { return parsed[Expr](p, n) }

// Unbound returns the names that nodes of reachable bodies read and nothing binds, sorted: what a model must find in the
// arguments when the preamble says more of them than it can be read without one.
//
//go:noinline
func (p *Plan) Unbound() []string { return slices.Clone(p.free) }

// Binds reports whether something binds the name that a path leads into, somewhere in reachable bodies: only then can it be
// missing. Fields of context count where that is bound.
func (p *Plan) Binds(path string) bool {
	return p.Names(path) || p.names["context"] || p.names["ctx"]
}

// Names is Binds without the fields of context.
func (p *Plan) Names(path string) bool {
	name := cond.Root(path)
	return p.names[name] || p.asks && slices.Contains(p.free, name)
}

// Argument reports whether name is one that the skill says its arguments give: a property of arguments.schema, or a word of what stands above
// the tree about $ARGUMENTS. One that was not given is null.
func (p *Plan) Argument(name string) bool {
	if p.arguer != nil && slices.ContainsFunc(p.arguer.names, func(property string) bool { return resource.ArgumentName(property) == name }) {
		return true
	}
	return p.asks && slices.Contains(p.free, name) && resource.NamesArgument(p.Preamble(), name)
}

// Word is what a bare word of n stands for that has no value now, and Hole whether a place that nothing fills in a literal text of n stands
// for a name.
func (p *Plan) Word(n *tree.Node, word string) check.Word { return p.words.Of(n, word) }
func (p *Plan) Hole(n *tree.Node, h resource.Hole) bool   { return p.words.Hole(n, h) }

// Offers reports whether some question of reachable bodies has the option.
func (p *Plan) Offers(option string) bool { return p.options[foldOption(option)] }

func foldOption(option string) string {
	return strings.ToLower(strings.Join(strings.Fields(option), " "))
}

// A Resource is a file of a skill as a tree names it.
type Resource struct {
	Category resource.Category
	Path     string // where it was found, relative to the skill; differs from the text for legacy paths (ruling 5.30)
	Text     string
	Legacy   bool
}

// A Schema is a contract.
type Schema struct {
	Path string
	JSON json.RawMessage // with $ref to files of the skill resolved into it
	Hint bool            // a sample instance and no schema: describes, and is not validated against
	schema
}

// Input and Output return the contracts of an op, nil if it has none.
func (p *Plan) Input(c Callee) *Schema  { return p.contract(c, c.Op.Input) }
func (p *Plan) Output(c Callee) *Schema { return p.contract(c, c.Op.Output) }

// AgentSchema returns the contract of the Agent section, nil if there is none.
func (p *Plan) AgentSchema() *Schema { return p.agent }

// An Effect is something that a run of the plan could do.
type Effect struct {
	Kind    string   `json:"kind"`              // model, ask, command, file, subagent; tool, which an op calls; note, about the walk
	Node    string   `json:"node"`              // id, as NodeByID takes it
	Path    string   `json:"path"`              // of the visit; loops of unknown length have [*]
	What    string   `json:"what"`              // the question, the prompt's first line, the command, the file, the op, the tool as the op names it
	Mode    string   `json:"mode,omitempty"`    // of a file: read, write or exists; of a model call its purpose; of a tool the op that calls it
	When    string   `json:"when,omitempty"`    // conditions on the way, as written, joined by "; "
	Options []string `json:"options,omitempty"` // of a question
}
