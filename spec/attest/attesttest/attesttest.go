// Package attesttest is a sigstore for tests: a certificate authority, a
// timestamp authority, transparency logs of both generations and a certificate
// log, all in memory. Its signatures verify against its own trusted root and
// nowhere else.
//
// [New] gives that one; its certificates carry all claims of a CI job.
// [Virtual] gives sigstore-go's own VirtualSigstore behind the same two
// methods, so that the verifier is held against somebody else's signer too.
// Failures end the test.
package attesttest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/digitorus/timestamp"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/skl-project/skl/spec/attest"
)

// Hosts of the logs, as the trusted root names them.
const (
	logV1Host = "rekor.test"
	logV2Host = "log.rekor.test"
)

// A Sigstore is one set of authorities. It may be used concurrently.
type Sigstore struct {
	t                      testing.TB
	root, intermediate     *x509.Certificate
	intermediateKey        *ecdsa.PrivateKey
	stampRoot, stampLeaf   *x509.Certificate
	stampKey               *ecdsa.PrivateKey
	logKey, log2Key, ctKey *ecdsa.PrivateKey

	mu      sync.Mutex
	records map[int][][]byte    // by generation of the log
	hashes  map[int][]tlog.Hash // stored hashes of each
	serial  int64
}

// Claims are what a certificate says about its owner.
type Claims struct {
	Issuer, Identity        string // Identity: a URL or an email address
	Repository, Ref, Runner string
}

// A Recipe says how a bundle differs from an ordinary one.
type Recipe struct {
	At          time.Time     // when it is signed; zero is now
	Lag         time.Duration // from the certificate's start to the signature; certificates live 10 minutes
	Generation  int           // of the log: 1 (default), 2
	NoLog       bool          // in no log
	NoTimestamp bool          // no RFC 3161 timestamp
	NoPromise   bool          // log entry of generation 1 without the log's word about the time
	CertLogged  bool          // with a timestamp of the certificate log
}

// New makes a fresh set of authorities, valid for years around now.
func New(t testing.TB) *Sigstore {
	t.Helper()
	s := &Sigstore{t: t, records: map[int][][]byte{}, hashes: map[int][]tlog.Hash{}, serial: 1}
	rootKey, stampRootKey := newKey(t), newKey(t)
	s.intermediateKey, s.stampKey = newKey(t), newKey(t)
	s.logKey, s.log2Key, s.ctKey = newKey(t), newKey(t), newKey(t)
	s.root = s.authority("root", rootKey.Public(), nil, rootKey, nil)
	s.intermediate = s.authority("issuer", s.intermediateKey.Public(), s.root, rootKey, []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning})
	s.stampRoot = s.authority("stamp root", stampRootKey.Public(), nil, stampRootKey, nil)
	usage := must(asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}}))(t)
	template := s.template("stamps", time.Now().AddDate(-5, 0, 0), time.Now().AddDate(5, 0, 0))
	// RFC 3161 wants the usage to be critical, which the template's own field cannot say.
	template.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: usage}}
	s.stampLeaf = s.create(template, s.stampRoot, s.stampKey.Public(), stampRootKey)
	return s
}

// Sign is st signed now by identity, as a bundle.
func (s *Sigstore) Sign(st attest.Statement, issuer, identity string) []byte {
	return s.SignAs(st, Claims{Issuer: issuer, Identity: identity}, Recipe{})
}

// SignAs is st signed by the owner of c after recipe r.
func (s *Sigstore) SignAs(st attest.Statement, c Claims, r Recipe) []byte {
	s.t.Helper()
	key := must(attest.NewKey(attest.ECDSA))(s.t)
	envelope := must(attest.NewEnvelope(key, st))(s.t)
	if r.At.IsZero() {
		r.At = time.Now()
	}
	leaf := s.Certificate(key.Public(), c, r.At.Add(-r.Lag), r.CertLogged)
	var entries []json.RawMessage
	var stamps [][]byte
	if !r.NoLog {
		entries = append(entries, s.Log(r, envelope, leaf))
	}
	if !r.NoTimestamp {
		stamps = append(stamps, s.Timestamp(envelope.Signature, r.At))
	}
	return must(envelope.Keyless(leaf, entries, stamps))(s.t)
}

