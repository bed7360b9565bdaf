package auth_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/spec/diag"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// tokens is a registry's table of tokens.
type tokens struct {
	byID map[string]auth.Stored
	down error
}

func (s *tokens) lookup(_ context.Context, id string) (auth.Stored, error) {
	if s.down != nil {
		return auth.Stored{}, s.down
	}
	t, ok := s.byID[id]
	if !ok {
		return auth.Stored{}, fmt.Errorf("token %s: %w", id, auth.ErrUnknown)
	}
	return t, nil
}

// add makes a token of alice and returns its text.
func (s *tokens) add(change func(*auth.Stored)) string {
	text, id, hash := auth.NewToken()
	t := auth.Stored{ID: id, Hash: hash, Account: "alice", Grants: []auth.Grant{{Namespace: "acme", Role: auth.Publisher}}}
	if change != nil {
		change(&t)
	}
	s.byID[id] = t
	return text
}

func setup() (*tokens, *auth.Authenticator) {
	s := &tokens{byID: map[string]auth.Stored{}}
	return s, &auth.Authenticator{Lookup: s.lookup, Bearers: auth.NewBearerKey(), Now: func() time.Time { return noon }}
}

func request(header string) *http.Request {
	r := httptest.NewRequest("GET", "/v2/", nil)
	r.RemoteAddr = "192.0.2.1:4711"
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	return r
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestAuthenticate(t *testing.T) {
	s, a := setup()
	text := s.add(nil)
	soon := s.add(func(t *auth.Stored) { t.Expires = noon.Add(time.Second) })
	for _, header := range []string{basic("alice", text), basic("", text), basic("whoever:", text)[:0] + basic("x", text), "Bearer " + text, "bearer  " + text, "BASIC" + basic("u", text)[5:], "Bearer " + soon} {
		id, err := a.Authenticate(request(header))
		if err != nil || id.Account != "alice" || id.Anonymous || !id.May(auth.Publish, "acme") || id.May(auth.Publish, "other") || id.Scopes != nil {
			t.Errorf("%.20q: %+v, %v", header, id, err)
		}
	}
	if id, err := a.Authenticate(request("")); err != nil || !id.Anonymous || id.Open {
		t.Errorf("no credentials: %+v, %v", id, err)
	}
	a.Open = true
	if id, err := a.Authenticate(request("")); err != nil || !id.Open || !id.May(auth.Push, "acme") {
		t.Errorf("no credentials, open: %+v, %v", id, err)
	}

	unknown, _, _ := auth.NewToken()
	collides := s.add(func(t *auth.Stored) { t.Hash[31] ^= 1 }) // the row of another token with the same id
	empty := s.add(func(t *auth.Stored) { t.Hash = auth.Hash{} })
	wrong := map[string]string{
		"unknown token":           "Bearer " + unknown,
		"another hash":            "Bearer " + collides,
		"no hash":                 "Bearer " + empty,
		"unknown, basic":          basic("alice", unknown),
		"password":                basic("alice", "hunter2"),
		"empty password":          basic("alice", ""),
		"token as user":           basic(text, ""),
		"no colon":                "Basic " + base64.StdEncoding.EncodeToString([]byte(text)),
		"no base64":               "Basic %%%",
		"no scheme":               text,
		"another scheme":          "Negotiate " + text,
		"empty":                   "Bearer ",
		"scheme only":             "Basic",
		"forged bearer":           "Bearer sklb_e30.AAAA",
		"huge":                    "Bearer " + strings.Repeat("x", 1<<16),
		"revoked":                 "Bearer " + s.add(func(t *auth.Stored) { t.Revoked = true }),
		"expired":                 "Bearer " + s.add(func(t *auth.Stored) { t.Expires = noon }),
		"expired long ago, basic": basic("u", s.add(func(t *auth.Stored) { t.Expires = noon.Add(-time.Hour) })),
	}
	for name, header := range wrong {
		id, err := a.Authenticate(request(header))
		if !errors.Is(err, diag.Code("unauthorized")) || id.Anonymous || id.Open || id.Account != "" {
			t.Errorf("%s: %+v, %v", name, id, err)
		}
		var e *diag.Error
		if errors.As(err, &e) && (strings.Contains(fmt.Sprint(e, e.Hints), text) || strings.Contains(fmt.Sprint(e, e.Hints), unknown)) {
			t.Errorf("%s: the error shows a token: %v", name, e)
		}
	}
	// The error does not help a guesser: its text is the same for every wrong token.
	_, one := a.Authenticate(request(wrong["unknown token"]))
	_, two := a.Authenticate(request(wrong["another hash"]))
	_, three := a.Authenticate(request(wrong["forged bearer"]))
	if one.Error() != two.Error() || one.Error() != three.Error() {
		t.Errorf("different answers: %v; %v; %v", one, two, three)
	}
	// The owner of a token learns why it no longer works.
	if _, err := a.Authenticate(request(wrong["revoked"])); !strings.Contains(err.Error(), "revoked") {
		t.Errorf("revoked: %v", err)
	}
	two2 := request("Bearer " + text)
	two2.Header.Add("Authorization", "Bearer "+text)
	if _, err := a.Authenticate(two2); !errors.Is(err, diag.Code("unauthorized")) {
		t.Errorf("two headers: %v", err)
	}
	s.down = errors.New("database is locked")
	if _, err := a.Authenticate(request("Bearer " + text)); !errors.Is(err, s.down) || errors.Is(err, diag.Code("unauthorized")) {
		t.Errorf("no database: %v", err)
	}
}

// docker's way: a challenge, a bearer for the repository, and requests with it.
func TestTokenEndpoint(t *testing.T) {
	s, a := setup()
	a.Now = nil
	text := s.add(nil)
	server := httptest.NewServer(http.HandlerFunc(a.ServeToken))
	defer server.Close()

	get := func(query, header string) (int, string, http.Header) {
		r, _ := http.NewRequest("GET", server.URL+auth.TokenPath+query, nil)
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		return send(t, r)
	}
	post := func(form url.Values) (int, string, http.Header) {
		r, _ := http.NewRequest("POST", server.URL+auth.TokenPath, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return send(t, r)
	}
	const scope = "repository:acme/pdf:pull,push"
	status, bearer, head := get("?service=x&scope="+url.QueryEscape(scope)+"&scope=repository:acme/ocr:pull", basic("alice", text))
	if status != 200 || !strings.HasPrefix(bearer, "sklb_") || head.Get("Cache-Control") != "no-store" {
		t.Fatalf("GET: %d, %q", status, bearer)
	}
	id, err := a.Authenticate(request("Bearer " + bearer))
	if err != nil || id.Account != "alice" || !id.May(auth.Push, "acme/pdf") || id.May(auth.Yank, "acme/pdf") ||
		id.May(auth.Push, "acme/ocr") || !id.May(auth.Read, "acme/ocr") || id.May(auth.Read, "acme/other") || id.May(auth.Read, "acme") || len(id.Scopes) != 2 {
		t.Errorf("with the bearer: %+v, %v", id, err)
	}
	for _, form := range []url.Values{
		{"grant_type": {"password"}, "username": {"alice"}, "password": {text}, "scope": {scope}},
		{"grant_type": {"refresh_token"}, "refresh_token": {text}, "scope": {scope}},
	} {
		if status, bearer, _ := post(form); status != 200 {
			t.Errorf("POST: %d", status)
		} else if id, err := a.Authenticate(request("Bearer " + bearer)); err != nil || !id.May(auth.Push, "acme/pdf") {
			t.Errorf("POST: %+v, %v", id, err)
		}
	}
	if status, bearer, _ := get("?scope=repository:acme/pdf:pull", ""); status != 200 {
		t.Errorf("nobody: %d", status)
	} else if id, err := a.Authenticate(request("Bearer " + bearer)); err != nil || !id.Anonymous || !id.Sees("acme", true) || id.Sees("acme", false) {
		t.Errorf("nobody's bearer: %+v, %v", id, err)
	}
	if status, _, head := get("", basic("alice", "wrong")); status != 401 || head.Get("WWW-Authenticate") == "" {
		t.Errorf("wrong password: %d", status)
	}
	if status, _, _ := post(url.Values{"grant_type": {"password"}, "password": {"wrong"}}); status != 401 {
		t.Errorf("wrong password in a form: %d", status)
	}
	// A bearer buys nothing, however it is shown; nor does a token that is shown as one.
	for _, header := range []string{"Bearer " + bearer, "bearer " + bearer, basic("alice", bearer), "Bearer " + text} {
		if status, got, _ := get("?scope=repository:acme/other:*", header); status != 401 || got != "" {
			t.Errorf("%.12s…: %d", header, status)
		}
	}
	for _, form := range []url.Values{{"grant_type": {"password"}, "password": {bearer}}, {"grant_type": {"refresh_token"}, "refresh_token": {bearer}}} {
		if status, got, _ := post(form); status != 401 || got != "" {
			t.Errorf("a bearer in a form: %d", status)
		}
	}
	for _, scope := range []string{"repository:acme/pdf/:pull", "repository:acme//pdf:pull", "repository:acme/*:pull", "repository:*:pull", "repository:ACME/pdf:pull", "repository:acme/../other/x:pull", "repository:acme/pdf"} {
		if status, got, _ := get("?scope="+url.QueryEscape(scope), basic("alice", text)); status != 400 || got != "" {
			t.Errorf("%s: %d", scope, status)
		}
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH"} {
		r, _ := http.NewRequest(method, server.URL+auth.TokenPath, nil)
		r.Header.Set("Authorization", basic("alice", text))
		if status, got, head := send(t, r); status != 405 || got != "" || head.Get("Allow") == "" {
			t.Errorf("%s: %d", method, status)
		}
	}

	// A revocation works at once, for bearers too.
	for id, stored := range s.byID {
		stored.Revoked = true
		s.byID[id] = stored
	}
	if _, err := a.Authenticate(request("Bearer " + bearer)); !errors.Is(err, diag.Code("unauthorized")) {
		t.Errorf("bearer of a revoked token: %v", err)
	}
	clear(s.byID)
	if _, err := a.Authenticate(request("Bearer " + bearer)); !errors.Is(err, diag.Code("unauthorized")) {
		t.Errorf("bearer of a deleted token: %v", err)
	}
	s.down = errors.New("locked")
	if status, _, _ := get("", basic("alice", text)); status != 503 {
		t.Errorf("no database: %d", status)
	}
}

// A bearer ends with its token.
func TestBearerEndsWithItsToken(t *testing.T) {
	s, a := setup()
	now := time.Now().Truncate(time.Second)
	a.Now = func() time.Time { return now }
	text := s.add(func(stored *auth.Stored) { stored.Expires = now.Add(90 * time.Second) })
	w := httptest.NewRecorder()
	a.ServeToken(w, request2("/token?scope=repository:acme/pdf:pull", basic("alice", text)))
	var body struct {
		Token   string `json:"token"`
		Expires int    `json:"expires_in"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Expires != 90 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	now = now.Add(89 * time.Second)
	if _, err := a.Authenticate(request("Bearer " + body.Token)); err != nil {
		t.Errorf("before its token expires: %v", err)
	}
	now = now.Add(time.Second)
	if _, err := a.Authenticate(request("Bearer " + body.Token)); !errors.Is(err, diag.Code("unauthorized")) {
		t.Errorf("after its token has expired: %v", err)
	}
}

func request2(target, header string) *http.Request {
	r := httptest.NewRequest("GET", target, nil)
	r.Header.Set("Authorization", header)
	return r
}

func send(t *testing.T, r *http.Request) (int, string, http.Header) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		Token  string `json:"token"`
		Access string `json:"access_token"`
		Expire int    `json:"expires_in"`
	}
	json.NewDecoder(resp.Body).Decode(&body)
	if body.Token != body.Access || body.Token != "" && body.Expire != 300 {
		t.Errorf("answer %+v", body)
	}
	return resp.StatusCode, body.Token, resp.Header
}

func TestClientIP(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, q := range []struct{ peer, forwarded, want string }{
		{"192.0.2.1:80", "", "192.0.2.1"},
		{"192.0.2.1:80", "203.0.113.9", "192.0.2.1"}, // who is no proxy is not believed
		{"10.1.2.3:80", "203.0.113.9", "203.0.113.9"},
		{"10.1.2.3:80", "1.1.1.1, 203.0.113.9, 10.9.9.9", "203.0.113.9"}, // nor is what the client wrote
		{"10.1.2.3:80", "garbage", "10.1.2.3"},
		{"10.1.2.3:80", "", "10.1.2.3"},
		{"[::1]:80", "2001:db8::1", "2001:db8::1"},
		{"[::ffff:192.0.2.1]:80", "", "192.0.2.1"},
		{"[fe80::1%eth0]:80", "", "fe80::1"},
		{"@", "", "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: q.peer, Header: http.Header{}}
		if q.forwarded != "" {
			r.Header.Set("X-Forwarded-For", q.forwarded)
		}
		if got := auth.ClientIP(r, proxies).String(); got != q.want {
			t.Errorf("peer %s, forwarded %q: %s, want %s", q.peer, q.forwarded, got, q.want)
		}
	}
}

// BenchmarkToken asks what authentication adds to a request.
func BenchmarkToken(b *testing.B) {
	s, a := setup()
	a.Limiter = auth.NewLimiter(auth.DefaultRates(), nil)
	r := request(basic("alice", s.add(nil)))
	for b.Loop() {
		if _, err := a.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
}
