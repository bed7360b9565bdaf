package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// A second process does not open a registry that another one has open, and a closed one opens again as it was.
func TestOneProcess(t *testing.T) {
	long.Slow(t)
	cfg := Config{Data: filepath.Join(t.TempDir(), "not", "there", "yet")}
	first, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), cfg); !errors.Is(err, diag.Code("data_in_use")) {
		t.Errorf("opened twice: %v", err)
	}
	key := first.Registry.Key.Public()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.AdminToken != "" || second.Registry.Key.Public() != key {
		t.Error("the second start made another token or key")
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, name := range []string{"log.key", "bearer.key"} {
		info, err := os.Stat(filepath.Join(cfg.Data, "keys", name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

// A registry answers within 200 ms of the start on an empty directory. The bound here is wider, for busy machines; the time is logged.
func TestStartTime(t *testing.T) {
	dir := t.TempDir()
	began := time.Now()
	s, err := Open(t.Context(), Config{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
	took := time.Since(began)
	t.Logf("the first start took %v", took)
	if w.Code != 200 || took > long.Within(2*time.Second) {
		t.Errorf("%d after %v", w.Code, took)
	}
}

// listen serves s on a free port until the returned func is called, which returns what Serve did.
func listen(t *testing.T, s *Server) (url string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	return "http://" + l.Addr().String(), sync.OnceValue(func() error {
		cancel()
		return <-done
	})
}

// A download that runs at shutdown ends with all its bytes, and nobody new is let in.
func TestShutdownFinishesDownloads(t *testing.T) {
	long.Slow(t)
	s, _ := start(t, nil)
	url, stop := listen(t, s)
	defer stop()
	big := make([]byte, 8<<20)
	rand.Read(big)
	site := &site{t: t, s: s, url: url, admin: s.AdminToken}
	site.namespace("acme", true)
	site.publish(s.AdminToken, "acme/pdf@1.0.0", "big.bin", string(big))
	resp, err := http.Get(url + "/api/v1/skills/acme/pdf/versions/1.0.0/download")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	head := make([]byte, 1000)
	if _, err := io.ReadFull(resp.Body, head); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for refused := false; !refused; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if refused = err != nil; !refused {
			c.Close()
		}
	}
	select {
	case err := <-stopped:
		t.Fatalf("the server stopped while a download ran: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	rest, err := io.ReadAll(resp.Body)
	if err != nil || int64(len(head)+len(rest)) != resp.ContentLength {
		t.Errorf("%d of %d bytes: %v", len(head)+len(rest), resp.ContentLength, err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// An address that others could reach is refused without TLS, and an open registry stays local.
func TestRefusesToListen(t *testing.T) {
	for _, tt := range []struct {
		what, addr string
		change     func(*Config)
		code       string
	}{
		{"loopback", "127.0.0.1:0", nil, ""},
		{"IPv6 loopback", "[::1]:0", nil, ""},
		{"by name", "localhost:0", nil, ""},
		{"all addresses", "0.0.0.0:0", nil, "tls_needed"},
		{"all addresses, short", ":0", nil, "tls_needed"},
		{"behind a proxy", "0.0.0.0:0", func(c *Config) { c.TLS.Proxy = true }, ""},
		{"with a certificate", "0.0.0.0:0", func(c *Config) { c.TLS.Cert, c.TLS.Key = "c", "k" }, ""},
		{"open, local", "127.0.0.1:0", func(c *Config) { c.Access.Open = true }, ""},
		{"open, behind a proxy", "0.0.0.0:0", func(c *Config) { c.Access.Open, c.TLS.Proxy = true, true }, "open_not_local"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			c := Config{Addr: tt.addr}
			if tt.change != nil {
				tt.change(&c)
			}
			err := c.Check()
			if tt.code == "" && err != nil || tt.code != "" && !errors.Is(err, diag.Code(tt.code)) {
				t.Errorf("%v, want %q", err, tt.code)
			}
		})
	}
	s, _ := start(t, nil)
	l, err := net.Listen("tcp", "0.0.0.0:0") // a listener that was opened elsewhere is looked at too
	if err != nil {
		t.Skip("skipped: there is no address but loopback")
	}
	if err := s.Serve(t.Context(), l); !errors.Is(err, diag.Code("tls_needed")) {
		t.Errorf("served %s: %v", l.Addr(), err)
	}
}

// With a certificate it speaks TLS, from version 1.2 on.
func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := start(t, func(c *Config) {
		c.Addr, c.TLS.Cert, c.TLS.Key = "127.0.0.1:0", filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	})
	l, err := s.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() {
		cancel()
		<-done
	}()
	roots := x509.NewCertPool()
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(cert)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.ProtoMajor != 2 || resp.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%s %d %v", resp.Proto, resp.StatusCode, resp.Header)
	}
}

// lines is a log in memory.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// last is the last line, as what it says.
func (l *lines) last(t *testing.T) map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Split(strings.TrimSpace(l.b.String()), "\n")
	var line map[string]any
	if err := json.Unmarshal([]byte(all[len(all)-1]), &line); err != nil {
		t.Fatal(err)
	}
	return line
}

// The access log says who asked for what, and never holds a token.
func TestAccessLog(t *testing.T) {
	var log lines
	s, err := Open(t.Context(), Config{Data: metatest.Dir(t)}, WithLogger(slog.New(slog.NewJSONHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ask := func(path string, header ...string) {
		t.Helper()
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if id := w.Header().Get("X-Request-Id"); id == "" || log.last(t)["request"] != id {
			t.Errorf("request id %q is not in the log: %v", id, log.last(t))
		}
	}
	ask("/api/v1/whoami", "Authorization", "Bearer "+s.AdminToken)
	if line := log.last(t); line["account"] != "admin" || line["status"] != 200.0 || line["path"] != "/api/v1/whoami" || line["token"] == "" {
		t.Errorf("%v", line)
	}
	ask("/t/" + s.AdminToken + "/acme/.well-known/skills/index.json")
	if line := log.last(t); line["path"] != "/t/REDACTED/acme/.well-known/skills/index.json" || line["status"] != 403.0 {
		t.Errorf("%v", line)
	}
	for _, path := range []string{"/x/../t/MISTYPED/y", "/v2/t/MISTYPED/x", "/api/t/MISTYPED/", "/.well-known/t/MISTYPED/x", "/t%5cMISTYPED/y"} {
		ask(path)
	}
	ask("/api/v1/skills?x=" + s.AdminToken)
	if text := log.b.String(); strings.Contains(text, s.AdminToken) || strings.Contains(text, "MISTYPED") {
		t.Error("the log holds a token:", text)
	}
}

// A panic is a 500 that says nothing of it, or the end of the connection when the answer has begun.
func TestPanic(t *testing.T) {
	s, _ := start(t, nil)
	h := s.guard(func(path string) (string, http.Handler) {
		return "api", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if path == "/late" {
				w.Header().Set("Content-Length", "10")
				io.WriteString(w, "half")
				http.NewResponseController(w).Flush()
			}
			panic("secret")
		})
	})
	web := httptest.NewUnstartedServer(h)
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	web.Start()
	defer web.Close()
	resp, err := http.Get(web.URL + "/early")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var p wire.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != 500 || p.Code != "internal" || strings.Contains(p.Detail, "secret") {
		t.Errorf("%d %+v %v", resp.StatusCode, p, err)
	}
	resp, err = http.Get(web.URL + "/late")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("an answer that broke off looks complete")
	}
}

// A caller who asks too often is told when to come back, each by address or token; guessing is limited too.
func TestLimits(t *testing.T) {
	s, _ := start(t, func(c *Config) {
		c.TLS.Proxy = true
		c.Limits = Limits{Read: 5, Failures: 3}
	})
	ask := func(from, path, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		r.Header.Set("X-Forwarded-For", "203.0.113.77, "+from) // the first is only what the client says
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w
	}
	var w *httptest.ResponseRecorder
	for range 6 {
		w = ask("198.51.100.1", "/api/v1", "")
	}
	if w.Code != 429 || w.Header().Get("Retry-After") == "" || w.Header().Get("RateLimit-Remaining") != "0" || w.Header().Get("Content-Type") != wire.MediaProblem {
		t.Errorf("the sixth of five: %d %v", w.Code, w.Header())
	}
	if w := ask("198.51.100.1", "/v2/", ""); w.Code != 429 || !strings.Contains(w.Body.String(), "TOOMANYREQUESTS") {
		t.Errorf("in the words of OCI: %d %s", w.Code, w.Body)
	}
	if w := ask("198.51.100.2", "/api/v1", ""); w.Code != 200 {
		t.Errorf("another address: %d", w.Code)
	}
	if w := ask("198.51.100.1", "/api/v1", s.AdminToken); w.Code != 200 || w.Header().Get("RateLimit-Limit") != "20" {
		t.Errorf("with a token: %d %v", w.Code, w.Header())
	}
	for range 4 {
		w = ask("198.51.100.3", "/api/v1", "skl_wrong")
	}
	if w.Code != 429 || w.Header().Get("Retry-After") == "" {
		t.Errorf("the fourth guess of three: %d %v", w.Code, w.Header())
	}
	if w := ask("198.51.100.1", "/healthz", ""); w.Code != 200 {
		t.Errorf("healthz: %d", w.Code)
	}
}

// A connection that sends its header slowly, or stalls in a body, does not stay.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped: it waits for the time limit of headers")
	}
	s, _ := start(t, nil)
	url, stop := listen(t, s)
	defer stop()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	c.SetReadDeadline(time.Now().Add(headerTime + long.Hang))
	began := time.Now()
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("the connection was open after %v: %v", time.Since(began), err)
	}
}

// A private registry shows nothing to nobody but that it lives.
func TestWithoutAnonymous(t *testing.T) {
	no := false
	s := newSite(t, func(c *Config) { c.Access.Anonymous = &no })
	s.namespace("acme", true)
	s.publish(s.admin, "acme/pdf@1.0.0")
	for path, want := range map[string]int{
		"/healthz": 200, "/": 200, "/api/v1": 401, "/api/v1/skills/acme/pdf": 401, "/v2/": 401,
		"/acme/.well-known/agent-skills/index.json": 401, "/.well-known/skills/index.json": 401, "/log/checkpoint": 401,
	} {
		if r := s.do("", "GET", path, nil); r.status != want || want == 401 && r.head.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %v", path, r.status, r.head)
		}
	}
	s.must(200, s.admin, "GET", "/api/v1/skills/acme/pdf", nil)
}

// /metrics is for this machine and for operators.
func TestMetricsAccess(t *testing.T) {
	s, _ := start(t, nil)
	for _, tt := range []struct {
		from, token string
		want        int
	}{{"127.0.0.1:1", "", 200}, {"198.51.100.1:1", "", 401}, {"198.51.100.1:1", s.AdminToken, 200}} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host, r.RemoteAddr = "localhost", tt.from
		if tt.token != "" {
			r.Header.Set("Authorization", "Bearer "+tt.token)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != tt.want || tt.want == 200 && !strings.Contains(w.Body.String(), "skl_registry_log_entries") {
			t.Errorf("%s: %d", tt.from, w.Code)
		}
	}
}

// The directory for archives is empty after each start, whatever a crash left there.
func TestTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tmp", "publish-1"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	left, err := fs.ReadDir(os.DirFS(dir), "tmp")
	if err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}
