// Package blob says what a place for content-addressed bytes promises: layers,
// configs and archives, named by what they hash to. Manifests are not blobs; they live
// in the meta store, so that one transaction accepts a release.
//
//   - A blob that [Store.Put] or [Store.Commit] acknowledged is durable: it survives a power loss.
//   - Nothing is stored under a digest that it does not hash to, and nothing is served that does not.
//   - A blob appears at once or not at all. A crash leaves at most staged
//     uploads, which [Store.Uploads] lists and [Store.Abort] removes.
//   - Storing what is there already succeeds, and heals it if it was corrupt.
//
// Permissions are the caller's business, and so is the rule that
// uploads of one id come one after the other.
//
// The names of content are those of the OCI image specification: "sha256:" or
// "sha512:" and lower-case hexadecimal digits.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// Errors that callers branch on. They are wrapped with the digest or upload they are about.
var (
	ErrNotFound = errors.New("no such blob")
	ErrDigest   = errors.New("content is not what was claimed")       // its digest or its size
	ErrOffset   = errors.New("upload does not continue there")        // wrong offset, unknown upload, or one that is being written
	ErrBusy     = errors.New("somebody else writes to the upload")    // beside ErrOffset: it is there, and the caller asks again where it is
	ErrCorrupt  = errors.New("stored content is damaged")             // a Put of the same digest heals it
	ErrFull     = errors.New("no space left")                         // disk or quota; works again when there is space
	ErrTooLarge = errors.New("content is larger than is stored here") // a limit of the store
	ErrRecent   = errors.New("blob was stored again")                 // Delete was told to spare it

	// ErrUnavailable is the error of a store that does not answer, or refuses for now. A Put that ended so may have happened.
	ErrUnavailable = errors.New("the store of blobs is not available")
)

// Full gives an error of the system that means that the disk, or the share of it, is used up, the
// identity of ErrFull. Other errors stay as they are.
func Full(err error) error {
	if isFull(err) && !errors.Is(err, ErrFull) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// About adds the digest to an error.
func About(d Digest, err error) error {
	if d.IsZero() {
		return fmt.Errorf("blob without a digest: %w", err)
	}
	return fmt.Errorf("%s: %w", d, err)
}

// AboutUpload adds the upload to an error, which may be ErrFull.
func AboutUpload(id string, err error) error { return fmt.Errorf("upload %q: %w", id, Full(err)) }

// A Store keeps blobs. Its methods may be called concurrently.
//
// Besides the errors named at each method, any method may give an error of the
// device or the network behind it, which says nothing about the blob.
type Store interface {
	// Put stores what r holds, of which the caller claims digest and size in bytes (-1 if
	// unknown). It reads r up to its end, or one byte beyond size, also when the blob is
	// there already: only who has the content may claim to have it. When it returns nil
	// the blob is durable, and its Modified is now.
	// Errors: ErrDigest, ErrTooLarge, ErrFull, that of r. After an error nothing is left behind.
	Put(ctx context.Context, d Digest, size int64, r io.Reader) error

	// Append adds r to the upload id at offset and returns the new length, which is durable.
	// At offset 0 it creates the upload, if need be. After an error the upload is as it was before.
	// An id is 1-128 of A-Z, a-z, 0-9, "-" and "_".
	// After a crash an upload may hold more bytes than Append ever reported; then the
	// offset that the caller recorded is right, and what lies beyond is dropped; or it is ErrOffset, and the upload begins anew.
	// Errors: ErrOffset, ErrTooLarge, ErrFull, that of r.
	Append(ctx context.Context, id string, offset int64, r io.Reader) (length int64, err error)

	// Commit makes the upload id the blob d, durably, and returns its size. Known is what
	// the caller computed while it appended; with the zero value the store reads
	// the upload back. An upload that is not d stays: the caller may Abort it.
	// Errors: ErrDigest, ErrOffset if there is no such upload, ErrFull.
	Commit(ctx context.Context, id string, d Digest, known Appended) (size int64, err error)

	// Abort removes the upload id. It is no error if there is none.
	Abort(ctx context.Context, id string) error

	// Open returns the content of d, verified: never a byte that does not hash to d.
	// Errors: ErrNotFound, ErrCorrupt. The caller closes the content.
	Open(ctx context.Context, d Digest) (Content, error)

	// Stat returns the size of d in bytes. It does not verify the content.
	// Errors: ErrNotFound, and ErrCorrupt for content that Open or Check found to be damaged.
	Stat(ctx context.Context, d Digest) (size int64, err error)

	// Delete removes d, unless it was stored or stored again at or after the time unless; a zero
	// time spares nothing. It closes the gap between the moment in which a garbage collector finds
	// d unused and the one in which it removes it: a Put in between wins.
	// Errors: ErrNotFound, ErrRecent.
	//
	// No store may decide by times or tags of content that two processes write: the same bytes have the same tag, and a copy
	// onto itself need not get another time.
	Delete(ctx context.Context, d Digest, unless time.Time) error

	// Blobs yields all blobs in the order of their digests. Those stored or deleted meanwhile may be
	// missing. An error ends it.
	Blobs(ctx context.Context) iter.Seq2[Info, error]

	// Uploads yields all uploads that were neither committed nor aborted, and what
	// interrupted Puts left. An error ends it.
	Uploads(ctx context.Context) iter.Seq2[Upload, error]

	// Check hashes the content of d anew, from the device as far as that is possible,
	// and trusts nothing that is remembered. Errors: ErrNotFound, ErrCorrupt.
	Check(ctx context.Context, d Digest) error
}

// A Remote is a [Store] that other processes use as well, over a network.
type Remote interface {
	Store
	// Probe asks whether it answers. Errors: ErrUnavailable.
	Probe(ctx context.Context) error
	// URL is an address from which everybody can read d for a while, unverified; "" if there is none. Errors: ErrNotFound, ErrCorrupt.
	URL(ctx context.Context, d Digest, valid time.Duration) (string, error)
	// Survey notes which blobs are not there any more, for Stat to say, without a question for each.
	Survey(ctx context.Context) error
}

// Content is an open blob. ReadAt may be called concurrently.
type Content interface {
	io.ReaderAt
	io.ReadSeeker
	io.Closer
	Size() int64 // in bytes
}

// Info describes a stored blob.
type Info struct {
	Digest   Digest
	Size     int64     // bytes
	Modified time.Time // when it was last put
}

// Upload describes what is staged.
type Upload struct {
	ID       string // for Abort; those of interrupted Puts can be aborted only
	Size     int64  // bytes
	Modified time.Time
}

// Appended is what a caller of Append knows about the whole upload.
type Appended struct {
	Digest Digest // of all that was appended
	Size   int64  // bytes
}

// CheckID reports whether id can name an upload.
func CheckID(id string) error {
	ok := len(id) >= 1 && len(id) <= 128
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if !ok {
		return errors.New("an upload id has 1-128 letters, digits, hyphens and underscores")
	}
	return nil
}
