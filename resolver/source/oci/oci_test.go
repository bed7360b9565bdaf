package oci

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/oci/ocitest"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/spec/ref"
)

// setup is a Source with a cache of its own, and a registry that it reads.
func setup(t testing.TB, r *ocitest.Registry) (*Source, string) {
	t.Helper()
	return newSource(t, t.TempDir(), origin.Credential{}), ocitest.Start(t, r)
}

func newSource(t testing.TB, cache string, cred origin.Credential) *Source {
	t.Helper()
	client := &origin.Client{}
	if cred != (origin.Credential{}) {
		client.Credential = func(context.Context, string) (origin.Credential, error) { return cred, nil }
	}
	return &Source{Client: client, CacheDir: cache, Retry: func(int) int { return 1 },
		download: func(d *origin.Download) { d.Pause, d.Stall = time.Millisecond, 5*time.Second }}
}

func mustRef(t testing.TB, s string) ref.Ref {
	t.Helper()
	r, err := ref.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// open resolves a ref as the resolver does and returns the lock entry of its one skill.
func open(s *Source, r ref.Ref) (lock.Skill, error) {
	rs := &resolver.Resolver{OCI: s}
	o, err := rs.Open(context.Background(), resolver.Want{Ref: r})
	if err != nil {
		return lock.Skill{}, err
	}
	found, err := o.Skills(context.Background(), nil)
	if err != nil {
		return lock.Skill{}, err
	}
	return found[0].Lock, found[0].Invalid
}

func fetch(s *Source, l lock.Skill) (bundle.Digest, error) {
	g := bundle.NewGuard(nil, bundle.Limits{})
	if err := s.Fetch(context.Background(), l, g); err != nil {
		return "", err
	}
	sum, err := g.Close()
	return sum.Tree, err
}

func code(err error) string {
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return e.Code
	}
	return ""
}

// Every layout of the table gives the same tree, with and without a cache, and on a second machine from the lock alone.
func TestLayouts(t *testing.T) {
	r := &ocitest.Registry{}
	s, host := setup(t, r)
	files := pdf("pdf", false)
	want := treeOf(t, files)
	for _, repo := range pushLayouts(t, r, files, "pdf") {
		t.Run(strings.TrimPrefix(repo, "acme/"), func(t *testing.T) {
			l, err := open(s, mustRef(t, "oci://"+host+"/"+repo))
			if err != nil {
				t.Fatal(err)
			}
			if l.Name != "pdf" || l.Version != "1.4.2" || l.Source != "oci" || l.URL != "oci://"+host+"/"+repo || l.RefKind != lock.Range || !isDigest(string(l.Manifest)) {
				t.Errorf("lock entry %+v", l)
			}
			several := strings.Contains(repo, "several") || strings.Contains(repo, "raw")
			if (l.Artifact == "") != several {
				t.Errorf("artifact %q", l.Artifact)
			}
			for _, other := range []*Source{s, newSource(t, t.TempDir(), origin.Credential{}), newSource(t, "", origin.Credential{})} {
				if tree, err := fetch(other, l); err != nil || tree != want {
					t.Errorf("fetched %v, %v; want %v", tree, err, want)
				}
			}
		})
	}
}

// The executable bit survives where the layout has one.
func TestExecutable(t *testing.T) {
	r := &ocitest.Registry{}
	s, host := setup(t, r)
	files := pdf("pdf", true)
	for _, repo := range pushLayouts(t, r, files, "pdf") {
		l, err := open(s, mustRef(t, "oci://"+host+"/"+repo+":1.4.2"))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := fetch(s, l)
		if same := tree == treeOf(t, files); err != nil || same == strings.Contains(repo, "raw") {
			t.Errorf("%s: %v, %v", repo, tree, err)
		}
	}
}

func push(t testing.TB, r *ocitest.Registry, repo, name string, tags ...string) v1.Descriptor {
	t.Helper()
	version, ok := "", false
	if len(tags) > 0 {
		version, ok = oci.Version(tags[0])
	}
	if !ok {
		version = ""
	}
	b, err := oci.Build(oci.Input{Files: pdf(name, true), Version: version})
	if err != nil {
		t.Fatal(err)
	}
	return r.Push(repo, b, tags...)
}

