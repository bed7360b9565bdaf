// Package keylesstest serves an [attesttest.Sigstore] over HTTP on this machine:
// a certificate authority that speaks Fulcio's API v2, an RFC 3161 timestamp
// authority, and transparency logs of Rekor v1 and v2. It also plays the token
// service of a CI job. Its certificates and proofs verify against the root of that
// Sigstore.
//
// Tokens are not signed: whoever can reach the server may be anybody.
package keylesstest

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/digitorus/timestamp"

	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
)

// CISecret is what the token service of the CI job wants to see.
const CISecret = "ci-request-secret"

// A Server is the running services, all below one address.
type Server struct {
	URL      string // of the certificate authority and both logs
	StampURL string // of the timestamp authority
	TokenURL string // of the CI job's token service
	Sigstore *attesttest.Sigstore
	CI       attesttest.Claims // whom the CI job's tokens name
	Before   http.HandlerFunc  // sees every request first; what it answers is the answer
	Lossy    bool              // the log of version 1 enters what is new and then answers with an error

	mu       sync.Mutex
	requests []Request
	entries  map[string]any // of the log of version 1, as its API gives them
}

// A Request is one that the server got.
type Request struct{ Path, Authorization string }

// New starts the services of s; they stop with the test.
func New(t testing.TB, s *attesttest.Sigstore) *Server {
	t.Helper()
	v := &Server{Sigstore: s, entries: map[string]any{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v2/signingCert", v.certify)
	mux.HandleFunc("POST /api/v1/timestamp", v.stamp)
	mux.HandleFunc("POST /api/v1/log/entries", v.logV1)
	mux.HandleFunc("GET /api/v1/log/entries/{id}", v.entryV1)
	mux.HandleFunc("POST /api/v2/log/entries", v.logV2)
	mux.HandleFunc("GET /token", v.token)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		v.requests = append(v.requests, Request{r.URL.Path, r.Header.Get("Authorization")})
		v.mu.Unlock()
		if v.Before != nil {
			seen := &watcher{ResponseWriter: w}
			if v.Before(seen, r); seen.answered {
				return
			}
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	v.URL, v.StampURL, v.TokenURL = server.URL, server.URL+"/api/v1/timestamp", server.URL+"/token?version=2"
	return v
}

// Requests are those that came so far.
func (v *Server) Requests() []Request {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Request(nil), v.requests...)
}

type watcher struct {
	http.ResponseWriter
	answered bool
}

func (w *watcher) WriteHeader(code int) {
	w.answered = true
	w.ResponseWriter.WriteHeader(code)
}

// Token is an identity token that says c.
func Token(c attesttest.Claims) string {
	claims := map[string]any{"iss": c.Issuer, "aud": "sigstore", "sub": c.Identity,
		"repository": c.Repository, "ref": c.Ref, "runner_environment": c.Runner}
	if strings.Contains(c.Identity, "@") && !strings.Contains(c.Identity, "://") {
		claims["sub"], claims["email"], claims["email_verified"] = "1234", c.Identity, true
	}
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err) // strings always encode
	}
	return "e30." + base64.RawURLEncoding.EncodeToString(body) + ".c2ln"
}

func (v *Server) token(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+CISecret || r.URL.Query().Get("audience") == "" {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	answer(w, http.StatusOK, map[string]any{"value": Token(v.CI)})
}

func (v *Server) certify(w http.ResponseWriter, r *http.Request) {
	var claims struct {
		Issuer     string `json:"iss"`
		Subject    string `json:"sub"`
		Email      string `json:"email"`
		Repository string `json:"repository"`
		Ref        string `json:"ref"`
		Runner     string `json:"runner_environment"`
	}
	parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
	if len(parts) != 3 {
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &claims) != nil {
		http.Error(w, "bad token", http.StatusUnauthorized)
		return
	}
	var request struct {
		PublicKeyRequest struct {
			PublicKey         struct{ Algorithm, Content string }
			ProofOfPossession []byte
		}
	}
	if !read(w, r, &request) {
		return
	}
	identity := claims.Subject
	if claims.Email != "" {
		identity = claims.Email
	}
	key, err := attest.ParsePublic([]byte(request.PublicKeyRequest.PublicKey.Content))
	if err != nil || request.PublicKeyRequest.PublicKey.Algorithm != "ECDSA" {
		http.Error(w, "bad key", http.StatusBadRequest)
		return
	}
	block, _ := pem.Decode(key.PEM())
	public, _ := x509.ParsePKIXPublicKey(block.Bytes)
	if sum := sha256.Sum256([]byte(identity)); !ecdsa.VerifyASN1(public.(*ecdsa.PublicKey), sum[:], request.PublicKeyRequest.ProofOfPossession) {
		http.Error(w, "the key does not prove possession", http.StatusBadRequest)
		return
	}
	leaf := v.Sigstore.Certificate(key, attesttest.Claims{
		Issuer: claims.Issuer, Identity: identity, Repository: claims.Repository, Ref: claims.Ref, Runner: claims.Runner,
	}, time.Now().Add(-time.Second), true)
	chain := append([]string{string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}))}, v.Sigstore.Chain()...)
	answer(w, http.StatusOK, map[string]any{"signedCertificateEmbeddedSct": map[string]any{"chain": map[string]any{"certificates": chain}}})
}

