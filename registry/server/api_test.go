package server

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/api"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/registrytest"
)

// A site is a running registry and what a client needs to talk to it.
type site struct {
	t     testing.TB
	s     *Server
	url   string
	admin string // a token
}

func newSite(t testing.TB, change func(*Config)) *site {
	t.Helper()
	s, url := start(t, change)
	return &site{t: t, s: s, url: url, admin: s.AdminToken}
}

// A reply is what came back.
type reply struct {
	status int
	head   http.Header
	body   []byte
}

// json reads the body into v.
func (r reply) json(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
}

// do sends a request and compares the answer with openapi.json. The body is JSON, unless it
// is []byte; header is pairs.
func (s *site) do(token, method, path string, body any, header ...string) reply {
	s.t.Helper()
	var content io.Reader
	media := ""
	switch b := body.(type) {
	case nil:
	case []byte:
		content, media = bytes.NewReader(b), wire.MediaZip
	default:
		text, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		content, media = bytes.NewReader(text), wire.MediaJSON
	}
	r, err := http.NewRequest(method, s.url+path, content)
	if err != nil {
		s.t.Fatal(err)
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	answer := reply{resp.StatusCode, resp.Header, text}
	c, err := theContract()
	if err != nil {
		s.t.Fatal(err)
	}
	c.check(s.t, method, path, answer)
	return answer
}

// must is do for what has to succeed with the status.
func (s *site) must(status int, token, method, path string, body any, header ...string) reply {
	s.t.Helper()
	r := s.do(token, method, path, body, header...)
	if r.status != status {
		s.t.Fatalf("%s %s: %d, want %d: %s", method, path, r.status, status, r.body)
	}
	return r
}

// namespace makes one.
func (s *site) namespace(name string, public bool) {
	s.t.Helper()
	s.must(201, s.admin, "POST", "/api/v1/namespaces", wire.NewNamespace{Name: name, Public: public})
}

// token makes one with a role, for an account of its own.
func (s *site) token(namespace, role string) string {
	s.t.Helper()
	var t wire.Token
	s.must(201, s.admin, "POST", "/api/v1/tokens", wire.NewToken{Account: role + "-of-" + strings.Trim(namespace, "*"), Namespace: namespace, Role: role}).json(s.t, &t)
	return t.Text
}

// archive is a zip of a skill; files are pairs of path and content.
func archive(t testing.TB, name string, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	files = append([]string{"SKILL.md", "---\nname: " + name + "\ndescription: Does what " + name + " does.\n---\n\n# " + name + "\n"}, files...)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = io.WriteString(f, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// publish publishes an archive.
func (s *site) publish(token, ref string, files ...string) wire.Version {
	s.t.Helper()
	repo, version, _ := strings.Cut(ref, "@")
	_, name, _ := strings.Cut(repo, "/")
	var v wire.Version
	s.must(201, token, "PUT", "/api/v1/skills/"+repo+"/versions/"+version, archive(s.t, name, files...)).json(s.t, &v)
	return v
}

// A release goes its whole way: published, found, read, compared, yanked, blocked.
func TestLifeOfARelease(t *testing.T) {
	s := newSite(t, nil)
	s.namespace("acme", true)
	publisher := s.token("acme", "maintainer")
	v := s.publish(publisher, "acme/pdf@1.0.0", "scripts/run.py", "print(1)\nprint(2)\n", "logo.png", "\x89PNG\x00\x01")
	if v.State != "approved" || v.Log == nil || v.Log.Index < 0 || len(v.Files) != 3 || v.Tree == "" || v.Publisher != "maintainer-of-acme" {
		t.Fatalf("published: %+v", v)
	}
	const at = "/api/v1/skills/acme/pdf"

	again := s.do(publisher, "PUT", at+"/versions/1.0.0", archive(t, "pdf"))
	var p wire.Problem
	again.json(t, &p)
	if again.status != 409 || p.Code != "version_exists" || p.Type != "urn:skl:problem:version_exists" || again.head.Get("Content-Type") != wire.MediaProblem {
		t.Errorf("another release of the version: %d %+v", again.status, p)
	}
	s.publish(publisher, "acme/pdf@1.1.0", "scripts/run.py", "print(1)\nprint(3)\n", "notes.md", "```sh\ncurl https://a.example\n```\n")

	var skill wire.Skill
	s.must(200, "", "GET", at, nil).json(t, &skill)
	if skill.Latest != "1.1.0" || skill.Versions != 2 {
		t.Errorf("skill: %+v", skill)
	}
	var found wire.SearchResult
	s.must(200, "", "GET", "/api/v1/search?q=what+pd&namespace=acme&signed=false", nil).json(t, &found)
	if found.Total != 1 || found.Items[0].Name != "pdf" || found.Facets["namespace"]["acme"] != 1 {
		t.Errorf("search: %+v", found)
	}

	text := s.must(200, "", "GET", at+"/versions/1.0.0/files/scripts/run.py", nil)
	if string(text.body) != "print(1)\nprint(2)\n" || text.head.Get("Content-Type") != "text/plain; charset=utf-8" ||
		!strings.Contains(text.head.Get("Content-Security-Policy"), "sandbox") || text.head.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("file: %q %v", text.body, text.head)
	}
	if raw := s.must(200, "", "GET", at+"/versions/1.0.0/files/logo.png", nil); raw.head.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("an image is shown as %s", raw.head.Get("Content-Type"))
	}
	s.must(304, "", "GET", at+"/versions/1.0.0/files/logo.png", nil, "If-None-Match", s.do("", "GET", at+"/versions/1.0.0/files/logo.png", nil).head.Get("ETag"))

	var d wire.Diff
	s.must(200, "", "GET", at+"/versions/1.0.0/diff/1.1.0", nil).json(t, &d)
	var lines []string
	for _, f := range d.Files {
		lines = append(lines, f.Path+" "+f.Status)
	}
	if got := strings.Join(lines, ", "); got != "logo.png removed, notes.md added, scripts/run.py changed" {
		t.Errorf("diff: %s", got)
	} else if want := "@@ -1,2 +1,2 @@\n print(1)\n-print(2)\n+print(3)\n"; d.Files[2].Text != want {
		t.Errorf("diff of a file:\n%s\nwant\n%s", d.Files[2].Text, want)
	}
	if got := strings.Join(d.Permissions, ", "); got != "+ run:curl  notes.md:2, + net:a.example  notes.md:2" {
		t.Errorf("permissions: %s", got)
	}

	zipped := s.must(200, "", "GET", at+"/versions/1.0.0/download", nil)
	if r, err := zip.NewReader(bytes.NewReader(zipped.body), int64(len(zipped.body))); err != nil || len(r.File) != 3 {
		t.Errorf("download: %v", err)
	}

	s.must(400, publisher, "POST", at+"/versions/1.1.0/actions", wire.Action{Action: "yank"}) // needs a reason
	s.must(200, publisher, "POST", at+"/versions/1.1.0/actions", wire.Action{Action: "yank", Reason: "deletes too much"})
	s.must(200, "", "GET", at, nil).json(t, &skill)
	if skill.Latest != "1.0.0" {
		t.Errorf("after a yank the latest is %s", skill.Latest)
	}
	s.must(200, "", "GET", at+"/versions/1.1.0/download", nil) // still there for those who locked it
	s.must(200, s.admin, "POST", at+"/versions/1.1.0/actions", wire.Action{Action: "block", Reason: "malware"})
	for _, path := range []string{"", "/download", "/files", "/files/SKILL.md", "/diff/1.0.0"} {
		r := s.do("", "GET", at+"/versions/1.1.0"+path, nil)
		r.json(t, &p)
		if r.status != 410 || p.Code != "blocked" || !strings.Contains(p.Detail, "malware") {
			t.Errorf("blocked%s: %d %+v", path, r.status, p)
		}
	}
	var list wire.Page[wire.VersionSummary]
	s.must(200, "", "GET", at+"/versions", nil).json(t, &list)
	if len(list.Items) != 2 || list.Items[0].State != "blocked" || list.Items[0].Reason != "malware" {
		t.Errorf("versions: %+v", list)
	}
}

// A version's ETag holds while its proof and its downloads change, and not when its state does.
func TestConditionalRequests(t *testing.T) {
	s := newSite(t, nil)
	s.namespace("acme", true)
	s.publish(s.admin, "acme/pdf@1.0.0")
	const at = "/api/v1/skills/acme/pdf/versions/1.0.0"
	tag := s.do("", "GET", at, nil).head.Get("ETag")
	s.publish(s.admin, "acme/other@1.0.0") // the log grows
	s.must(200, "", "GET", at+"/download", nil)
	if err := s.s.Registry.FlushDownloads(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.must(304, "", "GET", at, nil, "If-None-Match", tag)
	s.must(200, s.admin, "POST", at+"/actions", wire.Action{Action: "deprecate", Reason: "use other"})
	changed := s.must(200, "", "GET", at, nil, "If-None-Match", tag)
	if changed.head.Get("ETag") == tag || changed.head.Get("Cache-Control") != "public, no-cache" {
		t.Errorf("after a change: %v", changed.head)
	}
	if own := s.do(s.admin, "GET", at, nil); own.head.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("with a token: %s", own.head.Get("Cache-Control"))
	}
	var downloads wire.Downloads
	s.must(200, "", "GET", "/api/v1/skills/acme/pdf/downloads", nil).json(t, &downloads)
	if downloads.Total != 1 || downloads.Versions["1.0.0"] != 1 || len(downloads.Days) != 1 {
		t.Errorf("downloads: %+v", downloads)
	}
}

// Pages are followed by cursor and by Link, and hold everything once.
func TestPages(t *testing.T) {
	s := newSite(t, nil)
	s.namespace("acme", true)
	for _, name := range []string{"alpha", "bravo", "charlie", "delta", "foxtrot"} {
		s.publish(s.admin, "acme/"+name+"@1.0.0")
	}
	var names []string
	path := "/api/v1/skills?namespace=acme&limit=2"
	for pages := 0; path != ""; pages++ {
		r := s.must(200, "", "GET", path, nil)
		var page wire.Page[wire.Skill]
		r.json(t, &page)
		for _, skill := range page.Items {
			names = append(names, skill.Name)
		}
		link := r.head.Get("Link")
		if (page.Next == "") != (link == "") || pages > 5 {
			t.Fatalf("next %q, Link %q", page.Next, link)
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
	}
	if got := strings.Join(names, " "); got != "alpha bravo charlie delta foxtrot" {
		t.Errorf("pages hold %s", got)
	}
	seen := 0
	for path = "/api/v1/audit?limit=4"; path != ""; {
		r := s.must(200, s.admin, "GET", path, nil)
		var page wire.Page[wire.Event]
		r.json(t, &page)
		seen += len(page.Items)
		path, _, _ = strings.Cut(strings.TrimPrefix(r.head.Get("Link"), "<"), ">")
	}
	if seen < 6 {
		t.Errorf("the audit trail has %d events", seen)
	}
}

// A bad request is answered by a problem with its status.
func TestProblems(t *testing.T) {
	s := newSite(t, nil)
	s.namespace("acme", true)
	s.publish(s.admin, "acme/pdf@1.0.0")
	const v = "/api/v1/skills/acme/pdf/versions/"
	for _, tt := range []struct {
		what, method, path string
		body               any
		header             string // of Content-Type
		status             int
		code               string
	}{
		{"unknown path", "GET", "/api/v1/nothing", nil, "", 404, "not_found"},
		{"unknown path of the server", "GET", "/nothing/here", nil, "", 404, "not_found"},
		{"wrong method", "DELETE", "/api/v1/skills", nil, "", 405, "method_not_allowed"},
		{"unknown field", "POST", "/api/v1/namespaces", map[string]any{"name": "x", "admin": true}, "", 400, "invalid_request"},
		{"not JSON", "POST", "/api/v1/namespaces", []byte("{"), "application/json", 400, "invalid_request"},
		{"two values", "POST", "/api/v1/namespaces", []byte(`{"name":"x"} {}`), "application/json", 400, "invalid_request"},
		{"another type", "POST", "/api/v1/namespaces", []byte(`{"name":"x"}`), "text/plain", 415, "unsupported_media"},
		{"too much JSON", "POST", "/api/v1/namespaces", []byte(`{"name":"` + strings.Repeat("x", api.MaxJSON) + `"}`), "application/json", 413, "too_large"},
		{"existing namespace", "POST", "/api/v1/namespaces", wire.NewNamespace{Name: "acme"}, "", 409, "namespace_exists"},
		{"not a number", "GET", "/api/v1/skills?limit=many", nil, "", 400, "invalid_request"},
		{"too many", "GET", "/api/v1/skills?limit=101", nil, "", 400, "invalid_request"},
		{"foreign cursor", "GET", "/api/v1/skills?cursor=!", nil, "", 400, "invalid_request"},
		{"unknown parameter", "GET", "/api/v1/audit?since=garbage", nil, "", 400, "invalid_request"},
		{"unknown parameter of a list without pages", "GET", "/api/v1/skills/acme/pdf/versions?limit=1", nil, "", 400, "invalid_request"},
		{"unknown parameter of a change", "PUT", "/api/v1/skills/acme/pdf/versions/9.0.0?dry_run=true", nil, "", 400, "invalid_request"},
		{"parameter twice", "GET", "/api/v1/skills?limit=1&limit=2", nil, "", 400, "invalid_request"},
		{"malformed query", "GET", "/api/v1/skills?limit=%zz", nil, "", 400, "invalid_request"},
		{"unknown order", "GET", "/api/v1/search?sort=price", nil, "", 400, "invalid_request"},
		{"signed is neither", "GET", "/api/v1/search?signed=perhaps", nil, "", 400, "invalid_request"},
		{"unknown version", "GET", v + "9.9.9", nil, "", 404, "unknown_version"},
		{"unknown file", "GET", v + "1.0.0/files/none.md", nil, "", 404, "unknown_file"},
		{"unknown action", "POST", v + "1.0.0/actions", wire.Action{Action: "burn", Reason: "x"}, "", 400, "invalid_request"},
		{"wrong state", "POST", v + "1.0.0/actions", wire.Action{Action: "unyank"}, "", 409, "wrong_state"},
		{"no archive", "PUT", v + "1.1.0", []byte("not a zip"), "application/zip", 400, ""},
		{"archive of another name", "PUT", v + "1.1.0", archive(t, "other"), "application/zip", 400, ""},
		{"unknown manifest", "PUT", v + "1.1.0", wire.PublishRequest{Manifest: "sha256:" + strings.Repeat("0", 64)}, "", 404, ""},
		{"no type", "PUT", v + "1.1.0", []byte("x"), "multipart/form-data", 415, "unsupported_media"},
		{"unknown token", "DELETE", "/api/v1/tokens/000000000000", nil, "", 404, "unknown_token"},
		{"unknown tile", "GET", "/log/tile/0/999", nil, "", 404, "not_found"},
		{"malformed tile", "GET", "/log/tile/x", nil, "", 404, "not_found"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			var header []string
			if tt.header != "" {
				header = []string{"Content-Type", tt.header}
			}
			r := s.do(s.admin, tt.method, tt.path, tt.body, header...)
			var p wire.Problem
			r.json(t, &p)
			if r.status != tt.status || p.Status != tt.status || tt.code != "" && p.Code != tt.code {
				t.Errorf("%d %s", r.status, r.body)
			}
			if r.head.Get("Content-Type") != wire.MediaProblem || p.Type != "urn:skl:problem:"+p.Code || p.Title == "" || p.Detail == "" {
				t.Errorf("%s %s", r.head.Get("Content-Type"), r.body)
			}
			if r.status == 405 && r.head.Get("Allow") != "GET, HEAD" {
				t.Errorf("Allow %q", r.head.Get("Allow"))
			}
		})
	}
}

// Both ways in are noted once an hour: showing a token to the API, and to the token endpoint.
func TestSignInsAreNoted(t *testing.T) {
	s := newSite(t, nil)
	s.namespace("acme", true)
	first, second := s.token("acme", "reader"), s.token("acme", "publisher")
	for range 3 {
		s.must(200, first, "GET", "/api/v1/whoami", nil)
		r, err := http.NewRequest("GET", s.url+"/token?scope=repository:acme/pdf:pull", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("x", second)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	var page wire.Page[wire.Event]
	s.must(200, s.admin, "GET", "/api/v1/audit?action=sign-in&namespace=acme", nil).json(t, &page)
	if len(page.Items) != 2 || page.Items[0].Token == "" || page.Items[0].Remote != "127.0.0.1" {
		t.Errorf("sign-ins: %+v", page.Items)
	}
	var tokens wire.Page[wire.Token]
	s.must(200, first, "GET", "/api/v1/tokens", nil).json(t, &tokens)
	if len(tokens.Items) != 1 || tokens.Items[0].LastUsed.IsZero() {
		t.Errorf("tokens: %+v", tokens.Items)
	}
}

func TestQueue(t *testing.T) {
	s := newSite(t, nil)
	s.must(201, s.admin, "POST", "/api/v1/namespaces", wire.NewNamespace{Name: "acme", Public: true, Policy: wire.Policy{ManualApproval: true}})
	for _, name := range []string{"alpha", "bravo", "charlie"} {
		s.publish(s.admin, "acme/"+name+"@1.0.0")
	}
	var names []string
	for path := "/api/v1/queue?namespace=acme&limit=2"; path != ""; {
		r := s.must(200, s.admin, "GET", path, nil)
		var page wire.Page[wire.Waiting]
		r.json(t, &page)
		for _, w := range page.Items {
			names = append(names, w.Name)
			if w.State != wire.Quarantined || w.For != "decision" || w.Publisher != "admin" || !w.Yours || w.Since.IsZero() || w.Command != "skl registry approve acme/"+w.Name+"@1.0.0" {
				t.Errorf("%+v", w)
			}
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(r.head.Get("Link"), "<"), ">")
	}
	if got := strings.Join(names, " "); got != "alpha bravo charlie" {
		t.Errorf("the queue holds %s", got)
	}
	s.must(401, "", "GET", "/api/v1/queue", nil)
	s.must(400, s.admin, "GET", "/api/v1/queue?cursor=eA", nil)
	s.must(404, s.admin, "GET", "/api/v1/queue?namespace=nowhere", nil)
}

// TestBlockWhileTheLogCannotBeShown blocks a release while the store of the log's heads is away: the answer says what holds and what does not, and to ask
// again is no mistake.
func TestBlockWhileTheLogCannotBeShown(t *testing.T) {
	s := newSite(t, nil)
	heads := &registrytest.Shelf{}
	s.s.Registry.Heads = heads
	s.namespace("acme", true)
	s.publish(s.admin, "acme/pdf@1.0.0")
	path := "/api/v1/skills/acme/pdf/versions/1.0.0"
	heads.Away = true
	block := map[string]string{"action": "block", "reason": "it steals"}
	got := s.must(503, s.admin, "POST", path+"/actions", block)
	if !strings.Contains(string(got.body), "acme/pdf@1.0.0 is blocked, and the log does not show that yet: the store of the registry's blobs does not answer") {
		t.Errorf("%s", got.body)
	}
	s.must(410, "", "GET", path+"/download", nil)
	heads.Away = false
	events := func() int {
		var all struct{ Items []any }
		s.must(200, s.admin, "GET", "/api/v1/audit?action=block", nil).json(t, &all)
		return len(all.Items)
	}
	s.must(200, s.admin, "POST", path+"/actions", block)
	if n := events(); n != 1 {
		t.Errorf("%d blocks were noted", n)
	}
	s.must(409, s.admin, "POST", path+"/actions", map[string]string{"action": "block", "reason": "another"})
	s.must(200, s.admin, "POST", path+"/actions", map[string]string{"action": "unblock"})
	s.must(200, s.admin, "POST", path+"/actions", block)
	if n := events(); n != 2 {
		t.Errorf("%d blocks were noted", n)
	}
	// A reject can be taken back by others than a block, so it is none.
	s.must(200, s.admin, "POST", path+"/actions", map[string]string{"action": "unblock"})
	s.must(200, s.admin, "POST", path+"/actions", map[string]string{"action": "quarantine", "reason": "it steals"})
	reject := map[string]string{"action": "reject", "reason": "it steals"}
	s.must(200, s.admin, "POST", path+"/actions", reject)
	s.must(200, s.admin, "POST", path+"/actions", reject)
	s.must(409, s.admin, "POST", path+"/actions", block)
}
