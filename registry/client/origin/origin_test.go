package origin

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

// seen is what a test server saw of a request.
type seen struct {
	method, path, auth, cookie, custom, accept, body string
}

// server records requests and answers with handle.
func server(t *testing.T, handle http.HandlerFunc) (url string, log *[]seen) {
	t.Helper()
	log = &[]seen{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*log = append(*log, seen{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Cookie"),
			r.Header.Get("X-Api-Key"), r.Header.Get("Accept"), string(body)})
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, log
}

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }

func to(status int, url string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			ok(w, r)
			return
		}
		w.Header().Set("Location", url)
		w.WriteHeader(status)
	}
}

func get(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer s3cret")
	req.Header.Set("Cookie", "a=s3cret")
	req.Header.Set("X-Api-Key", "s3cret")
	req.Header.Set("Accept", "text/plain")
	return req
}

// All headers follow a redirect within one origin; only harmless ones follow it to another.
func TestRedirectHeaders(t *testing.T) {
	other, otherLog := server(t, ok)
	for _, status := range []int{301, 302, 303, 307, 308} {
		here, hereLog := server(t, to(status, "/end"))
		if _, err := (&Client{}).Do(get(t, here+"/start")); err != nil {
			t.Fatal(err)
		}
		want := seen{"GET", "/end", "Bearer s3cret", "a=s3cret", "s3cret", "text/plain", ""}
		if got := (*hereLog)[1]; got != want {
			t.Errorf("%d on one origin: %+v, want %+v", status, got, want)
		}
		for name, url := range map[string]string{"port": other, "host": strings.Replace(other, "127.0.0.1", "localhost", 1)} {
			*otherLog = nil
			here, _ := server(t, to(status, url+"/end"))
			if _, err := (&Client{}).Do(get(t, here+"/start")); err != nil {
				t.Fatal(err)
			}
			want := seen{"GET", "/end", "", "", "", "text/plain", ""}
			if len(*otherLog) != 1 || (*otherLog)[0] != want {
				t.Errorf("%d to another %s: %+v, want %+v", status, name, *otherLog, want)
			}
		}
	}
}

// A chain that comes back to its first origin does not get the secret back.
func TestRedirectBackKeepsNothing(t *testing.T) {
	var first string
	second, _ := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, first+"/end", http.StatusFound) })
	first, log := server(t, to(302, second+"/x"))
	c := &Client{Credential: func(context.Context, string) (Credential, error) {
		t.Error("a credential was asked for")
		return Credential{}, nil
	}}
	if _, err := c.Do(get(t, first+"/start")); err != nil {
		t.Fatal(err)
	}
	if end := (*log)[1]; end.auth+end.cookie+end.custom != "" {
		t.Errorf("the end of the chain got %+v", end)
	}
}

