package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/registry/auth/identitytest"
)

// startIssuer implements: issuer [CLAIM=VALUE…]. It writes issuer.toml for a registry that trusts it, and starts an issuer of identity tokens and the token service of a CI job, whose tokens have these claims, for
// the audience that the job asks for. It sets ISSUER_URL, REQUEST_URL and REQUEST_TOKEN; a request without that token is refused.
func startIssuer(ts *testscript.TestScript, neg bool, args []string) {
	issuer := identitytest.Start()
	ts.Defer(issuer.Close)
	changes := map[string]any{}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		changes[name] = value
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer job-secret" {
			http.Error(w, "who is asking?", http.StatusUnauthorized)
			return
		}
		json.NewEncoder(w).Encode(map[string]string{"value": issuer.Token(issuer.Claims(r.URL.Query().Get("audience"), changes))})
	}))
	ts.Defer(service.Close)
	setenv(ts, "ISSUER_URL", issuer.URL)
	setenv(ts, "REQUEST_URL", service.URL+"/?api-version=2")
	setenv(ts, "REQUEST_TOKEN", "job-secret")
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), "issuer.toml"), []byte("[publishers]\nissuers = [\""+issuer.URL+"\"]\n"), 0o600))
}

// identity implements: identity. It sets IDENTITY to a token of the job for $REGISTRY_URL.
func identity(ts *testscript.TestScript, neg bool, args []string) {
	req, err := http.NewRequest(http.MethodGet, ts.Getenv("REQUEST_URL")+"&audience="+url.QueryEscape(ts.Getenv("REGISTRY_URL")), nil)
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("REQUEST_TOKEN"))
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	var answer struct{ Value string }
	ts.Check(json.NewDecoder(resp.Body).Decode(&answer))
	setenv(ts, "IDENTITY", answer.Value)
}

// catchRequests implements: catch. It starts a server at $CATCH_URL that says 401 to everything, and writes each request with the values of its headers that may hold
// a credential to $WORK/caught.
func catchRequests(ts *testscript.TestScript, neg bool, args []string) {
	var mu sync.Mutex
	path := filepath.Join(ts.Getenv("WORK"), "caught")
	ts.Check(os.WriteFile(path, nil, 0o600))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<16))
			fmt.Fprintln(f, r.Method, r.URL, r.Header["Authorization"], r.Header["Cookie"], string(body))
			f.Close()
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="caught"`)
		http.Error(w, "who is asking?", http.StatusUnauthorized)
	}))
	ts.Defer(server.Close)
	setenv(ts, "CATCH_URL", server.URL)
}
