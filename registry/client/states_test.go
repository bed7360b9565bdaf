package client

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// feed is a feed in which the manifests of pairs have the states after them.
func feed(pairs ...string) []byte {
	f := wire.States{V: 1, Releases: []wire.ReleaseState{}}
	for i := 0; i < len(pairs); i += 2 {
		f.Releases = append(f.Releases, wire.ReleaseState{Of: wire.StateOf("acme/pdf", pairs[i]), Manifest: pairs[i], State: pairs[i+1]})
	}
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // strings always marshal
	}
	return text
}

// A list of releases that were taken back is asked for, kept, and known offline. One that is withheld, rolled back, forged, or that
// changes without an entry of the log is refused, and what was known stays known.
func TestWithdrawn(t *testing.T) {
	bad, odd := wire.StateOf("acme/pdf", "sha256:bad"), wire.StateOf("acme/pdf", "sha256:odd")
	f, dir := newFakeLog(t), filepath.Join(t.TempDir(), "log")
	f.publish("1.0.0", "")
	if s, err := f.follow(dir).Withdrawn(t.Context(), false); err != nil || !s.At.IsZero() {
		t.Errorf("before anybody asked: %+v %v", s, err)
	}
	if s, err := f.follow(dir).Withdrawn(t.Context(), true); err != nil || len(s.Known) != 0 {
		t.Errorf("of a registry that has no list: %+v %v", s, err)
	}
	f.signed = feed()
	f.states = f.signed
	f.now = f.now.Add(time.Minute)
	if s, err := f.follow(dir).Withdrawn(t.Context(), true); err != nil || len(s.Known) != 0 || !s.At.Equal(f.now) {
		t.Errorf("an empty list: %+v %v", s, err)
	}
	f.publish("1.1.0", "")
	f.signed = feed("sha256:bad", wire.Blocked, "sha256:odd", wire.Yanked)
	f.states = f.signed
	f.now = f.now.Add(time.Minute)
	at := f.now
	known := func(when string) {
		t.Helper()
		s, err := f.follow(dir).Withdrawn(t.Context(), false)
		if err != nil || s.Known[bad].State != wire.Blocked || s.Known[odd].State != wire.Yanked || len(s.Known) != 2 || !s.At.Equal(at) {
			t.Errorf("offline, %s: %+v %v", when, s, err)
		}
	}
	if s, err := f.follow(dir).Withdrawn(t.Context(), true); err != nil || s.Known[bad].State != wire.Blocked {
		t.Fatalf("%+v %v", s, err)
	}
	known("at first")
	whole := f.book
	for _, tt := range []struct {
		name, code string
		lie        func()
	}{
		{"no list any more", "log_states", func() { f.signed, f.states = nil, nil }},
		{"another list at the same size", "log_states", func() { f.signed = feed("sha256:odd", wire.Yanked); f.states = f.signed }},
		{"another state at the same size", "log_states", func() { f.signed = feed("sha256:bad", wire.Yanked, "sha256:odd", wire.Yanked); f.states = f.signed }},
		{"a list that is withheld", "log_states", func() { f.publish("1.2.0", ""); f.signed, f.states = feed("sha256:bad", wire.Blocked), nil }},
		{"a list that is answered with an error", "log_states", func() { f.publish("1.2.1", ""); f.signed, f.instead = feed("sha256:bad", wire.Blocked), 500 }},
		{"a list that a page stands for", "log_states", func() { f.publish("1.2.2", ""); f.signed, f.instead = feed("sha256:bad", wire.Blocked), 404 }},
		{"a list that is cut off", "log_states", func() { f.publish("1.2.3", ""); f.signed, f.instead = feed("sha256:bad", wire.Blocked), -1 }},
		{"a list that was not signed", "log_states", func() { f.publish("1.3.0", ""); f.signed, f.states = feed("sha256:bad", wire.Blocked), feed() }},
		{"a log that is shorter", "log_rollback", func() {
			f.book = &logbook{whole.records[:1], whole.hashes[:1]}
			f.signed = feed()
			f.states = f.signed
		}},
		{"a list that is held back", "log_frozen", func() { f.late = 30 * time.Hour }},
	} {
		was := *f.book
		f.now = f.now.Add(time.Second)
		tt.lie()
		if s, err := f.follow(dir).Withdrawn(t.Context(), true); !errors.Is(err, diag.Code(tt.code)) || diag.ClassOf(err) != diag.Refused {
			t.Errorf("%s: %+v %v, want %s", tt.name, s, err, tt.code)
		}
		f.mu.Lock()
		f.late, f.instead = 0, 0
		f.mu.Unlock()
		known("after " + tt.name)
		if tt.code == "log_rollback" {
			*f.book = was
			f.book = whole
		}
	}
	f.publish("2.0.0", "")
	f.signed = feed("sha256:odd", wire.Yanked)
	f.states, f.now = f.signed, f.now.Add(time.Hour)
	if s, err := f.follow(dir).Withdrawn(t.Context(), true); err != nil || len(s.Known) != 1 {
		t.Errorf("a block that was undone: %+v %v", s, err)
	}
	file := filepath.Join(dir, "states.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("x"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := f.follow(dir).Withdrawn(t.Context(), false); !errors.Is(err, diag.Code("log_state")) {
		t.Errorf("a damaged copy: %+v %v", s, err)
	}
}

