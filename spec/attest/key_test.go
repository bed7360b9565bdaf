package attest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

func TestKeyRoundTrip(t *testing.T) {
	for _, algorithm := range []attest.Algorithm{attest.ECDSA, attest.Ed25519} {
		for _, passphrase := range []string{"", "correct horse"} {
			key := attesttest.Key(t, algorithm)
			text, err := key.PEM([]byte(passphrase))
			if err != nil {
				t.Fatal(err)
			}
			again, err := attest.ParsePrivate(text, []byte(passphrase))
			if err != nil || !again.Public().Equal(key.Public()) {
				t.Errorf("%s, passphrase %q: %v", algorithm, passphrase, err)
			}
			if sealed := strings.Contains(string(text), "ENCRYPTED SIGSTORE PRIVATE KEY"); sealed != (passphrase != "") {
				t.Errorf("passphrase %q: %.40s", passphrase, text)
			}
			if passphrase != "" {
				_, err := attest.ParsePrivate(text, []byte("wrong"))
				if !errors.Is(err, diag.Code("key_passphrase")) {
					t.Errorf("wrong passphrase: %v", err)
				}
				if _, err := attest.ParsePrivate(text, nil); diag.ClassOf(err) != diag.NeedsInput {
					t.Errorf("no passphrase: %v", err)
				}
				// sigstore's own tools open it too.
				if _, err := cryptoutils.UnmarshalPEMToPrivateKey(text, cryptoutils.StaticPasswordFunc([]byte(passphrase))); err != nil {
					t.Errorf("cryptoutils: %v", err)
				}
			}
			public, err := attest.ParsePublic(key.Public().PEM())
			if err != nil || !public.Equal(key.Public()) || public.ID() != key.Public().ID() {
				t.Errorf("public: %v", err)
			}
			for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
				if got := fmt.Sprintf(verb, key); got != "private key "+key.Public().Fingerprint() {
					t.Errorf("%s prints %q", verb, got)
				}
			}
		}
	}
}

