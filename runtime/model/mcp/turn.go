package mcp

import (
	"context"
	"strconv"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// A turn is one call of an agent, which can take several questions to the person. It is zero where no person is asked.
type turn struct {
	*driven
	call int // the number of the tool that is called, 0 for none
}

// state is what a client gives back after it asked the person.
func (t turn) state() string {
	if t.call == 0 {
		return t.run
	}
	return t.run + " " + strconv.Itoa(t.call)
}

// again is what the turn answers as things are now.
func (t turn) again(ctx context.Context, tokens int) (Progress, error) {
	if u := t.tool(); u != nil {
		return t.called(ctx, t.call, u, tokens)
	}
	return t.progress(ctx, 0, tokens)
}

// tool is the call whose result is still to be taken, nil if there is none.
func (t turn) tool() *underway {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.underway[t.call]
}

// An underway is a call of a tool that runs, or whose result nobody took yet.
type underway struct {
	cancel context.CancelFunc
	over   chan struct{} // closed when the fields below are set
	result model.ToolResult
	ended  bool // the step ended with it
	err    error
}

// call begins a call of a tool of a step, and gives its number. It outlives the request that it came with, which ends when the client has to ask the
// person something on its behalf; it ends with its step.
func (d *driven) call(ctx context.Context, step string, t toolCall) int {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	u := &underway{cancel: cancel, over: make(chan struct{})}
	d.mu.Lock()
	d.calls++
	n := d.calls
	d.underway[n] = u
	d.mu.Unlock()
	go func() {
		defer cancel()
		u.result, u.ended, u.err = d.Call(ctx, step, t.Name, t.Input)
		close(u.over)
	}()
	return n
}

// called waits until a call of a tool is over, or the person has to be asked first. The steps are not shown again.
func (d *driven) called(ctx context.Context, n int, u *underway, tokens int) (Progress, error) {
	waiting := Progress{Run: d.run, Status: "waiting", Steps: []Step{}}
	d.quiet.Stop() // a tool may take its time
	defer d.awaits()
	for {
		d.mu.Lock()
		changed, asks := d.changed, d.person && d.asks()
		d.mu.Unlock()
		select {
		case <-u.over:
			return d.taken(ctx, n, u, waiting, tokens)
		default:
		}
		if asks {
			return waiting, nil
		}
		select {
		case <-u.over:
		case <-changed:
		case <-ctx.Done():
			u.cancel()
			d.mu.Lock()
			delete(d.underway, n) // nobody asks for it again
			d.mu.Unlock()
			return Progress{}, ctx.Err()
		}
	}
}

// taken is the answer of a call that is over.
func (d *driven) taken(ctx context.Context, n int, u *underway, p Progress, tokens int) (Progress, error) {
	d.mu.Lock()
	delete(d.underway, n)
	d.mu.Unlock()
	if u.err != nil {
		return Progress{}, u.err
	}
	answer := &ToolAnswer{Text: u.result.Text, IsError: u.result.IsError}
	if u.ended { // what the run does now is not another call away
		var err error
		if p, err = d.progress(ctx, 0, tokens); err != nil {
			return Progress{}, err
		}
	}
	text, next := part(u.result.Text, 0, room(tokens))
	answer.Text, answer.Truncated = text, next > 0
	p.Tool = answer
	return p, nil
}

// asks reports whether a question waits that no call is putting to the person; d.mu is held.
func (d *Driver) asks() bool {
	for _, p := range d.pending {
		if p.Kind == Question && !p.claimed {
			return true
		}
	}
	return false
}

// parseState reads what state gave.
func parseState(state string) (run string, call int, err error) {
	run, number, more := strings.Cut(state, " ")
	if more {
		if call, err = strconv.Atoi(number); err != nil || call <= 0 {
			return "", 0, diag.New(diag.Misuse, CodeInput, "the state of the request is not one that this server gave")
		}
	}
	return run, call, nil
}
