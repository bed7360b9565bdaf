package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/server"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/ref"
)

// A shop is a running registry with its operator's client.
type shop struct {
	t    testing.TB
	url  string
	http *origin.Client // knows the admin's token
	*client.Client

	mu    sync.Mutex
	asked []string                                          // requests that were answered, without the log's
	spoil func(w http.ResponseWriter, r *http.Request) bool // answers in place of the server if it returns true
}

// open starts a registry with the public namespace acme.
func open(t testing.TB) *shop {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{t: t, url: "http://" + ln.Addr().String()}
	cfg := server.Config{Data: t.TempDir(), URL: s.url, Limits: server.Limits{Read: -1, Write: -1, Download: -1, Failures: -1}}
	reg, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	hs := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if !strings.Contains(r.URL.Path, "/log/") {
			s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		}
		spoil := s.spoil
		s.mu.Unlock()
		if spoil == nil || !spoil(w, r) {
			reg.Handler().ServeHTTP(w, r)
		}
	})}}
	hs.Start()
	t.Cleanup(func() { hs.Close(); reg.Close() })
	s.http = as(reg.AdminToken)
	if s.Client, err = client.New(s.http, s.url); err != nil {
		t.Fatal(err)
	}
	s.namespace("acme", true)
	return s
}

// as is an HTTP client with a token, "" for none.
func as(token string) *origin.Client {
	return &origin.Client{Credential: func(context.Context, string) (origin.Credential, error) { return origin.Credential{Secret: token}, nil }}
}

func (s *shop) namespace(name string, public bool) {
	s.t.Helper()
	if _, err := s.CreateNamespace(s.t.Context(), wire.NewNamespace{Name: name, Public: public}); err != nil {
		s.t.Fatal(err)
	}
}

