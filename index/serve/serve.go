// Package serve offers an index to agents and programs: seven tools for the Model Context Protocol ([Tools]), an HTTP
// service for several repositories ([Service]), and a [Client] that asks such a service and adds what is not committed yet.
//
//   - Names of tools, endpoints, fields and error codes are those that agents of canopy know, the documented spellings
//     and the historical ones. An unknown name is refused with the one that was probably meant; nothing is passed over.
//   - Every error is {code, message, hint}; see [Problem]. The tools give it as a result with isError, HTTP with
//     the status of one table.
//   - Directories outside the allowed roots are refused, after links are followed. The service takes git
//     repositories only and, without a key, only those that belong to its own user.
//   - Without a key the service listens on loopback only. A request on loopback has a loopback name, or one that
//     the service was configured with, as its Host, and no web page of another origin is answered. On a machine with several users that is not enough: every local user can connect. Set a key there.
//   - A handle's generation is the index's, which begins at a random number: no restart and no rebuild makes an old one valid.
//   - Limits: bodies of 2 MiB, answers of MaxTokens tokens, 64 requests at once, 256 repositories, 2 reindexes at once.
//
// A repository that nobody asked to index is answered for all the same, from what promises most; the answer says how many files it does
// not cover. The confidence of an evidence pack is that of the question; with plan,
// definitions of names that it suggests are added, see [Evidence].
//
// It stores what it has to remember below a state directory: index-service.json and index-service/feedback.db. Nothing
// is written to a repository.
package serve

import (
	"context"
	"sync"
	"time"

	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

// An Index is what is asked: an *index.Index, or the index of a service (see [Client]). It may be used concurrently.
type Index interface {
	Root() string
	Generation(ctx context.Context) (uint64, error)
	Query(ctx context.Context, q query.Query) (query.Result, error)
	Evidence(ctx context.Context, q query.Query, o rank.PackOptions) (query.Pack, error)
	Expand(ctx context.Context, ids []string, maxTokens int) (query.Expansion, error)
	Update(ctx context.Context, glob glob.Glob, anew bool) (index.Report, error)
	Invalidate(ctx context.Context, glob glob.Glob) (int, error)
	Status(ctx context.Context) (query.Status, error)
	Close() error
}

// An Opening is what an index is told when it is opened. Its funcs are called concurrently, for as long as the index is open.
type Opening struct {
	Progress diag.Progress                       // of long work; nil drops it
	Prior    func(nodeType, path string) float64 // what feedback says of a handle, -1 to 1; nil for nothing. See index.Options
}

// An OpenFunc opens the index of a directory. root is absolute and has no links.
type OpenFunc func(ctx context.Context, root string, o Opening) (Index, error)

// Limits of requests and answers.
const (
	DefaultTokens = 20_000 // of an answer without max_tokens
	MaxTokens     = 200_000
	MaxIDs        = 200     // handles of one expand
	MaxBody       = 2 << 20 // bytes of a request
	MaxRepos      = 256
)

// An opened is an index that is kept open, with those who want to hear of its progress.
type opened struct {
	ready chan struct{} // closed when x and err are set
	x     Index
	err   error

	mu        sync.Mutex
	listeners map[int]diag.Progress
	next      int
}

// send tells everyone who listens.
func (o *opened) send(e diag.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.listeners {
		p.Send(e)
	}
}

// listen adds a listener until the returned func is called. A nil p changes nothing.
func (o *opened) listen(p diag.Progress) (end func()) {
	if p == nil {
		return func() {}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.next
	o.next++
	if o.listeners == nil {
		o.listeners = make(map[int]diag.Progress)
	}
	o.listeners[n] = p
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.listeners, n)
	}
}

// indexes keeps the indexes open that were asked, one per root. The zero value with an open func is ready.
type indexes struct {
	open     OpenFunc
	feedback *Feedback // nil for none

	mu     sync.Mutex
	byRoot map[string]*opened
	closed bool
	hits   int // found open
	misses int
}

// of returns the open index of a root. Only one caller opens it; what failed is tried again by the next call.
func (s *indexes) of(ctx context.Context, root string) (*opened, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, diag.New(diag.Failed, codeClosed, "the server is stopping")
	}
	if o := s.byRoot[root]; o != nil {
		s.hits++
		s.mu.Unlock()
		select {
		case <-o.ready:
			return o, o.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if len(s.byRoot) >= MaxRepos {
		s.mu.Unlock()
		return nil, diag.New(diag.Failed, codeBusy, "%d indexes are open, which is the most", MaxRepos)
	}
	s.misses++
	if s.byRoot == nil {
		s.byRoot = make(map[string]*opened)
	}
	o := &opened{ready: make(chan struct{})}
	s.byRoot[root] = o
	s.mu.Unlock()
	defer close(o.ready)
	if s.open == nil {
		o.err = diag.New(diag.Failed, codeInternal, "the server has no way to open an index")
	} else {
		// The index outlives the request that was the first to ask for it.
		o.x, o.err = s.open(context.WithoutCancel(ctx), root, Opening{Progress: o.send, Prior: s.feedback.prior(ctx, root)})
	}
	if o.err != nil {
		s.forget(root, o)
	}
	return o, o.err
}

func (s *indexes) forget(root string, o *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byRoot[root] == o {
		delete(s.byRoot, root)
	}
}

// drop closes the index of a root.
func (s *indexes) drop(root string) error {
	s.mu.Lock()
	o := s.byRoot[root]
	delete(s.byRoot, root)
	s.mu.Unlock()
	if o == nil {
		return nil
	}
	<-o.ready
	if o.err != nil {
		return nil
	}
	return o.x.Close()
}

// close closes all of them; later calls of of are refused.
func (s *indexes) close() (first error) {
	s.mu.Lock()
	all := s.byRoot
	s.byRoot, s.closed = nil, true
	s.mu.Unlock()
	for _, o := range all {
		<-o.ready
		if o.err != nil {
			continue
		}
		if err := o.x.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// tokensOf is about how many tokens a JSON text of n bytes costs.
func tokensOf(n int) int { return (n + 2) / 3 }

// bounded is the limit of an answer for what was asked: 0 means DefaultTokens.
func bounded(maxTokens int) int {
	if maxTokens <= 0 {
		return DefaultTokens
	}
	return min(maxTokens, MaxTokens)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
