package retrieval

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/serve"
	"github.com/skl-project/skl/testdata/long"
)

// A program is the shipped binary, with directories of its own.
type program struct {
	t    testing.TB
	path string
	env  []string
}

// build makes the program as it is released. SKL_TEST_PROGRAM names one that was built before.
func build(t testing.TB) program {
	t.Helper()
	p := program{t: t, path: os.Getenv("SKL_TEST_PROGRAM")}
	if p.path == "" {
		p.path = filepath.Join(t.TempDir(), "skl")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", p.path, "github.com/skl-project/skl/cmd/skl")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building skl: %v\n%s", err, out)
		}
	}
	home := t.TempDir()
	p.env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/cache", "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME="+home+"/config", "XDG_DATA_HOME="+home+"/data", "SKL_OFFLINE=1")
	return p
}

// command returns a command that ends with the test.
func (p program) command(dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), p.path, args...)
	cmd.Dir, cmd.Env = dir, p.env
	return cmd
}

// agent speaks to "skl mcp" as agents do.
func (p program) agent(dir string) (ask func(tool string, arguments, answer any), end func()) {
	p.t.Helper()
	return speak(p.t, &mcp.CommandTransport{Command: p.command(dir, "mcp", "--tools", "code", "--path", dir)})
}

// speak connects an agent.
func speak(t testing.TB, transport mcp.Transport) (ask func(tool string, arguments, answer any), end func()) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "retrieval", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(tool string, arguments, answer any) {
		t.Helper()
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		text := ""
		for _, c := range r.Content {
			if t, ok := c.(*mcp.TextContent); ok {
				text += t.Text
			}
		}
		if r.IsError {
			t.Fatalf("%s of %s: %s", tool, mustJSON(arguments), text)
		}
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			t.Fatalf("%s: %v: %.300s", tool, err, text)
		}
	}, func() { session.Close() }
}

// service starts "skl index serve" and returns how to ask it.
func (p program) service() (call func(method, path string, body, answer any)) {
	p.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithCancel(p.t.Context())
	cmd := exec.CommandContext(ctx, p.path, "index", "serve", "--addr", addr)
	const key = "retrieval"
	cmd.Env, cmd.Dir = append(slices.Clone(p.env), "SKL_INDEX_KEY="+key), p.t.TempDir()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { cancel(); cmd.Wait() })
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if r, err := http.Get("http://" + addr + "/status"); err == nil {
			r.Body.Close()
			break
		}
		if time.Now().After(end) {
			p.t.Fatalf("skl index serve does not answer: %s", log.String())
		}
	}
	return func(method, path string, body, answer any) {
		p.t.Helper()
		r, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+addr+path, strings.NewReader(mustJSON(body)))
		if err != nil {
			p.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Api-Key", key)
		answered, err := http.DefaultClient.Do(r)
		if err != nil {
			p.t.Fatal(err)
		}
		defer answered.Body.Close()
		data, err := io.ReadAll(answered.Body)
		if err == nil && answer != nil {
			err = json.Unmarshal(data, answer)
		}
		if err != nil || answered.StatusCode/100 != 2 {
			p.t.Fatalf("%s: %s: %v: %.300s", path, answered.Status, err, data)
		}
	}
}