// Each ref selects its release, and the lock records how.
func TestVersions(t *testing.T) {
	r := &ocitest.Registry{PageSize: 2}
	s, host := setup(t, r)
	var newest v1.Descriptor
	for _, tag := range []string{"1.0.0", "1.4.2", "v1.10.0", "2.0.0-rc.1", "1.4.3_b1", "latest", "stable"} {
		d := push(t, r, "acme/pdf", "pdf", tag)
		if tag == "v1.10.0" {
			newest = d
		}
	}
	push(t, r, "acme/pdf", "pdf", "1.4.2-image")
	push(t, r, "acme/plain", "plain", "latest")
	push(t, r, "acme/odd", "odd", "nightly")
	base := "oci://" + host + "/acme/"
	for _, tt := range []struct {
		ref     string
		version string
		kind    lock.RefKind
		code    string
	}{
		{"pdf", "1.10.0", lock.Range, ""},
		{"pdf:1.4.2", "1.4.2", lock.Tag, ""},
		{"pdf@^1.4, <1.10", "1.4.3+b1", lock.Range, ""},
		{"pdf@>=2.0.0-0", "2.0.0-rc.1", lock.Range, ""},
		{"pdf:stable", "0.9.0", lock.Tag, ""},
		{"pdf@" + string(newest.Digest), "1.10.0", lock.Commit, ""},
		{"pdf:1.0.0@" + string(newest.Digest), "1.10.0", lock.Commit, ""},
		{"plain", "0.9.0", lock.Default, ""},
		{"odd", "", "", "no_release"},
		{"pdf:1.10.0", "", "", "no_such_version"}, // the tag is v1.10.0
		{"pdf:1.4", "", "", "no_such_version"},    // a tag is not a range
		{"pdf@^3", "", "", "no_such_version"},
		{"pdf#word", "", "", "no_such_skill"},
		{"none", "", "", "oci_not_found"},
		{"pdf@sha256:" + strings.Repeat("0", 64), "", "", "oci_not_found"},
	} {
		l, err := open(s, mustRef(t, base+tt.ref))
		if code(err) != tt.code || l.Version != tt.version || l.RefKind != tt.kind {
			t.Errorf("%s = %s (%s), %v; want %s (%s), code %q", tt.ref, l.Version, l.RefKind, err, tt.version, tt.kind, tt.code)
		}
	}
	_, err := open(s, mustRef(t, base+"odd"))
	if e, _ := errors.AsType[*diag.Error](err); e == nil || !slices.Equal(e.Candidates, []string{"nightly"}) {
		t.Errorf("no release: %+v", e)
	}
}

// tags remembers versions, by name and version.
type tags map[string]string

func (t tags) At(r resolver.Tagged) string                      { return t[r.Name+r.Version] }
func (t tags) Seen(r resolver.Tagged, pin string)               { t[r.Name+r.Version] = pin }
func (t tags) Moved(r resolver.Tagged, before, now string) bool { return false }
func (t tags) Here(r resolver.Tagged) string                    { return t[r.Name+r.Version] }
func (t tags) Use(resolver.Tagged, string)                      {}
func (t tags) Elsewhere(resolver.Tagged, string, string)        {}

// A manifest's entry and the lock's ref fit together, so that nothing is resolved anew.
func TestReleasesAreKept(t *testing.T) {
	r := &ocitest.Registry{}
	s, host := setup(t, r)
	d := push(t, r, "acme/pdf", "pdf", "1.4.2", "stable")
	for _, want := range []resolver.Want{
		{Ref: mustRef(t, "oci://"+host+"/acme/pdf@^1.4"), Kind: lock.Range},
		{Ref: mustRef(t, "oci://"+host+"/acme/pdf:stable"), Kind: lock.Tag},
		{Ref: mustRef(t, "oci://"+host+"/acme/pdf@"+string(d.Digest))},
		{Ref: func() ref.Ref { r := mustRef(t, "oci://"+host+"/acme/pdf"); r.Version = "1.4"; return r }(), Kind: lock.Range},
	} {
		rs := &resolver.Resolver{OCI: s, Tags: tags{}}
		wants := []resolver.Named{{Name: "pdf", Want: want}}
		never := func(string) bool { return false }
		first := rs.Releases(t.Context(), wants, &lock.Lock{}, never, false)[0]
		first.Skill.Tree, first.Skill.Files, first.Skill.Bytes = "tree-sha256:x", 1, 9 // as of one that was fetched
		l := &lock.Lock{Skills: []lock.Skill{first.Skill}}
		if first.Err != nil || len(resolver.Stale(wants, l)) != 0 {
			t.Fatalf("%s: %v, stale %v", want.Ref, first.Err, resolver.Stale(wants, l))
		}
		r.Asked("")
		again := rs.Releases(t.Context(), wants, l, never, false)[0]
		if again.Err != nil || len(r.Asked("")) != 0 || again.Skill.Manifest != ref.Digest(d.Digest) {
			t.Errorf("%s: %v, or the registry was asked again", want.Ref, again.Err)
		}
	}
}

