package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// The requests are those of the protocol's documents, in their order: add, reindex, query, expand.
func TestServiceGolden(t *testing.T) {
	root := sample(t)
	w := start(t, ServiceOptions{Open: real(t)})
	type exchange struct {
		Request string `json:"request"`
		Body    any    `json:"body,omitempty"`
		Status  int    `json:"status"`
		Answer  any    `json:"answer"`
	}
	ask := func(name, method, path string, body any) map[string]any {
		t.Helper()
		status, data := w.raw(method, path, body, nil)
		var answer any
		if len(data) > 0 {
			if err := json.Unmarshal(data, &answer); err != nil {
				t.Fatalf("%s: %v in %s", name, err, data)
			}
		}
		golden(t, "http_"+name, hide(exchange{method + " " + path, body, status, answer}, root, "/absolute/path/to/repo"))
		object, _ := answer.(map[string]any)
		return object
	}
	id := ask("add", "POST", "/repos/add", map[string]any{"path": root, "name": "my-repo"})["repo_id"].(string)
	if again := ask("add_again", "POST", "/repos/add", map[string]any{"path": root + "/src/.."}); again["repo_id"] != id {
		t.Errorf("added twice: %v", again)
	}
	ask("repos_pending", "GET", "/repos", nil)
	ask("reindex", "POST", "/reindex", map[string]any{"repo": id, "glob": "**/*.ts"})
	w.wait(id, stateReady)
	w.index(id)
	ask("repos", "GET", "/repos", nil)
	ask("repo", "GET", "/repos/"+id, nil)
	ask("status", "GET", "/status", nil)
	found := ask("query", "POST", "/query", map[string]any{"repo": id, "pattern": "length", "glob": "src/**/*.ts", "limit": 20, "expand_budget": 1200})
	ask("query_definition", "POST", "/query", map[string]any{"repo": id, "symbol": "validate", "kind": "definition"})
	ask("query_historical_names", "POST", "/query", map[string]any{"repo": id, "patterns": []string{"token", "length"}, "match_mode": "all"})
	ask("query_historical_dsl", "POST", "/query", map[string]any{"repo": id, "dsl": `(definition "login")`})
	ask("query_reference", "POST", "/query", map[string]any{"repo": id, "symbol": "authenticate", "kind": "reference", "limit": 1})
	ask("evidence_pack", "POST", "/evidence_pack", map[string]any{"repo": id, "pattern": "length", "config": map[string]any{"max_handles": 2, "max_per_file": 1, "plan": false}})
	handle := found["handles"].([]any)[0].(map[string]any)
	ask("expand", "POST", "/expand", map[string]any{"repo": id, "handles": []any{
		map[string]any{"id": handle["id"], "generation": handle["generation"]}, map[string]any{"id": strings.TrimPrefix(handle["id"].(string), "h")},
	}})
	ask("feedback", "POST", "/feedback", map[string]any{"repo": id, "query": "authentication", "expanded": []any{handle["id"]}, "useful": []any{handle["id"], "h000000000000000000000000"}})
	ask("error_expand_unknown", "POST", "/expand", map[string]any{"repo": id, "handles": []any{map[string]any{"id": "h000000000000000000000000"}}})
	ask("error_expand_stale", "POST", "/expand", map[string]any{"repo": id, "handles": []any{map[string]any{"id": handle["id"], "generation": 1}}})
	ask("error_unknown_repo", "POST", "/query", map[string]any{"repo": "nobody", "pattern": "x"})
	ask("error_no_git", "POST", "/repos/add", map[string]any{"path": filepath.Join(root, "src")})
	ask("error_query", "POST", "/query", map[string]any{"repo": id, "query": `(grep "x"`})
	ask("error_field", "POST", "/query", map[string]any{"repo": id, "symbl": "x"})
	ask("error_expand_field", "POST", "/expand", map[string]any{"repo": id, "handle_ids": []string{"h"}})
	ask("error_type", "POST", "/expand", map[string]any{"repo": id, "handles": "h"})
	ask("error_endpoint", "GET", "/repositories", nil)
	ask("error_method", "GET", "/query", nil)
	ask("healthz", "GET", "/healthz", nil)
	ask("remove", "DELETE", "/repos/"+id, nil)
	ask("error_removed", "GET", "/repos/"+id, nil)
}

