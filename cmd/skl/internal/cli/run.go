package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/replay"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/tool"
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
		dryRunFlag(),
	}...)
	return command{name: "run", args: "NAME|PATH [ARGS…]", group: "Run", usage: "walk a skill's tree: control flow in skl, a model fills the leaves", output: runResult{}, complete: "skill",
		example: "skl run release-notes v1.4.0\nskl run ./my-skill --dry-run\nskl run review --model anthropic --allow filesystem,bash\nskl run review --model manual --answer 'Proceed?=Yes'",
		flags:   flags, run: runRun}
}

func runRun(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() == 0 {
		return diag.New(diag.Misuse, "usage", "run needs the name of a skill, or a folder with a SKILL.md").Hint("skl list")
	}
	r, err := w.runnable(ctx, c.Args().First())
	if err != nil {
		return err
	}
	if err := w.bind(ctx, r); err != nil {
		return err
	}
	args := joinArgs(c.Args().Tail())
	if !r.skill.Doc.Invocation.ByUser() {
		return diag.New(diag.Refused, "invocation", "%s says model_invocation: %s, so people do not run it", r.name, r.skill.Doc.Invocation)
	}
	if c.Bool("dry-run") {
		return w.dryRun(ctx, c, r, args)
	}
	allow := splitList(c.StringSlice("allow"))
	s := session{w: w, c: c, runnable: r, record: runRecord{
		ID: newRunID(time.Now()), Skill: r.name, Dir: r.dir, Work: w.Cwd, Digest: r.plan.Digest, Args: args, Started: time.Now().UTC(), Allow: allow}}
	return s.start(ctx)
}

// A session is one run or resume of the command line.
type session struct {
	w *world
	c *cli.Context
	*runnable
	record runRecord
	live   *trace.Live
	flags  runOptions
}

// start runs a skill from the beginning.
func (s *session) start(ctx context.Context) (err error) {
	if s.flags, err = s.w.runOptions(s.c, s.record.Allow); err != nil {
		return err
	}
	spec, err := s.w.chooseModel(s.c.String("model"))
	if err != nil {
		return err
	}
	if id, ok := strings.CutPrefix(spec, "replay:"); ok && !scope.Exists(scope.Absolute(s.w.Cwd, id)) {
		return s.replay(ctx, id) // touches nothing outside, so that nobody is asked
	}
	if len(s.flags.sets) > 0 || s.c.String("until") != "" {
		return diag.New(diag.Misuse, "usage", "--set and --until change the replay of a run, and %s is none", spec).Hint("--model replay:RUN, or replay:last")
	}
	if err := s.w.mayRun(s.runnable, s.record.Allow); err != nil {
		return err
	}
	s.record.Model = spec
	runner, done, err := s.runner(ctx, spec)
	if err != nil {
		return err
	}
	journal, err := s.w.createRun(s.record)
	if err != nil {
		return errors.Join(err, done())
	}
	runner.Journal = journal
	result, err := runner.Run(ctx, s.plan, s.record.Args)
	return s.finish(result, errors.Join(err, journal.Close(), done()))
}

// runner wires everything that a run may touch. done closes it and must be called.
func (s *session) runner(ctx context.Context, spec string) (_ *run.Runner, done func() error, err error) {
	var open []func() error
	closeAll := func() error {
		var all error
		for _, c := range slices.Backward(open) {
			all = errors.Join(all, c())
		}
		return all
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	m, err := s.w.openModel(spec)
	if err != nil {
		return nil, nil, err
	}
	if path := s.c.String("record"); path != "" {
		recorder, err := replay.Create(scope.Absolute(s.w.Cwd, path))
		if err != nil {
			return nil, nil, err
		}
		open = append(open, recorder.Close)
		m = replay.Record(m, recorder)
	}
	tools, err := s.w.dispatcher(s.runnable, s.w.Cwd, s.record.Allow, s.w.confinement(s.c), s.consent)
	if err != nil {
		return nil, nil, err
	}
	open = append(open, tools.Close)
	sink, err := s.sinks(ctx)
	if err != nil {
		return nil, nil, err
	}
	open = append(open, sink.Close)
	if s.live != nil && m.Capabilities().Person {
		m = aside{m, s.live}
	}
	return &run.Runner{Model: m, Tools: tools, Ask: s.ask, Events: sink.Event, Limits: s.flags.limits, Answers: s.flags.answers, Yes: s.w.ui.Yes,
		AllowSequential: s.c.Bool("allow-sequential")}, closeAll, nil
}

// aside keeps the live tree out of the way while a person answers.
type aside struct {
	model.Model
	live *trace.Live
}

func (a aside) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	defer a.live.Hold()()
	return a.Model.Fill(ctx, r)
}

