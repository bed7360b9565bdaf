package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// Files of a run's directory, which is <state>/runs/<id>, besides its journal.
const (
	eventsFile = "events.jsonl" // what trace shows
	runFile    = "run.json"     // a runRecord
)

// A runRecord is what the list of runs knows of one.
type runRecord struct {
	ID       string     `json:"run"`
	Skill    string     `json:"skill"`
	Dir      string     `json:"dir"`  // of the skill; "skl:NAME" if embedded
	Work     string     `json:"work"` // working directory
	Digest   string     `json:"digest"`
	Args     string     `json:"arguments"`
	Model    string     `json:"model"`
	Status   run.Status `json:"status"` // "" while it runs
	ExitCode int        `json:"exit_code"`
	Started  time.Time  `json:"started"`
	Ended    time.Time  `json:"ended,omitzero"`
	Question string     `json:"question,omitempty"` // what a suspended run waits for
	Allow    []string   `json:"allow,omitempty"`
	Replayed string     `json:"replayed,omitempty"` // the run that this one replays; it has no journal of its own
}

func (w *world) runsDir() string { return filepath.Join(w.Dirs.State, "runs") }

func (w *world) runDir(id string) string { return filepath.Join(w.runsDir(), id) }

// newRunID is sortable by time and unique on this machine.
func newRunID(now time.Time) string {
	var b [3]byte
	rand.Read(b[:])
	return now.UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b[:])
}

func (w *world) writeRun(r runRecord) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(w.runDir(r.ID), runFile), append(text, '\n'), 0o600)
}

// end notes how the run ended.
func (r *runRecord) end(result run.Result) {
	r.Status, r.ExitCode, r.Ended, r.Question = result.Status, result.ExitCode, time.Now().UTC(), ""
	if result.Pending != nil {
		r.Question = result.Pending.Question
	}
}

// createRun writes the record of a new run and makes its journal.
func (w *world) createRun(r runRecord) (*run.File, error) {
	if err := w.MkdirPrivate(w.runDir(r.ID)); err != nil {
		return nil, err
	}
	if err := w.writeRun(r); err != nil {
		return nil, err
	}
	return run.Create(w.runDir(r.ID))
}

// eventsSink keeps the events of a run for "skl trace".
func (w *world) eventsSink(r runRecord) (trace.Sink, error) {
	if err := w.MkdirPrivate(w.runDir(r.ID)); err != nil {
		return nil, err
	}
	return jsonlFile(filepath.Join(w.runDir(r.ID), eventsFile))
}

// jsonlFile writes events to a file, in place of what it holds.
func jsonlFile(path string) (trace.Sink, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil { // it was there before, and is about to hold prompts and answers
			return nil, errors.Join(err, f.Close())
		}
	}
	return fileSink{trace.JSONL(f), f}, nil
}

// A fileSink closes its file with the sink.
type fileSink struct {
	trace.Sink
	f *os.File
}

func (s fileSink) Close() error { return errors.Join(s.Sink.Close(), s.f.Close()) }

// runEvents reads what eventsSink kept.
func (w *world) runEvents(id string) ([]run.Event, error) {
	f, err := os.Open(filepath.Join(w.runDir(id), eventsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.Failed, "trace_missing", "run %s has no trace", id).Hint("skl runs")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return trace.ReadJSONL(f)
}

// allRuns returns the recorded runs, newest first. Directories that hold no readable record are left out.
func (w *world) allRuns() ([]runRecord, error) {
	entries, err := os.ReadDir(w.runsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []runRecord
	for _, e := range entries {
		if r, err := w.readRun(e.Name()); err == nil {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b runRecord) int { return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.ID, a.ID)) })
	return out, nil
}

func (w *world) readRun(id string) (runRecord, error) {
	text, err := os.ReadFile(filepath.Join(w.runDir(id), runFile))
	if err != nil {
		return runRecord{}, err
	}
	var r runRecord
	if err := json.Unmarshal(text, &r); err != nil || r.ID != id {
		return runRecord{}, diag.New(diag.Failed, "run_corrupt", "the record of run %s cannot be read", id).Hint("skl runs prune --older 0d")
	}
	return r, nil
}

