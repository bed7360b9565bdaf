package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/skl-project/skl/registry/blob"
)

const (
	answerTime = 15 * time.Second // for an answer without content
	tries      = 3                // of a request
	slowest    = 128 << 10        // bytes a second: content that comes more slowly is given up
)

// A bucket is a prefix of one. Keys are without the prefix. Errors are those of package blob where they are that, else
// [blob.ErrUnavailable].
type bucket struct {
	*minio.Core
	name, prefix string
}

// String is for people.
func (b *bucket) String() string { return "s3://" + b.name + "/" + b.prefix }

// during is ctx for as long as a request with so many bytes may take.
func during(ctx context.Context, size int64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, tries*answerTime+time.Duration(size/slowest)*time.Second)
}

// get returns the object's content, which the caller closes.
func (b *bucket) get(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	body, info, _, err := b.GetObject(ctx, b.name, b.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, 0, explain(ctx.Err, err)
	}
	return body, info.Size, nil
}

// small reads an object of at most limit bytes.
func (b *bucket) small(ctx context.Context, key string, limit int64) ([]byte, error) {
	ctx, cancel := during(ctx, limit)
	defer cancel()
	body, _, err := b.get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = blob.ErrTooLarge
	}
	return text, explain(ctx.Err, err)
}

// size returns the object's size in bytes.
func (b *bucket) size(ctx context.Context, key string) (int64, error) {
	ctx, cancel := during(ctx, 0)
	defer cancel()
	info, err := b.StatObject(ctx, b.name, b.prefix+key, minio.StatObjectOptions{})
	return info.Size, explain(ctx.Err, err)
}

// put stores content of that size. The server compares it with its SHA-256. A conflict is tried again: nobody else writes this key, and versitygw
// has one when the last object below the same prefix goes meanwhile.
func (b *bucket) put(ctx context.Context, key string, content io.ReadSeeker, size int64, sum [sha256.Size]byte) error {
	ctx, cancel := during(ctx, size)
	defer cancel()
	for try := 1; ; try++ {
		err := b.send(ctx, key, content, size, sum, minio.PutObjectOptions{ContentType: "application/octet-stream"})
		if try == tries || minio.ToErrorResponse(err).StatusCode != http.StatusConflict {
			return explain(ctx.Err, err)
		}
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

// send is put with more options, and errors as they come. Without TLS minio-go would sign each chunk by itself, and send what is empty as
// chunks of no announced length, of which versitygw takes a part for the next request on the connection.
func (b *bucket) send(ctx context.Context, key string, content io.ReadSeeker, size int64, sum [sha256.Size]byte, o minio.PutObjectOptions) error {
	o.UserMetadata = map[string]string{"X-Amz-Checksum-Sha256": base64.StdEncoding.EncodeToString(sum[:])}
	o.DisableContentSha256 = true // no signature per chunk: the one of the request is over sum
	_, err := b.PutObject(ctx, b.name, b.prefix+key, content, size, "", hex.EncodeToString(sum[:]), o)
	return err
}

// sha256Of reads content to its end, and leaves it at its start.
func sha256Of(content io.ReadSeeker) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if _, err = io.Copy(h, content); err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	h.Sum(sum[:0])
	return sum, err
}

func (b *bucket) putSmall(ctx context.Context, key string, content []byte) error {
	return b.put(ctx, key, bytes.NewReader(content), int64(len(content)), sha256.Sum256(content))
}

// remove removes an object. It is no error if there is none.
func (b *bucket) remove(ctx context.Context, key string) error {
	ctx, cancel := during(ctx, 0)
	defer cancel()
	err := explain(ctx.Err, b.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{}))
	if errors.Is(err, blob.ErrNotFound) {
		err = nil
	}
	return err
}

// begin begins a multipart upload to a key, and returns its name.
func (b *bucket) begin(ctx context.Context, key string) (string, error) {
	ctx, cancel := during(ctx, 0)
	defer cancel()
	id, err := b.NewMultipartUpload(ctx, b.name, b.prefix+key, minio.PutObjectOptions{ContentType: "application/octet-stream"})
	return id, explain(ctx.Err, err)
}