// Weakness 12: repositories and states survive, and a generation of an index that is gone is not taken for one of the index that took its place.
func TestServiceRestart(t *testing.T) {
	root, state := sample(t), t.TempDir()
	first := start(t, ServiceOptions{Open: real(t), StateDir: state})
	id := first.add(root)
	first.index(id)
	_, found := first.ask("POST", "/query", map[string]any{"repo": id, "symbol": "login"})
	handle := found["handles"].([]any)[0].(map[string]any)
	if s, err := NewService(t.Context(), ServiceOptions{Open: real(t), StateDir: state}); err == nil {
		s.Close()
		t.Error("two services have one state")
	} else if !errors.Is(err, diag.Code(codeRunning)) {
		t.Error(err)
	}
	first.end()

	// The cache is another one, as if it had been deleted.
	second := start(t, ServiceOptions{Open: real(t), StateDir: state})
	if _, r := second.ask("GET", "/repos/"+id, nil); r["status"] != stateReady || r["repo_root"] != root || r["commit_sha"] != "0123456789abcdef0123456789abcdef01234567" {
		t.Errorf("after a restart: %v", r)
	}
	if again := second.add(root); again != id {
		t.Errorf("the id was %s and is %s", id, again)
	}
	expand := map[string]any{"repo": id, "handles": []any{map[string]any{"id": handle["id"], "generation": handle["generation"]}}}
	if status, answer := second.ask("POST", "/expand", expand); status != 409 || answer["code"] != codeStale || answer["handles"] == nil {
		t.Errorf("a handle of another index: %d %v", status, answer)
	}
	expand["handles"] = []any{map[string]any{"id": handle["id"]}}
	if status, answer := second.ask("POST", "/expand", expand); status != 200 {
		t.Errorf("a handle that is still right: %d %v", status, answer)
	}
}

