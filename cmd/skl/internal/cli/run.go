package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/replay"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/cond"
)

// runResult is what "run --json" prints. A run that failed also says why.
type runResult struct {
	run.Result
	*ui.ErrorResult
}

func runCommand() command {
	flags := append(runFlags(), []cli.Flag{
		&cli.BoolFlag{Name: "debug", Usage: "phase banners and a line per node, as canopy-debug shows them"},
		dryRunFlag(),
	}...)
	return command{name: "run", args: "NAME|PATH [ARGS…]", group: "Run", usage: "walk a skill's tree: control flow in skl, a model fills the leaves", output: runResult{}, complete: "skill",
		example: "skl run release-notes v1.4.0\nskl run ./my-skill --dry-run\nskl run review --model anthropic --allow filesystem,bash\nskl run review --model manual --answer 'Proceed?=Yes'",
		flags:   flags, run: runRun}
}

// runFlags are those of run and resume.
func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "model", Usage: "who fills the leaves: `MODEL` is anthropic[:ID], openai[:ID], claude-code, copilot, manual, replay:FILE or replay:RUN"},
		&cli.StringSliceFlag{Name: "answer", Usage: "answer a question: `ID=ANSWER` or the start of the question=ANSWER (repeatable)"},
		&cli.StringFlag{Name: "answers", Usage: "read answers from `FILE`, one question=answer a line"},
		&cli.StringSliceFlag{Name: "allow", Usage: "allow `LIST`: run, filesystem, network, external, session, or tools by name"},
		&cli.StringFlag{Name: "budget", Usage: "stop at `LIMITS`: tokens=100000,calls=50,time=10m,dollars=2"},
		&cli.BoolFlag{Name: "allow-sequential", Usage: "run the children of PARALLEL one after the other where the model cannot do better"},
		&cli.IntFlag{Name: "max-parallel", Usage: "at most `N` children of PARALLEL at once"},
		&cli.StringFlag{Name: "sandbox", Usage: "`HOW` scripts and commands are confined: auto, strict or off"},
		&cli.StringSliceFlag{Name: "set", Usage: "with replay: give `NODE=VALUE` another value (JSON, or text)"},
		&cli.StringFlag{Name: "until", Usage: "with replay: stop before `NODE`"},
		&cli.StringFlag{Name: "trace", Usage: "write events to `FILE` as JSON lines"},
		&cli.StringFlag{Name: "record", Usage: "add the model's answers to `FILE`, for --model replay:FILE"},
	}
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
		ID: newRunID(time.Now()), Skill: r.name, Dir: r.dir, Work: w.cwd, Digest: r.plan.Digest, Args: args, Started: time.Now().UTC(), Allow: allow}}
	return s.start(ctx)
}

// joinArgs makes the one string that $ARGUMENTS is.
func joinArgs(args []string) string { return strings.Join(args, " ") }

// splitList splits the values of a repeatable flag at commas outside parentheses.
func splitList(values []string) []string {
	var out []string
	for _, v := range values {
		depth, from := 0, 0
		for i, r := range v + "," {
			switch {
			case r == '(':
				depth++
			case r == ')':
				depth--
			case r == ',' && depth <= 0:
				if word := strings.TrimSpace(v[from:i]); word != "" {
					out = append(out, word)
				}
				from = i + 1
			}
		}
	}
	return out
}

// A session is one run or resume of the command line.
type session struct {
	w *world
	c *cli.Context
	*runnable
	record runRecord
	live   *trace.Live
}

// start runs a skill from the beginning.
func (s *session) start(ctx context.Context) error {
	spec, err := s.w.chooseModel(s.c.String("model"))
	if err != nil {
		return err
	}
	if id, ok := strings.CutPrefix(spec, "replay:"); ok && !exists(absolute(s.w.cwd, id)) {
		return s.replay(ctx, id) // touches nothing outside, so that nobody is asked
	}
	if err := s.w.mayRun(s.runnable, s.record.Allow); err != nil {
		return err
	}
	s.record.Model = spec
	runner, done, err := s.runner(ctx, spec)
	if err != nil {
		return err
	}
	dir := s.w.runDir(s.record.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errors.Join(err, done())
	}
	if err := s.w.writeRun(s.record); err != nil {
		return errors.Join(err, done())
	}
	journal, err := run.Create(dir)
	if err != nil {
		return errors.Join(err, done())
	}
	runner.Journal = journal
	result, err := runner.Run(ctx, s.plan, s.record.Args)
	return s.finish(result, errors.Join(err, journal.Close(), done()))
}

