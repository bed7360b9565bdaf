package serve

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// The requests are those of the protocol's documents.
func TestToolsGolden(t *testing.T) {
	root := sample(t)
	c := connect(t, &Tools{Open: real(t), Roots: []string{root}}, nil)
	type exchange struct {
		Tool       string `json:"tool"`
		Arguments  any    `json:"arguments"`
		IsError    bool   `json:"is_error,omitempty"`
		Text       string `json:"text,omitempty"` // when it is not the structured content
		Structured any    `json:"structured,omitempty"`
	}
	_, found, _ := invoke(t, c, "canopy_query", map[string]any{"path": root, "symbol": "authenticate", "kind": "definition"})
	var ids []string
	for _, h := range found["handles"].([]any) {
		ids = append(ids, h.(map[string]any)["id"].(string))
	}
	slices.Sort(ids)
	for _, test := range []struct {
		name, tool string
		arguments  map[string]any
	}{
		{"query_definition", "canopy_query", map[string]any{"symbol": "AuthController", "kind": "definition"}},
		{"query_reference", "canopy_query", map[string]any{"symbol": "authenticate", "kind": "reference"}},
		{"query_pattern", "canopy_query", map[string]any{"pattern": "length", "glob": "src/**/*.ts", "limit": 2}},
		{"query_patterns_all", "canopy_query", map[string]any{"patterns": []string{"token", "length"}, "match": "all"}},
		{"query_budget", "canopy_query", map[string]any{"symbol": "login", "expand_budget": 1200}},
		{"query_parent", "canopy_query", map[string]any{"parent": "AuthController", "symbol": "validate"}},
		{"query_section", "canopy_query", map[string]any{"section": "Installation"}},
		{"query_dsl", "canopy_query", map[string]any{"query": `(in-file "src/**/*.ts" (intersect (grep "auth") (code "validate")))`}},
		{"query_nothing", "canopy_query", map[string]any{"symbol": "doesNotExist"}},
		{"evidence_pack", "canopy_evidence_pack", map[string]any{"pattern": "length", "max_handles": 4, "max_per_file": 2}},
		{"expand", "canopy_expand", map[string]any{"handle_ids": ids}},
		{"expand_unknown", "canopy_expand", map[string]any{"handle_ids": []string{"h000000000000000000000000"}}},
		{"expand_partly", "canopy_expand", map[string]any{"handle_ids": []string{ids[0], "h000000000000000000000000"}}},
		{"index", "canopy_index", map[string]any{"glob": "**/*.go"}},
		{"status", "canopy_status", map[string]any{}},
		{"invalidate", "canopy_invalidate", map[string]any{"glob": "docs/**"}},
		{"error_nothing_asked", "canopy_query", map[string]any{}},
		{"error_unknown_parameter", "canopy_query", map[string]any{"patern": "x"}},
		{"error_expression", "canopy_query", map[string]any{"query": `(gerp "x")`}},
		{"error_glob", "canopy_query", map[string]any{"pattern": "x", "glob": "src/[a"}},
		{"error_kind", "canopy_query", map[string]any{"symbol": "x", "kind": "declaration"}},
	} {
		test.arguments["path"] = root
		text, structured, isError := invoke(t, c, test.tool, test.arguments)
		e := exchange{Tool: test.tool, Arguments: test.arguments, IsError: isError, Structured: structured}
		var same map[string]any
		if json.Unmarshal([]byte(text), &same) != nil {
			e.Text = text
		} else if string(encode(same)) != string(encode(structured)) {
			t.Errorf("%s: the text is not the structured content: %s", test.name, text)
		}
		golden(t, "mcp_"+test.name, hide(e, root, "/repo"))
	}
}