func TestCollection(t *testing.T) {
	r := &ocitest.Registry{}
	s, host := setup(t, r)
	var entries []oci.CollectionEntry
	for _, name := range []string{"pdf", "ocr"} {
		d := push(t, r, "acme/"+name, name, "1.0.0")
		entries = append(entries, oci.CollectionEntry{Name: name, Ref: host + "/acme/" + name + ":1.0.0", Manifest: d})
	}
	entries = append(entries, oci.CollectionEntry{Name: "gone", Ref: host + "/acme/gone:1", Manifest: v1.Descriptor{MediaType: v1.MediaTypeImageManifest, Digest: oci.DigestOf([]byte("gone")), Size: 4}})
	index, err := oci.BuildCollection("office", time.Time{}, entries)
	if err != nil {
		t.Fatal(err)
	}
	r.Manifest("acme/office", index.MediaType, index.Data, "1.0.0")
	base := "oci://" + host + "/acme/office"
	l, err := open(s, mustRef(t, base+"#ocr"))
	if err != nil || l.Name != "ocr" || l.URL != "oci://"+host+"/acme/ocr" || l.Version != "1.0.0" {
		t.Fatalf("%+v, %v", l, err)
	}
	if tree, err := fetch(s, l); err != nil || tree != treeOf(t, pdf("ocr", true)) {
		t.Errorf("fetched %v, %v", tree, err)
	}
	found, err := s.Skills(context.Background(), mustRef(t, base), source.Release{Kind: source.Tag, Name: "1.0.0"}, nil)
	if err != nil || len(found) != 3 || found[0].Lock.Name != "pdf" || found[2].Invalid == nil {
		t.Errorf("all: %+v, %v", found, err)
	}
	if _, err := fetch(s, lock.Skill{Name: "x", URL: base, Manifest: ref.Digest(index.Digest)}); code(err) != oci.CodeNotSkill {
		t.Errorf("a collection was fetched: %v", err)
	}
}

