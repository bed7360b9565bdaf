package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
)

// Attachments of a release, signatures and reports, are read in transactions, and a store of blobs must not be waited for in
// one: it may be elsewhere, and asks the metadata itself. So content that is not in memory ends the transaction, is read, and the
// transaction runs again.

// An unread is the error for blobs that have to be read first: their digests, and how large each may be, in bytes.
type unread map[string]int64

func (u unread) Error() string { return fmt.Sprintf("%d blobs were not read yet", len(u)) }

// maxReads is how often a transaction runs again.
const maxReads = 10

// contents are what transactions under way need of what is attached.
type contents struct {
	mu     sync.Mutex // guards what follows
	byName map[string]*heldContent
}

type heldContent struct {
	text []byte
	err  error // instead
	refs int
}

// small returns a blob of at most limit bytes. Who calls it, in a transaction or not, returns an unread as it is to [Registry.reading].
func (g *Registry) small(digest string, limit int64) ([]byte, error) {
	g.contents.mu.Lock()
	defer g.contents.mu.Unlock()
	held := g.contents.byName[digest]
	switch {
	case held == nil:
		return nil, unread{digest: limit}
	case held.err == nil && int64(len(held.text)) > limit:
		return nil, fmt.Errorf("%s has more than %d bytes", digest, limit)
	}
	return held.text, held.err
}

// reading runs fn, again whenever it needs content that is not in memory, or the log compared.
func (g *Registry) reading(ctx context.Context, fn func() error) error {
	var mine []string
	defer func() { g.contents.release(mine) }()
	for runs := 1; ; runs++ {
		err := fn()
		if errors.Is(err, errUncompared) && runs <= maxReads {
			if err := g.CompareLog(ctx); err != nil {
				return asReadOnly(err)
			}
			continue
		}
		want, ok := errors.AsType[unread](err)
		if !ok || runs > maxReads {
			return err
		}
		for digest, limit := range want {
			text, err := g.read(ctx, digest, limit)
			if ended := ctx.Err(); ended != nil {
				return Explain(ended)
			}
			if errors.Is(err, blob.ErrUnavailable) {
				return Explain(err) // nobody knows what it holds
			}
			g.contents.hold(digest, text, err)
			mine = append(mine, digest)
		}
	}
}

func (c *contents) hold(digest string, text []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = make(map[string]*heldContent)
	}
	held := c.byName[digest]
	if held == nil {
		held = &heldContent{text: text, err: err}
		c.byName[digest] = held
	}
	held.refs++
}

func (c *contents) release(digests []string) {
	if len(digests) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, digest := range digests {
		held := c.byName[digest]
		if held.refs--; held.refs == 0 {
			delete(c.byName, digest)
		}
	}
}

// read reads a blob of at most limit bytes.
func (g *Registry) read(ctx context.Context, digest string, limit int64) ([]byte, error) {
	d, err := blob.ParseDigest(digest)
	if err != nil {
		return nil, err
	}
	content, err := g.Blobs.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	if content.Size() > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", digest, limit)
	}
	return io.ReadAll(content)
}

// statIn is Stat of the store of blobs, in a transaction: it asks none that is elsewhere, whose rows say as much.
func (g *Registry) statIn(ctx context.Context, tx *meta.Tx, d blob.Digest) (size int64, err error) {
	if _, remote := g.Blobs.(blob.Remote); !remote {
		return g.Blobs.Stat(ctx, d)
	}
	o, err := tx.Object(ctx, d.String())
	switch {
	case errors.Is(err, meta.ErrNotFound) || err == nil && o.State == meta.ObjectLost:
		err = blob.ErrNotFound
	case err == nil && o.State == meta.ObjectDamaged:
		err = blob.ErrCorrupt
	}
	return o.Size, err
}

// storedIn is stored in a transaction.
func (g *Registry) storedIn(ctx context.Context, tx *meta.Tx, d blob.Digest, size int64) (bool, error) {
	if _, remote := g.Blobs.(blob.Remote); !remote {
		return g.stored(ctx, d, size), nil
	}
	have, err := g.statIn(ctx, tx, d)
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrCorrupt) {
		return false, nil
	}
	return err == nil && (size < 0 || have == size), err
}
