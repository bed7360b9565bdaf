package server

import (
	"context"
	"github.com/skl-project/skl/registry/meta/metatest"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// start opens a registry in an empty directory and serves it.
func start(t testing.TB, change func(*Config)) (*Server, string) {
	t.Helper()
	cfg := Config{Data: metatest.Dir(t)}
	if change != nil {
		change(&cfg)
	}
	s, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, web.URL
}

// An empty directory is a registry.
func TestEmptyDirectory(t *testing.T) {
	s, url := start(t, nil)
	if s.AdminToken == "" {
		t.Error("the first start makes no admin token")
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/", "/api/v1", "/api/v1/openapi.json", "/log/checkpoint", "/.well-known/agent-skills/index.json"} {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || len(body) == 0 {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}
