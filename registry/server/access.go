package server

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/api"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/spec/diag"
)

// access authenticates callers and limits how often they may ask.
type access struct {
	auth.Authenticator
	byAddress *auth.Limiter
	byToken   *auth.Limiter
}

// tokenFactor is how much more than an address a token may ask for.
const tokenFactor = 4

// DefaultLimits hold where a configuration says nothing.
func DefaultLimits() Limits {
	r := auth.DefaultRates()
	return Limits{Read: r[auth.Reads].PerMinute, Write: r[auth.Writes].PerMinute, Download: r[auth.Downloads].PerMinute, Failures: r[auth.Failures].PerMinute,
		Connections: gate.DefaultShare}
}

// rates are the limits times factor.
func (l Limits) rates(factor int) map[auth.Class]auth.Rate {
	d := DefaultLimits()
	out := make(map[auth.Class]auth.Rate)
	for class, n := range map[auth.Class][2]int{
		auth.Reads: {l.Read, d.Read}, auth.Writes: {l.Write, d.Write}, auth.Downloads: {l.Download, d.Download}, auth.Failures: {l.Failures, d.Failures},
	} {
		switch {
		case n[0] == 0:
			out[class] = auth.Rate{PerMinute: n[1] * factor}
		case n[0] > 0:
			out[class] = auth.Rate{PerMinute: n[0] * factor}
		}
	}
	return out
}

// newAccess reads the key of short-lived bearers, or makes one.
func (s *Server) newAccess(ctx context.Context) (*access, error) {
	secret, err := s.secret(ctx, s.bearerSecret())
	if err != nil {
		return nil, err
	}
	key, err := auth.ParseBearerKey(secret)
	if err != nil {
		return nil, err
	}
	a := &access{byAddress: auth.NewLimiter(s.cfg.Limits.rates(1), nil), byToken: auth.NewLimiter(s.cfg.Limits.rates(tokenFactor), nil)}
	a.Authenticator = auth.Authenticator{Lookup: s.Registry.LookupToken, Bearers: key, Open: s.cfg.Access.Open, Limiter: a.byAddress, Now: s.now}
	a.SignedIn = func(r *http.Request, id auth.Identity) {
		who := registry.Caller{Identity: id}
		if v := visitOf(r); v != nil {
			who.Remote = v.remote
		}
		if err := s.Registry.SignedIn(r.Context(), who); err != nil { // which is no reason to turn anybody away
			s.logger.WarnContext(r.Context(), "a sign-in was not noted", "error", err)
		}
	}
	return a, nil
}

// caller says who sends r. It asks once for each request.
func (s *Server) caller(r *http.Request) (registry.Caller, error) {
	v := visitOf(r)
	if v == nil {
		return registry.Caller{}, errors.New("server: request did not come through the handler")
	}
	if !v.known {
		id, err := s.access.Authenticate(r)
		if err == nil && id.Anonymous && !id.Open && !s.cfg.anonymous() {
			err = diag.New(diag.Failed, "unauthorized", "this registry is read with a token only").Hint("skl login %s", s.base(r))
		}
		if err == nil && id.Scopes != nil && v.route != "oci" {
			err = diag.New(diag.Failed, "unauthorized", "a bearer is for the paths below /v2 only; show the token itself")
		}
		v.known, v.err = true, err
		if err == nil {
			v.who = registry.Caller{Identity: id, Remote: v.remote}
		}
	}
	return v.who, v.refused()
}

// tokenCaller says whose token stands in a path.
func (s *Server) tokenCaller(r *http.Request, token string) (registry.Caller, error) {
	v := visitOf(r)
	if v == nil {
		return registry.Caller{}, errors.New("server: request did not come through the handler")
	}
	id, err := s.access.Token(r.Context(), v.ip, token)
	v.known, v.err = true, err
	if err == nil {
		v.who = registry.Caller{Identity: id, Remote: v.remote}
	}
	return v.who, v.refused()
}

// refused is the error of a visit, with its headers if it is one of a limit.
func (v *visit) refused() error {
	if limit, ok := errors.AsType[*auth.LimitError](v.err); ok {
		limit.Verdict.WriteTo(v.head)
	}
	return v.err
}

// challenge is how clients are asked for credentials.
func (s *Server) challenge(r *http.Request, scope string) string {
	if v := visitOf(r); v != nil && v.route != "oci" {
		return auth.BasicChallenge
	}
	return auth.Challenge(s.base(r), scope)
}

// base is the URL of the registry, as this client reached it if nothing else is known.
func (s *Server) base(r *http.Request) string {
	if s.cfg.URL != "" {
		return strings.TrimSuffix(s.cfg.URL, "/")
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// admit takes a request from the bucket of its token or address. This machine is without limit,
// unless it is a proxy for others.
func (s *Server) admit(r *http.Request, v *visit) (wire.Problem, bool) {
	if v.route == "other" || v.ip.IsLoopback() && !s.cfg.TLS.Proxy {
		return wire.Problem{}, true
	}
	class := auth.Reads
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		class = auth.Writes
	case v.route == "oci" && strings.Contains(r.URL.Path, "/blobs/"), strings.HasSuffix(r.URL.Path, "/download"), strings.HasSuffix(r.URL.Path, ".zip"):
		class = auth.Downloads
	}
	limiter, key := s.access.byAddress, gate.Network(v.ip)
	if who, err := s.caller(r); err == nil && who.TokenID != "" {
		limiter, key = s.access.byToken, who.TokenID
	}
	verdict := limiter.Allow(class, key)
	verdict.WriteTo(v.head)
	if !verdict.OK {
		return api.Problem(&auth.LimitError{Verdict: verdict}), false
	}
	return wire.Problem{}, true
}

// proxied is the address of who asked the proxy in front: the last one in X-Forwarded-For, which
// the proxy itself wrote. Those before it are whatever the client says.
func proxied(r *http.Request) string {
	all := r.Header.Values("X-Forwarded-For")
	if len(all) == 0 {
		return r.RemoteAddr
	}
	last := all[len(all)-1]
	if i := strings.LastIndexByte(last, ','); i >= 0 {
		last = last[i+1:]
	}
	ip, err := netip.ParseAddr(strings.TrimSpace(last))
	if err != nil {
		return r.RemoteAddr
	}
	return netip.AddrPortFrom(ip.Unmap().WithZone(""), 0).String()
}
