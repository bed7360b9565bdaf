package attesttest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skl-project/skl/spec/attest"
)

// A VirtualSigstore signs with sigstore-go's VirtualSigstore. Identities stand
// in its certificates as email addresses, whatever they look like; there are no
// further claims. It is valid for an hour.
type VirtualSigstore struct {
	CA *ca.VirtualSigstore
	t  testing.TB
}

// Virtual makes a fresh one.
func Virtual(t testing.TB) *VirtualSigstore {
	t.Helper()
	return &VirtualSigstore{must(ca.NewVirtualSigstore())(t), t}
}

// Sign is st signed now by identity, as a bundle.
func (v *VirtualSigstore) Sign(st attest.Statement, issuer, identity string) []byte {
	v.t.Helper()
	return v.SignAt(st, issuer, identity, time.Now().Add(5*time.Minute))
}

// SignAt is st with a log entry of time at; the certificate is valid for ten
// minutes from now, whatever at is.
func (v *VirtualSigstore) SignAt(st attest.Statement, issuer, identity string, at time.Time) []byte {
	v.t.Helper()
	payload := must(json.Marshal(st))(v.t)
	entity := must(v.CA.AttestAtTime(identity, issuer, payload, at, true))(v.t)
	content := must(entity.SignatureContent())(v.t)
	material := must(entity.VerificationContent())(v.t)
	var entries []json.RawMessage
	for _, e := range must(entity.TlogEntries())(v.t) {
		message := e.TransparencyLogEntry()
		text := must(protojson.Marshal(message))(v.t)
		var fields map[string]any
		must(0, json.Unmarshal(text, &fields))(v.t)
		// The entity keeps these two beside the message.
		fields["kindVersion"] = map[string]any{"kind": "dsse", "version": "0.0.1"}
		fields["inclusionPromise"] = map[string]any{"signedEntryTimestamp": base64.StdEncoding.EncodeToString(v.promise(message.GetCanonicalizedBody(), message.GetIntegratedTime(), message.GetLogIndex()))}
		entries = append(entries, must(json.Marshal(fields))(v.t))
	}
	e := attest.Envelope{Payload: payload, Signature: content.Signature()}
	return must(e.Keyless(material.Certificate().Raw, entries, must(entity.Timestamps())(v.t)))(v.t)
}

// promise is the log's signature over an entry, which the entity does not show.
func (v *VirtualSigstore) promise(body []byte, at, index int64) []byte {
	return must(v.CA.RekorSignPayload(tlog.RekorPayload{
		Body: base64.StdEncoding.EncodeToString(body), IntegratedTime: at, LogIndex: index, LogID: must(v.CA.RekorLogID())(v.t),
	}))(v.t)
}

// TrustedRoot is the root of v, as trusted_root.json holds it.
func (v *VirtualSigstore) TrustedRoot() []byte {
	v.t.Helper()
	logs := v.CA.RekorLogs()
	for id, l := range logs {
		// It puts the hexadecimal text where the bytes belong.
		l.ID = must(hex.DecodeString(id))(v.t)
	}
	r := must(root.NewTrustedRoot(root.TrustedRootMediaType01, v.CA.FulcioCertificateAuthorities(), nil,
		v.CA.TimestampingAuthorities(), logs))(v.t)
	return must(r.MarshalJSON())(v.t)
}

// Cosign signs payload for identity as cosign did before version 3: the annotations of the layer that holds it. Its
// log entry is of time at.
func (v *VirtualSigstore) Cosign(payload []byte, issuer, identity string, at time.Time) map[string]string {
	v.t.Helper()
	entity := must(v.CA.SignAtTime(identity, issuer, payload, at))(v.t)
	content := must(entity.SignatureContent())(v.t)
	material := must(entity.VerificationContent())(v.t)
	message := must(entity.TlogEntries())(v.t)[0].TransparencyLogEntry()
	rekor := must(json.Marshal(map[string]any{
		"SignedEntryTimestamp": v.promise(message.GetCanonicalizedBody(), message.GetIntegratedTime(), message.GetLogIndex()),
		"Payload": map[string]any{"body": message.GetCanonicalizedBody(), "integratedTime": message.GetIntegratedTime(),
			"logIndex": message.GetLogIndex(), "logID": must(v.CA.RekorLogID())(v.t)},
	}))(v.t)
	return map[string]string{
		"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(content.Signature()),
		"dev.sigstore.cosign/certificate":    string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: material.Certificate().Raw})),
		"dev.sigstore.cosign/bundle":         string(rekor),
	}
}
