package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/tlog"
)

// newReplicas opens n servers of one registry.
func newReplicas(t *testing.T, n int) []*site {
	another := metatest.Shared(t)
	var sites []*site
	for i := range n {
		sites = append(sites, newSite(t, func(c *Config) { c.Data, c.Replica = another(), fmt.Sprint("r", i) }))
		sites[i].admin = sites[0].admin
	}
	return sites
}

// A change by one replica holds at the other from the next request on: rights, states, names, the index that clients read.
func TestReplicasAgree(t *testing.T) {
	s := newReplicas(t, 2)
	a, b := s[0], s[1]
	a.namespace("acme", true)
	a.namespace("secret", false)
	reader := b.token("secret", "reader")
	a.publish(a.admin, "secret/pdf@1.0.0")
	b.must(200, reader, "GET", "/api/v1/skills/secret/pdf", nil)
	b.publish(b.admin, "acme/pdf@1.0.0")
	const index, pdf = "/.well-known/agent-skills/index.json", "/api/v1/skills/acme/pdf/versions/1.0.0"
	for _, s := range s {
		if got := s.must(200, "", "GET", index, nil); !strings.Contains(string(got.body), "pdf") {
			t.Errorf("the index lacks what was published: %s", got.body)
		}
	}
	act := func(at *site, action string) {
		at.must(200, at.admin, "POST", pdf+"/actions", wire.Action{Action: action, Reason: "for a test"})
	}
	act(a, "yank")
	var v wire.Version
	if b.must(200, "", "GET", pdf, nil).json(t, &v); v.State != wire.Yanked {
		t.Errorf("state %s after a yank by the other", v.State)
	}
	act(a, "block")
	b.must(410, "", "GET", pdf+"/download", nil)
	if got := b.must(200, "", "GET", index, nil); strings.Contains(string(got.body), "pdf") {
		t.Errorf("the index still has what was blocked: %s", got.body)
	}
	var states wire.States
	if b.must(200, "", "GET", "/api/v1/log/states", nil).json(t, &states); len(states.Releases) != 1 || states.Releases[0].State != "blocked" {
		t.Errorf("the feed of the other: %+v", states)
	}
	var tokens wire.Page[wire.Token]
	a.must(200, a.admin, "GET", "/api/v1/tokens", nil).json(t, &tokens)
	for _, token := range tokens.Items {
		if token.Account == "reader-of-secret" {
			a.must(204, a.admin, "DELETE", "/api/v1/tokens/"+token.ID, nil)
		}
	}
	b.must(401, reader, "GET", "/api/v1/skills/secret/pdf", nil)
}

// Of many who publish one version, or names that look alike, to two replicas, one is first, and the others are told so.
func TestReplicasRace(t *testing.T) {
	const n = 20
	s := newReplicas(t, 2)
	s[0].namespace("acme", true)
	race := func(refs func(i int) string) (first []int) {
		t.Helper()
		replies := make([]reply, n)
		var all sync.WaitGroup
		for i := range n {
			ref := refs(i)
			repo, version, _ := strings.Cut(ref, "@")
			_, name, _ := strings.Cut(repo, "/")
			content := archive(t, name, "who", fmt.Sprint(i))
			all.Go(func() {
				replies[i] = s[i%2].do(s[0].admin, "PUT", "/api/v1/skills/"+repo+"/versions/"+version, content)
			})
		}
		all.Wait()
		for i, r := range replies {
			switch r.status {
			case 201:
				first = append(first, i)
			case 409:
			default:
				t.Errorf("%s: %d %s", refs(i), r.status, r.body)
			}
		}
		return first
	}
	if first := race(func(int) string { return "acme/one@1.0.0" }); len(first) != 1 {
		t.Errorf("%v were first", first)
	}
	// Each has a namespace of its own. A name is for all of them, one that looks like it for none.
	for i := range n {
		s[0].namespace(fmt.Sprint("team-", i), true)
	}
	names := []string{"pdf-forms", "pdfforms"}
	first := race(func(i int) string { return fmt.Sprintf("team-%d/%s@1.0.0", i, names[i/2%2]) })
	for _, i := range first {
		if names[i/2%2] != names[first[0]/2%2] {
			t.Errorf("names that look alike were both published: %v", first)
		}
	}
	if err := s[1].s.Registry.VerifyLog(t.Context()); err != nil {
		t.Error(err)
	}
	note, err := s[1].s.Registry.Checkpoint(t.Context())
	if err != nil || !strings.Contains(string(note), fmt.Sprintf("\n%d\n", 1+len(first))) {
		t.Errorf("%d releases have this log: %s, %v", 1+len(first), note, err)
	}
}

