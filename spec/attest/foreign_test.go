package attest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
)

// published is a provenance statement that a forge's CI job made in 2023, with
// entries in the public transparency logs, and the root of that time. The bundle
// is of version 0.1; version 0.3 holds the same things in another place.
func published(t *testing.T) (bundle []byte, rootJSON []byte) {
	t.Helper()
	// The files come with the module that the other tests import.
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/sigstore/sigstore-go").Output()
	if err != nil || len(strings.TrimSpace(string(dir))) == 0 {
		t.Skip("the sources of sigstore-go are not here")
	}
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "pkg", "testing", "data", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	text := read("bundles/sigstore.js@2.0.0-provenance.sigstore.json")
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	material := doc["verificationMaterial"].(map[string]any)
	chain := material["x509CertificateChain"].(map[string]any)["certificates"].([]any)
	delete(material, "x509CertificateChain")
	material["certificate"] = chain[0]
	doc["mediaType"] = attest.BundleType
	if bundle, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	return bundle, read("trusted-roots/public-good.json")
}

// Bundles made with the public services verify here, including the timestamp of the certificate log, which the root demands.
func TestPublishedBundle(t *testing.T) {
	bundle, rootJSON := published(t)
	const issuer = "https://token.actions.githubusercontent.com"
	trust := attest.Trust{Root: trustedRoot(t, rootJSON), Identities: []attest.Identity{{
		Issuer: issuer, Pattern: `https://github\.com/sigstore/sigstore-js/\.github/workflows/release\.yml@refs/heads/.*`,
	}}}
	var envelope struct{ DsseEnvelope struct{ Payload []byte } }
	var st attest.Statement
	if err := json.Unmarshal(bundle, &envelope); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(envelope.DsseEnvelope.Payload, &st); err != nil {
		t.Fatal(err)
	}
	subject := attest.Subject{Name: "acme/sigstore", Version: "2.0.0", Digest: "sha512:" + st.Subject[0].Digest["sha512"]}

	got := verifier(t, trust).Verify([][]byte{bundle}, subject)
	want := attest.Signer{
		Issuer: issuer, Identity: "https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main",
		Repository: "https://github.com/sigstore/sigstore-js", Ref: "refs/heads/main", Runner: "github-hosted",
	}
	if got.State != attest.Verified || got.Signer != want || got.PredicateType != attest.ProvenancePredicate {
		t.Fatalf("%s %s %+v %s", got.State, got.Reason, got.Signer, got.PredicateType)
	}
	for name, test := range map[string]struct {
		bundle []byte
		code   attest.Code
	}{
		"entry of another body":  {edit(t, bundle, flip, "verificationMaterial", "tlogEntries", "0", "canonicalizedBody"), attest.BadLog},
		"other proof":            {edit(t, bundle, func(v any) any { return v.([]any)[1:] }, "verificationMaterial", "tlogEntries", "0", "inclusionProof", "hashes"), attest.BadLog},
		"other promise":          {edit(t, bundle, flip, "verificationMaterial", "tlogEntries", "0", "inclusionPromise", "signedEntryTimestamp"), attest.BadLog},
		"other time":             {edit(t, bundle, "1700000000", "verificationMaterial", "tlogEntries", "0", "integratedTime"), attest.BadLog},
		"other checkpoint":       {edit(t, bundle, func(v any) any { return strings.Replace(v.(string), "\n", "1\n", 1) }, "verificationMaterial", "tlogEntries", "0", "inclusionProof", "checkpoint", "envelope"), attest.BadLog},
		"no proof, promise only": {edit(t, bundle, nil, "verificationMaterial", "tlogEntries", "0", "inclusionProof"), attest.BadLog},
		"other payload":          {edit(t, bundle, flip, "dsseEnvelope", "payload"), attest.BadSignature},
	} {
		if got := verifier(t, trust).Verify([][]byte{test.bundle}, subject); got.Code != test.code {
			t.Errorf("%s: %s %q (%s), want %q", name, got.State, got.Code, got.Reason, test.code)
		}
	}
	trust.Identities[0].Pattern = `https://github\.com/sigstore/sigstore-js`
	if got := verifier(t, trust).Verify([][]byte{bundle}, subject); got.Code != attest.WrongIdentity {
		t.Errorf("a part of the identity: %s %q", got.State, got.Code)
	}
}

