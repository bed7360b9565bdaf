package admin

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

// A SignerRequest asks for another list of signers of a namespace. One that names no signer changes only whether
// signatures are required.
type SignerRequest struct {
	Site             Site
	Namespace        string
	Key              string // file with the public key, PEM
	Issuer, Identity string // in place of a key
	Remove           bool
	Require          bool // refuse releases without a good signature
	NoRequire        bool
	DryRun           bool
}

// Signers changes the list of signers of a namespace, or only shows it. A dry run returns what it would be.
func (a *Admin) Signers(ctx context.Context, r SignerRequest) (Namespaces, error) {
	signer, err := a.signer(r)
	if err != nil {
		return Namespaces{}, err
	}
	return on(ctx, a, r.Site, func(s *site) (Namespaces, error) {
		n, err := s.client.Namespace(ctx, r.Namespace)
		if err != nil {
			return Namespaces{}, err
		}
		before := n.Policy
		if n.Policy.Signers, err = changeSigners(n, signer, r.Remove); err != nil {
			return Namespaces{}, err
		}
		n.Policy.RequireSignature = (before.RequireSignature || r.Require) && !r.NoRequire
		changed := !slices.Equal(before.Signers, n.Policy.Signers) || before.RequireSignature != n.Policy.RequireSignature
		if changed {
			n, err = s.update(ctx, n, wire.NamespaceChange{Policy: &n.Policy, DryRun: r.DryRun})
		}
		return Namespaces{[]wire.Namespace{n}, s.at}, err
	})
}

// changeSigners returns the signers of n with signer added or removed. The zero signer changes nothing.
func changeSigners(n wire.Namespace, signer wire.Signer, remove bool) ([]wire.Signer, error) {
	list := slices.Clone(n.Policy.Signers)
	if signer == (wire.Signer{}) {
		return list, nil
	}
	have := slices.IndexFunc(list, func(s wire.Signer) bool { return sameSigner(s, signer) })
	switch {
	case !remove && have < 0:
		list = append(list, signer)
	case remove && have < 0:
		return nil, diag.New(diag.Misuse, "unknown_signer", "namespace %s has no such signer", n.Name).Hint("skl registry namespace signer %s", n.Name)
	case remove:
		list = slices.Delete(list, have, have+1)
	}
	return list, nil
}

// signer is the signer that a request describes, the zero one if it does not.
func (a *Admin) signer(r SignerRequest) (wire.Signer, error) {
	s := wire.Signer{Issuer: r.Issuer, Identity: r.Identity}
	switch {
	case r.Require && r.NoRequire:
		return s, diag.New(diag.Misuse, "usage", "--require and --no-require exclude each other")
	case r.Key != "" && s != (wire.Signer{}), (s.Issuer == "") != (s.Identity == ""):
		return s, diag.New(diag.Misuse, "usage", "a signer is a key, or an issuer and an identity").Hint("add --key FILE, or --issuer URL --identity PATTERN")
	case r.Key == "" && s == (wire.Signer{}) && r.Remove:
		return s, diag.New(diag.Misuse, "usage", "--remove needs to know whom").Hint("add --key FILE, or --issuer URL --identity PATTERN")
	case r.Key == "":
		return s, nil
	}
	text, err := os.ReadFile(scope.Absolute(a.Scope.Cwd, r.Key))
	if err != nil {
		return s, diag.New(diag.Misuse, "no_such_file", "--key: %w", err)
	}
	if strings.Contains(string(text), "PRIVATE KEY") {
		return s, diag.New(diag.Misuse, "private_key", "%s is a private key, which nobody else must see", r.Key).Hint("skl key show %s prints the public one", r.Key)
	}
	if _, err := attest.ParsePublic(text); err != nil {
		return s, err
	}
	s.Key = strings.TrimSpace(string(text)) + "\n"
	return s, nil
}

func sameSigner(a, b wire.Signer) bool {
	if a.Key != "" && b.Key != "" {
		return SignerName(a) == SignerName(b)
	}
	return a == b
}

// SignerName is the fingerprint of a key, or an identity.
func SignerName(s wire.Signer) string {
	if s.Key == "" {
		return s.Identity
	}
	key, err := attest.ParsePublic([]byte(s.Key))
	if err != nil {
		return "a key that cannot be read"
	}
	return key.Fingerprint()
}