// confinement is how scripts and commands are to be confined: auto, strict or off.
func (w *world) confinement(c *cli.Context) string {
	return cmp.Or(c.String("sandbox"), w.Config.Run.Sandbox, "auto")
}

// consent asks the person before the first effect of a kind, once per digest.
func (s *session) consent(ctx context.Context, ask tool.Ask) (bool, error) {
	if !s.w.ui.CanAsk() {
		return false, nil
	}
	if s.live != nil {
		defer s.live.Hold()()
	}
	s.w.ui.Note("%s: %s", ask.Tool, ask.Detail)
	return s.w.ui.Confirm(fmt.Sprintf("may %s %s? It is asked once, until the skill changes", s.name, deed(ask.Effect)))
}

// deed is an effect in words.
func deed(e tool.Effect) string {
	switch e {
	case tool.Filesystem:
		return "write files here"
	case tool.Network:
		return "use the network"
	case tool.External:
		return "run commands and scripts"
	}
	return "have the effect " + string(e)
}

// sinks are all who follow the run.
func (s *session) sinks(ctx context.Context) (trace.Sink, error) {
	events, err := s.w.eventsSink(s.record)
	if err != nil {
		return nil, err
	}
	out := []trace.Sink{events}
	if path := s.c.String("trace"); path != "" {
		file, err := jsonlFile(scope.Absolute(s.w.Cwd, path))
		if err != nil {
			return nil, errors.Join(err, events.Close())
		}
		out = append(out, file)
	}
	switch u := s.w.ui; {
	case s.c.Bool("debug"):
		log := filepath.Join(s.w.Cwd, trace.DebugLog)
		out = append(out, &trace.Debug{W: s.w.env.stderr, Skill: s.skill, Command: strings.TrimSpace(s.name + " " + s.record.Args), Snapshot: func(text string) error {
			return os.WriteFile(log, []byte(text), 0o600)
		}})
	case u.Quiet:
	case u.Terminal && !u.JSON:
		s.live = trace.NewLive(s.w.env.stderr, u.Color, terminalWidth)
		out = append(out, s.live)
	default:
		out = append(out, trace.Lines(s.w.env.stderr))
	}
	exporter, err := s.w.spans(ctx, s.record.ID, s.record.Model)
	if err != nil {
		return nil, errors.Join(err, trace.Tee(out...).Close())
	}
	return trace.Tee(append(out, exporter)...), nil
}

func terminalWidth() int {
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 80
	}
	return width
}

// ask puts a question of the tree to the person.
func (s *session) ask(ctx context.Context, q run.Question) (run.Answer, error) {
	if !s.w.ui.CanAsk() {
		return run.Answer{}, run.ErrNoAnswer
	}
	if s.live != nil {
		defer s.live.Hold()()
	}
	text, err := s.w.ui.Answer(q.Question, q.Options)
	return run.Answer{Text: text, How: "person"}, err
}

// replay runs the control flow of a recorded run again, with its recorded effects.
func (s *session) replay(ctx context.Context, id string) error {
	old, err := s.w.findRun(id)
	if err != nil {
		return err
	}
	if old.Replayed != "" {
		if old, err = s.w.findRun(old.Replayed); err != nil {
			return err
		}
	}
	journal, err := run.ReadFile(s.w.runDir(old.ID))
	if err != nil {
		return err
	}
	s.record.Model, s.record.Replayed = "replay:"+old.ID, old.ID
	sink, err := s.sinks(ctx)
	if err != nil {
		return err
	}
	if err := s.w.writeRun(s.record); err != nil {
		return errors.Join(err, sink.Close())
	}
	r := &run.Runner{Events: sink.Event, Set: s.flags.sets, Until: s.c.String("until")}
	result, err := r.Replay(ctx, s.plan, journal)
	return s.finish(result, errors.Join(err, sink.Close()))
}
