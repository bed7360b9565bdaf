package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
)

// Append adds to an upload: see [blob.Store]. What r holds is in a file before anything of it is sent: whole parts to the multipart
// upload, the rest as an object of its own. The row says what counts, and only if nobody changed it meanwhile: of two processes
// that append at one place, one wins.
func (s *Store) Append(ctx context.Context, id string, offset int64, r io.Reader) (int64, error) {
	length, err := s.append(ctx, id, offset, r)
	if err != nil {
		return 0, blob.AboutUpload(id, err)
	}
	return length, nil
}

func (s *Store) append(ctx context.Context, id string, offset int64, r io.Reader) (int64, error) {
	if err := blob.CheckID(id); err != nil {
		return 0, err
	}
	u, err := s.staged(ctx, id)
	switch {
	case errors.Is(err, blob.ErrOffset) && offset == 0:
		u = meta.Staged{ID: id, Key: uploadKey()}
	case err != nil:
		return 0, err
	case u.Whole || u.Length != offset:
		return 0, s.elsewhere(u)
	}
	f, err := os.CreateTemp(s.scratch, "append-")
	if err != nil {
		return 0, err
	}
	defer discard(f)
	began := time.Now()
	rest, err := s.tail(ctx, u, f)
	if err != nil {
		return 0, err
	}
	n, err := s.spool(ctx, f, offset, r)
	if err != nil {
		return 0, err
	}
	old := u.Tail
	if err := s.send(ctx, &u, f, rest+n); err != nil {
		return 0, err
	}
	u.Length, u.Version, u.Updated = offset+n, u.Version+1, s.now()
	err = s.meta.Update(ctx, func(tx *meta.Tx) error {
		if elapsed(began) > s.linkTime {
			return fmt.Errorf("%w: storing it took too long", blob.ErrUnavailable)
		}
		return tx.PutStaged(ctx, u)
	})
	if errors.Is(err, meta.ErrExists) || errors.Is(err, meta.ErrNotFound) {
		return 0, errBusy
	}
	if err == nil && old != u.Tail {
		s.forget(ctx, old)
	}
	return u.Length, err
}

func discard(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}

var errBusy = fmt.Errorf("%w: %w", blob.ErrOffset, blob.ErrBusy)

// busyTime is how long after a change of an upload its client may not have been told of it.
const busyTime = time.Minute

// elsewhere is the error for an upload that is not at the offset of the caller, who may have come between two steps of another process.
func (s *Store) elsewhere(u meta.Staged) error {
	if s.now().Sub(u.Updated) < busyTime {
		return errBusy
	}
	return blob.ErrOffset
}

// staged returns the row of an upload. Its error is ErrOffset if there is none.
func (s *Store) staged(ctx context.Context, id string) (u meta.Staged, err error) {
	if err := ctx.Err(); err != nil {
		return u, err
	}
	err = s.meta.View(ctx, func(tx *meta.Tx) (err error) {
		u, err = tx.Staged(ctx, id)
		return err
	})
	if errors.Is(err, meta.ErrNotFound) {
		err = blob.ErrOffset
	}
	return u, err
}

// tail writes what is behind the parts of an upload to f and returns its size.
func (s *Store) tail(ctx context.Context, u meta.Staged, f *os.File) (int64, error) {
	if u.Tail == "" {
		return 0, nil
	}
	want := u.Length - int64(len(u.Parts))*partSize
	ctx, cancel := during(ctx, want)
	defer cancel()
	body, _, err := s.bucket.get(ctx, u.Tail)
	if errors.Is(err, blob.ErrNotFound) {
		return 0, s.elsewhere(u) // somebody else went on meanwhile, or it is lost
	}
	if err != nil {
		return 0, err
	}
	defer body.Close()
	n, err := io.Copy(f, &source{ctx.Err, body})
	if err == nil && n != want {
		err = blob.ErrOffset
	}
	return n, err
}

// spool appends r to f.
func (s *Store) spool(ctx context.Context, f *os.File, offset int64, r io.Reader) (int64, error) {
	if s.maxBytes > 0 {
		r = io.LimitReader(r, s.maxBytes-offset+1)
	}
	n, err := io.Copy(f, &until{ctx.Err, r})
	if err == nil && s.maxBytes > 0 && offset+n > s.maxBytes {
		err = blob.ErrTooLarge
	}
	return n, err
}

