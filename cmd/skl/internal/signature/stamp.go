package signature

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/packages"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/lock"
)

// Stamp returns the verdict on the signature of a copy, by the lock of the scope and the signatures that were kept on this machine. No
// network is asked: what was never checked here is skipped, and skl verify checks it. What a receipt or the lock say of a
// signer proves nothing by itself.
func (a *Judge) Stamp(l *lock.Lock) func(name string, r roots.Receipt) roots.Signature {
	locks := []*lock.Lock{l}
	return func(name string, r roots.Receipt) roots.Signature {
		s := entryFor(locks, name, r)
		if s == nil && len(locks) == 1 { // a copy of another scope
			locks = append(locks, scope.LockIn(a.scope.Dirs.Config), scope.LockIn(a.scope.Machine))
			s = entryFor(locks, name, r)
		}
		out := a.signature(s, r)
		if s != nil && out.State != string(attest.Failed) {
			out.Stands = a.stands(s, out)
		}
		return out
	}
}

// entryFor is the entry by which the copy with the receipt r was installed, nil if no lock has it.
func entryFor(locks []*lock.Lock, name string, r roots.Receipt) *lock.Skill {
	for _, l := range locks {
		if l == nil {
			continue
		}
		if s, ok := l.Skill(name); ok && s.Tree == r.Tree {
			return &s
		}
	}
	return nil
}

// stands says who stands for the release s, of which this machine compared the files: a signer that it verified, or the log of a registry
// of the configuration; or that the skill was made of a package here, with the same bytes. "" is nobody. No network is asked.
func (a *Judge) stands(s *lock.Skill, is roots.Signature) string {
	if is.State == string(attest.Verified) {
		return "signed by " + is.Signer
	}
	if s.Source == "local" {
		return packages.MadeHere(a.scope, s.Tree, s.GeneratedFrom)
	}
	if s.Source != "registry" || s.Log == nil || !a.scope.HasRegistry(s.URL) {
		return ""
	}
	known, err := a.compared(s)
	if err == nil && known && a.scope.Registry.VerifyLog(context.Background(), *s, false) == nil {
		return "in the log of " + s.URL
	}
	return ""
}

// signature is the verdict on the copy with the receipt r that was installed by the entry s, which may be nil.
func (a *Judge) signature(s *lock.Skill, r roots.Receipt) roots.Signature {
	claimed := r.Signer
	if s != nil {
		claimed = s.Signer
	}
	if claimed == nil {
		return roots.Signature{State: string(attest.Unsigned)}
	}
	out := roots.Signature{State: string(attest.Skipped), Signer: strings.TrimSpace(cmp.Or(claimed.Identity, claimed.Repository, claimed.Key))}
	if s == nil || !CanBeSigned(*s) {
		return out
	}
	j, kept, err := judgeKept(a, s)
	if !kept {
		return out
	}
	if err != nil || j.Verdict.State != attest.Verified {
		out.State = cmp.Or(string(j.Verdict.State), out.State)
		return out
	}
	switch known, err := a.compared(s); {
	case !continues(*s.Signer, PinOf(j.Verdict)):
		out.State = string(attest.Failed)
	case err == nil && known && j.continues: // else its files could be others, or its signer: skl verify says so
		out.State = string(attest.Verified)
	}
	return out
}

// RefuseForged refuses the copy of a skill in dir whose kept signatures are bad, or are those of a signer who was revoked on this machine.
// No network is asked.
func (a *Judge) RefuseForged(dir string) error {
	if !filepath.IsAbs(dir) {
		return nil // it comes with skl
	}
	r, err := roots.ReadReceipt(filepath.Dir(dir), filepath.Base(dir))
	if err != nil {
		return nil // no receipt; one that is damaged is for verify to say
	}
	s := entryFor([]*lock.Lock{scope.LockIn(a.scope.Base), scope.LockIn(a.scope.Dirs.Config), scope.LockIn(a.scope.Machine)}, filepath.Base(dir), r)
	if s == nil || !CanBeSigned(*s) {
		return nil
	}
	j, kept, err := judgeKept(a, s)
	if kept && err == nil {
		err = j.Bad(*s)
	}
	return err
}

// judgeKept judges s by the signatures that were kept on this machine; kept is false if there are none to judge by.
func judgeKept(a *Judge, s *lock.Skill) (j Found, kept bool, err error) {
	found, err := a.keptSignatures(*s)
	if err != nil || len(found.bundles) == 0 {
		return Found{}, false, err
	}
	j, err = a.judge(*s, func() (evidence, error) { return found, nil })
	return j, true, err
}
