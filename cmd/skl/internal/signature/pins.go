package signature

import (
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// PinOf is what is pinned of whoever signed a release, as a verification found it.
//
//go:noinline
func PinOf(v attest.Verdict) lock.Signer { return v.Signer.Lock() }

// CodeSignerChanged is the code of a release that somebody else signed than before.
const CodeSignerChanged = "E_SIGNER_CHANGED"

// pin is who signed s before, as this machine knows; nil on first use.
func (a *Judge) pin(s *lock.Skill) (*scope.Pin, error) {
	all, err := scope.Pins(a.scope)
	return scope.FindPin(a.scope, all, s), err
}

// signerOf is who is pinned, nil if nobody is.
//
//go:noinline
func signerOf(p *scope.Pin) *lock.Signer {
	if p == nil {
		return nil
	}
	s := lock.Signer(p.Signer)
	return &s
}

// choose takes, of all who signed s, the one that its entry names, else the one that is pinned, and nobody who was revoked.
func (j *Found) choose(v *attest.Verifier, s *lock.Skill) {
	pinned, best := signerOf(j.pin), -1
	first := PinOf(j.Verdict)
	j.continues = pinned == nil || continues(*pinned, first)
	isRevoked := pinned != nil && j.pin.State == scope.Revoked
	if (s.Signer == nil || *s.Signer == first) && j.continues && !isRevoked {
		return
	}
	if j.continues = pinned == nil; isRevoked {
		j.continues = true
	}
	for _, b := range j.Bundles {
		one := v.Verify([][]byte{b}, SubjectOf(*s))
		if one.State != attest.Verified {
			continue
		}
		is, rank := PinOf(one), 1
		same := pinned != nil && continues(*pinned, is)
		j.continues = j.continues || same
		switch {
		case same && isRevoked:
			rank = 0
		case s.Signer != nil && is == *s.Signer:
			rank = 3
		case same:
			rank = 2
		}
		if rank > best {
			best, j.Verdict = rank, one
		}
	}
	if best == 0 {
		j.revoked = j.Verdict.Signer
		j.Verdict = revoked(j.pin)
	}
}

// revoked is the verdict on what only a signer signed that this user revoked.
func revoked(p *scope.Pin) attest.Verdict {
	return attest.Verdict{State: attest.Failed, Code: attest.Revoked, Reason: SignerLine(&p.Signer) + " was revoked on this machine; skl trust list"}
}

// signerLine is a signer on one line, with all that is pinned.
func signerLine(s lock.Signer) string {
	var out []string
	for _, f := range [][2]string{{"", s.Kind}, {"key ", s.Key}, {"", s.Identity}, {"issuer ", s.Issuer}, {"repository ", s.Repository}, {"ref ", s.Ref}, {"runner ", s.Runner}} {
		if f[1] != "" {
			out = append(out, f[0]+diag.Printable(f[1]))
		}
	}
	return strings.Join(out, ", ")
}

// SignerLine is a signer on one line, "nobody" if there is none.
func SignerLine(s *scope.PinnedSigner) string {
	if s == nil {
		return "nobody"
	}
	return signerLine(lock.Signer(*s))
}

// sides shows who signed before and who does now, one above the other.
func sides(was *lock.Signer, now string) string {
	return "\n  was  " + signerLine(*was) + "\n  now  " + now
}

// changedSigner is the refusal of s, which now signed, where it was was.
func changedSigner(s *lock.Skill, was *lock.Signer, now lock.Signer, before string) *diag.Error {
	_, changed := attest.Same(*was, now)
	return diag.New(diag.Refused, CodeSignerChanged, "%s is signed by %s, and %s by somebody else: %s%s", release(s), lockedSigner(&now), before, changed, sides(was, signerLine(now)))
}

// recordPins pins who signed what was just installed or locked, and notes whose change was accepted.
func (a *Judge) recordPins(l *lock.Lock) error {
	if len(a.signed)+len(a.named) == 0 {
		return nil
	}
	all, err := scope.Pins(a.scope)
	if err != nil {
		return err
	}
	var set []*scope.Pin
	for i := range l.Skills {
		s := &l.Skills[i]
		known, ok := a.signed[s.Name]
		unchecked := false
		if !ok {
			known, unchecked = a.named[s.Name]
			ok = unchecked
		}
		if !ok || known.Signer == nil || !known.SameRelease(*s) {
			continue
		}
		next, old := scope.NewPin(a.scope, s, known.Signer), scope.FindPin(a.scope, all, s)
		next.Unchecked = unchecked
		if old != nil && continues(lock.Signer(old.Signer), *known.Signer) && (unchecked || !old.Unchecked) {
			continue
		}
		if old != nil && !continues(lock.Signer(old.Signer), *known.Signer) {
			next.State = scope.Accepted
		}
		set = append(set, next)
	}
	return scope.SetPins(a.scope, set...)
}

// A TrustChange is what became of the pin of a skill.
type TrustChange struct {
	Skill   string              `json:"skill"`
	Version string              `json:"version"` // whose signer it is about
	Was     *scope.PinnedSigner `json:"was"`     // null: nobody
	Now     *scope.PinnedSigner `json:"now"`     // null: it is not signed, or the signer was revoked
	Changed bool                `json:"changed"`
}

// AcceptSigner accepts who signed the release of a skill that skl.lock names, or if that is as before, the one that an update would
// choose. Only this very signer is accepted; of a release without a signature, only this release. The project is not changed.
func (a *Judge) AcceptSigner(ctx context.Context, name string, dry bool) (*TrustChange, error) {
	if err := a.scope.Settled(); err != nil {
		return nil, err
	}
	f, err := a.scope.Load()
	if err == nil {
		err = a.scope.CheckLocal(f)
	}
	if err != nil {
		return nil, err
	}
	locked, ok := f.Lock.Skill(name)
	if !ok {
		return nil, a.scope.NotInManifest(name, f)
	}
	if err := a.scope.Usable(ctx, f, name); err != nil {
		return nil, err
	}
	out, err := a.acceptSigner(ctx, &locked, locked.Signer, dry)
	if err != nil || out.Changed {
		return out, err
	}
	all, err := scope.AllWants(f)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(w resolver.Named) bool { return w.Name != name })
	newest := a.scope.Resolver(f.Manifest).Releases(ctx, all, f.Lock, func(string) bool { return true }, false)[0]
	if newest.Err != nil {
		return nil, newest.Err
	}
	return a.acceptSigner(ctx, &newest.Skill, locked.Signer, dry)
}

