// Package keyless signs statements without a key of one's own: an OpenID token
// says who signs, a certificate authority (Fulcio) certifies a key that lives
// for one signature, a transparency log (Rekor) or a timestamp authority says
// when. The result is a sigstore bundle that spec/attest verifies offline.
//
// The services are the caller's choice ([Services], or a
// signing_config.json of sigstore); there is no default, so that nothing about a
// private release reaches a public log by accident.
//
// It promises that the token is sent to the certificate authority and nowhere
// else, over https or to this machine; that redirects are refused; that answers
// are read up to 1 MiB; and that the private key never leaves the process and is
// forgotten afterwards. One endpoint of each service is needed, and all are spoken
// here: sigstore-go's pkg/sign adds clients that bring a framework with them, or take
// no context.
// A request that failed with status 429 or 5xx, or without an answer, is repeated
// twice after short pauses.
//
// Errors are *diag.Error of class Failed with the codes keyless_token,
// keyless_service and keyless_config; class Refused, code keyless_insecure, for
// a service that is not reached over https.
package keyless

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

// A Signer signs through services. Configure its fields before the first use;
// afterwards it may be used concurrently.
type Signer struct {
	Services Services
	Client   *http.Client  // skl gives the one of registry/client/origin; nil means a plain one. Redirects are refused with either
	Pause    time.Duration // before the first repetition, doubled for the next; 0 means 500 ms
	Progress diag.Progress
}

// Sign signs st as the subject of token, an OpenID token (JWT) whose audience is
// the certificate authority's, usually "sigstore". The bundle is not verified
// here: verify it with the trusted root of the services before it is published.
func (s *Signer) Sign(ctx context.Context, st attest.Statement, token string) ([]byte, error) {
	if err := s.Services.check(); err != nil {
		return nil, err
	}
	if err := s.Services.secure(); err != nil {
		return nil, err
	}
	subject, err := tokenSubject(token)
	if err != nil {
		return nil, err
	}
	payload, err := json.Marshal(st)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	signature, err := signed(key, dsse.PAE(bundle.IntotoMediaType, payload))
	if err != nil {
		return nil, err
	}
	certificate, err := s.certify(ctx, key, subject, token)
	if err != nil {
		return nil, err
	}
	envelope := &protodsse.Envelope{Payload: payload, PayloadType: bundle.IntotoMediaType, Signatures: []*protodsse.Signature{{Sig: signature}}}
	material := &protobundle.VerificationMaterial{
		Content: &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: certificate}},
	}
	if material.TimestampVerificationData, err = s.stamp(ctx, signature); err != nil {
		return nil, err
	}
	if s.Services.Log != "" {
		entry, err := log{s}.enter(ctx, certificate, envelope)
		if err != nil {
			return nil, err
		}
		material.TlogEntries = []*protorekor.TransparencyLogEntry{entry}
	}
	text, err := protojson.Marshal(&protobundle.Bundle{
		MediaType: mediaType, VerificationMaterial: material, Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: envelope},
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil { // the white space of protojson differs from build to build
		return nil, err
	}
	return out.Bytes(), nil
}

// mediaType is the bundle format written here: 0.3, with one certificate.
const mediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// signed signs the SHA-256 of message.
func signed(key *ecdsa.PrivateKey, message []byte) ([]byte, error) {
	digest := sha256.Sum256(message)
	return ecdsa.SignASN1(rand.Reader, key, digest[:])
}

// tokenSubject is what the certificate authority wants signed: the email address
// of the token, or else its subject. The token is read, not verified: that is the
// authority's part.
func tokenSubject(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", diag.New(diag.Failed, "keyless_token", "the identity token is not a JSON web token")
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", diag.New(diag.Failed, "keyless_token", "the identity token is damaged")
	}
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some issuers write it as text
		Subject  string `json:"sub"`
	}
	if err := json.Unmarshal(body, &claims); err != nil {
		return "", diag.New(diag.Failed, "keyless_token", "the identity token is damaged")
	}
	switch {
	case claims.Email != "" && claims.Verified != true && claims.Verified != "true":
		return "", diag.New(diag.Failed, "keyless_token", "the issuer of the identity token has not verified its email address")
	case claims.Email != "":
		return claims.Email, nil
	case claims.Subject == "":
		return "", diag.New(diag.Failed, "keyless_token", "the identity token names nobody")
	}
	return claims.Subject, nil
}
