package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/spec/diag"
)

func quiet(registry.Stage, int64) {}

// TestMigrate moves a registry that serves, while others publish, to another place of the kind that the tests use, and from there to one directory:
// what was acknowledged is there, the rest was refused, and the registry is the same one to clients.
func TestMigrate(t *testing.T) {
	s := newSite(t, nil)
	s.namespace("acme", true)
	s.publish(s.admin, "acme/pdf@1.0.0", "f", "first")
	reader := s.token("acme", "reader")
	key := s.s.Registry.Key.Public()

	acknowledged := []string{"1.0.0"}
	stop := make(chan struct{})
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			version := fmt.Sprintf("2.0.%d", i)
			switch got := s.do(s.admin, "PUT", "/api/v1/skills/acme/pdf/versions/"+version, archive(t, "pdf", "f", version)); {
			case got.status == 201:
				acknowledged = append(acknowledged, version)
			case got.status != 503 || !strings.Contains(string(got.body), meta.CodeFrozen):
				t.Errorf("%d %s", got.status, got.body)
				return
			}
		}
	})
	next := metatest.Dir(t)
	m, err := Migrate(t.Context(), s.s.cfg.Data, Config{Data: next}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	s.must(503, s.admin, "POST", "/api/v1/namespaces", map[string]string{"name": "late"})
	s.must(200, reader, "GET", "/api/v1/skills/acme/pdf/versions/1.0.0/files/f", nil) // it is read as before
	close(stop)
	publishing.Wait()
	if m.Rows == 0 || m.Blobs == 0 || m.New != m.Blobs || len(m.Problems)+len(m.Found.Problems) > 0 || m.Found.Releases != len(acknowledged) {
		t.Errorf("%d releases were acknowledged: %+v", len(acknowledged), m)
	}
	if err := Stay(t.Context(), s.s.cfg.Data); !errors.Is(err, diag.Code("moved")) {
		t.Errorf("the old place may take changes again: %v", err)
	}
	if _, err := Migrate(t.Context(), s.s.cfg.Data, Config{Data: metatest.Dir(t)}, quiet); !errors.Is(err, diag.Code("moved")) {
		t.Errorf("it moves twice: %v", err)
	}

	again := func(data string) *site {
		s, url := start(t, func(c *Config) { c.Data = data })
		if s.AdminToken != "" || s.Registry.Key.Public() != key {
			t.Error("it is another registry")
		}
		return &site{t: t, s: s, url: url}
	}
	admin := s.admin
	s = again(next)
	for _, version := range acknowledged {
		s.must(200, reader, "GET", "/api/v1/skills/acme/pdf/versions/"+version+"/files/f", nil)
	}
	s.publish(admin, "acme/pdf@3.0.0")
	if _, err := Migrate(t.Context(), s.s.cfg.Data, Config{Data: s.s.cfg.Data + "-other"}, quiet); err != nil { // to files, wherever it came from
		t.Fatal(err)
	}
	s = again(s.s.cfg.Data + "-other")
	s.must(200, reader, "GET", "/api/v1/skills/acme/pdf/versions/3.0.0", nil)
	s.publish(admin, "acme/pdf@3.1.0")
	report, err := s.s.Registry.Fsck(t.Context())
	if err != nil || len(report.Problems) > 0 || report.Releases != len(acknowledged)+2 {
		t.Errorf("%v %+v", err, report)
	}
}