func TestRedirectMethods(t *testing.T) {
	tests := []struct {
		status     int
		method     string
		cross      bool
		want, body string // of the second request; "" means that it is refused
	}{
		{301, "POST", false, "GET", ""}, {302, "POST", false, "GET", ""}, {303, "POST", false, "GET", ""}, {303, "PUT", false, "GET", ""},
		{307, "POST", false, "POST", "data"}, {308, "PUT", false, "PUT", "data"},
		{302, "POST", true, "GET", ""}, {307, "POST", true, "", ""}, {308, "PUT", true, "", ""},
		{302, "HEAD", true, "HEAD", ""}, {303, "HEAD", false, "HEAD", ""},
	}
	for _, tt := range tests {
		url, log := server(t, ok)
		start := url
		if tt.cross {
			start, _ = server(t, to(tt.status, url+"/end"))
		} else {
			start, log = server(t, to(tt.status, "/end"))
		}
		var body io.Reader
		if tt.method != "HEAD" {
			body = strings.NewReader("data")
		}
		req, _ := http.NewRequest(tt.method, start+"/start", body)
		_, err := (&Client{}).Do(req)
		if tt.want == "" {
			if !errors.Is(err, diag.Code("redirect_refused")) || len(*log) > 0 {
				t.Errorf("%+v: error %v, requests %+v", tt, err, *log)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		if last := (*log)[len(*log)-1]; last.method != tt.want || last.body != tt.body {
			t.Errorf("%+v: second request %+v", tt, last)
		}
	}
}

func TestRedirectRefused(t *testing.T) {
	for name, location := range map[string]string{
		"password": "http://u:p@127.0.0.1/", "another protocol": "file:///etc/passwd", "no host": "http:///x",
		"nonsense": "http://[", "plain http elsewhere": "http://git.example/", "for ever": "/start",
	} {
		url, _ := server(t, to(302, location))
		_, err := (&Client{MaxRedirects: 3}).Do(get(t, url+"/start?token=s3cret"))
		if !errors.Is(err, diag.Code("redirect_refused")) && !errors.Is(err, diag.Code("insecure_http")) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// https is not left for http, also where plain http would be accepted.
func TestRedirectDowngrade(t *testing.T) {
	plain, log := server(t, ok)
	s := httptest.NewTLSServer(to(302, plain+"/end?token=s3cret"))
	defer s.Close()
	c := trusting(s)
	_, err := c.Do(get(t, s.URL+"/start"))
	if !errors.Is(err, diag.Code("redirect_refused")) || strings.Contains(err.Error(), "s3cret") || len(*log) > 0 {
		t.Errorf("error %v, requests %+v", err, *log)
	}
}

// trusting is a client that knows the certificate of s, and no other.
func trusting(s *httptest.Server) *Client {
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &Client{CAs: map[string][]byte{strings.TrimPrefix(s.URL, "https://"): cert}}
}

func TestCertificates(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(ok))
	defer s.Close()
	if resp, err := trusting(s).Do(get(t, s.URL)); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
	_, err := (&Client{}).Do(get(t, s.URL))
	if e, ok := errors.AsType[*diag.Error](err); !ok || e.Code != "network" || e.Retryable {
		t.Errorf("an unknown certificate: %v", err)
	}
	if _, err := (&Client{CAs: map[string][]byte{strings.TrimPrefix(s.URL, "https://"): []byte("x")}}).Do(get(t, s.URL)); err == nil {
		t.Error("a file without certificates is accepted")
	}
}

func TestPlainHTTP(t *testing.T) {
	c := &Client{Insecure: map[string]bool{"git.example": true, "git.example:8080": true}}
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.1.2.3:80": true, "localhost:8080": true, "[::1]:9": true, "[::ffff:127.0.0.1]": true,
		"git.example": true, "git.example:80": true, "GIT.example:8080": true,
		"git.example:81": false, "sub.git.example": false, "10.0.0.1": false, "localhost.example": false, "127.0.0.1.example": false, "169.254.169.254": false,
	} {
		req, err := http.NewRequest("GET", "http://"+host+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = c.allowed(req.URL)
		if (err == nil) != want || err != nil && !errors.Is(err, diag.Code("insecure_http")) {
			t.Errorf("http://%s: %v", host, err)
		}
	}
}

func TestRefusedBeforeAnythingIsSent(t *testing.T) {
	url, log := server(t, ok)
	for code, send := range map[string]func() error{
		"offline": func() error { _, err := (&Client{Offline: true}).Do(get(t, url)); return err },
		"invalid_url": func() error {
			_, err := (&Client{}).Do(get(t, strings.Replace(url, "//", "//u:s3cret@", 1)))
			return err
		},
		"insecure_http": func() error {
			_, err := (&Client{}).Do(get(t, "http://git.example/x?token=s3cret"))
			return err
		},
	} {
		if err := send(); !errors.Is(err, diag.Code(code)) || diag.ClassOf(err) != diag.Failed || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", code, err)
		}
	}
	if len(*log) > 0 {
		t.Errorf("requests were sent: %+v", *log)
	}
}

// guarded answers 401 unless it is shown want.
func guarded(challenge, want string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != want {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		ok(w, r)
	}
}

func TestCredentialAfter401(t *testing.T) {
	tests := []struct {
		name, challenge string
		cred            Credential
		header          string
	}{
		{"token", "Bearer realm=x", Credential{Secret: "t0k"}, "Bearer t0k"},
		{"token without a challenge", "", Credential{Secret: "t0k"}, "Bearer t0k"},
		{"token where a password is wanted", "Basic realm=x", Credential{Secret: "t0k"}, "Basic eC1hY2Nlc3MtdG9rZW46dDBr"},
		{"user and password", "Bearer realm=x", Credential{User: "u", Secret: "p"}, "Basic dTpw"},
	}
	for _, tt := range tests {
		url, log := server(t, guarded(tt.challenge, tt.header))
		asked := 0
		c := &Client{Credential: func(_ context.Context, origin string) (Credential, error) {
			if asked++; origin != url {
				t.Errorf("%s: asked for %s, want %s", tt.name, origin, url)
			}
			return tt.cred, nil
		}}
		for range 2 {
			req, _ := http.NewRequestWithContext(t.Context(), "POST", url+"/x", strings.NewReader("data"))
			resp, err := c.Do(req)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%s: %v, %v", tt.name, resp, err)
			}
			resp.Body.Close()
		}
		// 401, again with the credential, then at once with what was accepted.
		if asked != 1 || len(*log) != 3 || (*log)[0].auth != "" || (*log)[1].body != "data" || (*log)[2].auth != tt.header {
			t.Errorf("%s: asked %d times, requests %+v", tt.name, asked, *log)
		}
	}
}

func TestCredentialNotAccepted(t *testing.T) {
	url, log := server(t, guarded("", "never"))
	tests := map[string]struct {
		c        *Client
		body     io.Reader
		requests int
	}{
		"wrong":                {&Client{Credential: give(Credential{Secret: "x"})}, nil, 2},
		"none":                 {&Client{Credential: give(Credential{})}, nil, 1},
		"nobody to ask":        {&Client{}, nil, 1},
		"body that is used up": {&Client{Credential: give(Credential{Secret: "x"})}, io.MultiReader(strings.NewReader("data")), 1},
	}
	for name, tt := range tests {
		*log = nil
		req, _ := http.NewRequestWithContext(t.Context(), "POST", url, tt.body)
		resp, err := tt.c.Do(req)
		if err != nil || resp.StatusCode != 401 || len(*log) != tt.requests {
			t.Errorf("%s: %v, %v, requests %+v", name, resp, err, *log)
		}
	}
	boom := errors.New("boom")
	c := &Client{Credential: func(context.Context, string) (Credential, error) { return Credential{}, boom }}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if resp, err := c.Do(req); resp != nil || !errors.Is(err, boom) {
		t.Errorf("a failing lookup: %v, %v", resp, err)
	}
}

func give(c Credential) func(context.Context, string) (Credential, error) {
	return func(context.Context, string) (Credential, error) { return c, nil }
}

// Another origin's 401 gets nothing, even from somebody who would have it.
func TestNoCredentialAfterRedirect(t *testing.T) {
	other, log := server(t, guarded("Basic realm=x", "never"))
	here, _ := server(t, to(302, other+"/x"))
	c := &Client{Credential: give(Credential{Secret: "s3cret"})}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", here+"/start", nil)
	resp, err := c.Do(req)
	if err != nil || resp.StatusCode != 401 || len(*log) != 1 || (*log)[0].auth != "" {
		t.Errorf("%v, %v, requests %+v", resp, err, *log)
	}
}

func TestNetworkErrorsHideSecrets(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(ok))
	url := s.URL
	s.Close()
	_, err := (&Client{}).Do(get(t, url+"/x?token=s3cret"))
	e, found := errors.AsType[*diag.Error](err)
	if !found || e.Code != "network" || !e.Retryable || strings.Contains(fmt.Sprintf("%v %+v", err, err), "s3cret") {
		t.Errorf("%+v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Client{}).Do(get(t, url).WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request: %v", err)
	}
	if c := (Credential{User: "u", Secret: "s3cret"}); strings.Contains(fmt.Sprintf("%v %+v %#v", c, c, c), "s3cret") {
		t.Error("a credential prints its secret")
	}
}

