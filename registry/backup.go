package registry

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// A Copied counts what a backup holds.
type Copied struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
	New   int   `json:"new"` // blobs that an earlier backup in the same place did not have, or had damaged

	Problems []Problem `json:"problems"` // corrupt_blob and lost_blob: what could not be copied
}

// skip notes that d could not be copied because its content is damaged or lost, and reports whether that is what err means.
func (c *Copied) skip(d blob.Digest, err error) bool {
	switch {
	case errors.Is(err, blob.ErrCorrupt):
		c.Problems = append(c.Problems, Problem{"corrupt_blob", d.String(), "the content is damaged and was not copied"})
	case errors.Is(err, blob.ErrNotFound):
		c.Problems = append(c.Problems, Problem{"lost_blob", d.String(), "the content is lost and was not copied"})
	default:
		return false
	}
	return true
}

// Backup writes a consistent copy while the registry serves: the database to the file database, which must
// not exist, and then every blob to the store to. What is published meanwhile is in the copy
// as a whole or not at all: the database is copied first, a blob that it names is never removed before
// Backup is done, and a blob it does not name is only garbage. Blobs that to has already are read, and copied again if they
// are damaged there. A blob that is damaged or lost here, and that to does not have, is a problem of the result that names
// the releases that need it; the others are copied.
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
	blobs := &copying{g: g, hold: h, to: to, copied: &c, progress: progress}
	err := blobs.all(ctx)
	if err == nil {
		err = g.nameNeeds(ctx, c.Problems)
	}
	return c, err
}

// holdTime is how long a backup that does not report any more still keeps gc from removing blobs.
const holdTime = 2 * time.Hour

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
		have, err := tx.Setting(ctx, meta.SettingHold)
		if err != nil && !errors.Is(err, meta.ErrNotFound) {
			return err
		}
		if h.mine == nil {
			h.before = have
		}
		return tx.PutSetting(ctx, meta.SettingHold, text)
	})
	if errors.Is(err, meta.ErrFull) || errors.Is(err, diag.Code(meta.CodeFrozen)) {
		return nil // then gc cannot write either, and a full registry is one to back up
	}
	h.mine, h.renewed = text, now
	return err
}

// end gives way to what was there before. If that fails the hold ends by itself.
func (h *hold) end(ctx context.Context) {
	err := h.g.update(ctx, func(tx *meta.Tx) error {
		if have, err := tx.Setting(ctx, meta.SettingHold); err != nil || !bytes.Equal(have, h.mine) {
			return err
		}
		return tx.PutSetting(ctx, meta.SettingHold, h.before)
	})
	if err != nil && !errors.Is(err, meta.ErrNotFound) {
		h.g.logger().Warn("gc removes no blobs for a while", "error", err)
	}
}

// held reports whether a backup runs, so that no blob may be removed.
func (g *Registry) held(ctx context.Context, tx *meta.Tx) (bool, error) {
	text, err := tx.Setting(ctx, meta.SettingHold)
	if errors.Is(err, meta.ErrNotFound) || err == nil && len(text) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	until, err := time.Parse(time.RFC3339Nano, string(text))
	return err == nil && g.now().Before(until), nil
}

// CopyBlobs copies every blob of from; a restore uses it. Those that are damaged there are problems of the result.
func CopyBlobs(ctx context.Context, to, from blob.Store) (c Copied, err error) {
	for info, err := range from.Blobs(ctx) {
		if err != nil {
			return c, Explain(err)
		}
		content, err := from.Open(ctx, info.Digest)
		if c.skip(info.Digest, err) {
			continue
		}
		if err == nil {
			err = copyBlob(ctx, to, info.Digest, content)
		}
		if err != nil {
			return c, Explain(err)
		}
		c.Blobs++
		c.New++
		c.Bytes += info.Size
	}
	return c, nil
}

// copyBlob stores content, and closes it.
func copyBlob(ctx context.Context, to blob.Store, d blob.Digest, content blob.Content) error {
	defer content.Close()
	return to.Put(ctx, d, content.Size(), content)
}
