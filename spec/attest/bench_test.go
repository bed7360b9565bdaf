package attest_test

import (
	"testing"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
)

// BenchmarkVerify measures how much the verification of one release adds to an install.
func BenchmarkVerify(b *testing.B) {
	s := attesttest.New(b)
	st := attesttest.Signature(b, pdf())
	claims := attesttest.Claims{Issuer: forge, Identity: workflow}
	ecdsa, ed := attesttest.Key(b, attest.ECDSA), attesttest.Key(b, attest.Ed25519)
	identity := attest.Trust{Identities: []attest.Identity{{Issuer: forge, Identity: workflow}}, Root: trustedRoot(b, s.TrustedRoot())}
	for _, test := range []struct {
		name   string
		bundle []byte
		trust  attest.Trust
	}{
		{"ecdsa", sign(b, ecdsa, pdf()), attest.Trust{Keys: []attest.PublicKey{ecdsa.Public()}}},
		{"ed25519", sign(b, ed, pdf()), attest.Trust{Keys: []attest.PublicKey{ed.Public()}}},
		{"keyless log v1", s.SignAs(st, claims, attesttest.Recipe{NoTimestamp: true}), identity},
		{"keyless log v2 and timestamp", s.SignAs(st, claims, attesttest.Recipe{Generation: 2}), identity},
	} {
		b.Run(test.name, func(b *testing.B) {
			v := verifier(b, test.trust)
			for b.Loop() {
				if got := v.Verify([][]byte{test.bundle}, pdf()); got.State != attest.Verified {
					b.Fatal(got.Reason)
				}
			}
		})
	}
}

func BenchmarkSign(b *testing.B) {
	for _, a := range []attest.Algorithm{attest.ECDSA, attest.Ed25519} {
		key := attesttest.Key(b, a)
		b.Run(string(a), func(b *testing.B) {
			for b.Loop() {
				sign(b, key, pdf())
			}
		})
	}
}

func BenchmarkParseRoot(b *testing.B) {
	text := attesttest.New(b).TrustedRoot()
	for b.Loop() {
		if _, err := attest.ParseRoot(text); err != nil {
			b.Fatal(err)
		}
	}
}