// An upload begins at one replica, goes on at the other and ends at the first. Who is late is told where it is, and it is not lost.
func TestReplicasUpload(t *testing.T) {
	s := newReplicas(t, 2)
	s[0].namespace("acme", true)
	content := make([]byte, 20<<20)
	rand.Read(content)
	d := blob.Sum(blob.SHA256, content)
	send := func(at int, method, path string, from, to int) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, s[at].url+path, bytes.NewReader(content[from:to]))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("skl", s[0].admin)
		if to > from {
			r.Header.Set("Content-Type", "application/octet-stream")
			r.Header.Set("Content-Range", fmt.Sprintf("%d-%d", from, to-1))
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	at := send(0, "POST", "/v2/acme/pdf/blobs/uploads/", 0, 0).Header.Get("Location")
	length := 0
	for i, to := range []int{1, 5 << 20, 14 << 20} {
		var statuses [2]int
		var both sync.WaitGroup
		for side := range 2 { // the same bytes by both
			both.Go(func() { statuses[side] = send((i+side)%2, "PATCH", at, length, to).StatusCode })
		}
		both.Wait()
		if min(statuses[0], statuses[1]) != 202 || max(statuses[0], statuses[1]) != 416 {
			t.Fatalf("step %d: %v, want one 202 and one 416", i, statuses)
		}
		length = to
		if got := send(i%2, "GET", at, 0, 0).Header.Get("Range"); got != fmt.Sprintf("0-%d", length-1) {
			t.Errorf("step %d: Range %q after %d bytes", i, got, length)
		}
	}
	if got := send(0, "PUT", at+"?digest="+d.String(), length, len(content)); got.StatusCode != 201 {
		t.Fatalf("PUT: %d", got.StatusCode)
	}
	r, err := http.NewRequest("GET", s[1].url+"/v2/acme/pdf/blobs/"+d.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("skl", s[0].admin)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
	}
}