// Keys that others made, of every kind that is accepted, sign and verify.
func TestKeysOfOthers(t *testing.T) {
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsa2048, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, made := range map[string]any{"ECDSA P-384": p384, "RSA": rsa2048} {
		der, err := x509.MarshalPKCS8PrivateKey(made)
		if err != nil {
			t.Fatal(err)
		}
		key, err := attest.ParsePrivate(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil)
		if err != nil {
			t.Fatal(err)
		}
		v := verifier(t, attest.Trust{Keys: []attest.PublicKey{attesttest.Key(t, "").Public(), key.Public()}})
		good := sign(t, key, pdf())
		if got := v.Verify([][]byte{good}, pdf()); got.State != attest.Verified || got.Signer.Key != key.Public().Fingerprint() {
			t.Errorf("%s: %+v", name, got)
		}
		changed := edit(t, good, flip, "dsseEnvelope", "signatures", "0", "sig")
		if got := v.Verify([][]byte{changed}, pdf()); got.Code != attest.BadSignature {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A key pair as sigstore's own tools seal it.
func TestKeyOfSigstoreTools(t *testing.T) {
	private, public, err := cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(), cryptoutils.StaticPasswordFunc([]byte("pass")))
	if err != nil {
		t.Fatal(err)
	}
	key, err := attest.ParsePrivate(private, []byte("pass"))
	if err != nil {
		t.Fatal(err)
	}
	if other, err := attest.ParsePublic(public); err != nil || !other.Equal(key.Public()) {
		t.Errorf("public: %v", err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	key := attesttest.Key(t, attest.Ed25519)
	plain, err := key.PEM(nil)
	if err != nil {
		t.Fatal(err)
	}
	public := key.Public().PEM()
	for _, test := range []struct {
		name, text, code string
		private          bool
	}{
		{"empty", "", "invalid_key", true},
		{"public where private belongs", string(public), "invalid_key", true},
		{"private where public belongs", string(plain), "invalid_key", false},
		{"damaged private", strings.Replace(string(plain), "M", "A", 1), "invalid_key", true},
		{"damaged public", strings.Replace(string(public), "M", "A", 1), "invalid_key", false},
		{"two keys", string(public) + string(public), "invalid_key", false},
		{"certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "invalid_key", false},
		{"huge", strings.Repeat("x", 1<<17), "invalid_key", false},
		{"scrypt of another strength", "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n" + "eyJrZGYiOnsibmFtZSI6InNjcnlwdCIsInBhcmFtcyI6eyJOIjoxMDczNzQxODI0LCJyIjo4LCJwIjoxfX0sImNpcGhlciI6eyJuYW1lIjoibmFjbC9zZWNyZXRib3gifX0=" + "\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n", "key_passphrase", true},
	} {
		var err error
		if test.private {
			_, err = attest.ParsePrivate([]byte(test.text), []byte("pass"))
		} else {
			_, err = attest.ParsePublic([]byte(test.text))
		}
		if !errors.Is(err, diag.Code(test.code)) {
			t.Errorf("%s: %v, want %s", test.name, err, test.code)
		}
	}
	if _, err := attest.NewKey("rsa"); !errors.Is(err, diag.Code("key_algorithm")) {
		t.Errorf("unknown algorithm: %v", err)
	}
}

func TestRotation(t *testing.T) {
	old, next, thief := attesttest.Key(t, attest.ECDSA), attesttest.Key(t, attest.Ed25519), attesttest.Key(t, attest.ECDSA)
	st, err := attest.Rotation(old.Public(), next.Public(), "laptop stolen")
	if err != nil {
		t.Fatal(err)
	}
	b, err := attest.Sign(old, st)
	if err != nil {
		t.Fatal(err)
	}
	got, err := attest.Rotated(b, old.Public())
	if err != nil || !got.Equal(next.Public()) {
		t.Errorf("%v", err)
	}
	if _, err := attest.Rotated(b, thief.Public()); err == nil {
		t.Error("a rotation counts for a key that did not sign it")
	}
	stolen, err := attest.Sign(thief, st)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := attest.Rotated(stolen, old.Public()); !errors.Is(err, diag.Code("rotation_refused")) {
		t.Errorf("signed by somebody else: %v", err)
	}
	// A release signature is not a rotation, and a rotation signs no release.
	if _, err := attest.Rotated(sign(t, old, pdf()), old.Public()); err == nil {
		t.Error("a signature counts as a rotation")
	}
	subject := attest.Subject{Digest: "sha256:" + st.Subject[0].Digest["sha256"]}
	if got := verifier(t, attest.Trust{Keys: []attest.PublicKey{old.Public()}}).Verify([][]byte{b}, subject); got.Code != attest.WrongPredicate {
		t.Errorf("a rotation counts as a signature: %+v", got)
	}
	if _, err := attest.Rotation(old.Public(), old.Public(), ""); !errors.Is(err, diag.Code("same_key")) {
		t.Errorf("to itself: %v", err)
	}
}

func TestStatementsAreChecked(t *testing.T) {
	for _, digest := range []string{"", "sha256:", "sha256:zz", "md5:d41d8cd98f00b204e9800998ecf8427e", "sha256:" + strings.Repeat("A", 64), "sha512:" + strings.Repeat("a", 64)} {
		if _, err := attest.NewSignature(attest.Subject{Digest: digest}); !errors.Is(err, diag.Code("invalid_digest")) {
			t.Errorf("digest %q: %v", digest, err)
		}
	}
	for _, predicate := range []string{"", "[]", "{", "null", "1"} {
		if _, err := attest.NewStatement(pdf(), "x:y", json.RawMessage(predicate)); !errors.Is(err, diag.Code("invalid_predicate")) {
			t.Errorf("predicate %q: %v", predicate, err)
		}
	}
}

func TestSame(t *testing.T) {
	was := lock.Signer{Issuer: forge, Identity: "https://forge.test/acme/skills/release.yml@refs/tags/v1.4.1", Repository: "https://forge.test/acme/skills", Ref: "refs/tags/v1.4.1", Runner: "hosted"}
	change := func(f func(*lock.Signer)) lock.Signer { s := was; f(&s); return s }
	for _, test := range []struct {
		name    string
		is      lock.Signer
		changed string
	}{
		{"nothing", was, ""},
		{"the next tag", change(func(s *lock.Signer) {
			s.Ref, s.Identity = "refs/tags/v1.5.0", "https://forge.test/acme/skills/release.yml@refs/tags/v1.5.0"
		}), ""},
		{"issuer", change(func(s *lock.Signer) { s.Issuer = "https://evil.test" }), "the issuer of the signer was https://token.forge.test and is https://evil.test"},
		{"workflow", change(func(s *lock.Signer) { s.Identity = "https://forge.test/acme/skills/other.yml@refs/tags/v1.4.1" }), "the identity of the signer was https://forge.test/acme/skills/release.yml and is https://forge.test/acme/skills/other.yml"},
		{"repository", change(func(s *lock.Signer) { s.Repository = "https://forge.test/eve/skills" }), "the repository of the signer was https://forge.test/acme/skills and is https://forge.test/eve/skills"},
		{"runner", change(func(s *lock.Signer) { s.Runner = "self" }), "the runner of the signer was hosted and is self"},
		{"from identity to key", lock.Signer{Key: "SHA256:x"}, "the key of the signer was none and is SHA256:x"},
	} {
		ok, changed := attest.Same(was, test.is)
		if ok != (test.changed == "") || changed != test.changed {
			t.Errorf("%s: %v %q", test.name, ok, changed)
		}
	}
	if ok, _ := attest.Same(lock.Signer{Identity: "kim@refs.test"}, lock.Signer{Identity: "eve@refs.test"}); ok {
		t.Error("two people are one")
	}
}
