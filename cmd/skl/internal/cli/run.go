package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/spec/diag"
)

// runResult is what "run --json" prints. A run that failed also says why.
type runResult struct {
	run.Result
	*ui.ErrorResult
}

func runCommand() command {
	flags := append(runFlags(), []cli.Flag{
		&cli.StringSliceFlag{Name: "set", Usage: "with replay:RUN: give `NODE=VALUE` another value (JSON, or text)"},
		&cli.StringFlag{Name: "until", Usage: "with replay:RUN: stop after `NODE`"},
		&cli.BoolFlag{Name: "debug", Usage: "phase banners and a line per node, as canopy-debug shows them"},
		&cli.BoolFlag{Name: "keep", Usage: "write what --allow says to config.toml, for the skill as it is now"},
		&cli.BoolFlag{Name: "no-lint", Usage: "run a tree although lint finds errors in it"},
		nodesFlag(), dryRunFlag(),
	}...)
	return command{name: "run", args: "NAME|PATH [ARGS…]", group: "Run", usage: "run a skill: control flow in skl where it is a tree, a model for the rest", output: runResult{}, complete: "skill",
		example: "skl run release-notes v1.4.0\nskl run ./my-skill --dry-run\nskl run review --model anthropic --allow filesystem,bash\nskl run review --model manual --answer 'Proceed?=Yes'",
		flags:   flags, run: runRun}
}

func runRun(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() == 0 {
		return diag.New(diag.Misuse, "usage", "run needs the name of a skill, or a folder with a SKILL.md").Hint("skl list")
	}
	w.runs.NoLint = c.Bool("no-lint")
	r, err := w.runs.Ready(ctx, c.Args().First())
	if err != nil {
		return err
	}
	q, err := w.request(c)
	if err == nil {
		err = w.runs.Check(q)
	}
	if err != nil {
		return err
	}
	plain, last := typedArgs(c)
	if q.Keep = c.Bool("keep"); q.Keep && (len(q.Allow) == 0 || c.Bool("dry-run")) {
		return diag.New(diag.Misuse, "usage", "--keep writes what --allow says to config.toml, and goes with a run only").Hint("skl run%s --allow %s --keep%s", plain, session.AllowRun, typedFlags(c, "allow", "keep", "dry-run")+last)
	}
	q.Args = r.Plan.Words(c.Args().Tail())
	if c.Bool("dry-run") {
		out, err := w.runs.Preview(r, q)
		return w.show(out, err, func(say *report.Text) {
			w.printPreview(say, out, c.Bool("nodes"), "skl run"+plain+typedFlags(c, "allow", "dry-run", "json", "nodes"), splitList(c.StringSlice("allow")), last)
		})
	}
	ended, err := w.runs.Start(ctx, r, q)
	return w.printRun(r, ended, q.Kept, err)
}

// request is what the flags of run and resume say.
func (w *world) request(c *cli.Context) (q session.Request, err error) {
	q = session.Request{Model: c.String("model"), Allow: splitList(c.StringSlice("allow")), Sandbox: c.String("sandbox"),
		Until: c.String("until"), Rerun: c.StringSlice("rerun"), Record: c.String("record"), Trace: c.String("trace"), Proof: c.String("proof"), AllowSequential: c.Bool("allow-sequential"),
		Again: again(c), Flags: typedFlags(c, "project"), Kept: typedFlags(c, "allow", "model", "answer", "budget", "keep", "no-lint", "set", "until", "done", "rerun", "dry-run", "nodes"),
		Answer: w.ui.Answer, Talk: w.ui.Talk, Preview: w.showPreview}
	if q.Limits, err = parseBudget(c.String("budget")); err != nil {
		return session.Request{}, err
	}
	if c.Bool("nodes") && !c.Bool("dry-run") {
		return session.Request{}, diag.New(diag.Misuse, "usage", "--nodes goes with --dry-run; of a run that was made, skl trace shows them").Hint("skl trace RUN --nodes")
	}
	if q.Proof != "" && c.Bool("dry-run") {
		return session.Request{}, diag.New(diag.Misuse, "usage", "--proof writes about a run, and --dry-run does not run").Hint("leave one of them out")
	}
	if q.Limits.Parallel = c.Int("max-parallel"); q.Limits.Parallel < 0 || c.IsSet("max-parallel") && q.Limits.Parallel == 0 {
		return session.Request{}, diag.New(diag.Misuse, "usage", "--max-parallel %d: at least one child runs at a time", q.Limits.Parallel).Hint("--max-parallel 1 runs them one after the other")
	}
	if q.Answers, err = w.answers(c); err != nil {
		return session.Request{}, err
	}
	if q.Sets, err = parseSets(c.StringSlice("set")); err != nil {
		return session.Request{}, err
	}
	switch u := w.ui; {
	case c.Bool("debug"):
		q.Follow = func(r *session.Runnable, record session.Record) trace.Sink {
			log := filepath.Join(w.scope.Cwd, trace.DebugLog)
			return &trace.Debug{W: w.env.stderr, Skill: r.Skill, Command: strings.TrimSpace(r.Name + " " + record.Args), Snapshot: func(text string) error {
				return os.WriteFile(log, []byte(text), 0o600)
			}}
		}
	case u.Quiet:
	case u.Terminal && !u.JSON && !u.Still:
		var live *trace.Live
		q.Follow = func(r *session.Runnable, record session.Record) trace.Sink {
			live = trace.NewLive(w.env.stderr, u.ErrColor, terminalWidth, trace.View{Plan: r.Plan, Title: strings.TrimSpace(r.Name+" "+record.Args) + " · " + record.Model, Tokens: q.Limits.Tokens,
				ASCII: u.ErrSigns != screen.Unicode, Source: u.Verbose, Height: terminalHeight})
			return live
		}
		q.Hold = func() (release func()) {
			if live == nil {
				return func() {}
			}
			return live.Hold()
		}
	case u.Terminal && !u.JSON && u.ErrSigns != screen.Unicode:
		q.Follow = func(*session.Runnable, session.Record) trace.Sink { return trace.PlainLines(w.env.stderr) }
	default:
		q.Follow = func(r *session.Runnable, record session.Record) trace.Sink {
			return trace.Tee(trace.Lines(w.env.stderr), session.Asking(w.ui.Progress)(r, record))
		}
	}
	return q, nil
}

func terminalWidth() int {
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 80
	}
	return width
}

func terminalHeight() int {
	_, height, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 24
	}
	return height
}