// Indexing under way when the process ended is pending, and a damaged file stays as it is.
func TestServiceState(t *testing.T) {
	state := t.TempDir()
	file := filepath.Join(state, "index-service.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"version":1,"repos":[{"repo_id":"a","name":"n","repo_root":"/r","status":"indexing"},{"repo_id":"b","name":"m","repo_root":"/s","status":"error","error":"e"}]}`)
	s, err := NewService(t.Context(), ServiceOptions{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	if all := s.repos.all(); all[0].Status != statePending || all[1].Status != stateError || all[1].Error != "e" {
		t.Errorf("got %+v", all)
	}
	if _, err := s.at(t.Context(), "a"); !errors.Is(err, diag.Code(codeNotReady)) {
		t.Errorf("a repository that is gone: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", `{"version":2}`, `{"version":1,"repos":[{"repo_id":"a","repo_root":"relative"}]}`} {
		write(text)
		if s, err := NewService(t.Context(), ServiceOptions{StateDir: state}); err == nil {
			s.Close()
			t.Errorf("%q was read", text)
		}
		if now, _ := os.ReadFile(file); string(now) != text {
			t.Errorf("%q became %q", text, now)
		}
	}
}

// Weaknesses 7 and 12: an edit is visible to the next query, also when the same query was answered before, and makes handles stale by generation.
func TestServiceEdits(t *testing.T) {
	root := sample(t)
	w := start(t, ServiceOptions{Open: real(t)})
	id := w.add(root)
	w.index(id)
	ask := func() (string, any) {
		_, r := w.ask("POST", "/query", map[string]any{"repo": id, "symbol": "Acquire", "expand_budget": 500})
		if len(r["handles"].([]any)) == 0 {
			return "", nil
		}
		h := r["handles"].([]any)[0].(map[string]any)
		content, _ := h["content"].(string)
		return content, h
	}
	before, handle := ask()
	if again, _ := ask(); again != before || w.metricsNow(true).QueryCacheHits != 1 {
		t.Errorf("the second answer is %q, with %d hits", again, w.metricsNow(true).QueryCacheHits)
	}
	put(t, root, "pool.go", "package pool\n\n// Acquire takes a connection from the pool.\nfunc Acquire() int {\n\treturn 2\n}\n")
	if now, _ := ask(); !strings.Contains(now, "return 2") {
		t.Errorf("after the edit: %q", now)
	}
	old := handle.(map[string]any)
	body := map[string]any{"repo": id, "handles": []any{map[string]any{"id": old["id"], "generation": old["generation"]}}}
	if status, answer := w.ask("POST", "/expand", body); status != 409 {
		t.Errorf("a handle of before: %d %v", status, answer)
	}
	// The index has not looked at the files when this handle is asked for.
	_, handle = ask()
	put(t, root, "pool.go", "package pool\n\n// Acquire takes a connection from the pool.\nfunc Acquire() int {\n\treturn 3\n}\n")
	now := handle.(map[string]any)
	body["handles"] = []any{map[string]any{"id": now["id"], "generation": now["generation"]}}
	if status, answer := w.ask("POST", "/expand", body); status != 409 {
		t.Errorf("a handle of before the last edit: %d %v", status, answer)
	}
	if err := os.Remove(filepath.Join(root, "pool.go")); err != nil {
		t.Fatal(err)
	}
	if now, _ := ask(); now != "" {
		t.Errorf("after the file is gone: %q", now)
	}
}

// While a file is rewritten again and again, no answer holds a text that never was, and a handle with its generation gives that text or is stale.
func TestServiceWhileEdited(t *testing.T) {
	root := sample(t)
	w := start(t, ServiceOptions{Open: real(t)})
	id := w.add(root)
	w.index(id)
	versions := []string{"func Acquire() int {\n\treturn 1\n}", "func Acquire() int {\n\treturn 2 + 2\n}"}
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			put(t, root, "pool.go", "package pool\n\n"+strings.Repeat("// x\n", i%5)+"\n"+versions[i%2]+"\n")
			time.Sleep(15 * time.Millisecond)
		}
	})
	var answered, stale atomic.Int32
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				_, r := w.ask("POST", "/query", map[string]any{"repo": id, "symbol": "Acquire", "kind": "definition", "expand_budget": 1000})
				handles, _ := r["handles"].([]any)
				if len(handles) == 0 {
					continue // the file was empty at that moment, or never held still
				}
				h := handles[0].(map[string]any)
				if c, ok := h["content"].(string); ok && !slices.Contains(versions, c) {
					t.Errorf("a text that never was: %q", c)
				}
				status, e := w.ask("POST", "/expand", map[string]any{"repo": id, "handles": []any{map[string]any{"id": h["id"], "generation": h["generation"]}}})
				switch status {
				case 200:
					answered.Add(1)
					if c := e["contents"].([]any)[0].(map[string]any)["content"]; c != h["content"] && h["content"] != nil {
						t.Errorf("the handle was of %q and is %q", h["content"], c)
					}
				case 409:
					stale.Add(1)
				default:
					t.Errorf("%d %v", status, e)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d answered, %d stale", answered.Load(), stale.Load())
}

// Weakness 12: a reindex does not hold up queries, and a second one joins the first. What breaks is the state of one repository.
func TestServiceReindex(t *testing.T) {
	root := sample(t)
	let := make(chan error)
	f := &fakes{each: func(f *fake) {
		f.updating = func(ctx context.Context) error {
			select {
			case err := <-let:
				if err != nil && err.Error() == "panic" {
					panic("the index broke")
				}
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}}
	w := start(t, ServiceOptions{Open: f.open})
	id := w.add(root)
	reindex := func(want string) {
		t.Helper()
		if _, answer := w.ask("POST", "/reindex", map[string]any{"repo": id}); answer["status"] != want {
			t.Errorf("got %v, want %s", answer, want)
		}
	}
	reindex("indexing")
	reindex("already_indexing")
	w.wait(id, stateIndexing)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if status, answer := w.ask("POST", "/query", map[string]any{"repo": id, "pattern": "Acquire"}); status != 200 {
				t.Errorf("%d %v", status, answer)
			}
		})
	}
	all.Wait()
	let <- nil
	w.wait(id, stateReady)
	for _, wrong := range []string{"no space left on the disk", "panic"} {
		reindex("indexing")
		let <- errors.New(wrong)
		w.wait(id, stateError)
	}
	if status, _ := w.ask("POST", "/query", map[string]any{"repo": id, "pattern": "Acquire"}); status != 200 {
		t.Errorf("a query after a reindex that failed: %d", status)
	}
	reindex("indexing")
	if status, _ := w.ask("DELETE", "/repos/"+id, nil); status != 204 {
		t.Errorf("removing a repository that is indexed: %d", status)
	}
	if !f.made[0].closed {
		t.Error("the index of a removed repository is open")
	}
	id = w.add(root)
	reindex("indexing") // ended by the end of the test
}

// The key is needed everywhere but where nothing is told, in either header.
func TestServiceKey(t *testing.T) {
	root := sample(t)
	w := start(t, ServiceOptions{Open: (&fakes{}).open, Key: "secret-key", Hosts: []string{"index.example"}})
	w.add(root)
	with := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Del("X-Api-Key"); r.Header.Set(name, value) }
	}
	for _, test := range []struct {
		name, path string
		change     func(*http.Request)
		want       int
	}{
		{"with it", "/repos", nil, 200},
		{"as a bearer", "/repos", with("Authorization", "Bearer secret-key"), 200},
		{"without", "/repos", with("X-Other", ""), 401},
		{"wrong", "/repos", with("X-Api-Key", "secret-kez"), 401},
		{"its beginning", "/repos", with("X-Api-Key", "secret"), 401},
		{"basic", "/repos", with("Authorization", "Basic secret-key"), 401},
		{"status", "/status", with("X-Other", ""), 200},
		{"metrics", "/metrics", with("X-Other", ""), 200},
		{"health", "/healthz", with("X-Other", ""), 200},
		{"document", "/openapi.json", with("X-Other", ""), 200},
		{"a configured host", "/repos", func(r *http.Request) { r.Host = "index.example:3000" }, 200},
		{"another host", "/repos", func(r *http.Request) { r.Host = "rebind.example:3000" }, 403},
		{"a page", "/repos", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
	} {
		if status, data := w.raw("GET", test.path, nil, test.change); status != test.want {
			t.Errorf("%s: %d %s", test.name, status, data)
		}
	}
	_, data := w.raw("GET", "/status", nil, with("X-Other", ""))
	if strings.Contains(string(data), root) || !strings.Contains(string(data), "repo_id") {
		t.Errorf("a stranger sees %s", data)
	}
	if _, data = w.raw("GET", "/status", nil, nil); !strings.Contains(string(data), root) {
		t.Errorf("the owner sees %s", data)
	}
}

