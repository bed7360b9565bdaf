package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// A Moved says what is at another place now.
type Moved struct {
	Copied
	Rows   int64         // of the metadata
	Frozen time.Duration // how long nobody could change anything
}

// A Stage is what a move is at.
type Stage string

const (
	StageBlobs Stage = "blobs"
	StageRows  Stage = "rows"
	StageCheck Stage = "check"
)

// freezing is the time that is left to whoever ends a freeze.
const freezing = time.Minute

// MoveTo copies everything to the stores of another registry, while this one serves. Receive opens that, and has [Registry.Receive] prepare it, as
// soon as nobody else moves this one. First the blobs; then it
// takes no changes any more, and what is new of them follows, with the metadata in one transaction. Check says whether what arrived is
// whole. Then that one takes changes, and this one never again. After an error it is the other way round, and what was copied need not be again. Both
// have stores of [meta.Store] that update what is frozen.
func (g *Registry) MoveTo(ctx context.Context, receive func(context.Context) (*Registry, error), check func(context.Context, Copied) error, progress func(Stage, int64)) (m Moved, err error) {
	g.sweep.Lock()
	defer g.sweep.Unlock()
	err = g.alone(ctx, "move", func(ctx context.Context) error {
		to, err := receive(ctx)
		if err != nil {
			return err
		}
		return g.moveTo(ctx, to, check, progress, &m)
	})
	return m, err
}

func (g *Registry) moveTo(ctx context.Context, to *Registry, check func(context.Context, Copied) error, progress func(Stage, int64), m *Moved) (err error) {
	arrival, err := to.Frozen(ctx)
	if err != nil {
		return err
	}
	h := &hold{g: g}
	if err := h.renew(ctx); err != nil {
		return err
	}
	defer h.end(context.WithoutCancel(ctx))
	c := &copying{g: g, hold: h, to: to.Blobs, done: map[blob.Digest]bool{}, copied: &m.Copied, progress: func(n int) { progress(StageBlobs, int64(n)) }}
	if err := c.all(ctx); err != nil {
		return err
	}
	frozen, moved := time.Now(), false
	moving := meta.Freeze{State: meta.Moving, Since: g.now().UTC(), Log: g.Key.Public()}
	if err := g.update(ctx, func(tx *meta.Tx) error { return tx.Freeze(ctx, moving) }); err != nil {
		return err
	}
	defer func() {
		m.Frozen = time.Since(frozen)
		if err != nil && !moved {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), freezing)
			defer cancel()
			err = errors.Join(err, g.stay(end, moving.Since))
		}
	}()
	if err := c.all(ctx); err != nil { // that came meanwhile
		return err
	}
	err = g.view(ctx, func(from *meta.Tx) error {
		return to.update(ctx, func(tx *meta.Tx) (err error) {
			m.Rows, err = meta.Copy(ctx, tx, from, func(rows int64) { progress(StageRows, rows) })
			return err
		})
	})
	if err != nil {
		return err
	}
	progress(StageCheck, 0)
	if err := check(ctx, m.Copied); err != nil {
		return err
	}
	if err := g.nameNeeds(ctx, m.Problems); err != nil {
		return err
	}
	// In this order, so that never both take changes. From here on there is no way back.
	ctx = context.WithoutCancel(ctx)
	if err := g.update(ctx, func(tx *meta.Tx) error {
		f, err := tx.Frozen(ctx)
		if errors.Is(err, meta.ErrNotFound) || err == nil && !(f.State == meta.Moving && f.Since.Equal(moving.Since)) {
			err = diag.New(diag.Failed, "taken_back", "the move was taken back meanwhile, so the old place may have changed").Hint("run skl registry migrate once more")
		}
		if err != nil {
			return err
		}
		return tx.Freeze(ctx, meta.Freeze{State: meta.Moved, Since: g.now().UTC(), Log: moving.Log, Place: arrival.Place})
	}); err != nil {
		return err
	}
	moved = true
	return to.update(ctx, func(tx *meta.Tx) error { return tx.Thaw(ctx) })
}

// StayHere ends the freeze of a registry that was to be moved. One that was moved is refused with code moved: what was changed at the other
// place would be missing here.
func (g *Registry) StayHere(ctx context.Context) error { return g.stay(ctx, time.Time{}) }

