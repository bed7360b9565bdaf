// Package mcp assembles the tools of the areas into one MCP server, over
// standard input and output. Nothing but the protocol is written to the output.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/index/serve"
	drive "github.com/skl-project/skl/runtime/model/mcp"
	"github.com/skl-project/skl/spec/diag"
)

// Groups of tools that a server can offer.
const (
	Code      = "code"   // the seven canopy tools
	SkillText = "skills" // skill_search and skill_read
	Run       = "run"    // skill_run and skill_resume
	Author    = "author" // skill_look, skill_plan and skill_apply
)

// Groups lists them, in the order of the help.
func Groups() []string { return []string{Code, SkillText, Run, Author} }

// CheckGroups refuses names that are no groups.
func CheckGroups(names []string) error {
	for _, name := range names {
		if !slices.Contains(Groups(), name) {
			return diag.New(diag.Misuse, "unknown_tools", "there is no group of tools %q", name).Meant(Groups()...)
		}
	}
	return nil
}

// Options say what a server offers.
type Options struct {
	Version string
	Tools   []string     // groups; empty is all of them
	Code    *serve.Tools // closed by Serve; needed unless Tools leaves the group out
	Skills  Skills
	Author  Authoring     // needed unless Tools leaves the group out
	Run     drive.RunFunc // nil refuses every run
	In      io.ReadCloser
	Out     io.WriteCloser
	Log     io.Writer // told of calls that broke and of skills that are not served; needed
}

// offers reports whether a group is offered.
func (o Options) offers(group string) bool {
	return len(o.Tools) == 0 || slices.Contains(o.Tools, group)
}

// Serve answers until the client closes the connection or ctx ends, and then stops every run that is left.
func Serve(ctx context.Context, o Options) error {
	if err := CheckGroups(o.Tools); err != nil {
		return err
	}
	skills := o.Skills.inTurn()
	extended := o.offers(SkillText) && skills.Offer != nil
	server := sdk.NewServer(&sdk.Implementation{Name: "skl", Title: "skl", Version: o.Version}, serverOptions(extended))
	if extended {
		if err := addExtension(server, skills, o.Log); err != nil {
			return err
		}
	}
	server.AddReceivingMiddleware(guard(o.Log))
	for _, g := range Groups() {
		if !o.offers(g) {
			continue
		}
		switch g {
		case Code:
			o.Code.Add(server)
			defer o.Code.Close()
		case SkillText:
			if err := addSkills(server, skills); err != nil {
				return err
			}
		case Author:
			if err := addAuthor(server, o.Author); err != nil {
				return err
			}
		case Run:
			runs := drive.Register(server, drive.Options{Run: o.Run})
			defer runs.Close()
		}
	}
	out := &shared{WriteCloser: o.Out}
	err := server.Run(ctx, patient{&sdk.IOTransport{Reader: newLines(o.In, out), Writer: out, MaxLineLength: -1}}) // lines bounds them
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// guard keeps a call that panics from ending the session.
func guard(log io.Writer) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (answer sdk.Result, err error) {
			defer func() {
				caught := recover()
				if caught == nil {
					return
				}
				fmt.Fprintf(log, "skl: %s: panic: %s\n%s", method, diag.Printable(fmt.Sprint(caught)), debug.Stack())
				err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "skl broke on this call, and goes on; its log says why"}
				if method == "tools/call" {
					answer, err = result(problemOf(err), true)
				}
			}()
			return next(ctx, method, r)
		}
	}
}

// Hosts are those that Snippet knows.
func Hosts() []string {
	return []string{"claude-code", "github-copilot", "codex", "opencode", "cursor", "gemini", "vscode", "windsurf"}
}

// Snippet is what a host's configuration needs to start this server.
func Snippet(host, program string, args []string) (string, error) {
	command, list := quote(program), quote(args) // of JSON, which TOML reads as well
	switch host {
	case "claude-code", "cursor", "gemini", "windsurf":
		return fmt.Sprintf("{\n  \"mcpServers\": {\n    \"skl\": {\"command\": %s, \"args\": %s}\n  }\n}\n", command, list), nil
	case "github-copilot":
		return fmt.Sprintf("{\n  \"mcpServers\": {\n    \"skl\": {\"type\": \"local\", \"command\": %s, \"args\": %s, \"tools\": [\"*\"]}\n  }\n}\n", command, list), nil
	case "vscode":
		return fmt.Sprintf("{\n  \"servers\": {\n    \"skl\": {\"type\": \"stdio\", \"command\": %s, \"args\": %s}\n  }\n}\n", command, list), nil
	case "codex":
		return fmt.Sprintf("[mcp_servers.skl]\ncommand = %s\nargs = %s\n", command, list), nil
	case "opencode":
		whole := quote(append([]string{program}, args...))
		return fmt.Sprintf("{\n  \"mcp\": {\n    \"skl\": {\"type\": \"local\", \"command\": %s, \"enabled\": true}\n  }\n}\n", whole), nil
	}
	return "", diag.New(diag.Misuse, "unknown_host", "there is no snippet for the host %q", host).Meant(Hosts()...)
}

// quote writes v as JSON on one line, with a blank after each comma.
func quote(v any) string {
	if list, ok := v.([]string); ok {
		quoted := make([]string, len(list))
		for i, s := range list {
			quoted[i] = quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return `""` // texts always can be written
	}
	return strings.TrimSpace(b.String())
}