// Without a key, only this machine's programs are answered, and no web pages.
func TestServiceStrangers(t *testing.T) {
	w := start(t, ServiceOptions{Open: (&fakes{}).open})
	for _, test := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"plain", nil, 400},
		{"localhost", func(r *http.Request) { r.Host = "localhost:3000" }, 400},
		{"the IPv6 loopback", func(r *http.Request) { r.Host = "[::1]:3000" }, 400},
		{"a name that leads here", func(r *http.Request) { r.Host = "attacker.example:3000" }, 403},
		{"a name that begins well", func(r *http.Request) { r.Host = "127.0.0.1.attacker.example" }, 403},
		{"a page", func(r *http.Request) { r.Header.Set("Origin", "https://attacker.example") }, 403},
		{"a page of a modern browser", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"a form", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"no type", func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		{"JSON with a charset", func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") }, 400},
	} {
		status, data := w.raw("POST", "/query", map[string]any{"repo": ""}, test.change)
		var p Problem
		if err := json.Unmarshal(data, &p); err != nil || status != test.want || p.Code == "" || p.Message == "" {
			t.Errorf("%s: %d %s", test.name, status, data)
		}
	}
	if status, _ := w.raw("POST", "/query", `{"repo":"`+strings.Repeat("x", MaxBody)+`"}`, nil); status != 413 {
		t.Errorf("a large body: %d", status)
	}
	for _, body := range []string{"", "[]", "{", `{"repo":1}`, `{"repo":"x"} {}`, "null"} {
		if status, data := w.raw("POST", "/query", body, nil); status != 400 {
			t.Errorf("%q: %d %s", body, status, data)
		}
	}
	response, err := http.Get(w.URL + "/status")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.Header.Get("Access-Control-Allow-Origin") != "" || response.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got %v", response.Header)
	}
}