// publish publishes a small skill and returns its tree digest.
func (s *shop) publish(repo, version string) bundle.Digest {
	s.t.Helper()
	namespace, name, _ := strings.Cut(repo, "/")
	b, err := oci.Build(oci.Input{Version: version, Files: fstest.MapFS{
		"SKILL.md":      {Data: fmt.Appendf(nil, "---\nname: %s\ndescription: Reads files, as of %s.\nlicense: MIT\n---\nRead them.\n", name, version)},
		"scripts/do.sh": {Data: []byte("#!/bin/sh\necho " + version + "\n"), Mode: 0o755},
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	pushed, err := client.NewOCI(s.http).Push(s.t.Context(), client.Target{Host: s.Host(), Repo: repo}, client.ImageOf(b))
	if err != nil {
		s.t.Fatal(err)
	}
	v, created, err := s.Publish(s.t.Context(), namespace, name, version, wire.PublishRequest{Manifest: pushed.Manifest})
	if err != nil || !created || v.Tree != string(b.Summary.Tree) {
		s.t.Fatalf("publish gives %+v, %v, %v", v, created, err)
	}
	return b.Summary.Tree
}

func (s *shop) act(repo, version, action, reason string) {
	s.t.Helper()
	namespace, name, _ := strings.Cut(repo, "/")
	if _, err := s.Act(s.t.Context(), namespace, name, version, wire.Action{Action: action, Reason: reason}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.asked
	s.asked = nil
	return list
}

// source is a new process's Source with its own cache and memory.
func (s *shop) source(token string) *Source {
	return &Source{HTTP: as(token), Cache: s.t.TempDir(), State: s.t.TempDir()}
}

func (s *shop) ref(text string) ref.Ref {
	s.t.Helper()
	r, err := ref.Parse(text)
	if err != nil {
		s.t.Fatal(err)
	}
	r.URL = s.url
	return r
}

// find is the lock entry of a release.
func (s *shop) find(src *Source, repo, version string) (lock.Skill, error) {
	r := s.ref(repo)
	found, err := src.Skills(s.t.Context(), r, source.Release{Kind: source.Tag, Version: version}, nil)
	if err != nil {
		return lock.Skill{}, err
	}
	if len(found) != 1 {
		return lock.Skill{}, fmt.Errorf("%d skills", len(found))
	}
	l := found[0].Lock
	l.Ref = repo + "@" + version
	return l, nil
}

func fetch(ctx context.Context, src *Source, l lock.Skill) (bundle.Summary, error) {
	g := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := src.Fetch(ctx, l, g); err != nil {
		return bundle.Summary{}, err
	}
	return g.Close()
}

// A skill that was published is found and fetched with one record, one manifest and one layer, and
// the lock knows all of it before.
func TestFindAndFetch(t *testing.T) {
	s := open(t)
	tree := s.publish("acme/pdf", "1.0.0")
	s.publish("acme/pdf", "1.1.0-rc.1")
	src := s.source("")
	releases, err := src.Versions(t.Context(), s.ref("acme/pdf"))
	var names []string
	for _, r := range releases {
		names = append(names, string(r.Kind)+" "+r.Name+" "+r.Version)
	}
	if want := []string{"tag 1.1.0-rc.1 1.1.0-rc.1", "tag 1.0.0 1.0.0"}; err != nil || !slices.Equal(names, want) {
		t.Fatalf("releases %q, %v; want %q", names, err, want)
	}
	s.take()
	l, err := s.find(src, "acme/pdf", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if l.Name != "pdf" || l.Source != "registry" || l.URL != s.url || l.Path != "" || l.Version != "1.0.0" || l.Tree != tree || l.Files != 2 || l.Bytes == 0 ||
		l.Manifest == "" || l.Artifact == "" || l.Log == nil || l.Log.Entry == "" || l.Log.Checkpoint == "" {
		t.Errorf("entry %+v", l)
	}
	sum, err := fetch(t.Context(), src, l)
	if err != nil || sum.Tree != tree || sum.Bytes != l.Bytes {
		t.Errorf("fetched %+v, %v; want tree %s", sum, err, tree)
	}
	if bundles, err := src.Attestations(t.Context(), l); err != nil || len(bundles) != 0 {
		t.Errorf("attestations %d, %v; want none", len(bundles), err)
	}
	if err := src.VerifyLog(t.Context(), l, false); err != nil {
		t.Error(err)
	}
	var records, oci int
	for _, q := range s.take() {
		switch {
		case strings.HasPrefix(q, "GET /api/v1/skills/"):
			records++
		case strings.HasPrefix(q, "GET /v2/acme/"):
			oci++
		}
	}
	if records != 1 || oci > 3 { // one of them is answered with a challenge, by a registry that wants one
		t.Errorf("%d records and %d requests for content", records, oci)
	}
	// Another process with the lock alone needs no record.
	other := s.source("")
	if sum, err := fetch(t.Context(), other, l); err != nil || sum.Tree != tree {
		t.Errorf("from the lock: %+v, %v", sum, err)
	}
	if i := slices.IndexFunc(s.take(), func(q string) bool { return strings.Contains(q, "/api/") }); i >= 0 {
		t.Error("fetching what is locked asks for a record")
	}
}

// A release that was published as an image, whose manifest is an index, is fetched as well.
func TestFetchAnImage(t *testing.T) {
	s := open(t)
	b, err := oci.BuildImage(oci.Input{Version: "1.0.0", Files: fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: pdf\ndescription: Reads files.\n---\n")}}})
	if err != nil {
		t.Fatal(err)
	}
	pusher, target := client.NewOCI(s.http), client.Target{Host: s.Host(), Repo: "acme/pdf"}
	if _, err := pusher.Push(t.Context(), target, client.ImageOf(b)); err != nil {
		t.Fatal(err)
	}
	if err := pusher.Tag(t.Context(), target, b.Root, "1.0.0"); err != nil {
		t.Fatal(err)
	}
	src := s.source("")
	l, err := s.find(src, "acme/pdf", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := fetch(t.Context(), src, l); err != nil || sum.Tree != b.Summary.Tree {
		t.Errorf("tree %s, %v; want %s", sum.Tree, err, b.Summary.Tree)
	}
}

// A yanked release is not offered, but delivered to whoever has it locked. A blocked release is neither.
func TestStates(t *testing.T) {
	s := open(t)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0"} {
		s.publish("acme/pdf", version)
	}
	locked := map[string]lock.Skill{}
	for _, version := range []string{"1.1.0", "1.2.0", "1.3.0"} {
		l, err := s.find(s.source(""), "acme/pdf", version)
		if err != nil {
			t.Fatal(err)
		}
		locked[version] = l
	}
	s.act("acme/pdf", "1.1.0", "deprecate", "use 1.0.0")
	s.act("acme/pdf", "1.2.0", "yank", "wrong file")
	s.act("acme/pdf", "1.3.0", "block", "steals keys")
	tests := []struct {
		version      string
		offered      bool
		class        diag.Class // of asking for exactly this one
		code, reason string
		fetch        string // code of fetching it by its lock entry
		warned       bool
	}{
		{"1.1.0", true, 0, "", "", "", true},
		{"1.2.0", false, diag.Refused, "yanked", "wrong file", "", true},
		{"1.3.0", false, diag.Refused, "blocked", "steals keys", "blocked", false},
	}
	for _, tt := range tests {
		t.Run(tt.version, func(t *testing.T) {
			src := s.source("")
			var warnings []string
			src.Warn = func(s string) { warnings = append(warnings, s) }
			all, err := src.Versions(t.Context(), s.ref("acme/pdf"))
			if err != nil {
				t.Fatal(err)
			}
			if offered := slices.ContainsFunc(all, func(r source.Release) bool { return r.Version == tt.version }); offered != tt.offered {
				t.Errorf("offered is %v", offered)
			}
			_, err = src.Versions(t.Context(), s.ref("acme/pdf@"+tt.version))
			if tt.code == "" && err != nil || tt.code != "" && (!errors.Is(err, diag.Code(tt.code)) || diag.ClassOf(err) != tt.class || !strings.Contains(err.Error(), tt.reason)) {
				t.Errorf("asked for exactly: %v, want %q with %q", err, tt.code, tt.reason)
			}
			_, err = fetch(t.Context(), src, locked[tt.version])
			if tt.fetch == "" && err != nil || tt.fetch != "" && (!errors.Is(err, diag.Code(tt.fetch)) || diag.ClassOf(err) != diag.Refused) {
				t.Errorf("fetched by its lock: %v, want %q", err, tt.fetch)
			}
			if tt.warned != (len(warnings) > 0) {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
	// A version that never was is for the resolver to explain.
	if _, err := s.source("").Versions(t.Context(), s.ref("acme/pdf@9.9.9")); err != nil {
		t.Error(err)
	}
}

// Near names are suggested; names that cannot be and paths are refused without asking.
func TestUnknownNames(t *testing.T) {
	s := open(t)
	s.publish("acme/pdf-forms", "1.0.0")
	tests := []struct{ ref, code, candidate string }{
		{"acme/pdf-form", "unknown_skill", "acme/pdf-forms"},
		{"acme/other", "unknown_skill", ""},
		{"acme/pdf-forms/sub", "invalid_ref", ""},
		{"acme/Pdf", "unknown_skill", ""},
	}
	for _, tt := range tests {
		for _, token := range []string{"", s.token("acme", "reader")} {
			_, err := s.source(token).Versions(t.Context(), s.ref(tt.ref))
			e, ok := errors.AsType[*diag.Error](err)
			if !ok || e.Class != diag.Misuse || e.Code != tt.code || (len(e.Candidates) > 0) != (tt.candidate != "") || tt.candidate != "" && e.Candidates[0] != tt.candidate {
				t.Errorf("%s: %#v, want %s with %q", tt.ref, err, tt.code, tt.candidate)
			}
		}
	}
	if _, err := s.source("").Versions(t.Context(), ref.Ref{Kind: ref.Name, Owner: "acme", Repo: "pdf"}); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("a ref without a registry: %v", err)
	}
}

func (s *shop) token(namespace, role string) string {
	s.t.Helper()
	tok, err := s.CreateToken(s.t.Context(), wire.NewToken{Account: "ann", Namespace: namespace, Role: role})
	if err != nil {
		s.t.Fatal(err)
	}
	return tok.Text
}

// A private namespace exists for those who may read it. Whoever did not say who they are is
// not told "no": the name must not be looked for elsewhere.
func TestPrivateNamespaces(t *testing.T) {
	s := open(t)
	s.namespace("secret", false)
	s.publish("secret/pdf", "1.0.0")
	reader, stranger := s.token("secret", "reader"), s.token("acme", "reader")
	tests := []struct {
		name, token, namespace string
		has                    bool
		code                   string
	}{
		{"reader", reader, "secret", true, ""},
		{"stranger", stranger, "secret", false, ""},
		{"nobody", "", "secret", false, "unauthorized"},
		{"nobody, a namespace that is not there", "", "nothing", false, "unauthorized"},
		{"stranger, a namespace that is not there", stranger, "nothing", false, ""},
		{"nobody, a public one", "", "acme", true, ""},
	}
	for _, tt := range tests {
		has, err := s.source(tt.token).HasNamespace(t.Context(), s.url, tt.namespace)
		if has != tt.has || (err == nil) != (tt.code == "") || err != nil && !errors.Is(err, diag.Code(tt.code)) {
			t.Errorf("%s: %v, %v; want %v, %q", tt.name, has, err, tt.has, tt.code)
		}
	}
	src := s.source(reader)
	l, err := s.find(src, "secret/pdf", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(t.Context(), src, l); err != nil {
		t.Error(err)
	}
	if _, err := fetch(t.Context(), s.source(""), l); !errors.Is(err, diag.Code("unauthorized")) {
		t.Errorf("without a token: %v, want unauthorized", err)
	}
	if _, err := fetch(t.Context(), s.source(stranger), l); err == nil || diag.ClassOf(err) != diag.Failed {
		t.Errorf("with a stranger's token: %v, want that it is not there", err)
	}
}

// A registry that does not keep to what was locked, or to its own record, is refused.
func TestDishonestRegistry(t *testing.T) {
	s := open(t)
	s.publish("acme/pdf", "1.0.0")
	s.publish("acme/pdf", "2.0.0")
	good, err := s.find(s.source(""), "acme/pdf", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.find(s.source(""), "acme/pdf", "2.0.0")
	if err != nil {
		t.Fatal(err)
	}
	record := func(change func(v *wire.Version)) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/versions/1.0.0") {
				return false
			}
			v, err := s.Client.Version(context.WithoutCancel(t.Context()), "acme", "pdf", "2.0.0")
			if err != nil {
				t.Error(err)
			}
			v.Version = "1.0.0"
			change(&v)
			json.NewEncoder(w).Encode(v)
			return true
		}
	}
	tests := []struct {
		name  string
		spoil func(http.ResponseWriter, *http.Request) bool
		do    func(src *Source) error
		code  string
	}{
		{"another release under the version", record(func(*wire.Version) {}), func(src *Source) error { _, err := s.find(src, "acme/pdf", "1.0.0"); return err }, "log_proof"},
		{"no proof", record(func(v *wire.Version) { v.Log = nil }), func(src *Source) error { _, err := s.find(src, "acme/pdf", "1.0.0"); return err }, "log_proof"},
		{"another release with a forged entry", record(func(v *wire.Version) {
			v.Log.Record = strings.Replace(v.Log.Record, "2.0.0", "1.0.0", 1)
		}), func(src *Source) error { _, err := s.find(src, "acme/pdf", "1.0.0"); return err }, "log_proof"},
		{"another release, asked for its signatures", record(func(v *wire.Version) {}), func(src *Source) error { _, err := src.Attestations(t.Context(), good); return err }, oci.CodeDigest},
		{"a digest that is none", record(func(v *wire.Version) { v.Manifest = "sha256:x" }), func(src *Source) error { _, err := s.find(src, "acme/pdf", "1.0.0"); return err }, "wrong_record"},
		{"a tree that is none", record(func(v *wire.Version) { v.Tree = "../x" }), func(src *Source) error { _, err := s.find(src, "acme/pdf", "1.0.0"); return err }, "wrong_record"},
		{"another name", record(func(v *wire.Version) { v.Name = "../../x" }), func(src *Source) error { _, err := s.find(src, "acme/pdf", "1.0.0"); return err }, "wrong_record"},
		{"another layer than locked", nil, func(src *Source) error {
			l := good
			l.Artifact = other.Artifact
			_, err := fetch(t.Context(), src, l)
			return err
		}, oci.CodeDigest},
		{"another manifest", func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/manifests/") {
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				w.Write(bytes.Repeat([]byte(" "), 100))
			}
			return strings.Contains(r.URL.Path, "/manifests/")
		}, func(src *Source) error { _, err := fetch(t.Context(), src, good); return err }, oci.CodeDigest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.mu.Lock()
			s.spoil = tt.spoil
			s.mu.Unlock()
			defer func() { s.mu.Lock(); s.spoil = nil; s.mu.Unlock() }()
			if err := tt.do(s.source("")); diag.ClassOf(err) != diag.Refused || !errors.Is(err, diag.Code(tt.code)) {
				t.Errorf("got %v (class %d), want a refusal with code %s", err, diag.ClassOf(err), tt.code)
			}
		})
	}
}

// A hundred skills are found and fetched over few connections.
func TestHundredSkills(t *testing.T) {
	if testing.Short() {
		t.Skip("publishes 100 skills")
	}
	const n = 100
	s := open(t)
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(8)
	for i := range n {
		g.Go(func() error { s.publish(fmt.Sprintf("acme/%s-skill", word(i)), "1.0.0"); return nil })
	}
	g.Wait()
	src := s.source("")
	start := time.Now()
	g, ctx = errgroup.WithContext(t.Context())
	g.SetLimit(8)
	for i := range n {
		g.Go(func() error {
			l, err := s.find(src, fmt.Sprintf("acme/%s-skill", word(i)), "1.0.0")
			if err != nil {
				return err
			}
			sum, err := fetch(ctx, src, l)
			if err == nil && sum.Tree != l.Tree {
				err = fmt.Errorf("%s has tree %s, not %s", l.Name, sum.Tree, l.Tree)
			}
			if err == nil {
				_, err = src.Attestations(ctx, l)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d skills found and fetched in %v", n, time.Since(start).Round(time.Millisecond))
}

// word is a name for a number that is near to no other's.
func word(i int) string {
	sum := sha256.Sum256([]byte{byte(i)})
	return fmt.Sprintf("s%x", sum[:5])
}
