package attest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// BundleType is the media type of a bundle, and the artifact type of a referrer
// that carries one.
const BundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// the same version as some writers spell it.
const bundleTypeOld = "application/vnd.dev.sigstore.bundle+json;version=0.3"

// Limits of what is read from outside.
const (
	MaxBundle  = 1 << 20 // bytes of one bundle
	MaxBundles = 64      // bundles looked at for one subject

	maxLogEntries = 32
	maxTimestamps = 32
)

// An Envelope is a signed statement, before it is put into a bundle.
type Envelope struct {
	Payload   []byte // the statement as JSON
	Signature []byte // over Covered
}

// Covered are the bytes that an envelope's signature covers.
func (e Envelope) Covered() []byte { return dsse.PAE(payloadType, e.Payload) }

// MarshalJSON is the DSSE form.
func (e Envelope) MarshalJSON() ([]byte, error) { return marshal(e.message()) }

func (e Envelope) message() *protodsse.Envelope {
	return &protodsse.Envelope{Payload: e.Payload, PayloadType: payloadType, Signatures: []*protodsse.Signature{{Sig: e.Signature}}}
}

// NewEnvelope signs st with key.
func NewEnvelope(key PrivateKey, st Statement) (Envelope, error) {
	payload, err := json.Marshal(st)
	if err != nil {
		return Envelope{}, fmt.Errorf("encoding the statement: %w", err)
	}
	signature, err := key.Sign(dsse.PAE(payloadType, payload))
	if err != nil {
		return Envelope{}, fmt.Errorf("signing: %w", err)
	}
	return Envelope{payload, signature}, nil
}

// Sign is st signed with key, as a bundle.
func Sign(key PrivateKey, st Statement) ([]byte, error) {
	e, err := NewEnvelope(key, st)
	if err != nil {
		return nil, err
	}
	return e.bundle(&protobundle.VerificationMaterial{
		Content: &protobundle.VerificationMaterial_PublicKey{PublicKey: &protocommon.PublicKeyIdentifier{Hint: key.public.ID()}},
	})
}

// Keyless is e as a bundle that proves who signed it and when: the signer's
// certificate (DER), its entries in transparency logs (each the JSON of
// sigstore's TransparencyLogEntry) and RFC 3161 responses over the signature.
func (e Envelope) Keyless(certificate []byte, entries []json.RawMessage, timestamps [][]byte) ([]byte, error) {
	m := &protobundle.VerificationMaterial{
		Content:                   &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: certificate}},
		TimestampVerificationData: &protobundle.TimestampVerificationData{},
	}
	for _, raw := range entries {
		entry := &protorekor.TransparencyLogEntry{}
		if err := protojson.Unmarshal(raw, entry); err != nil {
			return nil, fmt.Errorf("log entry: %w", err)
		}
		m.TlogEntries = append(m.TlogEntries, entry)
	}
	for _, t := range timestamps {
		m.TimestampVerificationData.Rfc3161Timestamps = append(m.TimestampVerificationData.Rfc3161Timestamps,
			&protocommon.RFC3161SignedTimestamp{SignedTimestamp: t})
	}
	return e.bundle(m)
}

func (e Envelope) bundle(m *protobundle.VerificationMaterial) ([]byte, error) {
	return marshal(&protobundle.Bundle{
		MediaType: BundleType, VerificationMaterial: m,
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: e.message()},
	})
}

// marshal is m as compact JSON. What protojson writes has white space that
// changes from build to build, and the digest of a bundle must not.
func marshal(m proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// A signed is a bundle of the only shape that is accepted here, with one signed
// statement. Nothing in it is verified.
type signed struct {
	verify.SignedEntity // a bundle
	entries             []*protorekor.TransparencyLogEntry
	payload             []byte
	hint                string // of the key; "" with a certificate
	byKey               bool
	message             []byte // of one that has no statement, what is signed
}

// artifact is the policy that a bare message is signed; of a statement, that its subject is not compared.
func (b *signed) artifact() verify.ArtifactPolicyOption {
	if b.message == nil {
		return verify.WithoutArtifactUnsafe()
	}
	return verify.WithArtifact(bytes.NewReader(b.message))
}

// Version hides the version of the bundle from sigstore-go's verifier. For those
// up to 0.3 it would accept SHA-256 under a P-384 key as old writers used it,
// and report each attempt on standard error.
func (*signed) Version() (string, error) { return "", nil }

// parseBundle reads a bundle; nothing is verified yet.
func parseBundle(text []byte) (*signed, *refusal) {
	if len(text) > MaxBundle {
		return nil, refuse(Malformed, "it has %d bytes, more than %d", len(text), MaxBundle)
	}
	message := &protobundle.Bundle{}
	if err := protojson.Unmarshal(text, message); err != nil {
		return nil, refuse(Malformed, "it is not a sigstore bundle")
	}
	envelope, material := message.GetDsseEnvelope(), message.GetVerificationMaterial()
	switch {
	case message.MediaType != BundleType && message.MediaType != bundleTypeOld:
		return nil, refuse(Malformed, "bundles of type %q are not read, only version 0.3", message.MediaType)
	case message.GetMessageSignature() != nil:
		return nil, refuse(Malformed, "it signs a bare message and not a statement")
	case envelope.GetPayloadType() != payloadType:
		return nil, refuse(Malformed, "it holds no in-toto statement")
	case len(envelope.Signatures) != 1 || len(envelope.Signatures[0].GetSig()) == 0:
		return nil, refuse(Malformed, "it has %d signatures where one is expected", len(envelope.Signatures))
	case material.GetX509CertificateChain() != nil:
		return nil, refuse(Malformed, "it holds a chain of certificates, which version 0.3 does not allow")
	case material.GetPublicKey() == nil && material.GetCertificate() == nil:
		return nil, refuse(Malformed, "it names neither a key nor a certificate")
	case len(material.TlogEntries) > maxLogEntries:
		return nil, refuse(Malformed, "it has %d log entries", len(material.TlogEntries))
	case len(material.GetTimestampVerificationData().GetRfc3161Timestamps()) > maxTimestamps:
		return nil, refuse(Malformed, "it has %d timestamps", len(material.TimestampVerificationData.Rfc3161Timestamps))
	}
	for _, entry := range material.TlogEntries {
		if entry.GetInclusionProof() == nil { // sigstore-go is content with one that has it
			return nil, refuse(BadLog, "its log entry has no inclusion proof")
		}
	}
	parsed, err := bundle.NewBundle(message)
	if err != nil {
		if _, err := (&bundle.Bundle{Bundle: message}).TlogEntries(); err != nil {
			return nil, refuse(BadLog, "its log entry cannot be read")
		}
		return nil, refuse(Malformed, "it is not a complete bundle of version 0.3")
	}
	return &signed{
		SignedEntity: parsed, entries: material.TlogEntries, payload: envelope.Payload,
		byKey: material.GetPublicKey() != nil, hint: material.GetPublicKey().GetHint(),
	}, nil
}

// statement parses the payload.
func (b *signed) statement() (Statement, *refusal) {
	var st Statement
	if err := json.Unmarshal(b.payload, &st); err != nil {
		return Statement{}, refuse(Malformed, "its statement is not JSON of the expected shape")
	}
	if st.Type != statementType && st.Type != statementTypeOld {
		return Statement{}, refuse(Malformed, "statements of type %q are not read", st.Type)
	}
	if len(st.Subject) == 0 || len(st.Subject) > maxSubjects {
		return Statement{}, refuse(Malformed, "its statement has %d subjects", len(st.Subject))
	}
	return st, nil
}
