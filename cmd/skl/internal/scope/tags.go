package scope

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
)

// tags are the commits and manifests that versions of git and OCI repositories were seen at, by this user: [resolver.Tags]. The file is
// read when it is first asked, and written by KeepTags: what only looks writes nothing. All methods may be called
// concurrently.
type tags struct {
	path    string
	sighted string // the file of moves that were refused, in the cache: losing it loses a warning
	project string
	warn    func(format string, args ...any)

	once   sync.Once
	mu     sync.Mutex
	known  map[string]string // pins by tagKey; what the file has
	seen   map[string]string // what was learned since
	told   map[string]bool   // what was said once
	moves  []move            // what was accepted since
	accept bool              // a person accepts moves
	only   []string          // of these skills, or of all
	to     map[string]string // where releases were when their move was refused, by tagKey
	err    error             // why the file cannot be read
}

// A tagFile is the form of the file.
type tagFile struct {
	Version int               `json:"version"`
	Tags    map[string]string `json:"tags"`            // pins by tagKey
	Moves   []move            `json:"moves,omitempty"` // in the order in which they were accepted
}

// A move is a release that had other bytes before, which this user accepted.
type move struct {
	URL     string    `json:"url"`
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Tag     string    `json:"tag,omitempty"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	At      time.Time `json:"accepted"`
}

func tagKey(t resolver.Tagged) string {
	return strings.TrimSpace(strings.Join([]string{t.URL, t.Name, t.Version, t.Tag}, " "))
}

func (t *tags) load() {
	t.once.Do(func() {
		t.seen = map[string]string{}
		var file tagFile
		file, t.err = readTags(t.path)
		if t.known = file.Tags; t.err != nil {
			t.warn("%s; repositories are asked again", t.err)
		}
		if ReadState(t.sighted, &t.to) != nil || t.to == nil {
			t.to = map[string]string{}
		}
	})
}

func readTags(path string) (tagFile, error) {
	var file tagFile
	err := ReadState(path, &file)
	if err == nil && file.Version != 1 && (file.Version != 0 || len(file.Tags) > 0) {
		err = fmt.Errorf("its version is %d, and this skl knows 1", file.Version)
	}
	if err != nil {
		return tagFile{}, diag.New(diag.Failed, "tags_corrupt", "%s cannot be read: %v", path, err).Hint("move it away")
	}
	return file, nil
}

func (t *tags) At(s resolver.Tagged) string {
	t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.get(t.hereKey(s)), t.get(tagKey(s)))
}

func (t *tags) get(key string) string { return cmp.Or(t.seen[key], t.known[key]) }

// hereKey is the key of a release as this project uses it.
func (t *tags) hereKey(s resolver.Tagged) string { return tagKey(s) + " in " + t.project }

func (t *tags) Here(s resolver.Tagged) string {
	t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.get(t.hereKey(s))
}

// Use implements [resolver.Tags]. That the release is known to be elsewhere now is told.
func (t *tags) Use(s resolver.Tagged, pin string) {
	t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	if key := t.hereKey(s); t.get(key) == "" {
		t.seen[key] = pin
	}
	if to := t.to[tagKey(s)]; to != "" && to != pin {
		t.say("%s %s moved in %s: it is %s here, and was last seen as %s; skl outdated", s.Name, cmp.Or(s.Version, s.Tag), s.URL, pin, to)
	}
}

// Elsewhere implements [resolver.Tags].
func (t *tags) Elsewhere(s resolver.Tagged, before, now string) {
	t.warnOnce("%s %s moved in %s before this project locked it: this machine knows it as %s, and it is %s", s.Name, cmp.Or(s.Version, s.Tag), s.URL, before, now)
}

func (t *tags) Seen(s resolver.Tagged, pin string) {
	t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tagKey(s)
	if t.get(key) == "" {
		t.seen[key] = pin
	}
	if to := t.to[key]; to != "" && to != pin {
		t.sight(key, "") // it was moved back, or on
	}
}

// sight keeps where a release was when its move was refused. mu is held.
func (t *tags) sight(key, to string) {
	if t.to[key] = to; to == "" {
		delete(t.to, key)
	}
	text, err := json.Marshal(t.to)
	if err == nil {
		err = durable.MkdirPrivate(filepath.Dir(t.sighted))
	}
	if err == nil {
		err = durable.WriteFile(t.sighted, text, 0o600)
	}
	if err != nil {
		t.say("that a tag moved cannot be remembered: %v", err)
	}
}

// Moved implements [resolver.Tags]: see [Scope.AcceptMoved].
func (t *tags) Moved(s resolver.Tagged, before, now string) bool {
	t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.accept || len(t.only) > 0 && !slices.Contains(t.only, s.Name) {
		if t.to[tagKey(s)] != now {
			t.sight(tagKey(s), now)
		}
		return false
	}
	t.seen[tagKey(s)], t.seen[t.hereKey(s)] = now, now
	t.moves = append(t.moves, move{s.URL, s.Name, s.Version, s.Tag, before, now, time.Now().UTC().Truncate(time.Second)})
	t.say("accepted that %s %s moved in %s: it was %s, and is %s", s.Name, cmp.Or(s.Version, s.Tag), s.URL, before, now)
	return true
}

// AcceptMoved says whether releases that have other bytes than before are taken, and recorded as accepted: those of some skills, or of all.
func (sc *Scope) AcceptMoved(yes bool, only []string) {
	sc.tags.mu.Lock()
	defer sc.tags.mu.Unlock()
	sc.tags.accept, sc.tags.only = yes, only
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
		file, err := readTags(t.path)
		if err != nil {
			return nil, err
		}
		if file.Tags == nil {
			file.Tags = map[string]string{}
		}
		maps.Copy(file.Tags, t.seen)
		t.known, t.seen = file.Tags, map[string]string{}
		file.Version, file.Moves = 1, append(file.Moves, t.moves...)
		t.moves = nil
		return file, nil
	})
	if err != nil {
		sc.Tell.Warn("which versions were seen was not kept: %s", err)
	}
}
