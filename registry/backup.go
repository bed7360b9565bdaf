package registry

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
)

// A Copied counts what a backup holds.
type Copied struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
	New   int   `json:"new"` // blobs that an earlier backup in the same place did not have
}

// Backup writes a consistent copy while the registry serves: the database to the file database, which must
// not exist, and then every blob to the store to. What is published meanwhile is in the copy
// as a whole or not at all: the database is copied first, a blob that it names is never removed before
// Backup is done, and a blob it does not name is only garbage. A blob that is damaged here ends it.
func (g *Registry) Backup(ctx context.Context, database string, to blob.Store, progress func(done int)) (Copied, error) {
	g.sweep.Lock()
	defer g.sweep.Unlock()
	var c Copied
	h := &hold{g: g}
	if err := h.renew(ctx); err != nil {
		return c, err
	}
	defer h.end(context.WithoutCancel(ctx))
	if err := g.Meta.Backup(ctx, database); err != nil {
		return c, Explain(err)
	}
	err := g.eachBlob(ctx, func(d blob.Digest) error {
		if err := h.renew(ctx); err != nil {
			return err
		}
		size, err := to.Stat(ctx, d)
		if errors.Is(err, blob.ErrNotFound) {
			c.New++
			size, err = copyBlob(ctx, to, g.Blobs, d)
		}
		if err != nil {
			return Explain(err)
		}
		c.Blobs++
		c.Bytes += size
		if progress != nil {
			progress(c.Blobs)
		}
		return nil
	})
	return c, err
}

// holdTime is how long a backup that does not report any more still keeps gc from removing blobs.
const holdTime = 2 * time.Hour

// holdSetting holds the time until which no blob is removed, by any process: a backup may run
// beside the server.
const holdSetting = "hold_blobs"

// A hold keeps gc from removing blobs while a backup runs.
type hold struct {
	g       *Registry
	mine    []byte    // what renew wrote last
	before  []byte    // what was there first: the hold of another backup
	renewed time.Time // when
}

// renew writes the hold, unless that was done a short time ago.
func (h *hold) renew(ctx context.Context) error {
	now := h.g.now()
	if now.Sub(h.renewed) < holdTime/4 {
		return nil
	}
	text := now.Add(holdTime).AppendFormat(nil, time.RFC3339Nano)
	err := h.g.update(ctx, func(tx *meta.Tx) error {
		have, err := tx.Setting(ctx, holdSetting)
		if err != nil && !errors.Is(err, meta.ErrNotFound) {
			return err
		}
		if h.mine == nil {
			h.before = have
		}
		return tx.PutSetting(ctx, holdSetting, text)
	})
	if errors.Is(err, meta.ErrFull) {
		return nil // then gc cannot write either, and a full registry is one to back up
	}
	h.mine, h.renewed = text, now
	return err
}

// end gives way to what was there before. If that fails the hold ends by itself.
func (h *hold) end(ctx context.Context) {
	err := h.g.update(ctx, func(tx *meta.Tx) error {
		if have, err := tx.Setting(ctx, holdSetting); err != nil || !bytes.Equal(have, h.mine) {
			return err
		}
		return tx.PutSetting(ctx, holdSetting, h.before)
	})
	if err != nil && !errors.Is(err, meta.ErrNotFound) {
		h.g.logger().Warn("gc removes no blobs for a while", "error", err)
	}
}

// held reports whether a backup runs, so that no blob may be removed.
func (g *Registry) held(ctx context.Context, tx *meta.Tx) (bool, error) {
	text, err := tx.Setting(ctx, holdSetting)
	if errors.Is(err, meta.ErrNotFound) || err == nil && len(text) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	until, err := time.Parse(time.RFC3339Nano, string(text))
	return err == nil && g.now().Before(until), nil
}

// CopyBlobs copies every blob of from that to does not have; a restore uses it.
func CopyBlobs(ctx context.Context, to, from blob.Store) (c Copied, err error) {
	for info, err := range from.Blobs(ctx) {
		if err != nil {
			return c, Explain(err)
		}
		if _, err := copyBlob(ctx, to, from, info.Digest); err != nil {
			return c, Explain(err)
		}
		c.Blobs++
		c.New++
		c.Bytes += info.Size
	}
	return c, nil
}

func copyBlob(ctx context.Context, to, from blob.Store, d blob.Digest) (int64, error) {
	content, err := from.Open(ctx, d)
	if err != nil {
		return 0, err
	}
	defer content.Close()
	return content.Size(), to.Put(ctx, d, content.Size(), content)
}
