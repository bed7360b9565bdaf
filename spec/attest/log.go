package attest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// logged checks the entries of b in the logs of r. It returns the times that
// the logs vouch for, which may be none although an entry is good: logs of
// Rekor v2 keep no time. Entries in unknown logs are passed over; an entry that
// is of a known log and wrong refuses the bundle.
func (r *TrustedRoot) logged(b *bundle, leaf *x509.Certificate) ([]time.Time, *refusal) {
	var times []time.Time
	found := 0
	for i := range b.Material.Entries {
		entry := &b.Material.Entries[i]
		in, known := r.logs[string(entry.LogID.KeyID)]
		if !known {
			continue
		}
		if why := entry.describes(b.envelope(), leaf); why != "" {
			return nil, refuse(BadLog, "its log entry %s", why)
		}
		if entry.Proof == nil {
			return nil, refuse(BadLog, "its log entry has no inclusion proof")
		}
		if err := entry.included(in); err != nil {
			return nil, refuse(BadLog, "its log entry is not proven: %v", err)
		}
		if entry.Promise != nil && entry.Integrated != 0 {
			when := time.Unix(int64(entry.Integrated), 0)
			if !in.valid.holds(when) || !verifies(in.key, entry.promised(), entry.Promise.Signed) {
				return nil, refuse(BadLog, "the time of its log entry is not signed by the log")
			}
			times = append(times, when)
		}
		found++
	}
	if found == 0 {
		return nil, refuse(NotLogged, "it is in no transparency log of the trusted root")
	}
	return times, nil
}

// describes checks that the entry is about this envelope and this certificate;
// it returns what is wrong, as the rest of a sentence.
func (e *logEntry) describes(env Envelope, leaf *x509.Certificate) string {
	var body logBody
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return "is not JSON of the expected shape"
	}
	if body.Kind != e.Kind.Kind || body.Version != e.Kind.Version {
		return "is of another kind than the bundle says"
	}
	var signature, signer, digest []byte
	payload := sha256.Sum256(env.Payload)
	want := payload[:]
	switch body.Kind + " " + body.Version {
	case "dsse 0.0.1":
		if len(body.Spec.Signatures) != 1 || body.Spec.PayloadHash.Algorithm != "sha256" {
			return "does not have the one signature of the bundle"
		}
		signature, signer = body.Spec.Signatures[0].Signature, unwrapPEM(body.Spec.Signatures[0].Verifier)
		digest, _ = hex.DecodeString(body.Spec.PayloadHash.Value)
	case "intoto 0.0.2":
		content := body.Spec.Content
		if len(content.Envelope.Signatures) != 1 || content.PayloadHash.Algorithm != "sha256" {
			return "does not have the one signature of the bundle"
		}
		// This kind encodes the signature twice.
		signature, _ = base64.StdEncoding.DecodeString(string(content.Envelope.Signatures[0].Sig))
		signer = unwrapPEM(content.Envelope.Signatures[0].PublicKey)
		digest, _ = hex.DecodeString(content.PayloadHash.Value)
	case "hashedrekord 0.0.2":
		record := body.Spec.HashedRekord
		signature, signer, digest = record.Signature.Content, record.Signature.Verifier.Certificate.Raw, record.Data.Digest
		want, _ = prehash(leaf.PublicKey, env.Covered())
		if _, ed := leaf.PublicKey.(ed25519.PublicKey); ed {
			return "is of a kind that Ed25519 certificates cannot use"
		}
	default:
		return "is of the unknown kind " + strconv.Quote(body.Kind+" "+body.Version)
	}
	switch {
	case !bytes.Equal(signature, env.Signature):
		return "is about another signature"
	case !bytes.Equal(signer, leaf.Raw):
		return "is about another certificate"
	case !bytes.Equal(digest, want):
		return "is about another statement"
	}
	return ""
}

// A logBody is what a log stores: the kinds that hold signed statements.
type logBody struct {
	Kind    string `json:"kind"`
	Version string `json:"apiVersion"`
	Spec    struct {
		PayloadHash hashValue `json:"payloadHash"` // dsse
		Signatures  []struct {
			Signature []byte `json:"signature"`
			Verifier  []byte `json:"verifier"` // PEM
		} `json:"signatures"`
		Content struct { // intoto
			PayloadHash hashValue `json:"payloadHash"`
			Envelope    struct {
				Signatures []struct {
					Sig       []byte `json:"sig"`
					PublicKey []byte `json:"publicKey"` // PEM
				} `json:"signatures"`
			} `json:"envelope"`
		} `json:"content"`
		HashedRekord struct { // hashedrekord of Rekor v2
			Data struct {
				Digest []byte `json:"digest"`
			} `json:"data"`
			Signature struct {
				Content  []byte `json:"content"`
				Verifier struct {
					Certificate rawBytes `json:"x509Certificate"`
				} `json:"verifier"`
			} `json:"signature"`
		} `json:"hashedRekordV002"`
	} `json:"spec"`
}

