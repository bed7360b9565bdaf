package registry

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// Action is what is done to a release that was published.
type Action string

const (
	Approve     Action = "approve"    // quarantined, or rejected → approved
	Reject      Action = "reject"     // quarantined → blocked; of what was served once it is a block
	Quarantine  Action = "quarantine" // held back for a decision
	Deprecate   Action = "deprecate"  // still offered, with a message
	Undeprecate Action = "undeprecate"
	Yank        Action = "yank" // not offered any more, still served
	Unyank      Action = "unyank"
	Block       Action = "block"   // not served to anybody
	Unblock     Action = "unblock" // what it was before the block
)

// A transition is what an action does.
type transition struct {
	from   []meta.State
	to     meta.State
	do     auth.Action
	reason bool // must be given
}

func transitions(a Action) (transition, bool) {
	switch a {
	case Approve:
		return transition{[]meta.State{meta.Quarantined, meta.Blocked}, meta.Approved, auth.Approve, false}, true // of blocked ones: see mayRetract
	case Reject:
		return transition{[]meta.State{meta.Quarantined, meta.Draft}, meta.Blocked, auth.Approve, true}, true
	case Quarantine:
		return transition{[]meta.State{meta.Approved, meta.Deprecated, meta.Yanked}, meta.Quarantined, auth.Approve, true}, true
	case Deprecate:
		return transition{[]meta.State{meta.Approved, meta.Deprecated}, meta.Deprecated, auth.Deprecate, true}, true
	case Undeprecate:
		return transition{[]meta.State{meta.Deprecated}, meta.Approved, auth.Deprecate, false}, true
	case Yank:
		return transition{[]meta.State{meta.Approved, meta.Deprecated}, meta.Yanked, auth.Yank, true}, true
	case Unyank:
		return transition{[]meta.State{meta.Yanked}, meta.Approved, auth.Yank, false}, true
	case Block:
		return transition{[]meta.State{meta.Draft, meta.Quarantined, meta.Approved, meta.Deprecated, meta.Yanked}, meta.Blocked, auth.Block, true}, true
	case Unblock:
		return transition{[]meta.State{meta.Blocked}, "", auth.Approve, false}, true // or more: see mayRetract
	}
	return transition{}, false
}

// apply gives r the state that the step leads to. A block remembers what it undoes.
func (step transition) apply(r *meta.Release) {
	was := r.Was
	r.Was, r.WasReason = "", ""
	switch {
	case step.to == meta.Blocked:
		r.Was, r.WasReason, r.State = r.State, r.Reason, meta.Blocked
	case step.to != "":
		r.State = step.to
	case was == "": // blocked before this was kept: somebody has to look at it
		r.State = meta.Quarantined
	default:
		r.State = was
	}
}

// maxReason bounds the reason of an action, in bytes.
const maxReason = 1000

// Act changes the state of a release, for a reason, and logs it. An action that does not
// follow from the state the release is in is refused with code wrong_state; one for the reason that it is in that state for is done already.
//
// A release that was ever served is in locks: that it is taken away for good, by whatever word, takes the right to
// block. An undo gives it the state that it had before, and is an entry of the log of its own. To approve what was rejected
// takes the reject back in one step.
func (g *Registry) Act(ctx context.Context, who Caller, namespace, name, version string, a Action, reason string) (meta.Release, error) {
	step, ok := transitions(a)
	if !ok {
		return meta.Release{}, diag.New(diag.Misuse, "invalid_request", "there is no action %q", a)
	}
	reason = strings.TrimSpace(reason)
	switch {
	case len(reason) > maxReason:
		return meta.Release{}, diag.New(diag.Misuse, "invalid_request", "a reason has at most %d bytes", maxReason)
	case step.reason && reason == "":
		return meta.Release{}, diag.New(diag.Misuse, "invalid_request", "%s needs a reason", a)
	}
	var r meta.Release
	err := g.change(ctx, who, func(tx *meta.Tx, who Caller) error {
		acc, err := g.writable(ctx, tx, who, namespace+"/"+name, step.do)
		if err != nil {
			return err
		}
		if r, err = g.release(ctx, tx, who, acc, namespace, name, version); err != nil {
			return err
		}
		if again, err := askedAgain(ctx, tx, r, a, step, reason); again || err != nil {
			return err
		}
		if !slices.Contains(step.from, r.State) {
			return g.wrongState(ctx, tx, r, a)
		}
		if a == Reject && r.LogIndex >= 0 {
			if _, err := g.writable(ctx, tx, who, r.Repo(), auth.Block); errors.Is(err, diag.Code("denied")) {
				return lacksRole(who, auth.Block, namespace, diag.New(diag.Refused, "denied",
					"%s@%s was served once, so to reject it is to block it, and %s may not block in namespace %s", r.Repo(), r.Version, who.Account, namespace))
			} else if err != nil {
				return err
			}
		}
		if err := g.mayRetract(ctx, tx, who, r, a); err != nil {
			return err
		}
		if a == Approve {
			if err := g.secondPerson(ctx, tx, who, acc.ns, r); err != nil {
				return err
			}
		}
		from, again := r.State, r.WasReason
		step.apply(&r)
		r.Reason, r.Updated = reason, g.now()
		if a == Approve && r.LogIndex < 0 {
			if r, err = g.mustBeSigned(ctx, tx, acc.ns, r); err != nil {
				return err
			}
		}
		accepted := ""
		if a == Approve {
			if accepted, err = g.accepted(r); err != nil {
				return err
			}
		}
		actions := []string{string(a)}
		if r.LogIndex < 0 && r.State.Served() {
			actions = append(actions, "publish") // seen for the first time
		}
		if err := g.log(ctx, tx, &r, who, accepted, actions...); err != nil {
			return err
		}
		if a == Unblock && again != "" {
			r.Reason = again // such as what to use in its place; that of the undo is in the log
		}
		if err := restate(ctx, tx, r); err != nil {
			return err
		}
		detail := map[string]string{"reason": reason, "from": string(from), "to": string(r.State)}
		if accepted != "" {
			detail["accepted"] = accepted
		}
		return g.event(ctx, tx, who, string(a), r.Repo()+"@"+r.Version, detail)
	})
	if err != nil {
		return meta.Release{}, err
	}
	return r, nil
}

