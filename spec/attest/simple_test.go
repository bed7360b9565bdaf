package attest_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
)

// simple is what cosign signed before version 3.
func simple(digest string) []byte {
	return []byte(`{"critical":{"identity":{"docker-reference":"ghcr.io/acme/pdf"},"image":{"docker-manifest-digest":"` + digest + `"},"type":"cosign container image signature"},"optional":null}`)
}

func simpleEvidence(t testing.TB, payload []byte, annotations map[string]string) []byte {
	t.Helper()
	e, err := attest.SimpleEvidence(payload, annotations)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// keyed are the annotations of a signature by a key.
func keyed(t testing.TB, key attest.PrivateKey, payload []byte) map[string]string {
	t.Helper()
	signature, err := key.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)}
}

// Signatures in cosign's older form are verified by key and by identity, and each refusal has its own reason.
func TestSimpleSigning(t *testing.T) {
	const issuer, alice = "https://token.forge.test", "alice@example.com"
	v, elsewhere := attesttest.Virtual(t), attesttest.Virtual(t)
	right := simple(pdf().Digest)
	now := time.Now().Add(5 * time.Minute)
	good := v.Cosign(right, issuer, alice, now)
	other := v.Cosign(right, issuer, alice, now)
	with := func(name, value string) map[string]string {
		all := maps.Clone(good)
		if all[name] = value; value == "" {
			delete(all, name)
		}
		return all
	}
	const certificate, rekor, signature = "dev.sigstore.cosign/certificate", "dev.sigstore.cosign/bundle", "dev.cosignproject.cosign/signature"
	rekorWith := func(key string, value any) map[string]string {
		var doc map[string]any
		if err := json.Unmarshal([]byte(good[rekor]), &doc); err != nil {
			t.Fatal(err)
		}
		if key == "SignedEntryTimestamp" {
			doc[key] = value
		} else {
			doc["Payload"].(map[string]any)[key] = value
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return with(rekor, string(text))
	}
	key, foreign, curve := attesttest.Key(t, attest.ECDSA), attesttest.Key(t, attest.ECDSA), attesttest.Key(t, attest.Ed25519)
	trust := attest.Trust{
		Keys: []attest.PublicKey{key.Public(), curve.Public()}, Root: trustedRoot(t, v.TrustedRoot()),
		Identities: []attest.Identity{{Issuer: issuer, Pattern: `alice@.*`}},
	}
	unlike := []byte(strings.Replace(string(right), "cosign container image signature", "something else", 1))
	for _, test := range []struct {
		name        string
		payload     []byte
		annotations map[string]string
		code        attest.Code
	}{
		{"by key", right, keyed(t, key, right), ""},
		{"by Ed25519", right, keyed(t, curve, right), ""},
		{"by identity", right, good, ""},

		{"wrong key", right, keyed(t, foreign, right), attest.WrongKey},
		{"key, other payload", simple(attesttest.Digest("other")), keyed(t, key, right), attest.WrongKey},
		{"key, wrong digest", simple(attesttest.Digest("other")), keyed(t, key, simple(attesttest.Digest("other"))), attest.WrongDigest},
		{"key, another type", unlike, keyed(t, key, unlike), attest.WrongPredicate},
		{"key, no payload", []byte("{"), keyed(t, key, []byte("{")), attest.Malformed},
		{"key, two payloads", append(right, right...), keyed(t, key, append(right, right...)), attest.Malformed},
		{"no signature", right, nil, attest.Malformed},

		{"wrong identity", right, v.Cosign(right, issuer, "mallory@example.com", now), attest.WrongIdentity},
		{"look-alike identity", right, v.Cosign(right, issuer, "not-alice@example.com", now), attest.WrongIdentity},
		{"wrong issuer", right, v.Cosign(right, "https://evil.test", alice, now), attest.WrongIssuer},
		{"wrong digest", simple(attesttest.Digest("other")), v.Cosign(simple(attesttest.Digest("other")), issuer, alice, now), attest.WrongDigest},
		{"replayed on other content", simple(attesttest.Digest("other")), good, attest.BadSignature},
		{"expired", right, v.Cosign(right, issuer, alice, time.Now().Add(30*time.Minute)), attest.Expired},
		{"another authority", right, elsewhere.Cosign(right, issuer, alice, now), attest.UntrustedRoot},
		{"no log entry", right, with(rekor, ""), attest.NotLogged},
		{"log entry of another signature", right, with(rekor, other[rekor]), attest.BadLog},
		{"another log", right, rekorWith("logID", strings.Repeat("00", 32)), attest.NotLogged},
		{"another time", right, rekorWith("integratedTime", now.Unix()+1), attest.BadLog},
		{"no promise", right, rekorWith("SignedEntryTimestamp", ""), attest.BadLog},
		{"damaged log entry", right, with(rekor, "{}"), attest.BadLog},
		{"certificate of another signature", right, with(certificate, other[certificate]), attest.BadSignature},
		{"signature of another certificate", right, with(signature, other[signature]), attest.BadSignature},
		{"stripped certificate", right, with(certificate, ""), attest.WrongKey},
		{"two certificates", right, with(certificate, good[certificate]+other[certificate]), attest.Malformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := verifier(t, trust).Verify([][]byte{simpleEvidence(t, test.payload, test.annotations)}, pdf())
			if got.Code != test.code || (got.State == attest.Verified) != (test.code == "") || got.Reason == "" && test.code != "" {
				t.Fatalf("%s %q: %s", got.State, got.Code, got.Reason)
			}
			if got.State == attest.Verified && (got.Signer.Kind != "cosign" || got.Signer.Key == "" && got.Signer.Identity != alice) {
				t.Errorf("%+v", got.Signer)
			}
		})
	}
	if got := verifier(t, trust).Verify(nil, pdf()); got.Code != attest.NoBundle {
		t.Errorf("stripped: %s %q", got.State, got.Code)
	}
	rotation := trust
	rotation.Predicates = []string{attest.RotationPredicate}
	if got := verifier(t, rotation).Verify([][]byte{simpleEvidence(t, right, good)}, pdf()); got.Code != attest.WrongPredicate {
		t.Errorf("taken for another statement: %s %q", got.State, got.Code)
	}
}

