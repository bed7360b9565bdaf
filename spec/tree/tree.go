// Package tree is the Canopy tree language: a skill whose SKILL.md has a
// section "## Tree" is a program. The package reads the files of such a skill
// into a [Skill] with positions, prints it back, and formats it. The language is specified in
// spec/canopy-tree.md.
//
//   - Both surface syntaxes are read, Markdown lists and box drawing, and op
//     files in every layout, legacy ones included.
//   - ParseTree accepts every input: what it cannot understand is prose, and what
//     looks wrong is a Finding. Print(ParseTree(x)) == x for canonical trees, and
//     ParseTree(Print(t)) is Equal to t for all that ParseTree returns.
//   - Format changes the layout of trees and no other byte of a file.
//   - A file is read up to MaxFileBytes; a tree has at most MaxNodes nodes and
//     MaxDepth levels, a skill MaxOps ops and MaxSkillNodes nodes. Anything beyond
//     is a finding of rule CNP-S11, and not read.
//   - Time and memory are linear in the input, whatever it holds.
//
// Conditions are parsed by spec/tree/cond, resources (checklists, script
// sections, templates) by spec/tree/resource, and rules are checked by spec/tree/check.
package tree

import (
	"io/fs"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Limits of what is read.
const (
	MaxFileBytes = 1 << 20 // of one SKILL.md or op file
	MaxNodes     = 20_000  // of one tree
	MaxDepth     = 64      // levels below the first
)

// Kind says what a node does.
type Kind uint8

const (
	Prose    Kind = iota // natural language: a leaf for the model
	Label                // first line that only repeats the name of the skill or op
	Call                 // NAME << inputs >> outputs
	Bind                 // bind x = …, Set x to …
	Read                 // Read `path` …
	If                   // IF << condition
	ElseIf               // ELSE_IF << condition
	Else                 // ELSE
	Switch               // SWITCH << expression
	Case                 // CASE << value
	Default              // DEFAULT
	ForEach              // FOR_EACH << item in collection
	Parallel             // PARALLEL
	Break                // BREAK
	End                  // END message
	Ask                  // ASK << question | option …
	ShowPlan             // SHOW_PLAN >> field | field
	Explore              // EXPLORE >> context
	Verify               // VERIFY_EXPECTED << file
)

// String is the word of the language: "IF", "VERIFY_EXPECTED"; lower case for
// what has none: "prose", "label", "call", "bind", "read".
func (k Kind) String() string { return kindNames[k] }

var kindNames = [...]string{"prose", "label", "call", "bind", "read", "IF", "ELSE_IF", "ELSE", "SWITCH", "CASE", "DEFAULT",
	"FOR_EACH", "PARALLEL", "BREAK", "END", "ASK", "SHOW_PLAN", "EXPLORE", "VERIFY_EXPECTED"}

// Primitive returns the kind whose reserved word is word; ok is false if there is none.
//
//go:noinline
func Primitive(word string) (k Kind, ok bool) {
	for k := If; k <= Verify; k++ {
		if kindNames[k] == word {
			return k, true
		}
	}
	return Prose, false
}

// Pos is a place in a file of the skill. Line and Column count from 1, columns in bytes.
type Pos struct {
	File         string
	Line, Column int
}

// A Node is one line of a tree, with what hangs below it. Which fields are set depends on Kind.
type Node struct {
	Kind Kind
	ID   string // <file>#<op>/<child indices>, such as "SKILL.md#/2/0" or "references/ops.md#EDIT_TAG/1"; a file's second op of a name is "NAME~2". Stable while the tree's shape is
	Pos  Pos    // of the first character of the text
	Last int    // last line, for a node that continues over lines
	Text string // the node's text, unescaped, continuation lines joined by a blank, without annotation; blanks around operators are single
	Note string // what follows the annotation arrow ←, "" if there is none

	Name    string   // Call: the op's name
	Bold    bool     // **NAME**: the call wants a context of its own
	Inline  string   // Call: text between the name and the operators
	Args    []Arg    // after <<: Call and an op's Label; SWITCH, CASE (one each); what takes no inputs and has some
	Outs    []Target // after >>: Call, Read, Prose, Bind, Explore, Ask
	Implied bool     // Outs are those that the words of the step name ("to get `x`"), not >>
	OnLine  string   // the first child of a condition, ELSE, DEFAULT or an option of an ASK that stands on its line: what parts the two; else ""
	Body    string   // Prose and Read without the outputs; Bind: the expression; Break, Parallel, ShowPlan, Explore, and Else and Default with children: text that does not belong there

	Cond     string   // If, ElseIf: the condition; Switch: the expression; Case: the value as written
	Var      string   // ForEach: the loop variable; Bind: the name
	In       string   // ForEach: the collection as written
	Question string   // Ask
	Options  []string // Ask: the options as written, none for a free answer
	Message  string   // End
	Fields   []PlanField
	Path     string // Read and Verify: the file as written, without backticks
	Section  string // Read: the section after § or "for … section"; "" for the whole file
	Matching bool   // Read: Section is the name of a binding whose value is the section's name ("§ matching `aspect`")

	Children []*Node
}

// An Arg is one input of a call: a value, perhaps named ("phase=Tree Execution").
type Arg struct {
	Name  string // "" by position
	Value Value
}

// ValueKind says how a value is written.
type ValueKind uint8

const (
	Word   ValueKind = iota // bare text: the value of a binding of that name, else the text itself
	String                  // quoted
	Number
	Bool
	Null
	List      // [a, b]
	Arguments // $ARGUMENTS
	Ref       // `x`, context.x, x.y, x[0]: surely a reference
)

// A Value is an input, an element of a list or an operand as it is written.
type Value struct {
	Kind  ValueKind
	Text  string  // as written, without quotes or backticks
	Items []Value // List
}

// A Target is a name that >> binds, or a phrase where names are displayed.
type Target struct {
	Name  string // without context.
	Group bool   // written in {…}: maps by name
}

// A PlanField is one field of SHOW_PLAN, perhaps with a literal value.
type PlanField struct {
	Text  string // the phrase
	Value string // as written after the colon, "" if there is none
}

// Name is what the field binds where nothing has before.
func (f PlanField) Name() string { return NameOf(f.Text) }

// NameOf is the name that a phrase stands for: "Files changed" is files_changed. Names that differ in case, or in how many blanks, "-" and "_" stand
// between their words, are one.
func NameOf(phrase string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(phrase), func(r rune) bool {
		return r == ' ' || r == '-' || r == '_' || r == '`' || r == '\t'
	}), "_")
}

