package fs

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/blob"
)

// putID starts the ids by which Uploads lists what is no upload; no upload's id holds a dot.
const putID = "put."

// An upload is what this process knows about one.
type upload struct {
	busy   sync.Mutex // held by the Append or Commit that works on it
	length int64      // of what was acknowledged; guarded by busy
}

// Put stores what r holds: see [blob.Store].
func (s *Store) Put(ctx context.Context, d blob.Digest, size int64, r io.Reader) error {
	if d.IsZero() {
		return blob.About(d, blob.ErrDigest)
	}
	if err := s.put(ctx, d, size, r); err != nil {
		return blob.About(d, blob.Full(err))
	}
	return nil
}

func (s *Store) put(ctx context.Context, d blob.Digest, size int64, r io.Reader) error {
	if s.MaxBytes > 0 && size > s.MaxBytes {
		return blob.ErrTooLarge
	}
	h := d.Hash()
	in := &counted{ended: ctx.Err, r: r, h: h, left: s.left(size)}
	head, rest, err := readHead(in, size)
	if err != nil {
		return err
	}
	if rest == nil {
		// All of it is in memory: nothing is written before it is known to be right.
		if err := in.check(d, size); err != nil {
			return err
		}
		if done, err := s.renew(d); done || err != nil {
			return err
		}
		return s.store(d, bytes.NewReader(head), nil)
	}
	// A blob that is there already is renewed first, so that nobody deletes it while r is read.
	there, err := s.renew(d)
	if err != nil {
		return err
	}
	if there {
		old, err := os.Open(s.path(d))
		if err == nil {
			defer old.Close()
			return s.putAgain(ctx, d, size, in, old)
		}
		if !errors.Is(err, fs.ErrNotExist) { // deleted in between: it is stored as if it had not been there
			return err
		}
	}
	return s.store(d, io.MultiReader(bytes.NewReader(head), in), func() error { return in.check(d, size) })
}

// putAgain reads what the store has already. If that is deleted meanwhile, which takes longer than a blob stays after it was
// renewed, it is stored from the old file, which can still be read.
func (s *Store) putAgain(ctx context.Context, d blob.Digest, size int64, in *counted, old *os.File) error {
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	if err := in.check(d, size); err != nil {
		return err
	}
	if there, err := s.renew(d); there || err != nil {
		return err
	}
	from := &counted{ended: ctx.Err, r: old, h: d.Hash(), left: s.left(size)}
	return s.store(d, from, func() error { return from.check(d, size) })
}

// left is how many bytes may be read of content of the claimed size: one more than
// right, so that too much is noticed.
func (s *Store) left(size int64) int64 {
	if size >= 0 {
		return size + 1
	}
	if s.MaxBytes > 0 {
		return s.MaxBytes + 1
	}
	return 1<<63 - 1
}

