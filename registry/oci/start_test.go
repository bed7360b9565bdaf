package oci_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/oci"
	"github.com/skl-project/skl/registry/tlog"
)

// open opens a registry on real stores in dir.
func open(ctx context.Context, dir string) (*registry.Registry, func(), error) {
	store, err := metatest.Open(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	blobs, err := metatest.OpenBlobs(ctx, filepath.Join(dir, "content"), store)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	key, err := tlog.NewKey("registry.example")
	if err != nil {
		return nil, nil, err
	}
	g := &registry.Registry{Blobs: blobs, Meta: store, Key: key}
	if metatest.Postgres() {
		g.Remember()
	}
	return g, func() { store.Close() }, nil
}

func newRegistry(t testing.TB) *registry.Registry {
	t.Helper()
	g, closeStores, err := open(t.Context(), metatest.Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeStores)
	return g
}

func openRegistry(t testing.TB) *registry.Registry {
	t.Helper()
	g := newRegistry(t)
	g.Open = true
	return g
}

// bearers is the key for short-lived tokens of this process.
var bearers = sync.OnceValue(auth.NewBearerKey)

// serveAll serves the token endpoint beside g, as the server does.
func serveAll(t testing.TB, g *registry.Registry) *httptest.Server {
	a := &auth.Authenticator{Lookup: g.LookupToken, Bearers: bearers(), Open: g.Open}
	mux := http.NewServeMux()
	mux.HandleFunc(auth.TokenPath, a.ServeToken)
	mux.Handle("/v2/", handler(t, g))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// handler serves g the way the server does.
func handler(t testing.TB, g *registry.Registry) *oci.Handler {
	a := &auth.Authenticator{Lookup: g.LookupToken, Bearers: bearers(), Open: g.Open}
	return &oci.Handler{
		Registry: g,
		Caller: func(r *http.Request) (registry.Caller, error) {
			id, err := a.Authenticate(r)
			return registry.Caller{Identity: id, Remote: r.RemoteAddr}, err
		},
		Challenge: func(r *http.Request, scope string) string {
			return auth.Challenge("http://"+r.Host, scope)
		},
		Failed: func(r *http.Request, err error) { t.Logf("%s %s: %v", r.Method, r.URL, err) },
	}
}

// admin may do everything.
var admin = registry.Caller{Identity: auth.Identity{Account: "root", Grants: []auth.Grant{{Namespace: "*", Role: auth.Admin}}}}

// A site is a registry that listens, with the namespaces acme (private), commons (anybody reads) and other (private).
// All but none accept any artifact.
type site struct {
	t      testing.TB
	g      *registry.Registry
	server *httptest.Server
	tokens map[string]string // by name, such as "acme publisher"
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, g: newRegistry(t), tokens: map[string]string{"nobody": ""}}
	for _, n := range []meta.Namespace{
		{Name: "acme", Policy: meta.Policy{AcceptAny: true}},
		{Name: "commons", Public: true, Policy: meta.Policy{AcceptAny: true}},
		{Name: "other", Policy: meta.Policy{AcceptAny: true}},
		{Name: "strict"},
	} {
		if err := s.g.CreateNamespace(t.Context(), admin, n); err != nil {
			t.Fatal(err)
		}
	}
	for _, namespace := range []string{"acme", "other", "strict", "*"} {
		for _, role := range auth.Roles() {
			account := strings.ReplaceAll(namespace, "*", "all") + "-" + string(role)
			text, _, err := s.g.CreateToken(t.Context(), admin, account, namespace, string(role), time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			s.tokens[namespace+" "+string(role)] = text
		}
	}
	s.server = serveAll(t, s.g)
	return s
}

func (s *site) host() string { return strings.TrimPrefix(s.server.URL, "http://") }

// openSite is a registry without accounts.
func openSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, g: openRegistry(t)}
	s.server = serveAll(t, s.g)
	return s
}

// An answer is a response with its whole body.
type answer struct {
	*http.Response
	content []byte
	err     error // of reading the body
}

// code is the registry's own code of a refusal.
func (a answer) code() string {
	var body struct {
		Errors []struct {
			Detail struct {
				Code string `json:"code"`
			} `json:"detail"`
		} `json:"errors"`
	}
	if json.Unmarshal(a.content, &body) != nil || len(body.Errors) == 0 {
		return ""
	}
	return body.Errors[0].Detail.Code
}

// ask sends a request; headers are pairs. The token goes in as a bearer; "" sends none.
func (s *site) ask(token, method, path string, body io.Reader, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, s.server.URL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return s.send(r)
}

func (s *site) send(r *http.Request) answer {
	s.t.Helper()
	response, err := s.server.Client().Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return answer{response, content, err}
}

// want fails the test unless the answer has the status.
func (s *site) want(status int, a answer) answer {
	s.t.Helper()
	if a.StatusCode != status {
		s.t.Fatalf("%s %s: %s, want %d: %s", a.Request.Method, a.Request.URL, a.Status, status, a.content)
	}
	return a
}

// upload starts a session and returns its path.
func (s *site) upload(token, repo string) string {
	s.t.Helper()
	return s.want(202, s.ask(token, "POST", "/v2/"+repo+"/blobs/uploads/", nil)).Header.Get("Location")
}

// push stores content and returns its digest.
func (s *site) push(token, repo string, content []byte) string {
	s.t.Helper()
	d := blob.Sum(blob.SHA256, content).String()
	s.want(201, s.ask(token, "PUT", s.upload(token, repo)+"?digest="+d, bytes.NewReader(content)))
	return d
}

// artifact pushes an artifact with a layer of content under a tag or, if that is "", by digest.
func (s *site) artifact(token, repo, tag string, content []byte, subject string) (digest string) {
	s.t.Helper()
	config, layer := s.push(token, repo, []byte("{}")), s.push(token, repo, content)
	manifest := artifactManifest(config, layer, len(content), subject)
	d := blob.Sum(blob.SHA256, manifest).String()
	if tag == "" {
		tag = d
	}
	s.want(201, s.ask(token, "PUT", "/v2/"+repo+"/manifests/"+tag, bytes.NewReader(manifest), "Content-Type", manifestType))
	return d
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

func artifactManifest(config, layer string, size int, subject string) []byte {
	if subject != "" {
		subject = fmt.Sprintf(`,"subject":{"mediaType":%q,"digest":%q,"size":2}`, manifestType, subject)
	}
	return fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"artifactType":"application/vnd.example.note","config":{"mediaType":"application/vnd.oci.empty.v1+json",`+
		`"digest":%q,"size":2},"layers":[{"mediaType":"application/octet-stream","digest":%q,"size":%d}],"annotations":{"note":"x"}%s}`,
		manifestType, config, layer, size, subject)
}

func random(size int) []byte {
	content := make([]byte, size)
	rand.Read(content)
	return content
}
