package index

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/internal/bounded"
	"github.com/skl-project/skl/index/store"
)

// maxTexts is how many bytes of files are kept in memory.
const maxTexts = 48 << 20

// texts are the bytes of indexed files that were read lately, by their numbers. What belongs to a number never changes.
type texts struct{ *bounded.Map[int64, kept] }

type kept struct {
	text  []byte
	stamp files.Stamp
	read  int64
}

func (k kept) size() int { return len(k.text) + 128 }

func newTexts() texts { return texts{bounded.New[int64, kept](maxTexts)} }

// of returns the bytes of f if its file is still what was indexed. With buf, for one look at each of many files, what was read before
// stays in memory rather than these, and they are valid until buf is used again.
func (t texts) of(root string, f *store.File, buf *[]byte) ([]byte, bool) {
	if k, ok := t.Get(f.ID); ok {
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(f.Path)))
		if err == nil && info.Mode().IsRegular() && files.StampOf(info) == k.stamp && settled(k.stamp, k.read) {
			return k.text, true
		}
	}
	if t.HasRoom(int(f.Stamp.Size)) {
		buf = nil
	}
	begin := time.Now()
	data, stamp, err := readFile(root, f.Path, buf)
	if err != nil || stamp.Size != f.Stamp.Size {
		return nil, false
	}
	// With a stamp that shows every change, the bytes need not be compared.
	if (stamp != f.Stamp || stamp.CTime == 0 || !settled(stamp, f.Read)) && hashOf(data) != f.Hash {
		return nil, false
	}
	if buf == nil {
		k := kept{data, stamp, begin.UnixNano()}
		t.Keep(f.ID, k, k.size())
	}
	return data, true
}

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

const (
	rememberExpanded = 30 * time.Minute
	maxExpanded      = 256
)

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

// weighPath is below 0 for files that are seldom what is looked for: tests, copies of others' code, what programs wrote.
func weighPath(path string) float64 {
	w := 0.0
	lower := strings.ToLower(path)
	base := lower[strings.LastIndexByte(lower, '/')+1:]
	for _, dir := range []string{"testdata/", "test/", "tests/", "__tests__/", "fixtures/", "spec/fixtures/", "examples/"} {
		if strings.HasPrefix(lower, dir) || strings.Contains(lower, "/"+dir) {
			w -= 0.5
			break
		}
	}
	if strings.Contains(base, "_test.") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || strings.HasPrefix(base, "test_") {
		w -= 0.5
	}
	if files.Generated(path) || strings.HasPrefix(lower, "vendor/") || strings.Contains(lower, "/vendor/") {
		w--
	}
	return w
}
