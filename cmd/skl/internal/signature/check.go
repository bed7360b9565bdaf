package signature

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// Check verifies the releases of list that were chosen anew, records in them who signed
// them, and keeps the signatures for verify. A bad or missing signature, where one is
// wanted, and another signer than before are refused. What was kept from old is checked as ci does. The errors are those of list, in its order;
// the last one is of none of them.
func (a *Judge) Check(ctx context.Context, list []lock.Skill, old *lock.Lock, o Options) ([]error, error) {
	errs := make([]error, len(list))
	var todo, again []int
	for i, s := range list {
		if before, ok := old.Skill(s.Name); !ok || !before.SameRelease(s) || o.Chosen(s.Name) {
			todo = append(todo, i)
		} else if !o.LockOnly {
			again = append(again, i)
		}
	}
	results := make([]Found, len(list))
	var g errgroup.Group
	g.SetLimit(8)
	for _, i := range todo {
		g.Go(func() error {
			results[i], errs[i] = a.judge(list[i], func() (evidence, error) { return a.attestations(ctx, list[i]) })
			return nil
		})
	}
	if g.Wait(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, i := range todo {
		if errs[i] == nil {
			errs[i] = a.decide(&list[i], old, results[i], o)
		}
	}
	kept, locked := make([]lock.Skill, len(again)), []error(nil)
	for n, i := range again {
		kept[n] = list[i]
	}
	locked, err := a.CheckLocked(ctx, kept, Checking{Keep: !o.Dry, AllowUnsigned: o.AllowUnsigned})
	if err != nil {
		return nil, err
	}
	for n, i := range again {
		errs[i] = locked[n]
	}
	if o.Dry {
		return errs, nil
	}
	var unsigned []lock.Skill
	for _, i := range todo {
		if errs[i] != nil {
			continue
		}
		if err := a.keepSignatures(list[i], results[i].Bundles); err != nil {
			return nil, err
		}
		if list[i].Unsigned {
			unsigned = append(unsigned, list[i])
		}
	}
	return errs, a.scope.AcceptUnsigned(unsigned)
}

// decide records in s what was Found of it, or refuses it.
func (a *Judge) decide(s *lock.Skill, old *lock.Lock, j Found, o Options) error {
	before, _ := old.Skill(s.Name)
	sure, err := a.scope.AcceptedUnsigned(*s)
	if err != nil {
		return err
	}
	o.AllowUnsigned = o.AllowUnsigned || sure
	if err := decide(s, before, j, o); err != nil {
		return err
	}
	if v := &j.Verdict; v.Code == attest.NotChecked && !s.Unsigned {
		a.scope.Tell.Warn("%s counts as unsigned: %s", release(s), v.Reason)
	}
	a.claim(*s, j)
	return nil
}

// Options are what a person decided on the command line.
type Options struct {
	AllowUnsigned bool
	Accept        []string
	Dry           bool
	LockOnly      bool                   // nothing is going to be installed
	Chosen        func(name string) bool // the entry was not kept from the old lock
}

// decide records the verdict in s, or refuses it. before is what was installed, the zero Skill if nothing.
func decide(s *lock.Skill, before lock.Skill, j Found, o Options) error {
	pinned, here := before.Signer, signerOf(j.pin)
	if pinned == nil {
		pinned = here
	}
	s.Signer, s.Unsigned = nil, false
	switch j.Verdict.State {
	case attest.Verified:
		signer := PinOf(j.Verdict)
		what := "the installed release"
		if here != nil && j.continues && j.pin.State == scope.Accepted {
			pinned = nil // this user did that
		} else if !j.continues && (before.Signer == nil || continues(*before.Signer, signer)) {
			pinned, what = here, "the release first used on this machine"
		}
		if pinned != nil && !continues(*pinned, signer) && !slices.Contains(o.Accept, PermSigner) {
			return changedSigner(s, pinned, signer, what).Hint("if that is right: add --accept %s", PermSigner).Hint("skl trust accept %s", s.Name)
		}
		s.Signer = &signer
		return nil
	case attest.Failed:
		err := j.Verdict.Err(release(s)).(*diag.Error)
		if before.Name == "" {
			return err.Hint("ask its publisher to sign it, or configure who may: [[signer]] in config.toml")
		}
		return err.Hint("ask its publisher. To stay with %s and hear no more of it: skl update --hold %s --reason TEXT", cmp.Or(before.Version, "nothing"), s.Name)
	case attest.Skipped:
		if err := j.uncheckedChange(s); err != nil {
			return unchecked(err, s, before, j, o)
		}
		if pinned == nil || before.Signer == nil && j.pin.Unchecked {
			return nil
		}
		if before.SameRelease(*s) {
			s.Signer = pinned // nothing new was chosen, so nothing new has to be believed
			return nil
		}
		return noTrust(s, pinned)
	}
	if !j.required && pinned == nil {
		return nil
	}
	if pinned != nil && j.unasked {
		return noTrust(s, pinned)
	}
	if !o.AllowUnsigned {
		err := j.Verdict.Err(release(s)).(*diag.Error).Hint("to accept it all the same, which is recorded: add --allow-unsigned")
		if j.unasked {
			err = err.Hint("to check its signature: add [[signer]] with allowed_signers or oms to config.toml; skl help guide trust")
		}
		if pinned != nil {
			err.Message += sides(pinned, "no signature")
			err = err.Hint("skl trust accept %s", s.Name)
		}
		return err
	}
	s.Unsigned = true
	return nil
}

// unchecked is what becomes of err, the refusal of a release that names other signers than before, where nobody can check them: a person may
// have accepted it.
func unchecked(err *diag.Error, s *lock.Skill, before lock.Skill, j Found, o Options) error {
	switch {
	case len(j.claims) > 0 && slices.Contains(o.Accept, PermSigner):
		return nil
	case len(j.claims) == 0 && o.AllowUnsigned:
		s.Unsigned = true
		return nil
	case len(j.claims) > 0:
		err = err.Hint("if that is right: add --accept %s", PermSigner)
	default:
		err = err.Hint("to accept it all the same, which is recorded: add --allow-unsigned")
	}
	return err.Hint("skl trust accept %s", s.Name)
}

// release is the name of a release with its version, if it has one.
//
//go:noinline
func release(s *lock.Skill) string { return strings.TrimSuffix(s.Name+"@"+s.Version, "@") }

//go:noinline
func lockedSigner(s *lock.Signer) string {
	if s == nil {
		return ""
	}
	return attest.Signer{Kind: s.Kind, Issuer: s.Issuer, Identity: s.Identity, Repository: s.Repository, Ref: s.Ref, Runner: s.Runner, Key: s.Key}.String()
}

// WouldRefuse is the refusal of wanted, which an update would choose after old, for its signature; nil if it is not refused. An error of
// another class is that it could not be found out.
func (a *Judge) WouldRefuse(ctx context.Context, wanted, old *lock.Skill) error {
	if can, err := a.Signable(*wanted); err != nil || !can {
		return err
	}
	j, err := a.judge(*wanted, func() (evidence, error) { return a.attestations(ctx, *wanted) })
	if err == nil {
		is := *wanted
		err = decide(&is, *old, j, Options{AllowUnsigned: j.accepted})
	}
	return err
}
