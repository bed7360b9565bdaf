package session

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/spell"
)

// Files of a run's directory, which is <state>/runs/<id>, besides its journal.
const (
	eventsFile = "events.jsonl" // what trace shows
	runFile    = "run.json"     // a runRecord
)

// A Record is what the list of runs knows of one.
type Record struct {
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
	Leave    string     `json:"leave,omitempty"`    // what it waits for leave to do
	Allow    []string   `json:"allow,omitempty"`
	Replayed string     `json:"replayed,omitempty"` // the run that this one replays; it has no journal of its own
}

// State is how a run ended, in a word.
func (r Record) State() string { return cmp.Or(string(r.Status), "unfinished") }

// journalled is the run that has the journal of r: itself, or the one that it replays.
func (r Record) journalled() string { return cmp.Or(r.Replayed, r.ID) }

func (rs *Runs) runsDir() string { return filepath.Join(rs.Scope.Dirs.State, "runs") }

// RunDir is where the files of a run are.
func (rs *Runs) RunDir(id string) string { return filepath.Join(rs.runsDir(), id) }

// newRunID is sortable by time and unique on this machine.
func newRunID(now time.Time) string {
	var b [3]byte
	rand.Read(b[:])
	return now.UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b[:])
}

func (rs *Runs) writeRun(r Record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(rs.RunDir(r.ID), runFile), append(text, '\n'), 0o600)
}

// end notes how the run ended.
func (r *Record) end(result run.Result, err error) {
	r.Status, r.ExitCode, r.Ended, r.Question, r.Leave = result.Status, result.ExitCode, time.Now().UTC(), "", ""
	if result.Pending != nil {
		r.Question = result.Pending.Question
	}
	if e, ok := diag.Own(err); ok && e.Code == tool.CodeUnasked {
		r.Leave = e.Message
	}
}

// createRun makes the journal of a new run and writes its record, in this order: a run that is known has a journal.
func (rs *Runs) createRun(r Record) (*run.File, error) {
	if err := rs.Scope.MkdirPrivate(rs.RunDir(r.ID)); err != nil {
		return nil, err
	}
	journal, err := run.Create(rs.RunDir(r.ID))
	if err != nil {
		return nil, err
	}
	if err := rs.writeRun(r); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	return journal, nil
}

// All returns the recorded runs, newest first. Directories that hold no readable record are left out.
func (rs *Runs) All() ([]Record, error) {
	entries, err := os.ReadDir(rs.runsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Record
	for _, e := range entries {
		if r, err := rs.readRun(e.Name()); err == nil {
			out = append(out, r)
		}
	}
	order.Sort(out, func(a, b Record) int { return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.ID, a.ID)) })
	return out, nil
}

func (rs *Runs) readRun(id string) (Record, error) {
	text, err := os.ReadFile(filepath.Join(rs.RunDir(id), runFile))
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil || r.ID != id {
		return Record{}, diag.New(diag.Failed, "run_corrupt", "the record of run %s cannot be read", id).Hint("skl runs prune --older 0d")
	}
	return r, nil
}

// Find finds a run by its id, by the start or the end of one, or "last" for the newest that is no replay of another.
func (rs *Runs) Find(name string) (Record, error) {
	runs, err := rs.All()
	if err != nil {
		return Record{}, err
	}
	var found []Record
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
		return Record{}, diag.New(diag.Misuse, "unknown_run", "nothing was run yet").Hint("skl run NAME")
	}
	return Record{}, diag.New(diag.Misuse, "unknown_run", "no run is called %q", name).Meant(spell.Nearest(name, ids, 3)...).Hint("skl runs")
}

// A PruneRequest asks to forget old runs.
type PruneRequest struct {
	Older     time.Duration
	Suspended bool // also those that wait for an answer, or never ended
	DryRun    bool
}

// Prune forgets runs that ended long ago. It returns those that stay, and the ids of those that were, or would be, forgotten.
func (rs *Runs) Prune(q PruneRequest) (kept []Record, pruned []string, err error) {
	all, err := rs.All()
	if err != nil {
		return nil, nil, err
	}
	for _, r := range all {
		waits := r.Status == run.Suspended || r.Status == ""
		if time.Since(cmp.Or(r.Ended, r.Started)) < q.Older || waits && !q.Suspended {
			kept = append(kept, r)
			continue
		}
		pruned = append(pruned, r.ID)
		if q.DryRun {
			continue
		}
		if err := os.RemoveAll(rs.RunDir(r.ID)); err != nil {
			return nil, nil, err
		}
	}
	return kept, pruned, nil
}