// Certificate issues a certificate for key (DER) that is valid for ten minutes
// from start.
func (s *Sigstore) Certificate(key attest.PublicKey, c Claims, start time.Time, logged bool) []byte {
	s.t.Helper()
	block, _ := pem.Decode(key.PEM())
	public := must(x509.ParsePKIXPublicKey(block.Bytes))(s.t)
	template := s.template("", start, start.Add(10*time.Minute))
	template.Subject = pkix.Name{}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
	if strings.Contains(c.Identity, "://") {
		template.URIs = []*url.URL{must(url.Parse(c.Identity))(s.t)}
	} else {
		template.EmailAddresses = []string{c.Identity}
	}
	for claim, text := range map[int]string{8: c.Issuer, 11: c.Runner, 12: c.Repository, 14: c.Ref} {
		if text != "" {
			template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{
				Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, claim}, Value: must(asn1.MarshalWithParams(text, "utf8"))(s.t),
			})
		}
	}
	template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{
		Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte(c.Issuer),
	})
	leaf := s.create(template, s.intermediate, public, s.intermediateKey)
	if !logged {
		return leaf.Raw
	}
	// The list comes last, so that leaving it out gives the first certificate again.
	template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{
		Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: s.sct(leaf, start),
	})
	return s.create(template, s.intermediate, public, s.intermediateKey).Raw
}

// sct is the extension by which the certificate log promises leaf.
func (s *Sigstore) sct(leaf *x509.Certificate, at time.Time) []byte {
	issuer := sha256.Sum256(s.intermediate.RawSubjectPublicKeyInfo)
	millis := uint64(at.UnixMilli())
	covered := binary.BigEndian.AppendUint64([]byte{0, 0}, millis)
	covered = append(append(covered, 0, 1), issuer[:]...)
	n := len(leaf.RawTBSCertificate)
	covered = append(covered, byte(n>>16), byte(n>>8), byte(n))
	covered = append(append(covered, leaf.RawTBSCertificate...), 0, 0)
	signature := s.ecdsa(s.ctKey, covered)

	item := append([]byte{0}, keyID(s.t, s.ctKey)...)
	item = binary.BigEndian.AppendUint64(item, millis)
	item = append(item, 0, 0, 4, 3)
	item = append(binary.BigEndian.AppendUint16(item, uint16(len(signature))), signature...)
	list := append(binary.BigEndian.AppendUint16(nil, uint16(len(item))), item...)
	list = append(binary.BigEndian.AppendUint16(nil, uint16(len(list))), list...)
	return must(asn1.Marshal(list))(s.t)
}

// Timestamp is an RFC 3161 response over signature.
func (s *Sigstore) Timestamp(signature []byte, at time.Time) []byte {
	sum := sha256.Sum256(signature)
	return s.TimestampDigest(sum[:], at)
}

// TimestampDigest is the same over the SHA-256 of a signature.
func (s *Sigstore) TimestampDigest(sum []byte, at time.Time) []byte {
	s.t.Helper()
	t := timestamp.Timestamp{
		HashAlgorithm: crypto.SHA256, HashedMessage: sum, Time: at,
		Policy: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2},
	}
	return must(t.CreateResponseWithOpts(s.stampLeaf, s.stampKey, crypto.SHA256))(s.t)
}

// TrustedRoot is the root of s, as trusted_root.json holds it.
func (s *Sigstore) TrustedRoot() []byte {
	return s.TrustedRootOf(true, true, false)
}