// Every tool is listed with schemas that hold for what it answers, and the list is small: an agent pays for it in each conversation.
func TestToolList(t *testing.T) {
	c := connect(t, &Tools{Open: (&fakes{}).open, Roots: []string{sample(t)}}, nil)
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		schema, _ := tool.InputSchema.(map[string]any)
		if schema["additionalProperties"] != false {
			t.Errorf("%s takes unknown parameters", tool.Name)
		}
		if _, ok := schema["properties"].(map[string]any)["max_tokens"]; !ok {
			t.Errorf("%s has no max_tokens", tool.Name)
		}
		changes := tool.Name == "canopy_index" || tool.Name == "canopy_invalidate"
		if tool.Annotations.ReadOnlyHint == changes {
			t.Errorf("%s: readOnlyHint is %v", tool.Name, tool.Annotations.ReadOnlyHint)
		}
	}
	slices.Sort(names)
	want := []string{"canopy_agent_readme", "canopy_evidence_pack", "canopy_expand", "canopy_index", "canopy_invalidate", "canopy_query", "canopy_status"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	tokens := chunk.Tokens(text)
	t.Logf("the list has about %d tokens in %d bytes", tokens, len(text))
	if tokens > 2500 {
		t.Errorf("the list has about %d tokens", tokens)
	}
	if n := chunk.Tokens([]byte(readme)); n > 700 {
		t.Errorf("the readme has about %d tokens", n)
	} else {
		t.Logf("the readme has about %d tokens", n)
	}
}

// Nothing outside of the roots is searched, whatever the path looks like.
func TestToolPaths(t *testing.T) {
	base := realDir(t)
	root, other := filepath.Join(base, "root"), filepath.Join(base, "root-other")
	put(t, root, "repo/.git/HEAD", "ref: refs/heads/main\n")
	put(t, root, "repo/sub/a.go", "package a\n")
	put(t, root, "plain/a.go", "package a\n")
	put(t, other, "a.go", "package a\n")
	for link, to := range map[string]string{"out": other, "in": filepath.Join(root, "repo"), "gone": filepath.Join(base, "gone")} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip("this system makes no links: ", err)
		}
	}
	for _, test := range []struct{ name, path, want, code string }{
		{"the root", root, root, ""},
		{"the only root", "", root, ""},
		{"a repository", root + "/repo", root + "/repo", ""},
		{"within a repository", root + "/repo/sub", root + "/repo", ""},
		{"within no repository", root + "/plain", root + "/plain", ""},
		{"a link that stays inside", root + "/in", root + "/repo", ""},
		{"a link that leads out", root + "/out", "", codePath},
		{"a link to nothing", root + "/gone", "", codeInvalid},
		{"above", base, "", codePath},
		{"dots", root + "/repo/../../root-other", "", codePath},
		{"a name with the same beginning", other, "", codePath},
		{"what does not exist outside", "/nobody/has/this", "", codePath},
		{"what does not exist inside", root + "/none", "", codeInvalid},
		{"a file", root + "/plain/a.go", "", codeInvalid},
		{"relative", "repo", "", codeInvalid},
		{"a zero byte", root + "\x00", "", codeInvalid},
	} {
		got, err := resolve(test.path, []string{root})
		code := ""
		if err != nil {
			p, _ := problem(err)
			code = p.Code
		}
		if got != test.want || code != test.code {
			t.Errorf("%s: got %q, %v", test.name, got, err)
		}
	}
	if got, err := resolve("", []string{root, other}); err == nil {
		t.Errorf("no path among two roots is %q", got)
	}
	if got, err := resolve(root, nil); err == nil {
		t.Errorf("a server without roots answers for %q", got)
	}
}

// max_tokens bounds every answer, and what is left out is said.
func TestToolTokens(t *testing.T) {
	root := realDir(t)
	for i := range 60 {
		put(t, root, "f"+string(rune('a'+i%26))+strings.Repeat("x", i)+".go", "package f\n\n// Handle answers a request about widgets.\nfunc Handle(widget string) string {\n\treturn \"widget \" + widget\n}\n")
	}
	c := connect(t, &Tools{Open: real(t), Roots: []string{root}}, nil)
	for _, test := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"canopy_query", map[string]any{"symbol": "Handle", "limit": 50}},
		{"canopy_query", map[string]any{"symbol": "Handle", "limit": 50, "expand_budget": 100000}},
		{"canopy_query", map[string]any{"pattern": "widget", "limit": 50}},
		{"canopy_evidence_pack", map[string]any{"pattern": "widget", "max_handles": 40}},
	} {
		test.arguments["max_tokens"] = 1000
		text, structured, isError := invoke(t, c, test.tool, test.arguments)
		handles, _ := structured["handles"].([]any)
		if n := chunk.Tokens([]byte(text)); isError || n > 1000 || len(handles) == 0 || structured["truncated"] != true && test.arguments["expand_budget"] == nil {
			t.Errorf("%s %v: %d tokens, %d handles: %s", test.tool, test.arguments, n, len(handles), text)
		}
	}
	var ids []string
	_, structured, _ := invoke(t, c, "canopy_query", map[string]any{"symbol": "Handle", "limit": 50})
	for _, h := range structured["handles"].([]any) {
		ids = append(ids, h.(map[string]any)["id"].(string))
	}
	text, structured, _ := invoke(t, c, "canopy_expand", map[string]any{"handle_ids": ids, "max_tokens": 200})
	if got := structured["contents"].([]any); len(got) == 0 || len(got) > 20 || structured["truncated"] != true || !strings.Contains(text, "max_tokens") {
		t.Errorf("%d of %d contents, %v", len(got), len(ids), structured["truncated"])
	}
	if text, _, _ := invoke(t, c, "canopy_agent_readme", map[string]any{"max_tokens": 50}); len(text) > 200 || !strings.HasSuffix(text, "\n") {
		t.Errorf("got %q", text)
	}
}

