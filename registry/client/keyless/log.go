package keyless

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"path"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	rekortiles "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skl-project/skl/spec/diag"
)

// A log is the configured transparency log.
type log struct{ s *Signer }

// enter enters an envelope with one signature, and returns the proof that it is in the log.
func (l log) enter(ctx context.Context, certificate []byte, envelope *protodsse.Envelope) (*protorekor.TransparencyLogEntry, error) {
	enter := l.enterV1
	if l.s.Services.LogVersion == 2 {
		enter = l.enterV2
	}
	entry, err := enter(ctx, certificate, envelope)
	if err != nil {
		return nil, asService(ctx, err, whatLog, l.s.Services.Log, "gave no proof of inclusion")
	}
	if entry.GetInclusionProof() == nil || len(entry.GetCanonicalizedBody()) == 0 {
		return nil, serviceError(whatLog, l.s.Services.Log, "gave an incomplete entry")
	}
	return entry, nil
}

// send sends c to the log.
func (l log) send(ctx context.Context, c call) (answer, error) {
	c.what, c.base = whatLog, l.s.Services.Log
	l.s.Progress.Send(diag.Event{Stage: "log", Name: c.base})
	return l.s.send(ctx, c)
}

const entriesV1 = "/api/v1/log/entries"

// Rekor's kind of entry for a DSSE envelope, and its version.
const kindV1, kindVersionV1 = "dsse", "0.0.1"

// A proposalV1 is a request to POST /api/v1/log/entries.
type proposalV1 struct {
	Version string `json:"apiVersion"`
	Kind    string `json:"kind"`
	Spec    struct {
		Content struct {
			Envelope  string   `json:"envelope"` // JSON
			Verifiers [][]byte `json:"verifiers"`
		} `json:"proposedContent"`
		Signatures []string `json:"signatures"` // null: the log finds them in the envelope
	} `json:"spec"`
}

// enterV1 enters an envelope, or finds the entry of one that was entered before:
// the answer to the first attempt may have been lost.
func (l log) enterV1(ctx context.Context, certificate []byte, envelope *protodsse.Envelope) (*protorekor.TransparencyLogEntry, error) {
	text, err := json.Marshal(envelope)
	if err != nil {
		return nil, err
	}
	proposal := proposalV1{Version: kindVersionV1, Kind: kindV1}
	proposal.Spec.Content.Envelope = string(text)
	proposal.Spec.Content.Verifiers = [][]byte{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})}
	body, err := json.Marshal(proposal)
	if err != nil {
		return nil, err
	}
	got, err := l.send(ctx, call{path: entriesV1, body: body})
	if err != nil {
		return nil, err
	}
	id := got.header.Get("ETag")
	if got.status == http.StatusConflict {
		id = path.Base(got.header.Get("Location"))
		if _, err := hex.DecodeString(id); err != nil || id == "" {
			return nil, errors.New("a location that names no entry")
		}
		if got, err = l.send(ctx, call{method: http.MethodGet, path: entriesV1 + "/" + id}); err != nil {
			return nil, err
		}
	}
	var entries map[string]entryV1
	if err := json.Unmarshal(got.text, &entries); err != nil {
		return nil, err
	}
	if len(entries) == 1 { // by an id that may have the number of a shard before it
		for _, entry := range entries {
			return entry.bundled()
		}
	}
	return entries[id].bundled()
}

// An entryV1 is an entry as Rekor v1 answers with it. The fields are pointers
// where zero is a value.
type entryV1 struct {
	Body         []byte `json:"body"`
	Time         *int64 `json:"integratedTime"`
	LogID        hexed  `json:"logID"`
	Index        *int64 `json:"logIndex"` // in all shards
	Verification struct {
		Promise []byte `json:"signedEntryTimestamp"`
		Proof   struct {
			Checkpoint string  `json:"checkpoint"`
			Hashes     []hexed `json:"hashes"`
			Index      *int64  `json:"logIndex"` // in the shard
			Root       hexed   `json:"rootHash"`
			Size       *int64  `json:"treeSize"`
		} `json:"inclusionProof"`
	} `json:"verification"`
}

// hexed are bytes that JSON has in hexadecimal.
type hexed []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hexed) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// bundled is e as a bundle has it. An entry that lacks a part is an error.
func (e entryV1) bundled() (*protorekor.TransparencyLogEntry, error) {
	proof := e.Verification.Proof
	if e.Time == nil || e.Index == nil || len(e.LogID) == 0 || proof.Index == nil || proof.Size == nil || len(proof.Root) == 0 || proof.Checkpoint == "" {
		return nil, errors.New("incomplete entry")
	}
	var kind struct {
		Version string `json:"apiVersion"`
		Kind    string `json:"kind"`
	}
	if err := json.Unmarshal(e.Body, &kind); err != nil {
		return nil, fmt.Errorf("damaged entry: %w", err)
	}
	if kind.Kind != kindV1 || kind.Version != kindVersionV1 {
		return nil, fmt.Errorf("an entry of kind %q %q for one of kind %q %q", kind.Kind, kind.Version, kindV1, kindVersionV1)
	}
	hashes := make([][]byte, len(proof.Hashes))
	for i, hash := range proof.Hashes {
		hashes[i] = hash
	}
	return &protorekor.TransparencyLogEntry{
		LogIndex:         *e.Index,
		LogId:            &protocommon.LogId{KeyId: e.LogID},
		KindVersion:      &protorekor.KindVersion{Kind: kind.Kind, Version: kind.Version},
		IntegratedTime:   *e.Time,
		InclusionPromise: &protorekor.InclusionPromise{SignedEntryTimestamp: e.Verification.Promise},
		InclusionProof: &protorekor.InclusionProof{
			LogIndex: *proof.Index, RootHash: proof.Root, TreeSize: *proof.Size, Hashes: hashes,
			Checkpoint: &protorekor.Checkpoint{Envelope: proof.Checkpoint},
		},
		CanonicalizedBody: e.Body,
	}, nil
}

// enterV2 enters the digest and the signature of an envelope. The key is the one
// that Sign made.
func (l log) enterV2(ctx context.Context, certificate []byte, envelope *protodsse.Envelope) (*protorekor.TransparencyLogEntry, error) {
	digest := sha256.Sum256(dsse.PAE(envelope.GetPayloadType(), envelope.GetPayload()))
	body, err := protojson.Marshal(&rekortiles.CreateEntryRequest{Spec: &rekortiles.CreateEntryRequest_HashedRekordRequestV002{
		HashedRekordRequestV002: &rekortiles.HashedRekordRequestV002{
			Digest: digest[:],
			Signature: &rekortiles.Signature{
				Content: envelope.GetSignatures()[0].GetSig(),
				Verifier: &rekortiles.Verifier{
					Verifier:   &rekortiles.Verifier_X509Certificate{X509Certificate: &protocommon.X509Certificate{RawBytes: certificate}},
					KeyDetails: protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256,
				},
			},
		},
	}})
	if err != nil {
		return nil, err
	}
	got, err := l.send(ctx, call{path: "/api/v2/log/entries", body: body})
	if err != nil {
		return nil, err
	}
	out := &protorekor.TransparencyLogEntry{}
	if err := protojson.Unmarshal(got.text, out); err != nil {
		return nil, err
	}
	return out, nil
}
