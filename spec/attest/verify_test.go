package attest_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
)

const (
	forge    = "https://token.forge.test"
	workflow = "https://forge.test/acme/skills/.github/workflows/release.yml@refs/tags/v1.4.2"
)

// pdf is the release that most tests are about.
func pdf() attest.Subject {
	return attest.Subject{Name: "acme/pdf", Version: "1.4.2", Digest: attesttest.Digest("pdf 1.4.2")}
}

func sign(t testing.TB, k attest.PrivateKey, s attest.Subject) []byte {
	t.Helper()
	b, err := attest.Sign(k, attesttest.Signature(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func verifier(t testing.TB, trust attest.Trust) *attest.Verifier {
	t.Helper()
	v, err := attest.NewVerifier(trust)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func trustedRoot(t testing.TB, text []byte) *attest.TrustedRoot {
	t.Helper()
	r, err := attest.ParseRoot(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// edit changes the JSON of a bundle: path is keys and "0", value nil deletes.
func edit(t testing.TB, text []byte, value any, path ...string) []byte {
	t.Helper()
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	at := doc
	for i, key := range path {
		last := i == len(path)-1
		switch node := at.(type) {
		case map[string]any:
			if last && value == nil {
				delete(node, key)
			} else if last {
				if f, ok := value.(func(any) any); ok {
					node[key] = f(node[key])
				} else {
					node[key] = value
				}
			}
			at = node[key]
		case []any:
			at = node[0]
		default:
			t.Fatalf("no %q in the bundle", key)
		}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// flip changes one bit in the middle of a base64 value.
func flip(v any) any {
	raw, _ := base64.StdEncoding.DecodeString(v.(string))
	raw[len(raw)/2] ^= 1
	return base64.StdEncoding.EncodeToString(raw)
}

func TestVerifyByKey(t *testing.T) {
	for _, algorithm := range []attest.Algorithm{attest.ECDSA, attest.Ed25519} {
		t.Run(string(algorithm), func(t *testing.T) {
			key, foreign := attesttest.Key(t, algorithm), attesttest.Key(t, algorithm)
			good := sign(t, key, pdf())
			older := sign(t, key, attest.Subject{Name: "acme/pdf", Version: "1.4.1", Digest: attesttest.Digest("pdf 1.4.1")})
			renamed := sign(t, key, attest.Subject{Name: "acme/ocr", Version: "1.4.2", Digest: pdf().Digest})
			swapped := sign(t, key, attest.Subject{Name: "acme/pdf", Version: "1.4.2", Digest: attesttest.Digest("other bytes")})
			bare := sign(t, key, attest.Subject{Digest: attesttest.Digest("other bytes")})
			tampered := edit(t, good, func(v any) any {
				payload, _ := base64.StdEncoding.DecodeString(v.(string))
				return base64.StdEncoding.EncodeToString(bytes.Replace(payload, []byte("1.4.2"), []byte("9.9.9"), 1))
			}, "dsseEnvelope", "payload")
			sbom, err := attest.NewStatement(pdf(), "https://spdx.dev/Document", json.RawMessage(`{"a":1}`))
			if err != nil {
				t.Fatal(err)
			}
			sbomBundle, err := attest.Sign(key, sbom)
			if err != nil {
				t.Fatal(err)
			}
			for _, test := range []struct {
				name    string
				bundles [][]byte
				state   attest.State
				code    attest.Code
			}{
				{"right", [][]byte{good}, attest.Verified, ""},
				{"without name and version", [][]byte{sign(t, key, attest.Subject{Digest: pdf().Digest})}, attest.Verified, ""},
				{"none at all", nil, attest.Unsigned, attest.NoBundle},
				{"wrong key", [][]byte{sign(t, foreign, pdf())}, attest.Failed, attest.WrongKey},
				{"wrong digest", [][]byte{swapped}, attest.Failed, attest.WrongDigest},
				{"wrong digest of a bare statement", [][]byte{bare}, attest.Failed, attest.WrongDigest},
				{"replayed from the last version", [][]byte{older}, attest.Failed, attest.Replayed},
				{"replayed from another name", [][]byte{renamed}, attest.Failed, attest.Replayed},
				{"payload changed", [][]byte{tampered}, attest.Failed, attest.BadSignature},
				{"signature changed", [][]byte{edit(t, good, flip, "dsseEnvelope", "signatures", "0", "sig")}, attest.Failed, attest.BadSignature},
				{"foreign key under our hint", [][]byte{edit(t, sign(t, foreign, pdf()), key.Public().ID(), "verificationMaterial", "publicKey", "hint")}, attest.Failed, attest.BadSignature},
				{"our key without a hint", [][]byte{edit(t, good, map[string]any{}, "verificationMaterial", "publicKey")}, attest.Verified, ""},
				{"another statement of our key", [][]byte{sbomBundle}, attest.Failed, attest.WrongPredicate},
				{"one of two is good", [][]byte{sign(t, foreign, pdf()), good}, attest.Verified, ""},
				{"the nearest miss is told", [][]byte{[]byte("{}"), sign(t, foreign, pdf()), older}, attest.Failed, attest.Replayed},
				{"no JSON", [][]byte{[]byte("garbage")}, attest.Failed, attest.Malformed},
				{"too large", [][]byte{bytes.Repeat([]byte(" "), attest.MaxBundle+1)}, attest.Failed, attest.Malformed},
				{"other version", [][]byte{edit(t, good, "application/vnd.dev.sigstore.bundle.v0.4+json", "mediaType")}, attest.Failed, attest.Malformed},
				{"two signatures", [][]byte{edit(t, good, func(v any) any { return append(v.([]any), v.([]any)[0]) }, "dsseEnvelope", "signatures")}, attest.Failed, attest.Malformed},
				{"bare message", [][]byte{edit(t, edit(t, good, nil, "dsseEnvelope"), map[string]any{"signature": "AA=="}, "messageSignature")}, attest.Failed, attest.Malformed},
			} {
				t.Run(test.name, func(t *testing.T) {
					got := verifier(t, attest.Trust{Keys: []attest.PublicKey{key.Public()}}).Verify(test.bundles, pdf())
					if got.State != test.state || got.Code != test.code {
						t.Fatalf("%s %q (%s), want %s %q", got.State, got.Code, got.Reason, test.state, test.code)
					}
					if (got.Code == "") != (got.Reason == "") || (got.State == attest.Verified) != (got.Signer.Key == key.Public().Fingerprint()) {
						t.Errorf("verdict %+v is not consistent", got)
					}
					if len(test.bundles) == 1 {
						// It compares digests only, and takes every kind of statement.
						agrees := got.State == attest.Verified || got.Code == attest.WrongPredicate || test.name == "replayed from another name"
						sigstoreAgrees(t, test.bundles[0], keyMaterial(t, key.Public()), agrees, verify.WithKey(), verify.WithNoObserverTimestamps())
					}
				})
			}
		})
	}
}

// One flipped bit in any of the parts that carry the proof is refused.
func TestVerifyFlippedBits(t *testing.T) {
	s := attesttest.New(t)
	good := s.SignAs(attesttest.Signature(t, pdf()), attesttest.Claims{Issuer: forge, Identity: workflow}, attesttest.Recipe{})
	v := verifier(t, attest.Trust{Identities: []attest.Identity{{Issuer: forge, Identity: workflow}}, Root: trustedRoot(t, s.TrustedRoot())})
	for _, path := range [][]string{
		{"dsseEnvelope", "payload"},
		{"dsseEnvelope", "signatures", "0", "sig"},
		{"verificationMaterial", "certificate", "rawBytes"},
		{"verificationMaterial", "tlogEntries", "0", "canonicalizedBody"},
		{"verificationMaterial", "tlogEntries", "0", "inclusionPromise", "signedEntryTimestamp"},
		{"verificationMaterial", "tlogEntries", "0", "logId", "keyId"},
	} {
		if got := v.Verify([][]byte{edit(t, good, flip, path...)}, pdf()); got.State != attest.Failed {
			t.Errorf("a flipped bit in %s: %s", strings.Join(path, "."), got.State)
		}
	}
}

func TestVerifyByIdentity(t *testing.T) {
	s := attesttest.New(t)
	st := attesttest.Signature(t, pdf())
	claims := attesttest.Claims{Issuer: forge, Identity: workflow, Repository: "https://forge.test/acme/skills", Ref: "refs/tags/v1.4.2", Runner: "hosted"}
	exact := attest.Identity{Issuer: forge, Identity: workflow}
	past := time.Now().AddDate(-1, 0, 0)
	for _, test := range []struct {
		name   string
		bundle []byte
		trust  attest.Identity
		code   attest.Code
	}{
		{"exact", s.SignAs(st, claims, attesttest.Recipe{}), exact, ""},
		{"log of the second generation", s.SignAs(st, claims, attesttest.Recipe{Generation: 2}), exact, ""},
		{"a year ago, certificate long expired", s.SignAs(st, claims, attesttest.Recipe{At: past}), exact, ""},
		{"time from the authority only", s.SignAs(st, claims, attesttest.Recipe{NoPromise: true}), exact, ""},
		{"time from the log only", s.SignAs(st, claims, attesttest.Recipe{NoTimestamp: true}), exact, ""},
		{"email address", s.Sign(st, forge, "kim@acme.test"), attest.Identity{Issuer: forge, Identity: "kim@acme.test"}, ""},
		{"pattern", s.SignAs(st, claims, attesttest.Recipe{}), attest.Identity{Issuer: forge, Pattern: `https://forge\.test/acme/.*`}, ""},
		{"repository and runner pinned", s.SignAs(st, claims, attesttest.Recipe{}), attest.Identity{Issuer: forge, Pattern: ".*", Repository: claims.Repository, Runner: "hosted"}, ""},

		{"wrong identity", s.Sign(st, forge, "eve@acme.test"), attest.Identity{Issuer: forge, Identity: "kim@acme.test"}, attest.WrongIdentity},
		{"wrong issuer", s.Sign(st, "https://evil.test", workflow), exact, attest.WrongIssuer},
		{"issuer is not a prefix", s.Sign(st, forge+".evil.test", workflow), exact, attest.WrongIssuer},
		{"pattern is not a prefix", s.Sign(st, forge, "https://forge.test/acme-evil/x"), attest.Identity{Issuer: forge, Pattern: `https://forge\.test/acme`}, attest.WrongIdentity},
		{"pattern is not a part", s.Sign(st, forge, "https://evil.test/?https://forge.test/acme/x"), attest.Identity{Issuer: forge, Pattern: `https://forge\.test/acme/.*`}, attest.WrongIdentity},
		{"alternatives are all anchored", s.Sign(st, forge, "https://forge.test/evil/acme"), attest.Identity{Issuer: forge, Pattern: `https://forge\.test/kim|acme`}, attest.WrongIdentity},
		{"multi-line flag changes nothing", s.Sign(st, forge, "https://forge.test/acme-evil"), attest.Identity{Issuer: forge, Pattern: `(?m)https://forge\.test/acme`}, attest.WrongIdentity},
		{"other repository", s.SignAs(st, claims, attesttest.Recipe{}), attest.Identity{Issuer: forge, Pattern: ".*", Repository: "https://forge.test/kim/skills"}, attest.WrongIdentity},
		{"other runner", s.SignAs(st, claims, attesttest.Recipe{}), attest.Identity{Issuer: forge, Pattern: ".*", Runner: "self"}, attest.WrongIdentity},
		{"signed after the certificate", s.SignAs(st, claims, attesttest.Recipe{Lag: time.Hour}), exact, attest.Expired},
		{"signed before the certificate", s.SignAs(st, claims, attesttest.Recipe{Lag: -time.Hour}), exact, attest.Expired},
		{"no time at all", s.SignAs(st, claims, attesttest.Recipe{NoTimestamp: true, NoPromise: true}), exact, attest.NoTimestamp},
		{"second generation needs a timestamp", s.SignAs(st, claims, attesttest.Recipe{Generation: 2, NoTimestamp: true}), exact, attest.NoTimestamp},
		{"not logged", s.SignAs(st, claims, attesttest.Recipe{NoLog: true}), exact, attest.NotLogged},
		{"other authorities", attesttest.New(t).SignAs(st, claims, attesttest.Recipe{}), exact, attest.UntrustedRoot},
		{"replayed", s.Sign(attesttest.Signature(t, attest.Subject{Name: "acme/pdf", Version: "1.4.1", Digest: attesttest.Digest("old")}), forge, workflow), exact, attest.Replayed},
		{"wrong digest", s.Sign(attesttest.Signature(t, attest.Subject{Digest: attesttest.Digest("old")}), forge, workflow), exact, attest.WrongDigest},
		{"signed with a key", sign(t, attesttest.Key(t, attest.ECDSA), pdf()), exact, attest.WrongKey},
	} {
		t.Run(test.name, func(t *testing.T) {
			rootJSON := s.TrustedRoot()
			got := verifier(t, attest.Trust{Identities: []attest.Identity{test.trust}, Root: trustedRoot(t, rootJSON)}).Verify([][]byte{test.bundle}, pdf())
			if got.Code != test.code || (got.State == attest.Verified) != (test.code == "") {
				t.Fatalf("%s %q (%s), want %q", got.State, got.Code, got.Reason, test.code)
			}
			if test.trust.Repository == "" && test.trust.Runner == "" { // sigstore-go compares other fields for these
				sigstoreIdentity(t, test.bundle, rootJSON, test.trust, test.code == "")
			}
		})
	}
}

// Certificates of P-384 keys are good for SHA-384 alone, and nothing is printed
// about those that fail.
func TestCertificateOfALargerKey(t *testing.T) {
	made, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(made)
	if err != nil {
		t.Fatal(err)
	}
	key, err := attest.ParsePrivate(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil)
	if err != nil {
		t.Fatal(err)
	}
	good, err := attest.NewEnvelope(key, attesttest.Signature(t, pdf()))
	if err != nil {
		t.Fatal(err)
	}
	short := good
	sum := sha256.Sum256(good.Covered())
	if short.Signature, err = ecdsa.SignASN1(rand.Reader, made, sum[:]); err != nil {
		t.Fatal(err)
	}
	s := attesttest.New(t)
	leaf := s.Certificate(key.Public(), attesttest.Claims{Issuer: forge, Identity: workflow}, time.Now(), false)
	v := verifier(t, attest.Trust{Identities: []attest.Identity{{Issuer: forge, Identity: workflow}}, Root: trustedRoot(t, s.TrustedRootOf(false, true, false))})
	printed, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = printed
	defer func() { os.Stderr = stderr; printed.Close() }()
	for _, test := range []struct {
		name     string
		envelope attest.Envelope
		code     attest.Code
	}{{"SHA-384", good, ""}, {"SHA-256", short, attest.BadSignature}} {
		text, err := test.envelope.Keyless(leaf, nil, [][]byte{s.Timestamp(test.envelope.Signature, time.Now())})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Verify([][]byte{text}, pdf()); got.Code != test.code {
			t.Errorf("%s: %s %q (%s)", test.name, got.State, got.Code, got.Reason)
		}
	}
	if info, err := printed.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("the verifier printed %d bytes (%v)", info.Size(), err)
	}
}

func TestVerdictTellsWhoSigned(t *testing.T) {
	s := attesttest.New(t)
	c := attesttest.Claims{Issuer: forge, Identity: workflow, Repository: "https://forge.test/acme/skills", Ref: "refs/tags/v1.4.2", Runner: "hosted"}
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	v := verifier(t, attest.Trust{Identities: []attest.Identity{{Issuer: forge, Identity: workflow}}, Root: trustedRoot(t, s.TrustedRoot())})
	got := v.Verify([][]byte{s.SignAs(attesttest.Signature(t, pdf()), c, attesttest.Recipe{At: at})}, pdf())
	want := attest.Signer{Issuer: forge, Identity: workflow, Repository: c.Repository, Ref: c.Ref, Runner: c.Runner}
	if got.Signer != want || !got.At.Equal(at) || got.PredicateType != attest.SignaturePredicate || string(got.Predicate) != "{}" {
		t.Errorf("verdict %+v", got)
	}
	if got.Err("acme/pdf") != nil {
		t.Errorf("a verified release has the error %v", got.Err("acme/pdf"))
	}
}

func TestTrustedRootDecidesWhatIsDemanded(t *testing.T) {
	s := attesttest.New(t)
	st := attesttest.Signature(t, pdf())
	c := attesttest.Claims{Issuer: forge, Identity: workflow}
	for _, test := range []struct {
		name                   string
		logs, stamps, certLogs bool
		recipe                 attesttest.Recipe
		code                   attest.Code
	}{
		{"logs and stamps", true, true, false, attesttest.Recipe{}, ""},
		{"stamps alone, as private authorities have it", false, true, false, attesttest.Recipe{NoLog: true}, ""},
		{"stamps alone, none given", false, true, false, attesttest.Recipe{NoTimestamp: true}, attest.NoTimestamp},
		{"stamp of an authority that is not listed", true, false, false, attesttest.Recipe{NoPromise: true}, attest.NoTimestamp},
		{"certificate log", true, true, true, attesttest.Recipe{CertLogged: true}, ""},
		{"certificate log, not in it", true, true, true, attesttest.Recipe{}, attest.BadLog},
	} {
		t.Run(test.name, func(t *testing.T) {
			rootJSON := s.TrustedRootOf(test.logs, test.stamps, test.certLogs)
			id := attest.Identity{Issuer: forge, Identity: workflow}
			b := s.SignAs(st, c, test.recipe)
			got := verifier(t, attest.Trust{Identities: []attest.Identity{id}, Root: trustedRoot(t, rootJSON)}).Verify([][]byte{b}, pdf())
			if got.Code != test.code {
				t.Fatalf("%s %q (%s), want %q", got.State, got.Code, got.Reason, test.code)
			}
			options := []verify.VerifierOption{verify.WithObserverTimestamps(1)}
			if test.logs {
				options = append(options, verify.WithTransparencyLog(1))
			}
			if test.certLogs {
				options = append(options, verify.WithSignedCertificateTimestamps(1))
			}
			sigstoreWith(t, b, rootJSON, id, test.code == "", options...)
		})
	}
}

// A trusted log or timestamp does not lend its trust to a certificate of others.
func TestOtherAuthorityWithOurTimestamp(t *testing.T) {
	s, other := attesttest.New(t), attesttest.New(t)
	text := other.Sign(attesttest.Signature(t, pdf()), forge, workflow)
	var b struct {
		DsseEnvelope struct{ Signatures []struct{ Sig []byte } }
	}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	stamp := s.Timestamp(b.DsseEnvelope.Signatures[0].Sig, time.Now())
	text = edit(t, text, map[string]any{"rfc3161Timestamps": []any{map[string]any{"signedTimestamp": stamp}}}, "verificationMaterial", "timestampVerificationData")
	v := verifier(t, attest.Trust{Identities: []attest.Identity{{Issuer: forge, Identity: workflow}}, Root: trustedRoot(t, s.TrustedRootOf(false, true, false))})
	if got := v.Verify([][]byte{text}, pdf()); got.Code != attest.UntrustedRoot {
		t.Errorf("%s %q (%s)", got.State, got.Code, got.Reason)
	}
}

// An authority counts only while the root says so.
func TestAuthorityOutOfUse(t *testing.T) {
	s := attesttest.New(t)
	text := s.Sign(attesttest.Signature(t, pdf()), forge, workflow)
	ended := map[string]any{"start": "2020-01-01T00:00:00Z", "end": "2021-01-01T00:00:00Z"}
	for _, test := range []struct {
		list string
		path []string
		code attest.Code
	}{
		{"certificateAuthorities", []string{"0", "validFor"}, attest.UntrustedRoot},
		{"tlogs", []string{"0", "publicKey", "validFor"}, attest.BadLog},
	} {
		rootJSON := edit(t, s.TrustedRoot(), ended, append([]string{test.list}, test.path...)...)
		id := attest.Identity{Issuer: forge, Identity: workflow}
		got := verifier(t, attest.Trust{Identities: []attest.Identity{id}, Root: trustedRoot(t, rootJSON)}).Verify([][]byte{text}, pdf())
		if got.Code != test.code {
			t.Errorf("%s: %s %q (%s)", test.list, got.State, got.Code, got.Reason)
		}
		sigstoreIdentity(t, text, rootJSON, id, false)
	}
}

func TestVirtualSigstore(t *testing.T) {
	s := attesttest.Virtual(t)
	st := attesttest.Signature(t, pdf())
	rootJSON := s.TrustedRoot()
	id := attest.Identity{Issuer: forge, Identity: workflow}
	old := attesttest.Signature(t, attest.Subject{Name: "acme/pdf", Version: "1.4.1", Digest: attesttest.Digest("old")})
	for _, test := range []struct {
		name   string
		bundle []byte
		code   attest.Code
	}{
		{"right", s.Sign(st, forge, workflow), ""},
		{"wrong identity", s.Sign(st, forge, "https://forge.test/acme-evil"), attest.WrongIdentity},
		{"wrong issuer", s.Sign(st, "https://evil.test", workflow), attest.WrongIssuer},
		{"replayed", s.Sign(old, forge, workflow), attest.Replayed},
		{"wrong digest", s.Sign(attesttest.Signature(t, attest.Subject{Digest: attesttest.Digest("x")}), forge, workflow), attest.WrongDigest},
		{"expired", s.SignAt(st, forge, workflow, time.Now().Add(30*time.Minute)), attest.Expired},
		{"other authorities", attesttest.Virtual(t).Sign(st, forge, workflow), attest.UntrustedRoot},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := verifier(t, attest.Trust{Identities: []attest.Identity{id}, Root: trustedRoot(t, rootJSON)}).Verify([][]byte{test.bundle}, pdf())
			if got.Code != test.code {
				t.Fatalf("%s %q (%s), want %q", got.State, got.Code, got.Reason, test.code)
			}
			sigstoreIdentity(t, test.bundle, rootJSON, id, test.code == "")
		})
	}
}

func TestTrustIsChecked(t *testing.T) {
	s := attesttest.New(t)
	r := trustedRoot(t, s.TrustedRoot())
	for name, trust := range map[string]attest.Trust{
		"identity without issuer":     {Identities: []attest.Identity{{Identity: "x"}}, Root: r},
		"identity without name":       {Identities: []attest.Identity{{Issuer: forge}}, Root: r},
		"both exact and pattern":      {Identities: []attest.Identity{{Issuer: forge, Identity: "x", Pattern: "x"}}, Root: r},
		"no root":                     {Identities: []attest.Identity{{Issuer: forge, Identity: "x"}}},
		"bad pattern":                 {Identities: []attest.Identity{{Issuer: forge, Pattern: "("}}, Root: r},
		"pattern that leaves anchors": {Identities: []attest.Identity{{Issuer: forge, Pattern: "a)|(b"}}, Root: r},
		"empty key":                   {Keys: make([]attest.PublicKey, 1)},
	} {
		if _, err := attest.NewVerifier(trust); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	got := verifier(t, attest.Trust{}).Verify([][]byte{sign(t, attesttest.Key(t, ""), pdf())}, pdf())
	if got.State != attest.Skipped || got.Code != attest.NoTrust || got.Err("x") != nil {
		t.Errorf("without trust: %+v", got)
	}
}

func TestVerifierIsConcurrentAndBounded(t *testing.T) {
	key := attesttest.Key(t, attest.Ed25519)
	good, foreign := sign(t, key, pdf()), sign(t, attesttest.Key(t, attest.Ed25519), pdf())
	v := verifier(t, attest.Trust{Keys: []attest.PublicKey{key.Public()}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := v.Verify([][]byte{foreign, good}, pdf()); got.State != attest.Verified {
				t.Errorf("%+v", got)
			}
		})
	}
	s := attesttest.New(t)
	keyless := s.SignAs(attesttest.Signature(t, pdf()), attesttest.Claims{Issuer: forge, Identity: workflow}, attesttest.Recipe{CertLogged: true})
	byIdentity := verifier(t, attest.Trust{
		Identities: []attest.Identity{{Issuer: forge, Pattern: ".*"}}, Root: trustedRoot(t, s.TrustedRootOf(true, true, true)),
	})
	for range 8 {
		wg.Go(func() {
			if got := byIdentity.Verify([][]byte{keyless}, pdf()); got.State != attest.Verified {
				t.Errorf("%+v", got)
			}
		})
	}
	wg.Wait()
	many := make([][]byte, attest.MaxBundles+2)
	for i := range many {
		many[i] = foreign
	}
	many[len(many)-1] = good
	if got := v.Verify(many, pdf()); got.State != attest.Failed || got.Bundles[len(many)-1].Code == "" {
		t.Errorf("the bundle after the limit was looked at: %+v", got)
	}
}

// A verifier of sigstore-go that is set up here, for one question each time, must
// agree with the one that is kept, also on what to refuse. It knows nothing of
// names and versions of releases.
func sigstoreIdentity(t *testing.T, text, rootJSON []byte, id attest.Identity, want bool) {
	t.Helper()
	sigstoreWith(t, text, rootJSON, id, want, verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1))
}

func sigstoreWith(t *testing.T, text, rootJSON []byte, id attest.Identity, want bool, options ...verify.VerifierOption) {
	t.Helper()
	material, err := root.NewTrustedRootFromJSON(rootJSON)
	if err != nil {
		t.Fatal(err)
	}
	pattern := id.Pattern
	if pattern != "" {
		pattern = "^(?:" + pattern + ")$"
	}
	identity, err := verify.NewShortCertificateIdentity(id.Issuer, "", id.Identity, pattern)
	if err != nil {
		t.Fatal(err)
	}
	sigstoreAgrees(t, text, material, want, verify.WithCertificateIdentity(identity), options...)
}

func sigstoreAgrees(t *testing.T, text []byte, material root.TrustedMaterial, want bool, who verify.PolicyOption, options ...verify.VerifierOption) {
	t.Helper()
	v, err := verify.NewVerifier(material, options...)
	if err != nil {
		t.Fatal(err)
	}
	var b bundle.Bundle
	raw, _ := hex.DecodeString(strings.TrimPrefix(pdf().Digest, "sha256:"))
	if err = b.UnmarshalJSON(text); err == nil {
		_, err = v.Verify(&b, verify.NewPolicy(verify.WithArtifactDigest("sha256", raw), who))
	}
	if (err == nil) != want {
		t.Errorf("sigstore-go says %v", err)
	}
}
