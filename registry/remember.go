package registry

import (
	"container/list"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// A reader answers what a pull and a token ask of the metadata; a [meta.Tx] is one. What it returns is not to be changed.
type reader interface {
	Namespace(ctx context.Context, name string) (meta.Namespace, error)
	TokenGrants(ctx context.Context, id string) (meta.Token, []meta.Grant, error)
	Manifest(ctx context.Context, repo, digest string) (meta.Manifest, error)
	ManifestByTag(ctx context.Context, repo, tag string) (meta.Manifest, error)
	ReleaseByManifest(ctx context.Context, repo, digest string) (meta.Release, error)
	Blob(ctx context.Context, repo, digest string) (size int64, linked time.Time, err error)
	BlobServed(ctx context.Context, repo, digest string) (size int64, state meta.State, err error)
}

var _ reader = (*meta.Tx)(nil)

// Bounds of what is remembered.
const (
	memoryTime  = 10 * time.Second // also of what changes without an event: content that nothing names goes in time
	memoryBytes = 16 << 20
	memoryEntry = memoryBytes / 16 // what is larger is not remembered
	memoryRow   = 512              // bytes that a row takes besides its texts
	manyEvents  = 1000             // from which on it is sooner to forget everything
)

// A rowMemory holds rows that were read, for a registry whose database is elsewhere and is changed by others. Before any of them is used the
// database is asked for the events since the last time, one short question that all who wait for it share: each change of what is
// remembered is an event, written in the same transaction, and what it is about is forgotten. So nobody is told less than was
// acknowledged before the question.
type rowMemory struct {
	store meta.Store

	turn    sync.Mutex // guards next
	next    *round     // that those who come now wait for; nil if there is none
	running chan struct{}

	mu      sync.Mutex // guards what follows
	newest  meta.Event
	changes int64 // grows whenever something is forgotten
	repos   map[string]map[string]*list.Element
	recent  list.List // of *remembered, the last used first
	bytes   int
}

// A remembered row, or that there is none.
type remembered struct {
	repo, key string
	value     any
	err       error // nil, or meta.ErrNotFound
	bytes     int
	until     time.Time
}

// A round is one question for events.
type round struct {
	done    chan struct{} // closed when the others are set
	changes int64
	err     error
}

// Remember has reads of hot paths go by a memory: for a registry whose database is elsewhere. It is called before the first use.
func (g *Registry) Remember() {
	g.memory = &rowMemory{store: g.Meta, running: make(chan struct{}, 1), repos: map[string]map[string]*list.Element{}}
}

// quiet reports whether changes that anybody may make need no event: nobody remembers what they are about.
func (g *Registry) quiet() bool { return g.Open && g.memory == nil }

// recall runs fn, which reads by what it is given and does nothing else, on one state of the database: once on what is remembered, and if that is
// not all, again in a transaction.
func (g *Registry) recall(ctx context.Context, fn func(reader) error) error {
	if g.memory == nil {
		return g.view(ctx, func(tx *meta.Tx) error { return fn(tx) })
	}
	changes, err := g.memory.current(ctx)
	if err != nil {
		return Explain(err)
	}
	r := &recalled{memory: g.memory, changes: changes}
	if err := fn(r); !r.missed {
		return Explain(err)
	}
	return g.view(ctx, func(tx *meta.Tx) error { return fn(&recalled{memory: g.memory, changes: changes, tx: tx}) })
}

// current brings what is remembered up to date, with a question that is asked after now.
func (m *rowMemory) current(ctx context.Context) (changes int64, err error) {
	m.turn.Lock()
	r := m.next
	if r == nil {
		r = &round{done: make(chan struct{})}
		m.next = r
		go m.ask(r)
	}
	m.turn.Unlock()
	select {
	case <-r.done:
		return r.changes, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// ask does a round when the one before has ended.
func (m *rowMemory) ask(r *round) {
	m.running <- struct{}{}
	m.turn.Lock()
	m.next = nil // who comes from now on waits for another
	m.turn.Unlock()
	r.changes, r.err = m.follow(context.Background())
	close(r.done)
	<-m.running
}

// follow asks for events and forgets what they are about. A database that has another event in place of the newest that is known is not the one that it was.
func (m *rowMemory) follow(ctx context.Context) (int64, error) {
	var events []meta.Event
	newest := m.newest // only this changes it
	err := m.store.Read(ctx, func(tx *meta.Tx) (err error) {
		events, err = tx.EventsFrom(ctx, newest.ID, manyEvents)
		return err
	})
	if err != nil {
		return 0, err
	}
	all := len(events) == manyEvents || newest.ID > 0 && (len(events) == 0 || events[0] != newest)
	if all || newest.ID == 0 {
		if err := m.store.Read(ctx, func(tx *meta.Tx) (err error) {
			events, err = tx.Events(ctx, meta.AuditQuery{Limit: 1})
			return err
		}); err != nil {
			return 0, err
		}
		all, newest = true, meta.Event{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range events {
		if e.ID > newest.ID {
			newest = e
			m.forget(e)
		}
	}
	if m.newest = newest; all {
		m.forgetAll()
	}
	return m.changes, nil
}

// forget drops what an event is about: rows of its repository and of the namespace of that, or everything.
func (m *rowMemory) forget(e meta.Event) {
	if e.Action == "sign-in" {
		return
	}
	repo, _, _ := strings.Cut(e.Target, "@")
	namespace, _, inside := strings.Cut(repo, "/")
	if !inside {
		m.forgetAll()
		return
	}
	m.changes++
	for _, name := range []string{repo, namespace} {
		for _, e := range m.repos[name] {
			m.drop(e)
		}
	}
}

func (m *rowMemory) forgetAll() {
	m.changes++
	m.repos = map[string]map[string]*list.Element{}
	m.recent.Init()
	m.bytes = 0
}

func (m *rowMemory) drop(e *list.Element) {
	one := m.recent.Remove(e).(*remembered)
	m.bytes -= one.bytes
	delete(m.repos[one.repo], one.key)
	if len(m.repos[one.repo]) == 0 {
		delete(m.repos, one.repo)
	}
}

// get returns a row that was put less than memoryTime ago, nil if there is none.
func (m *rowMemory) get(repo, key string) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.repos[repo][key]
	if e == nil {
		return nil
	}
	one := e.Value.(*remembered)
	if time.Now().After(one.until) {
		m.drop(e)
		return nil
	}
	m.recent.MoveToFront(e)
	return one
}

// put remembers a row that was read after changes were these. If there are more by now the row may be from before them.
func (m *rowMemory) put(changes int64, one *remembered) {
	one.bytes += memoryRow + len(one.key)
	if one.bytes > memoryEntry {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changes != changes {
		return
	}
	if e := m.repos[one.repo][one.key]; e != nil {
		m.drop(e)
	}
	if m.repos[one.repo] == nil {
		m.repos[one.repo] = map[string]*list.Element{}
	}
	one.until = time.Now().Add(memoryTime)
	m.repos[one.repo][one.key] = m.recent.PushFront(one)
	for m.bytes += one.bytes; m.bytes > memoryBytes; {
		m.drop(m.recent.Back())
	}
}

// A recalled reader reads what is remembered, or, in a transaction, remembers what is read.
type recalled struct {
	memory  *rowMemory
	changes int64
	tx      *meta.Tx // nil: nothing is read
	missed  bool     // something is not remembered
}

// errForgotten stands for what is not remembered, until it is read.
var errForgotten = errors.New("it is not remembered")

// recallRow is a row of a repository, or of a namespace, and how many bytes its texts have. None says that there being no such row is remembered too: every
// way in which it comes to be is an event.
func recallRow[T any](r *recalled, repo, key string, none bool, read func() (T, int, error)) (row T, err error) {
	if r.tx == nil {
		one := r.memory.get(repo, key)
		if one == nil {
			r.missed = true
			return row, errForgotten
		}
		row, _ = one.value.(T)
		return row, one.err
	}
	row, bytes, err := read()
	if err == nil || none && errors.Is(err, meta.ErrNotFound) {
		r.memory.put(r.changes, &remembered{repo: repo, key: key, value: row, err: err, bytes: bytes})
	}
	return row, err
}

func (r *recalled) Namespace(ctx context.Context, name string) (meta.Namespace, error) {
	return recallRow(r, name, "namespace", false, func() (meta.Namespace, int, error) {
		ns, err := r.tx.Namespace(ctx, name)
		return ns, 0, err
	})
}

func (r *recalled) TokenGrants(ctx context.Context, id string) (meta.Token, []meta.Grant, error) {
	type both struct {
		token  meta.Token
		grants []meta.Grant
	}
	b, err := recallRow(r, "", "token "+id, false, func() (b both, n int, err error) {
		b.token, b.grants, err = r.tx.TokenGrants(ctx, id)
		return b, len(b.grants) * memoryRow, err
	})
	return b.token, b.grants, err
}

func (r *recalled) Manifest(ctx context.Context, repo, digest string) (meta.Manifest, error) {
	return recallRow(r, repo, "manifest "+digest, false, func() (meta.Manifest, int, error) {
		m, err := r.tx.Manifest(ctx, repo, digest)
		return m, len(m.Bytes), err
	})
}

func (r *recalled) ManifestByTag(ctx context.Context, repo, tag string) (meta.Manifest, error) {
	return recallRow(r, repo, "tag "+tag, false, func() (meta.Manifest, int, error) {
		m, err := r.tx.ManifestByTag(ctx, repo, tag)
		return m, len(m.Bytes), err
	})
}

func (r *recalled) ReleaseByManifest(ctx context.Context, repo, digest string) (meta.Release, error) {
	return recallRow(r, repo, "release "+digest, true, func() (meta.Release, int, error) {
		release, err := r.tx.ReleaseByManifest(ctx, repo, digest)
		return release, len(release.Frontmatter) + len(release.Files)*memoryRow, err
	})
}

// A link is what is known of a blob in a repository.
type link struct {
	size   int64
	linked time.Time
	state  meta.State
}

func (r *recalled) Blob(ctx context.Context, repo, digest string) (int64, time.Time, error) {
	l, err := recallRow(r, repo, "blob "+digest, false, func() (l link, n int, err error) {
		l.size, l.linked, err = r.tx.Blob(ctx, repo, digest)
		return l, 0, err
	})
	return l.size, l.linked, err
}

func (r *recalled) BlobServed(ctx context.Context, repo, digest string) (int64, meta.State, error) {
	l, err := recallRow(r, repo, "served "+digest, true, func() (l link, n int, err error) {
		l.size, l.state, err = r.tx.BlobServed(ctx, repo, digest)
		return l, 0, err
	})
	return l.size, l.state, err
}
