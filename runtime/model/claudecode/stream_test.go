package claudecode

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/mcp/child"
	"github.com/skl-project/skl/spec/diag"
)

const (
	begin = `{"type":"system","subtype":"init","claude_code_version":"2.1.330","mcp_servers":[{"name":"skl","status":"connected"}]}`
	cost  = `"total_cost_usd":0.5,"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":8}`
)

func message(id, text string) string {
	return `{"type":"assistant","message":{"id":"` + id + `","model":"m-1","content":[{"type":"text","text":"` + text + `"}]},"parent_tool_use_id":null}`
}

func TestStream(t *testing.T) {
	result := func(fields string) string { return `{"type":"result",` + cost + `,` + fields + `}` }
	for name, test := range map[string]struct {
		lines      []string
		want, code string
	}{
		"text":                  {[]string{begin, message("a", "Hi."), result(`"subtype":"success","result":"Hi."`)}, "Hi.", ""},
		"value":                 {[]string{begin, result(`"subtype":"success","result":"","structured_output":{"value":true}`)}, `{"value":true}`, ""},
		"text for a value":      {[]string{begin, result(`"subtype":"success","result":"{}","structured_output":null`)}, "{}", ""},
		"in two parts":          {[]string{begin, message("a", "One, "), `{"type":"user","isSynthetic":true}`, message("b", "two."), result(`"subtype":"success","result":"two."`)}, "One, two.", ""},
		"refused and repeated":  {[]string{begin, message("a", "Bad"), `{"type":"user","isSynthetic":true,"refused_message_id":"a"}`, message("b", "Good."), result(`"subtype":"success","result":"Good."`)}, "Good.", ""},
		"after a tool":          {[]string{begin, message("a", "Let me look."), `{"type":"user"}`, message("b", "Two."), result(`"subtype":"success","result":"Two."`)}, "Two.", ""},
		"unknown lines":         {[]string{begin, `{"type":"news"}`, `[1]`, `no JSON`, `{"type":7}`, result(`"subtype":"success","result":"Hi."`)}, "Hi.", ""},
		"of a subagent":         {[]string{begin, `{"type":"result","parent_tool_use_id":"x","result":"no"}`, result(`"subtype":"success","result":"Hi."`)}, "Hi.", ""},
		"a field of other type": {[]string{begin, result(`"subtype":"success","result":"Hi.","errors":"none"`)}, "Hi.", ""},
		"turns":                 {[]string{begin, result(`"subtype":"error_max_turns"`)}, "", model.CodeTruncated},
		"no value":              {[]string{begin, result(`"subtype":"error_max_structured_output_retries"`)}, "", model.CodeBadAnswer},
		"not logged in":         {[]string{begin, result(`"subtype":"success","is_error":true,"result":"Not logged in · Please run /login"`)}, "", model.CodeCredentials},
		"rate limit":            {[]string{begin, result(`"subtype":"success","is_error":true,"api_error_status":429,"result":"slow"`)}, "", model.CodeUnavailable},
		"silence":               {[]string{begin}, "", model.CodeRejected},
	} {
		t.Run(name, func(t *testing.T) {
			s := stream{request: model.Request{Node: "1", Schema: json.RawMessage(`{}`)}, tools: true}
			for i, line := range test.lines {
				err := s.line([]byte(line))
				if last := i == len(test.lines)-1 && name != "silence"; last && err != child.ErrDone || !last && err != nil {
					t.Fatalf("line %d: %v", i, err)
				}
			}
			reply, err := s.reply(child.Exit{})
			if got := reply.Text + string(reply.Value); got != test.want || (err == nil) != (test.code == "") || test.code != "" && !errors.Is(err, diag.Code(test.code)) {
				t.Errorf("got %q, %v; want %q, %s", got, err, test.want, test.code)
			}
			if u := reply.Usage; s.last != nil && (u.InputTokens != 7 || u.CachedTokens != 4 || u.OutputTokens != 8 || u.Dollars != 0.5) {
				t.Errorf("usage %+v", u)
			}
		})
	}
}

