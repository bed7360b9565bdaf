// Package tlog is a registry's transparency log: an append-only list of what was done to
// releases, and the proofs by which a client notices that the list was changed, shown
// differently to others, or held back.
//
// The log follows C2SP tlog-tiles: a Merkle tree as in RFC 6962, read as tiles of
// height 8 and bundles of entries, and a checkpoint, which is a note signed by an
// Ed25519 key. A checkpoint has one extension line, "time" and the moment of signing in UTC, so that a
// client can tell a log that stands still from one that is held back.
//
// On the server a log lives in whatever the caller's transaction writes to: see
// [Storage]. [Append] and [Sign] keep no state, so that a log entry is part of the
// transaction that accepts a release.
//
// On the client a [Follower] keeps the last checkpoint, and a [Proof] of one release is
// kept in the lock and verifies offline.
//
// Refusals by clients are a *diag.Error of class Refused:
//
//	log_signature  a checkpoint that the pinned key did not sign, or that is of another log
//	log_rollback   a log that became shorter
//	log_fork       a log whose history differs from the one seen before
//	log_frozen     a checkpoint that is too old, or from the future
//	log_proof      a record, tile or proof that does not belong to the checkpoint
package tlog

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/skl-project/skl/spec/diag"
)

// A Hash is a node of the tree: SHA-256, as in RFC 6962.
type Hash = tlog.Hash

// height of the tiles, by C2SP tlog-tiles: 256 hashes or entries each.
const (
	height = 8
	width  = 1 << height
)

// A Reader reads a log.
type Reader interface {
	// Size is the number of records.
	Size(ctx context.Context) (int64, error)
	// Hashes returns the stored hashes with these indexes, in their order: see [Storage].
	Hashes(ctx context.Context, indexes []int64) ([]Hash, error)
	// Records returns the records first to first+n-1.
	Records(ctx context.Context, first, n int64) ([][]byte, error)
}

// Storage is where a log is kept, for the length of one transaction of the caller. Nobody
// else appends meanwhile. Hashes sees what Append stored in the same transaction.
type Storage interface {
	Reader
	// Append stores record index, which is Size, and the hashes stored[i] with the indexes
	// HashIndex(index) + i: one or more for each record, just under two on average.
	Append(ctx context.Context, index int64, record []byte, stored []Hash) error
}

// HashIndex is the index of the first hash that is stored for record n.
func HashIndex(n int64) int64 { return tlog.StoredHashIndex(0, n) }

// Append adds records to the log and returns the index of the first. An error of Storage
// comes back as it is, and the caller rolls its transaction back.
func Append(ctx context.Context, s Storage, records ...Record) (first int64, err error) {
	if first, err = s.Size(ctx); err != nil {
		return 0, err
	}
	for i, r := range records {
		text, err := r.Format()
		if err != nil {
			return 0, err
		}
		n := first + int64(i)
		stored, err := tlog.StoredHashes(n, text, hashes(ctx, s))
		if err != nil {
			return 0, err
		}
		if err := s.Append(ctx, n, text, stored); err != nil {
			return 0, err
		}
	}
	return first, nil
}

// Root is the hash of the tree of the first size records.
func Root(ctx context.Context, r Reader, size int64) (Hash, error) {
	return tlog.TreeHash(size, hashes(ctx, r))
}

// Inclusion proves that the tree of the first size records holds record index.
func Inclusion(ctx context.Context, r Reader, index, size int64) ([]Hash, error) {
	if err := within(ctx, r, index+1, size); err != nil {
		return nil, err
	}
	return tlog.ProveRecord(size, index, hashes(ctx, r))
}

// Consistency proves that the tree of the first old records is the start of that of the first size.
func Consistency(ctx context.Context, r Reader, old, size int64) ([]Hash, error) {
	if err := within(ctx, r, old, size); err != nil {
		return nil, err
	}
	return tlog.ProveTree(size, old, hashes(ctx, r))
}

// within refuses numbers that the log does not have, because the proofs panic on some of them.
func within(ctx context.Context, r Reader, part, size int64) error {
	have, err := r.Size(ctx)
	if err != nil {
		return err
	}
	if part < 1 || part > size || size > have {
		return diag.New(diag.Misuse, "log_range", "the log has %d entries, a proof for %d of %d cannot be made", have, part, size)
	}
	return nil
}

// hashes makes a Reader what x/mod reads from.
func hashes(ctx context.Context, r Reader) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]Hash, error) {
		if len(indexes) == 0 {
			return nil, nil
		}
		list, err := r.Hashes(ctx, indexes)
		if err == nil && len(list) != len(indexes) {
			err = fmt.Errorf("log storage returned %d hashes of %d", len(list), len(indexes))
		}
		return list, err
	})
}
