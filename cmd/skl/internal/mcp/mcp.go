// Package mcp assembles the tools of the areas into one MCP server, over
// standard input and output. Nothing but the protocol is written to the output.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	drive "github.com/skl-project/skl/runtime/model/mcp"
	"github.com/skl-project/skl/spec/diag"
)

// Groups of tools that a server can offer.
const Run = "run" // skill_run and skill_resume

// Groups lists them, in the order of the help.
func Groups() []string { return []string{Run} }

// Options say what a server offers.
type Options struct {
	Version string
	Tools   []string      // groups; empty is all of them
	Run     drive.RunFunc // nil refuses every run
	In      io.ReadCloser
	Out     io.WriteCloser
}

// Serve answers until the client closes the connection or ctx ends, and then stops every run that is left.
func Serve(ctx context.Context, o Options) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "skl", Title: "skl", Version: o.Version}, nil)
	groups := o.Tools
	if len(groups) == 0 {
		groups = Groups()
	}
	for _, g := range groups {
		switch g {
		case Run:
			runs := drive.Register(server, drive.Options{Run: o.Run})
			defer runs.Close()
		default:
			return diag.New(diag.Misuse, "unknown_tools", "there is no group of tools %q", g).Meant(Groups()...)
		}
	}
	err := server.Run(ctx, &sdk.IOTransport{Reader: o.In, Writer: o.Out})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Snippet is what a host's configuration needs to start this server.
func Snippet(host, program string, args []string) (string, error) {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = fmt.Sprintf("%q", a)
	}
	list := strings.Join(quoted, ", ")
	switch host {
	case "claude-code", "cursor", "gemini", "windsurf":
		return fmt.Sprintf("{\n  \"mcpServers\": {\n    \"skl\": {\"command\": %q, \"args\": [%s]}\n  }\n}\n", program, list), nil
	case "github-copilot":
		return fmt.Sprintf("{\n  \"mcpServers\": {\n    \"skl\": {\"type\": \"local\", \"command\": %q, \"args\": [%s], \"tools\": [\"*\"]}\n  }\n}\n", program, list), nil
	case "vscode":
		return fmt.Sprintf("{\n  \"servers\": {\n    \"skl\": {\"type\": \"stdio\", \"command\": %q, \"args\": [%s]}\n  }\n}\n", program, list), nil
	case "codex":
		return fmt.Sprintf("[mcp_servers.skl]\ncommand = %q\nargs = [%s]\n", program, list), nil
	case "opencode":
		return fmt.Sprintf("{\n  \"mcp\": {\n    \"skl\": {\"type\": \"local\", \"command\": [%q, %s], \"enabled\": true}\n  }\n}\n", program, list), nil
	}
	return "", diag.New(diag.Misuse, "unknown_host", "there is no snippet for the host %q", host).
		Meant("claude-code", "github-copilot", "codex", "opencode", "cursor", "gemini", "vscode", "windsurf")
}
