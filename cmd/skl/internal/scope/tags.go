package scope

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
)

// tags are the commits and manifests that versions of git and OCI repositories were seen at, by this user: [resolver.Tags]. The file is
// read when it is first asked, and written by keep: what only looks writes nothing. All methods may be called
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
	text, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file tagFile
	if err == nil && json.Unmarshal(text, &file) != nil {
		err = errors.New("it is damaged")
	} else if err == nil && file.Version != 1 {
		err = errors.New("it is of a later skl")
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

// keep writes what was learned beside what another skl may have learned.
func (t *tags) keep() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.seen) == 0 || t.err != nil {
		return nil
	}
	unlock, err := durable.Lock(context.Background(), filepath.Dir(t.path), nil)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := readTags(t.path)
	if err != nil {
		return err
	}
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, t.seen)
	text, err := json.MarshalIndent(tagFile{1, all}, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.WriteFile(t.path, append(text, '\n'), 0o600); err != nil {
		return err
	}
	t.known, t.seen = all, map[string]string{}
	return nil
}

// KeepTags keeps what was learned of tags. That it cannot be kept costs a question next time.
func (sc *Scope) KeepTags() {
	err := sc.MkdirPrivate(sc.Dirs.State)
	if err == nil {
		err = sc.tags.keep()
	}
	if err != nil {
		sc.Tell.Warn("which versions were seen was not kept: %s", err)
	}
}