// acceptSigner accepts who signed s, if that is not locked, whom skl.lock names, or not whom this machine pinned.
func (a *Judge) acceptSigner(ctx context.Context, s *lock.Skill, locked *lock.Signer, dry bool) (*TrustChange, error) {
	j, err := a.judge(*s, func() (evidence, error) { return a.attestations(ctx, *s) })
	if err != nil {
		return nil, err
	}
	was := signerOf(j.pin)
	if was == nil {
		was = locked
	}
	out := &TrustChange{Skill: s.Name, Version: s.Version, Was: (*scope.PinnedSigner)(was)}
	if j.Verdict.Code == attest.Revoked {
		j.Verdict = attest.Verdict{State: attest.Verified, Signer: j.revoked}
	}
	switch {
	case j.Verdict.State == attest.Verified:
		now := PinOf(j.Verdict)
		out.Now = (*scope.PinnedSigner)(&now)
		out.Changed = was != nil && (!continues(*was, now) || locked != nil && !continues(*locked, now) || j.pin != nil && j.pin.State == scope.Revoked)
		if out.Changed && !dry {
			next := scope.NewPin(a.scope, s, &now)
			next.State, next.Unchecked = scope.Accepted, len(j.claims) > 0
			err = scope.SetPins(a.scope, next)
		}
		return out, err
	case j.Verdict.State == attest.Skipped && j.pin != nil && j.pin.Unchecked && len(j.claims) > 0:
		now := j.claims[max(j.claimed(), 0)].Lock()
		out.Now = (*scope.PinnedSigner)(&now)
		if out.Changed = !j.continues || j.pin.State == scope.Revoked; out.Changed && !dry {
			next := scope.NewPin(a.scope, s, &now)
			next.State, next.Unchecked = scope.Accepted, true
			err = scope.SetPins(a.scope, next)
		}
		return out, err
	case (j.Verdict.State == attest.Unsigned || j.Verdict.State == attest.Skipped && j.pin != nil && j.pin.Unchecked) && was != nil:
		sure, err := a.scope.AcceptedUnsigned(*s)
		if out.Changed = !sure; err == nil && !sure && !dry {
			err = a.scope.AcceptUnsigned([]lock.Skill{*s})
		}
		return out, err
	case j.Verdict.State == attest.Skipped && was != nil:
		return nil, noTrust(s, was)
	case j.Verdict.State == attest.Skipped:
		return nil, diag.New(diag.Refused, "signature_no_trust", "no signer is known to check %s %s with, so nobody can be accepted", s.Name, s.Version).
			Hint("add [[signer]] to config.toml with its key or identity")
	}
	return nil, j.Verdict.Err(release(s))
}

