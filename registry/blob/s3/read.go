package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
)

// object returns the row of d. Its error is ErrNotFound also for a blob that is known to be lost, and ErrCorrupt for a damaged one.
func (s *Store) object(ctx context.Context, d blob.Digest) (o meta.Object, err error) {
	if d.IsZero() {
		return o, blob.About(d, blob.ErrNotFound)
	}
	if err := ctx.Err(); err != nil {
		return o, err
	}
	err = s.meta.Read(ctx, func(tx *meta.Tx) (err error) {
		o, err = tx.Object(ctx, d.String())
		return err
	})
	switch {
	case errors.Is(err, meta.ErrNotFound) || err == nil && o.State == meta.ObjectLost:
		return o, blob.About(d, blob.ErrNotFound)
	case err == nil && o.State == meta.ObjectDamaged:
		return o, blob.About(d, blob.ErrCorrupt)
	}
	return o, err
}

// Stat returns the size of d, without a question to S3.
func (s *Store) Stat(ctx context.Context, d blob.Digest) (int64, error) {
	o, err := s.object(ctx, d)
	if err != nil {
		return 0, err
	}
	return o.Size, nil
}

// URL signs an address of the object. S3 is not asked. There is none while the clock of this machine, which signs, is off by more than a tenth of the
// time that the address is good for: S3 would take it for one that ended, or let it live longer.
func (s *Store) URL(ctx context.Context, d blob.Digest, valid time.Duration) (string, error) {
	if time.Until(s.now()).Abs() > valid/10 {
		return "", nil
	}
	o, err := s.object(ctx, d)
	if err != nil {
		return "", err
	}
	u, err := s.bucket.PresignedGetObject(ctx, s.bucket.name, s.bucket.prefix+o.Key, valid, nil)
	if err != nil {
		return "", blob.About(d, explain(ctx.Err, err))
	}
	return u.String(), nil
}

// Open returns verified content: of the cache, without asking whether it is anywhere else, or from S3 by way of that.
func (s *Store) Open(ctx context.Context, d blob.Digest) (blob.Content, error) {
	for range tries {
		content, err := s.cache.open(ctx, d)
		if !errors.Is(err, blob.ErrNotFound) {
			return content, err
		}
		o, err := s.object(ctx, d)
		if err != nil {
			return nil, err
		}
		content, err = s.fetch(ctx, d, o)
		if !errors.Is(err, errMoved) {
			return content, err
		}
	}
	return nil, blob.About(d, blob.ErrUnavailable)
}

// errMoved is the error for a blob that got another key, or was removed, while it was read.
var errMoved = errors.New("the blob has another key now")

// fetch brings an object into the cache. Several who want the same one share that.
func (s *Store) fetch(ctx context.Context, d blob.Digest, o meta.Object) (blob.Content, error) {
	result := s.reading.DoChan(o.Key, func() (any, error) {
		return nil, s.download(context.WithoutCancel(ctx), d, o, func(ctx context.Context, r io.Reader) error {
			content, err := s.cache.put(ctx, d, o.Size, r)
			if err != nil {
				return err
			}
			return content.Close()
		})
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
	}
	content, err := s.cache.open(ctx, d)
	if errors.Is(err, blob.ErrNotFound) {
		err = errMoved // others needed the room
	}
	return content, err
}

// download has take read an object, and notes what is wrong with it. What take says is not d is read once more: it may have been
// changed on its way.
func (s *Store) download(ctx context.Context, d blob.Digest, o meta.Object, take func(context.Context, io.Reader) error) error {
	for try := 1; ; try++ {
		err := s.downloadOnce(ctx, o, take)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, blob.ErrNotFound):
			return s.found(ctx, d, o, meta.ObjectLost)
		case errors.Is(err, blob.ErrDigest) && try >= 2:
			return s.found(ctx, d, o, meta.ObjectDamaged)
		case errors.Is(err, blob.ErrFull) || ctx.Err() != nil || try >= tries:
			return blob.About(d, err)
		}
	}
}

func (s *Store) downloadOnce(ctx context.Context, o meta.Object, take func(context.Context, io.Reader) error) error {
	ctx, cancel := during(ctx, o.Size)
	defer cancel()
	body, _, err := s.bucket.get(ctx, o.Key)
	if err != nil {
		return err
	}
	defer body.Close()
	return take(ctx, &source{ctx.Err, body})
}

