package keyless

import (
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/url"
	"strconv"

	"github.com/digitorus/timestamp"

	"github.com/skl-project/skl/spec/attest"
)

// timestamp asks an RFC 3161 authority for the time of signature. The service's
// address is used as it is.
func (s *Signer) timestamp(ctx context.Context, address string, signature []byte) ([]byte, error) {
	sum := sha256.Sum256(signature)
	request, err := (&timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: sum[:]}).Marshal()
	if err != nil {
		return nil, err
	}
	answer, err := s.post(ctx, call{what: "timestamp authority", base: address, kind: "application/timestamp-query", body: request})
	if err != nil {
		return nil, err
	}
	if _, err := timestamp.ParseResponse(answer); err != nil {
		e := serviceError("timestamp authority", address, "gave no timestamp")
		e.Err = err
		return nil, e
	}
	return answer, nil
}

// log enters the envelope and returns the entry with its proof, as bundles hold
// it.
func (s *Signer) log(ctx context.Context, e attest.Envelope, leaf []byte) (json.RawMessage, error) {
	if s.Services.LogVersion == 2 {
		return s.logV2(ctx, e, leaf)
	}
	return s.logV1(ctx, e, leaf)
}

func (s *Signer) logV2(ctx context.Context, e attest.Envelope, leaf []byte) (json.RawMessage, error) {
	sum := sha256.Sum256(e.Covered())
	body, err := json.Marshal(map[string]any{"hashedRekordRequestV002": map[string]any{
		"digest": sum[:],
		"signature": map[string]any{
			"content": e.Signature,
			"verifier": map[string]any{
				"keyDetails":      "PKIX_ECDSA_P256_SHA_256",
				"x509Certificate": map[string]any{"rawBytes": leaf},
			},
		},
	}})
	if err != nil {
		return nil, err
	}
	return s.post(ctx, call{what: "transparency log", base: s.Services.Log, path: "/api/v2/log/entries", body: body})
}

func (s *Signer) logV1(ctx context.Context, e attest.Envelope, leaf []byte) (json.RawMessage, error) {
	envelope, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "0.0.1", "kind": "dsse",
		"spec": map[string]any{"proposedContent": map[string]any{
			"envelope":  string(envelope),
			"verifiers": [][]byte{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf})},
		}},
	})
	if err != nil {
		return nil, err
	}
	const what = "transparency log"
	text, err := s.post(ctx, call{what: what, base: s.Services.Log, path: "/api/v1/log/entries", body: body})
	// A repetition whose first try did arrive finds its own entry there.
	if before := (*conflict)(nil); errors.As(err, &before) {
		u, perr := url.Parse(before.location)
		if perr != nil {
			return nil, serviceError(what, s.Services.Log, "has the entry already and does not say where")
		}
		text, err = s.post(ctx, call{what: what, base: s.Services.Log, path: u.EscapedPath()})
	}
	if err != nil {
		return nil, err
	}
	return convertV1(text, s.Services.Log)
}

// convertV1 turns an answer of Rekor v1 into the form that bundles use.
func convertV1(text []byte, address string) (json.RawMessage, error) {
	var answer map[string]struct {
		Body         []byte `json:"body"`
		Integrated   int64  `json:"integratedTime"`
		LogID        string `json:"logID"` // hex
		Index        int64  `json:"logIndex"`
		Verification struct {
			Promise []byte `json:"signedEntryTimestamp"`
			Proof   struct {
				Checkpoint string   `json:"checkpoint"`
				Hashes     []string `json:"hashes"` // hex
				Index      int64    `json:"logIndex"`
				Root       string   `json:"rootHash"` // hex
				Size       int64    `json:"treeSize"`
			} `json:"inclusionProof"`
		} `json:"verification"`
	}
	damaged := func(err error) error {
		e := serviceError("transparency log", address, "gave no proof of inclusion")
		e.Err = err
		return e
	}
	if err := json.Unmarshal(text, &answer); err != nil || len(answer) != 1 {
		return nil, damaged(err)
	}
	for _, entry := range answer {
		var body struct {
			Kind    string `json:"kind"`
			Version string `json:"apiVersion"`
		}
		if err := json.Unmarshal(entry.Body, &body); err != nil {
			return nil, damaged(err)
		}
		proof := entry.Verification.Proof
		hashes := make([][]byte, len(proof.Hashes))
		id, err1 := hex.DecodeString(entry.LogID)
		root, err2 := hex.DecodeString(proof.Root)
		if err := errors.Join(err1, err2); err != nil {
			return nil, damaged(err)
		}
		for i, h := range proof.Hashes {
			sum, err := hex.DecodeString(h)
			if err != nil {
				return nil, damaged(err)
			}
			hashes[i] = sum
		}
		quote := func(n int64) string { return strconv.FormatInt(n, 10) }
		return json.Marshal(map[string]any{
			"logIndex":         quote(entry.Index),
			"logId":            map[string]any{"keyId": id},
			"kindVersion":      map[string]any{"kind": body.Kind, "version": body.Version},
			"integratedTime":   quote(entry.Integrated),
			"inclusionPromise": map[string]any{"signedEntryTimestamp": entry.Verification.Promise},
			"inclusionProof": map[string]any{
				"logIndex": quote(proof.Index), "rootHash": root, "treeSize": quote(proof.Size), "hashes": hashes,
				"checkpoint": map[string]any{"envelope": proof.Checkpoint},
			},
			"canonicalizedBody": entry.Body,
		})
	}
	return nil, damaged(nil)
}