// A database that goes back under replicas that run, as when a standby takes over that lacked the last commits, gets its log back from
// the bucket. One that has other entries than were shown is told by readyz, and takes no changes.
func TestReplicasGoBack(t *testing.T) {
	s := newReplicas(t, 2)
	s[0].namespace("acme", true)
	for i := range 4 {
		s[i%2].publish(s[0].admin, fmt.Sprintf("acme/pdf@1.%d.0", i))
	}
	before, err := s[0].s.Registry.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db := metatest.SQL(t, s[0].s.cfg.Data)
	goBack := func() {
		t.Helper()
		for _, statement := range []string{
			"DELETE FROM releases WHERE log_index >= 2", "DELETE FROM log_records WHERE id >= 2", fmt.Sprint("DELETE FROM log_hashes WHERE id >= ", tlog.HashIndex(2)),
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'skl' AND pid <> pg_backend_pid()",
		} {
			if _, err := db.Exec(statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
	// publish is an answer from behind the connections that were cut.
	publish := func(s *site, version string) (r reply) {
		for limit := time.Now().Add(20 * time.Second); ; {
			r = s.do(s.admin, "PUT", "/api/v1/skills/acme/pdf/versions/"+version, archive(t, "pdf", "f", "x"))
			if r.status != 503 || !strings.Contains(string(r.body), `"unavailable"`) || time.Now().After(limit) {
				return r
			}
		}
	}
	goBack()
	for i, s := range s {
		if r := publish(s, fmt.Sprintf("2.%d.0", i)); r.status != 201 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	shown, err := tlog.OpenCheckpoint(before, s[0].s.Registry.Key.Public())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range s {
		if size, err := s.s.Registry.LogContinues(t.Context(), shown); err != nil || size < shown.Size {
			t.Errorf("the history is another one: %v", err)
		}
		s.must(200, "", "GET", "/readyz", nil)
	}
	if err := s[0].s.Registry.VerifyLog(t.Context()); err != nil {
		t.Error(err)
	}

	// Now it has others in their place.
	goBack()
	old, err := Attach(t.Context(), s[0].s.cfg.Data)
	if err != nil {
		t.Fatal(err)
	}
	old.Registry.Heads = nil
	for _, action := range []registry.Action{registry.Yank, registry.Unyank} {
		if _, err := old.Registry.Act(t.Context(), system(), "acme", "pdf", "1.0.0", action, "another history"); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	for i, s := range s {
		if r := publish(s, fmt.Sprintf("3.%d.0", i)); r.status != 503 || !strings.Contains(string(r.body), "log_read_only") {
			t.Errorf("a publish to another history: %d %s", r.status, r.body)
		}
		r := s.do("", "GET", "/readyz", nil)
		for limit := time.Now().Add(20 * time.Second); r.status == 200 && time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
			r = s.do("", "GET", "/readyz", nil) // it looks now and then
		}
		if r.status != 503 || !strings.HasPrefix(string(r.body), "log: it has 4 entries, and 6 others were signed\n") {
			t.Errorf("%d %s", r.status, r.body)
		}
		s.must(200, "", "GET", "/api/v1/skills/acme/pdf/versions/1.0.0/download", nil)
	}
}

// A replica that ends says first that it is not ready, and serves on meanwhile; one that is alone ends at once. Metrics count those who serve.
func TestReplicasLeave(t *testing.T) {
	s := newReplicas(t, 2)
	var urls []string
	var stops []func() error
	for _, s := range s {
		s.s.cfg.Drain = Duration(time.Second)
		url, stop := listen(t, s.s)
		defer stop()
		urls, stops = append(urls, url), append(stops, stop)
	}
	page := func(path string) (int, string) {
		t.Helper()
		resp, err := http.Get(urls[0] + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	if status, text := page("/readyz"); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	if _, text := page("/metrics"); !strings.Contains(text, `skl_registry_info{replica="r0",version="unknown"} 1`) {
		t.Errorf("the metrics do not name the replica")
	}
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) { // both have said that they serve
		if n, err := s[1].s.Registry.Beat(t.Context()); err != nil || n == 2 || time.Now().After(limit) {
			if n != 2 {
				t.Fatalf("%d serve, %v", n, err)
			}
			break
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- stops[0]() }()
	for limit := time.Now().Add(20 * time.Second); ; {
		if status, text := page("/readyz"); status == 503 && text == "ends\n" {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("%d %s", status, text)
		}
	}
	if status, _ := page("/api/v1"); status != 200 {
		t.Errorf("what ends does not serve meanwhile: %d", status)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s[0].s.Close()
	began := time.Now()
	if err := stops[1](); err != nil || time.Since(began) > 900*time.Millisecond {
		t.Errorf("the last one took %s, %v", time.Since(began), err)
	}
}

// Clocks may differ by half a minute.
func TestClocks(t *testing.T) {
	s := newSite(t, nil)
	for _, test := range []struct {
		ahead, took time.Duration // of the clock here
		want        string
	}{{0, 0, ""}, {29 * time.Second, 0, ""}, {-29 * time.Second, 0, ""}, {40 * time.Second, 20 * time.Second, "40s ahead of that of the database"},
		{-40 * time.Second, 20 * time.Second, ""}, {-90 * time.Minute, time.Second, "1h29m59s behind that of the database"}} {
		ahead := test.ahead
		slow := slowAnswers{s.s.Registry.Meta, func() { ahead += test.took }}
		clock, err := registry.OpenClock(t.Context(), slow, func() time.Time { return time.Now().Add(ahead) })
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := clockError(clock.Ahead()); err != nil {
			got = notReady(err)
		}
		if got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// slowAnswers are metadata that are read in a time that after lets pass.
type slowAnswers struct {
	meta.Store
	after func()
}

func (s slowAnswers) Read(ctx context.Context, fn func(*meta.Tx) error) error {
	defer s.after()
	return s.Store.Read(ctx, fn)
}
