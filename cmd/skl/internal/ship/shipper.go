// Package ship brings skills to registries: publish, sign, attest, and the states of releases. Nothing becomes visible
// before it is complete.
package ship

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
)

// A Shipper publishes skills, signs releases and changes their states.
type Shipper struct {
	Scope *scope.Scope
	// Secret asks a person for a passphrase; its error is ask.ErrNobody where nobody can be asked.
	Secret func(prompt string) (string, error)
}

// An AttachRequest asks for a signed statement about a release.
type AttachRequest struct {
	Ref       string // NS/NAME@VERSION, or an OCI ref
	To        string // registry of a name; "" is the owner of the namespace
	Predicate string // file with the predicate, a JSON object; "" signs the release itself
	Type      string // of the predicate, a URI
	Signing   Signing
	DryRun    bool
}

// Attach signs a statement about a release and pushes it.
func (s *Shipper) Attach(ctx context.Context, r AttachRequest) (Signed, error) {
	statement, err := s.statement(r)
	if err != nil {
		return Signed{}, err
	}
	sign, err := s.signer(ctx, r.Signing)
	if err != nil {
		return Signed{}, err
	}
	if sign == nil {
		return Signed{}, diag.New(diag.Misuse, "usage", "sign with what?").Hint("--sign KEYFILE, or --sign keyless").Hint("to make a key: skl key new -o KEYFILE")
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
	st, err := statement(subject)
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
	if _, err = to.oci.Push(ctx, t, image); err != nil || to.rest == nil || r.Predicate != "" {
		return out, err
	}
	// A signature may be what the release waited for, or not be by one of those whom its namespace knows.
	namespace, name, _ := strings.Cut(t.Repo, "/")
	v, err := to.rest.Version(ctx, namespace, name, version)
	out.State, out.Reason = v.State, v.Reason
	return out, err
}

// statement makes what is to be signed about a release.
func (s *Shipper) statement(r AttachRequest) (func(attest.Subject) (attest.Statement, error), error) {
	if r.Predicate == "" {
		return attest.NewSignature, nil
	}
	text, err := os.ReadFile(scope.Absolute(s.Scope.Cwd, r.Predicate))
	if err != nil {
		return nil, diag.New(diag.Misuse, "invalid_predicate", "the predicate cannot be read: %w", err)
	}
	return func(subject attest.Subject) (attest.Statement, error) {
		return attest.NewStatement(subject, r.Type, json.RawMessage(text))
	}, nil
}
