package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
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
	err   error             // why the file cannot be read
}

// A tagFile is the form of the file.
type tagFile struct {
	Version int               `json:"version"`
	Tags    map[string]string `json:"tags"` // pins by tagKey
}

func tagKey(s lock.Skill) string { return strings.Join([]string{s.URL, s.Name, s.Version}, " ") }

func (t *tags) load() {
	t.once.Do(func() {
		t.seen = map[string]string{}
		if t.known, t.err = readTags(t.path); t.err != nil {
			t.warn("%s; repositories are asked again", t.err)
		}
	})
}

func readTags(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file tagFile
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err == nil && file.Version != 1 {
		err = errors.New("it is of a later skl")
	}
	if err != nil {
		return nil, diag.New(diag.Failed, "tags_corrupt", "%s cannot be read: %v", path, err).Hint("move it away")
	}
	return file.Tags, nil
}

func (t *tags) At(s lock.Skill) string {
	t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	if pin, ok := t.seen[tagKey(s)]; ok {
		return pin
	}
	return t.known[tagKey(s)]
}

func (t *tags) Seen(s lock.Skill, pin string) {
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
		t.warn("%s %s moved in %s: it was %s, and is %s", s.Name, s.Version, s.URL, before, pin)
	}
	t.seen[key] = pin
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

// keepTags keeps what was learned of tags. That it cannot be kept costs a question next time.
func (w *world) keepTags() {
	err := w.private(w.dirs.state)
	if err == nil {
		err = w.tags.keep()
	}
	if err != nil {
		w.ui.Warn("which versions were seen was not kept: %s", err)
	}
}