// askedAgain reports whether r is what a asks for already, for the same reason: whoever asks did not hear the answer. A reject is no block, which
// others may take back.
func askedAgain(ctx context.Context, tx *meta.Tx, r meta.Release, a Action, step transition, reason string) (bool, error) {
	if !step.reason || r.State != step.to || r.Reason != reason {
		return false, nil
	}
	if r.State != meta.Blocked {
		return true, nil
	}
	rejected, err := wasRejected(ctx, tx, r)
	return rejected == (a == Reject), err
}

// restate stores a release that has another state now.
func restate(ctx context.Context, tx *meta.Tx, r meta.Release) error {
	if err := tx.SetManifestState(ctx, r.Repo(), r.Manifest, r.State); err != nil {
		return err
	}
	return tx.UpdateRelease(ctx, r)
}

// mustBeSigned refuses to show a release for the first time that lacks a signature its namespace requires, and
// returns it with what its signatures say.
func (g *Registry) mustBeSigned(ctx context.Context, tx *meta.Tx, ns meta.Namespace, r meta.Release) (meta.Release, error) {
	r, lacks, err := g.judge(ctx, tx, ns, r)
	if err != nil {
		return meta.Release{}, err
	}
	if lacks != "" {
		return meta.Release{}, diag.New(diag.Refused, "signature_required", "%s@%s %s", r.Repo(), r.Version, lacks).Hint("skl sign %s@%s", r.Repo(), r.Version)
	}
	return r, nil
}

// log appends one record for each action, by who. A publish is by whoever sent the release, also where somebody else approved it, or
// signed what was a draft. An approve says which findings it accepted. Its index is kept in r.
func (g *Registry) log(ctx context.Context, tx *meta.Tx, r *meta.Release, who Caller, accepted string, actions ...string) error {
	for i, action := range actions {
		rec := tlog.Record{Action: tlog.Action(action), Name: r.Repo(), Version: r.Version, Manifest: r.Manifest, Tree: r.Tree, Artifact: r.Artifact,
			By: who.Account, Signer: signerText(r.Signer), Reason: r.Reason, At: tlog.At(g.now())}
		if action == string(Approve) {
			rec.Accepted = accepted
		}
		switch {
		case action == string(tlog.Publish):
			rec.By = r.Publisher
			if i > 0 && actions[i-1] == string(Approve) {
				rec.Approver = who.Account
			}
		case r.Publisher != who.Account:
			rec.Publisher = r.Publisher
		}
		index, err := g.append(ctx, tx, rec)
		if err != nil {
			return err
		}
		if action == "publish" {
			r.LogIndex = index
		}
	}
	return nil
}

// event adds a line to the audit trail.
func (g *Registry) event(ctx context.Context, tx *meta.Tx, who Caller, action, target string, detail any) error {
	text, err := json.Marshal(detail)
	if err != nil {
		return err
	}
	account := who.Account
	if who.Anonymous {
		account = nobody
	}
	return tx.AddEvent(ctx, meta.Event{At: g.now(), Account: account, Token: who.TokenID, Remote: who.Remote, Action: action, Target: target, Detail: string(text)})
}

// release finds a version that who, with access acc, may know of.
func (g *Registry) release(ctx context.Context, tx *meta.Tx, who Caller, acc access, namespace, name, version string) (meta.Release, error) {
	r, err := tx.Release(ctx, namespace, name, version)
	hidden := err == nil && !r.State.Served() && r.State != meta.Blocked && !acc.draft
	if errors.Is(err, meta.ErrNotFound) || hidden {
		return meta.Release{}, g.unknown(who, "unknown_version", "release %s/%s@%s", namespace, name, version)
	}
	return r, err
}
