// Package claudecode answers requests with Claude Code: one child process
// `claude -p` for each, so that each has a context of its own.
//
//   - The program gets none of its own tools, settings, memory files, skills or
//     MCP servers, and starts in an empty directory. It reaches the tools of the
//     request, and only these, through a server on 127.0.0.1 (package child).
//   - Account, model and network are the person's: HOME, ANTHROPIC_*, CLAUDE_*
//     and proxies are passed on, nothing else of the environment. Marks that an
//     outer Claude Code left there are dropped.
//   - A schema is passed with --json-schema; one above 96 KiB, which does not
//     fit on a command line, is put into the prompt.
//   - Prompts travel by standard input and by files of mode 0600 in a temporary
//     directory that is gone when Fill returns.
//   - @path in a prompt, which makes the program send that file, is switched off.
//     Versions before MinVersion, which may not know the switch, are refused
//     before they have answered.
//   - The program repeats failed calls by itself. A request ends after
//     Config.Timeout in any case.
//
// It was built against Claude Code 2.1.330 and its stream of JSON lines
// (--output-format stream-json).
package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/internal/scratch"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/mcp/child"
	"github.com/skl-project/skl/spec/diag"
)

// MinVersion is the oldest Claude Code that is used.
const MinVersion = "2.1.330"

const (
	name           = "claude-code"
	defaultTimeout = 30 * time.Minute
	defaultTurns   = 50
	maxSchemaArg   = 96 << 10 // bytes; Linux takes 128 KiB per argument
)

// Config says which program answers. The zero value is `claude` from PATH with
// the model that its person chose.
type Config struct {
	Program string        // "" means claude
	Model   string        // "" means the program's choice; else an alias or a full name
	Env     []string      // NAME=VALUE that the program is picked from; nil means os.Environ()
	Timeout time.Duration // of one request; 0 means 30 minutes
}

// New gives the model. Whether the program is there shows at the first request.
func New(c Config) model.Model {
	if c.Program == "" {
		c.Program = "claude"
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	return &claude{c}
}

type claude struct{ Config }

func (c *claude) Name() string {
	if c.Model == "" {
		return name
	}
	return name + ":" + c.Model
}

func (c *claude) Capabilities() model.Capabilities {
	return model.Capabilities{Tools: true, Parallel: true}
}

// Fill answers r by one process. Errors have the codes of package model.
func (c *claude) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	// The name that the command line knows; a leading - would be a flag.
	if strings.HasPrefix(c.Model, "-") {
		return model.Reply{}, diag.New(diag.Misuse, model.CodeUnknown, "claude-code has no model %q", c.Model)
	}
	dir, remove, err := scratch.New("claude")
	if err != nil {
		return model.Reply{}, err
	}
	defer remove()

	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var servers []byte
	if len(r.Tools) > 0 && r.Call != nil {
		tools, err := child.Serve(limited, r)
		if err != nil {
			return model.Reply{}, err
		}
		defer tools.Close()
		servers = tools.Settings(nil)
	}
	command, err := c.command(dir, r, servers)
	if err != nil {
		return model.Reply{}, err
	}
	answer := stream{request: r, tools: servers != nil}
	command.Line = answer.line
	exit, err := child.Run(limited, command)
	switch {
	case ctx.Err() != nil && answer.last == nil:
		return model.Reply{Usage: answer.usage()}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return model.Reply{Usage: answer.usage()}, model.Unavailable("claude-code did not answer node %s within %s", r.Node, c.Timeout)
	case errors.Is(err, errOld):
		return model.Reply{}, diag.New(diag.Unmet, model.CodeUnknown, "the program %q is Claude Code %s; %s or newer is needed", c.Program, diag.Printable(answer.version), MinVersion).
			Hint("claude update")
	case err != nil:
		return model.Reply{Usage: answer.usage()}, c.cannotRun(err)
	}
	return answer.reply(exit)
}

// cannotRun explains why there was no process, or no end to what it said.
func (c *claude) cannotRun(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return diag.New(diag.Misuse, model.CodeUnknown, "the program %q of the model claude-code cannot be started: %w", c.Program, err).
			Hint("install Claude Code, or choose another model with --model")
	}
	return diag.New(diag.Failed, model.CodeUnavailable, "claude-code was stopped: %w", err)
}