// A payload that was not signed over the subject is never accepted, whatever its annotations hold.
func FuzzSimple(f *testing.F) {
	v := attesttest.Virtual(f)
	key := fixedKey(f)
	right := simple(pdf().Digest)
	good := v.Cosign(right, "https://token.forge.test", "alice@example.com", time.Now().Add(5*time.Minute))
	f.Add(right, good["dev.cosignproject.cosign/signature"], good["dev.sigstore.cosign/certificate"], good["dev.sigstore.cosign/bundle"])
	f.Add(right, keyed(f, key, right)["dev.cosignproject.cosign/signature"], "", "")
	check := verifier(f, attest.Trust{Keys: []attest.PublicKey{key.Public()}, Root: trustedRoot(f, v.TrustedRoot()),
		Identities: []attest.Identity{{Issuer: "https://token.forge.test", Pattern: `.*`}}})
	f.Fuzz(func(t *testing.T, payload []byte, signature, certificate, rekor string) {
		e := simpleEvidence(t, payload, map[string]string{"dev.cosignproject.cosign/signature": signature, "dev.sigstore.cosign/certificate": certificate, "dev.sigstore.cosign/bundle": rekor})
		other := attest.Subject{Digest: attesttest.Digest("never signed")}
		if got := check.Verify([][]byte{e}, other); got.State != attest.Failed || got.Code == "" || got.Reason == "" {
			t.Errorf("%+v", got)
		}
		if got := check.Verify([][]byte{e}, pdf()); got.State == attest.Verified && string(payload) != string(right) {
			t.Errorf("verified %q", payload)
		}
	})
}
