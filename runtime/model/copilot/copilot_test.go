package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
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

// real is the model on the real program, with a provider of the person's own
// instead of an account. Copilot's own service cannot be asked in a test.
func real(t *testing.T, script modeltest.Script) (model.Model, *modeltest.Server) {
	t.Helper()
	program := long.Agent(t, "SKL_TEST_COPILOT", "copilot")
	server := modeltest.NewOpenAI(script)
	t.Cleanup(server.Close)
	return New(Config{Program: program, Timeout: time.Minute, Env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "COPILOT_OFFLINE=true",
		"COPILOT_PROVIDER_BASE_URL=" + server.URL, "COPILOT_PROVIDER_API_KEY=key-of-a-test", "COPILOT_MODEL=gpt-test",
	}}), server
}

func TestRealParallel(t *testing.T) {
	m, server := real(t, modeltest.Turns(
		modeltest.Turn{Match: "count the files", Tools: []modeltest.Use{{Name: "skl-glob", Input: json.RawMessage(`{"pattern":"*.md"}`)}}},
		modeltest.Turn{Match: "README.md NEWS.md", Text: "There are two."},
		modeltest.Turn{Match: "is it Monday", Text: `{"value":true}`},
	))
	var called []string
	var wait sync.WaitGroup
	wait.Go(func() {
		reply, err := m.Fill(t.Context(), model.Request{
			Node: "1.1", System: "Be exact.", Prompt: "count the files",
			Tools: []model.Tool{{Name: "glob", Schema: json.RawMessage(`{"type":"object","properties":{"pattern":{"type":"string"}}}`)}},
			Call: func(_ context.Context, name string, input json.RawMessage) model.ToolResult {
				called = append(called, name+" "+string(input))
				return model.ToolResult{Text: "README.md NEWS.md"}
			},
		})
		if err != nil || reply.Text != "There are two." || reply.Usage.Calls != 2 || reply.Usage.InputTokens == 0 {
			t.Errorf("with a tool: %+v, %v", reply, err)
		}
	})
	wait.Go(func() {
		reply, err := model.Checked(m, 0).Fill(t.Context(), model.Request{
			Node: "1.2", Prompt: "is it Monday", Schema: json.RawMessage(`{"type":"object","properties":{"value":{"type":"boolean"}},"required":["value"]}`),
		})
		if err != nil || string(reply.Value) != `{"value":true}` {
			t.Errorf("with a schema: %s, %v", reply.Value, err)
		}
	})
	wait.Wait()
	if want := []string{`glob {"pattern":"*.md"}`}; !slices.Equal(called, want) {
		t.Errorf("called %q, want %q", called, want)
	}
	for _, r := range server.Requests() {
		for _, tool := range r.Tools {
			if tool != "skl-glob" {
				t.Errorf("the model was shown the tool %q", tool)
			}
		}
	}
}

