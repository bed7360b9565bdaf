package oci_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/blob/fs"
	"github.com/skl-project/skl/registry/oci/peertest"
)

// rot changes a byte of each stored blob, and returns their digests.
func rot(t *testing.T, dir string) (digests []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*", "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no blobs in %s: %v", dir, err)
	}
	for _, path := range found {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 1
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		digests = append(digests, "sha256:"+filepath.Base(path))
	}
	return digests
}

// Content that a read found damaged is not there any more for who asks by HEAD, mounts it or names it in a manifest; a push of
// crane or oras, which both ask first, heals it.
func TestDamageHeals(t *testing.T) {
	for _, tt := range []struct {
		name string
		pkg  string
		push func(c client, host string)
		pull func(c client, host string)
	}{
		{"crane", peertest.Crane,
			func(c client, host string) { c.image(host + "/lib/hello:1.0") },
			func(c client, host string) {
				c.run("validate", "--insecure", "--remote", host+"/lib/hello:1.0")
			}},
		{"oras", peertest.Oras,
			func(c client, host string) {
				c.run("-type", "application/vnd.example.note", "push", host+"/lib/hello:1.0", c.write("note.txt", "a note"))
			},
			func(c client, host string) {
				c.run("pull", host+"/lib/hello:1.0", filepath.Join(c.home, "pulled"))
				if got, err := os.ReadFile(filepath.Join(c.home, "pulled", "note.txt")); string(got) != "a note" {
					t.Errorf("pulled %q, %v", got, err)
				}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			g, closeStores, err := open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(closeStores)
			if g.Blobs, err = fs.Open(filepath.Join(dir, "content")); err != nil { // what is in a bucket would be read from a cache
				t.Fatal(err)
			}
			g.Open = true
			s, c, stored := &site{t: t, g: g, server: serveAll(t, g)}, newClient(t, tt.pkg), filepath.Join(dir, "content")
			tt.push(c, s.host())
			tt.pull(c, s.host())
			manifest := s.ask("", "GET", "/v2/lib/hello/manifests/1.0", nil)
			for _, digest := range rot(t, stored) {
				path := "/v2/lib/hello/blobs/" + digest
				if a := s.ask("", "GET", path, nil); a.StatusCode != 404 || a.code() != "unknown_blob" || !strings.Contains(string(a.content), "is damaged; it is not served") || !strings.Contains(string(a.content), "heals it") {
					t.Errorf("GET of damaged content: %d %s", a.StatusCode, a.content)
				}
				if a := s.ask("", "HEAD", path, nil); a.StatusCode != 404 {
					t.Errorf("HEAD of damaged content: %d", a.StatusCode)
				}
				if a := s.ask("", "POST", "/v2/lib/other/blobs/uploads/?mount="+digest+"&from=lib/hello", nil); a.StatusCode != 202 {
					t.Errorf("damaged content is mounted: %d", a.StatusCode)
				}
				d, err := blob.ParseDigest(digest)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.g.Blobs.Stat(t.Context(), d); !errors.Is(err, blob.ErrCorrupt) {
					t.Errorf("Stat: %v", err)
				}
			}
			a := s.ask("", "PUT", "/v2/lib/hello/manifests/2.0", bytes.NewReader(manifest.content), "Content-Type", manifest.Header.Get("Content-Type"))
			if a.StatusCode < 400 || a.code() != "blob_missing" {
				t.Errorf("a manifest that names damaged content: %d %s", a.StatusCode, a.content)
			}
			tt.push(c, s.host())
			os.RemoveAll(filepath.Join(c.home, "pulled"))
			tt.pull(c, s.host())
			if report, err := s.g.Scrub(t.Context(), nil); err != nil || len(report.Problems) > 0 {
				t.Errorf("scrub: %v %+v", err, report.Problems)
			}
			if left, _ := os.ReadDir(filepath.Join(stored, "damaged")); len(left) > 0 {
				t.Errorf("%d notes of damage are left", len(left))
			}
		})
	}
}
