package oci_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// catalog follows the pages of the list of repositories.
func (s *site) catalog(token, path string) (repositories []string, pages int) {
	s.t.Helper()
	for path != "" {
		a := s.want(200, s.ask(token, "GET", path, nil))
		var body struct{ Repositories []string }
		if err := json.Unmarshal(a.content, &body); err != nil || body.Repositories == nil {
			s.t.Fatalf("%s: %v", a.content, err)
		}
		repositories = append(repositories, body.Repositories...)
		if pages++; pages > 20 {
			s.t.Fatal("the list does not end")
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
	}
	return repositories, pages
}

// The catalog lists what the caller may read, in pages, and nothing else.
func TestCatalog(t *testing.T) {
	s := newSite(t)
	admin := s.tokens["* admin"]
	all := []string{"acme/a", "acme/b", "acme/c", "commons/pdf", "other/x", "other/y"}
	for _, repo := range all {
		s.artifact(admin, repo, "v1", []byte(repo), "")
	}
	s.push(admin, "strict/draft", []byte("a blob of a skill that was never published"))
	for _, tt := range []struct {
		token string
		want  []string
	}{
		{"* admin", append(slices.Clone(all), "strict/draft")},
		{"* reader", all},
		{"acme reader", all[:4]},
		{"other publisher", all[3:]},
		{"strict reader", []string{"commons/pdf"}},
		{"strict publisher", []string{"commons/pdf", "strict/draft"}},
	} {
		for _, path := range []string{"/v2/_catalog", "/v2/_catalog?n=1", "/v2/_catalog?n=2", "/v2/_catalog?n=1000000"} {
			if got, _ := s.catalog(s.tokens[tt.token], path); !slices.Equal(got, tt.want) {
				t.Errorf("%s, %s: %q, want %q", tt.token, path, got, tt.want)
			}
		}
	}
	if got, pages := s.catalog(admin, "/v2/_catalog?n=2"); pages != 4 {
		t.Errorf("%d pages for %q", pages, got)
	}
	if got, _ := s.catalog(admin, "/v2/_catalog?last=commons/pdf"); !slices.Equal(got, []string{"other/x", "other/y", "strict/draft"}) {
		t.Errorf("behind commons/pdf: %q", got)
	}
	if got, _ := s.catalog(admin, "/v2/_catalog?n=0"); len(got) != 0 {
		t.Errorf("none asked for: %q", got)
	}
	s.want(400, s.ask(admin, "GET", "/v2/_catalog?n=x", nil))
	s.want(405, s.ask(admin, "DELETE", "/v2/_catalog", nil))

	// An anonymous caller is told which scope to ask for, and the bearer got with it is good for that scope alone.
	a := s.want(401, s.ask("", "GET", "/v2/_catalog", nil))
	if got := a.Header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="registry:catalog:*"`) {
		t.Errorf("challenge %q", got)
	}
	bearer := func(scope, authorization string) string {
		t.Helper()
		r, err := http.NewRequest("GET", s.server.URL+"/token?scope="+scope, nil)
		if err != nil {
			t.Fatal(err)
		}
		if authorization != "" {
			r.SetBasicAuth("x", authorization)
		}
		var body struct{ Token string }
		if err := json.Unmarshal(s.want(200, s.send(r)).content, &body); err != nil {
			t.Fatal(err)
		}
		return body.Token
	}
	if got, _ := s.catalog(bearer("registry:catalog:*", s.tokens["acme reader"]), "/v2/_catalog"); !slices.Equal(got, all[:4]) {
		t.Errorf("by a bearer: %q", got)
	}
	if got, _ := s.catalog(bearer("registry:catalog:*", ""), "/v2/_catalog"); !slices.Equal(got, []string{"commons/pdf"}) {
		t.Errorf("by a bearer of nobody: %q", got)
	}
	s.want(401, s.ask(bearer("repository:acme/a:pull", s.tokens["acme reader"]), "GET", "/v2/_catalog", nil))
	s.want(401, s.ask(bearer("registry:catalog:*", s.tokens["acme reader"]), "GET", "/v2/acme/a/manifests/v1", nil))
}
