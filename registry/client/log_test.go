package client

import (
	"context"
	"crypto/sha256"

	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// logbook is the storage of a log in memory.
type logbook struct {
	records [][]byte
	hashes  []tlog.Hash
}

func (b *logbook) Size(context.Context) (int64, error) { return int64(len(b.records)), nil }

func (b *logbook) Hashes(_ context.Context, indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index >= int64(len(b.hashes)) {
			return nil, fmt.Errorf("there is no hash %d", index)
		}
		out[i] = b.hashes[index]
	}
	return out, nil
}

func (b *logbook) Records(_ context.Context, first, n int64) ([][]byte, error) {
	return b.records[first : first+n], nil
}

func (b *logbook) Append(_ context.Context, _ int64, record []byte, stored []tlog.Hash) error {
	b.records, b.hashes = append(b.records, record), append(b.hashes, stored...)
	return nil
}

// A fakeLog is a registry of which only the log is there. It shows book, signed at the time now.
type fakeLog struct {
	t    *testing.T
	key  tlog.Key
	book *logbook
	now  time.Time     // of the registry
	late time.Duration // by which the client's clock is ahead

	signed, states []byte // feeds of what was taken back: the one that the checkpoint names, and the one that is served
	instead        int    // status of a page that comes in its place; -1 cuts the connection

	mu    sync.Mutex // held for as long as a request is answered: the end of one that is cut off tells nobody that it ended
	asked []string
}

var day = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func newFakeLog(t *testing.T) *fakeLog {
	key, err := tlog.NewKey("skills.example/log")
	if err != nil {
		t.Fatal(err)
	}
	return &fakeLog{t: t, key: key, book: &logbook{}, now: day}
}

// publish appends a release and returns its record, which is proven by the log as it is now.
func (f *fakeLog) publish(version, what string) wire.Version {
	f.t.Helper()
	v := wire.Version{Namespace: "acme", Name: "pdf", Version: version, State: wire.Approved,
		Manifest: "sha256:" + hexSum([]byte(what+version)), Tree: "tree-sha256:" + hexSum([]byte(version)), Artifact: "sha256:" + hexSum([]byte("a"))}
	index, err := tlog.Append(f.t.Context(), f.book, tlog.Record{Action: tlog.Publish, Name: "acme/pdf", Version: version, Manifest: v.Manifest, Tree: v.Tree, At: tlog.At(f.now)})
	if err != nil {
		f.t.Fatal(err)
	}
	v.Log = f.prove(index)
	return v
}

func (f *fakeLog) prove(index int64) *wire.LogProof {
	f.t.Helper()
	note, err := f.key.Sign(f.t.Context(), f.book, f.now)
	if err != nil {
		f.t.Fatal(err)
	}
	p, err := tlog.NewProof(f.t.Context(), f.book, f.key.Public(), note, index)
	if err != nil {
		f.t.Fatal(err)
	}
	e := p.Encode()
	return &wire.LogProof{Origin: e.Origin, Index: e.Index, Record: e.Entry, Hashes: e.Proof, Checkpoint: e.Checkpoint}
}

// fork is a log with the same key that goes another way after the first n records.
func (f *fakeLog) fork(n int) {
	f.t.Helper()
	other := &logbook{}
	for i, text := range f.book.records {
		r, err := tlog.ParseRecord(text)
		if err != nil {
			f.t.Fatal(err)
		}
		if i >= n {
			r.Manifest = "sha256:" + hexSum([]byte("evil"))
		}
		if _, err := tlog.Append(f.t.Context(), other, r); err != nil {
			f.t.Fatal(err)
		}
	}
	f.book = other
}

func (f *fakeLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, path)
	if path == "" {
		answer(w, 200, wire.About{Log: f.key.Public()})
		return
	}
	var body []byte
	var err error
	switch {
	case path == "/log/checkpoint" && f.signed != nil:
		body, err = f.key.Sign(r.Context(), f.book, f.now, tlog.StatesLine(sha256.Sum256(f.signed)))
	case path == "/log/checkpoint":
		body, err = f.key.Sign(r.Context(), f.book, f.now)
	case path == "/log/states" && f.instead < 0:
		panic(http.ErrAbortHandler)
	case path == "/log/states" && f.instead > 0:
		http.Error(w, "no such page", f.instead)
		return
	case path == "/log/states" && f.states != nil:
		body = f.states
	default:
		body, err = tlog.Tile(r.Context(), f.book, strings.TrimPrefix(path, "/log/"))
	}
	if err != nil {
		answer(w, 404, wire.Problem{Code: "not_found", Detail: err.Error()})
		return
	}
	w.Write(body)
}

// follow is a Log of f that starts as a new process does: only dir is remembered.
func (f *fakeLog) follow(dir string) *Log {
	c, _ := serve(f.t, f.ServeHTTP)
	// Every process sees the registry under the same address.
	return &Log{client: c, dir: dir, Now: func() time.Time { return f.now.Add(f.late) }}
}

