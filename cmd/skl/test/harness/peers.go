package harness

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/server"
)

// ServeRegistry runs a registry in this process, on a free port, and returns its host and admin token.
func ServeRegistry(t *testing.T, c server.Config) (host, token string) {
	t.Helper()
	c.Data, c.Addr = t.TempDir(), "127.0.0.1:0"
	s, err := server.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		web.Serve(l)
		close(done)
	}()
	t.Cleanup(func() {
		web.Close()
		<-done
		s.Close()
	})
	return l.Addr().String(), s.AdminToken
}

// WriteFile makes a file with its directories.
func WriteFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
