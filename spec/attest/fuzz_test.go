package attest_test

import (
	"encoding/json"
	"testing"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
)

// Whatever a bundle holds, it is verified only if its signature is of the
// trusted key over a statement about the subject.
func FuzzVerify(f *testing.F) {
	s := attesttest.New(f)
	key := fixedKey(f)
	root, err := attest.ParseRoot(s.TrustedRoot())
	if err != nil {
		f.Fatal(err)
	}
	good := sign(f, key, pdf())
	f.Add(good)
	f.Add(s.Sign(attesttest.Signature(f, pdf()), forge, workflow))
	f.Add(s.SignAs(attesttest.Signature(f, pdf()), attesttest.Claims{Issuer: forge, Identity: workflow}, attesttest.Recipe{Generation: 2, CertLogged: true}))
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}`))
	v, err := attest.NewVerifier(attest.Trust{
		Keys: []attest.PublicKey{key.Public()}, Root: root, Identities: []attest.Identity{{Issuer: forge, Pattern: ".*"}},
	})
	if err != nil {
		f.Fatal(err)
	}
	// The subject was never signed by the key: only the identity's seeds may pass.
	other := attest.Subject{Name: "acme/pdf", Version: "1.4.2", Digest: attesttest.Digest("never signed")}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := v.Verify([][]byte{b}, other); got.State != attest.Failed || got.Code == "" || got.Reason == "" {
			t.Errorf("%+v", got)
		}
		got := v.Verify([][]byte{b}, pdf())
		if got.State == attest.Verified {
			var seen struct{ DsseEnvelope struct{ Payload []byte } }
			var st attest.Statement
			if json.Unmarshal(b, &seen) != nil || json.Unmarshal(seen.DsseEnvelope.Payload, &st) != nil || "sha256:"+st.Subject[0].Digest["sha256"] != pdf().Digest {
				t.Errorf("verified %q", b)
			}
		}
	})
}

// Every text that parses as a key is written in a form that parses as the same key.
func FuzzKeys(f *testing.F) {
	for _, a := range []attest.Algorithm{attest.ECDSA, attest.Ed25519} {
		key := attesttest.Key(f, a)
		text, err := key.PEM(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(key.Public().PEM())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, err := attest.ParsePublic(text); err == nil {
			if again, err := attest.ParsePublic(k.PEM()); err != nil || !again.Equal(k) {
				t.Errorf("%q: %v", text, err)
			}
		}
		if k, err := attest.ParsePrivate(text, nil); err == nil {
			out, err := k.PEM(nil)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := attest.ParsePrivate(out, nil); err != nil || !again.Public().Equal(k.Public()) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

// A root that is read never makes the verifier panic.
func FuzzRoot(f *testing.F) {
	s := attesttest.New(f)
	f.Add(s.TrustedRoot())
	f.Add(s.TrustedRootOf(false, true, true))
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`))
	bundle := s.SignAs(attesttest.Signature(f, pdf()), attesttest.Claims{Issuer: forge, Identity: workflow}, attesttest.Recipe{CertLogged: true})
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := attest.ParseRoot(text)
		if (r == nil) == (err == nil) {
			t.Fatalf("root %v, error %v", r, err)
		}
		if err == nil {
			v, err := attest.NewVerifier(attest.Trust{Root: r, Identities: []attest.Identity{{Issuer: forge, Identity: workflow}}})
			if err != nil {
				t.Fatal(err)
			}
			v.Verify([][]byte{bundle}, pdf())
		}
	})
}
