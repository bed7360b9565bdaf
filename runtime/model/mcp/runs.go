package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

const (
	// MaxRuns is how many runs a server drives at once.
	MaxRuns = 16
	// IdleTimeout is how long a run waits for its agent.
	IdleTimeout = 30 * time.Minute

	maxFinished = 64 // results that are kept to be read again
)

// A RunFunc runs a skill to its end with d as its model. It returns when ctx ends.
type RunFunc func(ctx context.Context, skill, args string, d *Driver) (result any, err error)

// Runs are the runs of a server. Its methods may be called concurrently.
type Runs struct {
	start RunFunc
	idle  time.Duration

	wait sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	runs   map[string]*driven
	active int
	old    []string // names of finished runs, oldest first
	closed bool
}

// driven is a run in a goroutine of Runs.
type driven struct {
	*Driver
	cancel context.CancelFunc
	idle   time.Duration // after which quiet ends the run
	quiet  *time.Timer   // ends the run when the agent is gone
	over   chan struct{} // closed when the fields below are set
	result json.RawMessage
	err    error

	calls    int               // of tools, so far; guarded by the driver's mu, as the next
	underway map[int]*underway // by number
}

func newRuns(start RunFunc, idle time.Duration) *Runs {
	if idle <= 0 {
		idle = IdleTimeout
	}
	return &Runs{start: start, idle: idle, runs: map[string]*driven{}}
}

// Close stops all runs and waits for them. No run begins after it.
func (r *Runs) Close() {
	r.mu.Lock()
	r.closed = true
	for _, d := range r.runs {
		d.cancel()
	}
	r.mu.Unlock()
	r.wait.Wait()
}

// begin starts a run of skill. With person the client puts its questions to the person.
func (r *Runs) begin(skill, args string, person bool) (*driven, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, diag.New(diag.Failed, CodeStopped, "the server is ending")
	case r.active >= MaxRuns:
		return nil, diag.New(diag.Unmet, CodeRunsFull, "%d runs are waiting for their agents already", r.active).
			Hint("finish one, or stop one with skill_resume and cancel")
	}
	run := "m-" + strings.ToLower(rand.Text()[:12])
	ctx, cancel := context.WithCancel(context.Background()) // its callers come and go; Close cancels it
	d := &driven{Driver: NewDriver(run), cancel: cancel, idle: r.idle, over: make(chan struct{}), underway: map[int]*underway{}}
	d.person = person
	d.quiet = time.AfterFunc(r.idle, cancel)
	r.runs[run] = d
	r.active++
	r.wait.Go(func() {
		result, err := r.start(ctx, skill, args, d.Driver)
		cancel()
		d.quiet.Stop()
		if err == nil {
			d.result, err = json.Marshal(result)
		}
		d.err = err
		close(d.over)
		d.End()
		r.finished(run)
	})
	return d, nil
}

// finished keeps the result of a run for a while.
func (r *Runs) finished(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	r.old = append(r.old, run)
	if len(r.old) > maxFinished {
		delete(r.runs, r.old[0])
		r.old = r.old[1:]
	}
}

// find gives a run, and its agent new time.
func (r *Runs) find(run string) (*driven, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.runs[run]
	if !ok {
		return nil, diag.New(diag.Misuse, CodeRunUnknown, "this server has no run %q", run).
			Hint("start one with skill_run; a run that was suspended on disk goes on with: skl resume RUN")
	}
	d.awaits()
	return d, nil
}

// awaits gives the agent new time.
func (d *driven) awaits() {
	select {
	case <-d.over:
	default:
		d.quiet.Reset(d.idle)
	}
}

// next waits until the run needs its agent or is over. Steps are nil when it is over.
func (d *driven) next(ctx context.Context) ([]Step, error) {
	steps, err := d.Next(ctx)
	if err != nil || len(steps) > 0 {
		return steps, err
	}
	select {
	case <-d.over:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
