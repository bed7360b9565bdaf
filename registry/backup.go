package registry

import (
	"context"
	"errors"

	"github.com/skl-project/skl/registry/blob"
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
	if err := g.Meta.Backup(ctx, database); err != nil {
		return c, explain(err)
	}
	err := g.eachBlob(ctx, func(d blob.Digest) error {
		size, err := to.Stat(ctx, d)
		if errors.Is(err, blob.ErrNotFound) {
			c.New++
			size, err = copyBlob(ctx, to, g.Blobs, d)
		}
		if err != nil {
			return explain(err)
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

// CopyBlobs copies every blob of from that to does not have; a restore uses it.
func CopyBlobs(ctx context.Context, to, from blob.Store) (c Copied, err error) {
	for info, err := range from.Blobs(ctx) {
		if err != nil {
			return c, explain(err)
		}
		if _, err := copyBlob(ctx, to, from, info.Digest); err != nil {
			return c, explain(err)
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
