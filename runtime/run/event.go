package run

import (
	"encoding/json"
	"time"

	"github.com/skl-project/skl/runtime/model"
)

// EventKind says what happened.
type EventKind string

const (
	RunStarted   EventKind = "run.started"   // Text: the skill; Value: {"arguments": …}
	RunEnded     EventKind = "run.ended"     // Status, Text: message
	RunSuspended EventKind = "run.suspended" // Text: the question
	PhaseStarted EventKind = "phase"         // Text: Initialize, Explore, Tree Execution, Verify, Response
	NodeStarted  EventKind = "node.started"  // Text: node text; Value: {name: input}
	NodeDone     EventKind = "node.done"     // Status; Value: what it bound, {name: value}
	NodeSkipped  EventKind = "node.skipped"  // a branch that was not taken
	Decided      EventKind = "decided"       // a condition or a choice: Text, Value, How
	Bound        EventKind = "bound"         // Name, Value
	Asked        EventKind = "asked"         // Text: question; Value: options
	Answered     EventKind = "answered"      // Value: the answer; How: person, relayed, flag, file, yes, replay
	PlanShown    EventKind = "plan"          // Value: [{"field","value"}]
	Checked      EventKind = "checked"       // one item of VERIFY_EXPECTED: Text, Status pass or fail, Value: {"reason"}
	ModelCalled  EventKind = "model.called"  // Text: prompt; Name: purpose
	ModelReplied EventKind = "model.replied" // Value or Text; Usage; Model
	ToolCalled   EventKind = "tool.called"   // Name: canonical name; Value: input
	ToolReplied  EventKind = "tool.replied"  // Name; Text: result, cut; Status ok, error, denied or suspended
	Acted        EventKind = "acted"         // the tree ran a script or wrote a file: Name: script or write; Text: which; Status ok, error, or suspended if it was stopped in the middle; Did
	Output       EventKind = "output"        // Text for the person: a literal leaf, a report
	Warned       EventKind = "warning"       // Code, Text
)

// An Event is one step of a run. The canonical order of events is that of a sequential walk: the children
// of PARALLEL one after the other as written, whatever order they finished in.
type Event struct {
	Kind   EventKind       `json:"event"`
	Path   string          `json:"path,omitempty"` // of the visit, unique in the run: "2/0", in an op "2/0>REVIEW/1", in a loop "3[4]/0"
	Node   string          `json:"node,omitempty"` // id of the node
	Op     string          `json:"op,omitempty"`   // op whose body the node is in
	Type   string          `json:"type,omitempty"` // kind of the node: "IF", "call", "prose"
	Name   string          `json:"name,omitempty"`
	Text   string          `json:"text,omitempty"`
	Status Status          `json:"status,omitempty"`
	How    string          `json:"how,omitempty"` // rule, model, cache, set; of an answer as there
	Code   string          `json:"code,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Usage  *model.Usage    `json:"usage,omitempty"`
	Model  string          `json:"model,omitempty"`
	Read   json.RawMessage `json:"read,omitempty"`  // of Decided: what a rule went by, {name: value}; long values are texts that are cut
	Did    *Deed           `json:"did,omitempty"`   // of Acted, and of ToolReplied where the call may have changed something; nil in runs that were recorded before there was one
	Agent  bool            `json:"agent,omitempty"` // inside, or the call of, a subagent
	Call   int             `json:"call,omitempty"`  // of a tool: which call of its leaf, from 1

	// Not part of the canonical form:
	Replayed bool          `json:"replayed,omitempty"` // told again from the journal: it happened in an earlier process
	Time     time.Time     `json:"time,omitzero"`
	Took     time.Duration `json:"took_ns,omitempty"`
}

// Status is how a node or a run ended.
type Status string

const (
	OK        Status = "ok"
	Ended     Status = "ended"     // END without a message, or reached by an answer
	Halted    Status = "halted"    // END with a message, a contract violation, a checklist that halts
	Suspended Status = "suspended" // waits for an answer, or ran out of budget
	Failed    Status = "failed"
	Skipped   Status = "skipped"
	Pass      Status = "pass" // of a checklist item
	Fail      Status = "fail"
	Denied    Status = "denied" // of a tool call
	Errored   Status = "error"
	Repeated  Status = "repeated" // of a tool call: it took place before the run was interrupted, and was not made again
)
