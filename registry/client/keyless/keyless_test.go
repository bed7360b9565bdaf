package keyless_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/keyless"
	"github.com/skl-project/skl/registry/client/keyless/keylesstest"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
	"github.com/skl-project/skl/spec/diag"
)

const forge = "https://token.forge.test"

func ci() attesttest.Claims {
	return attesttest.Claims{
		Issuer: forge, Identity: "https://forge.test/acme/skills/.github/workflows/release.yml@refs/tags/v1.4.2",
		Repository: "https://forge.test/acme/skills", Ref: "refs/tags/v1.4.2", Runner: "hosted",
	}
}

func pdf() attest.Subject {
	return attest.Subject{Name: "acme/pdf", Version: "1.4.2", Digest: attesttest.Digest("pdf")}
}

// A round trip over HTTP: what the services hand out verifies offline, with
// everything that the trusted root lists.
func TestSignAndVerify(t *testing.T) {
	for _, test := range []struct {
		name     string
		logs     bool // in the trusted root
		services func(*keylesstest.Server) keyless.Services
		who      attesttest.Claims
	}{
		{"log of version 1", true, func(v *keylesstest.Server) keyless.Services {
			return keyless.Services{Authority: v.URL, Log: v.URL}
		}, ci()},
		{"log of version 1 and a timestamp", true, func(v *keylesstest.Server) keyless.Services {
			return keyless.Services{Authority: v.URL + "/", Log: v.URL + "/", Timestamps: []string{v.StampURL}}
		}, ci()},
		{"log of version 2 and a timestamp", true, func(v *keylesstest.Server) keyless.Services {
			return keyless.Services{Authority: v.URL, Log: v.URL, LogVersion: 2, Timestamps: []string{v.StampURL}}
		}, ci()},
		{"a timestamp alone, nothing public", false, func(v *keylesstest.Server) keyless.Services {
			return keyless.Services{Authority: v.URL, Timestamps: []string{v.StampURL}}
		}, ci()},
		{"a person", true, func(v *keylesstest.Server) keyless.Services {
			return keyless.Services{Authority: v.URL, Log: v.URL}
		}, attesttest.Claims{Issuer: forge, Identity: "kim@acme.test"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := attesttest.New(t)
			server := keylesstest.New(t, s)
			signer := &keyless.Signer{Services: test.services(server)}
			bundle, err := signer.Sign(context.Background(), attesttest.Signature(t, pdf()), keylesstest.Token(test.who))
			if err != nil {
				t.Fatal(err)
			}
			root, err := attest.ParseRoot(s.TrustedRootOf(test.logs, true, true))
			if err != nil {
				t.Fatal(err)
			}
			v, err := attest.NewVerifier(attest.Trust{Identities: []attest.Identity{{Issuer: forge, Identity: test.who.Identity}}, Root: root})
			if err != nil {
				t.Fatal(err)
			}
			got := v.Verify([][]byte{bundle}, pdf())
			if got.State != attest.Verified || got.Signer.Repository != test.who.Repository || got.Signer.Runner != test.who.Runner {
				t.Errorf("%+v", got)
			}
			for _, r := range server.Requests() {
				if secret := r.Authorization != ""; secret != (r.Path == "/api/v2/signingCert") {
					t.Errorf("%s got the authorization %q", r.Path, r.Authorization)
				}
			}
		})
	}
}

func TestAmbient(t *testing.T) {
	server := keylesstest.New(t, attesttest.New(t))
	server.CI = ci()
	env := map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": server.TokenURL, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": keylesstest.CISecret}
	token, err := keyless.Ambient(context.Background(), func(k string) string { return env[k] }, nil, "")
	if err != nil || token != keylesstest.Token(ci()) {
		t.Errorf("token %q, %v", token, err)
	}
	env["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] = "wrong"
	if _, err := keyless.Ambient(context.Background(), func(k string) string { return env[k] }, nil, ""); !errors.Is(err, diag.Code("keyless_service")) {
		t.Errorf("wrong secret: %v", err)
	}
	if _, err := keyless.Ambient(context.Background(), func(string) string { return "" }, nil, ""); diag.ClassOf(err) != diag.NeedsInput {
		t.Errorf("outside of a job: %v", err)
	}
	env["ACTIONS_ID_TOKEN_REQUEST_URL"] = "http://tokens.test/"
	if _, err := keyless.Ambient(context.Background(), func(k string) string { return env[k] }, nil, ""); !errors.Is(err, diag.Code("keyless_insecure")) {
		t.Errorf("plain http: %v", err)
	}
}