// Syntax is how a tree is drawn.
type Syntax uint8

const (
	ListSyntax Syntax = iota
	BoxSyntax
)

// A Tree is the sequence of nodes below "## Tree" or in the body of an op.
type Tree struct {
	Label  *Node // the root line that repeats a name, nil if there is none; not part of Nodes
	Nodes  []*Node
	Syntax Syntax
	Fenced bool   // inside a code fence
	Bullet string // of the list syntax: "*", "-" or "+"
	First  int    // line of the first node or of the opening fence
	Last   int    // line of the last node or of the closing fence
}

// A Param is one input of an op's signature.
type Param struct {
	Name     string
	Optional bool // written [name]
}

// A Contract is a schema that an op's input or output must fit.
type Contract struct {
	Path string // relative to the skill, as written
	Pos  Pos
}

// BodyKind classifies an op's body.
type BodyKind uint8

const (
	ProseBody     BodyKind = iota // one leaf
	TreeBody                      // a tree, perhaps with prose that describes it
	ProcedureBody                 // a numbered list: one leaf
	EmptyBody
)

// An Op is a named step.
type Op struct {
	Name   string
	Pos    Pos
	Last   int // last line that is neither blank nor a rule
	End    int // line behind the definition: of the next heading, or behind the file
	Level  int // of the heading, 1 to 6
	Params []Param
	Outs   []Target

	Subagent  bool // has the marker
	MarkerPos Pos
	Tool      string    // the name behind the marker of a tool, as written; "" for none, and for a marker without a name in backticks
	ToolPos   Pos       // of that marker; its zero value says that there is none
	Input     *Contract // nil: none
	Output    *Contract
	InputDoc  map[string]string // what the marker says of each input

	Kind  BodyKind
	Prose string // text of the body beside the tree, marker aside
	Tree  *Tree  // TreeBody
}

// CallsTool reports whether op has the marker of a tool, with or without a name: a call of op is a call of the tool, and no model fills it.
func (op *Op) CallsTool() bool { return op.ToolPos.Line > 0 }

// MaxToolName is the length of a tool's name in a marker, in bytes.
const MaxToolName = 64

// IsToolName reports whether s can name a tool: letters, digits, "_", "-" and ".", at most MaxToolName.
func IsToolName(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return s != "" && len(s) <= MaxToolName
}

// Shape is how an Agent section is written.
type Shape uint8

const (
	ShapeA Shape = iota // a sentence
	ShapeB              // a summary and sub-tasks
	ShapeC              // execute NAME
)

// An Agent is the legacy section "## Agent".
type Agent struct {
	Pos    Pos
	Shape  Shape
	Text   string   // the whole body
	Tasks  []string // ShapeB
	Op     string   // ShapeC
	Schema string   // path of the output contract; the default when none is written
	Named  bool     // the path is written
}

// Marked reports whether the section says something that only the legacy form says: an output contract, "**explore**",
// sub-tasks, or the op to execute. Prose has headings of this name too.
func (a *Agent) Marked() bool {
	return a.Named || a.Shape != ShapeA || strings.Contains(a.Text, "**explore**")
}

// A Section is one level-2 section of SKILL.md.
type Section struct {
	Title string
	Pos   Pos
	Last  int
	Text  string // without the heading
}

// A Skill is what the files of a skill directory say. It is not changed after Load.
type Skill struct {
	Name     string // frontmatter name, else the directory's
	Dir      string // name of the directory, may be empty
	File     string // "SKILL.md", or "skill.md" or an agent file where only that exists
	Doc      *skill.Document
	Tree     *Tree // nil: no Canopy skill
	Agent    *Agent
	Rules    []string
	Response []string // field names; nil without such a section
	Guide    string   // prose below the Response heading
	Guard    *Section // blockquote that asks for a runtime, nil if there is none
	Preamble string   // text before the first level-2 heading, guard, rules and comments aside
	Sections []Section
	Ops      []*Op    // by file, in source order
	Features []string // metadata.canopy-features; nil: absent
	Strict   bool     // metadata.canopy-contracts: strict

	FS       fs.FS
	Findings []diag.Finding // of the parser, rules CNP-…

	index map[string]*Op // by name; nil in a skill that was not loaded
}

// Walk calls f for each node of nodes and below, parents first, until f returns false for a node, whose children are then left out.
func Walk(nodes []*Node, f func(*Node) bool) {
	for _, n := range nodes {
		if f(n) {
			Walk(n.Children, f)
		}
	}
}