// command is the process for r. Files for it are written below dir.
func (c *claude) command(dir string, r model.Request, servers []byte) (child.Command, error) {
	work, system := filepath.Join(dir, "work"), filepath.Join(dir, "system.txt")
	if err := os.Mkdir(work, 0o700); err != nil {
		return child.Command{}, err
	}
	schema := argSchema(r.Schema)
	// A prompt that began with / would be a command of the program.
	prompt := "Step " + r.Node + ":\n\n" + r.Prompt
	if r.Schema != nil && schema == "" {
		prompt += "\n\nAnswer with one JSON object, and nothing else, that fits this JSON Schema:\n" + string(r.Schema)
	}
	if err := os.WriteFile(system, []byte(systemPrompt(r)), 0o600); err != nil {
		return child.Command{}, err
	}
	turns := r.MaxTurns
	if turns <= 0 {
		turns = defaultTurns
	}
	args := []string{
		"--print", "--output-format", "stream-json", "--verbose",
		"--tools", "",
		"--setting-sources", "",
		"--strict-mcp-config",
		"--disable-slash-commands",
		"--no-session-persistence",
		"--permission-mode", "dontAsk",
		"--system-prompt-file", system,
		// The answer itself is a turn, and one more when it is a tool call.
		"--max-turns", strconv.Itoa(turns + 2),
	}
	if servers != nil {
		config := filepath.Join(dir, "mcp.json")
		if err := os.WriteFile(config, servers, 0o600); err != nil {
			return child.Command{}, err
		}
		args = append(args, "--mcp-config", config, "--allowedTools", "mcp__"+child.Server)
	}
	if schema != "" {
		args = append(args, "--json-schema", schema)
	}
	if r.Stream != nil {
		args = append(args, "--include-partial-messages")
	}
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	return child.Command{Program: c.Program, Args: args, Dir: work, Env: c.environ(r), Stdin: prompt}, nil
}

// systemPrompt replaces the program's own, which speaks of files and shells
// that are not there.
func systemPrompt(r model.Request) string {
	s := "You carry out one step of a written procedure. Do what the step says, and answer with its result alone."
	if len(r.Tools) > 0 {
		s += " The tools of the server " + child.Server + " are all that you have; a tool that denies a call will deny it again."
	}
	if r.System != "" {
		s += "\n\n" + r.System
	}
	return s
}

// argSchema is schema for the command line, "" if there is none or it is too
// large. The word $schema goes: the program knows one draft only, and what is
// checked in the end is checked by skl.
func argSchema(schema json.RawMessage) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(schema, &object) != nil || object == nil {
		return ""
	}
	delete(object, "$schema")
	b, err := json.Marshal(object)
	if err != nil || len(b) > maxSchemaArg {
		return ""
	}
	return string(b)
}

// environ is what the program sees.
func (c *claude) environ(r model.Request) []string {
	all := c.Env
	if all == nil {
		all = os.Environ()
	}
	has := func(name string) bool {
		return slices.ContainsFunc(all, func(entry string) bool {
			v, ok := strings.CutPrefix(entry, name+"=")
			return ok && v != "" && v != "0"
		})
	}
	bedrock, vertex := has("CLAUDE_CODE_USE_BEDROCK"), has("CLAUDE_CODE_USE_VERTEX")
	env := child.Keep(all, func(name string) bool {
		switch {
		case outerMark(name):
			return false
		case strings.HasPrefix(name, "ANTHROPIC_"), strings.HasPrefix(name, "CLAUDE_"):
			return true
		case strings.HasPrefix(name, "DISABLE_"):
			return slices.Contains([]string{"DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "DISABLE_COST_WARNINGS", "DISABLE_PROMPT_CACHING"}, name)
		case strings.HasPrefix(name, "AWS_"):
			return bedrock
		case strings.HasPrefix(name, "GOOGLE_"), strings.HasPrefix(name, "VERTEX_"), name == "CLOUD_ML_REGION", name == "GCLOUD_PROJECT":
			return vertex
		}
		return false
	})
	env = append(env,
		"DISABLE_AUTOUPDATER=1",
		// A tool may ask a person, so its time is the run's business.
		fmt.Sprintf("MCP_TOOL_TIMEOUT=%d", c.Timeout.Milliseconds()),
		"MCP_TIMEOUT=30000",
		// The first turn waits for the tools; else it may be asked without them.
		"MCP_CONNECTION_NONBLOCKING=0", "MCP_CONNECT_TIMEOUT_MS=30000",
		"MAX_MCP_OUTPUT_TOKENS=200000",
		// @path in a prompt would send any file that the person can read, past tools.deny.
		"CLAUDE_CODE_DISABLE_FILE_MENTIONS=1", "CLAUDE_CODE_DISABLE_ATTACHMENTS=1",
		"CLAUDE_CODE_DISABLE_CLAUDE_MDS=1", "CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
		// Tools that are looked up by another tool first would not be seen: there is none.
		"ENABLE_TOOL_SEARCH=false",
	)
	if r.MaxTokens > 0 {
		env = append(env, "CLAUDE_CODE_MAX_OUTPUT_TOKENS="+strconv.Itoa(r.MaxTokens))
	}
	return env
}

// outerMark says whether an outer Claude Code, whose shell skl runs in, set
// the variable to speak of itself.
func outerMark(name string) bool {
	return slices.Contains([]string{
		"CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION",
		"CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_EFFORT",
		"CLAUDE_CODE_TMPDIR", "CLAUDE_CODE_MESSAGING_SOCKET",
	}, name)
}