func TestServicesThatFail(t *testing.T) {
	token := keylesstest.Token(ci())
	for _, test := range []struct {
		name     string
		before   http.HandlerFunc
		services func(*keylesstest.Server) keyless.Services
		token    string
		code     string
		says     string
	}{
		{name: "says no", code: "keyless_service", says: "403: not you", before: func(w http.ResponseWriter, r *http.Request) { http.Error(w, "not you", http.StatusForbidden) }},
		{name: "always busy", code: "keyless_service", says: "503", before: func(w http.ResponseWriter, r *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }},
		{name: "endless answer", code: "keyless_service", says: "more than 1048576 bytes", before: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.Write(make([]byte, 2<<20))
		}},
		{name: "not JSON", code: "keyless_service", says: "gave no certificate", before: func(w http.ResponseWriter, r *http.Request) { http.Error(w, "<html>", http.StatusOK) }},
		{name: "no certificate", code: "keyless_service", says: "gave no certificate", before: func(w http.ResponseWriter, r *http.Request) { http.Error(w, "{}", http.StatusOK) }},
		{name: "redirect", code: "keyless_service", says: "status 307", before: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}},
		{name: "log without proof", code: "keyless_service", says: "no proof of inclusion", before: func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "log") {
				http.Error(w, "{}", http.StatusCreated)
			}
		}},
		{name: "no token", token: "x", code: "keyless_token", says: "not a JSON web token"},
		{name: "plain http elsewhere", code: "keyless_insecure", services: func(*keylesstest.Server) keyless.Services {
			return keyless.Services{Authority: "http://fulcio.test", Log: "https://rekor.test"}
		}},
		{name: "nothing configured", code: "keyless_config", services: func(*keylesstest.Server) keyless.Services { return keyless.Services{} }},
		{name: "nothing that gives a time", code: "keyless_config", services: func(v *keylesstest.Server) keyless.Services {
			return keyless.Services{Authority: v.URL, Log: v.URL, LogVersion: 2}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := keylesstest.New(t, attesttest.New(t))
			server.Before = test.before
			services := keyless.Services{Authority: server.URL, Log: server.URL}
			if test.services != nil {
				services = test.services(server)
			}
			if test.token == "" {
				test.token = token
			}
			signer := &keyless.Signer{Services: services, Pause: time.Millisecond}
			bundle, err := signer.Sign(context.Background(), attesttest.Signature(t, pdf()), test.token)
			if bundle != nil || !errors.Is(err, diag.Code(test.code)) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %s %q", err, test.code, test.says)
			}
			if err != nil && strings.Contains(err.Error(), test.token) && len(test.token) > 1 {
				t.Errorf("the token is in the message %v", err)
			}
		})
	}
}

func TestBusyServiceIsAskedAgain(t *testing.T) {
	server := keylesstest.New(t, attesttest.New(t))
	var calls atomic.Int32
	server.Before = func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= 2 {
			http.Error(w, "busy", http.StatusTooManyRequests)
		}
	}
	signer := &keyless.Signer{Services: keyless.Services{Authority: server.URL, Log: server.URL}, Pause: time.Millisecond}
	if _, err := signer.Sign(context.Background(), attesttest.Signature(t, pdf()), keylesstest.Token(ci())); err != nil {
		t.Error(err)
	}
}

// A log entry whose answer was lost is found again instead of being an error.
func TestLogEntryOfALostAnswer(t *testing.T) {
	s := attesttest.New(t)
	server := keylesstest.New(t, s)
	server.Lossy = true
	signer := &keyless.Signer{Services: keyless.Services{Authority: server.URL, Log: server.URL}, Pause: time.Millisecond}
	bundle, err := signer.Sign(context.Background(), attesttest.Signature(t, pdf()), keylesstest.Token(ci()))
	if err != nil {
		t.Fatal(err)
	}
	root, err := attest.ParseRoot(s.TrustedRoot())
	if err != nil {
		t.Fatal(err)
	}
	v, err := attest.NewVerifier(attest.Trust{Identities: []attest.Identity{{Issuer: forge, Identity: ci().Identity}}, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Verify([][]byte{bundle}, pdf()); got.State != attest.Verified {
		t.Errorf("%+v", got)
	}
	var paths []string
	for _, r := range server.Requests() {
		paths = append(paths, r.Path)
	}
	if n := len(paths); n != 4 || !strings.HasPrefix(paths[3], "/api/v1/log/entries/") {
		t.Errorf("requests %v, want the certificate, the entry twice, and a look at it", paths)
	}
}

// A certificate for somebody else's key would make a bundle that nobody accepts.
func TestCertificateForAnotherKey(t *testing.T) {
	s := attesttest.New(t)
	server := keylesstest.New(t, s)
	other := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate(attesttest.Key(t, "").Public(), ci(), time.Now(), false)})
	server.Before = func(w http.ResponseWriter, r *http.Request) {
		text, err := json.Marshal(map[string]any{"signedCertificateEmbeddedSct": map[string]any{"chain": map[string]any{"certificates": []string{string(other)}}}})
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusOK)
		w.Write(text)
	}
	signer := &keyless.Signer{Services: keyless.Services{Authority: server.URL, Log: server.URL}}
	_, err := signer.Sign(context.Background(), attesttest.Signature(t, pdf()), keylesstest.Token(ci()))
	if !errors.Is(err, diag.Code("keyless_service")) || !strings.Contains(err.Error(), "another key") {
		t.Error(err)
	}
	if n := len(server.Requests()); n != 1 {
		t.Errorf("%d requests, want that for the certificate only", n)
	}
}