// until is a reader that fails once a context has ended.
type until struct {
	ended func() error // Err of that
	r     io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ended(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// send stores the size bytes of f, which follow the parts of u.
func (s *Store) send(ctx context.Context, u *meta.Staged, f *os.File, size int64) (err error) {
	at := int64(0)
	for ; size-at >= partSize; at += partSize {
		if u.Upload == "" {
			if u.Upload, err = s.bucket.begin(ctx, u.Key); err != nil {
				return err
			}
		}
		if len(u.Parts) >= 9_999 { // S3 takes 10,000
			return blob.ErrTooLarge
		}
		etag, err := s.bucket.part(ctx, u.Key, u.Upload, len(u.Parts)+1, io.NewSectionReader(f, at, partSize), partSize)
		if err != nil {
			return lost(err)
		}
		u.Parts = append(u.Parts, meta.Part{ETag: etag, Size: partSize})
	}
	if u.Tail = ""; at == size {
		return nil
	}
	rest := io.NewSectionReader(f, at, size-at)
	sum, err := sha256Of(rest)
	if err != nil {
		return err
	}
	u.Tail = uploadKey()
	return s.bucket.put(ctx, u.Tail, rest, rest.Size(), sum)
}

// lost gives the error for a multipart upload that is not there any more, or has other parts, the identity of ErrOffset.
func lost(err error) error {
	if errors.Is(err, errNoUpload) || errors.Is(err, blob.ErrNotFound) {
		return fmt.Errorf("%w: %w", blob.ErrOffset, err)
	}
	return err
}

// Commit makes an upload a blob: see [blob.Store]. Nothing is copied: the object of the upload is that of the blob from then on.
func (s *Store) Commit(ctx context.Context, id string, d blob.Digest, known blob.Appended) (int64, error) {
	if d.IsZero() {
		return 0, blob.About(d, blob.ErrDigest)
	}
	size, err := s.commit(ctx, id, d, known)
	if err != nil {
		return 0, blob.About(d, blob.AboutUpload(id, err))
	}
	return size, nil
}

func (s *Store) commit(ctx context.Context, id string, d blob.Digest, known blob.Appended) (int64, error) {
	if err := blob.CheckID(id); err != nil {
		return 0, err
	}
	u, err := s.staged(ctx, id)
	if err != nil {
		return 0, err
	}
	if !known.Digest.IsZero() && (known.Digest != d || known.Size != u.Length) {
		return 0, blob.ErrDigest
	}
	began := time.Now()
	if err := s.finish(ctx, &u); err != nil {
		return 0, err
	}
	if known.Digest.IsZero() {
		if err := s.compare(ctx, d, u); err != nil {
			return 0, err
		}
	}
	err = s.link(ctx, d, u.Key, u.Length, began, func(tx *meta.Tx) error { return tx.DropStaged(ctx, id, u.Version) })
	if errors.Is(err, meta.ErrNotFound) {
		return 0, errBusy
	}
	return u.Length, err
}

// finish makes the object of an upload, and notes that it is one: what has no part is the rest alone.
func (s *Store) finish(ctx context.Context, u *meta.Staged) error {
	switch {
	case u.Whole:
		return nil
	case len(u.Parts) == 0 && u.Tail != "":
		u.Key, u.Tail = u.Tail, ""
	case len(u.Parts) == 0:
		if err := s.bucket.putSmall(ctx, u.Key, nil); err != nil {
			return err
		}
	default:
		if err := s.join(ctx, u); err != nil {
			return err
		}
	}
	rest := u.Tail
	u.Tail, u.Whole, u.Version = "", true, u.Version+1
	err := s.meta.Update(ctx, func(tx *meta.Tx) error { return tx.PutStaged(ctx, *u) })
	if errors.Is(err, meta.ErrNotFound) {
		err = errBusy
	}
	if err == nil {
		s.forget(ctx, rest)
	}
	return err
}

// join completes the multipart upload of u, with the rest as its last part.
func (s *Store) join(ctx context.Context, u *meta.Staged) error {
	etags := make([]string, 0, len(u.Parts)+1)
	for _, p := range u.Parts {
		etags = append(etags, p.ETag)
	}
	if u.Tail != "" {
		f, err := os.CreateTemp(s.scratch, "tail-")
		if err != nil {
			return err
		}
		defer discard(f)
		n, err := s.tail(ctx, *u, f)
		if err != nil {
			return err
		}
		etag, err := s.bucket.part(ctx, u.Key, u.Upload, len(u.Parts)+1, io.NewSectionReader(f, 0, n), n)
		if err != nil {
			return lost(err)
		}
		etags = append(etags, etag)
	}
	return lost(s.bucket.complete(ctx, u.Key, u.Upload, etags))
}

// compare reads the object of an upload back.
func (s *Store) compare(ctx context.Context, d blob.Digest, u meta.Staged) error {
	ctx, cancel := during(ctx, u.Length)
	defer cancel()
	body, _, err := s.bucket.get(ctx, u.Key)
	if err != nil {
		return lost(err)
	}
	defer body.Close()
	h := d.Hash()
	n, err := io.Copy(h, &source{ctx.Err, body})
	if err == nil && (n != u.Length || !d.Matches(h)) {
		err = blob.ErrDigest
	}
	return err
}

// leftID begins the ids of objects without a row, which no upload can have.
const leftID = "put."

// Abort removes an upload, or an object that is left over.
func (s *Store) Abort(ctx context.Context, id string) error {
	if key, left := strings.CutPrefix(id, leftID); left {
		if !isKey(key) {
			return fmt.Errorf("upload %q: not one that was listed", id)
		}
		return s.removeLeft(ctx, key)
	}
	if err := blob.CheckID(id); err != nil {
		return fmt.Errorf("upload %q: %w", id, err)
	}
	var u meta.Staged
	err := s.meta.Update(ctx, func(tx *meta.Tx) (err error) {
		if u, err = tx.Staged(ctx, id); err == nil {
			err = tx.DropStaged(ctx, id, u.Version)
		}
		return err
	})
	if errors.Is(err, meta.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("upload %q: %w", id, err)
	}
	// Anything that fails from here on is left over.
	if u.Upload != "" && !u.Whole {
		_ = s.bucket.abort(ctx, u.Key, u.Upload)
	}
	s.forget(ctx, u.Tail, u.Key)
	return nil
}
