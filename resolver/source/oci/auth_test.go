package oci

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver/source/oci/ocitest"
)

// Every way to log in works, and only with the right secret.
func TestLogin(t *testing.T) {
	for _, tt := range []struct {
		auth ocitest.Auth
		user string // of the registry
		cred origin.Credential
		ok   bool
	}{
		{ocitest.Basic, "u", origin.Credential{User: "u", Secret: "p"}, true},
		{ocitest.Basic, "x-access-token", origin.Credential{Secret: "p"}, true},
		{ocitest.Basic, "u", origin.Credential{User: "u", Secret: "wrong"}, false},
		{ocitest.Basic, "u", origin.Credential{}, false},
		{ocitest.Bearer, "", origin.Credential{Secret: "p"}, true},
		{ocitest.Bearer, "", origin.Credential{Secret: "wrong"}, false},
		{ocitest.Token, "u", origin.Credential{User: "u", Secret: "p"}, true},
		{ocitest.Token, "x-access-token", origin.Credential{Secret: "p"}, true},
		{ocitest.Token, "u", origin.Credential{User: "u", Secret: "wrong"}, false},
		{ocitest.Token, "", origin.Credential{}, false},
	} {
		r := &ocitest.Registry{Auth: tt.auth, User: tt.user, Password: "p"}
		host := ocitest.Start(t, r)
		push(t, r, "acme/pdf", "pdf", "1.0.0")
		s := newSource(t, t.TempDir(), tt.cred)
		l, err := open(s, mustRef(t, "oci://"+host+"/acme/pdf"))
		if err == nil {
			_, err = fetch(s, l)
		}
		if ok := err == nil; ok != tt.ok || !ok && code(err) != "oci_auth" {
			t.Errorf("%s as %v: %v", tt.auth, tt.cred.User, err)
		}
		if err != nil && strings.Contains(err.Error(), "wrong\"") {
			t.Errorf("the error holds the secret: %v", err)
		}
		if tt.ok && tt.auth == ocitest.Token && r.Tokens() != 1 {
			t.Errorf("%d tokens were asked for", r.Tokens())
		}
	}
}

// The token endpoint is asked with the credential of the registry that names it; a realm that
// leads away from https, and a second registry, get nothing.
func TestNoCredentialLeaks(t *testing.T) {
	var mu sync.Mutex
	var leaked []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if a := q.Header.Get("Authorization"); a != "" {
			leaked = append(leaked, a)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="give"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer thief.Close()
	asked := map[string]int{}
	client := func(own string) *origin.Client {
		return &origin.Client{Credential: func(_ context.Context, o string) (origin.Credential, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[o]++
			if o == own {
				return origin.Credential{User: "u", Secret: "p"}, nil
			}
			return origin.Credential{}, nil
		}}
	}

	// The realm redirects elsewhere.
	hop := httptest.NewServer(http.RedirectHandler(thief.URL+"/token", http.StatusTemporaryRedirect))
	defer hop.Close()
	r := &ocitest.Registry{Auth: ocitest.Token, User: "u", Password: "p", Realm: hop.URL}
	host := ocitest.Start(t, r)
	push(t, r, "acme/pdf", "pdf", "1.0.0")
	s := newSource(t, t.TempDir(), origin.Credential{})
	s.Client = client("http://" + host)
	if _, err := open(s, mustRef(t, "oci://"+host+"/acme/pdf")); err == nil {
		t.Error("a token came from nowhere")
	}

	// Blobs are elsewhere, where somebody asks for a login.
	r = &ocitest.Registry{Auth: ocitest.Basic, User: "u", Password: "p", Redirect: thief.URL}
	host = ocitest.Start(t, r)
	push(t, r, "acme/pdf", "pdf", "1.0.0")
	s = newSource(t, t.TempDir(), origin.Credential{})
	s.Client = client("http://" + host)
	if _, err := open(s, mustRef(t, "oci://"+host+"/acme/pdf")); err == nil {
		t.Error("blobs came from nowhere")
	}
	if len(leaked) > 0 {
		t.Errorf("leaked: %q", leaked)
	}
	if asked[thief.URL] > 0 {
		t.Errorf("the credential of %s was looked up", thief.URL)
	}

	// A registry over https names an endpoint over http.
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+thief.URL+`/token",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer secure.Close()
	host = strings.TrimPrefix(secure.URL, "https://")
	s = newSource(t, t.TempDir(), origin.Credential{})
	s.Client = client("https://" + host)
	s.Client.CAs = map[string][]byte{host: certificate(secure)}
	if _, err := open(s, mustRef(t, "oci://"+host+"/acme/pdf")); code(err) != "oci_auth" || len(leaked) > 0 {
		t.Errorf("https to http: %v, leaked %q", err, leaked)
	}
}

func certificate(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}
