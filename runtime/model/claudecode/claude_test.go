package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// real is the model on the real program, whose Messages API is script.
func real(t *testing.T, script modeltest.Script) (model.Model, *modeltest.Server, string) {
	t.Helper()
	program := long.Agent(t, "SKL_TEST_CLAUDE", "claude")
	server := modeltest.NewAnthropic(script)
	t.Cleanup(server.Close)
	home := t.TempDir()
	// The person's own memory for the program must not reach a request.
	memory := filepath.Join(home, ".claude", "CLAUDE.md")
	if err := os.MkdirAll(filepath.Dir(memory), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(memory, []byte("remember the walrus\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := New(Config{Program: program, Timeout: time.Minute, Env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-ant-of-a-test",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_MAX_RETRIES=1",
		"CLAUDECODE=1", "SECRET_OF_ANOTHER=x",
	}})
	return m, server, home
}

// Two subagents at once, each in a process of its own: one calls a tool of the
// run and answers in text, the other answers a schema.
func TestRealParallel(t *testing.T) {
	m, server, _ := real(t, modeltest.Turns(
		modeltest.Turn{Match: "count the files", Tools: []modeltest.Use{{Name: "mcp__skl__glob", Input: json.RawMessage(`{"pattern":"*.md"}`)}}},
		modeltest.Turn{Match: "README.md NEWS.md", Text: "There are two."},
		modeltest.Turn{Match: "is it Monday", Tools: []modeltest.Use{{Name: "StructuredOutput", Input: json.RawMessage(`{"value":true,"reason":"the calendar says so"}`)}}},
	))
	var called []string
	var wait sync.WaitGroup
	started := time.Now()
	wait.Go(func() {
		var streamed strings.Builder
		reply, err := m.Fill(t.Context(), model.Request{
			Purpose: model.Leaf, Node: "1.1", System: "Be exact.", Prompt: "count the files",
			Tools: []model.Tool{{Name: "glob", Description: "finds files", Schema: json.RawMessage(`{"type":"object","properties":{"pattern":{"type":"string"}}}`)}},
			Call: func(_ context.Context, name string, input json.RawMessage) model.ToolResult {
				called = append(called, name+" "+string(input))
				return model.ToolResult{Text: "README.md NEWS.md"}
			},
			Stream: func(text string) { streamed.WriteString(text) },
		})
		if err != nil || reply.Text != "There are two." {
			t.Errorf("with a tool: %q, %v", reply.Text, err)
		}
		if reply.Usage.Calls != 2 || reply.Usage.InputTokens == 0 || reply.Usage.OutputTokens == 0 || reply.Model == "" {
			t.Errorf("cost %+v by model %q", reply.Usage, reply.Model)
		}
		if streamed.String() != "There are two." {
			t.Errorf("streamed %q", streamed.String())
		}
		t.Logf("with a tool: %s", time.Since(started).Round(time.Millisecond))
	})
	wait.Go(func() {
		reply, err := m.Fill(t.Context(), model.Request{
			Purpose: model.Condition, Node: "1.2", Prompt: "is it Monday",
			Schema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"value":{"type":"boolean"},"reason":{"type":"string"}},"required":["value","reason"]}`),
		})
		if err != nil || string(reply.Value) != `{"value":true,"reason":"the calendar says so"}` {
			t.Errorf("with a schema: %s, %v", reply.Value, err)
		}
		t.Logf("with a schema: %s", time.Since(started).Round(time.Millisecond))
	})
	wait.Wait()
	if want := []string{`glob {"pattern":"*.md"}`}; !slices.Equal(called, want) {
		t.Errorf("called %q, want %q", called, want)
	}
	for _, r := range server.Requests() {
		for _, tool := range r.Tools {
			if !slices.Contains([]string{"mcp__skl__glob", "StructuredOutput", "DeferredToolPlaceholder"}, tool) {
				t.Errorf("the model was shown the tool %q", tool)
			}
		}
		if body := string(r.Body); strings.Contains(body, "walrus") {
			t.Error("a memory file of the person was sent")
		}
	}
}

// A model that asks for a tool of the program itself gets none: nothing is written.
func TestRealOwnToolsAreOff(t *testing.T) {
	witness := filepath.Join(t.TempDir(), "witness")
	m, _, _ := real(t, modeltest.Turns(
		modeltest.Turn{Match: "<tool_use_error>", Text: "It cannot be done."},
		modeltest.Turn{Match: "go on", Tools: []modeltest.Use{
			{Name: "Bash", Input: json.RawMessage(`{"command":"touch ` + witness + `"}`)},
			{Name: "Write", Input: json.RawMessage(`{"file_path":"` + witness + `","content":"x"}`)},
		}},
		modeltest.Turn{Repeat: true, Text: "It cannot be done."},
	))
	reply, err := m.Fill(t.Context(), model.Request{Node: "1", Prompt: "go on"})
	if err != nil || reply.Text != "It cannot be done." {
		t.Errorf("got %q, %v", reply.Text, err)
	}
	if _, err := os.Stat(witness); err == nil {
		t.Error("a tool of the program wrote a file")
	}
}

// Files mentioned in a prompt are not read: tools.deny would not hold otherwise.
func TestRealMentions(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("the walrus is hidden here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"read @" + secret + " now", "read @\"" + secret + "\" now", "@" + secret, "/help", "!cat " + secret, "# remember this"} {
		t.Run(prompt[:5], func(t *testing.T) {
			m, server, _ := real(t, modeltest.Turns(modeltest.Turn{Text: "Done.", Repeat: true}))
			reply, err := m.Fill(t.Context(), model.Request{Node: "1", Prompt: prompt})
			if err != nil || reply.Text != "Done." {
				t.Errorf("got %q, %v", reply.Text, err)
			}
			for _, r := range server.Requests() {
				if strings.Contains(string(r.Body), "walrus") {
					t.Error("the file was sent")
				}
				if !strings.Contains(r.Text, prompt) {
					t.Errorf("the prompt became %q", r.Text)
				}
			}
		})
	}
}

func TestRealFailures(t *testing.T) {
	for name, test := range map[string]struct {
		turn modeltest.Turn
		want string
	}{
		"key refused":   {modeltest.Turn{Status: 401, Message: "no"}, model.CodeCredentials},
		"no such model": {modeltest.Turn{Status: 404, Message: "no"}, model.CodeUnknown},
		"bad request":   {modeltest.Turn{Status: 400, Message: "no"}, model.CodeRejected},
		"overload":      {modeltest.Turn{Status: 529, Message: "busy"}, model.CodeUnavailable},
		"refusal":       {modeltest.Turn{Text: "n", Stop: "refusal"}, model.CodeRefused},
		"limit":         {modeltest.Turn{Text: "n", Stop: "max_tokens"}, model.CodeTruncated},
		"cut off":       {modeltest.Turn{Text: "n", Fault: modeltest.Drop}, model.CodeUnavailable},
		"turns used up": {modeltest.Turn{Tools: []modeltest.Use{{Name: "Nothing", Input: json.RawMessage(`{}`)}}}, model.CodeTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			test.turn.Repeat = true
			m, _, _ := real(t, modeltest.Turns(test.turn))
			reply, err := m.Fill(t.Context(), model.Request{Node: "3", Prompt: "go on", MaxTurns: 1})
			if !errors.Is(err, diag.Code(test.want)) {
				t.Fatalf("got %q, %v; want %s", reply.Text, err, test.want)
			}
			t.Log(err)
		})
	}
}

// An answer that comes in two parts, because of the limit of tokens, is one.
func TestRealContinues(t *testing.T) {
	m, _, _ := real(t, modeltest.Turns(
		modeltest.Turn{Text: "One, two, ", Stop: "max_tokens"},
		modeltest.Turn{Text: "three."},
	))
	reply, err := m.Fill(t.Context(), model.Request{Node: "1", Prompt: "count"})
	if err != nil || reply.Text != "One, two, three." {
		t.Errorf("got %q, %v", reply.Text, err)
	}
}

// Cancelling ends the process at once, and nothing of it stays.
func TestRealCancel(t *testing.T) {
	m, server, _ := real(t, modeltest.Turns(modeltest.Turn{Fault: modeltest.Hang, Text: "a"}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		server.Wait(ctx, 1)
		cancel()
	}()
	_, err := m.Fill(ctx, model.Request{Node: "1", Prompt: "wait"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
