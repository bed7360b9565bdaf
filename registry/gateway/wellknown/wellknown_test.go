package wellknown

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// A shelf is a registry in memory: releases by "namespace/name", and what is asked of it.
type shelf struct {
	mu         sync.Mutex
	public     map[string]bool // namespaces
	skills     map[string]meta.Release
	zips       map[string][]byte // by digest
	generation int64
	releases   int // how often Release was called
	counted    []string
}

func newShelf() *shelf {
	return &shelf{public: map[string]bool{}, skills: map[string]meta.Release{}, zips: map[string][]byte{}}
}

// put publishes files, pairs of path and content.
func (s *shelf) put(namespace, name, version, description string, files ...string) meta.Release {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := meta.Release{Namespace: namespace, Name: name, Version: version, Description: description, State: meta.Approved, Updated: time.Unix(int64(1_700_000_000+len(s.zips)), 0)}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for i := 0; i < len(files); i += 2 {
		f, _ := w.Create(files[i])
		io.WriteString(f, files[i+1])
		sum := sha256.Sum256([]byte(files[i+1]))
		r.Files = append(r.Files, meta.File{Path: files[i], Size: int64(len(files[i+1])), SHA256: hex.EncodeToString(sum[:])})
	}
	w.Close()
	r.Zip = blob.Sum(blob.SHA256, archive.Bytes()).String()
	s.zips[r.Zip] = archive.Bytes()
	s.skills[r.Repo()] = r
	s.generation++
	return r
}

func (s *shelf) Namespace(_ context.Context, who registry.Caller, name string) (meta.Namespace, error) {
	public, ok := s.public[name]
	if ok && (public || who.May(auth.Read, name)) {
		return meta.Namespace{Name: name, Public: public}, nil
	}
	if who.Anonymous {
		return meta.Namespace{}, diag.New(diag.Failed, "unauthorized", "this needs a token")
	}
	return meta.Namespace{}, diag.New(diag.Misuse, "unknown_namespace", "there is no namespace %s", name)
}

