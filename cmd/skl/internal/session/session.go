// Package session runs skills: it finds the copy that is run, binds and asks, wires the model, the tools and the traces, and
// keeps a record and a journal of every run. Start, Resume and Drive are the use cases; what they show and ask goes through
// the funcs of a [Request].
package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/runtime/model"
	drive "github.com/skl-project/skl/runtime/model/mcp"
	"github.com/skl-project/skl/runtime/model/replay"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/spec/diag"
)

// Runs runs skills, and keeps the records of runs.
type Runs struct {
	Scope   *scope.Scope
	Ask     ask.Asker
	Version string // of skl, for traces
	NoLint  bool   // trees are run that lint finds errors in

	// Alone reports whether a skill that comes with skl does without a model what it is given, though its tree could ask one. Nil is never.
	Alone func(skill, args string) bool
	// Own are the tools that skl gives to a skill that comes with it, by where that is: "skl:NAME"; dir is the directory of the run, "" of none. Nil gives none.
	Own func(skill, dir string) []tool.Own

	// Line and Show are the terminal of a person who fills the leaves of a run; they are used where Ask can ask.
	Line func(context.Context) (string, error)
	Show func(text string)
}

// A Done is an effect that did take place although nobody saw its end, with its value if it has one.
type Done = run.Done

// A Request says how a skill is run, or a run resumed.
type Request struct {
	Args    string
	Model   string   // "" is the model of the run that is resumed, of the configuration, or the one that is found
	Allow   []string // effects and tools
	Tests   []Want   // not nil: the tests of the skill are run, which want this, in an empty directory; what is agreed to holds for that alone
	Keep    bool     // write Allow to the configuration, for the skill as it is now
	Sandbox string   // auto, strict or off; "" is that of the configuration
	Limits  run.Limits
	Answers map[string]run.Answer

	Sets  map[string]json.RawMessage // of a replay: other values of nodes
	Until string                     // of a replay: the node to stop after
	Rerun []string                   // of a resumption: nodes that are begun again; * is all
	Done  []Done                     // of a resumption: effects that nobody saw end and that did take place

	Record          string // file that the answers of the model are added to
	Trace           string // file for events, as JSON lines
	Proof           string // file for a page about the run
	AllowSequential bool   // the children of PARALLEL may run one after the other

	// Follow shows what happens to a person. Nil shows nothing.
	Follow func(r *Runnable, record Record) trace.Sink
	// Hold keeps what Follow shows out of the way until release is called.
	Hold func() (release func())
	// Again is the command line as it was typed, with flags added; nil where there was none.
	Again func(add string) string
	Flags string // those typed, each with a space before it, without the directory to work in
	Kept  string // of Flags and the directory, those that a later resume needs again, since the record of the run does not hold them
	// Preview shows all that the run could do to a person who is asked for leave. Nil names the command that does.
	Preview func(Preview)
	// Answer puts a question of the tree to a person, and Talk what a model says to them, who may have nothing to say to it.
	// Their error is ask.ErrNobody where nobody can be asked.
	Answer func(question string, options []string) (string, error)
	Talk   func(words string) (string, error)
}

// An Ended is a run that ended, was suspended or failed.
type Ended struct {
	Record Record
	Result run.Result
}

// A session is one run or resumption.
type session struct {
	*Runs
	*Runnable
	Request
	record Record

	stop context.CancelCauseFunc // interrupts the run
	took sync.Map                // keys of Answers that a question took
	set  sync.Map                // keys of Sets that a step took
}

// interruptible is a context that [session.stop] ends, and what it was ended with, if it was.
func (s *session) interruptible(ctx context.Context) (context.Context, func() error) {
	ctx, s.stop = context.WithCancelCause(ctx)
	return ctx, func() error {
		defer s.stop(nil)
		if err := context.Cause(ctx); errors.Is(err, ask.ErrStopped) {
			return err
		}
		return nil
	}
}

// Check refuses a request that is wrong by itself, before anything else happens.
func (rs *Runs) Check(q Request) error {
	if _, err := parseGrant(q.Allow); err != nil {
		return err
	}
	if _, err := sandboxFloor(rs.Confinement(q.Sandbox)); err != nil {
		return err
	}
	if q.Proof != "" {
		if err := rs.checkProof(q.Proof); err != nil {
			return err
		}
	}
	return rs.checkModel(q.Model)
}

