package server

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/api"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/registry/gateway/wellknown"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/oci"
	"github.com/skl-project/skl/spec/diag"
)

// routes is the whole server: what a path belongs to is decided here.
func (s *Server) routes() http.Handler {
	challenge := func(r *http.Request) string { return s.challenge(r, "") }
	rest := api.New(api.Handler{
		Registry: s.Registry, Caller: s.caller, Challenge: challenge, Audience: s.audience, About: s.about(), URL: s.cfg.URL,
		Open: s.cfg.Access.Open, PublicLog: s.cfg.Log.Public, TempDir: s.path("tmp"), Logger: s.logger,
	})
	discovery := &wellknown.Handler{
		Registry: s.Registry, Caller: s.caller, Token: s.tokenCaller, Challenge: challenge, URL: s.cfg.URL, Generation: s.generation,
	}
	images := &oci.Handler{Registry: s.Registry, Caller: s.caller, Challenge: s.challenge, Patience: min(s.stall, 30*time.Second),
		Failed: func(r *http.Request, err error) {
			s.logger.ErrorContext(r.Context(), "request failed", "error", err, "path", gate.Redact(r.URL.Path))
		}}
	own := http.NewServeMux()
	own.HandleFunc(auth.TokenPath, s.access.ServeToken)
	own.HandleFunc("GET /healthz", s.healthz)
	own.HandleFunc("GET /readyz", s.readyz)
	own.HandleFunc("GET /metrics", s.metricsPage)
	own.HandleFunc("GET /{$}", s.front)
	own.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		api.WriteProblem(w, api.Problem(diag.New(diag.Misuse, "not_found", "there is nothing at this path")))
	})
	return s.guard(func(path string) (string, http.Handler) {
		switch {
		case path == "/v2" || strings.HasPrefix(path, "/v2/"):
			return "oci", images
		case path == "/api/v1" || strings.HasPrefix(path, "/api/"):
			return "api", rest
		case strings.HasPrefix(path, "/log/"):
			return "log", rest
		case wellknown.Match(path):
			return "wellknown", discovery
		}
		return "other", own
	})
}

// about is what GET /api/v1 says.
func (s *Server) about() wire.About {
	a := wire.About{Name: s.cfg.Name, Software: "skl", Version: cmp.Or(s.version, "unknown"), URL: s.cfg.URL, Log: s.Registry.Key.Public(),
		Features: []string{"oci", "publish", "search", "log", "tokens", "audit", "publishers", "wellknown", "capability-paths"}, Reserved: s.cfg.Reserved}
	if s.cfg.Access.Open {
		a.Features = []string{"oci", "open"}
	}
	return a
}

// generation changes with every change: each is an event of the audit trail.
func (s *Server) generation(ctx context.Context) (int64, error) {
	var last int64
	err := s.Registry.Meta.Read(ctx, func(tx *meta.Tx) error {
		events, err := tx.Events(ctx, meta.AuditQuery{Limit: 1})
		if err == nil && len(events) > 0 {
			last = events[0].ID
		}
		return err
	})
	return last, registry.Explain(err)
}

func (s *Server) healthz(w http.ResponseWriter, r *http.Request) { plain(w, http.StatusOK, "ok\n") }

// front says what this is to who looks at it with a browser.
func (s *Server) front(w http.ResponseWriter, r *http.Request) {
	base := s.base(r)
	name := "A registry of agent skills"
	if s.cfg.Name != "" {
		name = diag.Printable(s.cfg.Name) + ": a registry of agent skills"
	}
	plain(w, http.StatusOK, name+"\n\n"+
		"skl login "+base+"\n"+
		"skl install NAMESPACE/SKILL\n\n"+
		"API      "+base+"/api/v1/openapi.json\n"+
		"OCI      "+base+"/v2/\n"+
		"index    "+base+"/NAMESPACE/.well-known/agent-skills/index.json\n"+
		"log      "+base+"/log/checkpoint\n")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	io.WriteString(w, text)
}

// metricsPage is for who is on this machine, and for operators.
func (s *Server) metricsPage(w http.ResponseWriter, r *http.Request) {
	if !s.cfg.Access.Metrics && (s.cfg.TLS.Proxy || !origin.Loopback(r.RemoteAddr)) {
		who, err := s.caller(r)
		if err == nil && !who.May(auth.Operate, "*") {
			err = registry.Denied(who, auth.Operate, auth.Everywhere)
			if who.Anonymous {
				err = diag.New(diag.Failed, "unauthorized", "this needs a token")
			}
		}
		if err != nil {
			p := api.Problem(err)
			if p.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", s.challenge(r, ""))
			}
			api.WriteProblem(w, p)
			return
		}
	}
	s.metrics.page.ServeHTTP(w, r)
}

// refuse answers a request before it reaches a handler, in the words of its protocol.
func refuse(w http.ResponseWriter, route string, p wire.Problem) {
	if route != "oci" {
		api.WriteProblem(w, p)
		return
	}
	code := "UNKNOWN"
	switch p.Status {
	case http.StatusTooManyRequests:
		code = "TOOMANYREQUESTS"
	case http.StatusForbidden, http.StatusMisdirectedRequest:
		code = "DENIED"
	case http.StatusServiceUnavailable:
		code = "UNAVAILABLE"
	}
	text, err := json.Marshal(map[string]any{"errors": []map[string]string{{"code": code, "message": p.Detail}}})
	if err != nil {
		return // strings always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	w.Write(text)
}

var _ api.Core = (*registry.Registry)(nil)
var _ wellknown.Core = (*registry.Registry)(nil)
