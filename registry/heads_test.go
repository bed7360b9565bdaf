package registry_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/registry/meta/sqlite"
	"github.com/skl-project/skl/registry/registrytest"
	"github.com/skl-project/skl/registry/tlog"
)

// A turning store is one that turns into another behind a new connection, as a standby that takes over.
type turning struct {
	meta.Store
	connections int64
}

func (s *turning) Connections() int64 { return s.connections }

// show is the size of the log in a checkpoint that the registry shows.
func (f *fixture) show() tlog.Checkpoint {
	f.t.Helper()
	note, err := f.Checkpoint(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	c, err := tlog.OpenCheckpoint(note, f.Key.Public())
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func (f *fixture) release(version string) {
	f.t.Helper()
	if _, err := f.push(publisher, "acme/pdf", version, f.build("pdf", version, version)); err != nil {
		f.t.Fatal(err)
	}
}

// copied is the database as it is now, for later.
func (f *fixture) copied() meta.Store {
	f.t.Helper()
	path := filepath.Join(f.t.TempDir(), "meta.db")
	if err := f.Meta.Backup(f.t.Context(), path); err != nil {
		f.t.Fatal(err)
	}
	db, err := sqlite.Open(f.t.Context(), path, sqlite.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { db.Close() })
	return db
}

// again is another process over the same blobs and key.
func (f *fixture) again(db meta.Store, kept registry.Heads) *fixture {
	return &fixture{t: f.t, dir: f.dir, now: f.now, Registry: &registry.Registry{Blobs: f.Blobs, Meta: db, Key: f.Key, Heads: kept, Now: f.Now}}
}

// Each head is kept before it is shown, with all records, however many there are. While that cannot be nothing is shown.
func TestHeadsAreKept(t *testing.T) {
	f, kept := open(t, meta.Policy{}), &registrytest.Shelf{}
	f.Heads = kept
	if c := f.show(); c.Size != 0 || len(kept.Sizes()) != 0 {
		t.Errorf("an empty log: %+v, %v", c, kept.Sizes())
	}
	f.release("1.0.0")
	for range 3 {
		f.show()
	}
	f.release("1.1.0")
	f.release("1.2.0")
	last := f.show()
	if got := kept.Sizes(); fmt.Sprint(got) != "[1 2 3]" { // a publish shows the head that proves it
		t.Errorf("kept at %v", got)
	}
	r, err := f.Release(t.Context(), publisher, "acme", "pdf", "1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	kept.Away = true
	act := func(f *fixture, action registry.Action) {
		t.Helper()
		f.now = f.now.Add(1)
		if _, err := f.Act(t.Context(), root, "acme", "pdf", "1.0.0", action, "a test"); err != nil {
			t.Fatal(err)
		}
	}
	act(f, registry.Yank)
	if _, err := f.Checkpoint(t.Context()); code(err) != "unavailable" {
		t.Errorf("a head that cannot be kept: %v", err)
	}
	if _, err := f.LogProof(t.Context(), r); code(err) != "unavailable" {
		t.Errorf("a proof whose head cannot be kept: %v", err)
	}
	kept.Away = false
	act(f, registry.Unyank)
	if _, err := f.LogProof(t.Context(), r); err != nil {
		t.Error(err)
	}
	if got := kept.Sizes(); fmt.Sprint(got) != "[1 2 3 5]" {
		t.Errorf("kept at %v", got)
	}
	// Another process goes on from there, and one for which nothing was kept yet begins at the start.
	other := f.again(f.Meta, kept)
	other.release("1.5.0")
	if c := other.show(); c.Size != 6 || c.Size <= last.Size {
		t.Errorf("%+v", c)
	}
	if c := f.show(); c.Size != 6 {
		t.Errorf("%+v", c)
	}
	for range 150 {
		act(f, registry.Yank)
		act(f, registry.Unyank)
	}
	fresh := &registrytest.Shelf{}
	f.again(f.Meta, fresh).show()
	if got := fresh.Sizes(); fmt.Sprint(got) != "[256 306]" {
		t.Errorf("kept at %v", got)
	}
}

// Records that a database lacks which went back are appended again, by one process, and the log goes on for those who saw them.
func TestLogIsAppendedAgain(t *testing.T) {
	metatest.OnlyFiles(t)
	for _, while := range []string{"away", "running", "both"} {
		f, kept := open(t, meta.Policy{}), &registrytest.Shelf{}
		f.Heads = kept
		act := func(action registry.Action) {
			if _, err := f.Act(t.Context(), root, "acme", "pdf", "1.0.0", action, "a test"); err != nil {
				t.Fatal(err)
			}
		}
		f.release("1.0.0")
		f.release("1.1.0")
		act(registry.Yank) // no head is shown of that
		old := f.copied()
		act(registry.Unyank)
		f.release("1.2.0")
		f.release("1.3.0")
		shown := f.show()
		store := &turning{Store: old, connections: 1}
		late := []*fixture{f.again(store, kept)}
		switch while {
		case "running":
			late[0] = f.again(&turning{Store: f.Meta}, kept)
			late[0].show()
			late[0].Meta = store
		case "both":
			late = append(late, f.again(store, kept))
		}
		var all sync.WaitGroup
		for i, late := range late {
			all.Go(func() { late.release(fmt.Sprint("1.1.", i+1)) })
		}
		all.Wait()
		if got, want := late[0].logged(t.Context()), f.logged(t.Context()); !slices.Equal(got[:len(want)], want) || len(want) != 6 {
			t.Errorf("%s: %q, want %q", while, got, want)
		}
		// The history is that which was shown, and goes on.
		if size, err := late[0].LogContinues(t.Context(), shown); err != nil || size < shown.Size {
			t.Errorf("%s: the history is another one: %v", while, err)
		}
		if c := late[0].show(); c.Size != shown.Size+int64(len(late)) {
			t.Errorf("%s: %d entries", while, c.Size)
		}
		if err := late[0].VerifyLog(t.Context()); err != nil {
			t.Errorf("%s: %v", while, err)
		}
		// The release that was lost is published anew, and an event says that something was lost.
		late[0].release("1.3.0")
		events, err := late[0].Events(t.Context(), root, meta.AuditQuery{Action: "log-append-again", Limit: 10})
		if err != nil || len(events) != 1 || events[0].Detail != `{"changed":1,"from":3,"lost":2,"to":6}` {
			t.Errorf("%s: %+v, %v", while, events, err)
		}
	}
}

// A database with other records than were shown takes none, and nothing of it is signed, until it has those that were shown.
func TestForkedLogIsReadOnly(t *testing.T) {
	metatest.OnlyFiles(t)
	for _, longer := range []bool{false, true} {
		f, kept := open(t, meta.Policy{}), &registrytest.Shelf{}
		f.Heads = kept
		f.release("1.0.0")
		f.show()
		old := f.copied()
		f.release("1.1.0")
		f.release("1.2.0")
		f.show()
		forked := f.again(old, nil)
		forked.release("1.3.0")
		if longer {
			forked.release("1.4.0")
			forked.release("1.5.0")
		}
		late := f.again(old, kept)
		before := late.logged(t.Context())
		if err := late.CompareLog(t.Context()); code(err) != "log_fork" {
			t.Errorf("longer %v: %v", longer, err)
		}
		if _, err := late.push(publisher, "acme/pdf", "2.0.0", late.build("pdf", "2.0.0", "x")); code(err) != "log_read_only" || registry.Status(err) != 503 {
			t.Errorf("longer %v: a publish: %v", longer, err)
		}
		if _, err := late.Checkpoint(t.Context()); code(err) != "log_read_only" {
			t.Errorf("longer %v: a checkpoint: %v", longer, err)
		}
		if got := late.logged(t.Context()); !slices.Equal(got, before) {
			t.Errorf("longer %v: %v was appended", longer, got)
		}
		if _, err := late.Release(t.Context(), publisher, "acme", "pdf", "1.0.0"); err != nil {
			t.Errorf("longer %v: reading: %v", longer, err)
		}
		late.Meta = f.Meta // somebody restored the right one
		if err := late.CompareLog(t.Context()); err != nil {
			t.Errorf("longer %v: after a restore: %v", longer, err)
		}
		late.release("2.0.0")
		late.show()
	}
}

// Two databases that both believe to be the one: what was kept first counts.
func TestTwoLogs(t *testing.T) {
	metatest.OnlyFiles(t)
	f, kept := open(t, meta.Policy{}), &registrytest.Shelf{}
	f.Heads = kept
	f.release("1.0.0")
	f.show()
	other := f.again(f.copied(), kept)
	other.show()
	f.release("1.1.0")
	other.release("1.2.0") // nothing was shown of 1.1.0 yet
	f.show()
	if _, err := other.Checkpoint(t.Context()); code(err) != "log_read_only" {
		t.Errorf("the other log: %v", err)
	}
	if _, err := other.push(publisher, "acme/pdf", "2.0.0", f.build("pdf", "2.0.0", "x")); code(err) != "log_read_only" {
		t.Errorf("the other log: %v", err)
	}
	f.release("2.0.0")
	f.show()
}

// A head that is smaller than the last one that is kept, of another history, is neither kept nor shown.
func TestHeadBelowTheLast(t *testing.T) {
	metatest.OnlyFiles(t)
	f, kept := open(t, meta.Policy{}), &registrytest.Shelf{}
	f.Heads = kept
	f.release("1.0.0")
	f.show()
	other := f.again(f.copied(), kept)
	other.show()
	act := func(f *fixture, action registry.Action, why string) {
		t.Helper()
		if _, err := f.Act(t.Context(), root, "acme", "pdf", "1.0.0", action, why); err != nil {
			t.Fatal(err)
		}
	}
	act(f, registry.Yank, "one reason")
	act(f, registry.Unyank, "one reason")
	act(other, registry.Yank, "another reason") // nothing of the other history is kept yet
	f.show()
	if _, err := other.Checkpoint(t.Context()); code(err) != "log_read_only" || !strings.Contains(fmt.Sprint(err), "2 entries, and 3 others") {
		t.Errorf("the other log: %v", err)
	}
	if got := kept.Sizes(); fmt.Sprint(got) != "[1 3]" {
		t.Errorf("kept at %v", got)
	}
}

// A bucket is what others may write to: a head from there is believed only if the key of the log signed it.
func TestHeadsOfOthers(t *testing.T) {
	metatest.OnlyFiles(t)
	f, kept := open(t, meta.Policy{}), &registrytest.Shelf{}
	f.Heads = kept
	f.release("1.0.0")
	f.show()
	old := f.copied()
	f.release("1.1.0")
	f.show()
	good := string(kept.Kept[2])
	for name, text := range map[string]string{
		"nothing":        "",
		"no JSON":        "{",
		"no signature":   strings.Replace(good, "— ", "- ", 1),
		"another root":   strings.Replace(good, `\n2\n`, `\n2\nAAAA`, 1),
		"a size":         strings.Replace(good, `"from":1`, `"from":0`, 1),
		"another record": strings.Replace(good, "1.1.0", "1.1.9", 1),
		"no record":      strings.Replace(good, `"records":[`, `"records":["x",`, 1),
		"that of size 1": string(kept.Kept[1]),
	} {
		if text == good {
			t.Fatalf("%s changes nothing", name)
		}
		late := f.again(old, &registrytest.Shelf{Kept: map[int64][]byte{1: kept.Kept[1], 2: []byte(text)}})
		if _, err := late.push(publisher, "acme/pdf", "2.0.0", f.build("pdf", "2.0.0", "x")); code(err) != "log_read_only" {
			t.Errorf("%s: %v", name, err)
		}
		if got := late.logged(t.Context()); len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	// A head without the one before it.
	f.release("1.2.0")
	f.show()
	late := f.again(old, &registrytest.Shelf{Kept: map[int64][]byte{1: kept.Kept[1], 3: kept.Kept[3]}})
	if err := late.CompareLog(t.Context()); code(err) != "log_rollback" {
		t.Error(err)
	}
	if err := f.CompareLog(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
