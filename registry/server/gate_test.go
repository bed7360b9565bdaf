package server

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/testdata/long"
)

// impatient serves a registry whose clients have to move a byte in so short a time.
func impatient(t *testing.T, stall time.Duration, change func(*Config)) *site {
	t.Helper()
	cfg := Config{Data: metatest.Dir(t)}
	if change != nil {
		change(&cfg)
	}
	s, err := Open(t.Context(), cfg, func(s *Server) { s.stall = stall })
	if err != nil {
		t.Fatal(err)
	}
	url, stop := listen(t, s)
	t.Cleanup(func() {
		stop()
		s.Close()
	})
	return &site{t: t, s: s, url: url, admin: s.AdminToken}
}

// Bodies that are slow, or lie, end on every route, with and without a token, and the connection with them.
func TestSlowBodies(t *testing.T) {
	long.Slow(t)
	const stall = 700 * time.Millisecond
	s := impatient(t, stall, nil)
	s.namespace("acme", true)
	digest := blob.Sum(blob.SHA256, []byte("x")).String()
	var all sync.WaitGroup
	for _, route := range []struct{ what, line, media string }{
		{"healthz", "POST /healthz", "text/plain"},
		{"nothing", "POST /nowhere", "text/plain"},
		{"front page", "GET /", "text/plain"},
		{"bearer", "POST /token", "application/x-www-form-urlencoded"},
		{"list", "GET /api/v1/skills", "text/plain"},
		{"JSON", "POST /api/v1/tokens", wire.MediaJSON},
		{"publish", "PUT /api/v1/skills/acme/pdf/versions/1.0.0", wire.MediaZip},
		{"act", "POST /api/v1/skills/acme/pdf/versions/1.0.0/actions", wire.MediaJSON},
		{"blob", "POST /v2/acme/pdf/blobs/uploads/?digest=" + digest, "application/octet-stream"},
		{"session", "POST /v2/acme/pdf/blobs/uploads/", "application/octet-stream"},
		{"part", "PATCH /v2/acme/pdf/blobs/uploads/abc", "application/octet-stream"},
		{"manifest", "PUT /v2/acme/pdf/manifests/1.0.0", "application/vnd.oci.image.manifest.v1+json"},
		{"pull", "GET /v2/acme/pdf/blobs/" + digest, "application/octet-stream"},
		{"index", "GET /acme/.well-known/agent-skills/index.json", "text/plain"},
		{"log", "GET /log/checkpoint", "text/plain"},
	} {
		for _, lie := range []struct{ what, head, drip string }{
			{"shorter than it says", "Content-Length: 1000000\r\n\r\n{", ""},
			{"a byte now and then", "Content-Length: 100000\r\n\r\n", " "},
			{"chunks without end", "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"},
			{"a chunk without end", "Transfer-Encoding: chunked\r\n\r\nfffff\r\n", " "},
			{"the end of chunks without end", "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X-More: 1\r\n"},
		} {
			for _, token := range []string{"", "Authorization: Bearer " + s.admin + "\r\n"} {
				all.Go(func() {
					if err := dripped(s.url, route.line+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+route.media+"\r\n"+token+lie.head, lie.drip, stall+gate.Linger+10*time.Second); err != nil {
						t.Errorf("%s, %s, token %v: %v", route.what, lie.what, token != "", err)
					}
				})
			}
		}
	}
	all.Wait()
}

// dripped sends head and then drip again and again, until the server closes the connection, or it has not after so long.
func dripped(url, head, drip string, bound time.Duration) error {
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return err
	}
	defer c.Close()
	io.WriteString(c, head)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, c)
	}()
	for began := time.Now(); time.Since(began) < bound; {
		select {
		case <-ended:
			return nil
		case <-time.After(100 * time.Millisecond):
		}
		if drip != "" {
			io.WriteString(c, drip)
		}
	}
	return fmt.Errorf("the connection is still open after %v", bound)
}

