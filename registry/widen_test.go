package registry_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/testdata/long"
)

// A holder is a credential that somebody got hold of in a sequence of token requests.
type holder struct {
	text   string
	id     string          // of a token; "" for a bearer
	from   *holder         // what it was got with; nil for what an admin gave
	rights map[string]bool // when it was got
	last   map[string]bool // after the request before; nil is rights
	ends   time.Time       // of the token, zero means never
}

// tokenGame plays sequences of token requests against a registry and its token endpoint.
type tokenGame struct {
	*fixture
	door  *auth.Authenticator
	rnd   *rand.Rand
	held  []*holder
	trace []string
	count map[string]int // of what was given, and of what was refused
}

// rights is what the registry lets whoever shows text do, at each place.
func (g *tokenGame) rights(text string) (map[string]bool, registry.Caller) {
	r := httptest.NewRequest("GET", "/v2/", nil)
	r.Header.Set("Authorization", "Bearer "+text)
	id, err := g.door.Authenticate(r)
	out := map[string]bool{}
	if err != nil {
		return out, registry.Caller{}
	}
	for _, where := range []string{"acme/pdf", "acme/pdf-2", "acme/pdf/x", "acme", "other/pdf", "other", auth.Everywhere} {
		for _, do := range auth.Actions() {
			if id.May(do, where) {
				out[string(do)+" "+where] = true
			}
		}
	}
	return out, registry.Caller{Identity: id}
}

// fail says which sequence led to a right that nobody gave.
func (g *tokenGame) fail(format string, args ...any) {
	g.t.Helper()
	g.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(g.trace, "\n"))
}

func (g *tokenGame) any() *holder { return g.held[g.rnd.IntN(len(g.held))] }

// check holds the law after each request: no credential is good for more than before it, than when it was got, than what it was
// got with was good for then, nor for longer; and a bearer for no more than its token is now.
func (g *tokenGame) check() {
	g.t.Helper()
	for i, h := range g.held {
		now, _ := g.rights(h.text)
		for right := range now {
			switch {
			case h.last != nil && !h.last[right]:
				g.fail("credential %d may %s again, which it could not before this request", i, right)
			case !h.rights[right]:
				g.fail("credential %d may %s, which it could not when it was got", i, right)
			case h.from != nil && !h.from.rights[right]:
				g.fail("credential %d may %s, which what it was got with could not", i, right)
			}
		}
		for up := h; up != nil; up = up.from {
			if len(now) > 0 && !up.ends.IsZero() && !g.now.Before(up.ends) {
				g.fail("credential %d is good for something, after what it was got with has ended", i)
			}
		}
		h.last = now
		if h.id == "" {
			parent, _ := g.rights(h.from.text)
			for right := range now {
				if !parent[right] {
					g.fail("bearer %d may %s, which its token cannot any more", i, right)
				}
			}
		}
	}
}

// create asks for a token with a credential.
func (g *tokenGame) create(sequence int) {
	h := g.any()
	_, who := g.rights(h.text)
	account := []string{fmt.Sprintf("fresh-%d-%d", sequence, g.rnd.IntN(3)), who.Account, fmt.Sprintf("first-%d", sequence), "admin-of-all"}[g.rnd.IntN(4)]
	namespace := []string{"acme", "acme", "other", auth.Everywhere}[g.rnd.IntN(4)]
	role := auth.Roles()[g.rnd.IntN(len(auth.Roles()))]
	expires := time.Time{}
	if g.rnd.IntN(3) > 0 {
		expires = g.now.Add(time.Duration(1+g.rnd.IntN(90)) * time.Minute)
	}
	g.trace = append(g.trace, fmt.Sprintf("create by %s with %v for %q %s %s until %v", who.Account, who.Grants, account, namespace, role, expires))
	text, made, err := g.CreateToken(g.t.Context(), who, account, namespace, string(role), expires)
	if err != nil {
		g.count["create refused"]++
		return
	}
	switch {
	case who.Scopes != nil || who.Account == "":
		g.fail("a token was made with a bearer, or with nothing")
	case account == "admin-of-all" && !who.May(auth.Manage, auth.Everywhere):
		g.fail("a token was made for an account of somebody else")
	}
	g.count["create"]++
	got, _ := g.rights(text)
	g.held = append(g.held, &holder{text: text, id: made.ID, from: h, rights: got, ends: expires})
}

