package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver/source/oci/ocitest"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/oci"
	"github.com/skl-project/skl/testdata/long"
)

// pdf builds a skill whose only data file has size bytes that do not compress.
func pdf(t testing.TB, version string, size int) *oci.Built {
	t.Helper()
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(size)})
	source.Read(data)
	b, err := oci.Build(oci.Input{Version: version, Files: fstest.MapFS{
		"SKILL.md": {Data: []byte("---\nname: pdf\ndescription: Reads PDF files, version " + version + ".\n---\nRead them.\n")},
		"data.bin": {Data: data},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// referrer is an artifact that refers to subject.
func referrer(t testing.TB, subject v1.Descriptor, text string) Image {
	t.Helper()
	config, layer := []byte("{}"), []byte(text)
	manifest, err := json.Marshal(v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, ArtifactType: oci.SigstoreBundle,
		Config:  v1.Descriptor{MediaType: v1.MediaTypeEmptyJSON, Digest: oci.DigestOf(config), Size: 2},
		Layers:  []v1.Descriptor{{MediaType: oci.SigstoreBundle, Digest: oci.DigestOf(layer), Size: int64(len(layer))}},
		Subject: &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ManifestImage(manifest, config, layer)
}

// tree unpacks what a target has below a reference and returns its tree digest.
func tree(t *testing.T, o *OCI, target Target, reference string) (bundle.Digest, error) {
	t.Helper()
	m, err := o.Resolve(t.Context(), target, reference)
	if err != nil {
		return "", err
	}
	a, err := oci.Read(m.MediaType, m.Data)
	if err != nil {
		return "", err
	}
	g := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := o.Unpack(t.Context(), target, a, g); err != nil {
		return "", err
	}
	sum, err := g.Close()
	return sum.Tree, err
}

// A release pushed to a registry of any kind, with its signatures, can be pulled from it; its tag comes last.
func TestPushAndPull(t *testing.T) {
	for _, tt := range []struct {
		name     string
		registry *ocitest.Registry
	}{
		{"referrers interface", &ocitest.Registry{}},
		{"referrers by tag", &ocitest.Registry{NoReferrers: true}},
		{"basic authentication", &ocitest.Registry{Auth: ocitest.Basic, User: "ann", Password: "s3cret"}},
		{"tokens of an endpoint", &ocitest.Registry{Auth: ocitest.Token, User: "ann", Password: "s3cret"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.registry
			target := Target{ocitest.Start(t, r), "acme/pdf"}
			o := NewOCI(&origin.Client{Credential: credential(r)})
			built := pdf(t, "1.0.0", 1000)
			image := ImageOf(built)
			first, second := referrer(t, built.Root.Descriptor, "one"), referrer(t, built.Root.Descriptor, "two")
			pushed, err := o.Push(t.Context(), target, image, first, second)
			if err != nil || pushed != (Pushed{built.Root.Digest.String(), len(image.Blobs)}) {
				t.Fatalf("Push gives %+v, %v", pushed, err)
			}
			if again, err := o.Push(t.Context(), target, image); err != nil || again.Sent != 0 {
				t.Fatalf("Push of the same gives %+v, %v", again, err)
			}
			if _, err := o.Resolve(t.Context(), target, "1.0.0"); diag.ClassOf(err) != diag.Misuse {
				t.Errorf("before the tag, 1.0.0 gives %v; want that it is not there", err)
			}
			if err := o.Tag(t.Context(), target, image.Root, "1.0.0"); err != nil {
				t.Fatal(err)
			}
			if got, err := tree(t, o, target, "1.0.0"); err != nil || got != built.Summary.Tree {
				t.Errorf("pulled tree %s, %v; want %s", got, err, built.Summary.Tree)
			}
			repo, err := o.repository(target)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			err = repo.Referrers(t.Context(), built.Root.Descriptor, oci.SigstoreBundle, func(list []v1.Descriptor) error {
				for _, d := range list {
					found = append(found, d.Digest.String())
				}
				return nil
			})
			want := []string{first.Root.Digest.String(), second.Root.Digest.String()}
			slices.Sort(found)
			slices.Sort(want)
			if err != nil || !slices.Equal(found, want) {
				t.Errorf("referrers %v, %v; want %v", found, err, want)
			}
			r.Asked("")
			if _, err := o.Push(t.Context(), target, image); err != nil {
				t.Fatal(err)
			}
			if uploads := r.Asked("/uploads/"); len(uploads) > 0 {
				t.Errorf("a second push uploads again: %v", uploads)
			}
		})
	}
}

// An interrupted download of a large layer goes on where it was; the cache makes a second one unnecessary.
func TestLargeLayersResume(t *testing.T) {
	long.Slow(t)
	r := &ocitest.Registry{}
	target := Target{ocitest.Start(t, r), "acme/pdf"}
	built := pdf(t, "1.0.0", 3<<20)
	r.Push(target.Repo, built, "1.0.0")
	var last diag.Event
	o := NewOCI(&origin.Client{})
	o.Cache = filepath.Join(t.TempDir(), "blobs")
	o.Progress = func(e diag.Event) { last = e }
	layer := built.Blobs[0]
	r.Cut(1<<20, 2<<10)
	if got, err := tree(t, o, target, "1.0.0"); err != nil || got != built.Summary.Tree {
		t.Fatalf("tree %s, %v; want %s", got, err, built.Summary.Tree)
	}
	var ranges []string
	for _, q := range r.Asked("/blobs/") {
		ranges = append(ranges, q.Range)
	}
	if len(ranges) != 3 || ranges[0] != "" || ranges[1] == "" || ranges[2] == "" || ranges[1] == ranges[2] {
		t.Errorf("ranges asked for: %q; want everything, then the rest twice", ranges)
	}
	if last.Stage != "fetch" || last.Done != layer.Size || last.Total != layer.Size {
		t.Errorf("last progress %+v", last)
	}
	if _, err := tree(t, o, target, "1.0.0"); err != nil {
		t.Error(err)
	}
	if again := r.Asked("/blobs/"); len(again) > 0 {
		t.Errorf("the cached layer was fetched again: %v", again)
	}
	// A layer damaged on disk is fetched again, and no other file is left behind.
	path := o.cachePath(layer.Digest)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[100] ^= 1
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := tree(t, o, target, "1.0.0"); err != nil || got != built.Summary.Tree {
		t.Errorf("with a damaged cache: %s, %v", got, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left in the cache: %v", left)
	}
}

// A part file of an earlier process is only used if the whole has the right digest.
func TestForeignPartsAreNotUsed(t *testing.T) {
	r := &ocitest.Registry{}
	target := Target{ocitest.Start(t, r), "acme/pdf"}
	built := pdf(t, "1.0.0", 2<<20)
	r.Push(target.Repo, built, "1.0.0")
	o := NewOCI(&origin.Client{})
	o.Cache = t.TempDir()
	part := o.cachePath(built.Blobs[0].Digest) + ".part"
	if err := os.MkdirAll(part, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(part, "blob"), bytes.Repeat([]byte("x"), 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := tree(t, o, target, "1.0.0"); err != nil || got != built.Summary.Tree {
		t.Errorf("tree %s, %v; want %s", got, err, built.Summary.Tree)
	}
}

// A registry cannot hand out other bytes than those of the digest.
func TestPullRefuses(t *testing.T) {
	small, large := pdf(t, "1.0.0", 100), pdf(t, "2.0.0", 2<<20)
	tests := []struct {
		name  string
		built *oci.Built
		spoil func(r *ocitest.Registry, b *oci.Built)
		class diag.Class
		code  string
	}{
		{"another manifest", small, func(r *ocitest.Registry, b *oci.Built) {
			r.Replaced = map[string][]byte{b.Root.Digest.String(): bytes.Replace(b.Root.Data, []byte("1.0.0"), []byte("1.0.1"), 1)}
		}, diag.Refused, oci.CodeDigest},
		{"another small layer", small, replaceLayer, diag.Refused, oci.CodeDigest},
		{"another large layer", large, replaceLayer, diag.Refused, oci.CodeDigest},
		{"a longer small layer", small, func(r *ocitest.Registry, b *oci.Built) {
			r.Replaced = map[string][]byte{b.Blobs[0].Digest.String(): append(slices.Clone(b.Blobs[0].Data), 0)}
		}, diag.Refused, oci.CodeDigest},
		{"a blocked release", small, func(r *ocitest.Registry, b *oci.Built) {
			r.Gone = map[string]string{b.Root.Digest.String(): "malware"}
		}, diag.Refused, "blocked"},
		{"no manifest", small, func(r *ocitest.Registry, b *oci.Built) { *r = ocitest.Registry{} }, diag.Misuse, "not_found"},
		{"a login", small, func(r *ocitest.Registry, b *oci.Built) { r.Auth, r.Password = ocitest.Bearer, "s3cret" }, diag.Failed, "unauthorized"},
		{"a login at an endpoint", small, func(r *ocitest.Registry, b *oci.Built) { r.Auth, r.Password = ocitest.Token, "s3cret" }, diag.Failed, "unauthorized"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &ocitest.Registry{}
			target := Target{ocitest.Start(t, r), "acme/pdf"}
			r.Push(target.Repo, tt.built)
			tt.spoil(r, tt.built)
			o := NewOCI(&origin.Client{})
			o.Cache = t.TempDir()
			_, err := tree(t, o, target, tt.built.Root.Digest.String())
			if diag.ClassOf(err) != tt.class || !errors.Is(err, diag.Code(tt.code)) {
				t.Errorf("got %v (class %d), want %s", err, diag.ClassOf(err), tt.code)
			}
			filepath.WalkDir(o.Cache, func(path string, d os.DirEntry, _ error) error {
				if !d.IsDir() {
					t.Errorf("%s was kept", path)
				}
				return nil
			})
		})
	}
}

func replaceLayer(r *ocitest.Registry, b *oci.Built) {
	other := slices.Clone(b.Blobs[0].Data)
	other[len(other)/2] ^= 1
	r.Replaced = map[string][]byte{b.Blobs[0].Digest.String(): other}
}

// A warning of the registry reaches the caller, as one visible line.
func TestWarningsArePassedOn(t *testing.T) {
	built := pdf(t, "1.0.0", 10)
	r := &ocitest.Registry{Warnings: map[string]string{built.Root.Digest.String(): `299 - "yanked: broken"`}}
	target := Target{ocitest.Start(t, r), "acme/pdf"}
	r.Push(target.Repo, built)
	var got []string
	o := NewOCI(&origin.Client{})
	o.Warn = func(s string) { got = append(got, s) }
	if _, err := o.Manifest(t.Context(), target, built.Root.Digest.String()); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.HasSuffix(got[0], "acme/pdf: yanked: broken") {
		t.Errorf("warnings %q", got)
	}
}

// Processes that want the same layer at the same time do not disturb each other.
func TestConcurrentPullsOfOneLayer(t *testing.T) {
	r := &ocitest.Registry{}
	target := Target{ocitest.Start(t, r), "acme/pdf"}
	built := pdf(t, "1.0.0", 2<<20)
	r.Push(target.Repo, built, "1.0.0")
	dir := t.TempDir()
	errs := make(chan error)
	for range 8 {
		go func() {
			o := NewOCI(&origin.Client{})
			o.Cache = dir
			content, err := o.Blob(t.Context(), target, built.Blobs[0].Descriptor)
			if err == nil {
				var buf bytes.Buffer
				_, err = io.Copy(&buf, io.NewSectionReader(content, 0, content.Size()))
				if err == nil && !bytes.Equal(buf.Bytes(), built.Blobs[0].Data) {
					err = fmt.Errorf("got %d other bytes", buf.Len())
				}
				content.Close()
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := len(r.Asked("/blobs/")); n != 1 {
		t.Errorf("the layer was fetched %d times", n)
	}
}

// Errors of an OCI registry of skills keep their codes.
func TestProblemsOfPushes(t *testing.T) {
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"errors":[{"code":"DENIED","message":"acme/pdf@1.0.0 exists","detail":{"code":"version_exists","hints":["skl publish . acme/pdf@1.0.1"]}}]}`)
	})
	o := NewOCI(&origin.Client{})
	err := o.Tag(t.Context(), Target{c.Host(), "acme/pdf"}, pdf(t, "1.0.0", 1).Root, "1.0.0")
	e, ok := errors.AsType[*diag.Error](err)
	if !ok || e.Class != diag.Refused || e.Code != "version_exists" || len(e.Hints) != 1 || !strings.Contains(e.Message, "acme/pdf@1.0.0 exists") {
		t.Errorf("got %#v", err)
	}
}

func BenchmarkPull(b *testing.B) {
	r := &ocitest.Registry{}
	target := Target{ocitest.Start(b, r), "acme/pdf"}
	built := pdf(b, "1.0.0", 50_000)
	r.Push(target.Repo, built, "1.0.0")
	o := NewOCI(&origin.Client{})
	b.SetBytes(built.Blobs[0].Size)
	start := time.Now()
	n := 0
	for b.Loop() {
		m, err := o.Manifest(b.Context(), target, built.Root.Digest.String())
		if err != nil {
			b.Fatal(err)
		}
		a, err := oci.Read(m.MediaType, m.Data)
		if err != nil {
			b.Fatal(err)
		}
		if err := o.Unpack(b.Context(), target, a, bundle.NewGuard(nil, bundle.InstallLimits)); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)/time.Since(start).Seconds(), "skills/s")
}
