package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/testdata/long"
)

// While a writer changes hundreds of files a second, skl mcp answers each question within seconds, shows no span of another text than its
// file had, and afterwards covers everything.
func TestMCPStorm(t *testing.T) {
	long.Slow(t)
	const files, perSecond = 1200, 300
	p := harness.NewPlace(t)
	var mu sync.Mutex
	versions := map[string][]string{}
	path := func(i int) string { return fmt.Sprintf("d%02d/f%04d.go", i%50, i) }
	rewrite := func(i, version int) {
		text := fmt.Sprintf("package many\n\n// File %d is common in version %d.\nfunc File%dv%d() {\n%s}\n", i, version, i, version, strings.Repeat(fmt.Sprintf("\tcommon(%d)\n", version), 40+version%90))
		mu.Lock()
		versions[path(i)] = append(versions[path(i)], text)
		mu.Unlock()
		name := filepath.Join(p.Project, path(i))
		if err := os.WriteFile(name+"~", []byte(text), 0o600); err == nil {
			err = os.Rename(name+"~", name)
			if err != nil {
				t.Error(err)
			}
		}
	}
	for i := range 50 {
		if err := os.MkdirAll(filepath.Join(p.Project, filepath.Dir(path(i))), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range files {
		rewrite(i, 0)
	}
	p.Must("index")
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: p.Command("mcp", "--tools", "code")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ask := func(arguments map[string]any) (r query.Result) {
		t.Helper()
		start := time.Now()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "canopy_query", Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > long.Within(3*time.Second) {
			t.Errorf("%v took %v", arguments, took)
		}
		text, err := json.Marshal(result.StructuredContent)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return r
	}
	ask(map[string]any{"pattern": "common"})
	end := time.Now().Add(long.Of(time.Second, 3*time.Second, 20*time.Second))
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 1; time.Now().Before(end); n++ {
			rewrite(n*7919%files, n)
			time.Sleep(time.Second / perSecond)
		}
	})
	questions := []map[string]any{{"pattern": "common version"}, {"symbol": "File7v0", "kind": "definition"}, {"literal": "is common in version 1"}, {"pattern": "file common", "limit": 50}}
	handles, asked := 0, 0
	for ; time.Now().Before(end); asked++ {
		for _, h := range ask(questions[asked%len(questions)]).Handles {
			handles++
			shown := false
			mu.Lock()
			for _, text := range versions[h.FilePath] {
				shown = shown || h.Span.End <= len(text) && query.Preview([]byte(text[h.Span.Start:h.Span.End]), 100) == h.Preview
			}
			mu.Unlock()
			if !shown {
				t.Errorf("%s %v shows %q, which is of no version", h.FilePath, h.Span, h.Preview)
			}
		}
	}
	writer.Wait()
	t.Logf("%d questions, %d handles", asked, handles)
	if handles == 0 {
		t.Error("no question had an answer")
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r := ask(map[string]any{"pattern": "common version"})
		if r.NotIndexed == 0 && !r.Behind && r.TotalMatches >= files {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("afterwards %d files are not indexed, %d matches", r.NotIndexed, r.TotalMatches)
		}
	}
}
