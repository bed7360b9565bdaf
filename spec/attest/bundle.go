package attest

import (
	"encoding/json"
	"fmt"
	"strconv"
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
func (e Envelope) Covered() []byte { return pae(payloadType, e.Payload) }

// MarshalJSON is the DSSE form.
func (e Envelope) MarshalJSON() ([]byte, error) {
	return json.Marshal(dsseEnvelope{Payload: e.Payload, PayloadType: payloadType, Signatures: []dsseSignature{{Sig: e.Signature}}})
}

// NewEnvelope signs st with key.
func NewEnvelope(key PrivateKey, st Statement) (Envelope, error) {
	payload, err := json.Marshal(st)
	if err != nil {
		return Envelope{}, fmt.Errorf("encoding the statement: %w", err)
	}
	signature, err := key.Sign(pae(payloadType, payload))
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
	return e.bundle(material{PublicKey: &keyHint{key.public.ID()}})
}

// Keyless is e as a bundle that proves who signed it and when: the signer's
// certificate (DER), its entries in transparency logs (each the JSON of
// sigstore's TransparencyLogEntry) and RFC 3161 responses over the signature.
func (e Envelope) Keyless(certificate []byte, entries []json.RawMessage, timestamps [][]byte) ([]byte, error) {
	m := material{Certificate: &rawBytes{certificate}, Timestamps: &timestampData{}}
	for _, raw := range entries {
		var entry logEntry
		if err := json.Unmarshal(raw, &entry); err != nil {
			return nil, fmt.Errorf("log entry: %w", err)
		}
		m.Entries = append(m.Entries, entry)
	}
	for _, t := range timestamps {
		m.Timestamps.RFC3161 = append(m.Timestamps.RFC3161, signedTimestamp{t})
	}
	return e.bundle(m)
}

func (e Envelope) bundle(m material) ([]byte, error) {
	return json.Marshal(bundle{
		MediaType: BundleType,
		Material:  m,
		Envelope:  &dsseEnvelope{Payload: e.Payload, PayloadType: payloadType, Signatures: []dsseSignature{{Sig: e.Signature}}},
	})
}

// The JSON of sigstore's protobuf messages, as far as it is read here.
type (
	bundle struct {
		MediaType string          `json:"mediaType"`
		Material  material        `json:"verificationMaterial"`
		Envelope  *dsseEnvelope   `json:"dsseEnvelope,omitempty"`
		Message   json.RawMessage `json:"messageSignature,omitempty"`
	}
	material struct {
		PublicKey   *keyHint        `json:"publicKey,omitempty"`
		Certificate *rawBytes       `json:"certificate,omitempty"`
		Chain       json.RawMessage `json:"x509CertificateChain,omitempty"` // of older versions, refused
		Entries     []logEntry      `json:"tlogEntries,omitempty"`
		Timestamps  *timestampData  `json:"timestampVerificationData,omitempty"`
	}
	keyHint struct {
		Hint string `json:"hint,omitempty"`
	}
	rawBytes struct {
		Raw []byte `json:"rawBytes"`
	}
	timestampData struct {
		RFC3161 []signedTimestamp `json:"rfc3161Timestamps,omitempty"`
	}
	signedTimestamp struct {
		Signed []byte `json:"signedTimestamp"`
	}
	dsseEnvelope struct {
		Payload     []byte          `json:"payload"`
		PayloadType string          `json:"payloadType"`
		Signatures  []dsseSignature `json:"signatures"`
	}
	dsseSignature struct {
		Sig   []byte `json:"sig"`
		KeyID string `json:"keyid"` // unauthenticated, not looked at
	}
	logEntry struct {
		Index      number          `json:"logIndex"`
		LogID      keyID           `json:"logId"`
		Kind       kindVersion     `json:"kindVersion"`
		Integrated number          `json:"integratedTime"` // seconds since 1970; 0 in Rekor v2
		Promise    *promise        `json:"inclusionPromise,omitempty"`
		Proof      *inclusionProof `json:"inclusionProof,omitempty"`
		Body       []byte          `json:"canonicalizedBody"`
	}
	keyID struct {
		KeyID []byte `json:"keyId"`
	}
	kindVersion struct {
		Kind    string `json:"kind"`
		Version string `json:"version"`
	}
	promise struct {
		Signed []byte `json:"signedEntryTimestamp"`
	}
	inclusionProof struct {
		Index      number     `json:"logIndex"`
		Root       []byte     `json:"rootHash"`
		Size       number     `json:"treeSize"`
		Hashes     [][]byte   `json:"hashes"`
		Checkpoint checkpoint `json:"checkpoint"`
	}
	checkpoint struct {
		Envelope string `json:"envelope"`
	}
)

// A number is an int64, which protobuf writes in quotes and reads with or
// without them.
type number int64

func (n number) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(int64(n), 10)), nil
}

func (n *number) UnmarshalJSON(b []byte) error {
	if len(b) >= 2 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	*n = number(v)
	return err
}

// parseBundle reads a bundle and the statement in it; nothing is verified yet.
func parseBundle(text []byte) (*bundle, *refusal) {
	if len(text) > MaxBundle {
		return nil, refuse(Malformed, "it has %d bytes, more than %d", len(text), MaxBundle)
	}
	var b bundle
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, refuse(Malformed, "it is not a sigstore bundle")
	}
	switch {
	case b.MediaType != BundleType && b.MediaType != bundleTypeOld:
		return nil, refuse(Malformed, "bundles of type %q are not read, only version 0.3", b.MediaType)
	case b.Message != nil:
		return nil, refuse(Malformed, "it signs a bare message and not a statement")
	case b.Envelope == nil || b.Envelope.PayloadType != payloadType:
		return nil, refuse(Malformed, "it holds no in-toto statement")
	case len(b.Envelope.Signatures) != 1 || len(b.Envelope.Signatures[0].Sig) == 0:
		return nil, refuse(Malformed, "it has %d signatures where one is expected", len(b.Envelope.Signatures))
	case b.Material.Chain != nil:
		return nil, refuse(Malformed, "it holds a chain of certificates, which version 0.3 does not allow")
	case (b.Material.PublicKey == nil) == (b.Material.Certificate == nil):
		return nil, refuse(Malformed, "it names neither a key nor a certificate, or both")
	case len(b.Material.Entries) > maxLogEntries:
		return nil, refuse(Malformed, "it has %d log entries", len(b.Material.Entries))
	case b.Material.Timestamps != nil && len(b.Material.Timestamps.RFC3161) > maxTimestamps:
		return nil, refuse(Malformed, "it has %d timestamps", len(b.Material.Timestamps.RFC3161))
	}
	return &b, nil
}

func (b *bundle) envelope() Envelope {
	return Envelope{b.Envelope.Payload, b.Envelope.Signatures[0].Sig}
}

// statement parses the payload.
func (b *bundle) statement() (Statement, *refusal) {
	var st Statement
	if err := json.Unmarshal(b.Envelope.Payload, &st); err != nil {
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
