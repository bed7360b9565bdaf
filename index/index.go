// Package index answers questions about the files of a directory: where is this symbol, who uses it, what speaks of
// this. It answers with handles, which cost few tokens, and gives the text of those that are wanted.
//
//   - The index is a cache below Options.CacheDir, one per root; it may be deleted at any time, and several
//     processes may use it at once. Nothing is written to the root.
//   - No answer has a stale span: every handle is checked against the bytes of its file when it is given, and files that
//     changed are read anew first.
//   - Literal and regular expressions are complete: they are searched in the files, the index only says which files cannot have them.
//   - A repository that was never indexed answers within Options.FirstAnswer from the files that promise most, and
//     says how many it does not cover yet.
package index

import (
	"context"
	"time"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
)

// Options of an Index. The zero value works but for CacheDir.
type Options struct {
	CacheDir    string        // where indexes are kept; they have a directory each
	Extra       []string      // more patterns of files to leave out, as in .gitignore
	FirstAnswer time.Duration // what the first query of a repository of more than 1,000 files may take; 0 means 1 s
	Watch       bool          // be told of changes instead of looking before every query; for long-lived processes
	Background  bool          // index what is missing after the first answer, until Close
	Progress    diag.Progress
	Name        string // what stands before the paths of one root among several, such as a skill's name
}

// A Report says what Update did.
type Report struct {
	Added      int           `json:"added"`
	Changed    int           `json:"changed"`
	Removed    int           `json:"removed"`
	Unchanged  int           `json:"unchanged"`
	TooLarge   int           `json:"too_large"`
	Binary     int           `json:"binary"`
	Bytes      int64         `json:"bytes"` // that were read
	Generation uint64        `json:"generation"`
	Elapsed    time.Duration `json:"elapsed_ns"`
}

// An Index of one root. It may be used concurrently.
type Index struct{}

// Open opens the index of a directory, which may not exist yet. root is absolute.
func Open(ctx context.Context, root string, o Options) (*Index, error) { panic("not written") }

// Close ends background work and frees what the index holds.
func (x *Index) Close() error { panic("not written") }

// Root returns the directory.
func (x *Index) Root() string { panic("not written") }

// Generation returns the number of the state that the index has: it grows with every change, and starts anew, far away,
// when an index is built from nothing.
func (x *Index) Generation(ctx context.Context) (uint64, error) { panic("not written") }

// Query answers q.
func (x *Index) Query(ctx context.Context, q query.Query) (query.Result, error) { panic("not written") }

// Evidence answers q with a pack.
func (x *Index) Evidence(ctx context.Context, q query.Query, o rank.PackOptions) (query.Pack, error) {
	panic("not written")
}

// Expand returns the text of handles, at most maxTokens (0 for no limit) together. Its error is for a failure of the index;
// what is wrong with single handles is in the answer.
func (x *Index) Expand(ctx context.Context, ids []string, maxTokens int) (query.Expansion, error) {
	panic("not written")
}

// Update makes the index agree with the files that glob matches. With anew it reads also what seems unchanged.
func (x *Index) Update(ctx context.Context, glob query.Glob, anew bool) (Report, error) {
	panic("not written")
}

// Invalidate forgets the files that glob matches and returns their number. They are indexed again by the next query.
func (x *Index) Invalidate(ctx context.Context, glob query.Glob) (int, error) { panic("not written") }

// Status describes the index.
func (x *Index) Status(ctx context.Context) (query.Status, error) { panic("not written") }
