// Package signature judges who signed the releases of skills: what their signatures say, whom this user believes and pinned, and whether
// the files are those that were signed. A lock is a promise and never a permission, so nothing that it says of signers counts by itself.
package signature

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// PermSigner accepts that a skill is signed by somebody else than before.
const PermSigner = "signer"

// CanBeSigned reports whether a release carries signatures, or could: one of git does if its entry names who signed it.
//
//go:noinline
func CanBeSigned(s lock.Skill) bool {
	return s.Source == "registry" || s.Source == "oci" || s.Source == "git" && s.Signer != nil
}

// Signable reports whether signatures of a release are looked for: in git, where somebody is trusted to sign there, or is said to have.
func (a *Judge) Signable(s lock.Skill) (bool, error) {
	if s.Source != "git" || CanBeSigned(s) {
		return CanBeSigned(s), nil
	}
	t, err := a.trustFor(NamespaceOf(s))
	return t.git || t.oms, err
}

// A Judge knows what was found out of signatures in one command. Its methods may be called concurrently, unless they say something else.
type Judge struct {
	scope  *scope.Scope
	trusts trusts
	proven []lock.Skill          // what the sources of these hold was compared with their files
	signed map[string]lock.Skill // by name: what counts as signed, with its signer, or as accepted without one
	named  map[string]lock.Skill // by name: what names a signer that nobody here can check
}

// New returns a Judge for what this user trusts.
func New(sc *scope.Scope) *Judge { return &Judge{scope: sc} }

// evidence is what there is of signatures of a release.
type evidence struct {
	bundles [][]byte
	tree    bundle.Digest // of the files, where they were looked at for a signature
}

// attestations asks a source for the bundles attached to a release. Where nothing can be signed there are none.
func (a *Judge) attestations(ctx context.Context, s lock.Skill) (out evidence, err error) {
	if can, err := a.Signable(s); err != nil || !can {
		return out, err
	}
	t, err := a.trustFor(NamespaceOf(s))
	if err != nil {
		return out, err
	}
	switch {
	case s.Source == "git" && t.git:
		out.bundles, err = a.scope.Git.Signed(ctx, s, SubjectOf(s).Tags)
	case s.Source == "registry":
		out.bundles, err = a.scope.Registry.Attestations(ctx, s)
	case s.Source == "oci":
		list, oerr := a.scope.OCI.Referrers(ctx, s)
		for i := range list {
			out.bundles = append(out.bundles, list[i].Bundle)
		}
		err = oerr
	}
	if err != nil || !t.oms {
		return out, err
	}
	files, err := trees.Release(ctx, a.scope, s)
	if err != nil {
		return out, err
	}
	entries := make([]bundle.Entry, 0, len(files))
	for path, f := range files {
		entries = append(entries, bundle.Entry{Path: path, Kind: f.Kind, SHA256: sha256.Sum256(f.Data)})
	}
	out.tree = bundle.TreeDigest(entries)
	if f, ok := files[attest.OMSFile]; ok && f.Kind != bundle.Link {
		signed, err := attest.OMSEvidence(f.Data, entries)
		if err != nil {
			return out, err
		}
		out.bundles = append(out.bundles, signed)
	}
	return out, nil
}

// Found is what the signatures of one release say.
type Found struct {
	Verdict  attest.Verdict
	required bool
	accepted bool // this user took it without a signature; looked up only if the lock says that somebody did
	Bundles  [][]byte
	Tree     bundle.Digest // of the files that were looked at for a signature, "" if they were not

	pin       *scope.Pin      // who signed it before on this machine; nil on first use
	claims    []attest.Signer // whom the signatures name, where nobody is known to check them with
	revoked   attest.Signer   // whose signature it is, if the verdict is that this one was revoked
	continues bool            // one of those who signed it is pinned, or nobody is
	unasked   bool            // nobody is trusted to sign in git, so no signature was looked for there
}

// judge verifies the signatures of one release with what fetch gives. It fetches nothing when
// nobody is trusted.
func (a *Judge) judge(s lock.Skill, fetch func() (evidence, error)) (Found, error) {
	namespace := NamespaceOf(s)
	t, err := a.trustFor(namespace)
	if err != nil {
		return Found{}, err
	}
	can, err := a.Signable(s)
	if err != nil {
		return Found{}, err
	}
	j := Found{required: t.required, continues: true, Verdict: attest.Verdict{State: attest.Skipped, Code: attest.NoTrust, Reason: "no signer of " + namespace + " is known"}}
	if s.Unsigned || s.Signer == nil && can {
		if j.accepted, err = a.scope.AcceptedUnsigned(s); err != nil {
			return Found{}, err
		}
	}
	if !can {
		j.Verdict = attest.Verdict{State: attest.Unsigned, Code: attest.NoBundle, Reason: "releases from " + s.Source + " are not signed"}
		j.required = j.required && s.Source != "embedded" // what comes with skl is as good as skl
		if s.Source == "git" {
			j.unasked = true
			j.Verdict.Reason = "no [[signer]] says who signs commits, tags or files of " + namespace
		}
		return j, nil
	}
	if j.pin, err = a.pin(&s); err != nil {
		return j, err
	}
	if t.verifier == nil {
		if j.pin != nil && !j.pin.Unchecked {
			return j, nil
		}
		found, err := fetch()
		if err != nil && j.pin == nil && diag.ClassOf(err) != diag.Refused && !errors.Is(err, context.Canceled) {
			err = nil // nothing is pinned then
		}
		j.Bundles = found.bundles
		j.claims = attest.Claims(j.Bundles)
		if j.pin == nil {
			return j, err
		}
		at := j.claimed()
		if j.continues = at >= 0; j.continues && j.pin.State == scope.Revoked {
			j.revoked = j.claims[at]
			j.Verdict = revoked(j.pin)
		}
		return j, err
	}
	found, err := fetch()
	if err != nil {
		return Found{}, err
	}
	if j.Bundles, j.Tree = found.bundles, found.tree; s.Tree == "" {
		s.Tree = j.Tree // those that its pin names
	}
	if j.Verdict = t.verifier.Verify(j.Bundles, SubjectOf(s)); j.Verdict.State == attest.Verified {
		j.choose(t.verifier, &s)
	}
	return j, nil
}

// claimed is the index of the claim that continues the pin, -1 if none does.
func (j *Found) claimed() int {
	return slices.IndexFunc(j.claims, func(s attest.Signer) bool { return continues(lock.Signer(j.pin.Signer), s.Lock()) })
}

// uncheckedChange is the refusal of a release that names other signers than the one that is pinned, where nobody is known to check
// them with; nil if there is no change.
func (j *Found) uncheckedChange(s *lock.Skill) *diag.Error {
	if j.Verdict.State != attest.Skipped || j.pin == nil || !j.pin.Unchecked || j.continues {
		return nil
	}
	was := signerOf(j.pin)
	if len(j.claims) == 0 {
		err := diag.New(diag.Refused, "signature_no_signature", "%s is not signed, and an earlier release was", release(s))
		err.Message += sides(was, "no signature")
		return err
	}
	return changedSigner(s, was, j.claims[0].Lock(), "the release first used on this machine")
}

// continues reports whether a release that next signed may follow one that old signed.
//
//go:noinline
func continues(old, next lock.Signer) bool {
	same, _ := attest.Same(old, next)
	return same
}
