package ocihttp

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver/source/oci/ocitest"
	"github.com/skl-project/skl/spec/oci"
)

func TestPlain(t *testing.T) {
	c := New(&origin.Client{Insecure: map[string]bool{"dev.example:5000": true}, CAs: map[string][]byte{"localhost:8443": nil, "127.0.0.1:8443": {1}}})
	for host, want := range map[string]string{
		"localhost:5000": "http://localhost:5000", "127.0.0.1": "http://127.0.0.1", "[::1]:5000": "http://[::1]:5000", "dev.example:5000": "http://dev.example:5000",
		"dev.example": "https://dev.example", "127.0.0.1:8443": "https://127.0.0.1:8443", "127.0.0.1.example": "https://127.0.0.1.example", "10.0.0.1:5000": "https://10.0.0.1:5000",
		"docker.io": "https://registry-1.docker.io",
	} {
		if got := c.Base(host); got != want {
			t.Errorf("Base(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestRepositoryRefuses(t *testing.T) {
	for _, at := range [][2]string{{"h/x", "a"}, {"", "a"}, {"h", "A"}, {"h", "../a"}, {"h", ""}, {"u@h", "a"}} {
		if r, err := Repository(&origin.Client{}, at[0], at[1]); err == nil {
			t.Errorf("Repository(%q, %q) = %v", at[0], at[1], r.Reference)
		}
	}
}

// Pushing works through every kind of login, with bodies sent again after the challenge.
func TestPush(t *testing.T) {
	for _, auth := range []ocitest.Auth{ocitest.Open, ocitest.Basic, ocitest.Bearer, ocitest.Token} {
		r := &ocitest.Registry{Auth: auth, User: "x-access-token", Password: "secret"}
		host := ocitest.Start(t, r)
		client := New(&origin.Client{Credential: func(_ context.Context, o string) (origin.Credential, error) {
			if o != "http://"+host {
				t.Errorf("asked for the credential of %s", o)
			}
			return origin.Credential{Secret: "secret"}, nil
		}})
		repo, err := client.Repository(host, "acme/pdf")
		if err != nil {
			t.Fatal(err)
		}
		text := []byte(`{"schemaVersion":2,"config":{}}`)
		blob, manifest := r.Blob("other", "text/plain", []byte("x")), r.Manifest("other", "application/vnd.oci.image.manifest.v1+json", text)
		if err := repo.Push(t.Context(), blob, strings.NewReader("x")); err != nil {
			t.Errorf("%s: blob: %v", auth, err)
		}
		if err := repo.PushReference(t.Context(), manifest, strings.NewReader(string(text)), "1.0.0"); err != nil {
			t.Errorf("%s: manifest: %v", auth, err)
		}
		if got, err := repo.Resolve(t.Context(), "1.0.0"); err != nil || got.Digest != oci.DigestOf(text) {
			t.Errorf("%s: %v, %v", auth, got, err)
		}
	}
}

func TestNamesEndpoint(t *testing.T) {
	for challenge, want := range map[string]bool{"Bearer": false, `Basic realm="x"`: false, `bearer realm="https://h/token"`: true, `Bearer error="x"`: false, "": false} {
		if got := namesEndpoint(http.Header{"Www-Authenticate": {challenge}}); got != want {
			t.Errorf("%q: %v", challenge, got)
		}
	}
}
