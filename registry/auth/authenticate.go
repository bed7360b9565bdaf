package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// ErrUnknown is what Lookup returns when there is no token with an id.
var ErrUnknown = errors.New("no such token")

// Stored is what a registry keeps of a token.
type Stored struct {
	ID      string
	Hash    Hash
	Account string
	Grants  []Grant   // of the token: at most those of its account
	Expires time.Time // zero means never
	Revoked bool
}

// Usable tells who has the right token why it does not work any more. Its error has the code unauthorized.
func (s Stored) Usable(now time.Time) error {
	switch {
	case s.Revoked:
		return diag.New(diag.Refused, "unauthorized", "the token %s was revoked", s.ID)
	case !s.Expires.IsZero() && !now.Before(s.Expires):
		return diag.New(diag.Refused, "unauthorized", "the token %s expired on %s", s.ID, s.Expires.UTC().Format(time.DateOnly))
	}
	return nil
}

// An Authenticator finds out who sends a request. Set its fields before first use; its methods
// may be called concurrently.
type Authenticator struct {
	// Lookup finds the token with an id. Its error is ErrUnknown when there is none; any
	// other comes back from the methods as it is.
	Lookup func(ctx context.Context, id string) (Stored, error)

	Bearers BearerKey // the zero value accepts no bearers
	Open    bool      // requests without credentials may do anything to artifacts
	Limiter *Limiter  // limits guessing; nil means no limit
	// SignedIn, if set, is told of each token that the token endpoint gave a bearer for.
	SignedIn func(r *http.Request, id Identity)
	Proxies  []netip.Prefix   // that tell the truth in X-Forwarded-For
	Now      func() time.Time // nil means time.Now
}

// Authenticate says who sends r:
//
//   - Basic, with a token as password; the user name does not matter, so docker login works with any.
//   - Bearer with a token, or with what the token endpoint gave.
//   - No Authorization header: Anonymous.
//
// Credentials that are wrong are an error with the code unauthorized, never Anonymous. Too many of them from one
// address are a *LimitError: then only tokens that were right from there before are looked at.
// Whether there is a token with an id makes no difference but the database's to find none.
func (a *Authenticator) Authenticate(r *http.Request) (Identity, error) {
	headers := r.Header.Values("Authorization")
	switch {
	case len(headers) == 0:
		return Identity{Anonymous: true, Open: a.Open}, nil
	case len(headers) > 1 || len(headers[0]) > 2*maxBearer:
		return Identity{}, unauthorized()
	}
	scheme, credentials, _ := strings.Cut(headers[0], " ")
	credentials = strings.TrimSpace(credentials)
	ip := ClientIP(r, a.Proxies)
	switch {
	case strings.EqualFold(scheme, "Basic"):
		text, err := base64.StdEncoding.DecodeString(credentials)
		_, password, ok := strings.Cut(string(text), ":")
		if err != nil || !ok {
			password = "" // fails as any other, and counts
		}
		return a.Token(r.Context(), ip, password)
	case strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(credentials, BearerPrefix):
		return a.bearer(r.Context(), credentials)
	case strings.EqualFold(scheme, "Bearer"):
		return a.Token(r.Context(), ip, credentials)
	}
	return Identity{}, unauthorized()
}

// Token says whose token text is; for what Authenticate does not see: a capability path, or a
// form. Ip is the client's; the zero Addr is not limited.
func (a *Authenticator) Token(ctx context.Context, ip netip.Addr, text string) (Identity, error) {
	id, hash, err := ParseToken(text)
	if wait := a.Limiter.attempt(ip, hash); !wait.OK {
		return Identity{}, &LimitError{wait}
	}
	if err != nil {
		a.Limiter.failed(ip)
		if strings.HasPrefix(text, TokenPrefix) {
			return Identity{}, unauthorized().Hint("is the token complete? %s", err)
		}
		return Identity{}, unauthorized()
	}
	stored, err := a.Lookup(ctx, id)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return Identity{}, err
	}
	// An unknown id is compared as well, with a hash that nothing has.
	if !stored.Hash.Equal(hash) || err != nil || stored.ID != id {
		a.Limiter.failed(ip)
		return Identity{}, unauthorized()
	}
	if err := stored.Usable(a.now()); err != nil {
		a.Limiter.failed(ip)
		return Identity{}, err
	}
	a.Limiter.succeeded(ip, hash)
	return Identity{Account: stored.Account, TokenID: stored.ID, Grants: stored.Grants, Expires: stored.Expires}, nil
}

