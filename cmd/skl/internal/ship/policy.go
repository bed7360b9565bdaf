package ship

import (
	"os"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/policy"
)

// A SignedPolicy is a policy with a signature beside it.
type SignedPolicy struct {
	File      string `json:"file"`
	Signature string `json:"signature"` // file
	Signer    string `json:"signer"`
}

// SignPolicy signs the policy of an organisation, for its clients to fetch. A file that they would refuse is not signed.
func (s *Shipper) SignPolicy(path, keyFile string, dry bool) (SignedPolicy, error) {
	full := scope.Absolute(s.Scope.Cwd, path)
	text, err := os.ReadFile(full)
	if err != nil {
		return SignedPolicy{}, diag.New(diag.Misuse, "no_policy", "the policy cannot be read: %w", err)
	}
	f, err := policy.Parse(text, s.Scope.Short(full), policy.Organisation)
	if err == nil {
		err = f.Current(time.Now())
	}
	if err != nil {
		return SignedPolicy{}, err
	}
	key, _, err := s.PrivateKey(keyFile)
	if err != nil {
		return SignedPolicy{}, err
	}
	st, err := attest.NewSignature(scope.PolicySubject(text))
	if err != nil {
		return SignedPolicy{}, err
	}
	bundle, err := attest.Sign(key, st)
	if err != nil {
		return SignedPolicy{}, err
	}
	out := SignedPolicy{File: full, Signature: full + scope.SignatureSuffix, Signer: key.Public().Fingerprint()}
	if dry {
		return out, nil
	}
	return out, durable.WriteFile(out.Signature, bundle, 0o644)
}
