package index

import (
	"sync"
	"time"
)

// lately are the spans that were expanded in the last half hour, the newest last.
type lately struct {
	mu   sync.Mutex
	list []expanded
}

type expanded struct {
	id, path   string
	start, end int
	at         time.Time
}

func (l *lately) add(e expanded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
	if len(l.list) > maxExpanded {
		l.list = append(l.list[:0:0], l.list[len(l.list)-maxExpanded:]...)
	}
}

// of says whether a handle was expanded lately, and whether it shares most of its bytes with another that was.
func (l *lately) of(id, path string, start, end int, now time.Time) (recent, overlaps bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.list {
		if now.Sub(e.at) > rememberExpanded || e.path != path {
			continue
		}
		if e.id == id {
			return true, true
		}
		if shared := min(end, e.end) - max(start, e.start); shared > 0 && 2*shared >= end-start {
			overlaps = true
		}
	}
	return false, overlaps
}

const (
	rememberExpanded = 30 * time.Minute
	maxExpanded      = 256
)
