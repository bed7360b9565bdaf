package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/skl-project/skl/registry/blob"
)

// MaxHead is how many bytes what is kept of the log under one size may have.
const MaxHead = 64 << 20

const headPrefix = "log/"

// headKey is the key of what is kept under a size of the log: the largest is the first of a list.
func headKey(size int64) string { return headPrefix + fmt.Sprintf("%019d", math.MaxInt64-size) }

// KeepHead keeps text under a size of the log, unless there is something: then it returns that. It is If-None-Match by which of two one is
// first; where a store does not heed that, both believe that they were, and who looks at LastHead later finds the last.
func (s *Store) KeepHead(ctx context.Context, size int64, text []byte) (before []byte, err error) {
	if len(text) > MaxHead {
		return nil, blob.ErrTooLarge
	}
	for try := 1; ; try++ {
		err := s.bucket.create(ctx, headKey(size), text)
		if !errors.Is(err, errExists) {
			return nil, err
		}
		before, err := s.Head(ctx, size)
		switch {
		case !errors.Is(err, blob.ErrNotFound):
			return before, err
		case try == tries: // somebody is about to store it
			return nil, fmt.Errorf("%w: %s is there and cannot be read", blob.ErrUnavailable, headKey(size))
		}
		if err := sleep(ctx, time.Duration(try)*beingStored); err != nil {
			return nil, err
		}
	}
}

// beingStored is how long an object that somebody else stores may be there and not be readable.
const beingStored = 50 * time.Millisecond

// Head is what is kept under a size.
func (s *Store) Head(ctx context.Context, size int64) ([]byte, error) {
	return s.bucket.small(ctx, headKey(size), MaxHead)
}

// LastHead is the largest size under which something is kept, 0 if nothing is.
func (s *Store) LastHead(ctx context.Context) (int64, error) {
	ctx, cancel := during(ctx, 0)
	defer cancel()
	for l, err := range s.bucket.list(ctx, headPrefix, 1) {
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(strings.TrimPrefix(l.key, headPrefix), 10, 64)
		if err == nil && l.key == headKey(math.MaxInt64-n) {
			return math.MaxInt64 - n, nil
		}
	}
	return 0, nil
}

// errExists is the error for an object that is there already.
var errExists = errors.New("the object is there already")

// create stores an object unless there is one.
func (b *bucket) create(ctx context.Context, key string, content []byte) error {
	ctx, cancel := during(ctx, int64(len(content)))
	defer cancel()
	o := minio.PutObjectOptions{ContentType: "application/json"}
	o.SetMatchETagExcept("*")
	err := b.send(ctx, key, bytes.NewReader(content), int64(len(content)), sha256.Sum256(content), o)
	if e, ok := errors.AsType[minio.ErrorResponse](err); ok {
		switch e.Code {
		case "PreconditionFailed", "ConditionalRequestConflict": // the second is for two at once
			return errExists
		case "NotImplemented":
			return b.putSmall(ctx, key, content)
		}
	}
	return explain(ctx.Err, err)
}
