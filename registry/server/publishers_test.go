package server

import (
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"crypto/elliptic"

	"github.com/skl-project/skl/registry/auth/identitytest"
	"github.com/skl-project/skl/registry/client/wire"
)

// trusting is a site with namespace acme, two issuers, and a publisher of the first that is bound to a repository, a workflow and tags.
func trusting(t *testing.T, change func(*Config)) (s *site, one, two *identitytest.Issuer, p wire.Publisher) {
	one, two = identitytest.Start(), identitytest.Start()
	t.Cleanup(one.Close)
	t.Cleanup(two.Close)
	s = newSite(t, func(c *Config) {
		c.Publishers.Issuers = []string{one.URL, two.URL}
		if change != nil {
			change(c)
		}
	})
	s.namespace("acme", true)
	s.namespace("other", true)
	var made wire.Page[wire.Publisher]
	s.must(201, s.admin, "POST", "/api/v1/namespaces/acme/publishers", wire.Publisher{Issuer: one.URL,
		Claims: map[string]string{"repository": "acme/skills", "workflow_ref": "acme/skills/.github/workflows/release.yml@*", "ref": "refs/tags/*"}}).json(t, &made)
	return s, one, two, made.Items[0]
}

func (s *site) exchange(namespace, identity string) reply {
	s.t.Helper()
	return s.do("", "POST", "/api/v1/namespaces/"+namespace+"/exchange", wire.Exchange{Token: identity})
}

// refused exchanges what is refused with these words.
func (s *site) refused(name, namespace, identity, words string) {
	s.t.Helper()
	r := s.exchange(namespace, identity)
	var p wire.Problem
	r.json(s.t, &p)
	if r.status != 403 || p.Code != "identity_refused" || !strings.Contains(p.Detail, words) {
		s.t.Errorf("%s: %d %s %q, want %q", name, r.status, p.Code, p.Detail, words)
	}
}

// A job publishes with what it exchanges its identity token for, in its namespace, as its own account, for a quarter of an hour, and no more.
func TestTrustedPublishing(t *testing.T) {
	s, issuer, _, p := trusting(t, nil)
	if p.ID == "" || !strings.HasPrefix(p.Account, "acme/") {
		t.Fatalf("%+v", p)
	}
	var token wire.Token
	r := s.exchange("acme", issuer.Token(issuer.Claims(s.url, nil)))
	if r.status != 201 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	r.json(t, &token)
	if left := time.Until(token.Expires); token.Role != "publisher" || token.Account != p.Account || left > 15*time.Minute || left < 14*time.Minute {
		t.Errorf("%+v", token)
	}
	if v := s.publish(token.Text, "acme/pdf@1.0.0"); v.Publisher != p.Account || v.State != wire.Approved {
		t.Errorf("%+v", v)
	}
	s.must(403, token.Text, "POST", "/api/v1/skills/acme/pdf/versions/1.0.0/actions", wire.Action{Action: "yank", Reason: "x"})
	s.must(403, token.Text, "POST", "/api/v1/tokens", wire.NewToken{Namespace: "acme", Role: "publisher"})
	s.must(403, token.Text, "PUT", "/api/v1/skills/other/pdf/versions/1.0.0", archive(t, "pdf"))

	// The audit trail says which job it was, and never the token.
	events := string(s.must(200, s.admin, "GET", "/api/v1/audit?action=token-exchange", nil).body)
	if !strings.Contains(events, `"workflow_ref":"acme/skills/.github/workflows/release.yml@refs/tags/v1"`) || strings.Contains(events, "skl_") || strings.Contains(events, "eyJ") {
		t.Error(events)
	}

	// A publisher that is removed publishes no more, with the token that it has either.
	s.must(204, s.admin, "DELETE", "/api/v1/namespaces/acme/publishers/"+p.ID, nil)
	s.must(403, token.Text, "PUT", "/api/v1/skills/acme/pdf/versions/1.1.0", archive(t, "pdf"))
	s.refused("removed", "acme", issuer.Token(issuer.Claims(s.url, nil)), "no publisher of namespace acme is bound to")
}

