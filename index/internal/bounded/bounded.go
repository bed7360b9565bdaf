// Package bounded keeps in memory what can be made again, up to a size.
package bounded

import "sync"

// A Map keeps values of at most a limit together, besides the last, which is always kept. What is forgotten to make room is not chosen.
// It may be used concurrently. The unit of sizes is its user's.
type Map[K comparable, V any] struct {
	limit int

	mu   sync.Mutex
	m    map[K]entry[V]
	size int // of all
}

type entry[V any] struct {
	value V
	size  int
}

// New returns an empty Map.
func New[K comparable, V any](limit int) *Map[K, V] {
	return &Map[K, V]{limit: limit, m: make(map[K]entry[V])}
}

// Get returns what was kept last for a key, if it still is.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.m[key]
	return e.value, ok
}

// HasRoom says whether a value of a size would displace none.
func (m *Map[K, V]) HasRoom(size int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.size+size <= m.limit
}

// Keep keeps a value of a size, in the place of what was kept for the key.
func (m *Map[K, V]) Keep(key K, value V, size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(key)
	for other := range m.m {
		if m.size+size <= m.limit {
			break
		}
		m.forget(other)
	}
	m.m[key] = entry[V]{value, size}
	m.size += size
}

func (m *Map[K, V]) forget(key K) {
	m.size -= m.m[key].size
	delete(m.m, key)
}
