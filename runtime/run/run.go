// Package run is the interpreter of skill trees: a stack machine that walks a
// [plan.Plan]. It follows spec/canopy-tree.md.
//
// The package promises:
//
//   - Control flow is decided here. A model fills leaves and judges conditions that the grammar cannot; it
//     never sees the nodes beside its own and never chooses the next one.
//   - Everything that reaches outside is an effect: a model's answer, a tool call of a leaf or of an op, a person's answer, a
//     script, a test for a file, a file read or written. The Runner is given a func or an interface for each, and
//     nil denies it; the zero Runner can only compute. The interpreter reads no clock but for budgets and event times.
//   - Every effect goes through the journal under the path of its node's visit and an ordinal, with a digest of what went in.
//     Resume walks the tree again and takes from the journal what was done; Replay takes everything from it. Another
//     effect than the recorded one stops with code run_diverged and names the node.
//   - An effect that was done never runs twice. One that acts (a script, a file written, a leaf with a tool call that may act, such a call of an op)
//     and was begun without being seen to end is not begun again without consent: code effect_unfinished. A leaf between two
//     of its tool calls is gone on with, and told what it called.
//   - The same journal gives the same events, in canonical order; see [Canonical].
//   - A Machine between two steps is a value that can be written down and restored. PARALLEL is one step.
//
// Limits: nodes, calls, tokens, dollars, time (see [Limits]), 1,000 iterations of a loop, 32 ops deep, 8 children of
// PARALLEL at once. Out of nodes, calls, tokens, dollars or time a run is suspended, and a bigger budget resumes it.
//
// Errors are *diag.Error with the codes below. An error of a leaf, op or subagent fails the run, except inside PARALLEL,
// where it is the outcome of that child.
//
// Prompts of leaves hold no text of the language's specification, whatever the feature manifest says: a leaf is one instruction.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/skl-project/skl/runtime/model"
)

// Codes of errors.
const (
	CodeDiverged   = "run_diverged"         // a replayed run wanted another effect than the journal has
	CodeUnfinished = "effect_unfinished"    // an effect that acts was begun and not seen to end
	CodeDone       = "effect_done"          // --done or --rerun does not fit the effects of the run
	CodePlan       = "run_other_plan"       // the skill is not the one that the journal is of
	CodeJournal    = "run_journal"          // a journal that cannot be read or written
	CodeBusy       = "run_busy"             // another process has the journal
	CodeContract   = "contract_violation"   // strict contracts: a value does not fit
	CodeUndecided  = "condition_undecided"  // nobody could decide a condition
	CodeNatural    = "condition_natural"    // a condition needs a model, and models may not decide
	CodeModel      = "model_missing"        // a leaf, and no model
	CodeTools      = "tools_missing"        // a file or script, and no tools
	CodeScript     = "script_failed"        // a script ended with an error
	CodeScriptDeny = "script_refused"       // the policy, or a person, does not let the script run
	CodeTool       = "tool_call_failed"     // the tool of an op ended with an error
	CodeToolDeny   = "tool_call_refused"    // the policy, or a person, does not let an op call its tool, or nothing answers to the name
	CodeDenied     = "effect_denied"        // of the error of Tools: a person said no
	CodeFile       = "file_unreadable"      // a file that a node reads or writes
	CodeUnbound    = "name_unbound"         // a name without a value where one is needed
	CodeCall       = "wrong_call"           // a call that does not fit the op
	CodeAnswer     = "answer_unknown"       // an answer that is none of the options
	CodeAnswered   = "answer_given"         // an answer to a question that was answered otherwise before the run was gone on with
	CodeValue      = "wrong_value"          // an answer of a model that does not have the declared names
	CodeSequential = "dispatch_unavailable" // the model cannot work in parallel, and nobody allowed one after another
)

// ErrNoAnswer is returned by Runner.Ask when nobody is there to answer: the run is suspended.
var ErrNoAnswer = errors.New("nobody is there to answer")

