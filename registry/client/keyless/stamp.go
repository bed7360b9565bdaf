package keyless

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"

	"github.com/digitorus/timestamp"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"

	"github.com/skl-project/skl/spec/diag"
)

// stamp asks every timestamp authority (RFC 3161) to witness signature. It returns
// nil where none is configured.
func (s *Signer) stamp(ctx context.Context, signature []byte) (*protobundle.TimestampVerificationData, error) {
	if len(s.Services.Timestamps) == 0 {
		return nil, nil
	}
	digest := sha256.Sum256(signature)
	query, err := (&timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: digest[:]}).Marshal()
	if err != nil {
		return nil, err
	}
	out := &protobundle.TimestampVerificationData{}
	for _, address := range s.Services.Timestamps {
		s.Progress.Send(diag.Event{Stage: "timestamp", Name: address})
		got, err := s.send(ctx, call{what: whatStamps, base: address, body: query, kind: "application/timestamp-query"})
		if err != nil {
			return nil, asService(ctx, err, whatStamps, address, "gave no timestamp")
		}
		token, err := timestamp.ParseResponse(got.text)
		if err != nil {
			return nil, asService(ctx, err, whatStamps, address, "gave no timestamp")
		}
		if token.HashAlgorithm != crypto.SHA256 || !bytes.Equal(token.HashedMessage, digest[:]) {
			return nil, serviceError(whatStamps, address, "gave a timestamp of something else")
		}
		out.Rfc3161Timestamps = append(out.Rfc3161Timestamps, &protocommon.RFC3161SignedTimestamp{SignedTimestamp: got.text})
	}
	return out, nil
}
