package attest_test

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/skl-project/skl/spec/attest"
)

// keyMaterial is key as sigstore-go trusts it.
func keyMaterial(t testing.TB, key attest.PublicKey) root.TrustedMaterial {
	t.Helper()
	block, _ := pem.Decode(key.PEM())
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	v, err := signature.LoadVerifier(parsed, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		return root.NewExpiringKey(v, time.Time{}, time.Time{}), nil
	})
}