func (s *shelf) list(keep func(meta.Release) bool, after string, limit int) (out []meta.Skill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.skills {
		if keep(r) {
			out = append(out, meta.Skill{Namespace: r.Namespace, Name: r.Name, Latest: r.Version, Description: r.Description, Updated: r.Updated})
		}
	}
	slices.SortFunc(out, func(a, b meta.Skill) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return out[:min(limit, len(out))]
}

func (s *shelf) Skills(_ context.Context, _ registry.Caller, namespace, after string, limit int) ([]meta.Skill, error) {
	return s.list(func(r meta.Release) bool { return r.Namespace == namespace && r.Repo() > after }, after, limit), nil
}

func (s *shelf) UniqueSkills(_ context.Context, after string, limit int) ([]meta.Skill, error) {
	times := map[string]int{}
	for _, r := range s.skills {
		if s.public[r.Namespace] {
			times[r.Name]++
		}
	}
	return s.list(func(r meta.Release) bool { return s.public[r.Namespace] && times[r.Name] == 1 && r.Name > after }, after, limit), nil
}

func (s *shelf) Release(_ context.Context, who registry.Caller, namespace, name, version string) (meta.Release, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releases++
	r, ok := s.skills[namespace+"/"+name]
	if !ok || r.Version != version {
		return meta.Release{}, diag.New(diag.Misuse, "unknown_version", "there is no %s/%s@%s", namespace, name, version)
	}
	return r, nil
}

func (s *shelf) Signatures(context.Context, registry.Caller, meta.Release) ([]registry.Signature, error) {
	return []registry.Signature{{Bundle: []byte(`{"a":"bundle"}`)}}, nil
}

type content struct{ *bytes.Reader }

func (content) Close() error { return nil }

func (s *shelf) OpenZip(_ context.Context, r meta.Release) (blob.Content, error) {
	return content{bytes.NewReader(s.zips[r.Zip])}, nil
}

func (s *shelf) CountDownload(namespace, name, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted = append(s.counted, namespace+"/"+name+"@"+version)
}

// handler serves the shelf. Tokens are "ns:role".
func (s *shelf) handler() *Handler {
	return &Handler{
		Registry: s,
		Caller: func(*http.Request) (registry.Caller, error) {
			return registry.Caller{Identity: auth.Identity{Anonymous: true}}, nil
		},
		Challenge: func(*http.Request) string { return `Basic realm="skl"` },
		Token: func(_ *http.Request, token string) (registry.Caller, error) {
			ns, role, ok := strings.Cut(token, ":")
			if !ok {
				return registry.Caller{}, diag.New(diag.Failed, "unauthorized", "this is no token")
			}
			return registry.Caller{Identity: auth.Identity{Account: "ci", Grants: []auth.Grant{{Namespace: ns, Role: auth.Role(role)}}}}, nil
		},
		Generation: func(context.Context) (int64, error) { return s.generation, nil },
		URL:        "https://skills.example",
	}
}

const doc = "---\nname: %s\ndescription: Does things.\n---\n"

// stocked is a shelf with a public and a private namespace.
func stocked() *shelf {
	s := newShelf()
	s.public["acme"], s.public["tools"], s.public["secret"] = true, true, false
	s.put("acme", "pdf", "1.4.2", "Reads PDF files.", "SKILL.md", fmt.Sprintf(doc, "pdf"), "scripts/run.py", "print(1)\n")
	s.put("acme", "notes", "1.0.0+build.1", "Writes notes.", "SKILL.md", fmt.Sprintf(doc, "notes"))
	s.put("acme", "odd", "1.0.0", "Has names that old clients cannot fetch.", "SKILL.md", fmt.Sprintf(doc, "odd"), "a#b.txt", "x")
	s.put("acme", "shared", "1.0.0", "In two namespaces.", "SKILL.md", fmt.Sprintf(doc, "shared"))
	s.put("tools", "shared", "2.0.0", "In two namespaces.", "SKILL.md", fmt.Sprintf(doc, "shared"))
	s.put("secret", "plan", "0.1.0", "Nobody's business.", "SKILL.md", fmt.Sprintf(doc, "plan"), "more.md", "more")
	return s
}

func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

type index02 struct {
	Schema string `json:"$schema"`
	Skills []struct{ Name, Type, Description, URL, Digest, Version, OCI, Bundle string }
}

type index01 struct {
	Skills []struct {
		Name, Description string
		Files             []string
	}
}

// Every artifact of an index is where the index says, with the digest it says.
func TestCurrentIndex(t *testing.T) {
	s := stocked()
	h := s.handler()
	for _, tt := range []struct{ where, want string }{
		{"/acme", "notes odd pdf shared"},
		{"/tools", "shared"},
		{"", "notes odd pdf"},
		{"/t/secret:reader/secret", "plan"},
	} {
		at := tt.where + "/.well-known/agent-skills/index.json"
		w := get(h, at)
		var ix index02
		if err := json.Unmarshal(w.Body.Bytes(), &ix); w.Code != 200 || err != nil {
			t.Fatalf("%s: %d %v %s", at, w.Code, err, w.Body)
		}
		if ix.Schema != schema02 || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: schema %q, type %q", at, ix.Schema, w.Header().Get("Content-Type"))
		}
		var names []string
		base, _ := url.Parse("http://x" + at)
		for _, e := range ix.Skills {
			names = append(names, e.Name)
			u, err := base.Parse(e.URL)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(u.Path, strings.TrimSuffix(tt.where, "/acme")) {
				t.Errorf("%s points out of its prefix, to %s", at, u.Path)
			}
			a := get(h, u.EscapedPath())
			if got := blob.Sum(blob.SHA256, a.Body.Bytes()).String(); a.Code != 200 || got != e.Digest {
				t.Errorf("%s: %d, digest %s, want %s", u.Path, a.Code, got, e.Digest)
			}
			want := "application/zip"
			if e.Type == "skill-md" {
				want = "text/markdown; charset=utf-8"
			}
			if a.Header().Get("Content-Type") != want {
				t.Errorf("%s has type %s, want %s", u.Path, a.Header().Get("Content-Type"), want)
			}
			if !strings.HasPrefix(e.OCI, "oci://skills.example/") || strings.Contains(e.OCI, "+") || e.Version == "" {
				t.Errorf("%s: oci %q, version %q", e.Name, e.OCI, e.Version)
			}
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s lists %s, want %s", at, got, tt.want)
		}
	}
	if len(s.counted) != 9 {
		t.Errorf("%d downloads were counted: %v", len(s.counted), s.counted)
	}
}

// A client of version 0.1 builds its URLs from names of skills and files as they are.
func TestLegacyIndex(t *testing.T) {
	h := stocked().handler()
	for _, tt := range []struct{ where, want string }{
		{"/acme", "notes pdf shared"}, // odd cannot be fetched by such a client
		{"", "notes pdf"},
		{"/t/secret:reader/secret", "plan"},
	} {
		at := tt.where + "/.well-known/skills/"
		var ix index01
		w := get(h, at+"index.json")
		if err := json.Unmarshal(w.Body.Bytes(), &ix); err != nil || strings.Contains(w.Body.String(), "$schema") {
			t.Fatalf("%s: %v %s", at, err, w.Body)
		}
		var names []string
		for _, e := range ix.Skills {
			names = append(names, e.Name)
			for _, f := range e.Files {
				if got := get(h, at+e.Name+"/"+f); got.Code != 200 || got.Body.Len() == 0 {
					t.Errorf("%s of %s: %d", f, e.Name, got.Code)
				}
			}
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s lists %s, want %s", at, got, tt.want)
		}
	}
}

