package server

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// Bounds of asking an issuer for its keys.
const (
	issuerWait = 10 * time.Second
	maxIssuer  = 1 << 20 // bytes of a document
)

// issuers verifies the identity tokens of GitHub, GitLab and the configured issuers. What these lead to is no further in than they are.
func issuers(cfg Config) (*auth.Issuers, error) {
	h := &origin.Client{Getenv: os.Getenv, Known: map[string]bool{}, CAs: map[string][]byte{}, UserAgent: "skl-registry"}
	out := &auth.Issuers{Trusted: append([]string{registry.GitHub, registry.GitLab}, cfg.Publishers.Issuers...)}
	if cfg.Publishers.CA != "" {
		pem, err := os.ReadFile(cfg.Publishers.CA)
		if err != nil {
			return nil, invalid("", 0, 0, "publishers.ca cannot be read: %w", err)
		}
		for _, issuer := range cfg.Publishers.Issuers {
			if u, err := url.Parse(issuer); err == nil {
				h.CAs[origin.Host(u)] = pem
			}
		}
	}
	out.Fetch = func(ctx context.Context, issuer, address string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, issuerWait)
		defer cancel()
		u, err := url.Parse(issuer)
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(origin.Via(ctx, origin.Of(u)), http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		resp, err := h.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, diag.New(diag.Failed, "http_status", "%s answers with status %d", origin.Of(u), resp.StatusCode)
		}
		return origin.ReadAll(resp, maxIssuer)
	}
	return out, nil
}

// audience is the address of the registry that identity tokens have to be for: the configured one, or what this machine calls it. What
// somebody else says in a header is none: a token that was meant for another registry would be taken.
func (s *Server) audience(r *http.Request) string {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if s.cfg.URL == "" && (s.cfg.TLS.Proxy || local == nil || !origin.Loopback(local.String())) {
		return ""
	}
	return s.base(r)
}
