// Package keyless signs statements without a key of one's own: an OpenID token
// says who signs, a certificate authority (Fulcio) certifies a key that lives
// for one signature, a transparency log (Rekor) or a timestamp authority says
// when. The result is a sigstore bundle that spec/attest verifies offline.
//
// Which services are used is the caller's choice ([Services], or a
// signing_config.json of sigstore); there is no default, so that nothing about a
// private release reaches a public log by accident.
//
// It promises that the token is sent to the certificate authority and nowhere
// else, over https or to this machine; that redirects are refused; that answers
// are read up to 1 MiB; and that the private key never leaves the process and is
// forgotten afterwards. Fulcio's API v2 and RFC 3161 over HTTP are spoken by
// sigstore-go's pkg/sign, over a transport that keeps these promises; Rekor v1 and
// v2 have one endpoint each, which is spoken here.
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
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/oauthflow"
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
	subject, err := tokenSubject(token)
	if err != nil {
		return nil, err
	}
	payload, err := json.Marshal(st)
	if err != nil {
		return nil, err
	}
	key, err := sign.NewEphemeralKeypair(nil) // ECDSA P-256
	if err != nil {
		return nil, err
	}
	options, err := s.options(ctx, subject, token)
	if err != nil {
		return nil, err
	}
	message, err := sign.Bundle(&sign.DSSEData{Data: payload, PayloadType: bundle.IntotoMediaType}, key, options)
	if err != nil {
		// The other services speak for themselves; see authority and log.
		return nil, asService(ctx, err, whatStamps, strings.Join(s.Services.Timestamps, ", "), "gave no timestamp")
	}
	text, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil { // the white space of protojson differs from build to build
		return nil, err
	}
	return out.Bytes(), nil
}

// options are the services of s as pkg/sign calls them. All addresses are checked
// before the first is used.
func (s *Signer) options(ctx context.Context, subject, token string) (sign.BundleOptions, error) {
	if _, err := secure(whatAuthority, s.Services.Authority); err != nil {
		return sign.BundleOptions{}, err
	}
	fulcio := sign.NewFulcio(&sign.FulcioOptions{
		BaseURL: strings.TrimSuffix(s.Services.Authority, "/"), Timeout: -1,
		Transport: s.transport(ctx, whatAuthority, s.Services.Authority, diag.Event{Stage: "certify", Name: subject}),
	})
	out := sign.BundleOptions{
		Context: ctx, CertificateProvider: authority{fulcio, s.Services.Authority},
		CertificateProviderOptions: &sign.CertificateProviderOptions{IDToken: token},
	}
	for _, u := range s.Services.Timestamps {
		if _, err := secure(whatStamps, u); err != nil {
			return sign.BundleOptions{}, err
		}
		out.TimestampAuthorities = append(out.TimestampAuthorities, sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{
			URL: u, Timeout: -1, Transport: s.transport(ctx, whatStamps, u, diag.Event{Stage: "timestamp", Name: u}),
		}))
	}
	if s.Services.Log != "" {
		if _, err := secure(whatLog, s.Services.Log); err != nil {
			return sign.BundleOptions{}, err
		}
		out.TransparencyLogs = []sign.Transparency{log{s}}
	}
	return out, nil
}

// An authority is Fulcio, whose certificates are looked at before they are used.
type authority struct {
	fulcio  *sign.Fulcio
	address string
}

// GetCertificate implements sign.CertificateProvider.
func (a authority) GetCertificate(ctx context.Context, key sign.Keypair, options *sign.CertificateProviderOptions) ([]byte, error) {
	der, err := a.fulcio.GetCertificate(ctx, key, options)
	if err != nil {
		return nil, asService(ctx, err, whatAuthority, a.address, "gave no certificate")
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, serviceError(whatAuthority, a.address, "gave a damaged certificate")
	}
	if own, ok := key.GetPublicKey().(*ecdsa.PublicKey); !ok || !own.Equal(leaf.PublicKey) {
		return nil, serviceError(whatAuthority, a.address, "gave a certificate for another key")
	}
	return der, nil
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
	subject, err := oauthflow.SubjectFromUnverifiedToken(body)
	if err != nil {
		e := diag.New(diag.Failed, "keyless_token", "the identity token names nobody, or an email address that its issuer has not verified")
		e.Err = err
		return "", e
	}
	return subject, nil
}