// served asks the questions of an exam over MCP and HTTP, and some of them on the command line. The guidance of all is the same, or the
// test fails.
func served(t testing.TB, p program, call func(string, string, any, any), e exam) (list []asked) {
	t.Helper()
	dir := t.TempDir()
	e.c.write(t, dir)
	git(t, dir, "init", "-q")
	ask, end := p.agent(dir)
	defer end()
	ask("canopy_index", map[string]any{"path": dir, "glob": "**"}, new(any))
	var repo struct {
		ID string `json:"repo_id"`
	}
	call(http.MethodPost, "/repos/add", map[string]any{"path": dir}, &repo)
	defer call(http.MethodDelete, "/repos/"+repo.ID, nil, nil) // the service has a limit
	base := baselines(t, e.c, false)[0]
	differ := 0
	for i, q := range e.questions {
		arguments := map[string]any{"path": dir}
		if err := json.Unmarshal([]byte(mustJSON(q.params)), &arguments); err != nil {
			t.Fatal(err)
		}
		var pack, other query.Pack
		ask("canopy_evidence_pack", arguments, &pack)
		var own, chunks []hit
		if len(q.truth) > 0 {
			var result query.Result
			arguments["limit"] = 20
			ask("canopy_query", arguments, &result)
			delete(arguments, "limit")
			b, _ := base.ask(q)
			own, chunks = hitsOf(result.Handles), b.hits
		}
		delete(arguments, "path")
		arguments["repo"] = repo.ID
		call(http.MethodPost, "/evidence_pack", arguments, &other)
		others := map[string]query.Pack{"HTTP": other}
		if i%40 == 0 {
			others["the command line"] = p.evidence(dir, q)
		}
		for name, other := range others {
			if pack.Guidance != other.Guidance || !slices.Equal(pack.ExpandSuggestion, other.ExpandSuggestion) {
				if differ++; differ < 4 {
					t.Errorf("%s: MCP says %+v, %s %+v", q.text, pack.Guidance, name, other.Guidance)
				}
			}
		}
		list = append(list, judged(e.c, q, pack, own, chunks))
	}
	return list
}

// evidence asks on the command line.
func (p program) evidence(dir string, q question) (pack query.Pack) {
	p.t.Helper()
	args := []string{"evidence", "--json", "--pattern", q.params.Pattern}
	if q.params.Symbol != "" {
		args = []string{"evidence", "--json", "--symbol", q.params.Symbol}
	}
	out, err := p.command(dir, args...).Output()
	if err == nil {
		err = json.Unmarshal(out, &pack)
	}
	if err != nil {
		p.t.Fatalf("skl %q: %v", args, err)
	}
	return pack
}

// A halfResult holds what was measured of the repositories of a half. Of their text it has nothing.
type halfResult struct {
	Repositories []string            `json:"repositories"`
	Sets         map[string]measured `json:"sets"`
}

const guidanceFile = "../../testdata/bench/guidance.json"