// Start runs a skill from the beginning. With the model replay:RUN it runs the control flow of a recorded run again.
func (rs *Runs) Start(ctx context.Context, r *Runnable, q Request) (Ended, error) {
	if err := rs.Check(q); err != nil {
		return Ended{}, err
	}
	if err := rs.fits(r, q.Args); err != nil {
		return Ended{}, err
	}
	if err := answerable(r, q.Answers); err != nil {
		return Ended{}, err
	}
	s := &session{Runs: rs, Runnable: r, Request: q, record: Record{
		ID: newRunID(time.Now()), Skill: r.Name, Dir: r.Dir, Work: rs.Scope.Cwd, Digest: r.Plan.Digest, Args: q.Args, Started: time.Now().UTC(), Allow: q.Allow}}
	spec, err := rs.ChooseModel(q.Model)
	if (err != nil || spec == "manual") && cmp.Or(q.Model, rs.Scope.Config.Run.Model) == "" && (!r.needsModel(q.Args) || rs.Alone != nil && rs.Alone(r.bundled(), q.Args)) {
		spec, err = noModel, nil
	}
	if e, ok := diag.Own(err); ok && e.Code == "model_none" {
		if step := r.modelStep(q.Args); step != "" {
			e.Message += ": " + step + " needs a model"
		}
		err = e
	}
	if err != nil {
		return Ended{}, err
	}
	if id, ok := strings.CutPrefix(spec, "replay:"); ok && !scope.Exists(scope.Absolute(rs.Scope.Cwd, id)) {
		return s.replay(ctx, id) // touches nothing outside, so that nobody is asked
	}
	if len(q.Sets) > 0 || q.Until != "" {
		return Ended{}, diag.New(diag.Misuse, "usage", "--set and --until change the replay of a run, and %s is not a replay", spec).Hint("--model replay:RUN, or replay:last")
	}
	leave, err := s.agree(false)
	if err != nil {
		return Ended{}, err
	}
	if q.Keep {
		if err := rs.keep(r, q.Allow); err != nil {
			return Ended{}, err
		}
	}
	s.record.Model = spec
	runner, done, err := s.runner(ctx, spec, leave)
	if err != nil {
		return Ended{Record: s.record}, err
	}
	journal, err := rs.createRun(s.record)
	if err != nil {
		return Ended{Record: s.record}, errors.Join(err, done())
	}
	runner.Journal = journal
	running, stopped := s.interruptible(ctx)
	result, err := runner.Run(running, s.Plan, q.Args)
	return s.end(ctx, result, errors.Join(err, stopped(), journal.Close(), done()))
}

// Continue resumes the run that name means, here and now: it has to wait, to have failed or to have crashed, in this
// directory. Its skill is returned with it.
func (rs *Runs) Continue(ctx context.Context, name string, q Request) (*Runnable, Ended, error) {
	r, record, err := rs.resumable(ctx, name, q)
	if err != nil {
		return nil, Ended{}, err
	}
	ended, err := rs.Resume(ctx, r, record, q)
	return r, ended, err
}

// Foresee is what Continue could do: all that the tree could, of which what the journal holds is not done again. It asks nobody
// and writes nothing.
func (rs *Runs) Foresee(ctx context.Context, name string, q Request) (Record, Preview, error) {
	r, record, err := rs.resumable(ctx, name, q)
	if err != nil {
		return Record{}, Preview{}, err
	}
	q.Allow = append(slices.Clone(record.Allow), q.Allow...)
	if err := rs.Check(q); err != nil {
		return Record{}, Preview{}, err
	}
	q.Args, q.Allow = record.Args, append(q.Allow, AllowRun) // it began
	out, err := rs.Preview(r, q)
	return record, out, err
}

// resumable is the run that name means, and its skill.
func (rs *Runs) resumable(ctx context.Context, name string, q Request) (*Runnable, Record, error) {
	record, err := rs.Find(name)
	if err != nil {
		return nil, Record{}, err
	}
	switch record.Status {
	case run.Suspended, run.Failed, "":
	default:
		return nil, Record{}, diag.New(diag.Misuse, "run_done", "run %s is done (%s)", record.ID, record.Status).Hint("skl trace %s    skl run %s --model replay:%s", record.ID, rs.called(ctx, record), record.ID)
	}
	if rs.Scope.Cwd != record.Work {
		return nil, Record{}, diag.New(diag.Misuse, "run_elsewhere", "run %s works in %s, not here", record.ID, record.Work).Hint("skl -C %s resume %s%s", diag.Quote(record.Work), record.ID, q.Flags)
	}
	if record.Model == "mcp" && q.Model == "" {
		return nil, Record{}, diag.New(diag.NeedsInput, model.CodeNoAnswer, "an agent filled the leaves of run %s", record.ID).Hint("skl resume %s --model MODEL%s", record.ID, q.Flags)
	}
	r, err := rs.ranAs(ctx, record)
	if err != nil {
		return nil, Record{}, err
	}
	r.As = rs.called(ctx, record)
	if record.Digest != r.Plan.Digest { // its journal may hold nothing yet
		return nil, Record{}, rs.anew(ctx, record, run.OtherPlan(r.Name, r.As))
	}
	return r, record, nil
}

