package oci_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/testdata/long"
)

// TestAuthorisation asks every route as every role, in the caller's own namespace, in a foreign
// one, and anonymously. The table is written out: a change of rights is a change here.
func TestAuthorisation(t *testing.T) {
	long.Slow(t)
	s := newSite(t)
	writer, d := s.tokens["* admin"], ""
	subjects := map[string]string{}
	for _, namespace := range []string{"acme", "commons"} {
		subjects[namespace] = s.artifact(writer, namespace+"/pdf", "v1", []byte("content"), "")
	}
	d = blob.Sum(blob.SHA256, []byte("content")).String()
	manifest := artifactManifest(blob.Sum(blob.SHA256, []byte("{}")).String(), d, 7, "")

	const (
		ok      = "ok"
		login   = "login"   // 401, with a challenge
		denied  = "denied"  // 403
		missing = "missing" // 404, the same as for what does not exist
	)
	// Callers, in the order of the columns below.
	// The last six are the publisher's: a bearer for the repository, one that was got with the same token once more, one for
	// reading only, one for a repository beside it, a token that has expired, and one that an admin of acme made for "ci".
	columns := []string{"nobody", "acme reader", "acme publisher", "acme maintainer", "acme admin", "acme auditor", "other admin", "* reader", "* admin",
		"exchanged", "renewed", "narrowed", "beside", "expired", "made"}
	rows := []struct {
		method, path string // N is the namespace
		acme         string // expected, by column
		commons      string
	}{
		{"GET", "/v2/N/pdf/manifests/v1",
			"login ok ok ok ok ok missing ok ok  ok ok ok login login ok", "ok ok ok ok ok ok ok ok ok  ok ok ok ok login ok"},
		{"HEAD", "/v2/N/pdf/manifests/v1",
			"login ok ok ok ok ok missing ok ok  ok ok ok login login ok", "ok ok ok ok ok ok ok ok ok  ok ok ok ok login ok"},
		{"GET", "/v2/N/pdf/blobs/D",
			"login ok ok ok ok ok missing ok ok  ok ok ok login login ok", "ok ok ok ok ok ok ok ok ok  ok ok ok ok login ok"},
		{"HEAD", "/v2/N/pdf/blobs/D",
			"login ok ok ok ok ok missing ok ok  ok ok ok login login ok", "ok ok ok ok ok ok ok ok ok  ok ok ok ok login ok"},
		{"GET", "/v2/N/pdf/tags/list",
			"login ok ok ok ok ok missing ok ok  ok ok ok login login ok", "ok ok ok ok ok ok ok ok ok  ok ok ok ok login ok"},
		{"GET", "/v2/N/pdf/referrers/M",
			"login ok ok ok ok ok missing ok ok  ok ok ok login login ok", "ok ok ok ok ok ok ok ok ok  ok ok ok ok login ok"},
		{"POST", "/v2/N/pdf/blobs/uploads/",
			"login denied ok ok ok denied missing denied ok  ok ok login login login ok", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
		{"POST", "/v2/N/pdf/blobs/uploads/?digest=D",
			"login denied ok ok ok denied missing denied ok  ok ok login login login ok", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
		{"POST", "/v2/N/pdf/blobs/uploads/?mount=D",
			"login denied ok ok ok denied missing denied ok  ok ok login login login ok", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
		{"GET", "/v2/N/pdf/blobs/uploads/U",
			"login denied ok ok ok denied missing denied ok  ok ok login login login ok", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
		{"PATCH", "/v2/N/pdf/blobs/uploads/U",
			"login denied ok ok ok denied missing denied ok  ok ok login login login ok", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
		{"PUT", "/v2/N/pdf/blobs/uploads/U?digest=D",
			"login denied ok ok ok denied missing denied ok  ok ok login login login ok", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
		{"DELETE", "/v2/N/pdf/blobs/uploads/U",
			"login denied ok ok ok denied missing denied ok  ok ok login login login ok", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
		{"PUT", "/v2/N/pdf/manifests/v1",
			"login denied ok ok ok denied missing denied ok  ok ok login login login ok", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
		{"DELETE", "/v2/N/pdf/blobs/D",
			"login denied denied denied ok denied missing denied ok  denied denied denied missing login denied", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
		{"DELETE", "/v2/N/pdf/manifests/v1",
			"login denied denied denied ok denied missing denied ok  denied denied denied missing login denied", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
		{"DELETE", "/v2/N/pdf/manifests/M",
			"login denied denied denied ok denied missing denied ok  denied denied denied missing login denied", "login denied denied denied denied denied denied denied ok  denied denied denied denied login denied"},
	}
	made := s.moreTokens()
	for _, row := range rows {
		for namespace, line := range map[string]string{"acme": row.acme, "commons": row.commons} {
			want := strings.Fields(line)
			if len(want) != len(columns) {
				t.Fatalf("%s %s: %d columns", row.method, row.path, len(want))
			}
			for i, who := range columns {
				t.Run(fmt.Sprintf("%s %s in %s by %s", row.method, row.path, namespace, who), func(t *testing.T) {
					s.t = t
					// Content that earlier callers deleted is there again, and the session is fresh.
					s.artifact(writer, namespace+"/pdf", "v1", []byte("content"), "")
					id := s.upload(writer, namespace+"/pdf")
					path := strings.NewReplacer("/N/", "/"+namespace+"/", "D", d, "M", subjects[namespace], "U", id[strings.LastIndexByte(id, '/')+1:]).Replace(row.path)
					ask := func(path string) answer {
						var body io.Reader
						switch {
						case row.method == "PUT" && strings.Contains(row.path, "manifests"):
							body = bytes.NewReader(manifest)
						case strings.Contains(row.path, "digest=") || row.method == "PATCH":
							body = strings.NewReader("content")
						}
						token, ok := made[who]
						if !ok {
							token = func(string) string { return s.tokens[who] }
						}
						return s.ask(token(namespace), row.method, path, body, "Content-Type", manifestType)
					}
					a := ask(path)
					got := fmt.Sprint(a.StatusCode)
					switch {
					case a.StatusCode < 300:
						got = ok
					case a.StatusCode == 401 && strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer realm="):
						got = login
					case a.StatusCode == 403:
						got = denied
					case a.StatusCode == 404:
						got = missing
					}
					if got != want[i] {
						t.Errorf("%s, want %s: %s", got, want[i], a.content)
					}
					if row.method == "HEAD" {
						return
					}
					// A foreign namespace answers as one that does not exist.
					if (got == missing || got == denied) && namespace == "acme" && who == "other admin" {
						nowhere := ask(strings.Replace(path, "/acme/", "/acne/", 1))
						if nowhere.StatusCode != a.StatusCode || strings.ReplaceAll(string(nowhere.content), "acne", "acme") != string(a.content) {
							t.Errorf("tells a private namespace from none:\n%s\n%s", a.content, nowhere.content)
						}
					}
				})
			}
		}
	}
}

// moreTokens are credentials that somebody got with others, by column; each is made for a namespace.
func (s *site) moreTokens() map[string]func(namespace string) string {
	t := s.t
	t.Helper()
	bearer := func(scope string) func(namespace string) string {
		return func(namespace string) string {
			r, err := http.NewRequest("GET", s.server.URL+"/token?scope="+strings.ReplaceAll(scope, "N/", namespace+"/"), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.SetBasicAuth("x", s.tokens["acme publisher"])
			var body struct{ Token string }
			if err := json.Unmarshal(s.want(200, s.send(r)).content, &body); err != nil {
				t.Fatal(err)
			}
			return body.Token
		}
	}
	chief := s.caller(s.tokens["acme admin"])
	now := time.Now().UTC()
	s.g.Now = func() time.Time { return now.Add(-time.Hour) } // when the expired one was made
	expired, _, err := s.g.CreateToken(t.Context(), chief, "late", "acme", "publisher", now.Add(-time.Minute))
	s.g.Now = nil
	if err != nil {
		t.Fatal(err)
	}
	forCI, _, err := s.g.CreateToken(t.Context(), chief, "ci", "acme", "publisher", now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	whole := bearer("repository:N/pdf:pull,push,delete")
	return map[string]func(string) string{
		"exchanged": whole, "renewed": func(namespace string) string { whole(namespace); return whole(namespace) },
		"narrowed": bearer("repository:N/pdf:pull"), "beside": bearer("repository:N/pdf-2:*"),
		"expired": func(string) string { return expired }, "made": func(string) string { return forCI },
	}
}

// caller is who shows a token.
func (s *site) caller(token string) registry.Caller {
	s.t.Helper()
	id, _, err := auth.ParseToken(token)
	if err != nil {
		s.t.Fatal(err)
	}
	stored, err := s.g.LookupToken(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return registry.Caller{Identity: auth.Identity{Account: stored.Account, TokenID: stored.ID, Grants: stored.Grants, Expires: stored.Expires}}
}

// TestTokenOfTokens asks the token endpoint with everything that there is: only a token itself, by Basic, buys a bearer.
func TestTokenOfTokens(t *testing.T) {
	s := newSite(t)
	made := s.moreTokens()
	for name, want := range map[string]string{"exchanged": "401 401 401", "renewed": "401 401 401", "narrowed": "401 401 401", "expired": "401 401 401", "made": "200 200 401", "acme admin": "200 200 401"} {
		text := s.tokens[name]
		if one := made[name]; one != nil {
			text = one("acme")
		}
		var got []string
		for _, way := range []string{"basic", "form", "bearer"} {
			method, body := "GET", ""
			if way == "form" {
				method, body = "POST", "grant_type=refresh_token&refresh_token="+text
			}
			r, err := http.NewRequest(method, s.server.URL+"/token?scope=repository:acme/pdf:*", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			switch way {
			case "basic":
				r.SetBasicAuth("x", text)
			case "form":
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			default:
				r.Header.Set("Authorization", "Bearer "+text)
			}
			got = append(got, fmt.Sprint(s.send(r).StatusCode))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestMountOracle shows that nobody learns by a mount what others have.
func TestMountOracle(t *testing.T) {
	s := newSite(t)
	root, mine := s.tokens["* admin"], s.tokens["acme publisher"]
	secret, shared := []byte("secret of other"), []byte("published for all")
	s.push(root, "other/x", secret)
	s.artifact(root, "commons/x", "v1", shared, "")
	theirs, public := blob.Sum(blob.SHA256, secret).String(), blob.Sum(blob.SHA256, shared).String()
	for _, test := range []struct {
		query  string
		status int
	}{
		{"mount=" + theirs + "&from=other/x", 202},
		{"mount=" + theirs, 202},
		{"mount=" + theirs + "&from=no/where", 202},
		{"mount=" + theirs + "&from=../other/x", 202},
		{"mount=" + public + "&from=other/x", 202},
		{"mount=" + public + "&from=commons/x", 201},
		{"mount=" + public, 201},
	} {
		a := s.want(test.status, s.ask(mine, "POST", "/v2/acme/mounts/blobs/uploads/?"+test.query, nil))
		if got := strings.Contains(a.Header.Get("Location"), "/uploads/"); got != (test.status == 202) {
			t.Errorf("%s: location %s", test.query, a.Header.Get("Location"))
		}
	}
	s.want(404, s.ask(mine, "HEAD", "/v2/acme/mounts/blobs/"+theirs, nil))
	s.want(404, s.ask(mine, "GET", "/v2/other/x/blobs/"+theirs, nil))
	s.want(200, s.ask(mine, "GET", "/v2/acme/mounts/blobs/"+public, nil))
	// Naming a blob of others in a manifest gives nothing either.
	config := s.push(mine, "acme/mounts", []byte("{}"))
	a := s.ask(mine, "PUT", "/v2/acme/mounts/manifests/v1", bytes.NewReader(artifactManifest(config, theirs, len(secret), "")), "Content-Type", manifestType)
	if a.StatusCode != 400 || a.code() != "blob_missing" {
		t.Errorf("%s %s", a.Status, a.content)
	}
}

// TestToken walks through what docker, containerd, oras and crane do to get a token.
func TestToken(t *testing.T) {
	s := newSite(t)
	token := s.tokens["acme publisher"]
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	with := func(authorization, method, path string) answer {
		t.Helper()
		return s.ask("", method, path, nil, "Authorization", authorization)
	}
	ping := s.want(401, s.ask("", "GET", "/v2/", nil))
	if got := ping.Header.Values("WWW-Authenticate"); len(got) != 1 || !strings.HasPrefix(got[0], `Bearer realm="`+s.server.URL+`/token",service="`) {
		t.Fatalf("challenge %q", got)
	}
	a := s.want(401, s.ask("", "POST", "/v2/acme/pdf/blobs/uploads/", nil))
	if got := a.Header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="repository:acme/pdf:pull,push"`) {
		t.Errorf("challenge %q", got)
	}
	exchange := func(authorization string) string {
		t.Helper()
		r, err := http.NewRequest("GET", s.server.URL+"/token?service="+s.host()+"&scope=repository:acme/pdf:pull,push", nil)
		if err != nil {
			t.Fatal(err)
		}
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		a := s.want(200, s.send(r))
		var body struct {
			Token       string `json:"token"`
			AccessToken string `json:"access_token"`
			ExpiresIn   int    `json:"expires_in"`
		}
		if err := json.Unmarshal(a.content, &body); err != nil || body.Token == "" || body.AccessToken != body.Token || body.ExpiresIn < 60 || body.ExpiresIn > 600 {
			t.Errorf("%v: %s", err, a.content)
		}
		if !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
			t.Error("a token may not be cached")
		}
		return body.Token
	}
	short := exchange(basic("anybody", token))
	if short == token {
		t.Error("the short-lived token is the long-lived one")
	}
	s.want(200, s.ask(short, "GET", "/v2/", nil))
	s.want(202, s.ask(short, "POST", "/v2/acme/pdf/blobs/uploads/", nil))
	s.want(404, s.ask(short, "POST", "/v2/other/pdf/blobs/uploads/", nil)) // as if it did not exist
	s.want(200, with(basic("anybody", token), "GET", "/v2/"))              // without the exchange
	s.want(200, s.ask(token, "GET", "/v2/", nil))

	// Whoever has no credentials gets a token for what anybody may read.
	s.artifact(s.tokens["* admin"], "commons/pdf", "v1", []byte("x"), "")
	nobody := exchange("")
	s.want(200, s.ask(nobody, "GET", "/v2/commons/pdf/manifests/v1", nil))
	s.want(401, s.ask(nobody, "GET", "/v2/acme/pdf/manifests/v1", nil))
	s.want(401, s.ask(nobody, "POST", "/v2/commons/pdf/blobs/uploads/", nil))

	wrong := token[:len(token)-8] + "00000000"
	for _, authorization := range []string{basic("x", wrong), basic("x", ""), basic("x", "skl_"), "Bearer " + wrong, "Bearer " + short + "x", "Bearer ", "Basic !", "Digest x"} {
		for _, path := range []string{"/token", "/v2/", "/v2/commons/pdf/manifests/v1"} {
			if a := with(authorization, "GET", path); a.StatusCode != 401 {
				t.Errorf("%q at %s: %s", authorization, path, a.Status)
			}
		}
	}
	if err := s.g.RevokeToken(t.Context(), admin, tokenID(t, s, token)); err != nil {
		t.Fatal(err)
	}
	s.want(401, s.ask(token, "GET", "/v2/", nil))
	s.want(401, s.ask(short, "GET", "/v2/", nil))
}

// tokenID asks the registry which of its tokens this is.
func tokenID(t *testing.T, s *site, token string) string {
	t.Helper()
	tokens, err := s.g.Tokens(t.Context(), admin, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, have := range tokens {
		if have.Account == "acme-publisher" {
			return have.ID
		}
	}
	t.Fatal("the token is not listed")
	return ""
}
