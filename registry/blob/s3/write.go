package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
)

// Put stores a blob: see [blob.Store]. All of r is in the cache, and hashed, before S3 is asked for anything.
func (s *Store) Put(ctx context.Context, d blob.Digest, size int64, r io.Reader) error {
	if d.IsZero() {
		return blob.About(d, blob.ErrDigest)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	content, err := s.cache.put(ctx, d, size, r)
	if err != nil {
		return err
	}
	defer content.Close()
	done, err := s.renew(ctx, d, content.Size())
	if done || err != nil {
		return err
	}
	sum, err := sumOf(d, content)
	if err != nil {
		return blob.About(d, err)
	}
	key, began := blobKey(d), time.Now()
	if err := s.bucket.put(ctx, key, content, content.Size(), sum); err != nil {
		return blob.About(d, err)
	}
	return s.link(ctx, d, key, content.Size(), began, nil)
}

// sumOf is the SHA-256 of content, which is d.
func sumOf(d blob.Digest, content io.ReadSeeker) (sum [sha256.Size]byte, err error) {
	if d.Algorithm() == blob.SHA256 {
		_, err = hex.Decode(sum[:], []byte(d.Hex()))
		return sum, err
	}
	return sha256Of(content)
}

// renew makes a blob that is there as young as if it were stored now, and says whether it did. That the object is there, of that
// size, S3 is asked.
func (s *Store) renew(ctx context.Context, d blob.Digest, size int64) (bool, error) {
	o, err := s.object(ctx, d)
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrCorrupt) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	have, err := s.bucket.size(ctx, o.Key)
	if errors.Is(err, blob.ErrNotFound) || err == nil && have != size {
		return false, nil
	}
	if err != nil {
		return false, blob.About(d, err)
	}
	err = s.meta.Update(ctx, func(tx *meta.Tx) error { return tx.RenewObject(ctx, d.String(), o.Key, s.now()) })
	if errors.Is(err, meta.ErrNotFound) { // removed or replaced meanwhile
		return false, nil
	}
	return err == nil, err
}

// link makes an object that was stored completely the one of d, and removes the one that was. Also is done in the same transaction.
//
// If the transaction fails the object stays, for it may have happened.
func (s *Store) link(ctx context.Context, d blob.Digest, key string, size int64, began time.Time, also func(*meta.Tx) error) error {
	var before meta.Object
	err := s.meta.Update(ctx, func(tx *meta.Tx) (err error) {
		if elapsed(began) > s.linkTime {
			return fmt.Errorf("%w: storing it took too long", blob.ErrUnavailable)
		}
		before, err = tx.Object(ctx, d.String())
		if err != nil && !errors.Is(err, meta.ErrNotFound) {
			return err
		}
		if also != nil {
			if err := also(tx); err != nil {
				return err
			}
		}
		return tx.PutObject(ctx, meta.Object{Digest: d.String(), Key: key, Size: size, Modified: s.now()})
	})
	if err != nil {
		return blob.About(d, err)
	}
	if before.Key != key {
		s.forget(ctx, before.Key)
	}
	return nil
}

// forget removes objects that have no row any more, whether or not somebody still waits for that. One that stays is left over.
func (s *Store) forget(ctx context.Context, keys ...string) {
	for _, key := range keys {
		if key != "" {
			_ = s.bucket.remove(context.WithoutCancel(ctx), key)
		}
	}
}

// elapsed is how long ago a time was, also if the machine slept or the clock was set meanwhile.
func elapsed(t time.Time) time.Duration {
	return max(time.Since(t), time.Now().Round(0).Sub(t.Round(0)))
}
