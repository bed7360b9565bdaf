package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/index"
)

var update = flag.Bool("update", false, "write openapi.json and the golden files anew")

// real opens indexes as skl does, with a cache of the test.
func real(t testing.TB) OpenFunc {
	cache := t.TempDir()
	return func(ctx context.Context, root string, o Opening) (Index, error) {
		x, err := index.Open(ctx, root, index.Options{CacheDir: cache, Progress: o.Progress, Prior: o.Prior})
		if err != nil {
			return nil, err
		}
		return x, nil
	}
}

// connect gives a client of the tools.
func connect(t testing.TB, tools *Tools, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "skl", Version: "test"}, nil)
	tools.Add(server)
	here, there := mcp.NewInMemoryTransports()
	session, err := server.Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		session.Wait()
		if err := tools.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// invoke calls a tool and returns its text, its structured content, and whether it is an error.
func invoke(t testing.TB, c *mcp.ClientSession, tool string, arguments any) (text string, structured map[string]any, isError bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	structured, _ = r.StructuredContent.(map[string]any)
	for _, part := range r.Content {
		text += part.(*mcp.TextContent).Text
	}
	return text, structured, r.IsError
}

// A web is a service that runs, and a client of it.
type web struct {
	*Service
	*httptest.Server
	t   testing.TB
	key string
}

// start runs a service; it ends with the test.
func start(t testing.TB, o ServiceOptions) *web {
	t.Helper()
	if o.StateDir == "" {
		o.StateDir = t.TempDir()
	}
	s, err := NewService(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	w := &web{Service: s, Server: httptest.NewServer(s.Handler()), t: t, key: o.Key}
	t.Cleanup(w.end)
	return w
}

func (w *web) end() {
	w.Server.Close()
	if err := w.Service.Close(); err != nil {
		w.t.Error(err)
	}
}

// ask sends a request and decodes the answer.
func (w *web) ask(method, path string, body any) (int, map[string]any) {
	w.t.Helper()
	status, data := w.raw(method, path, body, nil)
	var out map[string]any
	if len(data) > 0 {
		if err := json.Unmarshal(data, &out); err != nil {
			w.t.Fatalf("%s %s: %v in %s", method, path, err, data)
		}
	}
	return status, out
}

func (w *web) raw(method, path string, body any, change func(*http.Request)) (int, []byte) {
	w.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		reader = bytes.NewReader(encode(b))
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.URL+path, reader)
	if err != nil {
		w.t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if w.key != "" {
		r.Header.Set("X-Api-Key", w.key)
	}
	if change != nil {
		change(r)
	}
	response, err := w.Client().Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, data
}

// add registers a repository.
func (w *web) add(root string) (id string) {
	w.t.Helper()
	status, answer := w.ask("POST", "/repos/add", AddRequest{Path: root})
	if status != 200 {
		w.t.Fatalf("adding %s: %d %v", root, status, answer)
	}
	return answer["repo_id"].(string)
}

// index reindexes a repository and waits until it is ready.
func (w *web) index(id string) {
	w.t.Helper()
	if status, answer := w.ask("POST", "/reindex", map[string]any{"repo": id}); status != 200 {
		w.t.Fatalf("reindex: %d %v", status, answer)
	}
	w.wait(id, stateReady)
}

func (w *web) wait(id, state string) {
	w.t.Helper()
	var answer map[string]any
	const limit = 30 * time.Second
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, answer = w.ask("GET", "/repos/"+id, nil); answer["status"] == state {
			return
		}
	}
	w.t.Fatalf("not %s after %v: %v", state, limit, answer)
}

// golden compares JSON with a file, after what differs from run to run has been replaced.
func golden(t *testing.T, name string, got any) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(got); err != nil {
		t.Fatal(err)
	}
	text := b.Bytes()
	for _, r := range [][2]string{
		{`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`, "UUID"},
		{`"generation": [1-9][0-9.e+]*`, `"generation": "N"`},
		{`"score": [0-9.]+`, `"score": "S"`}, // tuned elsewhere
		{`"confidence": [0-9.]+`, `"confidence": "C"`},
		{`"confidence_band": "(low|medium|high)"`, `"confidence_band": "BAND"`},
		{`"recommended_action": "(expand_then_answer|refine_query)"`, `"recommended_action": "ACTION"`},
		{`"(stop_querying|max_additional_queries|suggested_expand_count)": \w+`, `"$1": "G"`},
		{`"rationale": "[^"]+"`, `"rationale": "TEXT"`},
		{`"next_step": "[^"]+"`, `"next_step": "TEXT"`},
		{`"elapsed_ns": [0-9.e+]+`, `"elapsed_ns": "N"`},
		{`"bytes": [0-9.e+]+`, `"bytes": "N"`}, // a file that was written just before is read again
		{`"index_size_bytes": [0-9.e+]+`, `"index_size_bytes": "N"`},
		{`"last_indexed": "20[^"]*Z"`, `"last_indexed": "TIME"`},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAll(text, []byte(r[1]))
	}
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, text) {
		t.Errorf("%s: got\n%s\nwant\n%s\n(go test ./index/serve -update writes it)", name, text, want)
	}
}

// hide replaces a directory by a name in all strings of v.
func hide(v any, dir, name string) any {
	text := strings.ReplaceAll(string(encode(v)), dir, name)
	var out any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		panic(fmt.Sprint(err, text))
	}
	return out
}