// A client that asks for progress is told; a call that is cancelled ends, and the next one is answered.
func TestToolProgressAndCancel(t *testing.T) {
	var endless atomic.Bool // an update goes on until it is cancelled
	entered, ended := make(chan struct{}, 2), make(chan error, 2)
	open := &fakes{each: func(f *fake) {
		f.updating = func(ctx context.Context) error {
			entered <- struct{}{}
			if !endless.Load() {
				return nil
			}
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}
	}}
	told := make(chan float64, 10)
	c := connect(t, &Tools{Open: open.open, Roots: []string{sample(t)}}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if r.Params.ProgressToken == "p1" {
				told <- r.Params.Progress
			}
		},
	})
	params := &mcp.CallToolParams{Name: "canopy_index", Arguments: map[string]any{"glob": "**"}}
	params.SetProgressToken("p1")
	if r, err := c.CallTool(t.Context(), params); err != nil || r.IsError {
		t.Fatal(err, r)
	}
	<-entered
	if first, second := receive(t, told), receive(t, told); first >= second {
		t.Errorf("progress was %v, then %v", first, second)
	}

	endless.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "canopy_index", Arguments: map[string]any{"glob": "**"}}); err == nil {
		t.Error("a cancelled call was answered")
	}
	receive(t, ended) // the index was told
	if len(told) > 0 {
		t.Error("there was more progress than that of two steps")
	}
	if text, _, isError := invoke(t, c, "canopy_status", map[string]any{}); isError {
		t.Error(text)
	}
}

// receive waits for a value, at most 10 s.
func receive[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(long.Hang):
		t.Fatal("nothing came")
	}
	return value
}

// Weakness 13: a client pings, sends notifications that nobody knows, and asks for tools that do not exist, and the session goes on.
func TestToolSession(t *testing.T) {
	c := connect(t, &Tools{Open: (&fakes{}).open, Roots: []string{sample(t)}}, nil)
	if err := c.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "canopy_dance"}); err == nil {
		t.Error("an unknown tool was called")
	}
	if text, _, isError := invoke(t, c, "canopy_expand", map[string]any{"handle_ids": []string{}}); !isError || !strings.Contains(text, codeInvalid) {
		t.Error(text)
	}
	if text, _, isError := invoke(t, c, "canopy_status", map[string]any{"path": "/nobody/has/this"}); !isError || !strings.Contains(text, codePath) {
		t.Error(text)
	}
	if text, structured, isError := invoke(t, c, "canopy_agent_readme", nil); isError || structured != nil || text != readme {
		t.Error(text)
	}
}

// An index that cannot be opened fails the call, and is tried again by the next one.
func TestToolOpenAgain(t *testing.T) {
	tries := 0
	good := &fakes{}
	tools := &Tools{Roots: []string{sample(t)}, Open: func(ctx context.Context, root string, o Opening) (Index, error) {
		if tries++; tries == 1 {
			return nil, diag.New(diag.Failed, "disk_full", "no space left on the disk")
		}
		return good.open(ctx, root, o)
	}}
	c := connect(t, tools, nil)
	if text, s, isError := invoke(t, c, "canopy_status", nil); !isError || s["code"] != "disk_full" {
		t.Error(text)
	}
	for range 2 {
		if text, _, isError := invoke(t, c, "canopy_status", nil); isError {
			t.Error(text)
		}
	}
	if tries != 2 {
		t.Errorf("opened %d times", tries)
	}
}
