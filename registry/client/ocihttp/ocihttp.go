// Package ocihttp connects oras-go, which speaks the protocol of OCI registries, to
// the one HTTP client of skl, which decides what may be talked to.
//
//   - Every request, also one for a token, goes through an [origin.Client]: its rules
//     about plain http, proxies, certificates, redirects and being offline hold.
//   - Loopback addresses and hosts listed as insecure are spoken to over plain http, unless
//     certificates are configured for them; all others over https.
//   - A credential is looked up after a 401, for the registry's own origin, and goes
//     nowhere but there and to the token endpoint ("realm") that this registry names. The
//     endpoint must be https where the registry is; on another host it must not be, nor mean, an address further in
//     than the registry's: that is oras-go's rule for what is written, and [origin.Via]'s for the connection.
//   - With "Basic", or a "Bearer" challenge that names no token endpoint, the secret itself is sent.
//
// Documents: OCI distribution spec 1.1; the token protocol of the Docker registry.
package ocihttp

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// MaxManifest is the largest manifest, index or list that is read, in bytes.
const MaxManifest = 4 << 20

// maxPages bounds lists of tags and referrers.
const maxPages = 200

// tokenUser is the user that goes with a token where only a name and a password are understood.
const tokenUser = "x-access-token"

// identityUser marks a secret that is a refresh token, as docker's credential helpers and configuration do.
const identityUser = "<token>"

// Repository is the repository named repo ("ns/name") of the registry at host
// ("host" or "host:port"). Use a [Client] for more than one, so that tokens are shared.
func Repository(client *origin.Client, host, repo string) (*remote.Repository, error) {
	return New(client).Repository(host, repo)
}

// A Client hands out repositories that share connections and tokens. Its methods may
// be called concurrently.
type Client struct {
	origin *origin.Client

	mu         sync.Mutex // guards what follows
	registries map[string]*auth.Client
}

// New returns a Client that sends its requests through c.
func New(c *origin.Client) *Client {
	return &Client{origin: c, registries: map[string]*auth.Client{}}
}

// Repository is the repository named repo of the registry at host. A name that cannot be
// one is an error of class Misuse and code invalid_ref.
func (c *Client) Repository(host, repo string) (*remote.Repository, error) {
	r := registry.Reference{Registry: host, Repository: repo}
	if err := r.ValidateRegistry(); err != nil {
		return nil, diag.New(diag.Misuse, "invalid_ref", "%q is not the host of a registry", diag.Printable(host))
	}
	if err := r.ValidateRepository(); err != nil {
		return nil, diag.New(diag.Misuse, "invalid_ref", "%q is not the name of a repository", diag.Printable(repo))
	}
	return &remote.Repository{
		Client:               c.registry(r.Host()),
		Reference:            r,
		PlainHTTP:            c.Plain(host),
		MaxMetadataBytes:     MaxManifest,
		TagListMaxPages:      maxPages,
		ReferrerListMaxPages: maxPages,
		SkipReferrersGC:      true, // many registries know no delete
	}, nil
}

// Plain reports whether host is spoken to over plain http.
func (c *Client) Plain(host string) bool {
	if c.origin.CAs[host] != nil {
		return false
	}
	if c.origin.Insecure[host] {
		return true
	}
	return origin.Loopback(host)
}

// Base is the address of the registry at host: "https://host:port".
func (c *Client) Base(host string) string {
	host = registry.Reference{Registry: host}.Host()
	if c.Plain(host) {
		return "http://" + host
	}
	return "https://" + host
}

// registry is the client of one registry, which knows that one's credential only.
func (c *Client) registry(host string) *auth.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.registries[host]; a != nil {
		return a
	}
	own := c.Base(host)
	a := &auth.Client{
		Client:   &http.Client{Transport: &transport{origin: c.origin, own: own, anonymous: c.origin.Anonymous()}, CheckRedirect: lastResponse},
		Cache:    auth.NewCache(),
		ClientID: "skl",
		Credential: func(ctx context.Context, hostport string) (auth.Credential, error) {
			if hostport != host || c.origin.Credential == nil {
				return auth.EmptyCredential, nil
			}
			cred, err := c.origin.Credential(ctx, own)
			switch {
			case err != nil || cred == (origin.Credential{}):
				return auth.EmptyCredential, err
			case cred.User == identityUser:
				return auth.Credential{RefreshToken: cred.Secret}, nil
			case cred.User == "":
				cred.User = tokenUser
			}
			return auth.Credential{Username: cred.User, Password: cred.Secret}, nil
		},
	}
	c.registries[host] = a
	return a
}

// lastResponse keeps net/http from following what [origin.Client] did not follow.
func lastResponse(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// A transport sends the requests of one registry. It leaves a 401 that names a token
// endpoint to oras-go, and any other to [origin.Client].
type transport struct {
	origin    *origin.Client
	own       string
	anonymous http.RoundTripper

	mu     sync.Mutex
	direct bool // the registry takes the secret itself; guarded by mu
}

// RoundTrip implements [http.RoundTripper]. A web page in place of what a registry answers is an error.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.send(req)
	if err != nil || resp.StatusCode != http.StatusOK || req.Method != http.MethodGet || strings.Contains(req.URL.Path, "/blobs/") {
		return resp, err
	}
	if page := origin.WebPage(resp, "not_a_registry", t.own, "an answer of a registry"); page != nil {
		resp.Body.Close()
		return nil, page
	}
	return resp, nil
}

// send is RoundTrip whatever comes back.
func (t *transport) send(req *http.Request) (*http.Response, error) {
	if origin.Of(req.URL) != t.own { // a token endpoint: the registry named it
		return t.anonymous.RoundTrip(req.WithContext(origin.Via(req.Context(), t.own)))
	}
	if req.Header.Get("Authorization") != "" {
		return t.anonymous.RoundTrip(req)
	}
	t.mu.Lock()
	direct := t.direct
	t.mu.Unlock()
	if direct {
		return t.withSecret(req)
	}
	resp, err := t.anonymous.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || namesEndpoint(resp.Header) || len(resp.Header.Values("WWW-Authenticate")) == 0 {
		return resp, err
	}
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return resp, nil
		}
		body, err := req.GetBody()
		if err != nil {
			return resp, nil
		}
		req = req.Clone(req.Context())
		req.Body = body
	}
	again, err := t.withSecret(req)
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Body.Close()
	t.mu.Lock()
	t.direct = again.StatusCode != http.StatusUnauthorized
	t.mu.Unlock()
	return again, nil
}

// withSecret sends req with the secret itself, after a challenge. What is still refused then is not for
// oras-go to try again: it would ask for a credential that was refused.
func (t *transport) withSecret(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	resp, err := t.origin.Do(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		resp.Header.Del("WWW-Authenticate")
	}
	return resp, err
}

// namesEndpoint reports whether a Bearer challenge says where tokens are to be had.
func namesEndpoint(h http.Header) bool {
	for _, challenge := range h.Values("WWW-Authenticate") {
		lower := strings.ToLower(challenge)
		if strings.HasPrefix(strings.TrimSpace(lower), "bearer") && strings.Contains(lower, "realm=") {
			return true
		}
	}
	return false
}
