// Package identitytest is an issuer of identity tokens (OpenID Connect) for tests: discovery, keys and rotation, over HTTP on loopback.
package identitytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// An Issuer signs with its newest key, and publishes all that it has not retired.
type Issuer struct {
	URL string

	server *httptest.Server
	mu     sync.Mutex // guards what follows
	keys   []key      // the newest last
	named  string     // issuer in the discovery document
	asked  int        // for keys
	serial int
}

type key struct {
	id     string
	signer crypto.Signer
}

// Start starts one with an RSA key. The caller closes it.
func Start() *Issuer {
	i := &Issuer{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		json.NewEncoder(w).Encode(map[string]string{"issuer": i.named, "jwks_uri": i.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.asked++
		keys := []map[string]string{}
		for _, k := range i.keys {
			keys = append(keys, k.jwk())
		}
		json.NewEncoder(w).Encode(map[string]any{"keys": keys})
	})
	i.server = httptest.NewServer(mux)
	i.URL, i.named = i.server.URL, i.server.URL
	i.Rotate("RS256", false)
	return i
}

// Close stops it.
func (i *Issuer) Close() { i.server.Close() }

// Asked is how often somebody asked for its keys.
func (i *Issuer) Asked() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// Name makes its discovery document say that it is another issuer.
func (i *Issuer) Name(url string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.named = url
}

// Rotate makes a new key for RS256 or ES256, and retires those before if it is told to. It returns the id.
func (i *Issuer) Rotate(alg string, retire bool) string {
	var signer crypto.Signer
	var err error
	if alg == "ES256" {
		signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		signer, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		panic(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.serial++; retire {
		i.keys = nil
	}
	k := key{fmt.Sprintf("key-%d", i.serial), signer}
	i.keys = append(i.keys, k)
	return k.id
}

// Claims are those of a job of GitHub for audience, good for five minutes, with changes: a nil value removes the claim.
func (i *Issuer) Claims(audience string, changes map[string]any) map[string]any {
	i.mu.Lock()
	i.serial++
	jti := fmt.Sprintf("token-%d", i.serial)
	i.mu.Unlock()
	now := time.Now().Unix()
	claims := map[string]any{"iss": i.URL, "aud": audience, "iat": now, "nbf": now, "exp": now + 300, "jti": jti, "sub": "repo:acme/skills:ref:refs/tags/v1", "repository": "acme/skills",
		"repository_id": "17", "repository_owner_id": "4", "ref": "refs/tags/v1", "event_name": "push", "head_ref": "", "workflow_ref": "acme/skills/.github/workflows/release.yml@refs/tags/v1"}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

// Token signs the claims with the newest key.
func (i *Issuer) Token(claims map[string]any) string {
	i.mu.Lock()
	k := i.keys[len(i.keys)-1]
	i.mu.Unlock()
	alg := "RS256"
	if _, ok := k.signer.(*ecdsa.PrivateKey); ok {
		alg = "ES256"
	}
	return i.Forge(map[string]any{"alg": alg, "kid": k.id, "typ": "JWT"}, claims)
}

// Forge makes a token with any head. Algorithms with a shared secret take the PEM of the newest public key for one.
func (i *Issuer) Forge(head, claims map[string]any) string {
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	i.mu.Lock()
	k := i.keys[len(i.keys)-1]
	i.mu.Unlock()
	signed := part(head) + "." + part(claims)
	return signed + "." + base64.RawURLEncoding.EncodeToString(k.sign(head["alg"], []byte(signed)))
}

func (k key) sign(alg any, text []byte) []byte {
	sum := sha256.Sum256(text)
	switch alg {
	case "none":
		return nil
	case "HS256":
		der, err := x509.MarshalPKIXPublicKey(k.signer.Public())
		if err != nil {
			panic(err)
		}
		mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		mac.Write(text)
		return mac.Sum(nil)
	}
	if key, ok := k.signer.(*ecdsa.PrivateKey); ok {
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			panic(err)
		}
		out := make([]byte, 64)
		r.FillBytes(out[:32])
		s.FillBytes(out[32:])
		return out
	}
	out, err := k.signer.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		panic(err)
	}
	return out
}

func (k key) jwk() map[string]string {
	b64 := base64.RawURLEncoding.EncodeToString
	switch pub := k.signer.Public().(type) {
	case *rsa.PublicKey:
		return map[string]string{"kty": "RSA", "kid": k.id, "use": "sig", "alg": "RS256", "n": b64(pub.N.Bytes()), "e": b64(big.NewInt(int64(pub.E)).Bytes())}
	case *ecdsa.PublicKey:
		raw, err := pub.Bytes()
		if err != nil {
			panic(err)
		}
		return map[string]string{"kty": "EC", "kid": k.id, "use": "sig", "alg": "ES256", "crv": "P-256", "x": b64(raw[1:33]), "y": b64(raw[33:])}
	}
	panic("no such key")
}
