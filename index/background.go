package index

import (
	"context"
	"path"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

// Busy says whether somebody, here or in another process, brings the index up to date.
func (x *Index) Busy(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	unlock, err := x.store().Lock(ctx, nil)
	if err != nil {
		return true
	}
	unlock()
	return false
}

// continueInBackground indexes what is missing, once at a time. The work outlives ctx, and ends with Close.
func (x *Index) continueInBackground(ctx context.Context) {
	x.working.Lock()
	defer x.working.Unlock()
	if x.closed || x.stopWork != nil {
		return
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	x.stopWork = stop
	x.background.Go(func() {
		defer func() {
			x.working.Lock()
			x.stopWork = nil
			x.working.Unlock()
			stop()
		}()
		if _, err := x.Update(ctx, glob.Glob{}, false); err != nil && ctx.Err() == nil {
			x.o.Progress.Send(diag.Event{Stage: "index", Name: path.Base(x.root) + ": " + err.Error()})
		}
	})
}

// lasting is a context for work that outlives ctx: it ends with Close, or when stop is called.
func (x *Index) lasting(ctx context.Context) (work context.Context, stop context.CancelFunc) {
	work, stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-x.closing:
			stop()
		case <-work.Done():
		}
	}()
	return work, stop
}
