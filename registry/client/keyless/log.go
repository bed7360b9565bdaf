package keyless

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-openapi/runtime/client"
	"github.com/go-openapi/strfmt"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	rekortiles "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	"github.com/sigstore/rekor/pkg/generated/client/entries"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skl-project/skl/spec/diag"
)

// log is the configured transparency log as pkg/sign calls it, over our
// transport in place of the ones that it would make itself.
func (s *Signer) log(ctx context.Context) (sign.Transparency, error) {
	address, err := secure(whatLog, s.Services.Log)
	if err != nil {
		return nil, err
	}
	options := &sign.RekorOptions{Timeout: attempts * timeout, Version: 1}
	if s.Services.LogVersion == 2 {
		options.Version, options.ClientV2 = 2, logV2{s}
	} else {
		path := address.Path
		if path == "" {
			path = "/"
		}
		carrier := s.transport(ctx, whatLog, s.Services.Log, diag.Event{Stage: "log", Name: s.Services.Log})
		openapi := client.NewWithClient(address.Host, path, []string{address.Scheme}, &http.Client{Transport: carrier})
		openapi.Debug = false // the environment could turn it on, and it prints
		options.Client = entries.New(openapi, strfmt.Default)
	}
	return checkedLog{sign.NewRekor(options), s.Services.Log}, nil
}

// A checkedLog is a log whose answers are looked at before they are believed to
// be complete.
type checkedLog struct {
	sign.Transparency
	address string
}

// GetTransparencyLogEntry implements sign.Transparency.
func (l checkedLog) GetTransparencyLogEntry(ctx context.Context, verifier []byte, b *protobundle.Bundle) (err error) {
	// Answers of version 1 that lack a part make the library panic.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("incomplete answer: %v", p)
		}
		err = asService(ctx, err, whatLog, l.address, "gave no proof of inclusion")
	}()
	if err := l.Transparency.GetTransparencyLogEntry(ctx, verifier, b); err != nil {
		return err
	}
	for _, entry := range b.GetVerificationMaterial().GetTlogEntries() {
		if entry.GetInclusionProof() == nil || len(entry.GetCanonicalizedBody()) == 0 {
			return errors.New("incomplete entry")
		}
	}
	return nil
}

// logV2 is the write API of Rekor v2; the library's own client takes no transport.
type logV2 struct{ s *Signer }

// Add implements sign.RekorV2Client.
func (l logV2) Add(ctx context.Context, entry any) (*protorekor.TransparencyLogEntry, error) {
	record, ok := entry.(*rekortiles.HashedRekordRequestV002)
	if !ok {
		return nil, fmt.Errorf("entries of type %T are not known", entry)
	}
	body, err := protojson.Marshal(&rekortiles.CreateEntryRequest{
		Spec: &rekortiles.CreateEntryRequest_HashedRekordRequestV002{HashedRekordRequestV002: record},
	})
	if err != nil {
		return nil, err
	}
	l.s.Progress.Send(diag.Event{Stage: "log", Name: l.s.Services.Log})
	answer, err := l.s.send(ctx, call{what: whatLog, base: l.s.Services.Log, path: "/api/v2/log/entries", body: body})
	if err != nil {
		return nil, err
	}
	out := &protorekor.TransparencyLogEntry{}
	if err := protojson.Unmarshal(answer.text, out); err != nil {
		return nil, err
	}
	return out, nil
}