// An address that is refused is found before anybody is asked for anything.
func TestAddressesAreCheckedFirst(t *testing.T) {
	server := keylesstest.New(t, attesttest.New(t))
	for name, services := range map[string]keyless.Services{
		"log":                 {Authority: server.URL, Log: "http://rekor.test"},
		"timestamp authority": {Authority: server.URL, Log: server.URL, Timestamps: []string{server.StampURL, "http://stamp.test/"}},
	} {
		signer := &keyless.Signer{Services: services}
		_, err := signer.Sign(context.Background(), attesttest.Signature(t, pdf()), keylesstest.Token(ci()))
		if !errors.Is(err, diag.Code("keyless_insecure")) || len(server.Requests()) != 0 {
			t.Errorf("%s: %v after %d requests", name, err, len(server.Requests()))
		}
	}
}

// Requests go through the caller's client, all of them, and end with its context.
func TestClientAndContextAreTheCallers(t *testing.T) {
	server := keylesstest.New(t, attesttest.New(t))
	for _, version := range []int{1, 2} {
		var carried atomic.Int32
		before := len(server.Requests())
		client := &http.Client{Transport: counter{&carried}}
		signer := &keyless.Signer{Client: client, Services: keyless.Services{
			Authority: server.URL, Log: server.URL, LogVersion: version, Timestamps: []string{server.StampURL},
		}}
		if _, err := signer.Sign(context.Background(), attesttest.Signature(t, pdf()), keylesstest.Token(ci())); err != nil {
			t.Fatal(err)
		}
		if n := len(server.Requests()) - before; n != 3 || int(carried.Load()) != n {
			t.Errorf("version %d: %d requests, %d through the client", version, n, carried.Load())
		}
	}
	for _, path := range []string{"/api/v2/signingCert", "/api/v1/timestamp", "/api/v1/log/entries", "/api/v2/log/entries"} {
		ctx, cancel := context.WithCancel(context.Background())
		server.Before = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path {
				cancel()
				http.Error(w, "busy", http.StatusServiceUnavailable)
			}
		}
		services := keyless.Services{Authority: server.URL, Log: server.URL, Timestamps: []string{server.StampURL}}
		if strings.HasPrefix(path, "/api/v2/log") {
			services.LogVersion = 2
		}
		_, err := (&keyless.Signer{Services: services, Pause: time.Hour}).Sign(ctx, attesttest.Signature(t, pdf()), keylesstest.Token(ci()))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

type counter struct{ n *atomic.Int32 }

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

func TestParseConfig(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	const text = `{"mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
	  "caUrls": [{"url": "https://new.test", "majorApiVersion": 1, "validFor": {"start": "2026-01-01T00:00:00Z"}},
	             {"url": "https://old.test", "majorApiVersion": 1, "validFor": {"start": "2022-01-01T00:00:00Z"}}],
	  "rekorTlogUrls": [{"url": "https://log3.test", "majorApiVersion": 3, "validFor": {"start": "2026-01-01T00:00:00Z"}},
	             {"url": "https://later.test", "majorApiVersion": 2, "validFor": {"start": "2027-01-01T00:00:00Z"}},
	             {"url": "https://log2.test", "majorApiVersion": 2, "validFor": {"start": "2025-01-01T00:00:00Z"}},
	             {"url": "https://log1.test", "majorApiVersion": 1, "validFor": {"start": "2026-01-01T00:00:00Z"}}],
	  "tsaUrls": [{"url": "https://gone.test/t", "majorApiVersion": 1, "validFor": {"start": "2026-02-01T00:00:00Z", "end": "2026-03-01T00:00:00Z"}},
	             {"url": "https://stamp.test/t", "majorApiVersion": 1, "validFor": {"start": "2026-01-01T00:00:00Z"}}]}`
	got, err := keyless.ParseConfig([]byte(text), now)
	if err != nil || got.Authority != "https://new.test" || got.Log != "https://log2.test" || got.LogVersion != 2 || len(got.Timestamps) != 1 || got.Timestamps[0] != "https://stamp.test/t" {
		t.Errorf("%+v %v", got, err)
	}
	for _, bad := range []string{"", "{}", strings.Replace(text, "signingconfig", "other", 1), `{"mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json"}`} {
		if _, err := keyless.ParseConfig([]byte(bad), now); !errors.Is(err, diag.Code("keyless_config")) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}