// Tools is what a leaf may call. It is all that the run knows of tools.
type Tools interface {
	// For returns the tools that a leaf may see, by their wire names.
	For(readOnly bool) []model.Tool
	// Call runs one; canonical is the name of the handler, "" if there is none. readOnly refuses what writes, runs or
	// sends. What went wrong is in the result; the error is that of a call which did not take place: it was denied
	// (diag.Refused), which the result says too, or waits for a person's leave (diag.NeedsInput).
	Call(ctx context.Context, name string, input json.RawMessage, readOnly bool) (result model.ToolResult, canonical string, did Deed, err error)
	// Identity is equal for calls that would do the same: "" for one that changes nothing, or that nothing answers to.
	Identity(name string, input json.RawMessage) string
	// Reads reports whether no call of the tool that name means changes anything.
	Reads(name string) bool
	// Script runs the text of a script file or of one of its sections, and gives what it printed. Its error is that of Call.
	Script(ctx context.Context, s Script) (result model.ToolResult, did Deed, err error)
	// ReadFile and WriteFile reach files of the working directory (paths relative to it); outside is refused. A write
	// that waits for a person's leave is a diag.NeedsInput.
	ReadFile(path string) ([]byte, error)
	WriteFile(ctx context.Context, path string, data []byte) (Deed, error)
	Exists(path string) (bool, error)
}

// A Script is a script of a skill.
type Script struct {
	Path    string // in the skill: "scripts/release.sh"
	Section string // "" for the whole file
	Text    string
	Env     map[string]string // bindings that the tree passes
}

// A Question is what an ASK wants to know.
type Question struct {
	ID       string   `json:"id"`   // path of the visit, unique in the run
	Node     string   `json:"node"` // id of the node
	Question string   `json:"question"`
	Options  []string `json:"options"` // none for a free answer

	Turn bool `json:"-"` // one of a conversation, whose answer may be empty: one that was given beforehand has to name it by ID
}

// An Answer is what somebody said.
type Answer struct {
	Text string `json:"text"`
	How  string `json:"how,omitempty"` // person, relayed (by an agent), flag, file, yes; "" means person
}

// Limits bound a run. Zero values mean the defaults.
type Limits struct {
	Nodes      int           // visits of nodes; 0 means 1,000,000
	Calls      int           // requests to the model's provider; 0 means no limit
	Tokens     int           // input and output together; 0 means no limit
	Dollars    float64       // 0 means no limit
	Time       time.Duration // of one process, unless a person fills the leaves; 0 means no limit
	Iterations int           // of one loop; 0 means 1,000
	Depth      int           // ops that call ops; 0 means 32
	Parallel   int           // children of PARALLEL at once; 0 means 8
}

// Negative says what a negative answer does that no branch looks at (ruling 5.16).
type Negative string

const (
	NegativeEnds      Negative = "end"      // ends the skill as END does; the default
	NegativeContinues Negative = "continue" // goes on with the next node
)

// A Runner executes plans. Configure its fields before the first run; then its methods may be called concurrently,
// unless two runs share a Journal. A nil func or interface denies what it stands for.
type Runner struct {
	Model model.Model
	Tools Tools
	// Ask asks the person. It is called by one goroutine at a time.
	Ask func(ctx context.Context, q Question) (Answer, error)
	// Events receives each event when it happens, one at a time. It must be quick.
	Events func(Event)
	// Strands is told how many more or fewer parts of the run are at work at the same time: one when it begins, more in
	// PARALLEL, fewer while one waits for the others. It must be quick, and safe for several goroutines; nil is fine.
	Strands    func(more int)
	Name       string  // of the run, for hints; "" if it has none
	Called     string  // what a command calls the skill, for hints; "" is its name
	KeepEvents bool    // Result.Events holds them, in canonical order
	Journal    Journal // nil: the run cannot be resumed

	Limits          Limits
	AllowSequential bool     // PARALLEL one after another where the model cannot do more
	DispatchSettle  bool     // … and then a failing child does not stop the others
	Deterministic   bool     // refuse conditions that need a model
	AskNegative     Negative // "" means NegativeEnds

	Took       func(key string)           // is told which of Answers a question took; nil or safe for several goroutines
	Answers    map[string]Answer          // by path of the visit, id of the node, or a prefix of the question
	Set        map[string]json.RawMessage // by path or node id: the value of that node, instead of what it would do
	TookSet    func(key string)           // is told which of Set a node took; nil or safe for several goroutines
	Until      string                     // path or node id: suspend after that node
	Rerun      []string                   // paths or node ids whose unfinished effects may begin again; "*" for all
	Done       []Done                     // unfinished effects that did take place; for Resume
	AnyPlan    bool                       // resume and replay although the skill has changed since
	SkillsRoot string                     // what <skills-root> in paths stands for
}
