package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// A lease is for leaseTime, and made longer each leaseTime/3: a process that is gone, or sleeps, keeps others from its work for no longer.
const leaseTime = 30 * time.Second

// holder is this process, to others: the name of its replica, and a text that no other has.
func (g *Registry) holder() string {
	g.holding.Do(func() { g.holds = g.Replica + " " + rand.Text() })
	return g.holds
}

// alone does work that one process at a time does, as long as it has the lease of that name. Its error has the code lease_held if another
// one does it. Work that is safe twice need not look whether it still has the lease: its context ends when that is lost.
func (g *Registry) alone(ctx context.Context, name string, work func(context.Context) error) error {
	take := func() error {
		return g.update(ctx, func(tx *meta.Tx) error {
			_, err := tx.TakeLease(ctx, name, g.holder(), leaseTime)
			return err
		})
	}
	if err := take(); errors.Is(err, meta.ErrExists) {
		return diag.New(diag.Failed, "lease_held", "another process of this registry does that already: %s", name).Hint("wait until it is done, at most half a minute if it is gone")
	} else if errors.Is(err, meta.ErrFull) {
		return work(ctx) // it may be what makes room
	} else if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		for tick := time.Tick(leaseTime / 3); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
			}
			if err := take(); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		}
	}()
	err := work(ctx)
	if lost := context.Cause(ctx); lost != nil && ctx.Err() != nil {
		err = errors.Join(err, lost)
	}
	cancel(nil)
	<-renewed
	end := context.WithoutCancel(ctx)
	if e := g.update(end, func(tx *meta.Tx) error { return tx.DropLease(end, name, g.holder()) }); e != nil {
		g.logger().Warn("a lease ends by itself", "lease", name, "error", e)
	}
	return err
}

// Beat says that this process serves, and returns how many do. It is said again each leaseTime/3.
func (g *Registry) Beat(ctx context.Context) (replicas int, err error) {
	err = g.update(ctx, func(tx *meta.Tx) error {
		if _, err := tx.TakeLease(ctx, meta.ReplicaLease+g.holder(), g.holder(), leaseTime); err != nil {
			return err
		}
		if err := tx.ForgetLeases(ctx, meta.ReplicaLease, time.Hour); err != nil {
			return err
		}
		serving, err := tx.Serving(ctx)
		replicas = len(serving)
		return err
	})
	return replicas, err
}

// Leave says that this process does not serve any more.
func (g *Registry) Leave(ctx context.Context) error {
	return g.update(ctx, func(tx *meta.Tx) error { return tx.DropLease(ctx, meta.ReplicaLease+g.holder(), g.holder()) })
}