// ranAs is the skill of a recorded run, as it is now. Lint stops it no more: it passed, or was told to run all the same, when it began.
func (rs *Runs) ranAs(ctx context.Context, record Record) (*Runnable, error) {
	begun := *rs
	begun.NoLint = true
	return begun.Bound(ctx, record.Dir)
}

// Resume executes the control flow of a recorded run again from the start, with the recorded effects, and goes on live
// where they end.
func (rs *Runs) Resume(ctx context.Context, r *Runnable, record Record, q Request) (_ Ended, err error) {
	defer func() { err = rs.anew(ctx, record, err) }()
	record.Allow = append(record.Allow, q.Allow...)
	q.Allow = record.Allow
	if err := rs.Check(q); err != nil {
		return Ended{}, err
	}
	s := &session{Runs: rs, Runnable: r, Request: q, record: record}
	if err := rs.fits(r, record.Args); err != nil {
		return Ended{}, err
	}
	if err := answerable(r, q.Answers); err != nil {
		return Ended{}, err
	}
	leave, err := s.agree(true)
	if err != nil {
		return Ended{}, err
	}
	journal, records, err := run.Open(rs.RunDir(record.ID))
	if err != nil {
		return Ended{}, err
	}
	begun := len(records) > 0
	if !begun && record.Status != "" {
		err := diag.New(diag.Failed, run.CodeJournal, "run %s was recorded as %s, and its journal holds nothing", record.ID, record.Status).Hint("skl run %s, to start anew", rs.called(ctx, record))
		return Ended{}, errors.Join(err, journal.Close())
	}
	spec := cmp.Or(q.Model, record.Model)
	if spec == "manual" && q.Model == "" && !rs.Ask.CanAsk() && !r.needsModel(record.Args) {
		spec = noModel // a person was there when it began, and nothing is left that one would fill
	}
	runner, done, err := s.runner(ctx, spec, leave)
	if err != nil {
		return Ended{Record: s.record}, errors.Join(err, journal.Close())
	}
	s.record.Model = spec
	runner.Journal, runner.Rerun, runner.Done = journal, q.Rerun, q.Done
	running, stopped := s.interruptible(ctx)
	var result run.Result
	if begun {
		result, err = runner.Resume(running, s.Plan, records)
	} else { // it died before its first record
		result, err = runner.Run(running, s.Plan, record.Args)
	}
	return s.end(ctx, result, errors.Join(err, stopped(), journal.Close(), done()))
}

// anew is err, whose hints to run the skill anew name it, with the arguments, the model and the leave that the run had.
func (rs *Runs) anew(ctx context.Context, record Record, err error) error {
	const anew = ", to start anew"
	e, ok := errors.AsType[*diag.Error](err)
	if !ok {
		return err
	}
	for i, h := range e.Hints {
		at := strings.Index(h, anew)
		if at < 0 || !strings.HasPrefix(h, "skl run") {
			continue
		}
		why := strings.TrimPrefix(h[at+len(anew):], ": ")
		line := "skl run " + rs.called(ctx, record)
		if len(record.Allow) > 0 {
			line += " --allow " + diag.Quote(strings.Join(record.Allow, ","))
		}
		if m := record.Model; m != "" && m != noModel && m != "mcp" {
			line += " --model " + diag.Quote(m)
		}
		switch {
		case strings.HasPrefix(record.Args, "-"):
			line += " -- " + diag.Quote(record.Args)
		case record.Args != "":
			line += " " + diag.Quote(record.Args)
		}
		if e.Hints[i] = "to start anew: " + line; why != "" {
			e.Hints = slices.Insert(e.Hints, i, why)
		}
		break
	}
	return err
}

// agree asks for what the run is known to want. One that began may go on; what nobody agreed to waits when it comes.
func (s *session) agree(began bool) (Leave, error) {
	q := s.Request
	if began {
		q.Args, q.Allow = s.record.Args, append(slices.Clone(s.record.Allow), AllowRun)
	}
	leave, err := s.Agree(s.Runnable, q)
	s.record.Allow = append(slices.Clone(s.record.Allow), leave.once...)
	return leave, err
}

