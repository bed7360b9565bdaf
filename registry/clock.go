package registry

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// A Clock tells the time of the database, which all processes of a registry share, whatever the clocks of their machines say: a token
// that one of them makes ends for all of them at once, and what one has stored is no older to the one that collects garbage.
//
// It is set by [Clock.Set] and goes on from there with the time that passes here, also when somebody sets the clock of the machine. Its
// methods may be called concurrently.
type Clock struct {
	store meta.Store
	local func() time.Time
	last  atomic.Pointer[reading]
}

// A reading is the time of the database at a moment of this machine.
type reading struct{ local, shared time.Time }

// OpenClock sets a clock by the database of a store, from what local says, the clock of the machine; nil means time.Now.
func OpenClock(ctx context.Context, store meta.Store, local func() time.Time) (*Clock, error) {
	if local == nil {
		local = time.Now
	}
	c, now := &Clock{store: store, local: local}, local()
	c.last.Store(&reading{now, now.Round(0)})
	return c, c.Set(ctx)
}

// Now is the time of the database, in UTC.
func (c *Clock) Now() time.Time { return c.last.Load().at(c.local()) }

func (r *reading) at(local time.Time) time.Time { return r.shared.Add(local.Sub(r.local)).UTC() }

// Ahead is how far the clock of the machine is ahead of the database's, negative if it is behind.
func (c *Clock) Ahead() time.Duration {
	local := c.local()
	return local.Round(0).Sub(c.last.Load().at(local))
}

// Set asks the database for its time. The clock is moved only if it cannot be right: as far as is not explained by how long the answer took.
func (c *Clock) Set(ctx context.Context) error {
	before, now := c.local(), time.Time{}
	if err := c.store.Read(ctx, func(tx *meta.Tx) (err error) {
		before = c.local() // it may have waited for a connection
		now, err = tx.Now(ctx)
		return err
	}); err != nil {
		return err
	}
	after := c.local()
	last, latest := c.last.Load(), now.Add(after.Sub(before))
	switch is := last.at(after); {
	case is.Before(now):
		c.last.CompareAndSwap(last, &reading{after, now})
	case is.After(latest):
		c.last.CompareAndSwap(last, &reading{after, latest})
	}
	return nil
}
