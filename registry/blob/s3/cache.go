package s3

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/skl-project/skl/registry/blob"
	blobfs "github.com/skl-project/skl/registry/blob/fs"
)

// A cache keeps content in files up to some size of them all, or one that is larger; what was not read for the longest time goes. What it gives is
// verified, as it is of a [blobfs.Store].
type cache struct {
	files *blobfs.Store
	limit int64 // bytes

	mu     sync.Mutex // guards what follows
	total  int64      // bytes, of blocks
	recent *recent
	needed map[blob.Digest]int // how many put it now: it stays
}

// block is what file systems give a file at least, in bytes.
const block = 4 << 10

// openCache takes over what is in dir.
func openCache(ctx context.Context, dir string, limit int64) (*cache, error) {
	files, err := blobfs.Open(dir)
	if err != nil {
		return nil, err
	}
	files.Scratch = true
	c := &cache{files: files, limit: limit, recent: newRecent(), needed: map[blob.Digest]int{}}
	for u, err := range files.Uploads(ctx) {
		if err == nil {
			err = files.Abort(ctx, u.ID)
		}
		if err != nil {
			return nil, err
		}
	}
	for info, err := range files.Blobs(ctx) {
		if err != nil {
			return nil, err
		}
		c.used(info.Digest, info.Size)
	}
	return c, nil
}

// open returns content, or blob.ErrNotFound.
func (c *cache) open(ctx context.Context, d blob.Digest) (blob.Content, error) {
	content, err := c.files.Open(ctx, d)
	switch {
	case err == nil:
		c.used(d, content.Size())
	case errors.Is(err, blob.ErrCorrupt):
		c.drop(d)
		err = blob.About(d, blob.ErrNotFound)
	}
	return content, err
}

// put reads content that has to be d, and returns it. Errors are those of [blob.Store.Put].
func (c *cache) put(ctx context.Context, d blob.Digest, size int64, r io.Reader) (blob.Content, error) {
	c.need(d, 1)
	defer c.need(d, -1)
	if err := c.files.Put(ctx, d, size, r); err != nil {
		return nil, err
	}
	content, err := c.files.Open(ctx, d)
	if err == nil {
		c.used(d, content.Size())
	}
	return content, err
}

func (c *cache) need(d blob.Digest, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.needed[d] += n; c.needed[d] == 0 {
		delete(c.needed, d)
	}
}

// used notes that content is there and was used now, and makes room. A file that cannot be removed yet, because somebody reads it
// on a system where that matters, stays for the next time.
func (c *cache) used(d blob.Digest, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.recent.find(d); i != 0 {
		c.recent.use(i)
		return
	}
	size = (size + block - 1) / block * block
	c.recent.add(d, size)
	c.total += size
	for i := c.recent.newer(0); i != c.recent.newest() && c.total > c.limit; {
		next, d := c.recent.newer(i), c.recent.digest(i)
		if c.needed[d] == 0 {
			c.remove(i, d)
		}
		i = next
	}
}

// drop removes content that nobody puts now.
func (c *cache) drop(d blob.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.needed[d] > 0 {
		return
	}
	c.remove(c.recent.find(d), d)
}

// remove removes the file of d, and its slot if it has one.
func (c *cache) remove(i uint32, d blob.Digest) {
	err := c.files.Delete(context.Background(), d, time.Time{})
	if i != 0 && (err == nil || errors.Is(err, blob.ErrNotFound)) {
		c.total -= c.recent.remove(i)
	}
}