// end records how the run ended, and writes the page about it that was asked for.
func (s *session) end(ctx context.Context, result run.Result, err error) (Ended, error) {
	result.Run = s.record.ID
	if result.Untouched {
		result.Status = s.record.Status
		return Ended{s.record, result}, err
	}
	s.record.end(result, err)
	s.sayUntaken(result)
	err = errors.Join(err, s.writeRun(s.record))
	if s.Proof != "" {
		err = errors.Join(err, s.WriteProof(context.WithoutCancel(ctx), s.record, s.Proof))
	}
	return Ended{s.record, result}, err
}

// sayUntaken says which answers, given beforehand, no question took. One of a run that waits may be for a question to come.
func (s *session) sayUntaken(result run.Result) {
	if result.Status == run.Suspended {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(s.Answers)) {
		if _, ok := s.took.Load(key); !ok {
			s.Scope.Tell.Warn("no question of this run took the answer for %q", diag.Clip(diag.Printable(key), 80))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Sets)) {
		if _, ok := s.set.Load(key); !ok {
			s.Scope.Tell.Warn("no step of this run took the value for %q: skl trace --nodes %s numbers those that can", diag.Clip(diag.Printable(key), 80), cmp.Or(s.record.Replayed, s.record.ID))
		}
	}
}

// runner wires everything that a run may touch. done closes it and must be called.
func (s *session) runner(ctx context.Context, spec string, leave Leave) (_ *run.Runner, done func() error, err error) {
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
	m, err := s.model(spec)
	if err != nil {
		return nil, nil, err
	}
	if s.Record != "" && m != nil {
		recorder, err := replay.Create(scope.Absolute(s.Scope.Cwd, s.Record))
		if err != nil {
			return nil, nil, err
		}
		open = append(open, recorder.Close)
		m = replay.Record(m, recorder)
	}
	tools, err := s.Dispatcher(s.Runnable, leave, Bounds{Work: s.Scope.Cwd, Dir: s.RunDir(s.record.ID), Sandbox: s.Confinement(s.Sandbox), Consent: s.consent})
	if err != nil {
		return nil, nil, err
	}
	open = append(open, tools.Close)
	sink, err := s.sinks(ctx)
	if err != nil {
		return nil, nil, err
	}
	open = append(open, sink.Close)
	if s.Hold != nil && m != nil && m.Capabilities().Person {
		m = aside{m, s.Hold}
	}
	return &run.Runner{Name: s.record.ID, Called: s.As, Model: m, Tools: tools, Ask: s.ask, Events: sink.Event, Limits: s.Limits, Answers: s.Answers, Took: func(key string) { s.took.Store(key, true) },
		AllowSequential: s.AllowSequential}, closeAll, nil
}

// model opens the model of the run; none where the tree needs none and none can be had.
func (s *session) model(spec string) (model.Model, error) {
	if spec == noModel {
		return nil, nil
	}
	m, err := s.OpenModel(spec)
	if errors.Is(err, diag.Code("offline")) && s.Model == "" && !s.needsModel(s.record.Args) {
		return nil, nil
	}
	return m, err
}

// aside keeps what is shown out of the way while a person answers.
type aside struct {
	model.Model
	hold func() func()
}

func (a aside) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	defer a.hold()()
	return a.Model.Fill(ctx, r)
}

// held keeps what is shown out of the way until release is called.
func (s *session) held() (release func()) {
	if s.Hold == nil {
		return func() {}
	}
	return s.Hold()
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
	events, err := s.eventsSink(s.record)
	if err != nil {
		return nil, err
	}
	out := []trace.Sink{events}
	if s.Trace != "" {
		file, err := jsonlFile(scope.Absolute(s.Scope.Cwd, s.Trace))
		if err != nil {
			return nil, errors.Join(err, events.Close())
		}
		out = append(out, file)
	}
	if s.Follow != nil {
		if shown := s.Follow(s.Runnable, s.record); shown != nil {
			out = append(out, shown)
		}
	}
	exporter, err := s.spans(s.record.ID, s.record.Model)
	if err != nil {
		return nil, errors.Join(err, trace.Tee(out...).Close())
	}
	return trace.Tee(append(out, exporter)...), nil
}

