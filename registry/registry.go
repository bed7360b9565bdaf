// Package registry is the server's core: what a registry of skills does, whichever
// protocol asks for it.
//
// It stands over a blob store and a metadata store. A release becomes visible in one
// pipeline: stage → validate → scan → check signatures → append to the log → visible. The last two are
// one transaction, and until it is done nothing of the release is reachable for readers, neither its
// manifest nor its blobs. The same pipeline serves a plain OCI push, which stages
// with blobs and manifests and publishes with a tag, and REST.
//
//   - Versions are immutable: another manifest under a published version is refused with
//     code version_exists, whatever its state; a digest is never given to another release.
//   - A manifest that is pushed by digest is a draft: seen, by digest, by those who may
//     publish there; so signatures can be attached before anybody else sees it.
//   - A caller who may not read something is told that it does not exist, in the same words as when it does not.
//   - Every change is an event of the audit trail, every change of a release an entry of the log.
//
// Errors are *diag.Error; [Status] maps their codes to HTTP statuses, for all protocols.
// A Registry's methods may be called concurrently.
package registry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/audit/content"
)

// A Registry serves skills. Blobs, Meta and Key are set before first use, the other
// fields have useful zero values.
type Registry struct {
	Blobs blob.Store
	Meta  meta.Store
	Key   tlog.Key // signs the log
	Heads Heads    // keeps what was shown of the log; nil where one process alone has the database

	// Open accepts any artifact from anybody, in any repository, and lets it be deleted.
	Open bool
	// Hold is the severity of findings from which on a release waits for a decision; "" is high, and [HoldNone] holds nothing. What is
	// refused is refused all the same.
	Hold content.Severity
	// Scan judges a release before it is published, beside the audit. Nil lets all pass.
	Scan func(ctx context.Context, c Candidate) (Verdict, error)
	// Admit refuses a release that rules do not let become visible, or wait. Nil lets all pass.
	Admit func(r meta.Release, report wire.Report) error
	// Reserved are names that nobody can publish, besides the built-in ones.
	Reserved []string
	// Grace is how long at least a blob stays that a client was told is here: the grace of the
	// collections that will run. 0 means an hour.
	Grace time.Duration
	// Redirect has clients read large blobs from where a [blob.Remote] keeps them.
	Redirect bool
	// Issuers verify the identity tokens of publishers. Nil takes none.
	Issuers *auth.Issuers
	// TrustedRoot verifies keyless signatures; nil accepts signatures by key only.
	TrustedRoot []byte
	Replica     string           // of those that serve the same data, for others to read
	Now         func() time.Time // nil means time.Now
	Logger      *slog.Logger     // nil drops

	sweep   sync.Mutex // one gc, backup or restore at a time
	slots   chan struct{}
	once    sync.Once // makes slots
	secret  sync.Mutex
	key     []byte   // signs upload ids; read once, under secret
	busy    sync.Map // upload ids that are being written
	signed  sync.Map // token id → hour since 1970 of its last sign-in that was noted
	counted sync.Mutex
	counts  map[string]int64 // downloads since the last flush, under counted

	withdrawn withdrawn
	holding   sync.Once // makes holds
	holds     string
	contents  contents
	heads     heads
	memory    *rowMemory // nil without
}

// A Caller is who asks, and from where.
type Caller struct {
	auth.Identity
	Remote string // address, for the audit trail
}

func (g *Registry) now() time.Time {
	if g.Now == nil {
		return time.Now().UTC()
	}
	return g.Now().UTC()
}

func (g *Registry) logger() *slog.Logger {
	if g.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return g.Logger
}

// logStorage is the log's storage in one transaction.
type logStorage struct{ tx *meta.Tx }

func (s logStorage) Size(ctx context.Context) (int64, error) { return s.tx.LogSize(ctx) }

func (s logStorage) Append(ctx context.Context, index int64, record []byte, stored []tlog.Hash) error {
	raw := make([][32]byte, len(stored))
	for i := range stored {
		raw[i] = stored[i]
	}
	return s.tx.AppendLog(ctx, index, record, tlog.HashIndex(index), raw)
}

func (s logStorage) Records(ctx context.Context, first, n int64) ([][]byte, error) {
	return s.tx.LogRecords(ctx, first, first+n)
}

func (s logStorage) Hashes(ctx context.Context, indexes []int64) ([]tlog.Hash, error) {
	raw, err := s.tx.LogHashes(ctx, indexes)
	hashes := make([]tlog.Hash, len(raw))
	for i := range raw {
		hashes[i] = raw[i]
	}
	return hashes, err
}
