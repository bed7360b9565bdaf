package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Codes of the errors of a [ModelGate].
const (
	codeUntrusted  = "untrusted"
	codeNotActive  = "not_active"
	CodeInvocation = "invocation_deny"
	CodeBlocked    = "blocked"
)

// A ModelGate says which installed skills models may have. It is made for one listing, and can be used by several at a time.
type ModelGate struct {
	Taken []Withdrawal // what registries took back of the copies, or warn of
	of    map[string][]Withdrawal
}

// GateModels makes the gate for copies; care says how much is done to learn what registries took back.
func (a *Applier) GateModels(ctx context.Context, care Care, copies []roots.Record) (*ModelGate, error) {
	releases := map[string][]Release{}
	var all []Release
	for _, r := range copies {
		if releases[r.Path] != nil {
			continue
		}
		releases[r.Path] = a.releaseOf(r)
		for _, one := range releases[r.Path] {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	taken, err := a.TakenBack(ctx, care, all)
	if err != nil {
		return nil, err
	}
	g := &ModelGate{Taken: taken, of: map[string][]Withdrawal{}}
	for dir, own := range releases {
		for _, w := range taken {
			if slices.ContainsFunc(own, func(r Release) bool {
				return r.Name == w.Name && r.Of == w.Of && r.Version == w.Version && r.URL == w.Registry
			}) {
				g.of[dir] = append(g.of[dir], w)
			}
		}
	}
	return g, nil
}

// Active is the active copy among copies, which are all those of one skill and of which there is one at least, if models may have it: its
// project is trusted, no registry blocked a release that is one of the copies, and no copy has a model_invocation that keeps models out.
// [WithheldBy] says which of these an error is about.
func (g *ModelGate) Active(copies []roots.Record) (roots.Record, error) {
	at := slices.IndexFunc(copies, func(r roots.Record) bool { return r.State == roots.Active })
	if at < 0 {
		r := copies[0]
		if r.State == roots.Untrusted {
			return roots.Record{}, diag.New(diag.Refused, codeUntrusted, "%s lies in a project that is not trusted", r.Name).Hint("skl trust allow")
		}
		return roots.Record{}, diag.New(diag.Refused, codeNotActive, "%s is %s", r.Name, r.State).Hint("skl list --all")
	}
	return copies[at], g.Withheld(copies)
}

// Text says whether models may have the text of r, which is one of copies, wherever they meet it: nil, or why not. Unlike
// [ModelGate.Active] it does not ask whether r is the copy that counts.
func (g *ModelGate) Text(r roots.Record, copies []roots.Record) error {
	if r.State == roots.Disabled || !r.ByModel() {
		return InvocationError(r.Name, invocationOf(r))
	}
	return g.Withheld(copies)
}

// Withheld says why models may not have the skill of copies, which are all those of one skill: a model_invocation of one that counts, or would
// with trust, or a release that a registry blocked. It is nil where neither is.
func (g *ModelGate) Withheld(copies []roots.Record) error {
	for _, r := range copies {
		if (r.State == roots.Active || r.State == roots.Untrusted) && !r.ByModel() {
			return InvocationError(r.Name, invocationOf(r))
		}
	}
	for _, r := range copies {
		if err := Blocked(g.of[r.Path]); err != nil {
			return err
		}
	}
	return nil
}

func invocationOf(r roots.Record) skill.Invocation {
	return skill.Invocation(cmp.Or(r.ModelInvocation, string(skill.Disabled)))
}

// InvocationError refuses a skill that models may not start.
func InvocationError(name string, invocation skill.Invocation) error {
	e := diag.New(diag.Refused, CodeInvocation, "%s may not be read by a model: its model_invocation is %s", name, invocation)
	if !invocation.ByUser() {
		return e.Hint("%s is disabled: neither models nor people start it", name)
	}
	return e.Hint("a person starts it: skl run %s", name)
}

// WithheldBy is the code of an error that keeps a skill from models whatever its files hold; "" for any other error.
func WithheldBy(err error) string {
	e, ok := errors.AsType[*diag.Error](err)
	if !ok || !slices.Contains([]string{codeUntrusted, codeNotActive, CodeInvocation, CodeBlocked}, e.Code) {
		return ""
	}
	return e.Code
}