// ask puts a question of the tree to the person.
func (s *session) ask(ctx context.Context, q run.Question) (run.Answer, error) {
	there := s.Answer != nil
	if q.Turn {
		there = s.Talk != nil
	}
	if !there || !s.Runs.Ask.CanAsk() {
		return run.Answer{}, run.ErrNoAnswer
	}
	defer s.held()()
	var text string
	var err error
	if q.Turn {
		text, err = s.Talk(q.Question)
	} else {
		text, err = s.Answer(q.Question, q.Options)
	}
	switch {
	case errors.Is(err, ask.ErrNobody), errors.Is(err, ask.ErrLeft): // the input ended, or they left: they answer later
		err = run.ErrNoAnswer
	case errors.Is(err, ask.ErrStopped) && s.stop != nil:
		s.stop(err)
	}
	return run.Answer{Text: text, How: "person"}, err
}

// replay runs the control flow of a recorded run again, with its recorded effects.
func (s *session) replay(ctx context.Context, id string) (Ended, error) {
	old, err := s.Find(id)
	if err != nil {
		return Ended{}, err
	}
	if id := old.journalled(); id != old.ID {
		if old, err = s.Find(id); err != nil {
			return Ended{}, err
		}
	}
	journal, err := run.ReadFile(s.RunDir(old.ID))
	if err != nil {
		return Ended{}, err
	}
	s.record.Model, s.record.Replayed = "replay:"+old.ID, old.ID
	sink, err := s.sinks(ctx)
	if err != nil {
		return Ended{}, err
	}
	if err := s.writeRun(s.record); err != nil {
		return Ended{}, errors.Join(err, sink.Close())
	}
	r := &run.Runner{Events: sink.Event, Set: s.Sets, TookSet: func(key string) { s.set.Store(key, true) }, Until: s.Until}
	result, err := r.Replay(ctx, s.Plan, journal)
	return s.end(ctx, result, errors.Join(err, sink.Close()))
}

// Drive runs an installed skill whose leaves an agent fills. Nobody is at a terminal: what the run is known to want is put to
// the person by the agent's client, if it does that, and never to the agent. What nobody agreed to suspends the run.
// The run has the same name for the agent and in the list of runs.
func (rs *Runs) Drive(ctx context.Context, name, args string, allow []string, sandbox string, d *drive.Driver) (run.Result, error) {
	r, err := rs.driven(ctx, name)
	if err != nil {
		return run.Result{}, err
	}
	if err := rs.fits(r, args); err != nil {
		return run.Result{}, err
	}
	notes := r.remarks(rs.Scope)
	d.Note(strings.Join(notes, "; "))
	record := Record{ID: d.Run(), Skill: r.Name, Dir: r.Dir, Work: rs.Scope.Cwd, Digest: r.Plan.Digest, Args: args,
		Model: d.Name(), Started: time.Now().UTC(), Allow: allow}
	s := &session{Runs: rs, Runnable: r, Request: Request{Args: args, Allow: allow, Sandbox: sandbox}, record: record}
	leave, err := s.agreeOver(ctx, d)
	if err != nil {
		return run.Result{}, err
	}
	record = s.record
	tools, err := rs.Dispatcher(r, leave, Bounds{Work: rs.Scope.Cwd, Dir: rs.RunDir(record.ID), Sandbox: rs.Confinement(sandbox), Consent: func(ctx context.Context, about tool.Ask) (tool.Answer, error) {
		return s.consentOver(ctx, d, about)
	}, Lacking: func(text string) {
		rs.Scope.Tell.Warn("%s", text)
		notes = append(notes, diag.Printable(text))
		d.Note(strings.Join(notes, "; "))
	}})
	if err != nil {
		return run.Result{}, err
	}
	defer tools.Close()
	journal, err := rs.createRun(record)
	if err != nil {
		return run.Result{}, err
	}
	sink, err := rs.watch(record)
	if err != nil {
		return run.Result{}, errors.Join(err, journal.Close())
	}
	runner := &run.Runner{Model: d, Tools: tools, Events: sink.Event, Journal: journal, Strands: d.Strands,
		Ask: func(ctx context.Context, q run.Question) (run.Answer, error) {
			text, how, err := d.Ask(ctx, q.Node, q.Question, q.Options)
			if errors.Is(err, diag.Code(model.CodeNoAnswer)) {
				err = run.ErrNoAnswer
			}
			return run.Answer{Text: text, How: how}, err
		}}
	result, err := runner.Run(ctx, r.Plan, args)
	if lost := sink.Close(); lost != nil {
		rs.Scope.Tell.Warn("run %s: %v", record.ID, lost) // the run is as good as with a trace
	}
	result.Run = record.ID
	record.end(result, err)
	return result, errors.Join(err, journal.Close(), rs.writeRun(record))
}
