package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// An outage is metadata out of reach, while it lasts.
type outage struct {
	meta.Store
	lasts atomic.Bool
}

func (o *outage) View(ctx context.Context, fn func(*meta.Tx) error) error {
	return o.ask(ctx, fn, o.Store.View)
}

func (o *outage) Read(ctx context.Context, fn func(*meta.Tx) error) error {
	return o.ask(ctx, fn, o.Store.Read)
}

func (o *outage) ask(ctx context.Context, fn func(*meta.Tx) error, reached func(context.Context, func(*meta.Tx) error) error) error {
	if !o.lasts.Load() {
		return reached(ctx, fn)
	}
	time.Sleep(time.Second) // it takes a while until somebody knows
	return fmt.Errorf("%w: for a test", meta.ErrUnavailable)
}

// A server that looked at everything while its database was out of reach found nothing by that: it is ready when it can reach it again.
func TestReadyAfterOutage(t *testing.T) {
	s := newSite(t, nil)
	o := &outage{Store: s.s.Registry.Meta}
	s.s.Registry.Meta = o
	o.lasts.Store(true)
	for began := time.Now(); time.Since(began) < 2*time.Second; { // also the look that goes on behind the answer
		s.must(503, "", "GET", "/readyz", nil)
	}
	o.lasts.Store(false)
	for limit := time.Now().Add(2 * deepEvery); ; time.Sleep(100 * time.Millisecond) {
		got := s.do("", "GET", "/readyz", nil)
		if got.status == 200 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("it is not ready: %s", got.body)
		}
	}
}
