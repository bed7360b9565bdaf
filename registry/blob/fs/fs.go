// Package fs keeps blobs as files of one directory.
//
//	blobs/sha256/ab/ab34…   a blob, named by its digest
//	damaged/sha256-ab34…  a note that this file is damaged
//	staging/u-ID            an upload: what Append wrote
//	staging/p-RANDOM        a Put under way, or what a crash left of one
//
// Content is written to staging, synced, renamed to its name, and the directory of the name
// is synced; then it is acknowledged. At any moment of a crash, blobs/ holds whole
// blobs only, and staging/ at worst files that nobody needs.
//
// Verification. Content up to 64 KiB is hashed each time it is opened. Larger content is hashed
// before it is first opened; that it was right is remembered for two minutes, for as long
// as the file's inode, size, modification and change time stay the same. So a
// change by any program is seen at once, and one by the medium, which changes no time, after two minutes.
// Damaged files stay where they are, for whoever wants to look; they are never served, Stat says that they are damaged once
// that is known, and a Put of the same digest replaces them.
//
// One process at a time uses a directory for writing; others may read and Check it.
package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/blob"
)

const (
	always = 64 << 10        // bytes up to which content is hashed at every Open
	inner  = 1 << 20         // bytes up to which content is handled in memory
	trust  = 2 * time.Minute // for how long larger content counts as verified
	known  = 1 << 14         // files whose verification is remembered
)

// A Store is a blob.Store in a directory; [Open] makes one.
type Store struct {
	// MaxBytes is the largest blob that is accepted; 0 means no limit. Set it before first use.
	MaxBytes int64
	// Scratch says that nothing has to survive: nothing is synced. Set it before first use.
	Scratch bool

	dir      string
	syncs    syncer
	verified verified
	reading  singleflight.Group // first passes over large blobs, by digest

	locks [64]sync.Mutex // by digest: held while a file gets or loses its name, or gets younger

	mu      sync.Mutex         // guards uploads
	uploads map[string]*upload // those that this process has seen
	putting sync.Map           // names in staging of Puts that run
}

var _ blob.Store = (*Store)(nil)

// Open returns the store in dir, which is created if need be.
func Open(dir string) (*Store, error) {
	for _, sub := range []string{"blobs", "staging"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("opening the blob store: %w", err)
		}
	}
	if err := durable.SyncDir(dir); err != nil {
		return nil, fmt.Errorf("opening the blob store: %w", err)
	}
	return &Store{dir: dir, uploads: make(map[string]*upload)}, nil
}

// path is where d is; a Digest holds hexadecimal digits only.
func (s *Store) path(d blob.Digest) string {
	return filepath.Join(s.dir, "blobs", d.Algorithm(), d.Hex()[:2], d.Hex())
}

//go:noinline
func (s *Store) staging(name string) string { return filepath.Join(s.dir, "staging", name) }

func (s *Store) lock(d blob.Digest) *sync.Mutex {
	digits := d.Hex()
	return &s.locks[(int(digits[0])*31+int(digits[1]))%len(s.locks)]
}

