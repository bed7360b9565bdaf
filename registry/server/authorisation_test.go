package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/api"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/testdata/long"
)

// Callers, in the order of the columns below. All but the last two have their role in
// the namespace acme, which is private.
const callers = "nobody reader publisher maintainer admin auditor foreign operator"

// Every route of the API with every role. {n} is another number for each caller, so that nobody finds
// what the one before has changed. "B" stands for the body.
const authorisation = `
GET    /api/v1                                                      200 200 200 200 200 200 200 200
GET    /api/v1/openapi.json                                         200 200 200 200 200 200 200 200
GET    /api/v1/whoami                                               200 200 200 200 200 200 200 200
GET    /api/v1/namespaces                                           200 200 200 200 200 200 200 200
POST   /api/v1/namespaces                                           401 403 403 403 403 403 403 201  B {"name":"{word}"}
GET    /api/v1/namespaces/acme                                      401 200 200 200 200 200 404 200
PATCH  /api/v1/namespaces/acme                                      401 403 403 403 200 403 404 200  B {}
GET    /api/v1/namespaces/acme/grants                               401 403 403 403 200 200 403 200
PUT    /api/v1/namespaces/acme/grants                               401 403 403 403 200 403 403 200  B {"account":"new-{n}","role":"reader"}
DELETE /api/v1/namespaces/acme/grants/old-{n}                       401 403 403 403 204 403 403 204
GET    /api/v1/namespaces/*/grants                                  401 403 403 403 403 403 403 200
PUT    /api/v1/namespaces/*/grants                                  401 403 403 403 403 403 403 200  B {"account":"new-{n}","role":"reader"}
GET    /api/v1/namespaces/acme/signers                              401 200 200 200 200 200 404 200
PUT    /api/v1/namespaces/acme/signers                              401 403 403 403 200 403 404 200  B {"items":[]}
GET    /api/v1/namespaces/acme/publishers                           401 403 403 403 200 200 403 200
POST   /api/v1/namespaces/acme/publishers                           401 403 403 403 201 403 404 201  B {"issuer":"https://gitlab.com","claims":{"project_path":"acme/{word}"}}
DELETE /api/v1/namespaces/acme/publishers/none                      401 403 403 403 404 403 404 404
POST   /api/v1/namespaces/acme/exchange                             403 403 403 403 403 403 403 403  B {"token":"e30.e30.e30"}
GET    /api/v1/namespaces/acme/advisories                           401 200 200 200 200 200 404 200
POST   /api/v1/namespaces/acme/advisories                           401 403 403 201 201 403 404 201  B {"name":"pdf","versions":"=1.0.0","severity":"low","summary":"x"}
POST   /api/v1/namespaces/acme/advisories/none/withdraw             401 403 403 404 404 403 404 404  B {"reason":"x"}
GET    /api/v1/skills                                               200 200 200 200 200 200 200 200
GET    /api/v1/skills?namespace=acme                                401 200 200 200 200 200 404 200
GET    /api/v1/skills/acme/pdf                                      401 200 200 200 200 200 404 200
GET    /api/v1/skills/acme/pdf/downloads                            401 200 200 200 200 200 404 200
GET    /api/v1/skills/acme/pdf/versions                             401 200 200 200 200 200 404 200
GET    /api/v1/skills/acme/pdf/versions/1.0.0                       401 200 200 200 200 200 404 200
GET    /api/v1/skills/acme/pdf/versions/9.9.9                       401 404 404 404 404 404 404 404
GET    /api/v1/skills/acme/none/versions/1.0.0                      401 404 404 404 404 404 404 404
GET    /api/v1/skills/acme/pdf/versions/1.0.0/download              401 200 200 200 200 200 404 200
GET    /api/v1/skills/acme/pdf/versions/1.0.0/files                 401 200 200 200 200 200 404 200
GET    /api/v1/skills/acme/pdf/versions/1.0.0/files/SKILL.md        401 200 200 200 200 200 404 200
GET    /api/v1/skills/acme/pdf/versions/1.0.0/report                401 200 200 200 200 200 404 200
GET    /api/v1/skills/acme/held/versions/1.0.0/report               401 404 200 200 200 200 404 200
GET    /api/v1/skills/acme/pdf/versions/1.0.0/diff/1.0.0            401 200 200 200 200 200 404 200
GET    /api/v1/skills/acme/held/versions/1.0.0                      401 404 200 200 200 200 404 200
GET    /api/v1/skills/acme/held/versions/1.0.0/download             401 404 200 200 200 200 404 200
PUT    /api/v1/skills/acme/pdf/versions/2.0.{n}                     401 403 201 201 201 403 403 201  B zip
PUT    /api/v1/skills/acme/pdf/versions/3.0.{n}                     401 403 404 404 404 403 404 404  B {"manifest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}
POST   /api/v1/skills/acme/pdf/versions/1.1.{n}/actions             401 403 403 200 200 403 404 200  B {"action":"yank","reason":"x"}
POST   /api/v1/skills/acme/pdf/versions/1.2.{n}/actions             401 403 403 200 200 403 404 200  B {"action":"deprecate","reason":"x"}
POST   /api/v1/skills/acme/pdf/versions/1.3.{n}/actions             401 403 403 200 200 403 404 200  B {"action":"quarantine","reason":"x"}
POST   /api/v1/skills/acme/pdf/versions/1.4.{n}/actions             401 403 403 403 200 403 404 200  B {"action":"block","reason":"x"}
POST   /api/v1/skills/acme/pdf/versions/1.5.{n}/actions             401 403 403 200 200 403 404 200  B {"action":"approve","reason":"x"}
GET    /api/v1/search                                               200 200 200 200 200 200 200 200
GET    /api/v1/tokens                                               401 200 200 200 200 200 200 200
POST   /api/v1/tokens                                               401 403 403 403 201 403 403 201  B {"account":"bot","namespace":"acme","role":"reader"}
POST   /api/v1/tokens                                               401 403 403 403 403 403 403 201  B {"account":"bot","namespace":"*","role":"reader"}
POST   /api/v1/tokens                                               401 403 403 403 403 403 403 201  B {"account":"person","namespace":"acme","role":"reader"}
POST   /api/v1/skills/acme/pdf/versions/1.3.{n}/actions             401 403 403 403 200 403 404 200  B {"action":"reject","reason":"x"}
POST   /api/v1/skills/acme/pdf/versions/1.4.{n}/actions             401 403 403 409 200 403 404 200  B {"action":"unblock"}
DELETE /api/v1/tokens/{token}                                       401 404 404 404 204 404 404 204
GET    /api/v1/audit                                                401 403 403 403 403 403 403 200
GET    /api/v1/audit?namespace=acme                                 401 403 403 403 200 200 403 200
GET    /api/v1/queue                                                401 200 200 200 200 200 200 200
GET    /api/v1/log/checkpoint                                       200 200 200 200 200 200 200 200
GET    /api/v1/log/tile/0/000.p/1                                   200 200 200 200 200 200 200 200
GET    /api/v1/log/tile/entries/000.p/1                             401 403 403 403 403 403 403 200
GET    /api/v1/log/states                                           200 200 200 200 200 200 200 200
GET    /log/states                                                  200 200 200 200 200 200 200 200
GET    /log/checkpoint                                              200 200 200 200 200 200 200 200
GET    /log/tile/0/000.p/1                                          200 200 200 200 200 200 200 200
GET    /log/tile/entries/000.p/1                                    401 403 403 403 403 403 403 200
GET    /acme/.well-known/agent-skills/index.json                    401 200 200 200 200 200 404 200
GET    /acme/.well-known/agent-skills/pdf/1.0.0/SKILL.md            401 200 200 200 200 200 404 200
GET    /acme/.well-known/skills/index.json                          401 200 200 200 200 200 404 200
GET    /metrics                                                     200 200 200 200 200 200 200 200
`

