package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/oci"
)

// open serves a registry in this process, over a real socket, until the test ends.
func open(t testing.TB, s setup) (*server.Server, *client) {
	t.Helper()
	if s.Data == "" {
		s.Data = metatest.Dir(t)
	}
	srv, err := server.Open(t.Context(), s.config())
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, l) }()
	c := newClient("http://"+l.Addr().String(), srv.AdminToken)
	t.Cleanup(func() {
		c.close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv, c
}

// clean fails the test if fsck finds anything.
func clean(t testing.TB, srv *server.Server) {
	t.Helper()
	report, err := srv.Registry.Fsck(context.Background())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("fsck: %v %+v", err, report.Problems)
	}
}

// A client talks to one server with one token.
type client struct {
	url, token string
	http       *http.Client
	sent       *atomic.Int64 // bytes written to sockets
}

func newClient(url, token string) *client {
	c := &client{url: url, token: token, sent: new(atomic.Int64)}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &meter{conn, c.sent}, nil
	}
	c.http = &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 100}}
	return c
}

// A meter counts what a connection sends.
type meter struct {
	net.Conn
	n *atomic.Int64
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.n.Add(int64(n))
	return n, err
}

// as is the same client with another token.
func (c *client) as(token string) *client {
	other := *c
	other.token = token
	return &other
}

func (c *client) close() { c.http.CloseIdleConnections() }

// An answer was read to its end.
type answer struct {
	status int
	head   http.Header
	body   []byte
}

// code is skl's own code of an error, in either protocol.
func (a answer) code() string {
	var p struct {
		Code   string
		Errors []struct {
			Code   string
			Detail struct{ Code string }
		}
	}
	json.Unmarshal(a.body, &p)
	if len(p.Errors) > 0 {
		return p.Errors[0].Code + " " + p.Errors[0].Detail.Code
	}
	return p.Code
}

// do sends a request; header is pairs. A body that does not arrive whole is an error.
func (c *client) do(ctx context.Context, method, path string, body []byte, header ...string) (answer, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	return c.stream(ctx, method, path, r, header...)
}

func (c *client) stream(ctx context.Context, method, path string, body io.Reader, header ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return answer{}, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	return answer{resp.StatusCode, resp.Header, text}, nil
}

// expect makes an answer with another status an error.
func expect(status int) func(a answer, err error) error {
	return func(a answer, err error) error {
		if err == nil && a.status != status {
			err = fmt.Errorf("%d, want %d: %s", a.status, status, a.body)
		}
		return err
	}
}

// sha is the digest of content.
func sha(content []byte) string { return blob.Sum(blob.SHA256, content).String() }

// must is do for what has to have a status.
func (c *client) must(t testing.TB, status int, method, path string, body []byte, header ...string) answer {
	t.Helper()
	a, err := c.do(context.Background(), method, path, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.status != status {
		t.Fatalf("%s %s: %d, want %d: %s", method, path, a.status, status, a.body)
	}
	return a
}

// get is must of a GET, into v.
func (c *client) get(t testing.TB, path string, v any) {
	t.Helper()
	decode(t, c.must(t, 200, "GET", path, nil), v)
}

func decode(t testing.TB, a answer, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
}

// namespace makes one, as the admin that c is, and returns clients of a publisher and of a reader.
func (c *client) namespace(t testing.TB, n wire.NewNamespace) (publisher, reader *client) {
	t.Helper()
	c.must(t, 201, "POST", "/api/v1/namespaces", asJSON(n), "Content-Type", wire.MediaJSON)
	return c.member(t, n.Name, "publisher"), c.member(t, n.Name, "reader")
}

// member is a client with a token of that role.
func (c *client) member(t testing.TB, namespace, role string) *client {
	t.Helper()
	var token wire.Token
	decode(t, c.must(t, 201, "POST", "/api/v1/tokens", asJSON(wire.NewToken{Account: role + "-" + namespace, Namespace: namespace, Role: role}), "Content-Type", wire.MediaJSON), &token)
	return c.as(token.Text)
}

func asJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs
	}
	return text
}