// Keys rotate: a new one is asked for when a token names it, a retired one is known no more, and an ES256 key takes no RSA signature.
func TestIssuerRotates(t *testing.T) {
	s, issuer, _, _ := trusting(t, nil)
	now := time.Now()
	s.s.Registry.Issuers.Now = func() time.Time { return now }
	ok := func(what, token string) {
		t.Helper()
		if r := s.exchange("acme", token); r.status != 201 {
			t.Errorf("%s: %d %s", what, r.status, r.body)
		}
	}
	ok("first key", issuer.Token(issuer.Claims(s.url, nil)))
	ok("first key, kept", issuer.Token(issuer.Claims(s.url, nil)))
	if n := issuer.Asked(); n != 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
	late := issuer.Token(issuer.Claims(s.url, nil))
	issuer.Rotate("ES256", true)
	next := issuer.Token(issuer.Claims(s.url, nil))
	s.refused("within seconds", "acme", next, "has no key")
	now = now.Add(6 * time.Second)
	ok("next key", next)
	s.refused("a retired key", "acme", late, "has no key")
	if n := issuer.Asked(); n != 2 {
		t.Errorf("unknown keys made the registry ask %d times", n)
	}
}

// Everything that is wrong with an identity token is refused for its own reason, and nothing of it can be used.
func TestIdentityRefused(t *testing.T) {
	s, one, two, _ := trusting(t, nil)
	sign := func(changes map[string]any) string { return one.Token(one.Claims(s.url, changes)) }
	now := time.Now().Unix()
	first := sign(nil)
	if r := s.exchange("acme", first); r.status != 201 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	head := func(alg string) map[string]any { return map[string]any{"alg": alg, "kid": "key-1", "typ": "JWT"} }
	parts := strings.Split(sign(nil), ".")
	stolen := strings.Split(two.Token(one.Claims(s.url, nil)), ".") // iss of the first, signed by the second
	for _, c := range []struct{ name, namespace, token, words string }{
		{"replayed", "acme", first, "it was used before"},
		{"expired", "acme", sign(map[string]any{"exp": now - 60}), "it expired at"},
		{"not yet valid", "acme", sign(map[string]any{"nbf": now + 120}), "it is not valid before"},
		{"issued in the future", "acme", sign(map[string]any{"iat": now + 120}), "it is not valid before"},
		{"without end", "acme", sign(map[string]any{"exp": nil}), "it does not say when it expires"},
		{"good for ever", "acme", sign(map[string]any{"exp": now + 90000}), "longer than a day"},
		{"for another registry", "acme", sign(map[string]any{"aud": "https://skills.example"}), "it is for https://skills.example, and this registry is http://127.0.0.1"},
		{"for no registry", "acme", sign(map[string]any{"aud": nil}), "it is for "},
		{"of another repository", "acme", sign(map[string]any{"repository": "evil/skills"}), "its repository is evil/skills"},
		{"of a repository that begins alike", "acme", sign(map[string]any{"repository": "acme/skills-2"}), "its repository is acme/skills-2"},
		{"of a branch", "acme", sign(map[string]any{"ref": "refs/heads/main"}), "its ref is refs/heads/main"},
		{"of another workflow", "acme", sign(map[string]any{"workflow_ref": "acme/skills/.github/workflows/test.yml@refs/tags/v1"}), "its workflow_ref is"},
		{"without a claim", "acme", sign(map[string]any{"workflow_ref": nil}), "it has no claim workflow_ref"},
		{"of a pull request", "acme", sign(map[string]any{"event_name": "pull_request"}), "also for one of a fork"},
		{"of a pull request on its target", "acme", sign(map[string]any{"event_name": "pull_request_target"}), "also for one of a fork"},
		{"of a merge request", "acme", sign(map[string]any{"pipeline_source": "merge_request_event"}), "its pipeline_source is merge_request_event"},
		{"of proposed changes", "acme", sign(map[string]any{"head_ref": "patch-1"}), "its head_ref is patch-1"},
		{"of a repository whose name was taken over", "acme", sign(map[string]any{"repository_id": "18"}), "its repository_id is 18"},
		{"of an owner whose name was taken over", "acme", sign(map[string]any{"repository_owner_id": nil}), "its repository_owner_id is "},
		{"unsigned", "acme", one.Forge(head("none"), one.Claims(s.url, nil)), `its algorithm is "none"`},
		{"unsigned, spelled otherwise", "acme", one.Forge(head("nOnE"), one.Claims(s.url, nil)), `its algorithm is "nOnE"`},
		{"signed with the public key", "acme", one.Forge(head("HS256"), one.Claims(s.url, nil)), `its algorithm is "HS256"`},
		{"of another algorithm than its key", "acme", one.Forge(head("ES256"), one.Claims(s.url, nil)), "its issuer's key is for RS256"},
		{"with extensions", "acme", one.Forge(map[string]any{"alg": "RS256", "kid": "key-1", "crit": []string{"b64"}}, one.Claims(s.url, nil)), "extensions that are not known"},
		{"with a key of its own", "acme", one.Forge(map[string]any{"alg": "RS256", "kid": "mine", "jku": "http://127.0.0.1:1/", "jwk": map[string]string{"kty": "RSA"}}, one.Claims(s.url, nil)), `has no key "mine"`},
		{"signed by another issuer", "acme", strings.Join(stolen, "."), "its signature is not that of its issuer's key"},
		{"of another issuer", "acme", two.Token(two.Claims(s.url, nil)), "no publisher of namespace acme is bound to " + two.URL},
		{"of an issuer of nobody", "acme", sign(map[string]any{"iss": "https://evil.example"}), "no publisher of namespace acme is bound to https://evil.example"},
		{"of an issuer that is spelled otherwise", "acme", sign(map[string]any{"iss": one.URL + "/"}), "no publisher of namespace acme is bound to"},
		{"for another namespace", "other", sign(nil), "no publisher of namespace other is bound to"},
		{"for a namespace that is not there", "nowhere", sign(nil), "no publisher of namespace nowhere is bound to"},
		{"changed", "acme", parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+one.URL+`"}`)) + "." + parts[2], "its signature is not that"},
		{"cut", "acme", parts[0] + "." + parts[1] + ".", "its signature is not that"},
		{"no token", "acme", "hello", "it is not a signed JSON Web Token"},
		{"no JSON", "acme", "e30.e30e.e30", "it is damaged"},
		{"nothing", "acme", "", "it is not a signed JSON Web Token"},
	} {
		s.refused(c.name, c.namespace, c.token, c.words)
	}

	// The last of them left nothing: no token beside the first.
	var tokens wire.Page[wire.Token]
	s.must(200, s.admin, "GET", "/api/v1/tokens", nil).json(t, &tokens)
	if len(tokens.Items) != 2 { // the admin's and the first
		t.Errorf("%d tokens", len(tokens.Items))
	}

	// Another spelling of an ES256 signature is the same token.
	one.Rotate("ES256", false)
	s.s.Registry.Issuers.Now = func() time.Time { return time.Now().Add(10 * time.Second) }
	token := sign(map[string]any{"jti": nil})
	if r := s.exchange("acme", token); r.status != 201 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	parts = strings.Split(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		t.Fatal(err)
	}
	new(big.Int).Sub(elliptic.P256().Params().N, new(big.Int).SetBytes(raw[32:])).FillBytes(raw[32:])
	s.refused("spelled otherwise", "acme", parts[0]+"."+parts[1]+"."+base64.RawURLEncoding.EncodeToString(raw), "it was used before")
}