// findRun finds a run by its id, by the start or the end of one, or "last" for the newest that is no replay of another.
func (w *world) findRun(name string) (runRecord, error) {
	runs, err := w.allRuns()
	if err != nil {
		return runRecord{}, err
	}
	var found []runRecord
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
		if r.ID == name || (name == "last" || name == "") && r.Replayed == "" {
			return r, nil
		}
		if len(name) >= 4 && (strings.HasPrefix(r.ID, name) || strings.HasSuffix(r.ID, "-"+name)) {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(runs) == 0:
		return runRecord{}, diag.New(diag.Misuse, "unknown_run", "nothing was run yet").Hint("skl run NAME")
	}
	return runRecord{}, diag.New(diag.Misuse, "unknown_run", "no run is called %q", name).Meant(spell.Nearest(name, ids, 3)...).Hint("skl runs")
}

type runsResult struct {
	Runs   []runRecord `json:"runs"`
	Pruned []string    `json:"pruned,omitempty"`
}

func runsCommand() command {
	return command{name: "runs", group: "Run", usage: "list what was run, or forget old runs", output: runsResult{},
		example: "skl runs\nskl runs prune --older 30d",
		sub: []command{
			{name: "list", usage: "list what was run, newest first", output: runsResult{}, flags: []cli.Flag{&cli.IntFlag{Name: "limit", Value: 20, Usage: "show `N` runs; 0 is all"}}, run: runRuns},
			{name: "prune", usage: "forget runs that ended long ago", output: runsResult{},
				flags: []cli.Flag{&cli.StringFlag{Name: "older", Value: "30d", Usage: "than `AGE`: 30d, 12h"}, &cli.BoolFlag{Name: "suspended", Usage: "also those that wait for an answer"}, dryRunFlag()}, run: runPrune},
		},
		flags: []cli.Flag{&cli.IntFlag{Name: "limit", Value: 20, Usage: "show `N` runs; 0 is all"}},
		run:   runRuns}
}

func runRuns(_ context.Context, w *world, c *cli.Context) error {
	if word := c.Args().First(); word != "" {
		return diag.New(diag.Misuse, "unknown_command", "unknown command %q", "runs "+word).Hint("skl runs --help")
	}
	runs, err := w.allRuns()
	if err != nil {
		return err
	}
	if n := c.Int("limit"); n > 0 && len(runs) > n {
		runs = runs[:n]
	}
	if w.ui.JSON {
		return w.ui.Result(runsResult{Runs: append([]runRecord{}, runs...)})
	}
	rows := [][]string{{"RUN", "SKILL", "STARTED", "MODEL", "STATUS", ""}}
	for _, r := range runs {
		rows = append(rows, []string{r.ID, r.Skill, r.Started.Local().Format("2006-01-02 15:04"), r.Model, status(r), r.Question})
	}
	w.ui.Rows(rows)
	if len(runs) == 0 {
		w.ui.Note("nothing was run yet")
	}
	return nil
}

// status is how a run ended, in a word.
func status(r runRecord) string {
	if r.Status == "" {
		return "unfinished"
	}
	return string(r.Status)
}

func runPrune(_ context.Context, w *world, c *cli.Context) error {
	age, err := parseAge(c.String("older"))
	if err != nil {
		return err
	}
	runs, err := w.allRuns()
	if err != nil {
		return err
	}
	out := runsResult{Runs: []runRecord{}, Pruned: []string{}}
	for _, r := range runs {
		waits := r.Status == run.Suspended || r.Status == ""
		if time.Since(cmp.Or(r.Ended, r.Started)) < age || waits && !c.Bool("suspended") {
			out.Runs = append(out.Runs, r)
			continue
		}
		out.Pruned = append(out.Pruned, r.ID)
		if c.Bool("dry-run") {
			continue
		}
		if err := os.RemoveAll(w.runDir(r.ID)); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	for _, id := range out.Pruned {
		w.ui.Print("%s", id)
	}
	verb := "forgotten"
	if c.Bool("dry-run") {
		verb = "would be forgotten"
	}
	w.ui.Note("%s %s, %d kept", diag.Count(len(out.Pruned), "run"), verb, len(out.Runs))
	return nil
}

// parseAge reads "30d", "12h", "45m".
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	return 0, diag.New(diag.Misuse, "usage", "%q is not an age", s).Hint("--older 30d")
}
