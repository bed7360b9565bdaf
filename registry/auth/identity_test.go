package auth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/auth/identitytest"
	"github.com/skl-project/skl/spec/diag"
)

// fetch reads a document over HTTP.
func fetch(ctx context.Context, _, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// FuzzIdentity holds that nothing but what the issuer signed is believed: whatever token is made of a good one, it is refused, or is the good one.
func FuzzIdentity(f *testing.F) {
	issuer := identitytest.Start()
	f.Cleanup(issuer.Close)
	good := issuer.Token(issuer.Claims("https://skills.example", nil))
	f.Add(good)
	f.Add(good + ".")
	f.Add("e30.e30.e30")
	f.Add(issuer.Forge(map[string]any{"alg": "none"}, issuer.Claims("https://skills.example", nil)))
	f.Add(issuer.Forge(map[string]any{"alg": "HS256", "kid": "key-1"}, issuer.Claims("https://skills.example", nil)))
	f.Add(strings.Replace(good, ".", ".ey", 1))
	i := &Issuers{Trusted: []string{issuer.URL}, Fetch: fetch}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseIdentity(text)
		if err != nil {
			if !errors.Is(err, diag.Code(CodeIdentity)) {
				t.Fatalf("%v", err)
			}
			return
		}
		claims, _, err := i.Verify(t.Context(), token, "https://skills.example")
		if err == nil && (text != good || claims["repository"] != "acme/skills") {
			t.Errorf("%q is believed", text)
		}
	})
}

// FuzzKeys holds that a key set is read or refused, and that no key for other purposes, nor a weak one, is taken.
func FuzzKeys(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"},{"kty":"EC","kid":"b","crv":"P-256","x":"AA","y":"AA"},{"kty":"oct","kid":"c","k":"AA"}]}`))
	f.Add([]byte(`{"keys":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parseKeys(text)
		for id, k := range keys {
			if err != nil || k.alg != "RS256" && k.alg != "ES256" {
				t.Errorf("key %q: %q, %v", id, k.alg, err)
			}
		}
	})
}

// Keys that are weak, for encryption, for another algorithm, or of a shared secret are none.
func TestKeysThatAreNone(t *testing.T) {
	n := strings.Repeat("_", 340) // 2040 bits
	for _, key := range []string{
		`{"kty":"RSA","kid":"x","n":"` + n + `","e":"AQAB"}`,
		`{"kty":"RSA","kid":"x","n":"` + n + n + `","e":"AQ"}`,
		`{"kty":"RSA","kid":"x","n":"` + n + n + `","e":"AQAB","use":"enc"}`,
		`{"kty":"RSA","kid":"x","n":"` + n + n + `","e":"AQAB","alg":"PS256"}`,
		`{"kty":"EC","kid":"x","crv":"P-256","x":"` + strings.Repeat("_", 42) + `8","y":"` + strings.Repeat("_", 42) + `8"}`,
		`{"kty":"EC","kid":"x","crv":"P-384","x":"AA","y":"AA"}`,
		`{"kty":"oct","kid":"x","k":"` + n + `"}`,
	} {
		if keys, err := parseKeys([]byte(`{"keys":[` + key + `]}`)); err != nil || len(keys) != 0 {
			t.Errorf("%s: %v %v", key, keys, err)
		}
	}
	one := `{"kty":"RSA","kid":"x","n":"` + n + n + `","e":"AQAB"}`
	if keys, err := parseKeys([]byte(`{"keys":[` + one + `]}`)); err != nil || len(keys) != 1 {
		t.Errorf("%v %v", keys, err)
	}
	if _, err := parseKeys([]byte(`{"keys":[` + one + `,` + one + `]}`)); err == nil {
		t.Error("two keys of one id are taken")
	}
}

// The keys of one issuer are asked for by one request, however many wait for them.
func TestKeysAreAskedForOnce(t *testing.T) {
	issuer := identitytest.Start()
	defer issuer.Close()
	i := &Issuers{Trusted: []string{issuer.URL}, Fetch: fetch}
	done := make(chan error)
	for range 8 {
		go func() {
			token, err := ParseIdentity(issuer.Token(issuer.Claims("x", nil)))
			if err == nil {
				_, _, err = i.Verify(context.Background(), token, "x")
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := issuer.Asked(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