// runner wires everything that a run may touch. done closes it and must be called.
func (s *session) runner(ctx context.Context, spec string) (*run.Runner, func() error, error) {
	limits, err := parseBudget(s.c.String("budget"))
	if err != nil {
		return nil, nil, err
	}
	answers, err := s.w.answers(s.c)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.w.openModel(spec)
	if err != nil {
		return nil, nil, err
	}
	var recorder *replay.Recorder
	if path := s.c.String("record"); path != "" {
		if recorder, err = replay.Create(absolute(s.w.cwd, path)); err != nil {
			return nil, nil, err
		}
		m = replay.Record(m, recorder)
	}
	limits.Parallel = s.c.Int("max-parallel")
	tools, err := s.tools()
	if err != nil {
		return nil, nil, err
	}
	sink, err := s.sinks(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, tools.Close())
	}
	if s.live != nil && m.Capabilities().Person {
		m = aside{m, s.live}
	}
	r := &run.Runner{Model: m, Tools: tools, Ask: s.ask, Events: sink.Event, Limits: limits, Answers: answers, Yes: s.w.ui.Yes,
		AllowSequential: s.c.Bool("allow-sequential")}
	return r, func() error {
		err := errors.Join(sink.Close(), tools.Close())
		if recorder != nil {
			err = errors.Join(err, recorder.Close())
		}
		return err
	}, nil
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

// tools is what leaves and scripts may call, by the skill's own limits and what the person allows.
func (s *session) tools() (*tool.Dispatcher, error) {
	return s.w.dispatcher(s.runnable, s.w.cwd, s.record.Allow, s.w.confinement(s.c), s.consent)
}

