package serve

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// cacheSize is the number of answers that are kept per repository.
const cacheSize = 128

// A cacheKey names an answer. An answer of another generation is another answer.
type cacheKey struct {
	generation uint64
	request    string // its kind and canonical JSON
}

// answers keeps the last answers of a repository. The zero value is ready.
type answers struct {
	expansions atomic.Int64 // of handles of the repository

	mu    sync.Mutex
	order *list.List // of *cached, the last used first
	byKey map[cacheKey]*list.Element
}

type cached struct {
	key   cacheKey
	value any // shared: whoever takes it changes nothing in it
}

func (a *answers) get(k cacheKey) (any, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.byKey[k]
	if e == nil {
		return nil, false
	}
	a.order.MoveToFront(e)
	return e.Value.(*cached).value, true
}

func (a *answers) put(k cacheKey, value any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey == nil {
		a.byKey, a.order = make(map[cacheKey]*list.Element), list.New()
	}
	if e := a.byKey[k]; e != nil {
		e.Value.(*cached).value = value
		a.order.MoveToFront(e)
		return
	}
	a.byKey[k] = a.order.PushFront(&cached{k, value})
	if a.order.Len() > cacheSize {
		last := a.order.Back()
		a.order.Remove(last)
		delete(a.byKey, last.Value.(*cached).key)
	}
}