// bearer looks at signature and token. A forged one is no guess at a token, and costs no
// look into the database, so it is not counted.
func (a *Authenticator) bearer(ctx context.Context, text string) (Identity, error) {
	b, err := a.Bearers.Verify(text, a.now())
	if err != nil {
		return Identity{}, err
	}
	if b.TokenID == "" {
		return Identity{Anonymous: true, Open: a.Open, Scopes: b.Scopes}, nil
	}
	stored, err := a.Lookup(ctx, b.TokenID)
	switch {
	case errors.Is(err, ErrUnknown), err == nil && stored.Account != b.Account:
		return Identity{}, unauthorized()
	case err != nil:
		return Identity{}, err
	}
	if err := stored.Usable(a.now()); err != nil {
		return Identity{}, err
	}
	return Identity{Account: stored.Account, TokenID: stored.ID, Grants: stored.Grants, Expires: stored.Expires, Scopes: b.Scopes}, nil
}

func (a *Authenticator) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

//go:noinline
func unauthorized() *diag.Error {
	return diag.New(diag.Refused, "unauthorized", "the credentials are not valid here")
}

// TokenPath is where ServeToken belongs.
const TokenPath = "/token"

// ServeToken is the token endpoint of docker's protocol: it exchanges Basic credentials (GET), or
// those in a form (POST, grant types password and refresh_token), for a bearer token. Without
// credentials the bearer is for nobody. What the bearer may do is decided where it is shown.
//
// A bearer is no credential here: else it could be exchanged for ever, and for other repositories than it
// was asked for. A bearer ends with its token, if that is sooner.
func (a *Authenticator) ServeToken(w http.ResponseWriter, r *http.Request) {
	id, scopes, err := a.tokenRequest(w, r)
	var limit *LimitError
	refuse := func(status int, code, message string) {
		answer(w, status, map[string]any{"errors": []any{map[string]string{"code": code, "message": message}}})
	}
	switch {
	case errors.As(err, &limit):
		limit.Verdict.WriteTo(w.Header())
		refuse(http.StatusTooManyRequests, "TOOMANYREQUESTS", limit.Error())
		return
	case errors.Is(err, diag.Code("unauthorized")):
		w.Header().Set("WWW-Authenticate", BasicChallenge)
		refuse(http.StatusUnauthorized, "UNAUTHORIZED", err.Error())
		return
	case errors.Is(err, diag.Code("invalid_name")):
		refuse(http.StatusBadRequest, "NAME_INVALID", err.Error())
		return
	case errors.Is(err, diag.Code("invalid_request")):
		refuse(http.StatusBadRequest, "UNSUPPORTED", err.Error())
		return
	case errors.Is(err, diag.Code("method_not_allowed")):
		w.Header().Set("Allow", "GET, HEAD, POST")
		refuse(http.StatusMethodNotAllowed, "UNSUPPORTED", err.Error())
		return
	case err != nil:
		refuse(http.StatusServiceUnavailable, "UNAVAILABLE", "tokens cannot be looked up now")
		return
	}
	if a.SignedIn != nil && id.TokenID != "" {
		a.SignedIn(r, id)
	}
	now := a.now()
	life := BearerLife
	if !id.Expires.IsZero() {
		life = min(life, id.Expires.Sub(now))
	}
	text := a.Bearers.Sign(Bearer{Account: id.Account, TokenID: id.TokenID, Scopes: scopes, Expires: now.Add(life)})
	answer(w, http.StatusOK, map[string]any{
		"token": text, "access_token": text, "expires_in": int(life / time.Second), "issued_at": now.UTC().Format(time.RFC3339),
	})
}

func (a *Authenticator) tokenRequest(w http.ResponseWriter, r *http.Request) (id Identity, scopes []Scope, err error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if headers := r.Header.Values("Authorization"); len(headers) > 0 && !hasFoldPrefix(headers[0], "basic ") {
			return Identity{}, nil, diag.New(diag.Refused, "unauthorized", "a bearer is given for a token by Basic authentication, and for nothing else")
		}
		if id, err = a.Authenticate(r); err == nil {
			scopes, err = ParseScopes(r.URL.Query()["scope"])
		}
		return id, scopes, err
	case http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
		if err := r.ParseForm(); err != nil {
			return Identity{}, nil, unauthorized()
		}
		text := r.PostForm.Get("password")
		if r.PostForm.Get("grant_type") == "refresh_token" {
			text = r.PostForm.Get("refresh_token")
		}
		if id, err = a.Token(r.Context(), ClientIP(r, a.Proxies), text); err == nil {
			scopes, err = ParseScopes(r.PostForm["scope"])
		}
		return id, scopes, err
	}
	return Identity{}, nil, diag.New(diag.Misuse, "method_not_allowed", "a token is asked for by GET or POST")
}

func hasFoldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) // the client may be gone
}

// ClientIP is the address that a request comes from: the peer, or, while that is one of proxies, the last
// address in X-Forwarded-For that is not. It is the zero Addr if the peer has none.
func ClientIP(r *http.Request, proxies []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip := peer.Addr().Unmap().WithZone("")
	trusted := func(ip netip.Addr) bool {
		for _, p := range proxies {
			if p.Contains(ip) {
				return true
			}
		}
		return false
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && trusted(ip); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		ip = hop.Unmap().WithZone("")
	}
	return ip
}
