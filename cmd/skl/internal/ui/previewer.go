package ui

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// How long the parts of a preview that are computed later may take.
const (
	previewRest  = 50 * time.Millisecond  // that the cursor stands still before anything is computed
	previewSaid  = 150 * time.Millisecond // after which it is said that something is
	previewLimit = 10 * time.Second       // after which it ends
	previewEnds  = time.Second            // that what was cancelled is waited for
	previewPoll  = 20 * time.Millisecond
)

// A later is the part of a preview that was computed.
type later struct {
	lines  []string
	failed bool
}

// A previewer computes the previews of the options on which the cursor of a picker rests: one at a time, each once.
type previewer struct {
	p      *picker
	limit  time.Duration
	at     int // the option of the cursor, -1 for none
	since  time.Time
	cancel context.CancelFunc // of what is computed; nil for nothing
	of     int                // of which option
	done   chan computed
}

type computed struct {
	later
	cancelled bool
}

func newPreviewer(p *picker, limit time.Duration) *previewer {
	return &previewer{p: p, limit: limit, at: -1, done: make(chan computed, 1)}
}

// turn takes in what was computed, goes on with what is wanted now, and reports whether the picker has to be drawn again,
// and after how long to ask again.
func (v *previewer) turn(now time.Time) (changed bool, again time.Duration) {
	select {
	case got := <-v.done:
		v.cancel()
		v.cancel = nil
		if !got.cancelled && v.p.later[v.of] == nil {
			v.p.later[v.of] = &got.later
			changed = v.of == v.at
		}
	default:
	}
	want := v.p.wantsLater()
	if want != v.at {
		v.at, v.since, v.p.reading = want, now, false
	}
	if v.cancel != nil && v.of != want {
		v.cancel()
	}
	waited := now.Sub(v.since)
	switch {
	case want < 0:
		return changed, time.Hour
	case waited > v.limit+previewEnds: // it does not end even so
		v.p.later[want] = &later{[]string{v.late()}, true}
		return true, time.Hour
	case v.cancel == nil && waited >= previewRest:
		v.start(want)
	}
	if waited >= previewSaid && !v.p.reading {
		v.p.reading, changed = true, true
	}
	return changed, previewPoll
}

func (v *previewer) late() string { return fmt.Sprintf("no preview: not there after %s", v.limit) }

// start computes the preview of an option.
func (v *previewer) start(of int) {
	ctx, cancel := context.WithTimeout(context.Background(), v.limit)
	v.of, v.cancel = of, cancel
	compute := v.p.options[of].Later
	go func() {
		lines, err := compute(ctx)
		got := computed{later: later{lines: lines}}
		switch {
		case err == nil:
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			got.later = later{[]string{v.late()}, true}
		case ctx.Err() != nil:
			got.cancelled = true
		default:
			got.later = later{[]string{"no preview: " + diag.Printable(err.Error())}, true}
		}
		v.done <- got
	}()
}

// end cancels what is computed and waits for it, but not long.
func (v *previewer) end() {
	if v.cancel == nil {
		return
	}
	v.cancel()
	select {
	case <-v.done:
	case <-time.After(previewEnds):
	}
}

// wantsLater is the option of the cursor if its pane is shown and a part of it is still to be computed, else -1.
func (p *picker) wantsLater() int {
	row, ok := p.current()
	if !ok || row.group != nil || !p.paned || p.options[row.option].Later == nil || p.later[row.option] != nil {
		return -1
	}
	return row.option
}
