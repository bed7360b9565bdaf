package attesttest

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/skl-project/skl/spec/attest"
)

// Log enters a signed statement into the log of r's generation and returns the
// entry with its proof, as bundles hold it.
func (s *Sigstore) Log(r Recipe, e attest.Envelope, leaf []byte) json.RawMessage {
	s.t.Helper()
	if r.Generation == 2 {
		sum := sha256.Sum256(e.Covered())
		return s.LogV2(sum[:], e.Signature, leaf)
	}
	return s.LogV1(e.Payload, e.Signature, leaf, r.At, !r.NoPromise)
}

// LogV1 enters a DSSE envelope into the log of Rekor v1.
func (s *Sigstore) LogV1(payload, signature, leaf []byte, at time.Time, promise bool) json.RawMessage {
	s.t.Helper()
	payloadSum := sha256.Sum256(payload)
	hash := func(sum [32]byte) any { return map[string]any{"algorithm": "sha256", "value": fmt.Sprintf("%x", sum)} }
	body := must(json.Marshal(map[string]any{
		"apiVersion": "0.0.1", "kind": "dsse",
		"spec": map[string]any{
			"envelopeHash": hash(sha256.Sum256(signature)), // not compared by anybody: envelopes have no canonical form
			"payloadHash":  hash(payloadSum),
			"signatures": []any{map[string]any{
				"signature": signature,
				"verifier":  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}),
			}},
		},
	}))(s.t)
	entry := s.enter(1, body, s.logKey, logV1Host+" - 1", logV1Host)
	entry["kindVersion"] = map[string]any{"kind": "dsse", "version": "0.0.1"}
	entry["integratedTime"] = strconv.FormatInt(at.Unix(), 10)
	if promise {
		signed := fmt.Sprintf(`{"body":%q,"integratedTime":%d,"logID":"%x","logIndex":%s}`,
			base64.StdEncoding.EncodeToString(body), at.Unix(), keyID(s.t, s.logKey), entry["logIndex"])
		entry["inclusionPromise"] = map[string]any{"signedEntryTimestamp": s.ecdsa(s.logKey, []byte(signed))}
	}
	return must(json.Marshal(entry))(s.t)
}

// LogV2 enters the SHA-256 of what an envelope's signature covers into the log
// of Rekor v2, which keeps no time.
func (s *Sigstore) LogV2(digest, signature, leaf []byte) json.RawMessage {
	s.t.Helper()
	body := must(json.Marshal(map[string]any{
		"apiVersion": "0.0.2", "kind": "hashedrekord",
		"spec": map[string]any{"hashedRekordV002": map[string]any{
			"data": map[string]any{"algorithm": "SHA2_256", "digest": digest},
			"signature": map[string]any{
				"content": signature,
				"verifier": map[string]any{
					"keyDetails": "PKIX_ECDSA_P256_SHA_256", "x509Certificate": map[string]any{"rawBytes": leaf},
				},
			},
		}},
	}))(s.t)
	entry := s.enter(2, body, s.log2Key, logV2Host, logV2Host)
	entry["kindVersion"] = map[string]any{"kind": "hashedrekord", "version": "0.0.2"}
	return must(json.Marshal(entry))(s.t)
}

// enter appends body to a log, with one entry of somebody else before it, and
// returns the parts of the entry that both generations have.
func (s *Sigstore) enter(generation int, body []byte, key *ecdsa.PrivateKey, origin, name string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			out = append(out, s.hashes[generation][i])
		}
		return out, nil
	})
	var index, size int64
	for _, record := range [][]byte{[]byte("somebody else's entry"), body} {
		index = int64(len(s.records[generation]))
		hashes := must(tlog.StoredHashes(index, record, reader))(s.t)
		s.records[generation] = append(s.records[generation], record)
		s.hashes[generation] = append(s.hashes[generation], hashes...)
		size = index + 1
	}
	root := must(tlog.TreeHash(size, reader))(s.t)
	proof := must(tlog.ProveRecord(size, index, reader))(s.t)
	hashes := make([][]byte, len(proof))
	for i, h := range proof {
		hashes[i] = h[:]
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", origin, size, base64.StdEncoding.EncodeToString(root[:]))
	line := append(append([]byte(nil), keyID(s.t, key)[:4]...), s.ecdsa(key, []byte(text))...)
	number := strconv.FormatInt(index, 10)
	return map[string]any{
		"logIndex": number,
		"logId":    map[string]any{"keyId": keyID(s.t, key)},
		"inclusionProof": map[string]any{
			"logIndex": number, "treeSize": strconv.FormatInt(size, 10), "rootHash": root[:], "hashes": hashes,
			"checkpoint": map[string]any{"envelope": text + "\n— " + name + " " + base64.StdEncoding.EncodeToString(line) + "\n"},
		},
		"canonicalizedBody": body,
	}
}
