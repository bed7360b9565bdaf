package attest

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"slices"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"

	"github.com/skl-project/skl/spec/diag"
)

// SimpleSigning is the media type of a layer that holds what cosign signed before version 3, a payload whose
// signature stands in the annotations of the layer.
const SimpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"

const (
	simpleType = "cosign container image signature"

	annotationSignature   = "dev.cosignproject.cosign/signature"
	annotationCertificate = "dev.sigstore.cosign/certificate"
	annotationRekor       = "dev.sigstore.cosign/bundle"
	annotationStamp       = "dev.sigstore.cosign/rfc3161timestamp"
)

// simpleEvidence is a signature in cosign's older form as it is kept with others.
type simpleEvidence struct {
	Payload     []byte `json:"cosign"`
	Signature   string `json:"signature"`
	Certificate string `json:"certificate"`
	Rekor       string `json:"rekor"`
	Stamp       string `json:"stamp"`
}

// SimpleEvidence is a layer of type [SimpleSigning] and its annotations as a bundle for [Verifier.Verify]. The chain
// of certificates that cosign writes beside the first is not read: the trusted root says who may certify.
func SimpleEvidence(payload []byte, annotations map[string]string) ([]byte, error) {
	return json.Marshal(simpleEvidence{payload, annotations[annotationSignature], annotations[annotationCertificate],
		annotations[annotationRekor], annotations[annotationStamp]})
}

// parseSimple returns the digest of the manifest that a payload is about.
func parseSimple(payload []byte) (string, *refusal) {
	var p struct {
		Critical struct {
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
			Type string `json:"type"`
		} `json:"critical"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return "", malformed("its payload is not JSON of the expected shape")
	}
	if p.Critical.Type != simpleType {
		return "", refuse(WrongPredicate, "it is a statement of type %q and not a signature", diag.Printable(p.Critical.Type))
	}
	if _, _, err := splitDigest(p.Critical.Image.Digest); err != nil {
		return "", malformed("its payload names no digest")
	}
	return p.Critical.Image.Digest, nil
}

// simpleSigned verifies a signature in cosign's older form for out. One by a certificate has to satisfy the trusted root as a
// bundle has, but for the proof of inclusion, which that form lacks: the promise of the log takes its place.
func (v *Verifier) simpleSigned(out *Verdict, e *simpleEvidence, subject *Subject) *refusal {
	signature, err := base64.StdEncoding.DecodeString(e.Signature)
	if err != nil || len(signature) == 0 {
		return malformed("its signature is not base64")
	}
	out.PredicateType = SignaturePredicate
	if e.Certificate == "" {
		if out.Signer.Key = v.rawSigner(signature, e.Payload); out.Signer.Key == "" {
			return refuse(WrongKey, "it is signed with a key that is not trusted")
		}
	} else {
		b, no := e.bundle(signature)
		if no != nil {
			return no
		}
		found, no := v.signedByIdentity(b, b.artifact())
		if no != nil {
			return no
		}
		if !found.accepted {
			return malformed("it does not pass the verification of sigstore")
		}
		out.Signer, out.At = found.signer, found.at
	}
	out.Signer.Kind = "cosign"
	about, no := parseSimple(e.Payload)
	switch {
	case no != nil:
		return no
	case about != subject.Digest:
		return refuse(WrongDigest, "it is a signature of other content than %s", diag.Printable(subject.Digest))
	case !slices.Contains(v.predicates, SignaturePredicate):
		return refuse(WrongPredicate, "it is a signature and nothing else")
	}
	return nil
}

// signed reports whether k signed message.
func (k *trustedKey) signed(signature, message []byte) bool {
	loaded, err := k.material.PublicKeyVerifier("")
	return err == nil && loaded.VerifySignature(bytes.NewReader(signature), bytes.NewReader(message)) == nil
}

// rawSigner is the fingerprint of the trusted key that signed message, "" if none did.
func (v *Verifier) rawSigner(signature, message []byte) string {
	for i := range v.keys {
		k := &v.keys[i]
		if k.signed(signature, message) {
			return k.Fingerprint()
		}
	}
	return ""
}

// bundle is e as a sigstore bundle of version 0.1 over a bare message, which is what sigstore-go verifies.
func (e *simpleEvidence) bundle(signature []byte) (*signed, *refusal) {
	block, rest := pem.Decode([]byte(e.Certificate))
	if block == nil || block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, malformed("its certificate is not one in PEM form")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return nil, malformed("its certificate is damaged")
	}
	m := &protobundle.VerificationMaterial{TimestampVerificationData: &protobundle.TimestampVerificationData{},
		Content: &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{
			Certificates: []*protocommon.X509Certificate{{RawBytes: block.Bytes}}}}}
	if e.Rekor != "" {
		entry, no := rekorEntry(e.Rekor)
		if no != nil {
			return nil, no
		}
		m.TlogEntries = []*protorekor.TransparencyLogEntry{entry}
	}
	if e.Stamp != "" {
		var s struct{ SignedRFC3161Timestamp []byte }
		if json.Unmarshal([]byte(e.Stamp), &s) != nil {
			return nil, malformed("its timestamp cannot be read")
		}
		m.TimestampVerificationData.Rfc3161Timestamps = []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: s.SignedRFC3161Timestamp}}
	}
	sum := sha256.Sum256(e.Payload)
	parsed, err := bundle.NewBundle(&protobundle.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle+json;version=0.1", VerificationMaterial: m,
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: sum[:]}, Signature: signature}},
	})
	if err != nil {
		return nil, refuse(BadLog, "its log entry cannot be read")
	}
	return &signed{SignedEntity: parsed, entries: m.GetTlogEntries(), message: e.Payload}, nil
}

// rekorEntry reads the log entry that cosign writes into an annotation.
func rekorEntry(text string) (*protorekor.TransparencyLogEntry, *refusal) {
	var r struct {
		SignedEntryTimestamp []byte
		Payload              struct {
			Body           []byte `json:"body"`
			IntegratedTime int64  `json:"integratedTime"`
			LogIndex       int64  `json:"logIndex"`
			LogID          string `json:"logID"`
		}
	}
	var kind struct {
		Kind    string `json:"kind"`
		Version string `json:"apiVersion"`
	}
	if json.Unmarshal([]byte(text), &r) != nil || json.Unmarshal(r.Payload.Body, &kind) != nil {
		return nil, refuse(BadLog, "its log entry cannot be read")
	}
	id, err := hex.DecodeString(r.Payload.LogID)
	if err != nil || len(r.SignedEntryTimestamp) == 0 || kind.Kind != "hashedrekord" {
		return nil, refuse(BadLog, "its log entry is not one of a signature, with the promise of the log")
	}
	return &protorekor.TransparencyLogEntry{
		LogIndex: r.Payload.LogIndex, LogId: &protocommon.LogId{KeyId: id}, IntegratedTime: r.Payload.IntegratedTime, CanonicalizedBody: r.Payload.Body,
		KindVersion:      &protorekor.KindVersion{Kind: kind.Kind, Version: kind.Version},
		InclusionPromise: &protorekor.InclusionPromise{SignedEntryTimestamp: r.SignedEntryTimestamp},
	}, nil
}
