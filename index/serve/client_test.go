package serve

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	worktree "github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/diag"
)

// git makes dir a repository with all that is in it committed.
func git(t testing.TB, dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "all"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
}

// dirty is what differs from the commit.
func dirty(ctx context.Context, root string) ([]string, error) {
	w, err := worktree.OpenWorkTree(root)
	if err != nil {
		return nil, err
	}
	list, err := (&files.Walker{Root: root}).Walk(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, f := range list.Files {
		found = append(found, f.Path)
	}
	return w.Changed(ctx, found, 1<<20)
}

func compile(t testing.TB, p query.Params) query.Query {
	t.Helper()
	q, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// Weakness 12: what is not committed is answered from here, for queries and for packs, even when the service still knows the old text.
func TestClientOverlay(t *testing.T) {
	root := sample(t)
	git(t, root)
	// A service whose index never looks again is one that is behind.
	behind := real(t)
	w := start(t, ServiceOptions{Open: func(ctx context.Context, dir string, o Opening) (Index, error) {
		copied := realDir(t)
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			return nil, err
		}
		return behind(ctx, copied, o)
	}})
	c := &Client{URL: w.URL, Local: real(t), CacheDir: t.TempDir(), Dirty: dirty}
	x, err := c.Open(t.Context(), root, Opening{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	ask := func(p query.Params) (found []string, r query.Result) {
		t.Helper()
		r, err := x.Query(t.Context(), compile(t, p))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Handles {
			found = append(found, h.Source+" "+h.FilePath+" "+h.Name)
		}
		return found, r
	}
	if got, _ := ask(query.Params{Symbol: "Acquire"}); !slices.Equal(got, []string{"service pool.go Acquire"}) {
		t.Errorf("committed: %q", got)
	}
	_, before := ask(query.Params{Symbol: "login"})

	put(t, root, "pool.go", "package pool\n\n// Acquire is changed.\nfunc Acquire() int {\n\treturn 2\n}\n")
	put(t, root, "new file.go", "package pool\n\n// AcquireAll is new.\nfunc AcquireAll() {\n\tAcquire()\n}\n")
	if err := os.Remove(filepath.Join(root, "src/routes/login.ts")); err != nil {
		t.Fatal(err)
	}
	got, r := ask(query.Params{Symbol: "Acquire"})
	if !slices.Equal(got, []string{"local pool.go Acquire"}) {
		t.Errorf("changed: %q", got)
	}
	e, err := x.Expand(t.Context(), []string{r.Handles[0].ID}, 0)
	if err != nil || len(e.Contents) != 1 || !strings.Contains(e.Contents[0].Content, "return 2") {
		t.Errorf("expanded: %+v, %v", e, err)
	}
	if got, _ := ask(query.Params{Symbol: "AcquireAll"}); !slices.Equal(got, []string{"local new file.go AcquireAll"}) {
		t.Errorf("new: %q", got)
	}
	if got, _ := ask(query.Params{Symbol: "login"}); len(got) != 0 {
		t.Errorf("deleted: %q", got)
	}
	if got, _ := ask(query.Params{Symbol: "validate"}); !slices.Equal(got, []string{"service src/auth/controller.ts validate"}) {
		t.Errorf("unchanged: %q", got)
	}
	if _, r := ask(query.Params{Symbol: "Acquire", Kind: "reference"}); len(r.RefHandles) != 1 || r.RefHandles[0].FilePath != "new file.go" || r.RefHandles[0].Source != "local" {
		t.Errorf("references: %+v", r.RefHandles)
	}
	p, err := x.Evidence(t.Context(), compile(t, query.Params{Pattern: "acquire"}), rank.PackOptions{})
	if err != nil || len(p.Handles) == 0 || slices.ContainsFunc(p.Handles, func(h query.Evidence) bool { return h.Source != "local" }) {
		t.Errorf("pack: %+v, %v", p.Handles, err)
	}

	// A file put back is answered by the service again.
	c2 := exec.Command("git", "checkout", "-q", ".")
	c2.Dir = root
	if out, err := c2.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, _ := ask(query.Params{Symbol: "Acquire"}); !slices.Equal(got, []string{"service pool.go Acquire"}) {
		t.Errorf("put back: %q", got)
	}
	e, err = x.Expand(t.Context(), []string{before.Handles[0].ID, "h000000000000000000000000", "nonsense"}, 0)
	if err != nil || len(e.Contents) != 1 || len(e.FailedIDs) != 2 {
		t.Errorf("expanded: %+v, %v", e, err)
	}
}

// The tools work on a service as they do here, and a handle of an older generation fails alone.
func TestClientTools(t *testing.T) {
	root := sample(t)
	w := start(t, ServiceOptions{Open: real(t), Key: "k"})
	client := &Client{URL: w.URL, Key: "k"}
	c := connect(t, &Tools{Open: client.Open, Roots: []string{root}}, nil)
	_, found, _ := invoke(t, c, "canopy_query", map[string]any{"symbol": "login"})
	h := found["handles"].([]any)[0].(map[string]any)
	if h["source"] != "service" || h["commit_sha"] != "0123456789abcdef0123456789abcdef01234567" {
		t.Errorf("got %v", h)
	}
	if text, pack, isError := invoke(t, c, "canopy_evidence_pack", map[string]any{"pattern": "token"}); isError || len(pack["handles"].([]any)) == 0 {
		t.Error(text)
	}
	if text, status, isError := invoke(t, c, "canopy_status", nil); isError || status["repo_root"] != root {
		t.Error(text)
	}
	if text, _, isError := invoke(t, c, "canopy_index", map[string]any{"glob": "**"}); isError {
		t.Error(text)
	}
	if text, _, isError := invoke(t, c, "canopy_expand", map[string]any{"handle_ids": []any{h["id"]}}); isError || !strings.Contains(text, "function login") {
		t.Error(text)
	}
	put(t, root, "src/routes/login.ts", "// moved\n"+loginTS)
	text, _, isError := invoke(t, c, "canopy_expand", map[string]any{"handle_ids": []any{h["id"]}})
	if !isError || !strings.Contains(text, codeStale) {
		t.Error(text)
	}
	w.index(w.add(root))
	var now []string
	_, found, _ = invoke(t, c, "canopy_query", map[string]any{"symbol": "validate"})
	now = append(now, h["id"].(string), found["handles"].([]any)[0].(map[string]any)["id"].(string))
	text, structured, isError := invoke(t, c, "canopy_expand", map[string]any{"handle_ids": now})
	if isError || len(structured["contents"].([]any)) != 1 || len(structured["failed"].([]any)) != 1 {
		t.Error(text)
	}
}

// A server that is not the service, and one that refuses, is reported in one sentence.
func TestClientErrors(t *testing.T) {
	root := sample(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "" && strings.HasPrefix(r.URL.Path, "/elsewhere") {
			t.Error("the key went elsewhere")
		}
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer other.Close()
	w := start(t, ServiceOptions{Open: (&fakes{}).open, Key: "right"})
	failing := start(t, ServiceOptions{Open: (&fakes{each: func(f *fake) {
		f.updating = func(context.Context) error { return errors.New("no space left on the disk") }
	}}).open})
	slow := start(t, ServiceOptions{Open: (&fakes{each: func(f *fake) {
		f.updating = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	}}).open})
	for _, test := range []struct {
		name string
		c    *Client
		code string
	}{
		{"nobody there", &Client{URL: "http://127.0.0.1:1"}, "service_unreachable"},
		{"no URL", &Client{URL: "http://[", Key: "k"}, "invalid_service_url"},
		{"another server", &Client{URL: other.URL, Key: "k"}, "service_answer"},
		{"the wrong key", &Client{URL: w.URL, Key: "wrong"}, codeKey},
		{"an index that fails", &Client{URL: failing.URL}, codeNotReady},
		{"an index that takes long", &Client{URL: slow.URL, Wait: 100e6}, codeNotReady},
	} {
		x, err := test.c.Open(t.Context(), root, Opening{})
		if !errors.Is(err, diag.Code(test.code)) || x != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// The copies are those of the files: links are not followed, what is gone is removed, what has not changed is not copied.
func TestCopyFiles(t *testing.T) {
	root, dir := realDir(t), realDir(t)
	secret := filepath.Join(realDir(t), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, root, "a/b.go", "one")
	put(t, root, "c.go", "two")
	if err := os.Symlink(secret, filepath.Join(root, "link.go")); err != nil {
		t.Skip("this system makes no links: ", err)
	}
	paths := []string{"a/b.go", "c.go", "gone.go", "link.go"}
	if n, err := copyFiles(root, dir, paths); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "link.go")); err == nil {
		t.Error("a link was followed")
	}
	// "a" becomes a file, and "c.go" a directory.
	if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "c.go")); err != nil {
		t.Fatal(err)
	}
	put(t, root, "a", "three")
	put(t, root, "c.go/d.go", "four")
	if n, err := copyFiles(root, dir, []string{"a", "c.go/d.go"}); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	for name, want := range map[string]string{"a": "three", "c.go/d.go": "four"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := os.Remove(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if n, err := copyFiles(root, dir, []string{"a", "c.go/d.go"}); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Error("a copy of what is gone stayed")
	}
}

// A real child process speaks over its standard input and output.
func TestToolsStdio(t *testing.T) {
	root := sample(t)
	c := exec.Command(os.Args[0], "-test.run=^TestStdioChild$")
	c.Env = append(os.Environ(), "SKL_TEST_STDIO="+root)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 7 {
		t.Fatalf("%v, %v", list, err)
	}
	arguments := map[string]map[string]any{
		"canopy_query": {"symbol": "login"}, "canopy_evidence_pack": {"pattern": "login"}, "canopy_expand": {"handle_ids": []string{"h000000000000000000000000"}},
		"canopy_index": {"glob": "**"},
	}
	for _, tool := range list.Tools {
		text, _, isError := invoke(t, session, tool.Name, arguments[tool.Name])
		if isError != (tool.Name == "canopy_expand") || text == "" {
			t.Errorf("%s: %s", tool.Name, text)
		}
	}
}

// TestStdioChild is the server of TestToolsStdio.
func TestStdioChild(t *testing.T) {
	root := os.Getenv("SKL_TEST_STDIO")
	if root == "" {
		t.Skip("runs as the child of another test")
	}
	tools := &Tools{Open: real(t), Roots: []string{root}}
	server := mcp.NewServer(&mcp.Implementation{Name: "skl", Version: "test"}, nil)
	tools.Add(server)
	_ = server.Run(t.Context(), &mcp.StdioTransport{}) // ends with its input
	if err := tools.Close(); err != nil {
		t.Error(err)
	}
	os.Stdout = os.Stderr // the summary of the test is no message
}
