package server

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta/postgres/postgrestest"
)

// Large blobs are read from the bucket, by whoever may read them, and by nobody else.
func TestRedirect(t *testing.T) {
	address := s3test.Address(t)
	s := newSite(t, func(c *Config) {
		c.Data, c.DB.URL, c.Blobs = t.TempDir(), postgrestest.URL(t), Blobs{URL: address, Redirect: true}
	})
	noise := make([]byte, 2<<20)
	rand.Read(noise)
	s.namespace("acme", true)
	s.namespace("secret", false)
	large := s.publish(s.admin, "acme/large@1.0.0", "noise.txt", hex.EncodeToString(noise))
	small := s.publish(s.admin, "acme/small@1.0.0", "f", "little")
	hidden := s.publish(s.admin, "secret/large@1.0.0", "noise.txt", "x"+hex.EncodeToString(noise))

	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(method, token, repo, digest string, want int) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, s.url+"/v2/"+repo+"/blobs/"+digest, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want || (resp.Header.Get("Location") != "") != (want == http.StatusTemporaryRedirect) {
			t.Errorf("%s of a blob of %s: %d to %q, want %d", method, repo, resp.StatusCode, resp.Header.Get("Location"), want)
		}
		return resp
	}
	resp := get("GET", s.admin, "acme/large", large.Artifact, http.StatusTemporaryRedirect)
	u, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || u.Query().Get("X-Amz-Expires") != "300" || resp.Header.Get("Cache-Control") != "no-store" || strings.Contains(u.String(), s.admin) {
		t.Errorf("%s, %v, %v", u, resp.Header, err)
	}
	resp, err = http.Get(u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if content, err := io.ReadAll(resp.Body); err != nil || blob.Sum(blob.SHA256, content).String() != large.Artifact {
		t.Errorf("%d bytes of status %d, %v", len(content), resp.StatusCode, err)
	}
	get("GET", "", "acme/large", large.Artifact, http.StatusTemporaryRedirect)
	get("HEAD", s.admin, "acme/large", large.Artifact, http.StatusOK)
	get("GET", s.admin, "acme/small", small.Artifact, http.StatusOK)
	get("GET", s.admin, "acme/small", large.Artifact, http.StatusNotFound)
	get("GET", s.admin, "secret/large", hidden.Artifact, http.StatusTemporaryRedirect)
	get("GET", s.token("acme", "reader"), "secret/large", hidden.Artifact, http.StatusNotFound)
	get("GET", "", "secret/large", hidden.Artifact, http.StatusUnauthorized)
	s.must(http.StatusOK, s.admin, "POST", "/api/v1/skills/acme/large/versions/1.0.0/actions", wire.Action{Action: "block", Reason: "malware"})
	get("GET", s.token("acme", "reader"), "acme/large", large.Artifact, http.StatusGone)
}