// A process is ended before it answers when it is too old, or has no tools.
func TestEndedAtItsFirstLine(t *testing.T) {
	for line, want := range map[string]error{
		begin: nil,
		strings.Replace(begin, "connected", "failed", 1):      errNoTools,
		strings.Replace(begin, "connected", "pending", 1):     errNoTools,
		strings.Replace(begin, `"skl"`, `"other"`, 1):         errNoTools,
		strings.Replace(begin, "2.1.330", "2.1.99", 1):        errOld,
		strings.Replace(begin, "2.1.330", "", 1):              errOld,
		strings.Replace(begin, "2.1.330", "2.2.0", 1):         nil,
		`{"type":"system","subtype":"api_retry","attempt":1}`: nil,
	} {
		s := stream{tools: true}
		if err := s.line([]byte(line)); err != want {
			t.Errorf("%s: got %v, want %v", line, err, want)
		}
	}
}

func TestCommand(t *testing.T) {
	c := New(Config{Program: "claude", Model: "opus", Env: []string{
		"PATH=/bin", "HOME=/home/me", "ANTHROPIC_API_KEY=k", "AWS_SECRET_ACCESS_KEY=s", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CONFIG_DIR=/c",
	}}).(*claude)
	dir := t.TempDir()
	command, err := c.command(dir, model.Request{
		Node: "1", System: "Be kind.", Prompt: "/help", MaxTurns: 4, MaxTokens: 100, Schema: json.RawMessage(`{"$schema":"x","type":"object"}`),
	}, []byte(`{"token":"secret"}`))
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(command.Args, " ")
	for _, want := range []string{"--tools  --setting-sources  --strict", "--max-turns 6", `--json-schema {"type":"object"}`, "--model opus", "--allowedTools mcp__skl"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	if strings.Contains(line, "secret") || strings.Contains(line, "Be kind") || !strings.HasPrefix(command.Stdin, "Step 1:\n") {
		t.Errorf("on the command line: %q; input %q", line, command.Stdin)
	}
	for _, name := range []string{"mcp.json", "system.txt"} {
		if s, err := os.Stat(filepath.Join(dir, name)); err != nil || s.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	for _, want := range []string{"ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_MAX_OUTPUT_TOKENS=100", "CLAUDE_CODE_DISABLE_FILE_MENTIONS=1"} {
		if !slices.Contains(command.Env, want) {
			t.Errorf("%s is not in %q", want, command.Env)
		}
	}
	for _, entry := range command.Env {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains([]string{"AWS_SECRET_ACCESS_KEY", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"}, name) {
			t.Errorf("%s is passed on", entry)
		}
	}
	large, _ := json.Marshal(map[string]string{"type": "object", "description": strings.Repeat("x", maxSchemaArg)})
	command, err = c.command(filepath.Join(t.TempDir()), model.Request{Node: "1", Schema: large}, nil)
	if err != nil || slices.Contains(command.Args, "--json-schema") || !strings.Contains(command.Stdin, string(large)) {
		t.Errorf("a large schema is not in the prompt: %v", err)
	}
}

func TestNoProgram(t *testing.T) {
	for _, c := range []Config{{Program: filepath.Join(t.TempDir(), "claude")}, {Model: "--dangerously-skip-permissions"}} {
		if _, err := New(c).Fill(t.Context(), model.Request{Node: "1"}); !errors.Is(err, diag.Code(model.CodeUnknown)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add(begin)
	f.Add(message("a", "Hi."))
	f.Add(`{"type":"result","subtype":"success","result":"Hi."}`)
	f.Fuzz(func(t *testing.T, line string) {
		s := stream{}
		err := s.line([]byte(line))
		if (err == child.ErrDone) != (s.last != nil) {
			t.Errorf("%v, but last is %v", err, s.last)
		}
		s.reply(child.Exit{})
	})
}