// Hostile images are refused, each with its code.
func TestHostile(t *testing.T) {
	r := &ocitest.Registry{Replaced: map[string][]byte{}}
	s, host := setup(t, r)
	md := tar.Header{Name: "SKILL.md", Uname: "---\nname: x\ndescription: y\n---\n"}
	named := func(name, content string) tar.Header { return tar.Header{Name: name, Uname: content} }
	below := func(dir string) tar.Header { h := md; h.Name = dir + "/SKILL.md"; return h }
	image := func(repo string) v1.Descriptor { return r.Blob(repo, v1.MediaTypeImageConfig, []byte("{}")) }
	typed := func(repo string, layer []byte) {
		pushManifest(r, repo, oci.ArtifactSkill, r.Blob(repo, oci.ConfigSkill, []byte(`{"schemaVersion":"1"}`)), nil, "1.0.0", r.Blob(repo, oci.LayerSkill, layer))
	}
	plain := func(repo string, layers ...[]byte) {
		var ds []v1.Descriptor
		for _, l := range layers {
			ds = append(ds, r.Blob(repo, v1.MediaTypeImageLayerGzip, l))
		}
		pushManifest(r, repo, "", image(repo), nil, "1.0.0", ds...)
	}
	for _, tt := range []struct {
		name, code string
		push       func(repo string)
	}{
		{"two-skills", oci.CodeTwoSkills, func(repo string) { typed(repo, packed(t, below("a"), below("b"))) }},
		{"no-skill", bundle.CodeNoSkillMD, func(repo string) { plain(repo, packed(t, named("bin/sh", "x"))) }},
		{"outside", oci.CodeOutside, func(repo string) { typed(repo, packed(t, below("a"), named("b", ""))) }},
		{"whiteout", oci.CodeWhiteout, func(repo string) { plain(repo, packed(t, md), packed(t, named(".wh.secret", ""))) }},
		{"opaque-whiteout", oci.CodeWhiteout, func(repo string) { plain(repo, packed(t, md), packed(t, named("a/.wh..wh..opq", ""))) }},
		{"link-outside", bundle.CodeLinkEscape, func(repo string) {
			typed(repo, packed(t, below("a"), tar.Header{Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: "../../etc/passwd"}))
		}},
		{"absolute-link", bundle.CodeLinkEscape, func(repo string) {
			plain(repo, packed(t, md, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}))
		}},
		{"hard-link", bundle.CodeIrregular, func(repo string) {
			typed(repo, packed(t, below("a"), tar.Header{Name: "a/l", Typeflag: tar.TypeLink, Linkname: "a/SKILL.md"}))
		}},
		{"file-through-link-of-a-layer", bundle.CodePathConflict, func(repo string) {
			plain(repo, packed(t, md, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "SKILL.md"}), packed(t, named("l/x", "")))
		}},
		{"traversal", bundle.CodePathTraversal, func(repo string) { plain(repo, packed(t, md, named("../x", ""))) }},
		{"setuid", bundle.CodeSetID, func(repo string) { plain(repo, packed(t, md, tar.Header{Name: "x", Mode: 0o4755})) }},
		{"bomb", bundle.CodeRatio, func(repo string) { plain(repo, packed(t, md, named("x", strings.Repeat("\x00", 40<<20)))) }},
		{"no-archive", bundle.CodeArchive, func(repo string) { typed(repo, []byte("no archive")) }},
		{"schema", oci.CodeSchema, func(repo string) {
			pushManifest(r, repo, oci.ArtifactSkill, r.Blob(repo, oci.ConfigSkill, []byte(`{"schemaVersion":"2"}`)), nil, "1.0.0", r.Blob(repo, oci.LayerSkill, packed(t, md)))
		}},
		{"false-tree", oci.CodeClaim, func(repo string) {
			config := `{"schemaVersion":"1","metadata":{"` + oci.AnnotationTree + `":"tree-sha256:` + strings.Repeat("0", 64) + `"}}`
			pushManifest(r, repo, oci.ArtifactSkill, r.Blob(repo, oci.ConfigSkill, []byte(config)), nil, "1.0.0", r.Blob(repo, oci.LayerSkill, packed(t, md)))
		}},
		{"signature", oci.CodeNotSkill, func(repo string) {
			pushManifest(r, repo, oci.SigstoreBundle, r.Blob(repo, v1.MediaTypeEmptyJSON, []byte("{}")), nil, "1.0.0", r.Blob(repo, oci.SigstoreBundle, []byte("{}")))
		}},
		{"other-layer", oci.CodeDigest, func(repo string) {
			layer := packed(t, md, named("n", repo))
			typed(repo, layer)
			r.Replaced[string(oci.DigestOf(layer))] = bytes.Repeat([]byte{1}, len(layer))
		}},
		{"longer-layer", "size_mismatch", func(repo string) {
			layer := packed(t, md, named("n", repo))
			typed(repo, layer)
			r.Replaced[string(oci.DigestOf(layer))] = append(bytes.Clone(layer), 1)
		}},
		{"other-manifest", oci.CodeDigest, func(repo string) {
			d := push(t, r, repo, "x", "1.0.0")
			r.Replaced[string(d.Digest)] = []byte(`{"schemaVersion":2}`)
		}},
		{"huge-manifest", "too_large", func(repo string) {
			r.Manifest(repo, v1.MediaTypeImageManifest, []byte(`{"schemaVersion":2,"x":"`+strings.Repeat("a", oci.MaxManifest)+`"}`), "1.0.0")
		}},
		{"index-loop", oci.CodeNested, func(repo string) {
			inner := r.Manifest(repo, v1.MediaTypeImageIndex, v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{push(t, r, repo, "x")}})
			r.Manifest(repo, v1.MediaTypeImageIndex, v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{inner}}, "1.0.0")
		}},
		{"blocked", "blocked", func(repo string) {
			push(t, r, repo, "x", "1.0.0")
			r.Gone = map[string]string{"1.0.0": "malware"}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			repo := "hostile/" + tt.name
			r.Gone = nil
			tt.push(repo)
			l, err := open(s, mustRef(t, "oci://"+host+"/"+repo))
			if err == nil { // some rules are the Guard's
				_, err = fetch(s, l)
			}
			if code(err) != tt.code {
				t.Errorf("%+v, %v; want code %s", l, err, tt.code)
			}
			if tt.name == "blocked" && (!strings.Contains(err.Error(), "malware") || diag.ClassOf(err) != diag.Refused) {
				t.Errorf("blocked: %v", err)
			}
		})
	}
}