// A caller who may not read is told nothing, and a path with a token stays private.
func TestAccess(t *testing.T) {
	h := stocked().handler()
	const index = "/.well-known/agent-skills/index.json"
	for _, tt := range []struct {
		path  string
		code  int
		cache string
	}{
		{"/acme" + index, 200, "public, no-cache"},
		{"/secret" + index, 401, "no-store"},
		{"/nobody" + index, 401, "no-store"},
		{"/secret/.well-known/skills/plan/SKILL.md", 401, "no-store"},
		{"/secret/.well-known/agent-skills/plan/0.1.0/plan.zip", 401, "no-store"},
		{"/t/secret:reader/secret" + index, 200, "private, no-cache"},
		{"/t/secret:reader/secret/.well-known/agent-skills/plan/0.1.0/plan.zip", 200, "private, max-age=3600, immutable"},
		{"/t/secret:reader/secret/.well-known/skills/plan/more.md", 200, "private, no-cache"},
		{"/t/secret:reader/nobody" + index, 404, "no-store"},
		{"/t/secret:publisher/secret" + index, 403, "no-store"}, // more than reading has no place in a URL
		{"/t/other:reader/secret" + index, 404, "no-store"},
		{"/t/wrong/secret" + index, 401, "no-store"},
		{"/t/secret:reader" + index, 404, "no-store"},
		{"/t/secret:reader/api/v1", 404, "no-store"},
		{"/t/", 401, "no-store"},
		{"/acme/.well-known/agent-skills/", 404, "no-store"},
		{"/acme/.well-known/agent-skills/pdf", 404, "no-store"},
		{"/acme/.well-known/agent-skills/pdf/1.4.2/other.zip", 404, "no-store"},
		{"/acme/.well-known/agent-skills/pdf/9.9.9/pdf.zip", 404, "no-store"},
		{"/acme/.well-known/skills/pdf/none.md", 404, "no-store"},
		{"/acme/.well-known/agent-skills/pdf/1.4.2/bundle.json", 200, "public, no-cache"},
		{"/.well-known/agent-skills/plan/SKILL.md", 404, "no-store"},
		{"/.well-known/agent-skills/pdf/SKILL.md", 200, "public, no-cache"},
		{"/acme/.well-known/other/index.json", 404, "no-store"},
	} {
		w := get(h, tt.path)
		if w.Code != tt.code || w.Header().Get("Cache-Control") != tt.cache {
			t.Errorf("%s: %d %q, want %d %q", tt.path, w.Code, w.Header().Get("Cache-Control"), tt.code, tt.cache)
		}
		if strings.HasPrefix(tt.path, "/t/") && w.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s lets a browser tell others where it was", tt.path)
		}
	}
}

// HEAD, conditional and partial requests do what HTTP says, and other methods are refused.
func TestHTTP(t *testing.T) {
	s := stocked()
	h := s.handler()
	const index = "/acme/.well-known/agent-skills/index.json"
	tag := get(h, index).Header().Get("ETag")
	if w := get(h, index, "If-None-Match", tag); w.Code != 304 {
		t.Errorf("a known index gives %d", w.Code)
	}
	s.put("acme", "new", "1.0.0", "New.", "SKILL.md", "x")
	if w := get(h, index, "If-None-Match", tag); w.Code != 200 || !strings.Contains(w.Body.String(), `"new"`) {
		t.Errorf("a changed index gives %d %s", w.Code, w.Body)
	}
	r := httptest.NewRequest("HEAD", "/acme/.well-known/agent-skills/pdf/1.4.2/pdf.zip", nil)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: %d with %d bytes", w.Code, w.Body.Len())
	}
	if w := get(h, r.URL.Path, "Range", "bytes=2-3"); w.Code != 206 || w.Body.Len() != 2 {
		t.Errorf("Range: %d with %d bytes", w.Code, w.Body.Len())
	}
	if len(s.counted) != 0 {
		t.Errorf("these are no downloads: %v", s.counted)
	}
	r = httptest.NewRequest("POST", index, nil)
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