// A body that comes slowly and steadily arrives, also where it takes many times as long as nothing may take; so does
// one whose scan takes longer than that.
func TestSlowUploadSurvives(t *testing.T) {
	long.Slow(t)
	const stall = 600 * time.Millisecond
	dir := t.TempDir()
	scanner := filepath.Join(dir, "scan")
	if err := os.WriteFile(scanner, []byte("#!/bin/sh\nsleep 2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := impatient(t, stall, func(c *Config) { c.Scan.Command = []string{scanner} })
	s.namespace("acme", true)
	noise := make([]byte, 60<<10)
	rand.Read(noise)
	content := archive(t, "pdf", "noise.bin", string(noise))
	digest := blob.Sum(blob.SHA256, noise).String()
	for what, request := range map[string]struct {
		method, path, media string
		body                []byte
	}{
		"publish": {"PUT", "/api/v1/skills/acme/pdf/versions/1.0.0", wire.MediaGzip, content},
		"blob":    {"POST", "/v2/acme/pdf/blobs/uploads/?digest=" + digest, "application/octet-stream", noise},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", request.method, request.path, s.admin, request.media, len(request.body))
			began := time.Now()
			for rest := request.body; len(rest) > 0; time.Sleep(stall / 8) {
				n := min(len(rest), len(request.body)/40+1)
				if _, err := c.Write(rest[:n]); err != nil {
					t.Fatalf("after %v: %v", time.Since(began), err)
				}
				rest = rest[n:]
			}
			if time.Since(began) < 3*stall {
				t.Fatalf("sent in %v, which shows nothing", time.Since(began))
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 201 {
				t.Errorf("%d %s", resp.StatusCode, text)
			}
		})
	}
}

// An answer that nobody reads ends, on every protocol.
func TestSlowReaders(t *testing.T) {
	long.Slow(t)
	const stall = 500 * time.Millisecond
	s := impatient(t, stall, nil)
	s.namespace("acme", true)
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // fits no socket
	noise := make([]byte, 12<<20)
	rand.Read(noise)
	s.publish(s.admin, "acme/pdf@1.0.0", "a.bin", string(noise))
	digest := blob.Sum(blob.SHA256, big).String()
	s.must(201, s.admin, "POST", "/v2/acme/pdf/blobs/uploads/?digest="+digest, big)
	for what, path := range map[string]string{
		"blob": "/v2/acme/pdf/blobs/" + digest, "download": "/api/v1/skills/acme/pdf/versions/1.0.0/files/a.bin",
		"index": "/acme/.well-known/agent-skills/pdf/1.0.0/pdf.zip",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.(*net.TCPConn).SetReadBuffer(4096)
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, s.admin)
			b := bufio.NewReaderSize(c, 16)
			if line, err := b.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
				t.Fatalf("%q %v", line, err)
			}
			for end := time.Now().Add(stall + 10*time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				if s.s.gate.Under(c.LocalAddr().String()) == 0 {
					return
				}
				b.ReadByte() // a reader that is slow and alive
			}
			t.Error("the answer is still under way")
		})
	}
}

// dial opens n connections from an address of loopback, each of which has had an answer.
func dial(t *testing.T, url, from string, n int) []net.Conn {
	t.Helper()
	var list []net.Conn
	for range n {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Skipf("skipped: no connection from %s: %v", from, err)
		}
		t.Cleanup(func() { c.Close() })
		list = append(list, c)
		if !answers(c) {
			t.Fatalf("connection %d from %s has no answer", len(list), from)
		}
	}
	return list
}

// answers reports whether a connection still works.
func answers(c net.Conn) bool {
	c.SetDeadline(time.Now().Add(long.Hang))
	io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	return err == nil && resp.StatusCode == 200
}

// Beyond its share an address takes room from itself alone. Which of its connections wait longest is known to the server, which notes
// that one waits after its client has the answer: [gate.Gate] has a test of that order.
func TestConnectionsOfOneAddress(t *testing.T) {
	s := impatient(t, stallTime, func(c *Config) { c.Limits.Connections = 5 })
	other := dial(t, s.url, "127.0.0.2", 1)
	mine := dial(t, s.url, "127.0.0.1", 5)
	more := dial(t, s.url, "127.0.0.1", 2)
	stay := 0
	for _, c := range mine {
		if answers(c) {
			stay++
		}
	}
	if stay != 3 {
		t.Errorf("%d of 5 connections stay beside 2 newer ones, of which 5 may", stay)
	}
	for _, c := range append(more, other...) {
		if !answers(c) {
			t.Errorf("%s has no answer", c.LocalAddr())
		}
	}
}

// Behind a proxy all connections are the proxy's: the share is of requests, by the address that it names.
func TestConnectionsBehindProxy(t *testing.T) {
	s := impatient(t, 20*time.Second, func(c *Config) { c.TLS.Proxy, c.Limits.Connections = true, 3 })
	s.namespace("acme", true)
	dial(t, s.url, "127.0.0.1", 12)
	digest := blob.Sum(blob.SHA256, []byte("x")).String()
	slow := func(from string) net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "POST /v2/acme/pdf/blobs/uploads/?digest=%s HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 100000\r\n\r\nabc", digest, from, s.admin)
		return c
	}
	for range 3 {
		slow("198.51.100.7")
	}
	for end := time.Now().Add(long.Hang); s.s.gate.Under("") < 3 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	ask := func(from string) *http.Response {
		r, err := http.NewRequest("GET", s.url+"/api/v1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if from != "" {
			r.Header.Set("X-Forwarded-For", from)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	if resp := ask("198.51.100.7"); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the fourth request of three: %d %v", resp.StatusCode, resp.Header)
	}
	for _, from := range []string{"198.51.100.8", ""} {
		if resp := ask(from); resp.StatusCode != 200 {
			t.Errorf("from %q: %d", from, resp.StatusCode)
		}
	}
}
