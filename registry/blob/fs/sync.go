package fs

import (
	"os"
	"sync"

	"github.com/skl-project/skl/install/durable"
)

// A syncer makes directories durable. Callers who come while a directory is being
// synced share the next sync of it, because the one under way may have begun before their rename.
// The zero syncer is ready.
type syncer struct {
	mu   sync.Mutex // guards dirs
	dirs map[string]*turn
}

// A turn is the syncs of one directory: one running, at most one to follow.
type turn struct {
	run  sync.Mutex // held while the directory is synced
	next *batch     // guarded by syncer.mu
	refs int        // callers; guarded by syncer.mu
}

type batch struct {
	once sync.Once
	err  error
}

func (s *syncer) dir(dir string) error {
	s.mu.Lock()
	if s.dirs == nil {
		s.dirs = make(map[string]*turn)
	}
	t := s.dirs[dir]
	if t == nil {
		t = new(turn)
		s.dirs[dir] = t
	}
	if t.next == nil {
		t.next = new(batch)
	}
	b := t.next
	t.refs++
	s.mu.Unlock()

	b.once.Do(func() {
		t.run.Lock()
		defer t.run.Unlock()
		s.mu.Lock()
		t.next = nil // whoever comes from now on needs another sync
		s.mu.Unlock()
		b.err = durable.SyncDir(dir)
	})

	s.mu.Lock()
	if t.refs--; t.refs == 0 {
		delete(s.dirs, dir)
	}
	s.mu.Unlock()
	return b.err
}

// sync makes what was written to f durable, unless nothing has to be.
func (s *Store) sync(f *os.File) error {
	if s.Scratch {
		return nil
	}
	return f.Sync()
}

// syncDir makes the names in dir durable, unless nothing has to be.
func (s *Store) syncDir(dir string) error {
	if s.Scratch {
		return nil
	}
	return s.syncs.dir(dir)
}