// Open returns verified content: see the package comment.
func (s *Store) Open(ctx context.Context, d blob.Digest) (blob.Content, error) {
	if d.IsZero() {
		return nil, blob.About(d, blob.ErrNotFound)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(s.path(d))
	if err != nil {
		return nil, blob.About(d, missing(err))
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = blob.ErrCorrupt
	}
	if err != nil {
		f.Close()
		return nil, blob.About(d, err)
	}
	size, id := info.Size(), identify(info)
	if size > always && s.verified.has(d, id) {
		return &file{f, size}, nil
	}
	if size <= inner {
		defer f.Close()
		content, err := readAll(f, size)
		if err != nil {
			return nil, blob.About(d, err)
		}
		if !d.Names(content) {
			s.found(d, info, blob.ErrCorrupt)
			return nil, blob.About(d, blob.ErrCorrupt)
		}
		if size > always {
			s.verified.add(d, id)
		}
		return newMemory(content), nil
	}
	// Several readers of a large blob share one pass over the file that they opened: the
	// key holds its identity, so a file that was replaced meanwhile is another pass.
	_, err, _ = s.reading.Do(d.String()+id.String(), func() (any, error) {
		return nil, hashFile(context.WithoutCancel(ctx), f, d)
	})
	if err != nil {
		s.found(d, info, err)
		f.Close()
		return nil, blob.About(d, err)
	}
	s.verified.add(d, id)
	return &file{f, size}, nil
}

// Stat returns the size of d. Its error is ErrCorrupt for content that Open or Check, of any process, found to be damaged.
func (s *Store) Stat(ctx context.Context, d blob.Digest) (int64, error) {
	if d.IsZero() {
		return 0, blob.About(d, blob.ErrNotFound)
	}
	info, err := os.Stat(s.path(d))
	if err != nil {
		return 0, blob.About(d, missing(err))
	}
	if s.damaged(d, info) {
		return 0, blob.About(d, blob.ErrCorrupt)
	}
	return info.Size(), ctx.Err()
}

// Delete removes d, unless it was stored at or after unless. The removal itself is not synced:
// a blob that comes back after a crash is found unused again.
func (s *Store) Delete(ctx context.Context, d blob.Digest, unless time.Time) error {
	if d.IsZero() {
		return blob.About(d, blob.ErrNotFound)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	mu := s.lock(d)
	mu.Lock()
	defer mu.Unlock()
	if !unless.IsZero() {
		info, err := os.Stat(s.path(d))
		if err != nil {
			return blob.About(d, missing(err))
		}
		if !info.ModTime().Before(unless) {
			return blob.About(d, blob.ErrRecent)
		}
	}
	if err := os.Remove(s.path(d)); err != nil {
		return blob.About(d, missing(err))
	}
	s.verified.drop(d)
	s.healed(d)
	return nil
}

// Check hashes d anew. On Linux it asks the kernel first to forget what it holds of the
// file in memory, so that the medium is read.
func (s *Store) Check(ctx context.Context, d blob.Digest) error {
	if d.IsZero() {
		return blob.About(d, blob.ErrNotFound)
	}
	f, err := os.Open(s.path(d))
	if err != nil {
		return blob.About(d, missing(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return blob.About(d, err)
	}
	s.verified.drop(d)
	forget(f)
	err = hashFile(ctx, f, d)
	s.found(d, info, err)
	if err != nil {
		return blob.About(d, err)
	}
	return nil
}

// Blobs yields all blobs. Files that are not named like a blob are passed over.
func (s *Store) Blobs(ctx context.Context) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		for _, algorithm := range []string{blob.SHA256, blob.SHA512} {
			dirs, err := readDir(filepath.Join(s.dir, "blobs", algorithm))
			if err != nil {
				yield(blob.Info{}, err)
				return
			}
			for _, dir := range dirs {
				if !s.below(ctx, algorithm, dir.Name(), yield) {
					return
				}
			}
		}
	}
}

// below yields the blobs of one directory and says whether to go on.
func (s *Store) below(ctx context.Context, algorithm, dir string, yield func(blob.Info, error) bool) bool {
	files, err := readDir(filepath.Join(s.dir, "blobs", algorithm, dir))
	if err != nil {
		yield(blob.Info{}, err)
		return false
	}
	for _, entry := range files {
		if err := ctx.Err(); err != nil {
			yield(blob.Info{}, err)
			return false
		}
		d, err := blob.ParseDigest(algorithm + ":" + entry.Name())
		if err != nil || d.Hex()[:2] != dir || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			yield(blob.Info{}, err)
			return false
		}
		if !yield(blob.Info{Digest: d, Size: info.Size(), Modified: info.ModTime()}, nil) {
			return false
		}
	}
	return true
}

// Uploads yields what is staged. An interrupted Put has an id that no upload can have.
func (s *Store) Uploads(ctx context.Context) iter.Seq2[blob.Upload, error] {
	return func(yield func(blob.Upload, error) bool) {
		files, err := readDir(s.staging(""))
		if err != nil {
			yield(blob.Upload{}, err)
			return
		}
		for _, entry := range files {
			info, err := entry.Info()
			if err == nil {
				err = ctx.Err()
			}
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				yield(blob.Upload{}, err)
				return
			}
			id, isUpload := strings.CutPrefix(entry.Name(), "u-")
			if _, running := s.putting.Load(entry.Name()); running {
				continue // not interrupted, however slow
			}
			if !isUpload {
				id = putID + entry.Name()
			}
			if !yield(blob.Upload{ID: id, Size: info.Size(), Modified: info.ModTime()}, nil) {
				return
			}
		}
	}
}

// readDir is the sorted content of dir, empty if there is no such directory.
func readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// hashFile reads f from its start and compares it with d; f is left at its start.
func hashFile(ctx context.Context, f *os.File, d blob.Digest) error {
	h := d.Hash()
	if _, err := io.Copy(h, io.NewSectionReader(reader{ctx.Err, f}, 0, 1<<62)); err != nil {
		return err
	}
	if !d.Matches(h) {
		return blob.ErrCorrupt
	}
	return nil
}

// reader is a ReaderAt that fails once the operation it reads for has ended.
type reader struct {
	ended func() error // Err of the context of the operation
	f     *os.File
}

func (r reader) ReadAt(p []byte, offset int64) (int, error) {
	if err := r.ended(); err != nil {
		return 0, err
	}
	return r.f.ReadAt(p, offset)
}

// readAll reads size bytes, which is what f holds unless somebody is writing to it.
func readAll(f *os.File, size int64) ([]byte, error) {
	content := make([]byte, size)
	n, err := io.ReadFull(f, content)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return content[:n], err
}

// missing makes the error of a file that is not there the one of the interface.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return blob.ErrNotFound
	}
	return err
}