// got are callers with a credential that was got with another, beyond those of the table: a token that acme's admin made for
// "ci" is a publisher's; a bearer is for /v2 alone, exchanged or narrowed; and one that has expired is nobody's.
const got = "made exchanged narrowed expired"

// expect is what the caller of column n finds, by a row of the table.
func expect(columns []string, name string, n int) string {
	switch {
	case n+2 < len(columns):
		return columns[n+2]
	case name == "made":
		return columns[2+2] // a publisher's
	case columns[1] == "/metrics":
		return "200" // this machine's are not asked who they are
	}
	return "401"
}

func TestAuthorisation(t *testing.T) {
	long.Slow(t)
	s := newSite(t, func(c *Config) { c.Limits.Failures = -1 }) // what is expired fails often
	s.namespace("acme", false)
	s.namespace("other", false)
	s.publish(s.admin, "acme/pdf@1.0.0")
	s.publish(s.admin, "acme/held@1.0.0")
	s.must(200, s.admin, "POST", "/api/v1/skills/acme/held/versions/1.0.0/actions", wire.Action{Action: "quarantine", Reason: "x"})
	names := strings.Fields(callers + " " + got)
	tokens := make([]string, len(names))
	for i, name := range names {
		switch name {
		case "nobody":
		case "foreign":
			tokens[i] = s.token("other", "admin")
		case "operator":
			tokens[i] = s.admin
		case "made":
			var token wire.Token
			s.must(201, tokens[4], "POST", "/api/v1/tokens", wire.NewToken{Account: "ci", Namespace: "acme", Role: "publisher"}).json(t, &token)
			tokens[i] = token.Text
		case "exchanged":
			tokens[i] = s.bearer(tokens[4], "repository:acme/pdf:*")
		case "narrowed":
			tokens[i] = s.bearer(tokens[4], "repository:acme/pdf:pull")
		case "expired":
			var token wire.Token
			s.must(201, tokens[4], "POST", "/api/v1/tokens", wire.NewToken{Account: "late", Namespace: "acme", Role: "admin", Expires: time.Now().Add(time.Second)}).json(t, &token)
			tokens[i] = token.Text
			time.Sleep(1100 * time.Millisecond)
		default:
			tokens[i] = s.token("acme", name)
		}
	}
	s.must(200, s.admin, "PUT", "/api/v1/namespaces/acme/grants", wire.Grant{Account: "person", Role: "reader"}) // somebody, who made themselves
	victims := make([]string, len(names))
	for n := range names {
		for _, minor := range []int{1, 2, 3, 4, 5} {
			s.publish(s.admin, fmt.Sprintf("acme/pdf@1.%d.%d", minor, n), "n", fmt.Sprint(minor, n))
		}
		s.must(200, s.admin, "POST", fmt.Sprintf("/api/v1/skills/acme/pdf/versions/1.5.%d/actions", n), wire.Action{Action: "quarantine", Reason: "x"})
		s.must(200, s.admin, "PUT", "/api/v1/namespaces/acme/grants", wire.Grant{Account: fmt.Sprintf("old-%d", n), Role: "reader"})
		var token wire.Token
		s.must(201, s.admin, "POST", "/api/v1/tokens", wire.NewToken{Account: "victim", Namespace: "acme", Role: "reader"}).json(t, &token)
		victims[n] = token.ID
	}
	asked := make(map[string]bool)
	for row := range strings.Lines(strings.TrimSpace(authorisation)) {
		row, body, _ := strings.Cut(strings.TrimSpace(row), "  B ")
		columns := strings.Fields(row)
		asked[columns[0]+" "+columns[1]] = true
		for n, name := range names {
			words := []string{"alpha", "bravo", "charlie", "delta", "echoes", "foxtrot", "golf", "hotel", "india", "juliett", "kilo", "lima"}
			fill := strings.NewReplacer("{n}", fmt.Sprint(n), "{word}", words[n], "{token}", victims[n])
			var content any
			header := []string{"Content-Type", wire.MediaJSON}
			switch body {
			case "":
				header = nil
			case "zip":
				content, header = archive(t, "pdf", "n", fmt.Sprint("new", n)), nil
			default:
				content = []byte(fill.Replace(body))
			}
			r := s.do(tokens[n], columns[0], fill.Replace(columns[1]), content, header...)
			if got, want := fmt.Sprint(r.status), expect(columns, name, n); got != want {
				t.Errorf("%-10s %s %s: %s, want %s: %.200s", name, columns[0], columns[1], got, want, r.body)
			}
			if r.status == 401 && r.head.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s: a 401 that does not say how", columns[0], columns[1])
			}
		}
	}
	everyRoute(t, asked)
}

// bearer exchanges a token at the token endpoint.
func (s *site) bearer(token, scope string) string {
	s.t.Helper()
	r, err := http.NewRequest("GET", s.url+"/token?scope="+scope, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.SetBasicAuth("x", token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || body.Token == "" {
		s.t.Fatalf("no bearer: %s %v", resp.Status, err)
	}
	return body.Token
}

// everyRoute compares what was asked with the document.
func everyRoute(t *testing.T, asked map[string]bool) {
	t.Helper()
	var doc struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal([]byte(api.Document()), &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		pattern := pathPattern(path)
		for method := range methods {
			found := false
			for one := range asked {
				m, p, _ := strings.Cut(one, " ")
				p, _, _ = strings.Cut(p, "?")
				found = found || strings.EqualFold(m, method) && pattern.MatchString(p)
			}
			if !found {
				t.Errorf("the table has no row for %s %s", strings.ToUpper(method), path)
			}
		}
	}
}
