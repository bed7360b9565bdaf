package oci_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
	format "github.com/skl-project/skl/spec/oci"
)

// build makes a release of a skill as skl publishes it.
func build(t *testing.T, name, version, text string) *format.Built {
	t.Helper()
	b, err := format.Build(format.Input{Version: version, Files: fstest.MapFS{
		"SKILL.md": {Data: []byte("---\nname: " + name + "\ndescription: Shows how releases look to clients of the protocol.\n---\n\n" + text + "\n"), Mode: 0o644},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// release pushes b, with plain requests, under a tag or by digest.
func (s *site) release(token, repo, reference string, b *format.Built) answer {
	s.t.Helper()
	for _, part := range b.Blobs {
		s.push(token, repo, part.Data)
	}
	return s.ask(token, "PUT", "/v2/"+repo+"/manifests/"+reference, bytes.NewReader(b.Root.Data), "Content-Type", b.Root.MediaType)
}

// TestRelease follows a release that is pushed by plain OCI through its states.
func TestRelease(t *testing.T) {
	s := newSite(t)
	writer, reader, maintainer := s.tokens["strict publisher"], s.tokens["strict reader"], s.tokens["strict admin"]
	b := build(t, "pdf", "1.0.0", "First.")
	digest, layer := b.Root.Digest.String(), b.Blobs[0].Digest.String()
	at := "/v2/strict/pdf/manifests/"

	// A draft is there for publishers alone, and so are its blobs.
	s.want(201, s.release(writer, "strict/pdf", digest, b))
	s.want(200, s.ask(writer, "GET", at+digest, nil))
	for _, path := range []string{at + digest, "/v2/strict/pdf/blobs/" + layer, "/v2/strict/pdf/tags/list"} {
		s.want(404, s.ask(reader, "GET", path, nil))
	}

	// A tag that is a version publishes it.
	s.want(201, s.release(writer, "strict/pdf", "1.0.0", b))
	for _, reference := range []string{"1.0.0", digest} {
		a := s.want(200, s.ask(reader, "GET", at+reference, nil))
		if !bytes.Equal(a.content, b.Root.Data) || a.Header.Get("Warning") != "" {
			t.Errorf("%s: %v", reference, a.Header)
		}
	}
	s.want(200, s.ask(reader, "GET", "/v2/strict/pdf/blobs/"+layer, nil))
	s.want(201, s.release(writer, "strict/pdf", "1.0.0", b)) // the same again
	other := build(t, "pdf", "1.0.0", "Second.")
	if a := s.want(403, s.release(writer, "strict/pdf", "1.0.0", other)); a.code() != "version_exists" || !strings.Contains(string(a.content), `"code":"DENIED"`) {
		t.Errorf("another manifest under a version: %s", a.content)
	}
	for path, code := range map[string]string{at + "1.0.0": "denied", at + digest: "denied", "/v2/strict/pdf/blobs/" + layer: "denied"} {
		if a := s.want(403, s.ask(maintainer, "DELETE", path, nil)); a.code() != code {
			t.Errorf("delete %s: code %s", path, a.code())
		}
	}
	if a := s.want(400, s.release(writer, "strict/pdf", "latest", other)); a.code() != "invalid_version" {
		t.Errorf("a tag that is no version: %s", a.content)
	}
	note := artifactManifest(s.push(writer, "strict/pdf", []byte("{}")), s.push(writer, "strict/pdf", []byte("x")), 1, "")
	if a := s.ask(writer, "PUT", at+"2.0.0", bytes.NewReader(note), "Content-Type", manifestType); a.StatusCode != 400 {
		t.Errorf("what is no skill: %s %s", a.Status, a.content)
	}

	// An attachment is acknowledged and found.
	attached := artifactManifest(s.push(writer, "strict/pdf", []byte("{}")), s.push(writer, "strict/pdf", []byte("x")), 1, digest)
	a := s.want(201, s.ask(writer, "PUT", at+format.DigestOf(attached).String(), bytes.NewReader(attached), "Content-Type", manifestType))
	if a.Header.Get("OCI-Subject") != digest {
		t.Errorf("subject %q", a.Header.Get("OCI-Subject"))
	}
	if a := s.want(200, s.ask(reader, "GET", "/v2/strict/pdf/referrers/"+digest, nil)); !strings.Contains(string(a.content), format.DigestOf(attached).String()) {
		t.Errorf("referrers %s", a.content)
	}

	// A yanked release is served with a warning, a blocked one is gone.
	act := func(action registry.Action, reason string) {
		t.Helper()
		if _, err := s.g.Act(t.Context(), admin, "strict", "pdf", "1.0.0", action, reason); err != nil {
			t.Fatal(err)
		}
	}
	act(registry.Yank, "use \"2.0\"")
	if got := s.want(200, s.ask(reader, "GET", at+"1.0.0", nil)).Header.Get("Warning"); got != `299 - "yanked: use \"2.0\""` {
		t.Errorf("warning %q", got)
	}
	if a := s.ask(reader, "GET", "/v2/strict/pdf/tags/list", nil); strings.Contains(string(a.content), "1.0.0") {
		t.Errorf("a yanked release is listed: %s", a.content)
	}
	act(registry.Block, "malware")
	for _, path := range []string{at + "1.0.0", at + digest} {
		if a := s.want(410, s.ask(reader, "GET", path, nil)); a.code() != "blocked" || !strings.Contains(string(a.content), "malware") {
			t.Errorf("%s: %s", path, a.content)
		}
	}
	s.want(410, s.ask(reader, "GET", "/v2/strict/pdf/blobs/"+layer, nil))
}

// TestOnePushWins lets many publish the same version at once.
func TestOnePushWins(t *testing.T) {
	s := newSite(t)
	const many = 20
	builds := make([]*format.Built, many)
	for i := range builds {
		builds[i] = build(t, "pdf", "1.0.0", strings.Repeat("x", i+1))
		for _, part := range builds[i].Blobs {
			s.push(s.tokens["strict publisher"], "strict/pdf", part.Data)
		}
	}
	status := make([]int, many)
	var group sync.WaitGroup
	for i, b := range builds {
		group.Go(func() {
			a := s.ask(s.tokens["strict publisher"], "PUT", "/v2/strict/pdf/manifests/1.0.0", bytes.NewReader(b.Root.Data), "Content-Type", b.Root.MediaType)
			status[i] = a.StatusCode
		})
	}
	group.Wait()
	created, refused := 0, 0
	for _, code := range status {
		switch code {
		case 201:
			created++
		case 403:
			refused++
		}
	}
	if created != 1 || refused != many-1 {
		t.Errorf("%d created, %d refused of %d: %v", created, refused, many, status)
	}
}

// TestAbandoned starts sessions, leaves them, and finds nothing of them a day later.
func TestAbandoned(t *testing.T) {
	s := openSite(t)
	for range 20 {
		s.upload("", "a/b") // costs nothing
		s.want(202, s.ask("", "PATCH", s.upload("", "a/b"), bytes.NewReader(random(10_000))))
	}
	staged := func() (n int) {
		for _, err := range s.g.Blobs.Uploads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if got := staged(); got != 20 {
		t.Errorf("%d staged, want those that have content", got)
	}
	s.g.Now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	if _, err := s.g.GC(t.Context(), registry.GCOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := staged(); got != 0 {
		t.Errorf("%d staged after a day", got)
	}
	err := s.g.Meta.Update(t.Context(), func(tx *meta.Tx) error {
		left, err := tx.DropStaleUploads(t.Context(), time.Now().Add(48*time.Hour), 100)
		if left > 0 {
			t.Errorf("%d sessions are remembered after a day", left)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