// noTrust is the refusal of a release that nobody is known to check, of a skill that was signed before.
func noTrust(s *lock.Skill, was *lock.Signer) error {
	return diag.New(diag.Refused, "signature_no_trust", "%s was signed by %s, and now no signer is known to check %s with", s.Name, lockedSigner(was), s.Version).
		Hint("add [[signer]] to config.toml with its key or identity")
}

// Revoke makes no signature of whoever is pinned count any more for a skill, named by its id or, where that means one, by its name.
func (a *Judge) Revoke(id string, dry bool) (*TrustChange, error) {
	all, err := scope.Pins(a.scope)
	if err != nil {
		return nil, err
	}
	at, n := 0, 0
	for i := range all {
		if all[i].ID == id || all[i].Skill == id {
			at, n = i, n+1
		}
	}
	switch {
	case n > 1:
		return nil, diag.New(diag.Misuse, "ambiguous_pin", "%d skills are called %q; name one by its id", n, id).Hint("skl trust list")
	case n == 0:
		return nil, diag.New(diag.Misuse, "unknown_pin", "no signer is pinned for %q", id).Hint("skl trust list")
	}
	p := &all[at]
	out := &TrustChange{Skill: p.Skill, Version: p.Version, Was: &p.Signer, Changed: p.State != scope.Revoked}
	if out.Changed && !dry {
		p.State = scope.Revoked
		err = scope.SetPins(a.scope, p)
	}
	return out, err
}

// A Trust is all that this user decided: about projects, and about signers.
type Trust struct {
	Projects []scope.Trusted `json:"projects"`
	Pins     []scope.Pin     `json:"pins,omitempty"`
}

// TrustList lists the decisions about projects and the pins of signers.
func (a *Judge) TrustList() (out Trust, err error) {
	if out.Projects, err = a.scope.Decisions(); err == nil {
		out.Pins, err = scope.Pins(a.scope)
	}
	return out, err
}

// PinIDs complete what trust revoke takes.
func (a *Judge) PinIDs() (ids []string) {
	all, _ := scope.Pins(a.scope)
	for _, p := range all {
		ids = append(ids, p.ID, p.Skill)
	}
	return ids
}

// Note remembers on this machine whose files were compared with their source, and who signed what of a lock.
func (a *Judge) Note(l *lock.Lock) {
	if err := scope.NoteChecked(a.scope, a.proven); err != nil {
		a.scope.Tell.Warn("where the skills come from is not remembered, so that rules may refuse to run them: %s", err)
	}
	if err := a.recordPins(l); err != nil {
		a.scope.Tell.Warn("the signers of the skills are not remembered, so a change may go unnoticed: %s", err)
	}
}
