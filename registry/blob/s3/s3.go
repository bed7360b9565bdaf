// Package s3 keeps blobs as objects of a bucket of any store that speaks S3, for many processes at once.
//
//	registry.json                                which registry the bucket, or this prefix of it, belongs to
//	b/sha256/ab/ab34….RANDOM                     a blob
//	u/AB/RANDOM                                  a blob that came as an upload, and what is staged of one
//	log/NUMBER                                   a head of the log, with the records since the one before; see [Store.KeepHead]
//
// Whether a blob is there, and under which key, says its row of the metadata, and never S3: no time and no ETag of S3 decides
// anything, and nothing is asked of S3 that not every store of that kind does. A key is used once. So a deletion that comes late, of
// a process that slept, hits nothing that is alive, and two that store the same content at once make two objects, of which
// the one without a row is left over. [Store.Uploads] lists those after a day.
//
// Content passes through a bounded cache of files, where it is hashed: when it comes and when it goes. It is never served from S3
// as it comes. What S3 gives under a key and is not the blob is damaged: a row says so, and the next Put makes another object.
package s3

import (
	"context"
	"crypto/rand"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
)

const (
	partSize  = 8 << 20        // bytes of each part of a multipart upload but the last
	leftAge   = 24 * time.Hour // from which on an object without a row is left over
	linkTime  = 6 * time.Hour  // after which an object that was stored gets no row any more, lest somebody takes it for left over
	cacheSize = 1 << 30        // bytes
	pageSize  = 1000           // rows and objects that one question asks for
)

// Options change how a store is opened.
type Options struct {
	Meta  meta.Store // where the rows are
	Dir   string     // for the cache and what is under way, of this process alone
	Cache int64      // bytes of content that are kept in Dir; 0 means 1 GiB
	// MaxBytes is the largest blob that is accepted; 0 means no limit.
	MaxBytes int64
	// Now is the clock that all processes go by; nil means time.Now.
	Now func() time.Time
}

// A Store is a blob.Store in a bucket; [Open] makes one.
type Store struct {
	meta     meta.Store
	bucket   *bucket
	name     string // of the bucket, to the metadata
	cache    *cache
	scratch  string
	now      func() time.Time
	maxBytes int64
	reading  singleflight.Group // objects that are fetched, by key

	// The limits above; tests have others.
	leftAge, linkTime time.Duration
	pageSize          int
}

var _ blob.Remote = (*Store)(nil)

// Open returns the store at an address: see [ParseAddress]. It takes a place that belongs to nobody for the registry of the
// metadata, if that has none yet, and refuses any other than that with the code other_bucket. A store that does not answer is [blob.ErrUnavailable].
func Open(ctx context.Context, at Address, o Options) (*Store, error) {
	b, err := at.connect()
	if err != nil {
		return nil, err
	}
	s := &Store{meta: o.Meta, bucket: b, scratch: filepath.Join(o.Dir, "scratch"), maxBytes: o.MaxBytes, now: o.Now, leftAge: leftAge, linkTime: linkTime, pageSize: pageSize}
	if s.now == nil {
		s.now = time.Now
	}
	if err := os.RemoveAll(s.scratch); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.scratch, 0o700); err != nil {
		return nil, err
	}
	if o.Cache <= 0 {
		o.Cache = cacheSize
	}
	if s.cache, err = openCache(ctx, filepath.Join(o.Dir, "content"), o.Cache); err != nil {
		return nil, err
	}
	s.cache.files.MaxBytes = o.MaxBytes
	if err := s.belongs(ctx); err != nil {
		return nil, at.explain(err)
	}
	return s, nil
}

// blobKey is a new key for a blob.
func blobKey(d blob.Digest) string {
	return path.Join("b", d.Algorithm(), d.Hex()[:2], d.Hex()+"."+random())
}

// uploadKey is a new key for what is not known yet.
func uploadKey() string {
	name := random()
	return path.Join("u", name[:2], name)
}

func random() string { return strings.ToLower(rand.Text()) }

// isKey reports whether a name is one that blobKey or uploadKey can have made.
func isKey(key string) bool {
	parts := strings.Split(key, "/")
	switch {
	case len(parts) == 3 && parts[0] == "u":
		return isRandom(parts[2]) && parts[1] == parts[2][:2]
	case len(parts) == 4 && parts[0] == "b":
		digits, name, _ := strings.Cut(parts[3], ".")
		d, err := blob.ParseDigest(parts[1] + ":" + digits)
		return err == nil && isRandom(name) && d.Hex()[:2] == parts[2]
	}
	return false
}

func isRandom(name string) bool {
	return len(name) >= 26 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