// readHead reads the start of the content, up to always bytes. Rest is nil when that is all of it. What is
// longer goes to the staging file while it arrives, so that many slow clients cost little memory.
func readHead(in *counted, size int64) (head []byte, rest io.Reader, err error) {
	room := int64(always) + 1
	if size >= 0 && size < always {
		room = size + 1
	}
	var b bytes.Buffer
	b.Grow(int(min(room, 16<<10)) + bytes.MinRead)
	if _, err := io.CopyN(&b, in, room); errors.Is(err, io.EOF) {
		return b.Bytes(), nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	if in.left == 0 {
		return b.Bytes(), nil, nil // longer than claimed: check says so
	}
	return b.Bytes(), in, nil
}

// copyBytes is how much is written at once.
const copyBytes = 128 << 10

var buffers = sync.Pool{New: func() any { return new([copyBytes]byte) }}

type onlyReader struct{ io.Reader }

// store writes what r holds under the name of d, after check agreed.
func (s *Store) store(d blob.Digest, r io.Reader, check func() error) error {
	name := "p-" + rand.Text()
	s.putting.Store(name, true)
	defer s.putting.Delete(name)
	f, err := os.OpenFile(s.staging(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	buffer := buffers.Get().(*[copyBytes]byte)
	_, err = io.CopyBuffer(onlyWriter{f}, onlyReader{r}, buffer[:])
	buffers.Put(buffer)
	if err == nil && check != nil {
		err = check()
	}
	if err == nil {
		err = s.sync(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = s.name(d, s.staging(name))
	}
	if err != nil {
		os.Remove(s.staging(name))
	}
	return err
}

// name gives the synced file at from the name of d. A crash before the rename leaves from; one
// after it may leave either name until the directory is synced, and nothing was acknowledged.
func (s *Store) name(d blob.Digest, from string) error {
	to := s.path(d)
	if err := s.rename(d, from, to); err != nil {
		return err
	}
	s.healed(d)
	return s.syncDir(filepath.Dir(to))
}

func (s *Store) rename(d blob.Digest, from, to string) error {
	mu := s.lock(d)
	mu.Lock()
	defer mu.Unlock()
	err := durable.Rename(from, to)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The first of its directory: each new directory is made durable in the one above.
	algorithm := filepath.Dir(filepath.Dir(to))
	for _, dir := range []string{algorithm, filepath.Dir(to)} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := s.syncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return durable.Rename(from, to)
}

// present reports whether the right content is stored as d.
func (s *Store) present(d blob.Digest) bool {
	if _, err := os.Lstat(s.path(d)); err != nil {
		return false
	}
	content, err := s.Open(context.Background(), d)
	if err != nil {
		return false
	}
	content.Close()
	return true
}

// renew makes d, if its right content is stored, as young as if it were stored now, and says whether it did.
func (s *Store) renew(d blob.Digest) (bool, error) {
	if !s.present(d) {
		return false, nil
	}
	mu := s.lock(d)
	mu.Lock()
	defer mu.Unlock()
	path := s.path(d)
	before, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	was := s.verified.has(d, identify(before))
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		return false, err
	}
	if was {
		if info, err := os.Stat(path); err == nil && info.Size() == before.Size() {
			s.verified.remember(d, identify(info)) // a later write has another time than now
		}
	}
	// Its name may be younger than the last sync of the directory: another Put may have just
	// renamed it. This Put too acknowledges only what is durable.
	if now.Sub(before.ModTime()) < time.Minute {
		return true, s.syncDir(filepath.Dir(path))
	}
	return true, nil
}

// Append adds to an upload: see [blob.Store].
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
	u, f, err := s.take(id, offset == 0)
	if err != nil {
		return 0, err
	}
	defer u.busy.Unlock()
	defer f.Close()
	if u.length < 0 { // not seen by this process: the caller's record is right, if so much is there
		info, err := f.Stat()
		if err != nil {
			return 0, err
		}
		if info.Size() < offset {
			return 0, blob.ErrOffset
		}
		u.length = offset
	}
	if u.length != offset {
		return 0, blob.ErrOffset
	}
	if err := f.Truncate(offset); err != nil { // what an Append that was interrupted left
		return 0, err
	}
	limit := int64(1<<63 - 1)
	if s.MaxBytes > 0 {
		limit = s.MaxBytes - offset + 1
	}
	n, err := io.Copy(io.NewOffsetWriter(f, offset), io.LimitReader(&counted{ended: ctx.Err, r: r, left: 1<<63 - 1}, limit))
	if err == nil && s.MaxBytes > 0 && offset+n > s.MaxBytes {
		err = blob.ErrTooLarge
	}
	if err == nil {
		err = s.sync(f)
	}
	if err == nil && offset == 0 {
		err = s.syncDir(s.staging(""))
	}
	if err != nil {
		if offset == 0 {
			s.discard(id)
		} else if cut := f.Truncate(offset); cut != nil {
			err = errors.Join(err, cut)
		}
		return 0, err
	}
	u.length = offset + n
	return u.length, nil
}

// take opens the upload and locks it for one caller. An upload that somebody else is
// working on does not wait: its offset is about to change.
func (s *Store) take(id string, create bool) (*upload, *os.File, error) {
	s.mu.Lock()
	u := s.uploads[id]
	if u == nil {
		u = &upload{length: -1}
		s.uploads[id] = u
	}
	free := u.busy.TryLock()
	s.mu.Unlock()
	if !free {
		return nil, nil, fmt.Errorf("%w: it is being written", blob.ErrOffset)
	}
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(s.staging("u-"+id), flags, 0o600)
	if err != nil {
		s.forgetUpload(id)
		u.busy.Unlock()
		if errors.Is(err, fs.ErrNotExist) {
			err = blob.ErrOffset
		}
		return nil, nil, err
	}
	return u, f, nil
}

func (s *Store) forgetUpload(id string) {
	s.mu.Lock()
	delete(s.uploads, id)
	s.mu.Unlock()
}

// discard removes the staged file of an upload.
func (s *Store) discard(id string) error {
	err := os.Remove(s.staging("u-" + id))
	s.forgetUpload(id)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// Commit turns an upload into a blob: see [blob.Store].
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
	u, f, err := s.take(id, false)
	if err != nil {
		return 0, err
	}
	defer u.busy.Unlock()
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	switch {
	case u.length >= 0:
		size = u.length
	case !known.Digest.IsZero():
		size = known.Size
	}
	if size > info.Size() {
		return 0, blob.ErrDigest // the medium lost what the caller remembers
	}
	if size < info.Size() {
		if err := f.Truncate(size); err != nil {
			return 0, err
		}
		if err := s.sync(f); err != nil {
			return 0, err
		}
	}
	// Up to some size reading back costs less than the trouble of a wrong memory.
	if known.Digest.IsZero() || size <= inner {
		if err := hashFile(ctx, f, d); errors.Is(err, blob.ErrCorrupt) {
			return 0, blob.ErrDigest
		} else if err != nil {
			return 0, err
		}
	} else if known.Digest != d || known.Size != size {
		return 0, blob.ErrDigest
	}
	f.Close() // Windows renames no open file
	now := time.Now()
	if err := os.Chtimes(s.staging("u-"+id), now, now); err != nil {
		return 0, err
	}
	if err := s.name(d, s.staging("u-"+id)); err != nil {
		return 0, err
	}
	s.forgetUpload(id)
	return size, nil
}

// Abort removes an upload, or what is left of a Put.
func (s *Store) Abort(ctx context.Context, id string) error {
	if name, isPut := strings.CutPrefix(id, putID); isPut {
		if filepath.Base(name) != name || !filepath.IsLocal(name) {
			return fmt.Errorf("upload %q: not one that was listed", id)
		}
		err := os.Remove(s.staging(name))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err := blob.CheckID(id); err != nil {
		return fmt.Errorf("upload %q: %w", id, err)
	}
	return s.discard(id)
}

// counted reads at most left bytes, counts and hashes them, and fails once the operation it reads for has ended.
type counted struct {
	ended func() error // Err of the context of the operation
	r     io.Reader
	h     hash.Hash // may be nil
	n     int64
	left  int64
}

func (c *counted) Read(p []byte) (int, error) {
	if err := c.ended(); err != nil {
		return 0, err
	}
	if c.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.left -= int64(n)
	if c.h != nil {
		c.h.Write(p[:n])
	}
	return n, err
}

// check compares what was read with what was claimed.
func (c *counted) check(d blob.Digest, size int64) error {
	switch {
	case size >= 0 && c.n != size:
		return fmt.Errorf("%w: %d bytes were announced", blob.ErrDigest, size)
	case size < 0 && c.left == 0:
		return blob.ErrTooLarge
	case !d.Matches(c.h):
		return blob.ErrDigest
	}
	return nil
}

// onlyWriter hides ReadFrom, which would make the file read from a reader it cannot speed up.
type onlyWriter struct{ io.Writer }
