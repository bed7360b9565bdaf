// Package model fills the leaves of a tree: one interface, with a body
// per provider in the packages below.
//
//   - A model answers one Request at a time and decides nothing else: control
//     flow, tools and files belong to the run.
//   - A request with a Schema is answered by a value that fits it, or by an
//     error: [Checked] asks again, saying what was wrong, at most Repairs times.
//   - A model calls tools only through Request.Call, which allows or denies.
//   - Errors are *diag.Error with the codes below.
package model

import (
	"context"
	"encoding/json"
	"math"
)

// Codes of errors.
const (
	CodeRefused     = "model_refused"     // the model declined to answer
	CodeBadAnswer   = "model_bad_answer"  // no value that fits the schema, also after repairs
	CodeTruncated   = "model_truncated"   // the answer ended at a limit, or the stream broke off
	CodeUnavailable = "model_unavailable" // network, overload, rate limit after all retries; Retryable
	CodeCredentials = "model_credentials" // no key, or it was refused
	CodeUnknown     = "model_unknown"     // no such model or provider
	CodeNoAnswer    = "model_no_answer"   // nobody is there to answer: manual without a terminal, replay without a record
	CodeBadSchema   = "model_bad_schema"  // the schema of the request is none, or too large, or asks for the outside world
	CodeRejected    = "model_rejected"    // the provider calls the request wrong: a setting, or too long a prompt
)

// Purpose says what a request is for.
type Purpose string

const (
	Leaf      Purpose = "leaf"      // a prose node, an op with a prose body
	Condition Purpose = "condition" // {"value": bool, "reason": string}
	Choice    Purpose = "choice"    // SWITCH: one of the CASE values, or none
	Filter    Purpose = "filter"    // FOR_EACH over a phrase: indices into a list
	Arguments Purpose = "arguments" // the preamble's reading of $ARGUMENTS
	Fields    Purpose = "fields"    // SHOW_PLAN fields that no binding has
	Checklist Purpose = "checklist" // VERIFY_EXPECTED items
	Respond   Purpose = "respond"   // fields of the response that no binding has
	Explore   Purpose = "explore"   // the Agent section
	Whole     Purpose = "whole"     // a skill without a tree: all of its text
)

// A Request is one question to a model.
type Request struct {
	Purpose  Purpose
	Skill    string
	Node     string // id of the node, as in trees
	Path     string // of this visit of the node, unique in the run
	Isolated bool   // a subagent's: in a context of its own

	System string          // what holds throughout: rules, policies, what the op is for
	Prompt string          // the node's text and the values it mentions
	Mark   string          // in Prompt: data stands between two lines of it; drawn for this request alone. "": there is none
	Schema json.RawMessage // JSON Schema of the answer, an object; nil asks for text
	Tools  []Tool          // what may be called; nil: nothing

	// Call runs a tool and never fails: what is denied is a result that says so.
	// It does not make a call once its context has ended, but is told of it.
	// It may be called concurrently. It is nil when Tools is empty.
	Call func(ctx context.Context, name string, input json.RawMessage) ToolResult
	// Again is asked before an answer that does not fit is asked for again, with what was spent so far; its error ends the request. Nil never.
	Again func(Usage) error
	// Turned hears of each turn that calls tools, before they run; nil is nobody. A model that does not see its turns says nothing.
	Turned func(Turned)

	MaxTokens int               // of the answer; 0 is the provider's default
	MaxTurns  int               // of tool use; 0 means 50
	Repairs   int               // how often an answer that does not fit Schema is asked for again; 0 means 2, below 0 never
	Stream    func(text string) // receives the answer as it grows, from one goroutine; may be nil. After a broken stream the text starts again.

	schema *Schema // Schema as it was read before, if it was
}

// A Tool as a model sees it.
type Tool struct {
	Name        string // on the wire: letters, digits, _ and -, at most 64
	Description string
	Schema      json.RawMessage // of the input, an object
	ReadOnly    bool            // changes nothing: calls in one turn may overlap; others run alone, in order
}

// A ToolResult is what a tool call gave.
type ToolResult struct {
	Text    string
	IsError bool
	Final   bool // the call was the answer: nothing more is asked

	Whole string // the text before it was shortened for a model, for whoever is none; "" if it was not
}

// Turned is a turn that goes on with tools.
type Turned struct {
	Text  string // what was said besides the calls
	Usage Usage  // of this turn; it counts in the Reply too
}

// A Reply is a model's answer.
type Reply struct {
	Text  string          // without a schema
	Value json.RawMessage // with a schema
	Model string          // the exact model that answered, as the provider names it
	Usage Usage
}

// Usage is what an answer cost. Sums of usages are usages.
type Usage struct {
	Calls        int     `json:"calls"` // requests to the provider
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	CachedTokens int     `json:"cached_tokens,omitempty"` // part of InputTokens
	Dollars      float64 `json:"dollars,omitempty"`       // 0 when the price is not known
}

// Add is the sum. It never falls and never overflows, whatever a service counted: budgets depend on it.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		sum(u.Calls, v.Calls), sum(u.InputTokens, v.InputTokens), sum(u.OutputTokens, v.OutputTokens), sum(u.CachedTokens, v.CachedTokens),
		price(u.Dollars) + price(v.Dollars),
	}
}

// price is 0 for what is no price, NaN included.
func price(d float64) float64 {
	if d > 0 {
		return d
	}
	return 0
}

func sum(a, b int) int {
	a, b = max(0, a), max(0, b)
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// Capabilities say what a model can do; what it cannot is refused before a run starts, or done another way.
type Capabilities struct {
	Tools    bool // calls tools while it answers
	Parallel bool // answers several requests at once, each in its own context; false: PARALLEL needs the sequential fallback
	Person   bool // a person answers: time budgets do not count
}

// A Model fills leaves. Its methods may be called concurrently if it is Parallel.
type Model interface {
	Name() string // as --model takes it: "anthropic:claude-sonnet-4-5"
	Capabilities() Capabilities
	// Fill answers r. It returns when ctx ends, with ctx's error.
	Fill(ctx context.Context, r Request) (Reply, error)
}
