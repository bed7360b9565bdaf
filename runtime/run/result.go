package run

import (
	"cmp"
	"errors"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// A Result is how a run ended. Its JSON form is that of "skl run --json".
type Result struct {
	Run      string            `json:"run"` // set by the caller
	Skill    string            `json:"skill"`
	Status   Status            `json:"status"`
	ExitCode int               `json:"exit_code"`
	Message  string            `json:"message,omitempty"` // of END, of the violated contract, of what ran out
	Response map[string]any    `json:"response"`
	Unfilled map[string]string `json:"unfilled,omitempty"` // why fields of the response are null, by field
	Denied   []DeniedCall      `json:"denied,omitempty"`   // tool calls of leaves, scripts, files that were not let through
	Bindings map[string]any    `json:"bindings"`
	Pending  *Pending          `json:"pending"`
	Nodes    []NodeResult      `json:"nodes"` // visited nodes in the order of their first visit
	Checks   []Check           `json:"checks,omitempty"`
	Usage    model.Usage       `json:"usage"`

	Events []Event `json:"-"` // canonical; only with Runner.KeepEvents

	// Untouched: nothing of the run was begun, and its journal is as it was.
	Untouched bool `json:"-"`
}

// A DeniedCall is a tool call of a leaf, a script or a file that a policy, a person or the sandbox kept from happening.
type DeniedCall struct {
	Path string `json:"path"` // of the visit
	Node string `json:"node"`
	Tool string `json:"tool"` // as tools are called; of the tree itself script, write or read, or the tool of an op
	Why  string `json:"why"`
	Code string `json:"code,omitempty"` // effect_denied: a person said no
	Tree bool   `json:"tree,omitempty"` // the tree itself wanted it, and no model tried it
}

// Pending is the question that a suspended run waits for.
type Pending struct {
	ID       string   `json:"id"` // path of the visit; Runner.Answers takes it
	Node     string   `json:"node"`
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

// A NodeResult sums up the visits of one node.
type NodeResult struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Status Status `json:"status"` // of the last visit
	Millis int64  `json:"ms"`     // of all visits
	Visits int    `json:"visits"`
}

// A Check is one item of VERIFY_EXPECTED.
type Check struct {
	Node   string `json:"node"`
	Item   string `json:"item"`
	Pass   bool   `json:"pass"`
	Reason string `json:"reason,omitempty"`
}

// refused makes a run that came to its end without something that its tree wanted, or to which a person said no, differ from one that
// did everything. What a model tried for a leaf of a tree, and was told that it may not, is listed and no more; of a skill without a tree, which whole
// says, the model's calls are all that is done, and only the model says that it is done.
func (r *Result) refused(whole bool) {
	if r.ExitCode != exitOK {
		return
	}
	for _, d := range r.Denied {
		switch {
		case d.Code == CodeDenied:
			r.ExitCode, r.Message = exitRefused, cmp.Or(r.Message, "the run went on without what you said no to")
		case d.Tree:
			r.ExitCode, r.Message = exitRefused, cmp.Or(r.Message, "the run went on without a "+d.Tool+" of its tree, at "+d.Node)
		case whole:
			r.ExitCode, r.Message = exitRefused, cmp.Or(r.Message, "the run went on without a call of "+diag.Clip(d.Tool, 60)+", which was denied")
		}
	}
}

// Exit codes of runs, as in cli.md.
const (
	exitOK        = 0
	exitFailed    = 1
	exitHalted    = 3
	exitMisuse    = 2
	exitRefused   = 4
	exitSuspended = 5
)

// ending is how a machine came to its end.
type ending struct {
	Status  Status   `json:"status"`
	Exit    int      `json:"exit"`
	Message string   `json:"message,omitempty"`
	Pending *Pending `json:"pending,omitempty"`
	At      string   `json:"at,omitempty"` // path of the visit that failed
	Agent   bool     `json:"agent,omitempty"`

	err error
}

// Signals that unwind the stack. Any other error is a failure.
type (
	breakSignal   struct{}
	endSignal     ending // END, a violated contract, a checklist that halts
	suspendSignal struct {
		pending *Pending
		message string
		err     error // what Run returns beside the Result; may be nil
	}
)

func (breakSignal) Error() string     { return "BREAK" }
func (e endSignal) Error() string     { return e.Message }
func (s suspendSignal) Error() string { return s.message }

// fatal errors end a run also inside PARALLEL: going on would hide that the run itself is not sound.
func fatal(err error) bool {
	for _, code := range []string{CodeDiverged, CodeJournal, CodeUnfinished, CodePlan, CodeScriptDeny} {
		if errors.Is(err, diag.Code(code)) {
			return true
		}
	}
	return false
}

// failure makes the ending of a run that failed with err.
func failure(err error, at string) *ending {
	e := &ending{Status: Failed, Exit: exitFailed, Message: err.Error(), At: at, err: err}
	switch diag.ClassOf(err) {
	case diag.Refused:
		e.Exit = exitRefused
	case diag.Unmet:
		e.Exit = exitHalted
	case diag.Misuse:
		e.Exit = int(diag.Misuse)
	}
	return e
}
