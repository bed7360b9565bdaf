package scope

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
)

// tags are the commits and manifests that versions of git and OCI repositories were seen at, by this user: [resolver.Tags]. The file is
// read when it is first asked, and written by KeepTags: what only looks writes nothing. All methods may be called
// concurrently.
type tags struct {
	path string
	warn func(format string, args ...any)

	once  sync.Once
	mu    sync.Mutex
	known map[string]string // pins by tagKey; what the file has
	seen  map[string]string // what was learned since
	told  map[string]bool   // what was said once
	err   error             // why the file cannot be read
}

// A tagFile is the form of the file.
type tagFile struct {
	Version int               `json:"version"`
	Tags    map[string]string `json:"tags"` // pins by tagKey
}

func tagKey(t resolver.Tagged) string {
	return strings.TrimSpace(strings.Join([]string{t.URL, t.Name, t.Version, t.Tag}, " "))
}

func (t *tags) load() {
	t.once.Do(func() {
		t.seen = map[string]string{}
		if t.known, t.err = readTags(t.path); t.err != nil {
			t.warn("%s; repositories are asked again", t.err)
		}
	})
}

func readTags(path string) (map[string]string, error) {
	var file tagFile
	err := ReadState(path, &file)
	if err == nil && file.Version != 1 && (file.Version != 0 || len(file.Tags) > 0) {
		err = fmt.Errorf("its version is %d, and this skl knows 1", file.Version)
	}
	if err != nil {
		return nil, diag.New(diag.Failed, "tags_corrupt", "%s cannot be read: %v", path, err).Hint("move it away")
	}
	return file.Tags, nil
}

func (t *tags) At(s resolver.Tagged) string {
	t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	if pin, ok := t.seen[tagKey(s)]; ok {
		return pin
	}
	return t.known[tagKey(s)]
}

func (t *tags) Seen(s resolver.Tagged, pin string) {
	t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tagKey(s)
	before, ok := t.seen[key]
	if !ok {
		before = t.known[key]
	}
	switch before {
	case pin:
		return
	case "":
	default:
		t.tell(s, before, pin)
	}
	t.seen[key] = pin
}

func (t *tags) Moved(s resolver.Tagged, before, now string) {
	t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tell(s, before, now)
}

// warnOnce says something that may be found out several times.
func (t *tags) warnOnce(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say(format, args...)
}

// say is warnOnce for who holds mu.
func (t *tags) say(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if t.told[what] {
		return
	}
	if t.told == nil {
		t.told = map[string]bool{}
	}
	t.told[what] = true
	t.warn(format, args...)
}

// tell says that a tag moved. The caller holds mu.
func (t *tags) tell(s resolver.Tagged, before, now string) {
	t.say("%s %s moved in %s: it was %s, and is %s", s.Name, s.Version, s.URL, before, now)
}

// KeepTags writes what was learned of tags beside what another skl may have learned. That it cannot be kept costs a
// question next time.
func (sc *Scope) KeepTags() {
	t := sc.tags
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.seen) == 0 || t.err != nil {
		return
	}
	err := sc.ChangeState(t.path, func() (any, error) {
		all, err := readTags(t.path)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, t.seen)
		t.known, t.seen = all, map[string]string{}
		return tagFile{1, all}, nil
	})
	if err != nil {
		sc.Tell.Warn("which versions were seen was not kept: %s", err)
	}
}
