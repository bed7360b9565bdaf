package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/mcp"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	drive "github.com/skl-project/skl/runtime/model/mcp"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/spec/diag"
)

func mcpCommand() command {
	return command{name: "mcp", group: "Code", usage: "serve skl's tools to an agent over standard input and output",
		example: "skl mcp --allow-run\nskl mcp --config-for claude-code",
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "tools", Usage: "offer `GROUPS`: code, skills, run (default: all)"},
			&cli.StringSliceFlag{Name: "path", Usage: "let agents search `DIR` (default: the repository of the working directory); may be repeated"},
			&cli.StringFlag{Name: "service", Usage: "ask the index service at `URL` for code; the key is in " + serviceKey},
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
		text, err := mcp.Snippet(host, program, w.mcpArgs(c, groups))
		if err != nil {
			return err
		}
		w.ui.Raw([]byte(text))
		return nil
	}
	if how := w.confinement(c); !slices.Contains([]string{"auto", "strict", "off"}, how) {
		return diag.New(diag.Misuse, "usage", "--sandbox %q is not auto, strict or off", how)
	}
	allow := slices.DeleteFunc(splitList(c.StringSlice("allow")), func(s string) bool { return s == allowRun })
	if _, err := tool.ParseGrant(strings.Join(allow, ",")); err != nil {
		return err
	}
	o := mcp.Options{Version: version, Tools: groups, In: io.NopCloser(w.env.stdin), Out: keepOpen{w.env.stdout}, Log: w.env.stderr}
	end, err := w.offerCode(ctx, c, &o)
	if err != nil {
		return err
	}
	defer end()
	o.Skills = mcp.Skills{Search: w.searchSkills, Read: w.readSkill}
	if c.Bool("allow-run") {
		o.Run = func(ctx context.Context, name, args string, d *drive.Driver) (any, error) {
			return w.drive(ctx, c, name, args, d)
		}
	}
	return mcp.Serve(ctx, o)
}

// mcpArgs is what a host has to start the server with, to have it as it was asked for.
func (w *world) mcpArgs(c *cli.Context, groups []string) []string {
	args := []string{"mcp"}
	if len(groups) > 0 {
		args = append(args, "--tools", strings.Join(groups, ","))
	}
	for _, dir := range c.StringSlice("path") {
		args = append(args, "--path", scope.Absolute(w.Cwd, dir))
	}
	if url := c.String("service"); url != "" {
		args = append(args, "--service", url)
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

// driven finds the skill that an agent may run by name: the active copy of an installed one, and nothing else that the name
// could mean, such as a folder that the agent itself made.
func (w *world) driven(ctx context.Context, name string) (*runnable, error) {
	if !isWord(name) {
		return nil, diag.New(diag.Refused, "mcp_path", "%q is a path; agents run installed skills by name", name).Hint("skl list")
	}
	r, err := w.runnableNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := w.bind(ctx, r); err != nil {
		return nil, err
	}
	return r, tool.Invocable(r.name, r.skill.Doc.Invocation, true)
}

// drive runs a skill whose leaves an agent fills. Nobody is at a terminal: what --allow does not name is denied.
// The run has the same name for the agent and in "skl runs".
func (w *world) drive(ctx context.Context, c *cli.Context, name, args string, d *drive.Driver) (any, error) {
	r, err := w.driven(ctx, name)
	if err != nil {
		return nil, err
	}
	record := runRecord{ID: d.Run(), Skill: r.name, Dir: r.dir, Work: w.Cwd, Digest: r.plan.Digest, Args: args,
		Model: d.Name(), Started: time.Now().UTC(), Allow: splitList(c.StringSlice("allow"))}
	tools, err := w.dispatcher(r, w.Cwd, record.Allow, w.confinement(c), nil)
	if err != nil {
		return nil, err
	}
	defer tools.Close()
	journal, err := w.createRun(record)
	if err != nil {
		return nil, err
	}
	sink, err := w.watch(ctx, record)
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	runner := &run.Runner{Model: d, Tools: tools, Events: sink.Event, Journal: journal,
		Ask: func(ctx context.Context, q run.Question) (run.Answer, error) {
			text, err := d.Ask(ctx, q.Node, q.Question, q.Options)
			return run.Answer{Text: text, How: "agent"}, err
		}}
	result, err := runner.Run(ctx, r.plan, args)
	if lost := sink.Close(); lost != nil {
		w.ui.Warn("run %s: %v", record.ID, lost) // the run is as good as with a trace
	}
	result.Run = record.ID
	record.end(result)
	if err := errors.Join(err, journal.Close(), w.writeRun(record)); err != nil {
		return nil, err
	}
	return runResult{Result: result}, nil
}

// watch follows a run that an agent drives: its events for "skl trace", and spans. Several runs share the terminal, if there is one, so that it shows none.
func (w *world) watch(ctx context.Context, r runRecord) (trace.Sink, error) {
	events, err := w.eventsSink(r)
	if err != nil {
		return nil, err
	}
	exporter, err := w.spans(ctx, r.ID, r.Model)
	if err != nil {
		return nil, errors.Join(err, events.Close())
	}
	return trace.Tee(events, exporter), nil
}
