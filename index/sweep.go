package index

import (
	"context"
	"maps"
	"sync"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/store"
)

// A sweep looks at the files and stores what is different, for all queries that were asked before it began: in a repository that is being
// edited, many queries at a time cost one reading of what changed, not one each.
type sweep struct {
	stale   map[string]*store.File // what queries found to be another than the index says
	done    chan struct{}
	shared  bool         // what follows is for all that joined
	pending []files.File // that the store does not cover, as they were when the sweep began
}

// sweeps are those of an index. One runs at a time.
type sweeps struct {
	turn chan struct{} // holds one value while a sweep runs

	mu   sync.Mutex
	next *sweep // that has not begun, nil for none
}

func newSweeps() *sweeps { return &sweeps{turn: make(chan struct{}, 1)} }

// join returns the sweep that begins next. Whoever is its first must lead it.
func (s *sweeps) join(stale map[string]*store.File) (next *sweep, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next, first = &sweep{stale: map[string]*store.File{}, done: make(chan struct{})}, true
	}
	maps.Copy(s.next.stale, stale)
	return s.next, first
}

// begin returns what a sweep has to read anyway, now that nobody can join it any more.
func (s *sweeps) begin(own *sweep) (stale map[string]*store.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = nil
	return own.stale
}

// refresh makes the store agree with the files, as far as there is time, and returns the files that it does not cover. stale are files that
// have to be read, whatever their stamps say. Its error is context.DeadlineExceeded if there was no time to see what changed.
func (x *Index) refresh(ctx context.Context, p patience, q query.Query, stale map[string]*store.File) (pending []files.File, err error) {
	look, cancel := p.looking(ctx)
	defer cancel()
	w, first := x.sweeps.join(stale)
	if first {
		return x.lead(ctx, look, p, q, w)
	}
	select {
	case <-w.done:
	case <-look.Done():
		return nil, look.Err()
	}
	if w.shared {
		return w.pending, nil
	}
	d, err := x.look(look, stale)
	if err != nil {
		return nil, late(look, err)
	}
	return x.cover(ctx, p, q, d)
}

// lead runs a sweep when it is its turn; look bounds what it does to see what changed. A sweep that finds very much ends at once: queries differ in the files that they want first.
func (x *Index) lead(ctx, look context.Context, p patience, q query.Query, w *sweep) (pending []files.File, err error) {
	select {
	case x.sweeps.turn <- struct{}{}:
	case <-look.Done():
		x.sweeps.begin(w)
		close(w.done)
		return nil, look.Err()
	}
	end := sync.OnceFunc(func() {
		close(w.done)
		<-x.sweeps.turn
	})
	defer end()
	d, err := x.look(look, x.sweeps.begin(w))
	if err != nil {
		return nil, late(look, err)
	}
	if d.many() {
		end()
		return x.cover(ctx, p, q, d)
	}
	w.pending, err = x.cover(ctx, p, q, d)
	w.shared = err == nil && ctx.Err() == nil
	return w.pending, err
}

// late is the error of what ended because its time did: a database says that in words of its own.
func late(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
