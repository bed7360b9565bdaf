package registrytest

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/skl-project/skl/registry/blob"
)

// A Shelf keeps heads of a log in memory, as a bucket does, unless it is away. The zero Shelf has none.
type Shelf struct {
	mu   sync.Mutex       // of its methods; tests change what follows between calls
	Kept map[int64][]byte // by size
	Away bool
}

func (s *Shelf) KeepHead(_ context.Context, size int64, text []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Away {
		return nil, blob.ErrUnavailable
	}
	if before := s.Kept[size]; before != nil {
		return before, nil
	}
	if s.Kept == nil {
		s.Kept = map[int64][]byte{}
	}
	s.Kept[size] = text
	return nil, nil
}

func (s *Shelf) Head(_ context.Context, size int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Away {
		return nil, blob.ErrUnavailable
	}
	if text := s.Kept[size]; text != nil {
		return text, nil
	}
	return nil, blob.ErrNotFound
}

func (s *Shelf) LastHead(context.Context) (last int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Away {
		return 0, blob.ErrUnavailable
	}
	for size := range s.Kept {
		last = max(last, size)
	}
	return last, nil
}

// Sizes are those under which there is a head.
func (s *Shelf) Sizes() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.Kept))
}