// part stores a part of a multipart upload, numbered from 1, and returns its ETag.
func (b *bucket) part(ctx context.Context, key, upload string, number int, content io.ReadSeeker, size int64) (string, error) {
	ctx, cancel := during(ctx, size)
	defer cancel()
	sum, err := sha256Of(content)
	if err != nil {
		return "", err
	}
	p, err := b.PutObjectPart(ctx, b.name, b.prefix+key, upload, number, content, size, minio.PutObjectPartOptions{
		Sha256Hex: hex.EncodeToString(sum[:]), DisableContentSha256: true, // as in send
	})
	return p.ETag, explain(ctx.Err, err)
}

// complete makes the parts, by their ETags, the object.
func (b *bucket) complete(ctx context.Context, key, upload string, etags []string) error {
	parts := make([]minio.CompletePart, len(etags))
	for i, etag := range etags {
		parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: etag}
	}
	ctx, cancel := during(ctx, int64(len(etags))*partSize) // it answers when they are put together
	defer cancel()
	_, err := b.CompleteMultipartUpload(ctx, b.name, b.prefix+key, upload, parts, minio.PutObjectOptions{})
	return explain(ctx.Err, err)
}

// abort ends a multipart upload. It is no error if there is none.
func (b *bucket) abort(ctx context.Context, key, upload string) error {
	ctx, cancel := during(ctx, 0)
	defer cancel()
	err := explain(ctx.Err, b.AbortMultipartUpload(ctx, b.name, b.prefix+key, upload))
	if errors.Is(err, errNoUpload) || errors.Is(err, blob.ErrNotFound) {
		err = nil
	}
	return err
}

// A listed is an object or an unfinished multipart upload.
type listed struct {
	key      string
	upload   string // of a multipart upload
	size     int64
	modified time.Time // as S3 says
}

// list yields the objects below a prefix, by key. It asks for so many at once, 0 for as many as S3 gives.
func (b *bucket) list(ctx context.Context, prefix string, page int) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for o := range b.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true, MaxKeys: page}) {
			if o.Err != nil {
				yield(listed{}, explain(ctx.Err, o.Err))
				return
			}
			if !yield(listed{key: o.Key[len(b.prefix):], size: o.Size, modified: o.LastModified}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(listed{}, err)
		}
	}
}

// unfinished yields the multipart uploads below a prefix.
func (b *bucket) unfinished(ctx context.Context, prefix string) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for u := range b.ListIncompleteUploads(ctx, b.name, b.prefix+prefix, true) {
			if u.Err != nil {
				yield(listed{}, explain(ctx.Err, u.Err))
				return
			}
			if !yield(listed{key: u.Key[len(b.prefix):], upload: u.UploadID, size: u.Size, modified: u.Initiated}, nil) {
				return
			}
		}
	}
}

// errNoUpload is the error for a multipart upload that is not there, or has other parts.
var errNoUpload = errors.New("no such multipart upload")

// explain gives an error of S3 the identity of one of package blob. Ended is Err of the context of the request.
func explain(ended func() error, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[minio.ErrorResponse](err)
	switch {
	case errors.Is(err, context.Canceled) && ended() != nil:
		return err
	case !ok:
		return fmt.Errorf("%w: %w", blob.ErrUnavailable, err)
	case e.Code == "NoSuchKey" || e.Code == "NoSuchVersion":
		return fmt.Errorf("%w: %w", blob.ErrNotFound, err)
	case e.Code == "NoSuchUpload" || e.Code == "InvalidPart" || e.Code == "InvalidPartOrder":
		return fmt.Errorf("%w: %w", errNoUpload, err)
	case e.Code == "EntityTooLarge":
		return fmt.Errorf("%w: %w", blob.ErrTooLarge, err)
	case e.StatusCode == http.StatusInsufficientStorage || e.Code == "QuotaExceeded" || e.Code == "XMinioStorageFull" || e.Code == "XMinioAdminBucketQuotaExceeded":
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	}
	return fmt.Errorf("%w: %w", blob.ErrUnavailable, err)
}

// reason is what S3 said, on one line.
func reason(err error) string {
	if e, ok := errors.AsType[minio.ErrorResponse](err); ok && e.Code != "" {
		return fmt.Sprintf("%s, %s", e.Code, e.Message)
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}