// Can agents believe what they are told, of repositories that nothing was tuned on? It asks the shipped program over MCP, HTTP and on the
// command line. SKL_TEST_RETRIEVAL=guidance runs it for what is held out, guidance-all for both halves; it fetches some dozen packages.
// -update writes guidanceFile.
func TestServedGuidance(t *testing.T) {
	mode := os.Getenv("SKL_TEST_RETRIEVAL")
	if mode != "guidance" && mode != "guidance-all" {
		t.Skip("skipped: SKL_TEST_RETRIEVAL is not guidance")
	}
	p := build(t)
	call := p.service()
	got := map[string]halfResult{}
	for _, half := range []string{"tune", "held"} {
		if half == "tune" && mode == "guidance" {
			continue
		}
		var list []asked
		var names []string
		exams(t, half == "held", func(e exam) {
			list = append(list, served(t, p, call, e)...)
			if !slices.Contains(names, e.c.name) {
				names = append(names, e.c.name)
			}
		})
		got[half] = halfResult{names, measuredSets(list)}
		logMeasured(t, half, got[half].Sets)
	}
	all := got["held"].Sets["all"]
	for _, g := range []struct {
		name        string
		value       float64
		least, most float64
	}{
		{"Brier relative to the best constant", all.Relative, 0, 0.75},
		{"AUC", all.AUC, 0.85, 1},
		{"stops without an answer", all.StopNone, 0, 0.05},
		{"right stops", all.StopRight, 0.6, 1},
		{"right answers by guidance, without those of always answering", all.Followed - all.Always, 0.01, 1},
		{"MRR relative to bm25", all.Ratio, servedMRR, 100},
		{"an answer among the first 20", all.Found, 0.63, 1},
	} {
		if g.value < g.least || g.value > g.most {
			t.Errorf("%s is %.4f, want %v to %v", g.name, g.value, g.least, g.most)
		}
	}
	data, err := os.ReadFile(guidanceFile)
	want := map[string]halfResult{}
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	if *update {
		for half, r := range got {
			want[half] = r
		}
		data, err := json.MarshalIndent(want, "", "\t")
		if err == nil {
			err = os.WriteFile(guidanceFile, append(compact(data), '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	for half, r := range got {
		if slices.Equal(r.Repositories, want[half].Repositories) && !reflect.DeepEqual(r, want[half]) {
			t.Errorf("what was measured of %s changed (run with -update if that is wanted)\n got %+v\nwant %+v", half, r, want[half])
		}
	}
}

// servedMRR is the bound that holds today; the goal is 1.6.
const servedMRR = 1.3

// A small library of one's own keeps the served confidence honest without any download: what the question has the words of is believed, what is
// in no file is not, and one candidate is not surer than several for being alone.
func TestServedConfidence(t *testing.T) {
	long.Slow(t)
	dir := t.TempDir()
	c := &corpus{name: "small", files: map[string][]byte{
		"retry.go":  []byte("package a\n\n// Backoff waits longer after each failed attempt.\nfunc Backoff(attempt int) int {\n\twait := 1 << attempt\n\tif wait > 60 {\n\t\twait = 60\n\t}\n\treturn wait\n}\n"),
		"parse.go":  []byte("package a\n\nimport \"errors\"\n\n// parsePage reads one page of the store and checks its sum.\nfunc parsePage(b []byte) error {\n\tif len(b) < 4 {\n\t\treturn errors.New(\"page is too short for its checksum\")\n\t}\n\treturn nil\n}\n"),
		"server.go": []byte("package a\n\nimport \"os\"\n\nfunc serve() string {\n\taddr := os.Getenv(\"PAGE_LISTEN_ADDR\")\n\tif addr == \"\" {\n\t\taddr = \":8080\"\n\t}\n\treturn addr\n}\n"),
		"notes.md":  []byte("# Notes\n\nThe garden has tomatoes, and the shed has tools.\n"),
	}}
	for i := range 12 {
		c.files[fmt.Sprintf("more/part%d.go", i)] = fmt.Appendf(nil, "package more\n\nfunc Part%d(list []string) int {\n\ttotal := %d\n\tfor range list {\n\t\ttotal++\n\t}\n\treturn total\n}\n", i, i)
	}
	for p := range c.files {
		c.paths = append(c.paths, p)
	}
	c.sort()
	c.write(t, dir)
	cache := t.TempDir()
	tools := &serve.Tools{Roots: []string{dir}, Open: func(ctx context.Context, root string, o serve.Opening) (serve.Index, error) {
		return index.Open(ctx, root, index.Options{CacheDir: cache, Progress: o.Progress, Prior: o.Prior})
	}}
	defer tools.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "skl", Version: "1"}, nil)
	tools.Add(server)
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	ask, end := speak(t, here)
	defer end()
	pack := func(arguments map[string]any) query.Pack {
		t.Helper()
		arguments["path"] = dir
		var out query.Pack
		ask("canopy_evidence_pack", arguments, &out)
		return out
	}
	named := pack(map[string]any{"symbol": "parsePage"})
	failure := pack(map[string]any{"pattern": "why do I get page is too short for its checksum"})
	variable := pack(map[string]any{"pattern": "environment variable PAGE_LISTEN_ADDR"})
	absent := pack(map[string]any{"pattern": "how are invoices sent to customers after the total was rounded"})
	for _, sure := range []query.Pack{named, failure, variable} {
		if g := sure.Guidance; g.Confidence < 0.7 || !g.StopQuerying || len(sure.Handles) == 0 {
			t.Errorf("%s: %+v", sure.QueryText, g)
		}
	}
	if g := absent.Guidance; g.Confidence > 0.55 || g.StopQuerying {
		t.Errorf("%s: %+v of %d handles", absent.QueryText, g, len(absent.Handles))
	}
	if n := bytes.Count([]byte(mustJSON(absent)), []byte(`"steps"`)); n > 0 {
		t.Errorf("the program asked other questions by itself: %s", mustJSON(absent))
	}
	alone := pack(map[string]any{"pattern": "how are invoices sent to customers after the total was rounded", "glob": "more/part3.go"})
	if len(alone.Handles) != 1 || alone.Guidance.StopQuerying || alone.Guidance.Confidence > absent.Guidance.Confidence+0.15 {
		t.Errorf("one candidate is believed more than many: %+v, and %v of many", alone.Guidance, absent.Guidance.Confidence)
	}
}
