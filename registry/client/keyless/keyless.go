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
// forgotten afterwards. It speaks Fulcio's API v2, RFC 3161 over HTTP, Rekor v1
// and v2. A request that failed with status 429 or 5xx, or without an answer, is
// repeated twice after short pauses.
//
// Errors are *diag.Error of class Failed with the codes keyless_token,
// keyless_service and keyless_config; class Refused, code keyless_insecure, for
// a service that is not reached over https.
package keyless

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

const (
	maxAnswer = 1 << 20
	timeout   = 30 * time.Second // of one request
	attempts  = 3
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
	key, err := attest.NewKey(attest.ECDSA)
	if err != nil {
		return nil, err
	}
	s.Progress.Send(diag.Event{Stage: "certify", Name: subject})
	leaf, err := s.certificate(ctx, key, subject, token)
	if err != nil {
		return nil, err
	}
	envelope, err := attest.NewEnvelope(key, st)
	if err != nil {
		return nil, err
	}
	var stamps [][]byte
	for _, u := range s.Services.Timestamps {
		s.Progress.Send(diag.Event{Stage: "timestamp", Name: u})
		stamp, err := s.timestamp(ctx, u, envelope.Signature)
		if err != nil {
			return nil, err
		}
		stamps = append(stamps, stamp)
	}
	var entries []json.RawMessage
	if s.Services.Log != "" {
		s.Progress.Send(diag.Event{Stage: "log", Name: s.Services.Log})
		entry, err := s.log(ctx, envelope, leaf)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return envelope.Keyless(leaf, entries, stamps)
}

// certificate asks Fulcio for a certificate of key, in DER. Signing the token's
// subject proves that we hold the key.
func (s *Signer) certificate(ctx context.Context, key attest.PrivateKey, subject, token string) ([]byte, error) {
	proof, err := key.Sign([]byte(subject))
	if err != nil {
		return nil, err
	}
	var request certificateRequest
	request.PublicKeyRequest.PublicKey.Algorithm = "ECDSA"
	request.PublicKeyRequest.PublicKey.Content = string(key.Public().PEM())
	request.PublicKeyRequest.ProofOfPossession = proof
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	text, err := s.post(ctx, call{what: "certificate authority", base: s.Services.Authority, path: "/api/v2/signingCert", body: body, token: token})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Embedded chainAnswer `json:"signedCertificateEmbeddedSct"`
		Detached chainAnswer `json:"signedCertificateDetachedSct"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, serviceError("certificate authority", s.Services.Authority, "answered something else than JSON")
	}
	chain := append(answer.Embedded.Chain.Certificates, answer.Detached.Chain.Certificates...)
	if len(chain) == 0 {
		return nil, serviceError("certificate authority", s.Services.Authority, "gave no certificate")
	}
	block, _ := pem.Decode([]byte(chain[0]))
	if block == nil {
		return nil, serviceError("certificate authority", s.Services.Authority, "gave a damaged certificate")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, serviceError("certificate authority", s.Services.Authority, "gave a damaged certificate")
	}
	own, _ := pem.Decode(key.Public().PEM())
	if !bytes.Equal(leaf.RawSubjectPublicKeyInfo, own.Bytes) {
		return nil, serviceError("certificate authority", s.Services.Authority, "gave a certificate for another key")
	}
	return leaf.Raw, nil
}

type certificateRequest struct {
	PublicKeyRequest struct {
		PublicKey struct {
			Algorithm string `json:"algorithm"`
			Content   string `json:"content"` // PEM
		} `json:"publicKey"`
		ProofOfPossession []byte `json:"proofOfPossession"`
	} `json:"publicKeyRequest"`
}

type chainAnswer struct {
	Chain struct {
		Certificates []string `json:"certificates"` // PEM, leaf first
	} `json:"chain"`
}

// tokenSubject is what Fulcio wants signed: the email address of the token, or
// else its subject. The token is read, not verified: that is Fulcio's part.
func tokenSubject(token string) (string, error) {
	parts := strings.Split(token, ".")
	var claims struct {
		Subject  string `json:"sub"`
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some issuers write it as a string
	}
	if len(parts) != 3 {
		return "", diag.New(diag.Failed, "keyless_token", "the identity token is not a JSON web token")
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &claims) != nil {
		return "", diag.New(diag.Failed, "keyless_token", "the identity token is damaged")
	}
	if claims.Email != "" {
		if claims.Verified != true && claims.Verified != "true" {
			return "", diag.New(diag.Failed, "keyless_token", "the issuer has not verified the email address of the identity token")
		}
		return claims.Email, nil
	}
	if claims.Subject == "" {
		return "", diag.New(diag.Failed, "keyless_token", "the identity token names nobody")
	}
	return claims.Subject, nil
}

// A call is one request to a service.
type call struct {
	what, base, path string // of the service, for people; where it is
	kind             string // content type; "" is JSON
	body             []byte // nil is a GET
	token            string // bearer
}

// post sends c and returns the answer; a status other than 200 and 201 is an error.
func (s *Signer) post(ctx context.Context, c call) ([]byte, error) {
	address, err := secure(c.what, c.base)
	if err != nil {
		return nil, err
	}
	target := strings.TrimSuffix(address.String(), "/") + c.path
	pause := s.Pause
	if pause == 0 {
		pause = 500 * time.Millisecond
	}
	for attempt := 1; ; attempt++ {
		text, retry, err := s.once(ctx, c, target)
		if err == nil || !retry || attempt == attempts {
			return text, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
			pause *= 2
		}
	}
}

func (s *Signer) once(ctx context.Context, c call, target string) (text []byte, retry bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	method, kind := http.MethodPost, c.kind
	if c.body == nil {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(c.body))
	if err != nil {
		return nil, false, serviceError(c.what, c.base, "has an address that cannot be used")
	}
	if kind == "" {
		kind = "application/json"
		request.Header.Set("Accept", "application/json")
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("User-Agent", "skl")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := withoutRedirects(s.Client).Do(request)
	if err != nil {
		e := serviceError(c.what, c.base, "cannot be reached")
		e.Err, e.Retryable = err, true
		return nil, ctx.Err() == nil, e
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		e := serviceError(c.what, c.base, "broke off its answer")
		e.Err, e.Retryable = err, true
		return nil, true, e
	}
	if len(text) > maxAnswer {
		return nil, false, serviceError(c.what, c.base, "answered with more than %d bytes", maxAnswer)
	}
	switch code := response.StatusCode; {
	case code == http.StatusOK, code == http.StatusCreated:
		return text, false, nil
	case code == http.StatusConflict && response.Header.Get("Location") != "":
		return nil, false, &conflict{response.Header.Get("Location")}
	default:
		e := serviceError(c.what, c.base, "answered with status %d: %s", code, excerpt(text))
		e.Retryable = code == http.StatusTooManyRequests || code >= 500
		return nil, e.Retryable, e
	}
}

// conflict says where an equal entry is already.
type conflict struct{ location string }

func (c *conflict) Error() string { return "entered before, at " + c.location }

func serviceError(what, address, format string, args ...any) *diag.Error {
	return diag.New(diag.Failed, "keyless_service", "the %s %s %s", what, diag.Printable(address), fmt.Sprintf(format, args...))
}

// excerpt is the start of an error answer, fit for one line.
func excerpt(text []byte) string {
	const limit = 200
	line := strings.TrimSpace(string(text))
	if len(line) > limit {
		line = line[:limit] + "…"
	}
	return diag.Printable(line)
}

// withoutRedirects is client refusing to be sent elsewhere, token and all.
func withoutRedirects(client *http.Client) *http.Client {
	own := &http.Client{}
	if client != nil {
		*own = *client
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return own
}

// secure parses the address of a service: https, or http on this machine.
func secure(what, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, diag.New(diag.Misuse, "keyless_config", "%q is no address of a %s", diag.Printable(address), what)
	}
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()) {
		return u, nil
	}
	return nil, diag.New(diag.Refused, "keyless_insecure", "the %s %s is not reached over https", what, diag.Printable(address))
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