// A locked entry with another layer, or an address that is none, is refused.
func TestFetchRefuses(t *testing.T) {
	r := &ocitest.Registry{}
	s, host := setup(t, r)
	d := push(t, r, "acme/pdf", "pdf", "1.0.0")
	good := lock.Skill{Name: "pdf", URL: "oci://" + host + "/acme/pdf", Manifest: ref.Digest(d.Digest)}
	for name, change := range map[string]func(*lock.Skill){
		oci.CodeDigest:  func(l *lock.Skill) { l.Artifact = ref.Digest(oci.DigestOf(nil)) },
		"lock_corrupt":  func(l *lock.Skill) { l.Manifest = "1.0.0" },
		"invalid_ref":   func(l *lock.Skill) { l.URL = "https://" + host + "/acme/pdf" },
		"oci_not_found": func(l *lock.Skill) { l.Manifest = ref.Digest(oci.DigestOf(nil)) },
	} {
		l := good
		change(&l)
		if _, err := fetch(s, l); code(err) != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fetch(s, good); err != nil {
		t.Error(err)
	}
}

// bigSkill is a skill whose layer is about size bytes.
func bigSkill(t testing.TB, r *ocitest.Registry, repo string, size int) v1.Descriptor {
	t.Helper()
	noise := make([]byte, size)
	rand.Read(noise)
	files := pdf("pdf", true)
	files["noise"] = &fstest.MapFile{Data: noise, Mode: 0o644}
	b, err := oci.Build(oci.Input{Files: files, Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	r.Push(repo, b, "1.0.0")
	return b.Blobs[0].Descriptor
}

// After a cut connection only the rest is asked for, also by the next process, and with a login.
func TestResume(t *testing.T) {
	for _, auth := range []ocitest.Auth{ocitest.Open, ocitest.Token} {
		t.Run(string(auth)+"auth", func(t *testing.T) {
			r := &ocitest.Registry{Auth: auth, User: "x-access-token", Password: "s"}
			s, host := setup(t, r)
			s.Client.Credential = func(context.Context, string) (origin.Credential, error) { return origin.Credential{Secret: "s"}, nil }
			layer := bigSkill(t, r, "acme/pdf", 300_000)
			at := mustRef(t, "oci://"+host+"/acme/pdf:1.0.0")
			r.Cut(1<<20, 100_000, 50_000) // the config is whole
			if _, err := open(s, at); err != nil {
				t.Fatal(err)
			}
			var ranges []string
			for _, q := range r.Asked(string(layer.Digest)) {
				if strings.HasPrefix(q.Authorization, "Bearer ") == (auth == ocitest.Token) {
					ranges = append(ranges, q.Range)
				}
			}
			if want := []string{"", "bytes=100000-", "bytes=150000-"}; !slices.Equal(ranges, want) {
				t.Errorf("ranges %q, want %q", ranges, want)
			}
		})
	}
	r := &ocitest.Registry{}
	s, host := setup(t, r)
	layer := bigSkill(t, r, "acme/pdf", 300_000)
	at := mustRef(t, "oci://"+host+"/acme/pdf:1.0.0")
	r.Cut(1<<20, 10, 10, 10, 10)
	if _, err := open(s, at); code(err) != "network" {
		t.Fatalf("four cuts: %v", err)
	}
	r.Asked("")
	if _, err := open(newSource(t, s.CacheDir, origin.Credential{}), at); err != nil {
		t.Fatal(err)
	}
	if q := r.Asked(string(layer.Digest)); len(q) != 1 || q[0].Range != "bytes=40-" {
		t.Errorf("the next process asked %+v", q)
	}
	if left, _ := filepath.Glob(filepath.Join(s.CacheDir, "oci", "parts", "sha256", "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A part that is the start of something else, and a cached blob with a flipped bit, are replaced.
func TestCacheHeals(t *testing.T) {
	r := &ocitest.Registry{}
	s, host := setup(t, r)
	layer := bigSkill(t, r, "acme/pdf", 30_000)
	parts := s.path("parts", layer.Digest)
	os.MkdirAll(parts, 0o755)
	os.WriteFile(filepath.Join(parts, "blob.part"), []byte("something else"), 0o644)
	at := mustRef(t, "oci://"+host+"/acme/pdf:1.0.0")
	l, err := open(s, at)
	if err != nil {
		t.Fatal(err)
	}
	path := s.path("blobs", layer.Digest)
	text, _ := os.ReadFile(path)
	text[1000] ^= 1
	os.WriteFile(path, text, 0o644)
	if _, err := fetch(s, l); err != nil {
		t.Error(err)
	}
	offline := newSource(t, s.CacheDir, origin.Credential{})
	offline.Client.Offline = true
	if _, err := fetch(offline, l); err != nil {
		t.Errorf("offline, with everything cached: %v", err)
	}
	os.Remove(path)
	if _, err := fetch(offline, l); code(err) != "offline" {
		t.Errorf("offline without the blob: %v", err)
	}
}

// Several at once, as processes would, with one cache: the blob is downloaded once.
func TestParallel(t *testing.T) {
	r := &ocitest.Registry{}
	s, host := setup(t, r)
	layer := bigSkill(t, r, "acme/pdf", 200_000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := open(newSource(t, s.CacheDir, origin.Credential{}), mustRef(t, "oci://"+host+"/acme/pdf:1.0.0")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if q := r.Asked(string(layer.Digest)); len(q) != 1 {
		t.Errorf("downloaded %d times", len(q))
	}
}

// Blobs on another host are fetched there without any credential; a busy registry is asked again.
func TestRedirectedBlobs(t *testing.T) {
	cdn := &ocitest.Registry{}
	r := &ocitest.Registry{Auth: ocitest.Basic, User: "u", Password: "p", Redirect: "http://" + ocitest.Start(t, cdn)}
	host := ocitest.Start(t, r)
	s := newSource(t, t.TempDir(), origin.Credential{User: "u", Secret: "p"})
	push(t, r, "acme/pdf", "pdf", "1.0.0")
	push(t, cdn, "acme/pdf", "pdf", "1.0.0")
	r.Busy(2)
	if _, err := open(s, mustRef(t, "oci://"+host+"/acme/pdf@sha256:"+strings.Repeat("0", 64))); code(err) != "oci_not_found" {
		t.Errorf("busy twice: %v", err)
	}
	if _, err := open(s, mustRef(t, "oci://"+host+"/acme/pdf:1.0.0")); err != nil {
		t.Fatal(err)
	}
	asked := cdn.Asked("")
	if len(asked) == 0 {
		t.Error("the other host was not asked")
	}
	for _, q := range asked {
		if q.Authorization != "" {
			t.Errorf("the credential went to another host: %+v", q)
		}
	}
}

// A yank is said once; the release is served.
func TestWarning(t *testing.T) {
	r := &ocitest.Registry{Warnings: map[string]string{"1.0.0": `299 - "yanked: broken on \"arm\""`}}
	s, host := setup(t, r)
	push(t, r, "acme/pdf", "pdf", "1.0.0")
	var told []string
	s.Warn = func(place, text string) { told = append(told, place+" "+text) }
	for range 2 {
		if _, err := open(s, mustRef(t, "oci://"+host+"/acme/pdf:1.0.0")); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"oci://" + host + `/acme/pdf:1.0.0 yanked: broken on "arm"`}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// Bundles are found by the referrers interface and by the tag schema, and nothing else with them.
func TestReferrers(t *testing.T) {
	for _, old := range []bool{false, true} {
		r := &ocitest.Registry{NoReferrers: old}
		s, host := setup(t, r)
		d := push(t, r, "acme/pdf", "pdf", "1.0.0")
		attach := func(subject v1.Descriptor, artifactType, text string) v1.Descriptor {
			m := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, ArtifactType: artifactType, Subject: &subject,
				Config: r.Blob("acme/pdf", v1.MediaTypeEmptyJSON, []byte("{}")), Layers: []v1.Descriptor{r.Blob("acme/pdf", artifactType, []byte(text))},
				Annotations: map[string]string{"dev.sigstore.bundle.predicateType": "https://sigstore.dev/cosign/sign/v1"}}
			out := r.Manifest("acme/pdf", m.MediaType, m)
			out.ArtifactType = artifactType
			return out
		}
		list := []v1.Descriptor{attach(d, oci.SigstoreBundle, `{"a":1}`), attach(d, oci.SigstoreBundle, `{"b":2}`), attach(d, "application/spdx+json", "{}")}
		if old {
			other := v1.Descriptor{MediaType: d.MediaType, Digest: oci.DigestOf([]byte("x")), Size: 1}
			list = append(list, attach(other, oci.SigstoreBundle, `{"of":"another"}`))
			r.Manifest("acme/pdf", v1.MediaTypeImageIndex, v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: list},
				strings.Replace(string(d.Digest), ":", "-", 1))
		}
		l := lock.Skill{Name: "pdf", URL: "oci://" + host + "/acme/pdf", Manifest: ref.Digest(d.Digest)}
		got, err := s.Referrers(context.Background(), l)
		var texts []string
		for _, a := range got {
			texts = append(texts, string(a.Bundle))
			if a.PredicateType != "https://sigstore.dev/cosign/sign/v1" || !isDigest(a.Manifest) {
				t.Errorf("attestation %+v", a)
			}
		}
		if slices.Sort(texts); err != nil || !slices.Equal(texts, []string{`{"a":1}`, `{"b":2}`}) {
			t.Errorf("tag schema %v: %q, %v", old, texts, err)
		}
		simple := r.Blob("acme/pdf", attest.SimpleSigning, []byte(`{"critical":{}}`))
		simple.Annotations = map[string]string{"dev.cosignproject.cosign/signature": "c2ln"}
		r.Manifest("acme/pdf", v1.MediaTypeImageManifest, v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
			Config: r.Blob("acme/pdf", v1.MediaTypeEmptyJSON, []byte("{}")), Layers: []v1.Descriptor{simple}}, strings.Replace(string(d.Digest), ":", "-", 1)+".sig")
		if got, err = s.Referrers(context.Background(), l); err != nil || len(got) != 3 || !strings.HasPrefix(string(got[2].Bundle), `{"cosign":"`) || !strings.Contains(string(got[2].Bundle), `"signature":"c2ln"`) {
			t.Errorf("with the older form: %q %v", got, err)
		}
		if !old {
			attach(d, oci.SigstoreBundle, `"`+strings.Repeat("x", MaxBundle)+`"`)
			s2 := newSource(t, t.TempDir(), origin.Credential{})
			if _, err := s2.Referrers(context.Background(), l); code(err) != oci.CodeTooLarge {
				t.Errorf("a huge bundle: %v", err)
			}
			for i := range MaxAttestations {
				text, _ := json.Marshal(i)
				attach(d, oci.SigstoreBundle, string(text))
			}
			if _, err := s2.Referrers(context.Background(), l); code(err) != "too_large" {
				t.Errorf("too many: %v", err)
			}
		}
	}
}

func TestSaid(t *testing.T) {
	for body, want := range map[string]string{
		`{"errors":[{"code":"DENIED","message":"no\u001b[2J way"}]}`: "no",
		`{"title":"Gone","detail":"it is malware"}`:                  "it is malware",
		`<html>`: "", `{"errors":[]}`: "",
	} {
		if got := said([]byte(body)); !strings.HasPrefix(got, want) || strings.Contains(got, "\x1b") || want == "" && got != "" {
			t.Errorf("said(%s) = %q, want %q", body, got, want)
		}
	}
}

// A skill of 1 MiB, cold and from the cache.
func BenchmarkFetch(b *testing.B) {
	r := &ocitest.Registry{}
	s, host := setup(b, r)
	bigSkill(b, r, "acme/pdf", 1<<20)
	l, err := open(s, mustRef(b, "oci://"+host+"/acme/pdf:1.0.0"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, err := fetch(newSource(b, s.CacheDir, origin.Credential{}), l); err != nil {
			b.Fatal(err)
		}
	}
}

func isDigest(s string) bool {
	_, ok := ref.ParseDigest(s)
	return ok
}