// TestMigrateAgain interrupts a move at each stage: the old place takes changes again, the new one is not served, and the next try goes on.
func TestMigrateAgain(t *testing.T) {
	s := newSite(t, nil)
	s.namespace("acme", true)
	s.publish(s.admin, "acme/pdf@1.0.0")
	next := Config{Data: metatest.Dir(t)}
	for i, stage := range []registry.Stage{registry.StageBlobs, registry.StageRows, registry.StageCheck} {
		ctx, interrupt := context.WithCancel(t.Context())
		_, err := Migrate(ctx, s.s.cfg.Data, next, func(at registry.Stage, _ int64) {
			if at == stage {
				interrupt()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", stage, err)
		}
		s.publish(s.admin, fmt.Sprintf("acme/pdf@1.1.%d", i), "f", string(stage))
		if _, err := Open(t.Context(), next); !errors.Is(err, diag.Code(meta.CodeFrozen)) {
			t.Errorf("%s: half of a registry is served: %v", stage, err)
		}
	}
	// Somebody takes it back at the last moment, and what is published then is not lost.
	_, err := Migrate(t.Context(), s.s.cfg.Data, next, func(at registry.Stage, _ int64) {
		if at == registry.StageCheck {
			if err := Stay(t.Context(), s.s.cfg.Data); err != nil {
				t.Error(err)
			}
		}
	})
	if !errors.Is(err, diag.Code("taken_back")) {
		t.Errorf("a move that was taken back: %v", err)
	}
	s.publish(s.admin, "acme/pdf@1.1.9")
	// As a kill leaves it.
	mover := func() *Server {
		m, err := attach(t.Context(), s.s.cfg.Data, attachment{beside: true, mover: true})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}()
	if err := mover.Registry.Meta.Update(t.Context(), func(tx *meta.Tx) error { return tx.Freeze(t.Context(), meta.Freeze{State: meta.Moving}) }); err != nil {
		t.Fatal(err)
	}
	if err := mover.Close(); err != nil {
		t.Fatal(err)
	}
	s.must(503, s.admin, "POST", "/api/v1/namespaces", map[string]string{"name": "late"})
	if err := Stay(t.Context(), s.s.cfg.Data); err != nil {
		t.Fatal(err)
	}
	s.publish(s.admin, "acme/pdf@1.2.0")
	m, err := Migrate(t.Context(), s.s.cfg.Data, next, quiet)
	if err != nil || m.Found.Releases != 6 || m.New >= m.Blobs {
		t.Errorf("%v %+v", err, m)
	}
}

// TestMigrateElsewhere leaves places where a move began: they are no registries, and no way to have the registry twice. Only what was left of the move
// itself is done there.
func TestMigrateElsewhere(t *testing.T) {
	s := newSite(t, nil)
	s.namespace("acme", true)
	s.publish(s.admin, "acme/pdf@1.0.0")
	left := Config{Data: filepath.Join(t.TempDir(), "left")}
	ctx, interrupt := context.WithCancel(t.Context())
	if _, err := Migrate(ctx, s.s.cfg.Data, left, func(registry.Stage, int64) { interrupt() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := Attach(t.Context(), left.Data); !errors.Is(err, diag.Code(meta.CodeFrozen)) {
		t.Errorf("half of a registry is read: %v", err)
	}
	copied, restored := filepath.Join(t.TempDir(), "copied"), filepath.Join(t.TempDir(), "restored")
	if err := os.CopyFS(copied, os.DirFS(left.Data)); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), restored, copied); !errors.Is(err, diag.Code(meta.CodeFrozen)) {
		t.Errorf("half of a registry is restored: %v", err)
	}
	if _, err := os.Lstat(restored); err == nil {
		t.Error("what is refused leaves a directory")
	}

	next := Config{Data: metatest.Dir(t)}
	if _, err := Migrate(t.Context(), s.s.cfg.Data, next, quiet); err != nil {
		t.Fatal(err)
	}
	if _, err := MayMigrate(t.Context(), s.s.cfg.Data, left); !errors.Is(err, diag.Code("moved")) {
		t.Errorf("it may move again, to where another move began: %v", err)
	}
	if _, err := Migrate(t.Context(), s.s.cfg.Data, left, quiet); !errors.Is(err, diag.Code("moved")) {
		t.Errorf("it moves again, to where another move began: %v", err)
	}
	// The move was killed before the new place knew that it is one.
	there, err := attach(t.Context(), next.Data, attachment{beside: true, mover: true})
	if err != nil {
		t.Fatal(err)
	}
	old, err := s.s.Registry.Frozen(t.Context())
	if err == nil {
		err = there.Registry.Meta.Update(t.Context(), func(tx *meta.Tx) error {
			return tx.Freeze(t.Context(), meta.Freeze{State: meta.Arriving, Log: old.Log, Place: old.Place})
		})
	}
	if err := errors.Join(err, there.Close()); err != nil {
		t.Fatal(err)
	}
	if m, err := Migrate(t.Context(), s.s.cfg.Data, next, quiet); err != nil || m.Found.Releases != 1 {
		t.Errorf("%v %+v", err, m)
	}
	again, url := start(t, func(c *Config) { c.Data = next.Data })
	(&site{t: t, s: again, url: url, admin: s.admin}).namespace("more", true)
}

// A move refuses a place that is taken, and leaves nothing at one that was not there. A restored copy of what was moved takes changes.
func TestMigrateRefused(t *testing.T) {
	s, other := newSite(t, nil), newSite(t, nil)
	s.namespace("acme", true)
	if _, err := Migrate(t.Context(), s.s.cfg.Data, Config{Data: other.s.cfg.Data}, quiet); !errors.Is(err, diag.Code("data_in_use")) {
		t.Errorf("over one that serves: %v", err)
	}
	data := other.s.cfg.Data
	if err := other.s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Migrate(t.Context(), s.s.cfg.Data, Config{Data: data}, quiet); !errors.Is(err, diag.Code("not_empty")) {
		t.Errorf("over another: %v", err)
	}
	s.namespace("still", true) // nothing changed here

	if _, err := Migrate(t.Context(), s.s.cfg.Data, Config{Data: metatest.Dir(t)}, quiet); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "new")
	if _, err := Migrate(t.Context(), s.s.cfg.Data, Config{Data: fresh}, quiet); !errors.Is(err, diag.Code("moved")) {
		t.Errorf("of one that was moved: %v", err)
	}
	if _, err := os.Lstat(fresh); err == nil {
		t.Error("what is refused leaves a directory")
	}
	backup, restored := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	if _, err := s.s.Backup(t.Context(), backup, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), restored, backup); err != nil {
		t.Fatal(err)
	}
	back, url := start(t, func(c *Config) { c.Data = restored })
	(&site{t: t, s: back, url: url, admin: s.admin}).namespace("more", true)
}
