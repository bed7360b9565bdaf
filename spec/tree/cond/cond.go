// Package cond reads the conditions of trees and decides those that need no
// model. The grammar and the rulings are those of spec/canopy-tree.md.
//
// It promises:
//
//   - Parse accepts every text. What the grammar does not hold is [Natural], and
//     only that is ever given to a model. AND and OR in upper case split a text
//     when at least one side is in the grammar; "and" and "or" in lower case
//     split it only when every side is, so that sentences stay whole.
//   - A text that is an option of the most recent question is a test of its
//     answer, and that reading wins over every other. It is made at Eval, where the
//     options are known, for each operand and for natural language as well.
//   - Nothing is silently false. A value that is missing equals only null, is empty,
//     and is neither true nor present; all else that cannot be decided is an
//     error: an order of what is no number, a file path with an unfilled slot, and a bare
//     word that no binding and no option explains (see [Ref]).
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

// Parse reads a condition. It never fails: text outside the grammar is a
// [Natural]. The expression of SWITCH is read by [ParseExpression].
func Parse(text string) Expr { return parse(text) }

// Natural is a condition, or an operand of AND and OR, in natural language.
type Natural struct{ Text string }

func (n Natural) String() string { return n.Text }

// Model reports whether deciding e may need a model: whether some operand of it
// is natural language.
func Model(e Expr) bool { return model(e) }

// Names returns the names and paths that e surely or, for a bare word, probably
// refers to, as [Env].Lookup gets them, in order of appearance, without duplicates. A bare word
// may be an option of a question instead (see [Option]); the right side of an equality
// counts only when it is surely a reference. Natural language gives what
// it mentions by `name`, {name}, <<name>> or context.name.
func Names(e Expr) []string { return names(e) }

// Files returns the paths whose existence e tests, as written, in order.
func Files(e Expr) []string { return files(e) }

// Option returns the text that makes e a test of the answer if the most recent
// question offers it: all of e, without "user chose".
func Option(e Expr) string { return optionText(e.String()) }

// Offers reports whether e, or an operand of it, tests for option: whether a
// question that offers option is answered there.
func Offers(e Expr, option string) bool { return offers(e, option) }

// An Env is what a condition is decided against. A nil func knows nothing; what
// then cannot be decided is an error.
type Env struct {
	Lookup    func(path string) (any, bool)                        // value of a binding or of a path into one, as written without backticks; values are JSON's Go types
	Arguments string                                               // $ARGUMENTS
	Answer    func() (answer string, options []string, ok bool)    // of the most recent ASK in scope; no options for a free answer
	Exists    func(path string) (bool, error)                      // of a file of the project; the path is filled already, but for <skills-root>
	Outcome   func(name string) string                             // ok, failed, ended, skipped or "" of the call that binds name
	Model     func(ctx context.Context, text string) (bool, error) // decides natural language; nil: an error
}

// How says how a condition was decided.
type How string

const (
	ByGrammar How = "grammar"
	ByModel   How = "model"
)

// Eval decides e. Operands that need no model are decided first, and a model is
// asked only when they leave the result open; How is ByModel only then. Its
// errors are those of env's funcs, and *diag.Error with code
// condition_undecided (class Unmet).
func Eval(ctx context.Context, e Expr, env Env) (bool, How, error) { return eval(ctx, e, env) }

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

// ParseOperand reads text as one operand: a reference, a literal or a bare word;
// ok is false for anything longer.
func ParseOperand(text string) (o Operand, ok bool) { return parseOperand(text) }

// Value returns what o stands for. A Word that is not bound is its own text (ruling 5.10). ok is false for
// a reference that has no value.
func (o Operand) Value(env Env) (v any, ok bool) { return o.value(env) }

// An Expression is what SWITCH branches on.
type Expression struct {
	Text    string
	Natural bool    // a model chooses among the cases
	Operand Operand // else
}

// ParseExpression reads the expression of SWITCH.
func ParseExpression(text string) Expression { return parseExpression(text) }

// Value returns what a SWITCH compares its cases with. It fails for natural language, and with
// code condition_undecided for a name that has no value. A missing value that is surely a
// reference is null, which no case but null matches.
func (x Expression) Value(env Env) (any, error) { return x.value(env) }

// ParseCase reads the value of a CASE: a literal, unless it starts with
// context. or ctx. or stands in backticks (ruling 5.10). Text of several words
// is a literal as well.
func ParseCase(text string) Operand { return parseCase(text) }

// Match reports whether the value of a SWITCH matches a case. Words and phrases compare without case,
// quoted texts with it, numbers as numbers.
func Match(value any, c Operand, env Env) bool { return match(value, c, env) }

// Same reports whether two values are equal: texts without surrounding blanks, numbers by value however
// they are typed or spelled, lists and objects element by element. A text equals a number or a
// boolean that is spelled so; null equals only null.
func Same(a, b any) bool { return same(a, b) }

// Truth reports whether v counts as true: neither null, false, 0, "", [] nor {}.
func Truth(v any) bool { return truth(v) }

// Text is how v is written into literal text: strings as they are, null as
// nothing, numbers in their shortest form, lists and objects as JSON.
func Text(v any) string { return text(v) }

// Root returns the name of the binding that a path leads into: "x" for
// context.x.y[0]. It is "context" or "ctx" for those words alone.
func Root(path string) string { return root(path) }

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

// ParseCollection reads the collection of FOR_EACH. It never fails.
func ParseCollection(text string) Collection { return parseCollection(text) }

// Elements returns what c iterates over. For a Filtered collection these
// are all elements of the named list, and filter is true: a model must choose among them; it is false
// if the whole phrase is the name of a binding ("critical findings" is critical_findings). scalar
// is true if the value was no list and is the only element, which deserves a
// warning. A name without value and a Prose collection are errors with code condition_undecided.
func (c Collection) Elements(env Env) (items []any, filter, scalar bool, err error) {
	return c.elements(env)
}

// Spread returns the elements of a value: of a list, the values of an object in the order of its keys, of a
// text that is a JSON array, none for null; else v alone, and scalar is true.
func Spread(v any) (items []any, scalar bool) { return spread(v) }