func TestHTTPClientKeepsTheRules(t *testing.T) {
	other, log := server(t, ok)
	here, _ := server(t, to(302, other+"/end"))
	resp, err := (&Client{UserAgent: "skl/1"}).HTTP().Do(get(t, here+"/start"))
	if err != nil || resp.StatusCode != 200 || (*log)[0].auth != "" {
		t.Errorf("%v, %v, requests %+v", resp, err, *log)
	}
	if _, err := (&Client{}).HTTP().Get("http://git.example/"); !errors.Is(err, diag.Code("insecure_http")) {
		t.Errorf("plain http: %v", err)
	}
}

func TestProxy(t *testing.T) {
	url, log := server(t, ok)
	env := map[string]string{"http_proxy": url, "NO_PROXY": "direct.example"}
	c := &Client{Insecure: map[string]bool{"git.example": true}, Getenv: func(k string) string { return env[k] }}
	resp, err := c.Do(get(t, "http://git.example/x"))
	if err != nil || len(*log) != 1 {
		t.Fatalf("%v, requests %+v", err, *log)
	}
	resp.Body.Close()
	proxy := c.proxy()
	if u, err := proxy(get(t, "http://direct.example/")); u != nil || err != nil {
		t.Errorf("NO_PROXY is not honoured: %v, %v", u, err)
	}
}

func TestReadAll(t *testing.T) {
	for _, tt := range []struct {
		body  string
		known bool
		ok    bool
	}{{"12345", true, true}, {"123456", true, false}, {"12345", false, true}, {"123456", false, false}} {
		resp := &http.Response{Body: io.NopCloser(strings.NewReader(tt.body)), ContentLength: -1}
		if tt.known {
			resp.ContentLength = int64(len(tt.body))
		}
		got, err := ReadAll(resp, 5)
		if tt.ok && (err != nil || string(got) != tt.body) || !tt.ok && (got != nil || !errors.Is(err, diag.Code("too_large"))) {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}

func ExampleClient_Do() {
	c := &Client{Offline: true}
	req, _ := http.NewRequest("GET", "https://git.example/acme/pdf.git/info/refs?service=git-upload-pack", nil)
	_, err := c.Do(req)
	fmt.Println(err)
	// Output: GET https://git.example/acme/pdf.git/info/refs: not asked, because skl is offline
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "localhost:80": true, "127.0.0.1": true, "127.9.9.9:8080": true,
		"::1": true, "[::1]": true, "[::1]:443": true, "::ffff:127.0.0.1": true,
		"": false, ":80": false, "localhost.": false, "a.localhost": false, "localhost.example": false, "127.0.0.1.example": false,
		"127.1": false, "0x7f000001": false, "2130706433": false, "0.0.0.0": false, "[::]:80": false, "10.0.0.1": false, "::2": false,
	} {
		if got := Loopback(host); got != want {
			t.Errorf("Loopback(%q) = %v", host, got)
		}
	}
}