// stay is StayHere for a freeze of that time, if that is not zero: another one is somebody else's.
func (g *Registry) stay(ctx context.Context, since time.Time) error {
	return g.update(ctx, func(tx *meta.Tx) error {
		f, err := tx.Frozen(ctx)
		switch {
		case errors.Is(err, meta.ErrNotFound):
			return nil
		case err != nil:
			return err
		case !since.IsZero() && !f.Since.Equal(since):
			return nil
		case f.State != meta.Moving:
			return diag.New(diag.Refused, "moved", "%s", f.Text()).
				Hint("what was changed there since would be missing here; to come back with it, run skl registry migrate --data THERE --to NEW").
				Hint("if that place is lost, run skl registry backup of this one, and skl registry restore")
		}
		return tx.Thaw(ctx)
	})
}

// Receive prepares this registry, which is new, for the data of the one with that log. It is frozen until all of it is there.
func (g *Registry) Receive(ctx context.Context, log string) error {
	return g.update(ctx, func(tx *meta.Tx) error {
		place, err := mayReceive(ctx, tx, log)
		if place != "" || err != nil {
			return err
		}
		return tx.Freeze(ctx, meta.Freeze{State: meta.Arriving, Since: g.now().UTC(), Log: log, Place: rand.Text()})
	})
}

// MayReceive is the error that [Registry.Receive] would return, and the name of this place if the data of the one with that log began to arrive here. A
// registry that holds other data is refused with code not_empty.
func (g *Registry) MayReceive(ctx context.Context, log string) (place string, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		place, err = mayReceive(ctx, tx, log)
		return err
	})
	return place, err
}

func mayReceive(ctx context.Context, tx *meta.Tx, log string) (place string, err error) {
	vacant := false
	f, err := tx.Frozen(ctx)
	switch {
	case err == nil && f.State == meta.Arriving && f.Log == log && f.Place != "":
		return f.Place, nil
	case errors.Is(err, meta.ErrNotFound):
		vacant, err = tx.Vacant(ctx)
	}
	if err == nil && !vacant {
		err = diag.New(diag.Misuse, "not_empty", "a registry is there already").Hint("name a new directory, and a database and a bucket that hold nothing")
	}
	return "", err
}

// Frozen says why nothing can be changed; ErrNotFound of package meta if that is not so.
func (g *Registry) Frozen(ctx context.Context) (f meta.Freeze, err error) {
	err = g.view(ctx, func(tx *meta.Tx) (err error) {
		f, err = tx.Frozen(ctx)
		return err
	})
	return f, err
}

// copiers is how many blobs are copied at once: most are small, and a bucket is far away.
const copiers = 8

// A copying of blobs to another store.
type copying struct {
	g        *Registry
	hold     *hold
	to       blob.Store
	done     map[blob.Digest]bool // that need not be looked at once more; nil if there is one walk alone
	progress func(done int)

	mu     sync.Mutex // guards what follows
	copied *Copied
}

// all copies what is not done yet. Blobs that are there are read, and copied again if they are damaged there. One that is damaged or lost
// here, and not there, is a problem of what was copied.
func (c *copying) all(ctx context.Context) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	err := c.g.eachBlob(gctx, func(d blob.Digest, size int64) error {
		if c.done[d] {
			return nil
		}
		if err := c.hold.renew(gctx); err != nil {
			return err
		}
		if c.done != nil {
			c.done[d] = true
		}
		group.Go(func() error { return c.one(gctx, d, size) })
		return nil
	})
	if e := group.Wait(); e != nil { // which ended the walk
		err = e
	}
	return err
}

func (c *copying) one(ctx context.Context, d blob.Digest, size int64) error {
	fresh := false
	err := c.to.Check(ctx, d)
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrCorrupt) {
		var content blob.Content
		content, err = c.g.Blobs.Open(ctx, d)
		c.mu.Lock()
		skipped := c.copied.skip(d, err)
		c.mu.Unlock()
		if skipped {
			return nil
		}
		if err == nil {
			fresh, err = true, copyBlob(ctx, c.to, d, content)
		}
	}
	if err != nil {
		return Explain(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh {
		c.copied.New++
	}
	c.copied.Blobs++
	c.copied.Bytes += size
	if c.progress != nil {
		c.progress(c.copied.Blobs)
	}
	return nil
}
