package attest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
	"github.com/skl-project/skl/spec/bundle"
)

// filesOf are the entries of a skill: content by path; a path that ends in "@" is a link.
func filesOf(files map[string]string) []bundle.Entry {
	var out []bundle.Entry
	for path, text := range files {
		e := bundle.Entry{Path: strings.TrimSuffix(path, "@"), Kind: bundle.Plain, SHA256: sha256.Sum256([]byte(text))}
		if e.Path != path {
			e.Kind = bundle.Link
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b bundle.Entry) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// omsStatement is what OpenSSF Model Signing signs of files; its subject is the digest of what change leaves in the list.
func omsStatement(t testing.TB, entries []bundle.Entry, change func(predicate map[string]any)) attest.Statement {
	t.Helper()
	resources := []any{}
	for _, e := range entries {
		if e.Path == attest.OMSFile {
			continue
		}
		resources = append(resources, map[string]any{"name": e.Path, "digest": hex.EncodeToString(e.SHA256[:]), "algorithm": "sha256"})
	}
	predicate := map[string]any{
		"serialization": map[string]any{"method": "files", "hash_type": "sha256", "allow_symlinks": false, "ignore_paths": []string{".gitignore", ".github", "notes"}},
		"resources":     resources,
	}
	if change != nil {
		change(predicate)
	}
	h := sha256.New()
	for _, r := range predicate["resources"].([]any) {
		raw, err := hex.DecodeString(r.(map[string]any)["digest"].(string))
		if err != nil {
			t.Fatal(err)
		}
		h.Write(raw)
	}
	text, err := json.Marshal(predicate)
	if err != nil {
		t.Fatal(err)
	}
	st, err := attest.NewStatement(attest.Subject{Name: "pdf", Digest: "sha256:" + hex.EncodeToString(h.Sum(nil))}, "https://model_signing/signature/v1.0", text)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// An authority certifies those who sign files.
type authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	a.cert = a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "Acme CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, a.key)
	return a
}

func (a *authority) issue(c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	c.SerialNumber = big.NewInt(1)
	if c.NotAfter.IsZero() {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// sign is st signed by the owner of a certificate of a, as a bundle with the chain.
func (a *authority) sign(st attest.Statement, leaf *x509.Certificate) []byte {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	signer, err := attest.ParsePrivate(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	text, err := attest.Sign(signer, st)
	if err != nil {
		a.t.Fatal(err)
	}
	var chain []any
	for _, c := range []*x509.Certificate{a.issue(leaf, key), a.cert} {
		chain = append(chain, map[string]any{"rawBytes": base64.StdEncoding.EncodeToString(c.Raw)})
	}
	return edit(a.t, text, map[string]any{"x509CertificateChain": map[string]any{"certificates": chain}, "tlogEntries": []any{}}, "verificationMaterial")
}

func signerCert(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature}
}

// A signature over all files of a skill is verified by key and by a certificate of a trusted authority; whatever else is among the files,
// missing or changed is refused with its own reason.
func TestOMS(t *testing.T) {
	ca, elsewhere := newAuthority(t), newAuthority(t)
	key, foreign := attesttest.Key(t, attest.ECDSA), attesttest.Key(t, attest.ECDSA)
	files := map[string]string{"SKILL.md": "# PDF", "scripts/fill.py": "print(1)", attest.OMSFile: ""}
	with := func(more map[string]string) []bundle.Entry {
		all := map[string]string{}
		for _, m := range []map[string]string{files, more} {
			for path, text := range m {
				if all[path] = text; text == "gone" {
					delete(all, path)
				}
			}
		}
		return filesOf(all)
	}
	plain := with(nil)
	st := omsStatement(t, plain, nil)
	byKey := func(k attest.PrivateKey, st attest.Statement) []byte {
		text, err := attest.Sign(k, st)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good := ca.sign(st, signerCert("Skills 001"))
	// The signer sorts the parts of paths, so that a/b comes before a-b.
	two := filesOf(map[string]string{"a/b": "2", "a-b": "1"})
	backwards := omsStatement(t, []bundle.Entry{two[1], two[0]}, nil)
	expired := signerCert("Skills 001")
	expired.NotBefore, expired.NotAfter = time.Now().Add(-50*time.Minute), time.Now().Add(-10*time.Minute)
	unable := signerCert("Skills 001")
	unable.KeyUsage = x509.KeyUsageKeyAgreement
	other := st
	other.PredicateType = attest.ProvenancePredicate
	aboutOther, aboutTwo := st, st
	aboutOther.Subject = backwards.Subject
	aboutTwo.Subject = append(slices.Clone(st.Subject), st.Subject...)
	virtual := attesttest.Virtual(t)
	changed := func(change func(map[string]any)) []byte { return byKey(key, omsStatement(t, plain, change)) }
	for _, test := range []struct {
		name    string
		text    []byte
		files   []bundle.Entry
		pattern string
		code    attest.Code
	}{
		{"key", byKey(key, st), plain, "", ""},
		{"certificate", good, plain, "", ""},
		{"its subject", good, plain, `CN=Skills \d+`, ""},
		{"in the order of its list", byKey(key, backwards), filesOf(map[string]string{"a-b": "1", "a/b": "2", attest.OMSFile: ""}), "", ""},

		{"wrong key", byKey(foreign, st), plain, "", attest.WrongKey},
		{"another authority", elsewhere.sign(st, signerCert("Skills 001")), plain, "", attest.UntrustedRoot},
		{"not for signatures", ca.sign(st, unable), plain, "", attest.UntrustedRoot},
		{"wrong identity", good, plain, `CN=Skills 002`, attest.WrongIdentity},
		{"part of an identity", good, plain, `Skills`, attest.WrongIdentity},
		{"expired", ca.sign(st, expired), plain, "", attest.Expired},
		{"changed statement", edit(t, good, flip, "dsseEnvelope", "payload"), plain, "", attest.BadSignature},
		{"changed signature", edit(t, good, func(v any) any { return v.([]any)[:0] }, "dsseEnvelope", "signatures"), plain, "", attest.Malformed},
		{"signature of another", edit(t, good, json.RawMessage(payloadOf(t, ca.sign(omsStatement(t, with(map[string]string{"SKILL.md": "else"}), nil), signerCert("Skills 001")))), "dsseEnvelope", "payload"), plain, "", attest.BadSignature},
		{"keyless", virtual.Sign(st, "https://token.forge.test", "alice@example.com"), plain, "", attest.NotChecked},
		{"wrong digest", good, with(map[string]string{"SKILL.md": "# Other"}), "", attest.WrongDigest},
		{"of another skill", good, filesOf(map[string]string{"SKILL.md": "# OCR", attest.OMSFile: ""}), "", attest.WrongDigest},
		{"one more file", good, with(map[string]string{"more.md": "x"}), "", attest.WrongDigest},
		{"one that it ignores and is not git's", good, with(map[string]string{"notes/a.md": "x"}), "", attest.WrongDigest},
		{"one of git's that it ignores", good, with(map[string]string{".gitignore": "x"}), "", attest.WrongDigest},
		{"one below .github, which it ignores", good, with(map[string]string{".github/a.yml": "y"}), "", attest.WrongDigest},
		{"a file outside", changed(func(p map[string]any) {
			sum := sha256.Sum256([]byte("x"))
			p["resources"] = append(p["resources"].([]any), map[string]any{"name": "../x", "digest": hex.EncodeToString(sum[:]), "algorithm": "sha256"})
		}), plain, "", attest.WrongDigest},
		{"a file that is called otherwise", changed(func(p map[string]any) { p["resources"].([]any)[0].(map[string]any)["name"] = "./SKILL.md" }), plain, "", attest.WrongDigest},
		{"an algorithm that is not named", changed(func(p map[string]any) { delete(p["resources"].([]any)[0].(map[string]any), "algorithm") }), plain, "", attest.Malformed},
		{"another algorithm for one file", changed(func(p map[string]any) { p["resources"].([]any)[0].(map[string]any)["algorithm"] = "sha512" }), plain, "", attest.Malformed},
		{"a digest cut short", changed(func(p map[string]any) { p["resources"].([]any)[0].(map[string]any)["digest"] = "00" }), plain, "", attest.Malformed},
		{"a leaf that is an authority", ca.sign(st, &x509.Certificate{Subject: pkix.Name{CommonName: "Skills 001"}, KeyUsage: x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true}), plain, "", attest.UntrustedRoot},
		{"its own file elsewhere", good, with(map[string]string{"a/" + attest.OMSFile: "x"}), "", attest.WrongDigest},
		{"one missing", good, with(map[string]string{"scripts/fill.py": "gone"}), "", attest.WrongDigest},
		{"a link in place of a file", good, with(map[string]string{"scripts/fill.py": "gone", "scripts/fill.py@": "print(1)"}), "", attest.WrongDigest},
		{"another predicate", byKey(key, other), plain, "", attest.WrongPredicate},
		{"plain signature", sign(t, key, pdf()), plain, "", attest.WrongPredicate},
		{"shards", changed(func(p map[string]any) { p["serialization"].(map[string]any)["method"] = "shards" }), plain, "", attest.NotChecked},
		{"another hash", changed(func(p map[string]any) { p["serialization"].(map[string]any)["hash_type"] = "blake2b" }), plain, "", attest.NotChecked},
		{"a file twice", changed(func(p map[string]any) { r := p["resources"].([]any); p["resources"] = append(r, r[0]) }), plain, "", attest.Malformed},
		{"a file left out", changed(func(p map[string]any) { p["resources"] = p["resources"].([]any)[:1] }), plain, "", attest.WrongDigest},
		{"other files than its subject", byKey(key, aboutOther), plain, "", attest.WrongDigest},
		{"two subjects", byKey(key, aboutTwo), plain, "", attest.Malformed},
		{"no file", changed(func(p map[string]any) { p["resources"] = []any{} }), plain, "", attest.Malformed},
		{"not JSON", []byte("x"), plain, "", attest.Malformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := attest.OMSEvidence(test.text, test.files)
			if err != nil {
				t.Fatal(err)
			}
			who, err := attest.ParseOMSSigners(append(key.Public().PEM(), ca.pem()...), test.pattern, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			v := verifier(t, attest.Trust{OMS: []attest.OMSSigners{who}})
			got := v.Verify([][]byte{e}, attest.Subject{Tree: string(bundle.TreeDigest(test.files))})
			if got.Code != test.code || got.State != stateOf(test.code) || got.Reason == "" && test.code != "" {
				t.Fatalf("%s %q: %s", got.State, got.Code, got.Reason)
			}
			if got.State == attest.Verified && (got.Signer.Kind != "oms" || got.Signer.Key == "" && got.Signer.Identity != "CN=Skills 001") {
				t.Errorf("%+v", got.Signer)
			}
			// The files are those of the release, or nothing is signed.
			for _, tree := range []string{"", string(bundle.TreeDigest(nil))} {
				if got := v.Verify([][]byte{e}, attest.Subject{Tree: tree}); got.State != attest.Failed || got.Code != attest.WrongDigest {
					t.Errorf("of the tree %q: %s %q", tree, got.State, got.Code)
				}
			}
			if got := verifier(t, attest.Trust{Keys: []attest.PublicKey{key.Public()}}).Verify([][]byte{e}, attest.Subject{Tree: string(bundle.TreeDigest(test.files))}); got.Code != attest.WrongKey {
				t.Errorf("nobody is trusted for files: %s %q", got.State, got.Code)
			}
		})
	}
	for name, text := range map[string][]byte{
		"nothing": nil, "rest": append(ca.pem(), 'x'), "private": func() []byte { text, _ := key.PEM(nil); return text }(),
		"leaf": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.issue(signerCert("x"), ca.key).Raw}),
	} {
		if _, err := attest.ParseOMSSigners(text, "", time.Now()); err == nil {
			t.Errorf("%s is taken for signers", name)
		}
	}
	if _, err := attest.ParseOMSSigners(ca.pem(), "(", time.Now()); err == nil {
		t.Error("a pattern that is none")
	}
}

// payloadOf is the payload of a bundle, as JSON.
func payloadOf(t testing.TB, text []byte) []byte {
	t.Helper()
	var doc struct {
		DsseEnvelope struct {
			Payload json.RawMessage `json:"payload"`
		} `json:"dsseEnvelope"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.DsseEnvelope.Payload
}

// No file that nobody signed passes, whatever the signature file holds.
func FuzzOMS(f *testing.F) {
	key := fixedKey(f)
	files := filesOf(map[string]string{"SKILL.md": "# PDF", attest.OMSFile: ""})
	good, err := attest.Sign(key, omsStatement(f, files, nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"x509CertificateChain":{"certificates":[{}]}}}`))
	who, err := attest.ParseOMSSigners(append(key.Public().PEM(), newAuthority(f).pem()...), "", time.Now())
	if err != nil {
		f.Fatal(err)
	}
	v := verifier(f, attest.Trust{OMS: []attest.OMSSigners{who}})
	other := filesOf(map[string]string{"SKILL.md": "# Never signed", attest.OMSFile: ""})
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := attest.OMSEvidence(text, other)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Verify([][]byte{e}, attest.Subject{Tree: string(bundle.TreeDigest(other))}); got.State == attest.Verified || got.Code == "" || got.Reason == "" {
			t.Errorf("%+v", got)
		}
	})
}