// Advisories are kept and known offline, and find releases by name and manifest. One that is withdrawn stays, marked: a list without it is refused, and one that
// says less of it while the log did not grow.
func TestAdvisories(t *testing.T) {
	f, dir := newFakeLog(t), filepath.Join(t.TempDir(), "log")
	say := func(list ...wire.Advisory) {
		t.Helper()
		text, err := json.Marshal(wire.States{V: 1, Releases: []wire.ReleaseState{}, Advisories: list})
		if err != nil {
			t.Fatal(err)
		}
		f.signed, f.states = text, text
		f.now = f.now.Add(time.Minute)
	}
	of := wire.StateOf("acme/pdf", "sha256:bad")
	one := wire.Advisory{ID: "SKL-1", Summary: "steals keys", Own: wire.Advised{Severity: "high", Of: []string{of}}}
	f.publish("1.0.0", "")
	say(one)
	if s, err := f.follow(dir).Withdrawn(t.Context(), true); err != nil || len(s.Advisories) != 1 || s.Advisories[0].Own.Of[0] != of {
		t.Fatalf("%+v %v", s, err)
	}
	refused := func(what string) {
		t.Helper()
		if s, err := f.follow(dir).Withdrawn(t.Context(), true); !errors.Is(err, diag.Code("log_states")) {
			t.Errorf("%s: %+v %v", what, s, err)
		}
		if s, err := f.follow(dir).Withdrawn(t.Context(), false); err != nil || len(s.Advisories) != 1 || s.Advisories[0].Own.Severity != "high" {
			t.Errorf("%s, offline: %+v %v", what, s, err)
		}
	}
	low := one
	low.Own.Severity = "low"
	say(low)
	refused("less severe, and no entry says so")
	gone := one
	gone.Withdrawn = f.now
	say(gone)
	refused("withdrawn, and no entry says so")
	f.publish("1.1.0", "")
	say()
	refused("gone")
	say(wire.Advisory{ID: "SKL-2", Own: wire.Advised{Of: []string{}}})
	refused("gone, for another")
	say(gone, wire.Advisory{ID: "SKL-2", Own: wire.Advised{Of: []string{}}})
	if s, err := f.follow(dir).Withdrawn(t.Context(), true); err != nil || len(s.Advisories) != 2 || s.Advisories[0].Withdrawn.IsZero() {
		t.Errorf("%+v %v", s, err)
	}
}