func TestCheckAddr(t *testing.T) {
	for _, test := range []struct {
		addr, key string
		ok        bool
	}{
		{"127.0.0.1:3000", "", true}, {"127.9.9.9:1", "", true}, {"[::1]:3000", "", true}, {"localhost:3000", "", true}, {"[::ffff:127.0.0.1]:1", "", true},
		{"0.0.0.0:3000", "", false}, {":3000", "", false}, {"[::]:3000", "", false}, {"192.168.0.1:1", "", false}, {"example.org:1", "", false}, {"3000", "k", false},
		{"0.0.0.0:3000", "k", true}, {":3000", "k", true},
	} {
		if err := CheckAddr(test.addr, test.key); (err == nil) != test.ok {
			t.Errorf("%q with key %q: %v", test.addr, test.key, err)
		}
	}
}

// A listener that others reach is refused, one on loopback is served until the end, and then running requests are answered.
func TestServe(t *testing.T) {
	entered, let := make(chan struct{}), make(chan struct{})
	f := &fakes{}
	w := start(t, ServiceOptions{Open: func(ctx context.Context, root string, o Opening) (Index, error) {
		close(entered)
		<-let
		return f.open(ctx, root, o)
	}})
	id := w.add(sample(t))
	if l, err := net.Listen("tcp", "0.0.0.0:0"); err == nil {
		if err := w.Serve(t.Context(), l); !errors.Is(err, diag.Code(codeAddress)) {
			t.Errorf("on all addresses: %v", err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Serve(ctx, l) }()
	answered := make(chan int, 1)
	go func() {
		response, err := http.Post("http://"+l.Addr().String()+"/query", "application/json", strings.NewReader(`{"repo":"`+id+`","pattern":"Acquire"}`))
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		response.Body.Close()
		answered <- response.StatusCode
	}()
	<-entered
	cancel()
	time.Sleep(20 * time.Millisecond)
	close(let)
	if status := <-answered; status != 200 {
		t.Errorf("the running request: %d", status)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A path that was meant for a registry has a token; the log of failures does not.
func TestServiceLogHidesTokens(t *testing.T) {
	var log strings.Builder
	w := start(t, ServiceOptions{Open: new(fakes).open, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r := httptest.NewRequest("GET", "/x/../t/TOKEN/acme", nil)
	r.Host = "localhost"
	w.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("it fails") })).ServeHTTP(httptest.NewRecorder(), r)
	if text := log.String(); strings.Count(text, "/t/REDACTED") != 2 || strings.Contains(text, "TOKEN") {
		t.Errorf("the log says %s", text)
	}
}

// listen serves w on a port of its own until the test ends, and returns the address.
func listen(t *testing.T, w *web) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// Clients that announce a body and send none, more of them than requests are answered at once and than one address has connections, keep
// nobody out.
func TestSlowClients(t *testing.T) {
	long.Slow(t)
	w := start(t, ServiceOptions{Open: new(fakes).open, Key: "k"})
	addr := listen(t, w)
	var slow []net.Conn
	for i := range 300 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		slow = append(slow, c)
		line := []string{"POST /query", "GET /healthz", "POST /nowhere"}[i%3]
		fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: k\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{", line)
	}
	client := &http.Client{Timeout: long.Hang}
	for _, path := range []string{"/healthz", "/status"} {
		r, err := http.NewRequest("GET", "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", "k")
		response, err := client.Do(r)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		response.Body.Close()
		if response.StatusCode != 200 {
			t.Errorf("%s: %d", path, response.StatusCode)
		}
	}
	if n := w.gate.Open(); n > gate.DefaultShare {
		t.Errorf("%d connections are open", n)
	}
	for _, c := range slow {
		c.Close()
	}
}

// A body that never comes is waited for as long as the registry does: 2 s where nobody reads it, and not for each byte beyond its time.
func TestBodiesThatNeverCome(t *testing.T) {
	long.Slow(t)
	w := start(t, ServiceOptions{Open: new(fakes).open, Key: "k"})
	addr := listen(t, w)
	var all sync.WaitGroup
	for _, test := range []struct {
		line, key string
		bound     time.Duration
	}{
		{"POST /nowhere", "k", gate.Linger}, {"POST /query", "", gate.Linger}, {"GET /healthz", "k", gate.Linger}, {"DELETE /query", "k", gate.Linger},
		{"POST /query", "k", bodyTime + gate.Linger},
	} {
		all.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{", test.line, test.key)
			began, bound := time.Now(), test.bound+5*time.Second
			c.SetReadDeadline(began.Add(bound))
			if answer, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
				t.Errorf("%s, key %q: %q, %v after %v", test.line, test.key, answer, err, time.Since(began))
			}
		})
	}
	all.Wait()
}

func TestCheckRepo(t *testing.T) {
	root := sample(t)
	tree := realDir(t)
	put(t, tree, ".git", "gitdir: "+root+"/.git/worktrees/w\n")
	put(t, root, ".git/worktrees/w/HEAD", "ref: refs/heads/side\n")
	put(t, root, ".git/worktrees/w/commondir", "../..\n")
	put(t, root, ".git/packed-refs", "# pack-refs with: peeled\nfedcba9876543210fedcba9876543210fedcba98 refs/heads/side\n")
	for _, test := range []struct{ name, path, want, commit string }{
		{"a repository", root, root, "0123456789abcdef0123456789abcdef01234567"},
		{"a linked working tree", tree, tree, "fedcba9876543210fedcba9876543210fedcba98"},
		{"with dots", root + "/src/..", root, "0123456789abcdef0123456789abcdef01234567"},
		{"below one", root + "/src", "", ""},
		{"nothing", "", "", ""},
		{"relative", ".", "", ""},
		{"gone", root + "/gone", "", ""},
		{"a file", root + "/pool.go", "", ""},
		{"escapes", root + "/\x1b[2J", "", ""},
	} {
		got, err := checkRepo(test.path, true)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
		if err != nil && (diag.ClassOf(err) != diag.Misuse || strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%s: %q", test.name, err)
		}
		if g, _ := findGit(got); test.want != "" && g.commit() != test.commit {
			t.Errorf("%s: commit %q", test.name, g.commit())
		}
	}
	put(t, root, ".git/HEAD", "ref: ../../../etc/passwd\n")
	if g, _ := findGit(root); g.commit() != "" {
		t.Error("a ref outside of the repository was read")
	}
	if os.Getuid() == 0 {
		foreign := sample(t)
		if err := os.Chown(foreign, 12345, 12345); err != nil {
			t.Skip(err)
		}
		if _, err := checkRepo(foreign, true); err == nil {
			t.Error("a repository of another user was taken without a key")
		}
		if _, err := checkRepo(foreign, false); err != nil {
			t.Error(err)
		}
	}
}

// The metrics have the fields that clients know, and a form for Prometheus.
func TestMetrics(t *testing.T) {
	w := start(t, ServiceOptions{Open: real(t)})
	root := sample(t)
	id := w.add(root)
	for range 2 {
		_, r := w.ask("POST", "/query", map[string]any{"repo": id, "symbol": "login"})
		w.ask("POST", "/expand", map[string]any{"repo": id, "handles": []any{map[string]any{"id": r["handles"].([]any)[0].(map[string]any)["id"]}}})
	}
	if err := w.feedback.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, m := w.ask("GET", "/metrics", nil)
	for name, want := range map[string]any{"queries": 2.0, "expands": 2.0, "query_cache_hits": 1.0, "query_cache_misses": 1.0, "query_cache_hit_rate": 0.5, "index_cache_misses": 1.0, "reindexes": 0.0} {
		if m[name] != want {
			t.Errorf("%s is %v, want %v", name, m[name], want)
		}
	}
	top := m["top_symbols"].([]any)[0].(map[string]any)
	feedback, _ := m["feedback_by_repo"].(map[string]any)[id].(map[string]any)
	if top["name"] != "login" || top["count"] != 2.0 || m["top_expanded_files"].([]any)[0].(map[string]any)["name"] != "src/routes/login.ts" || feedback["sample_count"] != 2.0 {
		t.Errorf("got %v", m)
	}
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Header.Set("Accept", "text/plain;version=0.0.4;q=0.5,*/*;q=0.1") },
		func(r *http.Request) { r.URL.RawQuery = "format=prometheus" },
	} {
		_, text := w.raw("GET", "/metrics", nil, change)
		if !strings.Contains(string(text), "\nskl_index_queries_total 2\n") || !strings.Contains(string(text), `skl_index_requests_total{repo="`+id+`"} 4`) {
			t.Errorf("got %s", text)
		}
	}
}

