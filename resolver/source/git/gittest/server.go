package gittest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A Server serves the bare repositories of directories over smart HTTP, by
// git http-backend on a loopback port. The zero options are what large public forges offer.
type Server struct {
	URL string // http://127.0.0.1:PORT; a repository is at URL/NAME.git

	opt      Options
	dirs     map[string]string // repository by NAME.git
	backend  string
	home     string
	requests atomic.Int64
	sent     atomic.Int64
	denied   atomic.Int64
}

// Options are what a server may do differently.
type Options struct {
	NoFilter       bool   // uploadpack.allowFilter off
	NoAnySHA1      bool   // uploadpack.allowAnySHA1InWant off; matters in protocol 0
	V0             bool   // the client's wish for protocol 2 is not heard
	User, Password string // basic authentication is required if set

	// Answer, if set, sees every request first; true means that it has answered.
	Answer func(w http.ResponseWriter, r *http.Request) bool
	// Tamper, if set, may change the body of an answer. Path ends in info/refs or git-upload-pack.
	Tamper func(path string, body []byte) []byte
}

// NewServer starts a server for the repositories, which end with the test.
func NewServer(t testing.TB, opt Options, repositories ...string) *Server {
	t.Helper()
	backend := filepath.Join(Git(t, t.TempDir(), "--exec-path"), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		if _, err = os.Stat(backend + ".exe"); err != nil {
			Skip(t, "git http-backend is not installed")
		}
		backend += ".exe"
	}
	s := &Server{opt: opt, backend: backend, home: t.TempDir(), dirs: make(map[string]string)}
	for _, dir := range repositories {
		s.dirs[filepath.Base(dir)] = filepath.Dir(dir)
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Requests is the number of requests that came.
func (s *Server) Requests() int { return int(s.requests.Load()) }

// Sent is the number of bytes of bodies that were sent.
func (s *Server) Sent() int64 { return s.sent.Load() }

// Denied is the number of requests without the right credentials.
func (s *Server) Denied() int { return int(s.denied.Load()) }

// Reset sets the counts to zero.
func (s *Server) Reset() {
	s.requests.Store(0)
	s.sent.Store(0)
	s.denied.Store(0)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	if s.opt.Answer != nil && s.opt.Answer(w, r) {
		return
	}
	if s.opt.User != "" {
		if user, password, _ := r.BasicAuth(); user != s.opt.User || password != s.opt.Password {
			s.denied.Add(1)
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	root, ok := s.dirs[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if s.opt.V0 {
		r.Header.Del("Git-Protocol")
	}
	h := cgi.Handler{Path: s.backend, Root: "/", Env: s.env(root), Stderr: io.Discard}
	out := &counter{ResponseWriter: w, sent: &s.sent}
	if s.opt.Tamper == nil {
		h.ServeHTTP(out, r)
		return
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	for key, values := range rec.Header() {
		w.Header()[key] = values
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(rec.Code)
	out.Write(s.opt.Tamper(r.URL.Path, bytes.Clone(rec.Body.Bytes())))
}

func (s *Server) env(root string) []string {
	on := func(off bool) string {
		if off {
			return "false"
		}
		return "true"
	}
	return append(Environ(s.home),
		"GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=uploadpack.allowFilter", "GIT_CONFIG_VALUE_0="+on(s.opt.NoFilter),
		"GIT_CONFIG_KEY_1=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_1="+on(s.opt.NoAnySHA1),
		"GIT_CONFIG_KEY_2=safe.directory", "GIT_CONFIG_VALUE_2=*")
}

// counter counts the bytes of a body.
type counter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.sent.Add(int64(n))
	return n, err
}