// An issuer that says it is another is refused: its keys are not asked for in the other's name.
func TestIssuerMixUp(t *testing.T) {
	s, one, two, _ := trusting(t, nil)
	one.Name(two.URL)
	s.refused("mixed up", "acme", one.Token(one.Claims(s.url, nil)), "is that of another issuer")
	one.Close()
	if r := s.exchange("acme", one.Token(one.Claims(s.url, nil))); r.status != 503 || !strings.Contains(string(r.body), "cannot be had now") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// A publisher that is bound to pull requests by name publishes from them.
func TestPullRequestByName(t *testing.T) {
	s, issuer, _, _ := trusting(t, nil)
	s.must(201, s.admin, "POST", "/api/v1/namespaces/other/publishers", wire.Publisher{Issuer: issuer.URL, Claims: map[string]string{"repository": "acme/skills", "event_name": "pull_request"}})
	if r := s.exchange("other", issuer.Token(issuer.Claims(s.url, map[string]any{"event_name": "pull_request", "head_ref": "patch-1"}))); r.status != 201 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// The audience is the configured address, or that of loopback; behind a proxy a header says nothing.
func TestAudience(t *testing.T) {
	s, issuer, _, _ := trusting(t, func(c *Config) { c.TLS.Proxy = true })
	s.refused("behind a proxy without an address", "acme", issuer.Token(issuer.Claims(s.url, nil)), "does not know its own address")
	s, issuer, _, _ = trusting(t, func(c *Config) { c.URL = "https://skills.example" })
	s.refused("by another name", "acme", issuer.Token(issuer.Claims(s.url, nil)), "this registry is https://skills.example")
	if r := s.exchange("acme", issuer.Token(issuer.Claims("https://skills.example", map[string]any{"aud": []string{"sigstore", "https://skills.example"}}))); r.status != 201 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// A publisher that anybody could be is refused, as is one of an issuer that the registry does not trust.
func TestPublisherRefused(t *testing.T) {
	s, issuer, _, p := trusting(t, nil)
	for _, c := range []struct {
		status int
		p      wire.Publisher
		words  string
	}{
		{400, wire.Publisher{Issuer: "https://evil.example", Claims: map[string]string{"sub": "x"}}, "trusts no issuer"},
		{400, wire.Publisher{Issuer: issuer.URL, Claims: map[string]string{}}, "at least one claim"},
		{400, wire.Publisher{Issuer: issuer.URL, Claims: map[string]string{"sub": "*"}}, "every token"},
		{400, wire.Publisher{Issuer: "https://token.actions.githubusercontent.com", Claims: map[string]string{"ref": "refs/tags/*"}}, "is bound to a repository"},
		{400, wire.Publisher{Issuer: "https://token.actions.githubusercontent.com", Claims: map[string]string{"repository": "*/skills"}}, "is bound to a repository"},
		{400, wire.Publisher{Issuer: "https://gitlab.com", Claims: map[string]string{"ref": "main"}}, "is bound to a project_path"},
		{400, wire.Publisher{Issuer: issuer.URL, Claims: p.Claims, ID: "x"}, "alone"},
		{409, wire.Publisher{Issuer: issuer.URL, Claims: p.Claims}, "already"},
	} {
		if r := s.must(c.status, s.admin, "POST", "/api/v1/namespaces/acme/publishers", c.p); !strings.Contains(string(r.body), c.words) {
			t.Errorf("%+v: %s", c.p, r.body)
		}
	}
	s.must(404, s.admin, "DELETE", "/api/v1/namespaces/acme/publishers/none", nil)

	// A change of the policy by somebody who knows nothing of publishers leaves them alone.
	s.must(200, s.admin, "PATCH", "/api/v1/namespaces/acme", wire.NamespaceChange{Policy: &wire.Policy{ManualApproval: true}})
	var list wire.Page[wire.Publisher]
	s.must(200, s.admin, "GET", "/api/v1/namespaces/acme/publishers", nil).json(t, &list)
	if text, _ := json.Marshal(list); len(list.Items) != 1 {
		t.Errorf("%s", text)
	}
}