// No more than the bound of names is counted, and the frequent ones stay.
func TestTally(t *testing.T) {
	var counted tally
	for i := range 5000 {
		counted.add("often")
		counted.add(strings.Repeat("x", i))
	}
	if top := counted.top(1); top[0] != (Count{"often", 5000}) || len(counted) > topCounted {
		t.Errorf("got %v among %d", top, len(counted))
	}
}

// Every answer of 128 requests is kept, and the one that was used least makes room.
func TestAnswers(t *testing.T) {
	var a answers
	for i := range cacheSize {
		a.put(cacheKey{1, string(rune(i))}, i)
	}
	a.get(cacheKey{1, string(rune(0))})
	a.put(cacheKey{1, "one more"}, 1)
	if _, ok := a.get(cacheKey{1, string(rune(0))}); !ok {
		t.Error("the one used last is gone")
	}
	if _, ok := a.get(cacheKey{1, string(rune(1))}); ok {
		t.Error("the oldest is still there")
	}
	if _, ok := a.get(cacheKey{2, "one more"}); ok {
		t.Error("an answer of another generation was given")
	}
}

var _ Index = (*index.Index)(nil)

// BenchmarkQuery is what a warm service takes for a query that is not in its cache.
func BenchmarkQuery(b *testing.B) {
	w := start(b, ServiceOptions{Open: real(b)})
	id := w.add(sample(b))
	w.index(id)
	n := 0
	for b.Loop() {
		n++
		body := encode(map[string]any{"repo": id, "symbol": "login", "limit": n%100 + 1, "pattern": ""})
		if _, err := w.Service.query(b.Context(), body); err != nil {
			b.Fatal(err)
		}
	}
}

// A handle of a file that is not divided when it is indexed is as good as any other.
func TestServiceUndivided(t *testing.T) {
	root := sample(t)
	put(t, root, "notes.txt", "\xff\xfeh\x00i\x00\n\x00")
	w := start(t, ServiceOptions{Open: real(t)})
	id := w.add(root)
	w.index(id)
	status, found := w.ask("POST", "/query", tree{"repo": id, "literal": "hi", "glob": "notes.txt"})
	if status != 200 || len(found["handles"].([]any)) != 1 {
		t.Fatal(status, found)
	}
	h := found["handles"].([]any)[0].(map[string]any)
	if h["preview"] != "hi" || h["match_line"] != 1.0 || h["node_type"] != "chunk" {
		t.Error(h)
	}
	status, expanded := w.ask("POST", "/expand", tree{"repo": id, "handles": []tree{{"id": h["id"]}}})
	if status != 200 || expanded["contents"].([]any)[0].(map[string]any)["content"] != "hi\n" {
		t.Error(status, expanded)
	}
}