func (v *Server) stamp(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || r.Header.Get("Content-Type") != "application/timestamp-query" {
		http.Error(w, "no timestamp query", http.StatusBadRequest)
		return
	}
	query, err := timestamp.ParseRequest(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusCreated)
	w.Write(v.Sigstore.TimestampDigest(query.HashedMessage, time.Now()))
}

func (v *Server) logV2(w http.ResponseWriter, r *http.Request) {
	var request struct {
		HashedRekordRequestV002 struct {
			Digest    []byte
			Signature struct {
				Content  []byte
				Verifier struct {
					KeyDetails      string
					X509Certificate struct{ RawBytes []byte }
				}
			}
		}
	}
	if !read(w, r, &request) {
		return
	}
	in := request.HashedRekordRequestV002
	leaf, err := x509.ParseCertificate(in.Signature.Verifier.X509Certificate.RawBytes)
	if err != nil || in.Signature.Verifier.KeyDetails != "PKIX_ECDSA_P256_SHA_256" ||
		!ecdsa.VerifyASN1(leaf.PublicKey.(*ecdsa.PublicKey), in.Digest, in.Signature.Content) {
		http.Error(w, "the signature does not verify", http.StatusBadRequest)
		return
	}
	answer(w, http.StatusCreated, v.Sigstore.LogV2(in.Digest, in.Signature.Content, leaf.Raw))
}

func (v *Server) logV1(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Kind, APIVersion string
		Spec             struct {
			ProposedContent struct {
				Envelope  string
				Verifiers [][]byte
			}
		}
	}
	if !read(w, r, &request) {
		return
	}
	var envelope struct {
		Payload    []byte
		Signatures []struct{ Sig []byte }
	}
	in := request.Spec.ProposedContent
	if request.Kind != "dsse" || json.Unmarshal([]byte(in.Envelope), &envelope) != nil || len(envelope.Signatures) != 1 || len(in.Verifiers) != 1 {
		http.Error(w, "not a DSSE entry", http.StatusBadRequest)
		return
	}
	block, _ := pem.Decode(in.Verifiers[0])
	if block == nil {
		http.Error(w, "no certificate", http.StatusBadRequest)
		return
	}
	sum := sha256.Sum256([]byte(in.Envelope))
	id := hex.EncodeToString(sum[:])
	w.Header().Set("Location", "/api/v1/log/entries/"+id)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.entries[id] != nil {
		answer(w, http.StatusConflict, map[string]any{"code": http.StatusConflict, "message": "entered before"})
		return
	}
	v.entries[id] = asV1(v.Sigstore.LogV1(envelope.Payload, envelope.Signatures[0].Sig, block.Bytes, time.Now(), true))
	if v.Lossy {
		http.Error(w, "gateway", http.StatusBadGateway)
		return
	}
	w.Header().Set("ETag", id)
	answer(w, http.StatusCreated, map[string]any{id: v.entries[id]})
}

func (v *Server) entryV1(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.entries[id] == nil {
		http.NotFound(w, r)
		return
	}
	answer(w, http.StatusOK, map[string]any{id: v.entries[id]})
}

// asV1 is a log entry in the words of Rekor v1's own API.
func asV1(entry json.RawMessage) any {
	var in struct {
		LogIndex, IntegratedTime string
		LogID                    struct{ KeyID []byte }
		InclusionPromise         struct{ SignedEntryTimestamp []byte }
		InclusionProof           struct {
			LogIndex, TreeSize string
			RootHash           []byte
			Hashes             [][]byte
			Checkpoint         struct{ Envelope string }
		}
		CanonicalizedBody []byte
	}
	if err := json.Unmarshal(entry, &in); err != nil {
		panic(err) // made by this program
	}
	hashes := []string{}
	for _, h := range in.InclusionProof.Hashes {
		hashes = append(hashes, hex.EncodeToString(h))
	}
	return map[string]any{
		"body": in.CanonicalizedBody, "integratedTime": json.Number(in.IntegratedTime), "logID": hex.EncodeToString(in.LogID.KeyID), "logIndex": json.Number(in.LogIndex),
		"verification": map[string]any{
			"signedEntryTimestamp": in.InclusionPromise.SignedEntryTimestamp,
			"inclusionProof": map[string]any{
				"checkpoint": in.InclusionProof.Checkpoint.Envelope, "hashes": hashes, "rootHash": hex.EncodeToString(in.InclusionProof.RootHash),
				"logIndex": json.Number(in.InclusionProof.LogIndex), "treeSize": json.Number(in.InclusionProof.TreeSize),
			},
		},
	}
}

func read(w http.ResponseWriter, r *http.Request, to any) bool {
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(to); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
