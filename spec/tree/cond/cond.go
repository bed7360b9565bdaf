// Package cond reads the conditions of trees and decides those that need no
// model. The grammar and the rulings are those of spec/canopy-tree.md.
//
// It promises:
//
//   - Parse accepts every text. Text outside the grammar is [Natural], and
//     only that is ever given to a model. AND and OR in upper case split a text
//     when at least one side is in the grammar; "and" and "or" in lower case
//     split it only when every side is, so that sentences stay whole.
//   - A text that is an option of the most recent question is a test of its
//     answer, and that reading wins over every other. It is made at Eval, where the
//     options are known, for each operand and for natural language as well.
//   - Nothing is silently false. A name without a value can be missing, empty or not present, if something binds it
//     somewhere; every other test of it is undecided. So are an order of values that are not numbers, a file path with an
//     unfilled slot, a bare word that no binding and no option explains (see [Ref]), and one that is compared with and that Env.Name calls a name. A field that a value lacks is
//     missing: it equals only null and is not true. An undecided test goes to the model, if there is one, but for
//     tests of an answer, which is the person's; else it is an error that names the name.
//
// Limits: a text of more than MaxText bytes, or nested deeper than MaxDepth, is natural
// language. Parse takes time linear in the text for each level of nesting.
// Everything here is safe for concurrent use; an [Env] is as safe as its funcs.
package cond

import "context"

// Limits of a condition in the grammar.
const (
	MaxText  = 4096 // bytes
	MaxDepth = 32   // parentheses within parentheses
	maxNots  = 8    // NOT before one operand
)

// An Expr is a parsed condition. Its dynamic type is one of the types of this
// package: And, Or, Not, Equal, Alternative, Compare, Greater, Empty, Present,
// Outcome, Contains, FileExists, Valid, AnswerIs, Ref or Natural.
type Expr interface {
	// String is the text of the condition with blanks made single; it parses to
	// an equal Expr. It keeps the author's words, because they could be an option.
	String() string
}

// Natural is a condition, or an operand of AND and OR, in natural language.
type Natural struct{ Text string }

func (n Natural) String() string { return n.Text }

// Option returns the text that makes e a test of the answer if the most recent
// question offers it: all of e, without "user chose".
func Option(e Expr) string { return optionText(e.String()) }

// An Env is what a condition is decided against. A nil func knows nothing; what
// then cannot be decided is an error.
type Env struct {
	Lookup    func(path string) (any, bool)                        // value of a binding or of a path into one, as written without backticks; values are JSON's Go types
	Arguments string                                               // $ARGUMENTS
	Answer    func() (answer string, options []string, ok bool)    // of the most recent ASK in scope; no options for a free answer
	Exists    func(path string) (bool, error)                      // of a file of the project; the path is filled already, but for <skills-root>
	Outcome   func(name string) string                             // ok, failed, ended, skipped or "" of the call that binds name
	Model     func(ctx context.Context, text string) (bool, error) // decides natural language, and what a rule leaves undecided; nil: an error
	Binds     func(path string) bool                               // something binds the name somewhere, so that it can be missing; nil: every name
	Option    func(text string) bool                               // some question offers the text as an option; nil: none
	Name      func(word string) bool                               // a bare word that is compared with is a name, although it has no value; nil: it is a text
}

// How says how a condition was decided.
type How string

const (
	ByRule  How = "rule"
	ByModel How = "model"
)

// A Kind says how an operand is written.
type Kind uint8

const (
	Word      Kind = iota // bare: a binding's name, else (where a value may stand) the text itself
	Path                  // surely a reference: context.x, x.y, x[0], `x`
	Arguments             // $ARGUMENTS
	Quoted
	Number
	Bool
	Null
	Phrase // several words for one name: "new version" is new_version
)

// An Operand is one side of a test, a value of CASE or an element of a list, as written.
type Operand struct {
	Kind Kind
	Text string // without quotes or backticks
}

// An Expression is what SWITCH branches on.
type Expression struct {
	Text    string
	Natural bool    // a model chooses among the cases
	Operand Operand // else
}

// CollectionKind says how the collection of FOR_EACH is written.
type CollectionKind uint8

const (
	Named    CollectionKind = iota // a name or path
	Listed                         // [a, b, "c"]
	Filtered                       // "critical findings": a name with words before it, by which a model chooses among its elements
	Prose                          // anything else: a model must list the elements
)

// A Collection is what FOR_EACH iterates over.
type Collection struct {
	Text   string
	Kind   CollectionKind
	Of     Operand   // Named, Filtered: the name
	Filter string    // Filtered: the words before it
	Items  []Operand // Listed
}