// A provenance statement as GitHub's jobs attach it counts for the content, the repository, the workflow and the kind of statement that it
// is about, and for no others.
func TestForgeAttestation(t *testing.T) {
	const issuer, repository = "https://token.actions.githubusercontent.com", "https://github.com/acme/skills"
	const job = repository + "/.github/workflows/release.yml@refs/tags/v1.4.2"
	s := attesttest.New(t)
	provenance := func(digest, predicate string) attest.Statement {
		st, err := attest.NewStatement(attest.Subject{Name: "pdf.tar.gz", Digest: digest}, predicate, json.RawMessage(`{"buildDefinition":{"buildType":"x"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	right := provenance(pdf().Digest, attest.ProvenancePredicate)
	claims := attesttest.Claims{Issuer: issuer, Identity: job, Repository: repository, Ref: "refs/tags/v1.4.2", Runner: "github-hosted"}
	by := func(change func(c *attesttest.Claims)) []byte {
		c := claims
		change(&c)
		return s.SignAs(right, c, attesttest.Recipe{})
	}
	v := verifier(t, attest.Trust{Root: trustedRoot(t, s.TrustedRoot()), Identities: []attest.Identity{{
		Issuer: issuer, Pattern: `https://github\.com/acme/skills/\.github/workflows/release\.yml@refs/tags/v.*`, Repository: repository, Runner: "github-hosted",
	}}})
	for _, test := range []struct {
		name   string
		bundle []byte
		code   attest.Code
	}{
		{"right", by(func(*attesttest.Claims) {}), ""},
		{"other content", s.SignAs(provenance(attesttest.Digest("other"), attest.ProvenancePredicate), claims, attesttest.Recipe{}), attest.WrongDigest},
		{"another kind of statement", s.SignAs(provenance(pdf().Digest, "https://spdx.dev/Document/v2.3"), claims, attesttest.Recipe{}), attest.WrongPredicate},
		{"a later version of provenance", s.SignAs(provenance(pdf().Digest, "https://slsa.dev/provenance/v2"), claims, attesttest.Recipe{}), attest.WrongPredicate},
		{"another repository", by(func(c *attesttest.Claims) {
			c.Repository, c.Identity = "https://github.com/kim/skills", strings.Replace(job, "acme", "kim", 1)
		}), attest.WrongIdentity},
		{"called from another repository", by(func(c *attesttest.Claims) { c.Repository = "https://github.com/kim/skills" }), attest.WrongIdentity},
		{"another workflow", by(func(c *attesttest.Claims) { c.Identity = strings.Replace(job, "release.yml", "test.yml", 1) }), attest.WrongIdentity},
		{"a workflow of a longer name", by(func(c *attesttest.Claims) { c.Identity = "https://evil.test/?" + job }), attest.WrongIdentity},
		{"a branch", by(func(c *attesttest.Claims) { c.Identity = strings.Replace(job, "tags/v1.4.2", "heads/main", 1) }), attest.WrongIdentity},
		{"another runner", by(func(c *attesttest.Claims) { c.Runner = "self-hosted" }), attest.WrongIdentity},
		{"another issuer", by(func(c *attesttest.Claims) { c.Issuer = "https://token.actions.example.com" }), attest.WrongIssuer},
	} {
		got := v.Verify([][]byte{test.bundle}, pdf())
		if got.Code != test.code || got.State != stateOf(test.code) || got.Reason == "" && test.code != "" {
			t.Errorf("%s: %s %q: %s", test.name, got.State, got.Code, got.Reason)
		}
	}
}
