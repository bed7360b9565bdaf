package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/mcp"
	drive "github.com/skl-project/skl/runtime/model/mcp"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

func mcpCommand() command {
	return command{name: "mcp", group: "Code", usage: "serve skl's tools to an agent over standard input and output",
		example: "skl mcp --allow-run\nskl mcp --config-for claude-code",
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "tools", Usage: "offer `GROUPS`: run (default: all)"},
			&cli.BoolFlag{Name: "allow-run", Usage: "let the agent drive runs of installed skills"},
			&cli.StringSliceFlag{Name: "allow", Usage: "allow those runs `LIST`: filesystem, network, external, session, or tools by name"},
			&cli.StringFlag{Name: "sandbox", Usage: "`HOW` scripts and commands are confined: auto, strict or off"},
			&cli.StringFlag{Name: "config-for", Usage: "print what the configuration of `HOST` needs, and serve nothing"},
		},
		run: runMCP}
}

func runMCP(ctx context.Context, w *world, c *cli.Context) error {
	groups := splitList(c.StringSlice("tools"))
	if host := c.String("config-for"); host != "" {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		args := []string{"mcp"}
		if c.Bool("allow-run") {
			args = append(args, "--allow-run")
		}
		text, err := mcp.Snippet(host, program, args)
		if err != nil {
			return err
		}
		w.ui.Raw([]byte(text))
		return nil
	}
	o := mcp.Options{Version: version, Tools: groups, In: io.NopCloser(w.env.stdin), Out: keepOpen{w.env.stdout}}
	if c.Bool("allow-run") {
		o.Run = func(ctx context.Context, name, args string, d *drive.Driver) (any, error) {
			return w.drive(ctx, c, name, args, d)
		}
	}
	return mcp.Serve(ctx, o)
}

// keepOpen is an output that ends with the process.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// drive runs a skill whose leaves an agent fills. Nobody is at a terminal: what --allow does not name is denied.
func (w *world) drive(ctx context.Context, c *cli.Context, name, args string, d *drive.Driver) (any, error) {
	if !isWord(name) {
		return nil, diag.New(diag.Refused, "mcp_path", "%q is a path; agents run installed skills by name", name)
	}
	r, err := w.runnable(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := w.bind(ctx, r); err != nil {
		return nil, err
	}
	if err := tool.Invocable(r.name, r.skill.Doc.Invocation, true); err != nil {
		return nil, err
	}
	s := &session{w: w, c: c, runnable: r, record: runRecord{
		ID: newRunID(time.Now()), Skill: r.name, Dir: r.dir, Work: w.cwd, Digest: r.plan.Digest, Args: args,
		Model: d.Name(), Started: time.Now().UTC(), Allow: splitList(c.StringSlice("allow"))}}
	tools, err := w.dispatcher(r, w.cwd, s.record.Allow, w.confinement(c), nil)
	if err != nil {
		return nil, err
	}
	defer tools.Close()
	sink, err := s.sinks(ctx)
	if err != nil {
		return nil, err
	}
	defer sink.Close()
	if err := w.writeRun(s.record); err != nil {
		return nil, err
	}
	journal, err := run.Create(w.runDir(s.record.ID))
	if err != nil {
		return nil, err
	}
	runner := &run.Runner{Model: d, Tools: tools, Events: sink.Event, Journal: journal,
		Ask: func(ctx context.Context, q run.Question) (run.Answer, error) {
			text, err := d.Ask(ctx, q.Node, q.Question, q.Options)
			return run.Answer{Text: text, How: "agent"}, err
		}}
	result, err := runner.Run(ctx, r.plan, args)
	result.Run = s.record.ID
	s.record.Status, s.record.ExitCode, s.record.Ended = result.Status, result.ExitCode, time.Now().UTC()
	if err := errors.Join(err, journal.Close(), w.writeRun(s.record)); err != nil {
		return nil, err
	}
	return runResult{result}, nil
}