// A release is what a test publishes.
type release struct {
	repo, name, version string
	built               *oci.Built
	archive             []byte // zip
}

// newRelease makes acme/name@version of about size bytes that nothing else has.
func newRelease(name, version string, size int) *release {
	files := fstest.MapFS{
		"SKILL.md": {Data: fmt.Appendf(nil, "---\nname: %s\ndescription: Breaks in many ways. Use when a test of faults asks for %s.\n---\n\n# %s\n\nVersion %s.\n", name, name, name, version), Mode: 0o644},
		"salt.txt": {Data: noise(max(size, 32)), Mode: 0o644},
	}
	built, err := oci.Build(oci.Input{Files: files, Version: version})
	if err != nil {
		panic(err) // valid by construction
	}
	var archive bytes.Buffer
	if _, err := bundle.PackZip(&archive, files); err != nil {
		panic(err)
	}
	return &release{"acme/" + name, name, version, built, archive.Bytes()}
}

// noise is text that hardly compresses.
func noise(n int) []byte {
	text := make([]byte, n)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-\n"[rand.IntN(64)]
	}
	return text
}

func (r *release) String() string   { return r.repo + "@" + r.version }
func (r *release) manifest() string { return r.built.Root.Digest.String() }
func (r *release) api() string      { return "/api/v1/skills/" + r.repo + "/versions/" + r.version }
func (r *release) v2(kind, reference string) string {
	return "/v2/" + r.repo + "/" + kind + "/" + reference
}

// A mode is a way to publish.
type mode int

const (
	byTag     mode = iota // blobs, then the manifest under its tag
	byArchive             // one REST request
	byDigest              // blobs and manifest by digest, then REST
	modes
)

// publish publishes r and returns the last answer. It is not 201 if something was refused.
func (c *client) publish(ctx context.Context, r *release, by mode) (answer, error) {
	if by == byArchive {
		return c.do(ctx, "PUT", r.api(), r.archive, "Content-Type", wire.MediaZip)
	}
	for i, b := range r.built.Blobs {
		if a, err := c.pushBlob(ctx, r.repo, b.Digest.String(), b.Data, i%2 == 0); err != nil || a.status != 201 {
			return a, err
		}
	}
	reference := r.version
	if by == byDigest {
		reference = r.manifest()
	}
	a, err := c.do(ctx, "PUT", r.v2("manifests", reference), r.built.Root.Data, "Content-Type", r.built.Root.MediaType)
	if err != nil || a.status != 201 || by == byTag {
		return a, err
	}
	return c.do(ctx, "PUT", r.api(), asJSON(wire.PublishRequest{Manifest: r.manifest()}), "Content-Type", wire.MediaJSON)
}

// pushBlob pushes in one request, or as a session with two pieces.
func (c *client) pushBlob(ctx context.Context, repo, digest string, content []byte, pieces bool) (answer, error) {
	const octets = "application/octet-stream"
	start := "/v2/" + repo + "/blobs/uploads/"
	if !pieces {
		return c.do(ctx, "POST", start+"?digest="+digest, content, "Content-Type", octets)
	}
	a, err := c.do(ctx, "POST", start, nil)
	if err != nil || a.status != 202 {
		return a, err
	}
	half := len(content) / 2
	a, err = c.do(ctx, "PATCH", a.head.Get("Location"), content[:half], "Content-Type", octets, "Content-Range", fmt.Sprintf("0-%d", half-1))
	if err != nil || a.status != 202 {
		return a, err
	}
	return c.do(ctx, "PUT", a.head.Get("Location")+"?digest="+digest, content[half:], "Content-Type", octets, "Content-Range", fmt.Sprintf("%d-%d", half, len(content)-1))
}

// files lists what lies below dir: path and size.
func files(t testing.TB, dir string) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile
		}
		if err == nil && info.Mode().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			found[rel] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