// TrustedRootOf is a root that lists only some of what s has.
func (s *Sigstore) TrustedRootOf(logs, stamps, certLogs bool) []byte {
	s.t.Helper()
	since := map[string]any{"start": time.Now().AddDate(-6, 0, 0).UTC().Format(time.RFC3339)}
	logOf := func(host string, key *ecdsa.PrivateKey) any {
		return map[string]any{
			"baseUrl": "https://" + host, "hashAlgorithm": "SHA2_256",
			"publicKey": map[string]any{"rawBytes": pkix256(s.t, key), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": since},
			"logId":     map[string]any{"keyId": keyID(s.t, key)},
		}
	}
	chain := func(uri string, cs ...*x509.Certificate) any {
		var list []any
		for _, c := range cs {
			list = append(list, map[string]any{"rawBytes": c.Raw})
		}
		return map[string]any{
			"subject": map[string]any{"organization": "test", "commonName": "test"}, "uri": uri,
			"certChain": map[string]any{"certificates": list}, "validFor": since,
		}
	}
	root := map[string]any{
		"mediaType":              "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
		"certificateAuthorities": []any{chain("https://fulcio.test", s.intermediate, s.root)},
	}
	if logs {
		root["tlogs"] = []any{logOf(logV1Host, s.logKey), logOf(logV2Host, s.log2Key)}
	}
	if stamps {
		root["timestampAuthorities"] = []any{chain("https://stamp.test", s.stampLeaf, s.stampRoot)}
	}
	if certLogs {
		root["ctlogs"] = []any{logOf("ct.test", s.ctKey)}
	}
	return must(json.MarshalIndent(root, "", "  "))(s.t)
}

// Chain is the certificates between a leaf and its root, and the root, as PEM.
func (s *Sigstore) Chain() []string {
	var out []string
	for _, c := range []*x509.Certificate{s.intermediate, s.root} {
		out = append(out, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})))
	}
	return out
}

func (s *Sigstore) template(name string, from, to time.Time) *x509.Certificate {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(s.serial), Subject: pkix.Name{CommonName: name, Organization: []string{"test"}},
		NotBefore: from, NotAfter: to, KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
}

func (s *Sigstore) authority(name string, key crypto.PublicKey, parent *x509.Certificate, signer crypto.Signer, usage []x509.ExtKeyUsage) *x509.Certificate {
	c := s.template(name, time.Now().AddDate(-5, 0, 0), time.Now().AddDate(5, 0, 0))
	c.IsCA, c.KeyUsage, c.ExtKeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign, usage
	if parent == nil {
		parent = c
	}
	return s.create(c, parent, key, signer)
}

func (s *Sigstore) create(template, parent *x509.Certificate, key crypto.PublicKey, signer crypto.Signer) *x509.Certificate {
	s.t.Helper()
	return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, parent, key, signer))(s.t)))(s.t)
}

func (s *Sigstore) ecdsa(key *ecdsa.PrivateKey, message []byte) []byte {
	sum := sha256.Sum256(message)
	return must(ecdsa.SignASN1(rand.Reader, key, sum[:]))(s.t)
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

func pkix256(t testing.TB, key *ecdsa.PrivateKey) []byte {
	return must(x509.MarshalPKIXPublicKey(key.Public()))(t)
}

// keyID is the hash by which logs name their keys, raw.
func keyID(t testing.TB, key *ecdsa.PrivateKey) []byte {
	sum := sha256.Sum256(pkix256(t, key))
	return sum[:]
}

// must turns a result with an error into one that ends the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatalf("attesttest: %v", err)
		}
		return v
	}
}

// Key makes a key of the given algorithm.
func Key(t testing.TB, a attest.Algorithm) attest.PrivateKey {
	t.Helper()
	return must(attest.NewKey(a))(t)
}

// Digest is the subject digest of content.
func Digest(content string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content)))
}

// Signature is the statement that signs s.
func Signature(t testing.TB, s attest.Subject) attest.Statement {
	t.Helper()
	return must(attest.NewSignature(s))(t)
}