// An honest log grows; every release is checked, and its proof holds without a network.
func TestLogOfAnHonestRegistry(t *testing.T) {
	f, dir := newFakeLog(t), filepath.Join(t.TempDir(), "log")
	first := f.publish("1.0.0", "")
	proof, err := f.follow(dir).Check(t.Context(), first)
	if err != nil || proof == nil {
		t.Fatal(err)
	}
	for i := range 300 {
		f.publish(fmt.Sprintf("1.1.%d", i), "")
	}
	f.now = f.now.Add(48 * time.Hour)
	last := f.publish("2.0.0", "")
	l := f.follow(dir)
	for _, v := range []wire.Version{last, first} {
		if _, err := l.Check(t.Context(), v); err != nil {
			t.Errorf("%s: %v", v.Version, err)
		}
	}
	asked := len(f.asked)
	if _, err := l.Check(t.Context(), first); err != nil || len(f.asked) != asked {
		t.Errorf("a second check: %v, asked for %v", err, f.asked[asked:])
	}
	locked := lock.Skill{Name: "pdf", Version: "1.0.0", Manifest: ref.Digest(first.Manifest), Tree: bundle.Digest(first.Tree), Log: proof}
	if err := l.Locked(t.Context(), "acme/pdf", locked); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*lock.Skill){
		"of another manifest": func(s *lock.Skill) { s.Manifest = ref.Digest(last.Manifest) },
		"of another version":  func(s *lock.Skill) { s.Version = "1.0.1" },
		"of another entry":    func(s *lock.Skill) { s.Log.Index++ },
		"with another record": func(s *lock.Skill) { s.Log.Entry = strings.Replace(s.Log.Entry, "1.0.0", "1.0.1", 1) },
		"of another log":      func(s *lock.Skill) { *s.Log = *logOf(newFakeLog(t).publish("1.0.0", "")) },
	} {
		s := locked
		other := *proof
		s.Log = &other
		spoil(&s)
		if err := l.Locked(t.Context(), "acme/pdf", s); diag.ClassOf(err) != diag.Refused {
			t.Errorf("a locked proof %s gives %v, want a refusal", name, err)
		}
	}
}

func logOf(v wire.Version) *lock.Log {
	return &lock.Log{Origin: v.Log.Origin, Index: v.Log.Index, Entry: v.Log.Record, Checkpoint: v.Log.Checkpoint, Proof: v.Log.Hashes}
}

// Every change that a registry makes to its log is noticed by clients that saw the log before, each with its own code.
func TestLogOfADishonestRegistry(t *testing.T) {
	tests := []struct {
		name string
		lie  func(f *fakeLog, v *wire.Version)
		code string
	}{
		{"fork", func(f *fakeLog, v *wire.Version) { f.fork(2); *v = f.publish("9.0.0", "") }, "log_fork"},
		{"fork of the same size", func(f *fakeLog, v *wire.Version) { f.fork(4); v.Log = f.prove(0) }, "log_fork"},
		{"fork shown in the proof alone", func(f *fakeLog, v *wire.Version) {
			honest := f.book
			f.fork(2)
			*v = f.publish("9.0.0", "")
			f.book = honest
			f.publish("8.0.0", "")
			f.publish("8.0.1", "")
		}, "log_fork"},
		{"rollback", func(f *fakeLog, v *wire.Version) {
			f.book = &logbook{}
			*v = f.publish("1.0.0", "")
		}, "log_rollback"},
		{"freeze", func(f *fakeLog, v *wire.Version) { f.late = 25 * time.Hour }, "log_frozen"},
		{"no proof", func(f *fakeLog, v *wire.Version) { v.Log = nil }, "log_proof"},
		{"a proof of another release", func(f *fakeLog, v *wire.Version) { v.Log = f.prove(1) }, "log_proof"},
		{"another manifest than logged", func(f *fakeLog, v *wire.Version) { v.Manifest = "sha256:" + hexSum([]byte("evil")) }, "log_proof"},
		{"another tree than logged", func(f *fakeLog, v *wire.Version) { v.Tree = "tree-sha256:" + hexSum([]byte("evil")) }, "log_proof"},
		{"another key", func(f *fakeLog, v *wire.Version) { f.key = newFakeLog(f.t).key; v.Log = f.prove(0) }, "log_signature"},
		{"another key in the proof alone", func(f *fakeLog, v *wire.Version) {
			key := f.key
			f.key = newFakeLog(f.t).key
			v.Log = f.prove(0)
			f.key = key
		}, "log_signature"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, dir := newFakeLog(t), filepath.Join(t.TempDir(), "log")
			v := f.publish("1.0.0", "")
			for _, version := range []string{"1.1.0", "1.2.0", "1.3.0", "1.4.0"} {
				f.publish(version, "")
			}
			v.Log = f.prove(0)
			if _, err := f.follow(dir).Check(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
			if err != nil {
				t.Fatal(err)
			}
			tt.lie(f, &v)
			_, err = f.follow(dir).Check(t.Context(), v)
			if e, ok := errors.AsType[*diag.Error](err); !ok || e.Code != tt.code || e.Class != diag.Refused || len(e.Hints) == 0 {
				t.Errorf("got %v, want a refusal with code %s and what to do", err, tt.code)
			}
			after, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
			if tt.name != "fork shown in the proof alone" && (err != nil || string(after) != string(before)) {
				t.Errorf("what was seen before was replaced by\n%s", after)
			}
		})
	}
}

// A registry that never had a log needs to prove nothing; one whose log is known, or that says it has one, does.
func TestRegistryWithoutALog(t *testing.T) {
	key := ""
	c, log := serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, 200, wire.About{Log: key}) })
	l := NewLog(c, t.TempDir())
	v := wire.Version{Namespace: "acme", Name: "pdf", Version: "1.0.0"}
	for range 3 {
		if proof, err := l.Check(t.Context(), v); proof != nil || err != nil {
			t.Errorf("got %v, %v", proof, err)
		}
	}
	if got := log.take(); got != "GET /api/v1" {
		t.Errorf("asked %q, want once what the registry has", got)
	}
	key = newFakeLog(t).key.Public()
	if _, err := NewLog(c, t.TempDir()).Check(t.Context(), v); !errors.Is(err, diag.Code("log_proof")) {
		t.Errorf("got %v, want log_proof", err)
	}
}