type hashValue struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"value"` // hex
}

func unwrapPEM(text []byte) []byte {
	if block, _ := pem.Decode(text); block != nil {
		return block.Bytes
	}
	return nil
}

// promised is what Rekor v1 signs at once to promise inclusion, and the only
// place where it signs a time: canonical JSON, whose keys are sorted. Neither
// base64 nor hex needs escapes.
func (e *logEntry) promised() []byte {
	return []byte(`{"body":"` + base64.StdEncoding.EncodeToString(e.Body) +
		`","integratedTime":` + strconv.FormatInt(int64(e.Integrated), 10) +
		`,"logID":"` + hex.EncodeToString(e.LogID.KeyID) +
		`","logIndex":` + strconv.FormatInt(int64(e.Index), 10) + `}`)
}

// included checks that the entry is below the root hash of a checkpoint that the
// log signed.
func (e *logEntry) included(in publicLog) error {
	p := e.Proof
	origin := "" // of Rekor v1: names the host and a tree, and is not compared
	if e.Kind.Version == "0.0.2" && e.Kind.Kind == "hashedrekord" {
		if origin = in.host; origin == "" {
			return errors.New("the trusted root does not say where the log is")
		}
	}
	root, size, err := openCheckpoint(p.Checkpoint.Envelope, in, origin)
	if err != nil {
		return err
	}
	// Rekor v1 may state a newer checkpoint's size beside the proof of an older
	// tree with the same root; the root is what binds.
	if origin != "" && size != int64(p.Size) {
		return errors.New("the checkpoint is of another size")
	}
	proof := make(tlog.RecordProof, len(p.Hashes))
	for i, h := range p.Hashes {
		if len(h) != tlog.HashSize {
			return errors.New("a hash of the proof has a wrong length")
		}
		proof[i] = tlog.Hash(h)
	}
	if p.Index < 0 || p.Size <= p.Index {
		return errors.New("the entry is outside the tree")
	}
	if err := tlog.CheckRecord(proof, int64(p.Size), root, int64(p.Index), tlog.RecordHash(e.Body)); err != nil {
		return errors.New("the hashes of the proof do not lead to the root")
	}
	return nil
}

// openCheckpoint verifies a signed checkpoint (C2SP tlog-checkpoint) with the
// key of the log; an origin that is not empty must be its first line.
func openCheckpoint(text string, in publicLog, origin string) (tlog.Hash, int64, error) {
	n, err := note.Open([]byte(text), checkpointKey{in, origin})
	if err != nil {
		return tlog.Hash{}, 0, errors.New("its checkpoint is not signed by the log")
	}
	lines := strings.Split(n.Text, "\n")
	if len(lines) < 4 || origin != "" && lines[0] != origin {
		return tlog.Hash{}, 0, errors.New("its checkpoint is of another log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Hash{}, 0, errors.New("its checkpoint has no size")
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return tlog.Hash{}, 0, errors.New("its checkpoint has no root hash")
	}
	return tlog.Hash(root), size, nil
}

// A checkpointKey finds the log's own line among the signatures of a
// checkpoint; those of witnesses are unknown to it.
type checkpointKey struct {
	log    publicLog
	origin string
}

// Verifier implements note.Verifiers.
func (k checkpointKey) Verifier(name string, hash uint32) (note.Verifier, error) {
	if k.origin != "" && name != k.origin || hash != k.keyHash(name) {
		return nil, &note.UnknownVerifierError{Name: name, KeyHash: hash}
	}
	return checkpointVerifier{name, hash, k.log}, nil
}

// keyHash is the number that marks the log's signatures: the start of the hash
// of the PKIX form, but for Ed25519 in Rekor v2 what C2SP signed-note says.
func (k checkpointKey) keyHash(name string) uint32 {
	l := k.log
	var sum [sha256.Size]byte
	if key, ok := l.key.(ed25519.PublicKey); ok && k.origin != "" {
		sum = sha256.Sum256(append([]byte(name+"\n\x01"), key...))
	} else {
		der, err := x509.MarshalPKIXPublicKey(l.key)
		if err != nil {
			return 0
		}
		sum = sha256.Sum256(der)
	}
	return binary.BigEndian.Uint32(sum[:])
}

type checkpointVerifier struct {
	name string
	hash uint32
	log  publicLog
}

func (v checkpointVerifier) Name() string                { return v.name }
func (v checkpointVerifier) KeyHash() uint32             { return v.hash }
func (v checkpointVerifier) Verify(msg, sig []byte) bool { return verifies(v.log.key, msg, sig) }

// certLogged checks the certificate timestamps embedded in leaf (RFC 6962,
// section 3) and wants one of a known log.
func (r *TrustedRoot) certLogged(leaf, issuer *x509.Certificate) *refusal {
	list, tbs, err := splitSCTs(leaf)
	if err != nil {
		return refuse(BadLog, "its certificate is not in a certificate log: %v", err)
	}
	issuerKey := sha256.Sum256(issuer.RawSubjectPublicKeyInfo)
	for _, sct := range list {
		in, known := r.certLogs[string(sct.logID)]
		if !known || !in.valid.holds(sct.when) {
			continue
		}
		if _, ok := in.key.(*ecdsa.PublicKey); ok && verifies(in.key, sct.covers(issuerKey[:], tbs), sct.signature) {
			return nil
		}
	}
	return refuse(BadLog, "its certificate is in no certificate log of the trusted root")
}
