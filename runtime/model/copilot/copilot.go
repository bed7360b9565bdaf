// Package copilot answers requests with GitHub Copilot CLI: one child process
// `copilot` for each, so that each has a context of its own.
//
//   - None of the program's own tools is available to the model, nor are custom
//     instructions and the built-in MCP servers; it starts in an empty directory
//     and reaches the tools of the request through a server on 127.0.0.1
//     (package child). MCP servers and hooks that the person configured for the
//     program are still started by it; their tools are not available.
//   - The program has a system prompt of its own that cannot be replaced: what
//     Request.System says comes first in the prompt.
//   - It takes no schema. A schema is part of the prompt, and the answer is text:
//     [model.Checked] reads the object in it and asks again.
//   - Account and network are the person's: HOME, COPILOT_*, GH_*, GITHUB_* and
//     proxies are passed on, nothing else of the environment.
//   - The limit of tokens of a request reaches only a provider that the person
//     configured by COPILOT_PROVIDER_BASE_URL. MaxTurns limits calls of tools.
//
// It was built against Copilot CLI 1.0.102 and its lines of JSON
// (--output-format json).
package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"io"
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

const (
	name           = "copilot"
	defaultTimeout = 30 * time.Minute
	maxUsageFile   = 1 << 20 // bytes
)

// Config says which program answers. The zero value is `copilot` from PATH with
// the model that its person chose.
type Config struct {
	Program string        // "" means copilot
	Model   string        // "" means the program's choice
	Env     []string      // NAME=VALUE that the program is picked from; nil means os.Environ()
	Timeout time.Duration // of one request; 0 means 30 minutes
}

// New gives the model. Whether the program is there shows at the first request.
func New(c Config) model.Model {
	if c.Program == "" {
		c.Program = "copilot"
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	return &copilot{c}
}

type copilot struct{ Config }

func (c *copilot) Name() string {
	if c.Model == "" {
		return name
	}
	return name + ":" + c.Model
}

func (c *copilot) Capabilities() model.Capabilities {
	return model.Capabilities{Tools: true, Parallel: true}
}

// Fill answers r by one process. Errors have the codes of package model.
func (c *copilot) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	if strings.HasPrefix(c.Model, "-") {
		return model.Reply{}, diag.New(diag.Misuse, model.CodeUnknown, "copilot has no model %q", c.Model)
	}
	dir, remove, err := scratch.New("copilot")
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
		servers = tools.Settings(map[string]any{"tools": []string{"*"}})
	}
	command, err := c.command(dir, r, servers)
	if err != nil {
		return model.Reply{}, err
	}
	said := stream{request: r, tools: servers != nil}
	command.Line = said.line
	exit, err := child.Run(limited, command)
	usage := readUsage(filepath.Join(dir, "usage.json"))
	switch {
	case ctx.Err() != nil && !said.over:
		return model.Reply{Usage: usage}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return model.Reply{Usage: usage}, model.Unavailable("copilot did not answer node %s within %s", r.Node, c.Timeout)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return model.Reply{}, diag.New(diag.Misuse, model.CodeUnknown, "the program %q of the model copilot cannot be started: %w", c.Program, err).
			Hint("install GitHub Copilot CLI, or choose another model with --model")
	case err != nil:
		return model.Reply{Usage: usage}, diag.New(diag.Failed, model.CodeUnavailable, "copilot was stopped: %w", err)
	}
	reply, err := said.reply(exit)
	reply.Usage = usage
	return reply, err
}

// command is the process for r. Files for it are written below dir.
func (c *copilot) command(dir string, r model.Request, servers []byte) (child.Command, error) {
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return child.Command{}, err
	}
	args := []string{
		"--output-format", "json", "--no-color", "--log-level", "none",
		"--usage-output-file", filepath.Join(dir, "usage.json"),
		"--no-custom-instructions", "--disable-builtin-mcps",
		"--no-ask-user", "--no-auto-update", "--no-remote", "--disallow-temp-dir",
	}
	available := []string{child.Server + "-none"} // a list of no known name leaves none
	if servers != nil {
		config := filepath.Join(dir, "mcp.json")
		if err := os.WriteFile(config, servers, 0o600); err != nil {
			return child.Command{}, err
		}
		available = available[:0]
		for _, t := range r.Tools {
			available = append(available, child.Server+"-"+t.Name)
		}
		args = append(args, "--additional-mcp-config", "@"+config, "--allow-tool="+child.Server)
	}
	args = append(args, "--available-tools="+strings.Join(available, ","))
	if r.Stream != nil {
		args = append(args, "--stream", "on")
	}
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	return child.Command{Program: c.Program, Args: args, Dir: work, Env: c.environ(r), Stdin: prompt(r)}, nil
}

// prompt is all that the program is told.
func prompt(r model.Request) string {
	var b strings.Builder
	b.WriteString("You carry out one step of a written procedure. Do what the step says, and answer with its result alone.")
	if len(r.Tools) > 0 {
		b.WriteString(" The tools of the server " + child.Server + " are all that you have; a tool that denies a call will deny it again.")
	}
	if r.System != "" {
		b.WriteString("\n\n" + r.System)
	}
	b.WriteString("\n\nStep " + r.Node + ":\n\n" + r.Prompt)
	if r.Schema != nil {
		b.WriteString("\n\nAnswer with one JSON object, and nothing else, that fits this JSON Schema:\n" + string(r.Schema))
	}
	return b.String()
}

func (c *copilot) environ(r model.Request) []string {
	all := c.Env
	if all == nil {
		all = os.Environ()
	}
	env := child.Keep(all, func(name string) bool {
		switch name {
		case "COPILOT_ALLOW_ALL", "COPILOT_CUSTOM_INSTRUCTIONS_DIRS", "COPILOT_ASSISTED_APPROVAL", "COPILOT_OTEL_FILE_EXPORTER_PATH":
			return false // they would give the program more than a request has
		}
		return strings.HasPrefix(name, "COPILOT_") ||
			slices.Contains([]string{"GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "GH_CONFIG_DIR", "DBUS_SESSION_BUS_ADDRESS"}, name)
	})
	env = append(env, "NO_COLOR=1", "COPILOT_AUTO_UPDATE=false")
	if r.MaxTokens > 0 {
		env = append(env, "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS="+strconv.Itoa(r.MaxTokens))
	}
	return env
}

// readUsage reads what the program counted; a file that is not there, or not
// as expected, counts nothing.
func readUsage(path string) model.Usage {
	f, err := os.Open(path)
	if err != nil {
		return model.Usage{}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxUsageFile))
	if err != nil {
		return model.Usage{}
	}
	var counted struct {
		Models map[string]struct {
			Requests struct {
				Count int `json:"count"`
			} `json:"requests"`
			Usage struct {
				Input  int `json:"inputTokens"`
				Output int `json:"outputTokens"`
				Cached int `json:"cacheReadTokens"`
			} `json:"usage"`
		} `json:"modelMetrics"`
	}
	if json.Unmarshal(b, &counted) != nil {
		return model.Usage{}
	}
	var sum model.Usage
	for _, m := range counted.Models {
		sum = sum.Add(model.Usage{Calls: m.Requests.Count, InputTokens: m.Usage.Input, OutputTokens: m.Usage.Output, CachedTokens: m.Usage.Cached})
	}
	return sum
}
