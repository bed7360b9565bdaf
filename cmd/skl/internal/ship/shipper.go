// Package ship brings skills to registries: publish, sign, attest, and the states of releases. Nothing becomes visible
// before it is complete.
package ship

import (
	"context"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// A Shipper publishes skills, signs releases and changes their states.
type Shipper struct {
	*scope.Scope
	// Secret asks a person for a passphrase; its error is ask.ErrNobody where nobody can be asked.
	Secret func(prompt string) (string, error)
}

// An AttachRequest asks for a signed statement about a release.
type AttachRequest struct {
	Ref       string // NS/NAME@VERSION, or an OCI ref
	To        string // registry of a name; "" is the owner of the namespace
	Statement func(attest.Subject) (attest.Statement, error)
	Signing   Signing
	DryRun    bool
}

// Attach signs a statement about a release and pushes it.
func (s *Shipper) Attach(ctx context.Context, r AttachRequest) (Signed, error) {
	sign, err := s.signer(ctx, r.Signing)
	if err != nil {
		return Signed{}, err
	}
	if sign == nil {
		return Signed{}, diag.New(diag.Misuse, "usage", "sign with what?").Hint("--sign KEYFILE, or --sign keyless").Hint("skl key new makes a key")
	}
	to, t, version, err := s.published(ctx, r.Ref, r.To)
	if err != nil {
		return Signed{}, err
	}
	reference := version
	if to.rest != nil {
		if reference, err = oci.Tag(version); err != nil {
			return Signed{}, err
		}
	}
	root, err := to.oci.Resolve(ctx, t, reference)
	if err != nil {
		return Signed{}, err
	}
	subject := attest.Subject{Name: t.Repo, Digest: root.Digest.String()}
	if v, ok := oci.Version(reference); ok {
		subject.Version = v
	}
	st, err := r.Statement(subject)
	if err != nil {
		return Signed{}, err
	}
	out := Signed{Ref: r.Ref, Digest: root.Digest.String(), Predicate: st.PredicateType}
	if r.DryRun {
		return out, nil
	}
	image, signer, err := attachment(ctx, sign, st, root.Descriptor, time.Time{})
	if err != nil {
		return Signed{}, err
	}
	out.Signer = signer
	_, err = to.oci.Push(ctx, t, image)
	return out, err
}
