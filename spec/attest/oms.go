package attest

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"regexp"
	"strings"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// OMSFile is the file of a skill that holds an OpenSSF Model Signing signature over all others.
const OMSFile = "skill.oms.sig"

const (
	omsPredicate = "https://model_signing/signature/v1.0"
	maxOMSFiles  = 10_000
	maxChain     = 8
)

// OMSSigners are who may sign the files of a skill: keys, and authorities that certify signers.
type OMSSigners struct {
	keys    []PublicKey
	roots   []*x509.Certificate
	trusted *regexp.Regexp // whole subject of a certificate; nil: any
	now     time.Time
}

// ParseOMSSigners reads public keys and certificates of authorities, in PEM form. pattern is a regular expression (RE2) for the whole subject
// of a signer's certificate, as "CN=Skills 001,O=Acme,C=US"; "" means any. A signature says no time, so its certificates have to be
// valid at now. Errors have the codes invalid_signers and invalid_trust.
func ParseOMSSigners(text []byte, pattern string, now time.Time) (OMSSigners, error) {
	s := OMSSigners{now: now}
	var err error
	if s.trusted, err = wholePattern(pattern); err != nil {
		return OMSSigners{}, err
	}
	bad := func(why string) (OMSSigners, error) {
		return OMSSigners{}, diag.New(diag.Failed, codeSigners, "the file of signers %s", why)
	}
	if len(text) > maxAllowedSigners {
		return bad("is too large")
	}
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		switch block.Type {
		case pemPublic:
			k, err := ParsePublic(pem.EncodeToMemory(block))
			if err != nil {
				return OMSSigners{}, err
			}
			s.keys = append(s.keys, k)
		case "CERTIFICATE":
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil || !c.IsCA || !c.BasicConstraintsValid {
				return bad("has a certificate that is not one of an authority")
			}
			s.roots = append(s.roots, c)
		default:
			return bad("has a PEM block " + diag.Printable(block.Type))
		}
	}
	if len(bytes.TrimSpace(text)) > 0 || len(s.keys)+len(s.roots) == 0 {
		return bad("holds something else than public keys and certificates in PEM form")
	}
	return s, nil
}

// omsEvidence is the signature file of a skill with the digests of all its files.
type omsEvidence struct {
	Bundle []byte    `json:"oms"`
	Files  []omsFile `json:"files"`
}

type omsFile struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	SHA256 string `json:"sha256"`
}

// OMSEvidence is what [OMSFile] of a skill holds, as a bundle for [Verifier.Verify]; entries are all files of the skill. They count
// only if they make the Tree of the subject.
func OMSEvidence(text []byte, entries []bundle.Entry) ([]byte, error) {
	e := omsEvidence{Bundle: text}
	for _, f := range entries {
		e.Files = append(e.Files, omsFile{f.Path, string(rune(f.Kind)), hex.EncodeToString(f.SHA256[:])})
	}
	return json.Marshal(e)
}

// tree checks that the files of e are those of the tree.
func (e *omsEvidence) tree(want string) *refusal {
	if want == "" || len(e.Files) == 0 || len(e.Files) > maxOMSFiles {
		return refuse(WrongDigest, "its files are not known")
	}
	entries := make([]bundle.Entry, len(e.Files))
	for i, f := range e.Files {
		raw, err := hex.DecodeString(f.SHA256)
		if err != nil || len(raw) != sha256.Size || len(f.Kind) != 1 || strings.ContainsAny(f.Path, "\n") {
			return malformed("the list of its files is damaged")
		}
		entries[i] = bundle.Entry{Path: f.Path, Kind: bundle.Kind(f.Kind[0]), SHA256: [sha256.Size]byte(raw)}
	}
	if is := bundle.TreeDigest(entries); string(is) != want {
		return refuse(WrongDigest, "it was found with other files, %s in place of %s", is, diag.Printable(want))
	}
	return nil
}

// omsSigned verifies the signature file of a skill for out.
func (v *Verifier) omsSigned(out *Verdict, e *omsEvidence, subject *Subject) *refusal {
	if len(v.oms) == 0 {
		return refuse(WrongKey, "it is a signature of files, and nobody is trusted for those")
	}
	if no := e.tree(subject.Tree); no != nil {
		return no
	}
	var st Statement
	if no := v.omsSigner(&out.Signer, &st, e.Bundle); no != nil {
		return no
	}
	if st.PredicateType != omsPredicate {
		return refuse(WrongPredicate, "it is a statement of type %q and not a signature of files", diag.Printable(st.PredicateType))
	}
	if no := st.covers(e.Files); no != nil {
		return no
	}
	out.PredicateType, out.Predicate = st.PredicateType, st.Predicate
	return nil
}

