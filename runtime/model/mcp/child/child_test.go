package child

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/runtime/model"
)

func shell(t *testing.T, script string, line func([]byte) error) Command {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	return Command{Program: "sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir(), Stdin: "from skl", Line: line}
}

func TestRun(t *testing.T) {
	big := `head -c 9000000 /dev/zero | tr '\0' x`
	for name, test := range map[string]struct {
		script string
		lines  string
		exit   string
		err    error
	}{
		"lines":         {"cat; echo; echo two; echo", "from skl|two", "exit status 0", nil},
		"no last break": {"printf one", "one", "exit status 0", nil},
		"complaint":     {"echo a >&2; echo b >&2; exit 3", "", "exit status 3: b", nil},
		"long complaint": {"head -c 100000 /dev/zero | tr '\\0' y >&2; echo >&2; echo end >&2; exit 1", "",
			"exit status 1: end", nil},
		"last word":  {"echo done; echo more; exit 0", "done", "exit status 0", nil},
		"long line":  {big, "", "", ErrTooLong},
		"of its own": {"echo stop; sleep 60", "stop", "", os.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			exit, err := Run(t.Context(), shell(t, test.script, func(b []byte) error {
				lines = append(lines, string(b))
				switch string(b) {
				case "done":
					return ErrDone
				case "stop":
					return os.ErrInvalid
				}
				return nil
			}))
			if !errors.Is(err, test.err) || strings.Join(lines, "|") != test.lines {
				t.Fatalf("got %q, %v", lines, err)
			}
			if err == nil && exit.String() != test.exit {
				t.Errorf("exit %q, want %q", exit, test.exit)
			}
			if len(exit.Tail) > tailBytes {
				t.Errorf("%d bytes were kept", len(exit.Tail))
			}
		})
	}
	c := shell(t, "", nil)
	c.Program = "no-such-program-of-skl"
	if _, err := Run(t.Context(), c); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// When ctx ends, what the program started ends with it.
func TestKillsTheGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var grandchild int
	_, err := Run(ctx, shell(t, "sleep 300 & echo $!; wait", func(b []byte) error {
		grandchild, _ = strconv.Atoi(string(b))
		cancel()
		return nil
	}))
	if !errors.Is(err, context.Canceled) || grandchild == 0 {
		t.Fatalf("got %v, process %d", err, grandchild)
	}
	for range 100 {
		state, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(grandchild), "stat"))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("what the program started still runs")
}

func TestKeep(t *testing.T) {
	got := Keep([]string{"PATH=/bin", "HOME=/h", "AWS_KEY=x", "https_proxy=http://p", "NO_PROXY=corp", "MINE=1", "broken", "=C:=C:\\"}, func(name string) bool { return name == "MINE" })
	want := []string{"PATH=/bin", "HOME=/h", "https_proxy=http://p", "MINE=1", "NO_PROXY=corp,127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// bearer adds the token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, tools *Tools, token string) (*sdk.ClientSession, error) {
	t.Helper()
	return sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: tools.URL, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1}, nil)
}

// Exactly the tools of the request are there, only for who has the token, and
// as often as the request has turns.
func TestTools(t *testing.T) {
	tools, err := Serve(t.Context(), model.Request{
		MaxTurns: 2,
		Tools:    []model.Tool{{Name: "read", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, {Name: "odd", Schema: json.RawMessage(`7`)}},
		Call: func(_ context.Context, name string, input json.RawMessage) model.ToolResult {
			return model.ToolResult{Text: name + string(input), IsError: name == "odd"}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	if _, err := connect(t, tools, "wrong"); err == nil {
		t.Error("connected with a wrong token")
	}
	stranger := Tools{}
	stranger.URL = tools.URL[:len(tools.URL)-1]
	if _, err := connect(t, &stranger, tools.Token); err == nil {
		t.Error("connected at a wrong address")
	}
	session, err := connect(t, tools, tools.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil || len(listed.Tools) != 2 {
		t.Fatalf("listed %+v, %v", listed, err)
	}
	call := func(name string, input any) string {
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: input})
		if err != nil {
			return "protocol error"
		}
		text := result.Content[0].(*sdk.TextContent).Text
		if result.IsError {
			text = "error: " + text
		}
		return text
	}
	for _, step := range []struct{ name, want string }{
		{"read", `read{"path":"a"}`},
		{"bash", "protocol error"},
		{"odd", `error: odd{"path":"a"}`},
		{"read", "error: no more tools can be called for this request: give your answer now"},
	} {
		if got := call(step.name, map[string]any{"path": "a"}); got != step.want {
			t.Errorf("%s gave %q, want %q", step.name, got, step.want)
		}
	}
}

// Calls that only read overlap; others run alone. Close waits for all of them.
func TestOrderOfCalls(t *testing.T) {
	var reading, most atomic.Int32
	var wrote atomic.Bool
	both := make(chan bool)
	tools, err := Serve(t.Context(), model.Request{
		Tools: []model.Tool{{Name: "read", ReadOnly: true}, {Name: "write"}},
		Call: func(ctx context.Context, name string, _ json.RawMessage) model.ToolResult {
			if name == "write" {
				if reading.Load() != 0 {
					t.Error("a write ran beside a read")
				}
				<-ctx.Done()
				wrote.Store(true)
				return model.ToolResult{}
			}
			if n := reading.Add(1); n == 2 {
				most.Store(n)
				close(both)
			}
			<-both
			reading.Add(-1)
			return model.ToolResult{}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	session, err := connect(t, tools, tools.Token)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() { session.CallTool(t.Context(), &sdk.CallToolParams{Name: "read"}) })
	}
	wait.Wait()
	if most.Load() != 2 {
		t.Errorf("%d reads at once", most.Load())
	}
	called := make(chan bool)
	go func() {
		session.CallTool(t.Context(), &sdk.CallToolParams{Name: "write"})
		close(called)
	}()
	for {
		tools.mu.Lock()
		left := tools.left
		tools.mu.Unlock()
		if left == defaultTurns-3 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond)
	tools.Close()
	tools.mu.Lock()
	if !tools.closed {
		t.Error("not closed")
	}
	tools.mu.Unlock()
	if tools.enter() == "" {
		t.Error("a call was taken after Close")
	}
	if !wrote.Load() {
		t.Error("Close did not wait for the call")
	}
	<-called
}