// confinement is how scripts and commands are to be confined: auto, strict or off.
func (w *world) confinement(c *cli.Context) string {
	return cmp.Or(c.String("sandbox"), w.config.Run.Sandbox, "auto")
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
	var out []trace.Sink
	path := filepath.Join(s.w.runDir(s.record.ID), eventsFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	for _, path := range []string{path, s.c.String("trace")} {
		if path == "" {
			continue
		}
		f, err := os.OpenFile(absolute(s.w.cwd, path), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, errors.Join(err, trace.Tee(out...).Close())
		}
		out = append(out, fileSink{trace.JSONL(f), f})
	}
	switch u := s.w.ui; {
	case s.c.Bool("debug"):
		log := filepath.Join(s.w.cwd, trace.DebugLog)
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
	if exporter != nil {
		out = append(out, exporter)
	}
	return trace.Tee(out...), err
}

// A fileSink closes its file with the sink.
type fileSink struct {
	trace.Sink
	f *os.File
}

func (s fileSink) Close() error { return errors.Join(s.Sink.Close(), s.f.Close()) }

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

// finish records how the run ended, prints the result and sets the exit status.
func (s *session) finish(result run.Result, err error) error {
	result.Run = s.record.ID
	s.record.Status, s.record.ExitCode, s.record.Ended = result.Status, result.ExitCode, time.Now().UTC()
	s.record.Question = ""
	if result.Pending != nil {
		s.record.Question = result.Pending.Question
	}
	if werr := s.w.writeRun(s.record); werr != nil {
		err = errors.Join(err, werr)
	}
	switch {
	case s.w.ui.JSON && result.Status != "" && !errors.Is(err, context.Canceled):
		out := runResult{Result: result}
		if err != nil {
			why := ui.ErrorOf(err)
			out.ErrorResult = &why
		}
		if perr := s.w.ui.Result(out); perr != nil {
			return perr
		}
		if err != nil {
			return shown{err}
		}
	case !s.w.ui.JSON:
		s.print(result)
	}
	if err != nil || result.ExitCode == 0 {
		return err
	}
	return shown{diag.New(diag.Class(result.ExitCode), "run_ended", "the run %s", result.Status)}
}

// print shows a result to a person: the response on stdout, the rest beside it.
func (s *session) print(result run.Result) {
	u := s.w.ui
	for _, name := range s.responseNames(result) {
		value := cond.Text(result.Response[name])
		if strings.Contains(value, "\n") {
			u.Print("%s:", name)
			for line := range strings.SplitSeq(strings.TrimRight(value, "\n"), "\n") {
				u.Print("  %s", line)
			}
			continue
		}
		u.Print("%s: %s", name, value)
	}
	if result.Message != "" && result.Pending == nil && result.Status != run.Failed { // what failed is the error
		u.Note("%s", result.Message)
	}
	if result.Status == "" {
		return
	}
	cost := fmt.Sprintf("%s, %s in, %s out", ui.Count(result.Usage.Calls, "model call"), strconv.Itoa(result.Usage.InputTokens), strconv.Itoa(result.Usage.OutputTokens))
	u.Note("run %s: %s (%s)", s.record.ID, result.Status, cost)
	switch {
	case result.Pending != nil:
		u.Note("waits for an answer: %s", result.Pending.Question)
		option := "ANSWER"
		if len(result.Pending.Options) > 0 {
			option = result.Pending.Options[0]
		}
		u.Hint("skl resume %s --answer %s", s.record.ID, quoteShell(result.Pending.ID+"="+option))
	case result.Status == run.Suspended && strings.HasPrefix(result.Message, "out of budget"):
		u.Hint("skl resume %s --budget …", s.record.ID)
	case result.Status == run.Suspended:
		u.Hint("skl resume %s", s.record.ID)
	case result.Status == run.Failed || result.Status == run.Halted:
		u.Hint("skl trace %s", s.record.ID)
	}
}

// responseNames are the fields of a response in the order of the skill's section, then any others.
func (s *session) responseNames(result run.Result) []string {
	var names []string
	for _, name := range s.skill.Response {
		if _, ok := result.Response[name]; ok {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(result.Response)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// quoteShell quotes a word for the shell where it needs it.
func quoteShell(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// parseBudget reads "tokens=100000,calls=50,time=10m,dollars=2".
func parseBudget(text string) (run.Limits, error) {
	var l run.Limits
	for _, part := range splitList([]string{text}) {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "tokens":
			l.Tokens, err = strconv.Atoi(value)
		case "calls":
			l.Calls, err = strconv.Atoi(value)
		case "dollars":
			l.Dollars, err = strconv.ParseFloat(value, 64)
		case "time":
			l.Time, err = time.ParseDuration(value)
		case "iterations":
			l.Iterations, err = strconv.Atoi(value)
		case "depth":
			l.Depth, err = strconv.Atoi(value)
		default:
			err = errors.New("unknown limit")
		}
		if err != nil || strings.HasPrefix(value, "-") {
			return run.Limits{}, diag.New(diag.Misuse, "usage", "--budget: %q is not a limit", part).Hint("--budget tokens=100000,calls=50,time=10m,dollars=2,iterations=100,depth=8")
		}
	}
	return l, nil
}

// answers are those of --answer and --answers.
func (w *world) answers(c *cli.Context) (map[string]run.Answer, error) {
	out := map[string]run.Answer{}
	add := func(line, from, how string) error {
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(key) == "" {
			return diag.New(diag.Misuse, "usage", "%s: %q is not QUESTION=ANSWER", from, line).Hint("--answer 'Proceed?=Yes'")
		}
		out[strings.TrimSpace(key)] = run.Answer{Text: strings.TrimSpace(value), How: how}
		return nil
	}
	for _, a := range c.StringSlice("answer") {
		if err := add(a, "--answer", "flag"); err != nil {
			return nil, err
		}
	}
	path := c.String("answers")
	if path == "" {
		return out, nil
	}
	src, err := os.ReadFile(absolute(w.cwd, path))
	if err != nil {
		return nil, diag.New(diag.Misuse, "usage", "--answers: %w", err)
	}
	for i, line := range strings.Split(string(src), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := add(line, fmt.Sprintf("%s:%d", path, i+1), "file"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A dryResult is everything that could happen.
type dryResult struct {
	Skill   string        `json:"skill"`
	Digest  string        `json:"digest"`
	Effects []plan.Effect `json:"effects"`
	Tools   []dryTool     `json:"tools"`
	Sandbox dryBox        `json:"sandbox"`
}

type dryTool struct {
	Tool    string `json:"tool"`
	Effect  string `json:"effect"`
	Allowed bool   `json:"allowed"`
	Asks    bool   `json:"asks"` // its first use asks the person
	Only    string `json:"only,omitempty"`
	Why     string `json:"why,omitempty"`
}

type dryBox struct {
	Tier     string   `json:"tier"`
	Enforced []string `json:"enforced"`
	Missing  []string `json:"missing"`
}

// dryRun walks the plan without running anything.
func (w *world) dryRun(ctx context.Context, c *cli.Context, r *runnable, args string) error {
	var consent func(context.Context, tool.Ask) (bool, error)
	if w.ui.CanAsk() { // a run would ask; a dry run does not
		consent = func(context.Context, tool.Ask) (bool, error) { return false, nil }
	}
	d, err := w.dispatcher(r, w.cwd, splitList(c.StringSlice("allow")), w.confinement(c), consent)
	if err != nil {
		return err
	}
	defer d.Close()
	box := sandbox.Probe()
	out := dryResult{Skill: r.name, Digest: r.plan.Digest, Effects: r.plan.Effects(args), Tools: []dryTool{},
		Sandbox: dryBox{box.Tier.String(), append([]string{}, box.Enforced...), append([]string{}, box.Missing...)}}
	for _, t := range d.Could() {
		out.Tools = append(out.Tools, dryTool{t.Tool, string(t.Effect), t.Allowed, t.Asks, t.Only, t.Why})
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	rows := [][]string{{"WHERE", "WHAT COULD HAPPEN", "", "WHEN"}}
	for _, e := range out.Effects {
		rows = append(rows, []string{e.Path, strings.TrimSpace(e.Kind + " " + e.Mode), e.What, e.When})
	}
	w.ui.Rows(rows)
	rows = [][]string{{"TOOL", "EFFECT", "USE", ""}}
	for _, t := range out.Tools {
		use := "yes"
		switch {
		case !t.Allowed:
			use = "no"
		case t.Asks:
			use = "asks first"
		}
		rows = append(rows, []string{t.Tool, t.Effect, use, cmp.Or(t.Why, t.Only)})
	}
	w.ui.Print("")
	w.ui.Rows(rows)
	w.ui.Note("nothing was run; scripts and commands would be confined by: %s", out.Sandbox.Tier)
	for _, m := range out.Sandbox.Missing {
		w.ui.Note("not enforced here: %s", m)
	}
	return nil
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
	sets, err := parseSets(s.c.StringSlice("set"))
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
	r := &run.Runner{Events: sink.Event, Set: sets, Until: s.c.String("until")}
	result, err := r.Replay(ctx, s.plan, journal)
	return s.finish(result, errors.Join(err, sink.Close()))
}

// parseSets reads NODE=VALUE; a value that is no JSON is text.
func parseSets(flags []string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, f := range flags {
		node, value, ok := strings.Cut(f, "=")
		if !ok || node == "" {
			return nil, diag.New(diag.Misuse, "usage", "--set: %q is not NODE=VALUE", f).Hint("skl trace RUN lists the nodes")
		}
		raw := json.RawMessage(value)
		if !json.Valid(raw) {
			raw, _ = json.Marshal(value)
		}
		out[node] = raw
	}
	return out, nil
}

func resumeCommand() command {
	return command{name: "resume", args: "[RUN|last]", group: "Run", usage: "go on with a run that waits, was stopped, or crashed", output: runResult{},
		example: "skl resume\nskl resume last --answer 'Proceed?=Yes'\nskl resume 20261121-1205 --budget calls=100",
		flags:   append(runFlags(), &cli.StringSliceFlag{Name: "rerun", Usage: "begin again what was begun at `NODE` and not seen to end, such as a command; * for all (repeatable)"}, &cli.BoolFlag{Name: "debug", Usage: "phase banners and a line per node"}),
		run:     runResume}
}

// runResume executes the control flow again from the start, with the recorded effects, and goes on live where they end.
func runResume(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() > 1 {
		return diag.New(diag.Misuse, "usage", "resume takes one run").Hint("skl runs")
	}
	rec, err := w.findRun(c.Args().First())
	if err != nil {
		return err
	}
	switch rec.Status {
	case run.Suspended, run.Failed, "":
	default:
		return diag.New(diag.Misuse, "run_done", "run %s is done (%s)", rec.ID, rec.Status).Hint("skl trace %s    skl run %s --model replay:%s", rec.ID, rec.Skill, rec.ID)
	}
	if w.cwd != rec.Work {
		return diag.New(diag.Misuse, "run_elsewhere", "run %s works in %s, not here", rec.ID, rec.Work).Hint("skl -C %s resume %s", quoteShell(rec.Work), rec.ID)
	}
	if rec.Model == "mcp" && c.String("model") == "" {
		return diag.New(diag.NeedsInput, model.CodeNoAnswer, "an agent filled the leaves of run %s", rec.ID).Hint("skl resume %s --model MODEL", rec.ID)
	}
	r, err := w.runnable(ctx, rec.Dir)
	if err != nil {
		return err
	}
	if err := w.bind(ctx, r); err != nil {
		return err
	}
	rec.Allow = append(rec.Allow, splitList(c.StringSlice("allow"))...)
	s := session{w: w, c: c, runnable: r, record: rec}
	return s.resume(ctx)
}

func (s *session) resume(ctx context.Context) error {
	journal, records, err := run.Open(s.w.runDir(s.record.ID))
	if err != nil {
		return err
	}
	spec := s.record.Model
	if flag := s.c.String("model"); flag != "" {
		spec = flag
	}
	runner, done, err := s.runner(ctx, spec)
	if err != nil {
		return errors.Join(err, journal.Close())
	}
	s.record.Model = spec
	runner.Journal, runner.Rerun = journal, s.c.StringSlice("rerun")
	result, err := runner.Resume(ctx, s.plan, records)
	return s.finish(result, errors.Join(err, journal.Close(), done()))
}