// Only skills that changed are read again, and an index that nobody changed is not built.
func TestBuildsOnlyWhatChanged(t *testing.T) {
	s := newShelf()
	s.public["acme"] = true
	for i := range 300 {
		s.put("acme", fmt.Sprintf("skill-%03d", i), "1.0.0", "One of many.", "SKILL.md", "x")
	}
	h := s.handler()
	const index = "/acme/.well-known/agent-skills/index.json"
	for range 3 {
		get(h, index)
	}
	if s.releases != 300 {
		t.Errorf("the first build read %d releases, want 300", s.releases)
	}
	s.put("acme", "skill-007", "1.1.0", "Newer.", "SKILL.md", "y")
	body := get(h, index).Body.String()
	for end := time.Now().Add(long.Hang); !strings.Contains(body, "skill-007/1.1.0/") && time.Now().Before(end); { // one that took long is served for a while
		time.Sleep(time.Millisecond)
		body = get(h, index).Body.String()
	}
	if s.releases != 301 {
		t.Errorf("one change read %d releases", s.releases-300)
	}
	if !strings.Contains(body, "skill-007/1.1.0/") || strings.Count(body, `"name"`) != 300 {
		t.Error("the index does not show the change, or not the rest")
	}
}

// Descriptions are cut where a client counts 1,024 characters.
func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int // runes
	}{
		{strings.Repeat("a", 1024), 1024}, {strings.Repeat("a", 1025), 1024}, {strings.Repeat("ü", 1100), 1024}, {strings.Repeat("😀", 600), 512},
	} {
		if got := clip(tt.in, 1024); len([]rune(got)) != tt.want || !strings.HasPrefix(tt.in, got) {
			t.Errorf("clip of %d runes has %d, want %d", len([]rune(tt.in)), len([]rune(got)), tt.want)
		}
	}
}

// How long does a client wait for an index of 1,000 skills that is in memory?
func BenchmarkIndex1000(b *testing.B) {
	s := newShelf()
	s.public["acme"] = true
	for i := range 1000 {
		s.put("acme", fmt.Sprintf("skill-%04d", i), "1.0.0", strings.Repeat("A description of some length. ", 8), "SKILL.md", "x", "run.py", "y")
	}
	h := s.handler()
	const index = "/acme/.well-known/agent-skills/index.json"
	get(h, index)
	for b.Loop() {
		if w := get(h, index); w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}

// How long does the first client wait for the global index of 100,000 skills, and how long
// those after a change?
func BenchmarkGlobalIndex100k(b *testing.B) {
	s := newShelf()
	for i := range 100_000 {
		namespace := fmt.Sprintf("ns-%03d", i%1000)
		s.public[namespace] = true
		r := meta.Release{Namespace: namespace, Name: fmt.Sprintf("skill-%06d", i), Version: "1.0.0", State: meta.Approved, Updated: time.Unix(int64(i), 0),
			Description: "A description of some length, as they are.", Zip: "sha256:" + strings.Repeat("0", 64), Files: []meta.File{{Path: "SKILL.md"}, {Path: "run.py"}}}
		s.skills[r.Repo()] = r
	}
	all, _ := s.UniqueSkills(b.Context(), "", 1<<20)
	slices.SortFunc(all, func(a, b meta.Skill) int { return strings.Compare(a.Name, b.Name) })
	fixed := &fixedShelf{s, all}
	h := s.handler()
	h.Registry = fixed
	began := time.Now()
	ix, err := h.index(b.Context(), registry.Caller{}, "")
	if err != nil {
		b.Fatal(err)
	}
	first := time.Since(began)
	for b.Loop() {
		if _, err := h.build(b.Context(), registry.Caller{}, "", ix); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(first.Milliseconds()), "ms/first")
	b.ReportMetric(float64(len(ix.bodies[current]))/1e6, "MB")
}

// A fixedShelf lists from memory, so that the listing itself costs nothing.
type fixedShelf struct {
	*shelf
	all []meta.Skill
}

func (f *fixedShelf) UniqueSkills(_ context.Context, after string, limit int) ([]meta.Skill, error) {
	i, _ := slices.BinarySearchFunc(f.all, after+"\x00", func(s meta.Skill, name string) int { return strings.Compare(s.Name, name) })
	return f.all[i:min(i+limit, len(f.all))], nil
}

// Whatever the path, the handler answers, and nothing of a private namespace without its token.
func FuzzPath(f *testing.F) {
	h := stocked().handler()
	for _, p := range []string{"/acme/.well-known/agent-skills/index.json", "/t/a/secret/.well-known/skills/plan/SKILL.md", "/secret/.well-known/agent-skills/plan/0.1.0/plan.zip", "//.well-known/skills/../x", "/t//"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if !strings.HasPrefix(path, "/") || strings.Contains(path, "secret:reader") {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, &http.Request{Method: "GET", URL: &url.URL{Path: path}, Header: http.Header{}, Host: "x"})
		if w.Code < 200 || w.Code > 499 {
			t.Errorf("%q: %d", path, w.Code)
		}
		if strings.Contains(w.Body.String(), "Nobody's business") || w.Code == 200 && strings.HasPrefix(path, "/secret") {
			t.Errorf("%q shows a private namespace", path)
		}
	})
}
