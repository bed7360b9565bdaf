package serve

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skl-project/skl/index/query"
)

func openTest(t testing.TB, dir string) *Feedback {
	t.Helper()
	f, err := OpenFeedback(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func handle(id, file, kind string) query.Handle {
	return query.Handle{ID: id, FilePath: file, NodeType: kind, TokenCount: 100}
}

func content(h query.Handle) query.Content {
	return query.Content{HandleID: h.ID, FilePath: h.FilePath, TokenCount: h.TokenCount}
}

// Weakness 8: what is expanded often is preferred, by the directory that a path relative to the repository lies in, and an old event counts less.
func TestPriors(t *testing.T) {
	now := time.Now()
	f := openTest(t, t.TempDir())
	use := func(at time.Time, repo string) {
		for i := range 100 {
			good := handle(fmt.Sprintf("h%d", 2*i), "src/auth/login.go", "function")
			bad := handle(fmt.Sprintf("h%d", 2*i+1), "docs/guide/auth.md", "section")
			f.RecordQuery(repo, "login", "", []query.Handle{bad, good}, at)
			f.RecordExpand(repo, []query.Content{content(good)}, at)
		}
		if err := f.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := f.Priors(t.Context(), "/r", now); err != nil || p.Of("function", "src/auth/login.go") != 0 {
		t.Errorf("before anything: %v, %v", p, err)
	}
	use(now.Add(-time.Hour), "/r")
	p, err := f.Priors(t.Context(), "/r", now)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := p.Of("function", "src/auth/other.go"), p.Of("section", "docs/guide/b.md")
	if good < 0.1 || bad > -0.1 || good > 1 || bad < -1 {
		t.Errorf("expanded %f, not expanded %f", good, bad)
	}
	if other := p.Of("chunk", "lib/x.go"); other != 0 {
		t.Errorf("what was never seen: %f", other)
	}
	if p.Globs["src/auth/**"] == 0 {
		t.Errorf("globs are %v", p.Globs)
	}
	if p, _ := f.Priors(t.Context(), "/another", now); p.Of("function", "src/auth/login.go") != 0 {
		t.Error("feedback of one repository counts for another")
	}
	live := f.prior(t.Context(), "/r")
	if got := live("function", "src/auth/login.go"); got <= 0 {
		t.Errorf("an index that is opened is told %f", got)
	}
	f.renew("/r", f.priors["/r"], time.Now().Add(30*24*time.Hour))
	if got := live("function", "src/auth/login.go"); got < 0 || got > good/2 {
		t.Errorf("an index that is open is told %f a month later", got)
	}
	// Ages are whole days, so that a week is seven or eight of them.
	later, err := f.computePriors(t.Context(), "/r", now.Add(7*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if l := later.Of("function", "src/auth/login.go"); l <= 0 || l >= good {
		t.Errorf("after a week %f is %f", good, l)
	}
}

func TestFeedbackMetrics(t *testing.T) {
	f := openTest(t, t.TempDir())
	now := time.Now()
	var seven []query.Handle
	for i := range 7 {
		seven = append(seven, handle(fmt.Sprintf("h%d", i), fmt.Sprintf("a/f%d.go", i), "function"))
	}
	f.RecordQuery("/r", "old", "", seven, now.Add(-8*24*time.Hour))
	f.RecordQuery("/r", "first", "", seven, now)
	f.RecordExpand("/r", []query.Content{content(seven[0]), content(seven[1])}, now)
	f.RecordQuery("/r", "second", "", seven[5:], now)
	f.RecordQuery("/r", "third", "", seven, now)
	f.RecordExpand("/r", []query.Content{content(seven[6])}, now)
	f.RecordExpand("/r", []query.Content{{HandleID: "unknown", FilePath: "x.go", TokenCount: 100}}, now)
	if known, err := f.RecordReport(t.Context(), "/r", "third", []string{"h5"}, []string{"h5", "nobody"}, now); known != 2 || err != nil {
		t.Errorf("known %d, %v", known, err)
	}
	m, err := f.Metrics(t.Context(), "/r", 7)
	// Three of the sixteen handles of the week were expanded, and one more was called useful; two queries led to that, in one of them among the first five.
	if err != nil || m.SampleCount != 3 || math.Abs(m.HandleExpandAcceptRate-4.0/16) > 1e-9 || m.AvgTokensPerExpand != 100 || math.Abs(m.GlobHitRateAtK-0.5) > 1e-9 {
		t.Errorf("got %+v, %v", m, err)
	}
	if _, err := f.Metrics(t.Context(), "/r", 31); err == nil {
		t.Error("31 days were accepted")
	}
	var none *Feedback
	none.RecordQuery("/r", "x", "", seven, now)
	if m, err := none.Metrics(t.Context(), "/r", 7); err != nil || m.SampleCount != 0 || none.Close() != nil {
		t.Error("a nil Feedback does something")
	}
}

// Records survive, those that are old or too many are forgotten, and a damaged file is replaced.
func TestFeedbackFile(t *testing.T) {
	dir := t.TempDir()
	f := openTest(t, dir)
	now := time.Now()
	f.RecordQuery("/r", "new", "", []query.Handle{handle("h1", "a.go", "chunk")}, now)
	f.RecordQuery("/r", "old", "", []query.Handle{handle("h2", "a.go", "chunk")}, now.Add(-31*24*time.Hour))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.RecordQuery("/r", "late", "", nil, now) // after the end: nothing happens
	f = openTest(t, dir)
	var texts, handles int
	if err := f.db.QueryRow("SELECT (SELECT count(*) FROM query_events), (SELECT count(*) FROM query_handles)").Scan(&texts, &handles); err != nil || texts != 1 || handles != 1 {
		t.Errorf("%d queries, %d handles, %v", texts, handles, err)
	}
	tx, err := f.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for range feedbackQueries + 10 {
		if _, err := tx.Exec("INSERT INTO query_events (at, repo, text, glob, handles, tokens) VALUES (?, '/r', '', '', 0, 0)", now.Unix()); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.prune(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if err := f.db.QueryRow("SELECT count(*) FROM query_events").Scan(&texts); err != nil || texts != feedbackQueries {
		t.Errorf("%d queries, %v", texts, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "feedback.db")
	if err := os.WriteFile(file, []byte("this is no database, but text that is long enough to look like a file of some other kind"), 0o600); err != nil {
		t.Fatal(err)
	}
	f = openTest(t, dir)
	if m, err := f.Metrics(t.Context(), "/r", 7); err != nil || m.SampleCount != 0 {
		t.Errorf("after damage: %+v, %v", m, err)
	}
	if _, err := f.db.Exec("PRAGMA user_version = 2"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err := OpenFeedback(t.Context(), dir); err == nil {
		f.Close()
		t.Error("a file of a later version was opened")
	}
	if info, err := os.Stat(file); err != nil || info.Size() < 4096 {
		t.Error("a file of a later version was replaced")
	}
}

// BenchmarkRecord is what recording costs the query that is recorded.
func BenchmarkRecord(b *testing.B) {
	f := openTest(b, b.TempDir())
	var list []query.Handle
	for i := range 16 {
		list = append(list, handle(fmt.Sprintf("h%d", i), "a/b/c.go", "function"))
	}
	for b.Loop() {
		f.RecordQuery("/r", "a question", "", list, time.Now())
	}
}

// Feedback moves the answers of an index that is open, without another event, and answers that were kept before are others.
func TestFeedbackMovesTheLiveProcess(t *testing.T) {
	f := openTest(t, t.TempDir())
	live := f.prior(t.Context(), "/r")
	if got := live("function", "src/auth/login.go"); got != 0 {
		t.Fatalf("before any feedback it is %f", got)
	}
	version := f.version("/r")
	var handles []query.Handle
	for i := range 80 {
		kind, path := "function", fmt.Sprintf("src/auth/f%d.go", i)
		if i%2 == 1 {
			kind, path = "chunk", fmt.Sprintf("docs/f%d.md", i)
		}
		h := handle(fmt.Sprintf("h%024x", i), path, kind)
		handles = append(handles, h)
	}
	f.queried("/r", "login", "", handles)
	for _, h := range handles {
		if h.NodeType == "function" {
			f.expanded("/r", []query.Content{{HandleID: h.ID, FilePath: h.FilePath}})
		}
	}
	if err := f.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if priorsFor > 25*time.Second {
		t.Errorf("priors hold for %v", priorsFor)
	}
	f.priors["/r"].at.Add(-int64(priorsFor))
	if got := live("function", "src/auth/login.go"); got <= 0 {
		t.Errorf("after %v it is %f", priorsFor, got)
	}
	if f.version("/r") == version {
		t.Error("answers that were kept are given again")
	}
}

func TestWantsText(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "application/json, text/plain": false, "text/plain;version=0.0.4": true,
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2": true,
	} {
		if got := wantsText(accept); got != want {
			t.Errorf("wantsText(%q) = %v", accept, got)
		}
	}
}

// The command that a hint gives starts a service where the client looks for it.
func TestAddrFlag(t *testing.T) {
	for address, want := range map[string]string{"http://127.0.0.1:3000": "", "http://127.0.0.1:4123": " --addr 127.0.0.1:4123", "http://host": "", ":": ""} {
		if got := addrFlag(address); got != want {
			t.Errorf("addrFlag(%q) = %q", address, got)
		}
	}
}
