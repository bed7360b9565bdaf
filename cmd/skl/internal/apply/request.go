package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// A mode is what kind of command a job is of.
type mode int

const (
	installs mode = iota
	updates
	removes
	locks
)

// A request is what a command asks of a job. Nothing changes it.
type request struct {
	mode   mode
	plan   plan.Request
	refs   []ref.Ref // installs: what was named
	all    bool      // installs: all skills of refs that can be; the others are held
	safe   bool      // updates: what is edited, moved or asks for more is held
	named  []string  // updates: the skills that it is about; nil is all
	hosts  []string  // agents besides those of skl.toml
	gate   bool      // offer what keeps skills from agents that ignore their limits
	dry    bool
	agreed Agreed
}

// An Agreed is what a person agreed to on the command line.
type Agreed struct {
	Accept        []string // permissions
	Reason        string   // why, for those who read skl.toml later
	AllowUnsigned bool     // take releases without a signature where one is wanted
	Force         bool     // replace local edits, after a backup
}

// acceptableCodes are those of what a person can accept, so that an update stops for it unless it is to be safe.
var acceptableCodes = []string{signature.CodeSignerChanged, "signature_no_signature", "signature_no_trust", CodeEscalation, codeContentHigh, resolver.CodeMoved}

// spares reports whether the rest goes on without the skill that a fault is about. The skill stays as it is then.
func (r *request) spares(base *plan.Base, in *plan.Intent, f *plan.Fault) bool {
	switch r.mode {
	case installs:
		return r.all && slices.Contains(in.Added, f.Name) && isJudgement(f.Err)
	case updates:
		_, here := base.Lock.Skill(f.Name)
		if !here || f.Entry || errors.Is(f.Err, context.Canceled) {
			return false
		}
		return r.safe || !(len(r.named) == 1 && r.named[0] == f.Name) && !slices.Contains(acceptableCodes, troubled("", "", f.Err).Code)
	}
	return false
}

// rests reports whether the rest goes on without a skill that is not what the command was asked about, and of which the plan cannot say what it is:
// its place is gone or does not answer, or its release cannot be used.
func (r *request) rests(base *plan.Base, in *plan.Intent, f *plan.Fault) bool {
	if in == nil || f.Name == "" || f.Entry || errors.Is(f.Err, context.Canceled) {
		return false
	}
	if _, here := base.Lock.Skill(f.Name); r.mode == updates && here { // of what is locked, spares decides
		return false
	}
	if r.names(f.Name) || r.mode == locks && r.plan.Renews != nil && r.plan.Renews(f.Name) {
		return false
	}
	return !slices.Contains(acceptableCodes, troubled("", "", f.Err).Code)
}

// names reports whether the command line names a skill.
func (r *request) names(name string) bool {
	if r.mode == updates { // whose edits are ranges that go on
		return slices.Contains(r.named, name)
	}
	return slices.ContainsFunc(r.plan.Edits, func(e plan.Edit) bool { return e.Skill.Name == name })
}

// beside reports whether a command is about others than this skill: it names some, and this is none of them.
func (r *request) beside(name string) bool {
	some := len(r.plan.Edits) > 0
	if r.mode == updates {
		some = len(r.named) > 0
	}
	return some && !r.names(name)
}

// isJudgement reports whether an error is about a skill, and not about the network or an end that somebody asked for.
func isJudgement(err error) bool {
	e, ok := errors.AsType[*diag.Error](err)
	return ok && !e.Retryable && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// suspects are the names of the skills one of which may be why there is no plan, and that the rest can go on without.
func (r *request) suspects(in *plan.Intent) []string {
	switch {
	case r.mode == installs && r.all:
		return in.Added
	case r.mode == updates:
		return in.Anew
	}
	return nil
}

// A pickList is what the references of an install hold.
type pickList struct {
	edits  []plan.Edit
	all    bool            // of one of the references all skills that can be
	held   []Held          // what cannot be picked, where all were wanted
	passed []source.Passed // what looks like a skill, and is none to skl
}