func TestRealMentions(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("the walrus is hidden here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, server := real(t, modeltest.Turns(modeltest.Turn{Text: "Done.", Repeat: true}))
	if _, err := m.Fill(t.Context(), model.Request{Node: "1", Prompt: "read @" + secret}); err != nil {
		t.Fatal(err)
	}
	for _, r := range server.Requests() {
		if strings.Contains(string(r.Body), "walrus") {
			t.Error("a file that the prompt mentions was sent")
		}
	}
}

func TestRealKeyRefused(t *testing.T) {
	m, _ := real(t, modeltest.Turns(modeltest.Turn{Status: 401, Message: "no", Repeat: true}))
	if _, err := m.Fill(t.Context(), model.Request{Node: "1", Prompt: "go"}); !errors.Is(err, diag.Code(model.CodeCredentials)) {
		t.Errorf("got %v", err)
	}
}

// recorded is a program that says what the real one said.
func recorded(t *testing.T, lines, complaint string, status string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "copilot")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >'" + dir + "/args'\nenv >'" + dir + "/env'\ncat >'" + dir + "/prompt'\n" +
		"cat <<'END'\n" + lines + "\nEND\necho '" + complaint + "' >&2\nexit " + status + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

const answered = `{"type":"session.skills_loaded","data":{"skills":[]},"ephemeral":true}
not JSON at all
{"type":"assistant.message","data":{"model":"m-1","content":"let me look","toolRequests":[{"name":"skl-glob"}]}}
{"type":"assistant.message","data":{"model":"m-2","content":"of a subagent","toolRequests":[],"parentToolCallId":"call_1"}}
{"type":"assistant.message_delta","data":{"deltaContent":"Two."}}
{"type":"assistant.message","data":{"model":"m-1","content":"Two.","toolRequests":[]}}
{"type":"result","exitCode":0,"usage":{"premiumRequests":1}}`

func TestOutput(t *testing.T) {
	failed := func(code, message string) string {
		return `{"type":"session.error","data":{"errorType":"query","message":"` + message + `","statusCode":` + code + "}}\n" + `{"type":"result","exitCode":1}`
	}
	for name, test := range map[string]struct{ lines, complaint, status, want, code string }{
		"answer":          {answered, "", "0", "Two.", ""},
		"no account":      {"", "Error: No authentication information found.", "1", "", model.CodeCredentials},
		"unknown flag":    {"", "error: unknown option", "2", "", model.CodeRejected},
		"key refused":     {failed("401", "no"), "", "1", "", model.CodeCredentials},
		"no such model":   {failed("404", "no"), "", "1", "", model.CodeUnknown},
		"bad request":     {failed("400", "no"), "", "1", "", model.CodeRejected},
		"overload":        {failed("529", "busy"), "", "1", "", model.CodeUnavailable},
		"only tool calls": {`{"type":"assistant.message","data":{"content":"hm","toolRequests":[{}]}}` + "\n" + `{"type":"result","exitCode":0}`, "", "0", "", model.CodeTruncated},
		"crash":           {`{"type":"assistant.message","data":{"content":"Two.","toolRequests":[]}}`, "panic", "134", "", model.CodeRejected},
	} {
		t.Run(name, func(t *testing.T) {
			var streamed string
			m := New(Config{Program: recorded(t, test.lines, test.complaint, test.status)})
			reply, err := m.Fill(t.Context(), model.Request{Node: "1", Prompt: "p", Stream: func(s string) { streamed += s }})
			if reply.Text != test.want || (err == nil) != (test.code == "") || test.code != "" && !errors.Is(err, diag.Code(test.code)) {
				t.Errorf("got %q, %v; want %q, %s", reply.Text, err, test.want, test.code)
			}
			if streamed != test.want {
				t.Errorf("streamed %q", streamed)
			}
		})
	}
}

// The program is started with no tools of its own, no secret on the command line, and no variables of others in its
// environment.
func TestCommand(t *testing.T) {
	program := recorded(t, answered, "", "0")
	m := New(Config{Program: program, Model: "gpt-5", Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/me", "GH_TOKEN=g", "COPILOT_ALLOW_ALL=true", "AWS_SECRET=x"}})
	_, err := m.Fill(t.Context(), model.Request{
		Node: "1", System: "Be kind.", Prompt: "/help me", Schema: json.RawMessage(`{"type":"object"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(program), name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	args := strings.Fields(read("args"))
	for _, want := range []string{"--available-tools=skl-none", "--no-custom-instructions", "--disable-builtin-mcps", "gpt-5"} {
		if !slices.Contains(args, want) {
			t.Errorf("%q is not among the arguments %q", want, args)
		}
	}
	if prompt := read("prompt"); !strings.HasPrefix(prompt, "You carry out") || !strings.Contains(prompt, "Be kind.\n\nStep 1:\n\n/help me") || !strings.Contains(prompt, `{"type":"object"}`) {
		t.Errorf("the prompt is %q", prompt)
	}
	env := read("env")
	for _, name := range []string{"AWS_SECRET", "COPILOT_ALLOW_ALL"} {
		if strings.Contains(env, name+"=") {
			t.Errorf("the program sees %s", name)
		}
	}
	if !strings.Contains(env, "GH_TOKEN=g\n") || !strings.Contains(env, "NO_PROXY=127.0.0.1,localhost\n") {
		t.Errorf("the environment is %q", env)
	}
}

func TestNoProgram(t *testing.T) {
	m := New(Config{Program: filepath.Join(t.TempDir(), "copilot")})
	if _, err := m.Fill(t.Context(), model.Request{Node: "1"}); !errors.Is(err, diag.Code(model.CodeUnknown)) {
		t.Errorf("got %v", err)
	}
	if _, err := New(Config{Model: "--yolo"}).Fill(t.Context(), model.Request{Node: "1"}); !errors.Is(err, diag.Code(model.CodeUnknown)) {
		t.Errorf("a flag as model: %v", err)
	}
}

func FuzzLine(f *testing.F) {
	for line := range strings.Lines(answered) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s := stream{}
		s.line([]byte(line))
		reply, err := s.reply(struct {
			Code int
			Tail string
		}{})
		if err == nil || reply.Text != "" {
			t.Errorf("one line was an answer: %q", reply.Text)
		}
	})
}