// exchange asks the endpoint for a bearer. What shows a bearer gets none, however it shows it.
func (g *tokenGame) exchange() {
	h := g.any()
	repositories := []string{"acme/pdf", "acme/pdf-2", "acme/pdf/x", "other/pdf", "acme", "*", "acme/*", "acme/pdf/", "ACME/pdf"}
	scopes := url.Values{}
	for range g.rnd.IntN(3) + 1 {
		scopes.Add("scope", "repository:"+repositories[g.rnd.IntN(len(repositories)-4*g.rnd.IntN(2))]+":"+[]string{"pull", "pull,push", "*", "delete,pull"}[g.rnd.IntN(4)])
	}
	var r *http.Request
	switch way := g.rnd.IntN(4); way {
	case 0, 1:
		r = httptest.NewRequest("GET", "/token?"+scopes.Encode(), nil)
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("x:"+h.text)))
	case 2:
		form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {h.text}, "scope": scopes["scope"]}
		r = httptest.NewRequest("POST", "/token", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	default:
		r = httptest.NewRequest("GET", "/token?"+scopes.Encode(), nil)
		r.Header.Set("Authorization", "Bearer "+h.text)
	}
	g.trace = append(g.trace, fmt.Sprintf("exchange %.5s… for %v", h.text, scopes["scope"]))
	w := httptest.NewRecorder()
	g.door.ServeToken(w, r)
	var body struct{ Token string }
	json.Unmarshal(w.Body.Bytes(), &body)
	switch {
	case w.Code != 200 && body.Token == "":
		g.count["exchange refused"]++
	case h.id == "":
		g.fail("a bearer was exchanged for another")
	default:
		g.count["exchange"]++
		got, who := g.rights(body.Token)
		if who.Scopes == nil {
			g.fail("a bearer without scopes is good for everything")
		}
		g.held = append(g.held, &holder{text: body.Token, from: h, rights: got, ends: g.now.Add(auth.BearerLife)})
	}
}

// TestNoSequenceOfTokenRequestsWidensARight plays 2,000 sequences, of up to 14 requests each, of tokens made,
// exchanged, narrowed, renewed, revoked and grown old.
func TestNoSequenceOfTokenRequestsWidensARight(t *testing.T) {
	f := open(t, meta.Policy{})
	g := &tokenGame{fixture: f, count: map[string]int{}}
	g.door = &auth.Authenticator{Lookup: f.LookupToken, Bearers: auth.NewBearerKey(), Now: func() time.Time { return f.now }}
	if _, _, err := f.CreateToken(t.Context(), root, "admin-of-all", auth.Everywhere, string(auth.Admin), time.Time{}); err != nil {
		t.Fatal(err)
	}
	sequences, least := long.Of(100, 200, 2000), long.Of(5, 15, 300) // of each kind of request
	for sequence := range sequences {
		g.rnd = rand.New(rand.NewPCG(12, uint64(sequence)))
		g.held, g.trace = nil, []string{fmt.Sprintf("sequence %d", sequence)}
		for i := range 1 + g.rnd.IntN(2) { // what an admin of the instance gives
			role, namespace := auth.Admin, []string{"acme", "acme", "other", auth.Everywhere}[g.rnd.IntN(4)]
			if g.rnd.IntN(3) == 0 {
				role = auth.Roles()[g.rnd.IntN(len(auth.Roles()))]
			}
			ends := time.Time{}
			if g.rnd.IntN(2) == 0 {
				ends = f.now.Add(time.Duration(1+g.rnd.IntN(60)) * time.Minute)
			}
			text, made, err := f.CreateToken(t.Context(), root, fmt.Sprintf("first-%d%s", sequence, strings.Repeat("x", i)), namespace, string(role), ends)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := g.rights(text)
			g.held = append(g.held, &holder{text: text, id: made.ID, rights: got, ends: ends})
			g.trace = append(g.trace, fmt.Sprintf("given: %s %s until %v", namespace, role, ends))
		}
		for range 4 + g.rnd.IntN(11) {
			switch g.rnd.IntN(9) {
			case 0, 1, 2:
				g.create(sequence)
			case 3, 4, 5:
				g.exchange()
			case 6:
				h := g.any()
				_, who := g.rights(g.any().text)
				if err := f.RevokeToken(t.Context(), who, h.id); err == nil {
					g.count["revoke"]++
					g.trace = append(g.trace, "revoke "+h.id+" by "+who.Account)
					if now, _ := g.rights(h.text); len(now) > 0 {
						g.fail("a revoked token is good for something")
					}
				}
			case 7: // an admin takes a role away; no request for a token gives it back to an older one
				_, who := g.rights(g.any().text)
				namespace := []string{"acme", "other", auth.Everywhere}[g.rnd.IntN(3)]
				if err := f.Ungrant(t.Context(), root, who.Account, namespace); err == nil {
					g.count["ungrant"]++
					g.trace = append(g.trace, "ungrant "+who.Account+" in "+namespace)
				}
			default:
				f.now = f.now.Add(time.Duration(g.rnd.IntN(600)) * time.Second)
				g.count["later"]++
				g.trace = append(g.trace, "it is "+f.now.Format(time.TimeOnly))
			}
			g.check()
		}
	}
	t.Log(g.count)
	for _, what := range []string{"create", "create refused", "exchange", "exchange refused", "revoke", "later", "ungrant"} {
		if g.count[what] < least {
			t.Errorf("%s: only %d times; the game proves nothing about it", what, g.count[what])
		}
	}
}