// A source is the body of an answer of S3. When it ends before its time that is not the fault of what it holds.
type source struct {
	ended func() error // Err of the context of the request
	body  io.Reader
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if err != nil && err != io.EOF {
		err = explain(s.ended, err)
	}
	return n, err
}

// found notes what is wrong with an object, unless the blob has another one by now, and returns the error for it.
func (s *Store) found(ctx context.Context, d blob.Digest, o meta.Object, state meta.ObjectState) error {
	err := s.meta.Update(ctx, func(tx *meta.Tx) error { return tx.MarkObject(ctx, d.String(), o.Key, state) })
	switch {
	case errors.Is(err, meta.ErrNotFound):
		return blob.About(d, errMoved)
	case err != nil && !errors.Is(err, meta.ErrFull):
		return blob.About(d, err)
	case state == meta.ObjectLost:
		return blob.About(d, fmt.Errorf("%w: the object %s is gone", blob.ErrNotFound, o.Key))
	}
	return blob.About(d, blob.ErrCorrupt)
}

// Check reads the object anew, past the cache. One that was damaged or lost and is right again is served again.
func (s *Store) Check(ctx context.Context, d blob.Digest) error {
	for range tries {
		o, err := s.object(ctx, d)
		if err != nil && o.State == meta.ObjectRight {
			return err
		}
		err = s.download(ctx, d, o, func(_ context.Context, r io.Reader) error {
			h := d.Hash()
			n, err := io.Copy(h, r)
			if err == nil && (n != o.Size || !d.Matches(h)) {
				err = blob.ErrDigest
			}
			return err
		})
		if errors.Is(err, errMoved) {
			continue
		}
		if err == nil && o.State != meta.ObjectRight {
			err = s.meta.Update(ctx, func(tx *meta.Tx) error { return tx.MarkObject(ctx, d.String(), o.Key, meta.ObjectRight) })
			if errors.Is(err, meta.ErrNotFound) {
				continue
			}
		}
		return err
	}
	return blob.About(d, blob.ErrUnavailable)
}

// Delete removes d: its row, unless something of the registry needs the blob, and then the object. If that fails it is left over.
func (s *Store) Delete(ctx context.Context, d blob.Digest, unless time.Time) error {
	if d.IsZero() {
		return blob.About(d, blob.ErrNotFound)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var o meta.Object
	err := s.meta.Update(ctx, func(tx *meta.Tx) (err error) {
		if o, err = tx.Object(ctx, d.String()); err != nil {
			return err
		}
		if !unless.IsZero() {
			needed, err := tx.KnownBlob(ctx, d.String())
			if err != nil {
				return err
			}
			if needed || !o.Modified.Before(unless) {
				return blob.ErrRecent
			}
		}
		return tx.DropObject(ctx, d.String())
	})
	if errors.Is(err, meta.ErrNotFound) {
		err = blob.ErrNotFound
	}
	if err != nil {
		return blob.About(d, err)
	}
	s.cache.drop(d)
	s.forget(ctx, o.Key)
	return nil
}

// Blobs yields what has a row and is not known to be lost.
func (s *Store) Blobs(ctx context.Context) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		for o, err := range s.objects(ctx) {
			if err == nil && o.State == meta.ObjectLost {
				continue
			}
			d, derr := blob.ParseDigest(o.Digest)
			if err == nil {
				err = derr
			}
			if !yield(blob.Info{Digest: d, Size: o.Size, Modified: o.Modified}, err) || err != nil {
				return
			}
		}
	}
}

// objects yields all rows, by digest.
func (s *Store) objects(ctx context.Context) iter.Seq2[meta.Object, error] {
	return walk(ctx, s, "", func(tx *meta.Tx, after string) ([]meta.Object, error) { return tx.Objects(ctx, after, s.pageSize) },
		func(o meta.Object) string { return o.Digest })
}

// walk yields the rows behind after of which page gives the next ones, in an order that name is of.
func walk[T any](ctx context.Context, s *Store, after string, page func(tx *meta.Tx, after string) ([]T, error), name func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for after := after; ; {
			var rows []T
			err := ctx.Err()
			if err == nil {
				err = s.meta.View(ctx, func(tx *meta.Tx) (err error) {
					rows, err = page(tx, after)
					return err
				})
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
				after = name(row)
			}
			if len(rows) < s.pageSize {
				return
			}
		}
	}
}
