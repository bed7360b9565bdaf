package s3

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
)

// Uploads yields the uploads, and the objects and multipart uploads older than a day that have no row: of Puts that were
// interrupted, and of removals that failed.
func (s *Store) Uploads(ctx context.Context) iter.Seq2[blob.Upload, error] {
	return func(yield func(blob.Upload, error) bool) {
		for u, err := range s.uploads(ctx) {
			if !yield(blob.Upload{ID: u.ID, Size: u.Length, Modified: u.Updated}, err) || err != nil {
				return
			}
		}
		for l, err := range s.left(ctx, s.now().Add(-s.leftAge)) {
			if !yield(blob.Upload{ID: leftID + l.key, Size: l.size, Modified: l.modified}, err) || err != nil {
				return
			}
		}
	}
}

func (s *Store) uploads(ctx context.Context) iter.Seq2[meta.Staged, error] {
	return walk(ctx, s, "", func(tx *meta.Tx, after string) ([]meta.Staged, error) { return tx.AllStaged(ctx, after, s.pageSize) },
		func(u meta.Staged) string { return u.ID })
}

// left yields what is in the bucket from before that time and has no row.
func (s *Store) left(ctx context.Context, before time.Time) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		old := func(all iter.Seq2[listed, error]) bool {
			for l, err := range all {
				if err == nil && (!isKey(l.key) || !l.modified.Before(before)) {
					continue
				}
				needed := false
				if err == nil {
					needed, err = s.needed(ctx, l.key)
				}
				if !needed && !yield(l, err) || err != nil {
					return false
				}
			}
			return true
		}
		for _, prefix := range []string{"b/", "u/"} {
			if !old(s.unknown(ctx, prefix)) {
				return
			}
		}
		old(s.bucket.unfinished(ctx, "u/"))
	}
}

// unknown yields the objects below a prefix that have no row of a blob. Pages of both are compared.
func (s *Store) unknown(ctx context.Context, prefix string) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		after := prefix
		for objects, err := range s.pages(s.bucket.list(ctx, prefix, 0)) {
			if err != nil {
				yield(listed{}, err)
				return
			}
			last := objects[len(objects)-1].key
			known := make(map[string]bool, len(objects))
			for o, err := range s.rows(ctx, after, last) {
				if err != nil {
					yield(listed{}, err)
					return
				}
				known[o.Key] = true
			}
			after = last
			for _, l := range objects {
				if !known[l.key] && !yield(l, nil) {
					return
				}
			}
		}
	}
}

// pages yields what all yields, many at once.
func (s *Store) pages(all iter.Seq2[listed, error]) iter.Seq2[[]listed, error] {
	return func(yield func([]listed, error) bool) {
		var many []listed
		for l, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			if many = append(many, l); len(many) == s.pageSize {
				if !yield(many, nil) {
					return
				}
				many = nil
			}
		}
		if len(many) > 0 {
			yield(many, nil)
		}
	}
}

// rows yields those with keys behind after, up to last.
func (s *Store) rows(ctx context.Context, after, last string) iter.Seq2[meta.Object, error] {
	return walk(ctx, s, after, func(tx *meta.Tx, after string) ([]meta.Object, error) {
		return tx.ObjectsOf(ctx, after, last, s.pageSize)
	},
		func(o meta.Object) string { return o.Key })
}

// needed reports whether a row names a key.
func (s *Store) needed(ctx context.Context, key string) (needed bool, err error) {
	err = s.meta.View(ctx, func(tx *meta.Tx) (err error) {
		needed, err = tx.HasObject(ctx, key)
		return err
	})
	return needed, err
}

// removeLeft removes what has no row under a key. None can come: each is written in linkTime after its object.
func (s *Store) removeLeft(ctx context.Context, key string) error {
	needed, err := s.needed(ctx, key)
	if err != nil {
		return err
	}
	if needed {
		return fmt.Errorf("the object %s is needed", key)
	}
	for u, err := range s.bucket.unfinished(ctx, key) {
		if err == nil && u.key == key {
			err = s.bucket.abort(ctx, key, u.upload)
		}
		if err != nil {
			return err
		}
	}
	return s.bucket.remove(ctx, key)
}

// Survey compares the rows with what is in the bucket, and notes which blobs are lost.
func (s *Store) Survey(ctx context.Context) error {
	after := ""
	check := func(objects []listed, last string) error {
		sizes := make(map[string]int64, len(objects))
		for _, l := range objects {
			sizes[l.key] = l.size
		}
		for o, err := range s.rows(ctx, after, last) {
			if err != nil {
				return err
			}
			if size, there := sizes[o.Key]; there && size == o.Size {
				continue
			}
			if err := s.look(ctx, o); err != nil {
				return err
			}
		}
		after = last
		return nil
	}
	for _, prefix := range []string{"b/", "u/"} {
		for objects, err := range s.pages(s.bucket.list(ctx, prefix, 0)) {
			if err == nil {
				err = check(objects, objects[len(objects)-1].key)
			}
			if err != nil {
				return err
			}
		}
	}
	return check(nil, "~")
}

// look asks for an object that a list did not have, or with another size: it may have been stored or removed meanwhile.
func (s *Store) look(ctx context.Context, o meta.Object) error {
	size, err := s.bucket.size(ctx, o.Key)
	state := meta.ObjectDamaged
	switch {
	case errors.Is(err, blob.ErrNotFound):
		state = meta.ObjectLost
	case err != nil:
		return err
	case size == o.Size:
		return nil
	}
	d, err := blob.ParseDigest(o.Digest)
	if err != nil {
		return err
	}
	err = s.found(ctx, d, o, state)
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrCorrupt) || errors.Is(err, errMoved) {
		return nil
	}
	return err
}
