package faulttest

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/testdata/long"
)

// blobFile is where a blob lies below the data of a registry.
func blobFile(data, digest string) string {
	algorithm, digits, _ := strings.Cut(digest, ":")
	return filepath.Join(data, "blobs", "blobs", algorithm, digits[:2], digits)
}

// flip changes one bit of a file, and leaves its length and modification time as they were.
func flip(t *testing.T, path string, offset int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, offset); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b, offset); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// TestRot: a flipped bit is never served, by any path; scrub finds it, and a push of the same
// content heals it.
func TestRot(t *testing.T) {
	metatest.OnlyFiles(t)
	long.Slow(t)
	data := metatest.Dir(t)
	srv, admin := open(t, setup{Data: data})
	publisher, reader := admin.namespace(t, wire.NewNamespace{Name: "acme", Public: true})
	for _, tt := range []struct {
		name, what string
		size       int
	}{
		{"small", "layer", 100},
		{"medium", "layer", 300 << 10},
		{"large", "layer", 2 << 20},
		{"little-zip", "zip", 100},
		{"big-zip", "zip", 2 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRelease(tt.name, "1.0.0", tt.size)
			if a, err := publisher.publish(t.Context(), r, byTag); err != nil || a.status != 201 {
				t.Fatalf("publish: %d %s %v", a.status, a.body, err)
			}
			var v wire.Version
			reader.get(t, r.api(), &v)
			digest := v.Artifact
			paths := []string{r.v2("blobs", digest)}
			if tt.what == "zip" {
				digest = v.Zip
				wellknown := "/acme/.well-known/agent-skills/" + tt.name
				paths = []string{r.api() + "/download", r.api() + "/files/salt.txt", r.api() + "/files/SKILL.md", wellknown + "/1.0.0/" + tt.name + ".zip",
					wellknown + "/1.0.0/SKILL.md", "/acme/.well-known/skills/" + tt.name + "/SKILL.md", "/acme/.well-known/skills/" + tt.name + "/salt.txt"}
			}
			before := map[string][]byte{}
			for _, path := range paths {
				before[path] = reader.must(t, 200, "GET", path, nil).body // and again: it is remembered as verified
				reader.must(t, 200, "GET", path, nil)
			}
			file := blobFile(data, digest)
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, offset := range []int64{0, info.Size() / 2, info.Size() - 1} {
				flip(t, file, offset)
				for _, path := range paths {
					for _, span := range []string{"", "bytes=0-9", "bytes=-5"} {
						a, err := reader.do(t.Context(), "GET", path, nil, "Range", span)
						if err != nil {
							continue // cut off
						}
						switch {
						case a.status == 500 && tt.what == "zip", a.status == 404 && tt.what == "layer" && bytes.Contains(a.body, []byte("is damaged; it is not served")):
						case a.status == 200 && bytes.Equal(a.body, before[path]), a.status == 206 && bytes.Contains(before[path], a.body):
							t.Errorf("bit at %d: GET %s, range %q, is served from a damaged file", offset, path, span)
						default:
							t.Errorf("bit at %d: GET %s, range %q: %d with %d bytes", offset, path, span, a.status, len(a.body))
						}
					}
				}
				report, err := srv.Registry.Scrub(t.Context(), nil)
				if err != nil || len(report.Problems) != 1 || report.Problems[0].Code != "corrupt_blob" || report.Problems[0].What != digest {
					t.Errorf("scrub: %v %+v", err, report.Problems)
				}
				if a, err := publisher.pushBlob(t.Context(), r.repo, digest, content, offset == 0); err != nil || a.status != 201 {
					t.Fatalf("pushed again: %d %s %v", a.status, a.body, err)
				}
				for _, path := range paths {
					if a := reader.must(t, 200, "GET", path, nil); !bytes.Equal(a.body, before[path]) {
						t.Errorf("GET %s is not what it was", path)
					}
				}
				if report, err := srv.Registry.Scrub(t.Context(), nil); err != nil || len(report.Problems) != 0 {
					t.Errorf("scrub of what was healed: %v %+v", err, report.Problems)
				}
			}
		})
	}
	clean(t, srv)
}

// TestCutWhileServing: nobody takes the part of a file that is cut short while it is served for the whole.
func TestCutWhileServing(t *testing.T) {
	metatest.OnlyFiles(t)
	long.Slow(t)
	data := metatest.Dir(t)
	_, admin := open(t, setup{Data: data})
	publisher, reader := admin.namespace(t, wire.NewNamespace{Name: "acme"})
	r := newRelease("large", "1.0.0", 6<<20)
	if a, err := publisher.publish(t.Context(), r, byTag); err != nil || a.status != 201 {
		t.Fatalf("publish: %d %s %v", a.status, a.body, err)
	}
	digest := r.built.Blobs[0].Digest.String()
	req, err := http.NewRequestWithContext(t.Context(), "GET", reader.url+r.v2("blobs", digest), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+reader.token)
	resp, err := reader.http.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	defer resp.Body.Close()
	if err := os.Truncate(blobFile(data, digest), 1<<20); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err == nil && n < resp.ContentLength {
		t.Errorf("%d of %d bytes, and no error", n, resp.ContentLength)
	}
	if a, err := reader.do(t.Context(), "GET", r.v2("blobs", digest), nil); err == nil && a.status != 404 {
		t.Errorf("a file that is cut short: %d", a.status)
	}
}
