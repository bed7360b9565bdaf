package index

import (
	"context"
	"path"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

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
