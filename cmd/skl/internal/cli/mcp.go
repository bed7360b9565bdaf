package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/cmd/skl/internal/build"
	"github.com/skl-project/skl/cmd/skl/internal/mcp"
	"github.com/skl-project/skl/cmd/skl/internal/memory"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	drive "github.com/skl-project/skl/runtime/model/mcp"
)

func mcpCommand() command {
	return command{name: "mcp", memory: memory.Server, group: "Code", usage: "serve skl's tools to an agent over standard input and output",
		example: "skl mcp --allow-run\nskl mcp --config-for claude-code",
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "tools", Usage: "offer `GROUPS`: code, skills, run, author (default: all)"},
			&cli.StringSliceFlag{Name: "path", Usage: "let agents search `DIR` (default: the repository of the working directory); may be repeated"},
			&cli.StringFlag{Name: "service", Usage: "ask the index service at `URL` for code; the key is in " + search.ServiceKey},
			&cli.BoolFlag{Name: "allow-author", Usage: "let the agent carry out plans of changes to skills"},
			&cli.BoolFlag{Name: "allow-run", Usage: "let the agent drive runs of installed skills"},
			&cli.StringSliceFlag{Name: "allow", Usage: "allow those runs `LIST`: filesystem, network, external, session, or tools by name"},
			&cli.StringFlag{Name: "sandbox", Usage: "`HOW` scripts and commands are confined: auto, strict or off"},
			&cli.StringFlag{Name: "config-for", Usage: "print the configuration that `HOST` needs, and serve nothing"},
		},
		run: runMCP}
}

func runMCP(ctx context.Context, w *world, c *cli.Context) error {
	groups := namesIn(c, "tools")
	if host := c.String("config-for"); host != "" {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		text, err := mcp.Snippet(host, program, w.mcpArgs(c, groups))
		if err != nil {
			return err
		}
		w.ui.Raw([]byte(text))
		return nil
	}
	if err := w.runs.CheckLimits(splitList(c.StringSlice("allow")), c.String("sandbox")); err != nil {
		return err
	}
	o := mcp.Options{Version: build.Current().Version, Tools: groups, In: io.NopCloser(w.env.stdin), Out: keepOpen{w.env.stdout}, Log: w.env.stderr}
	end, err := w.offerCode(ctx, c, &o)
	if err != nil {
		return err
	}
	defer end()
	// A scope is for one at a time: searches, which wait for registries, have one, what reads has another, and so has each run.
	reads, err := newWorld(w.env, w.ui, c)
	if err != nil {
		return err
	}
	o.Skills = mcp.Skills{Search: w.search.Suggest, Read: reads.inspect.ReadActive, Offers: reads.inspect.Offers, Offer: reads.inspect.Offer}
	o.Author = w.offerAuthor(c)
	if c.Bool("allow-run") {
		o.Run = func(ctx context.Context, name, args string, d *drive.Driver) (any, error) {
			own, err := newWorld(w.env, w.ui, c)
			if err != nil {
				return nil, err
			}
			result, err := own.runs.Drive(ctx, name, args, splitList(c.StringSlice("allow")), c.String("sandbox"), d)
			if err != nil {
				return nil, err
			}
			return runResult{Result: result}, nil
		}
	}
	return mcp.Serve(ctx, o)
}

// offerAuthor is what the tools for changes of skills need; each call has a scope of its own.
func (w *world) offerAuthor(c *cli.Context) mcp.Authoring {
	out := mcp.Authoring{
		Look: func(q author.Looking) (author.View, error) {
			own, err := newWorld(w.env, w.ui, c)
			if err != nil {
				return author.View{}, err
			}
			return own.author().Look(q)
		},
		Propose: func(ctx context.Context, q author.AgentRequest) (author.Kept, error) {
			own, err := newWorld(w.env, w.ui, c)
			if err != nil {
				return author.Kept{}, err
			}
			return own.author().Propose(ctx, q)
		},
	}
	if c.Bool("allow-author") {
		out.Apply = func(ctx context.Context, plan string) (author.Outcome, error) {
			own, err := newWorld(w.env, w.ui, c)
			if err != nil {
				return author.Outcome{}, err
			}
			return own.author().CarryOut(ctx, plan)
		}
	}
	return out
}

// mcpArgs is what a host has to start the server with, to have it as it was asked for.
func (w *world) mcpArgs(c *cli.Context, groups []string) []string {
	args := []string{"mcp"}
	if len(groups) > 0 {
		args = append(args, "--tools", strings.Join(groups, ","))
	}
	for _, dir := range c.StringSlice("path") {
		args = append(args, "--path", scope.Absolute(w.scope.Cwd, dir))
	}
	if url := c.String("service"); url != "" {
		args = append(args, "--service", url)
	}
	if c.Bool("allow-author") {
		args = append(args, "--allow-author")
	}
	if c.Bool("allow-run") {
		args = append(args, "--allow-run")
	}
	if allow := splitList(c.StringSlice("allow")); len(allow) > 0 {
		args = append(args, "--allow", strings.Join(allow, ","))
	}
	if how := c.String("sandbox"); how != "" {
		args = append(args, "--sandbox", how)
	}
	return args
}

// keepOpen is an output that ends with the process.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