// omsSigner finds who signed a bundle, and what.
func (v *Verifier) omsSigner(signer *Signer, st *Statement, text []byte) (no *refusal) {
	message := &protobundle.Bundle{}
	if len(text) > MaxBundle || protojson.Unmarshal(text, message) != nil {
		return malformed("it is not a sigstore bundle")
	}
	envelope, material := message.GetDsseEnvelope(), message.GetVerificationMaterial()
	switch {
	case message.MediaType != BundleType && message.MediaType != bundleTypeOld:
		return refuse(Malformed, "bundles of type %q are not read, only version 0.3", diag.Printable(message.MediaType))
	case envelope.GetPayloadType() != payloadType || len(envelope.GetSignatures()) != 1:
		return malformed("it holds no in-toto statement with one signature")
	}
	if *st, no = (&signed{payload: envelope.Payload}).statement(); no != nil {
		return no
	}
	covered, signature := dsse.PAE(payloadType, envelope.Payload), envelope.Signatures[0].GetSig()
	chain := material.GetX509CertificateChain().GetCertificates()
	switch {
	case material.GetPublicKey() != nil:
		for i := range v.oms {
			for _, k := range v.oms[i].keys {
				if signedWith(k, signature, covered) {
					signer.Kind, signer.Key = "oms", k.Fingerprint()
					return nil
				}
			}
		}
		return refuse(WrongKey, "it is signed with a key that is not trusted")
	case material.GetCertificate() != nil:
		return refuse(NotChecked, "its files are signed for an identity, which skl verifies in bundles that are attached only")
	case len(chain) == 0 || len(chain) > maxChain:
		return malformed("it names neither a key nor a chain of certificates")
	}
	all := make([]*x509.Certificate, len(chain))
	for i, c := range chain {
		var err error
		if all[i], err = x509.ParseCertificate(c.GetRawBytes()); err != nil {
			return malformed("its certificate is damaged")
		}
	}
	var first *refusal
	for i := range v.oms {
		no := v.oms[i].certified(signer, all)
		if no == nil {
			k, err := publicKey(all[0].PublicKey)
			if err != nil || !signedWith(k, signature, covered) {
				return refuse(BadSignature, "its content was changed after signing, or another key signed it")
			}
			return nil
		}
		if first == nil {
			first = no
		}
	}
	return first
}

// certified says whom the first certificate of a chain was issued to, by an authority of s.
func (s *OMSSigners) certified(signer *Signer, chain []*x509.Certificate) *refusal {
	leaf, subject := chain[0], diag.Printable(chain[0].Subject.String())
	o := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: leaf.NotBefore, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for _, c := range s.roots {
		o.Roots.AddCert(c)
	}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	found, err := leaf.Verify(o)
	if err != nil || leaf.IsCA || leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return refuse(UntrustedRoot, "its certificate was not issued by a trusted authority for signatures")
	}
	if s.trusted != nil && !s.trusted.MatchString(leaf.Subject.String()) {
		return refuse(WrongIdentity, "it is signed by %s, who is not trusted", subject)
	}
	if s.now.IsZero() {
		return refuse(NoTimestamp, "nothing says at which time its certificate has to be valid")
	}
	o.CurrentTime = s.now
	if _, err := leaf.Verify(o); err != nil {
		return refuse(Expired, "its certificate is valid from %s to %s, and it says no time at which it was signed", stamp(leaf.NotBefore), stamp(leaf.NotAfter))
	}
	root := sha256.Sum256(found[0][len(found[0])-1].Raw)
	signer.Kind, signer.Identity, signer.Issuer = "oms", subject, "x509:"+base64.RawStdEncoding.EncodeToString(root[:])
	return nil
}

// signedWith reports whether k signed message.
func signedWith(k PublicKey, signature, message []byte) bool {
	trusted, err := trustKey(k)
	if err != nil {
		return false
	}
	return trusted.signed(signature, message)
}

// covers checks that st names exactly these files, as they are, and leaves out its own file alone. What it says that it
// ignores, as the files of git, nobody signed.
func (st *Statement) covers(files []omsFile) *refusal {
	var p struct {
		Serialization struct {
			Method string `json:"method"`
			Hash   string `json:"hash_type"`
		} `json:"serialization"`
		Resources []struct {
			Name      string `json:"name"`
			Digest    string `json:"digest"`
			Algorithm string `json:"algorithm"`
		} `json:"resources"`
	}
	if json.Unmarshal(st.Predicate, &p) != nil || len(p.Resources) == 0 || len(p.Resources) > maxOMSFiles || len(st.Subject) != 1 {
		return malformed("its statement is not a list of files")
	}
	if p.Serialization.Method != "files" || p.Serialization.Hash != "sha256" {
		return refuse(NotChecked, "its files are hashed by %q and %q, which skl does not verify", diag.Printable(p.Serialization.Method), diag.Printable(p.Serialization.Hash))
	}
	listed := make(map[string]string, len(p.Resources))
	for _, r := range p.Resources {
		if _, twice := listed[r.Name]; twice || r.Algorithm != "sha256" {
			return refuse(Malformed, "its statement names %q twice, or not by its SHA-256", diag.Printable(r.Name))
		}
		listed[r.Name] = r.Digest
	}
	// The subject is the digest of the digests, in the order of the list.
	h := sha256.New()
	for _, r := range p.Resources {
		raw, err := hex.DecodeString(r.Digest)
		if err != nil || len(raw) != sha256.Size {
			return refuse(Malformed, "the digest of %q is not valid", diag.Printable(r.Name))
		}
		h.Write(raw)
	}
	if hex.EncodeToString(h.Sum(nil)) != st.Subject[0].Digest["sha256"] {
		return refuse(WrongDigest, "its statement is not about the files that it lists")
	}
	for _, f := range files {
		signed, ok := listed[f.Path]
		delete(listed, f.Path)
		switch {
		case ok && f.Kind == string(rune(bundle.Link)):
			return refuse(WrongDigest, "%s is a link, and was signed as a file", diag.Printable(f.Path))
		case ok && signed != f.SHA256:
			return refuse(WrongDigest, "%s is not as it was signed", diag.Printable(f.Path))
		case !ok && f.Path != OMSFile:
			return refuse(WrongDigest, "%s was not signed", diag.Printable(f.Path))
		}
	}
	for _, r := range p.Resources {
		if _, missing := listed[r.Name]; missing {
			return refuse(WrongDigest, "%s was signed and is missing", diag.Printable(r.Name))
		}
	}
	return nil
}
