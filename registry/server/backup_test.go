package server

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// A backup that is made while releases are published holds a registry that is whole: the
// restored one is clean, has the same log key and tokens, and what was published before.
func TestBackupUnderLoad(t *testing.T) {
	long.Slow(t)
	s := newSite(t, nil)
	s.namespace("acme", true)
	s.publish(s.admin, "acme/pdf@1.0.0", "f", "first")
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for i := range 30 {
			s.do(s.admin, "PUT", fmt.Sprintf("/api/v1/skills/acme/pdf/versions/2.0.%d", i), archive(t, "pdf", "f", fmt.Sprint(i)))
		}
	})
	dir, data := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
	first, err := s.s.Backup(t.Context(), dir, nil)
	publishing.Wait()
	if err != nil || first.New == 0 {
		t.Fatalf("%v %+v", err, first)
	}
	second, err := s.s.Backup(t.Context(), dir, nil) // to the same place
	if err != nil || second.New >= second.Blobs {
		t.Errorf("%v %+v", err, second)
	}
	if _, err := Restore(t.Context(), data, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), data, dir); !errors.Is(err, diag.Code("not_empty")) {
		t.Errorf("restored over another registry: %v", err)
	}
	if _, err := Restore(t.Context(), t.TempDir(), t.TempDir()); !errors.Is(err, diag.Code("no_backup")) {
		t.Errorf("restored from nothing: %v", err)
	}
	again, url := start(t, func(c *Config) { c.Data = data })
	report, err := again.Registry.Fsck(t.Context())
	if err != nil || len(report.Problems) > 0 || report.Releases != 31 {
		t.Errorf("%v %+v", err, report)
	}
	if again.AdminToken != "" || again.Registry.Key.Public() != s.s.Registry.Key.Public() {
		t.Error("the restored registry is another one")
	}
	restored := &site{t: t, s: again, url: url}
	restored.must(200, s.admin, "GET", "/api/v1/tokens", nil)
	restored.must(200, "", "GET", "/api/v1/skills/acme/pdf/versions/2.0.29/files/f", nil)
	note := func(s *site) string { return string(s.must(200, "", "GET", "/log/checkpoint", nil).body) }
	if a, b := root(note(s)), root(note(restored)); a != b {
		t.Errorf("the log is %q, restored %q", a, b)
	}
}

// root is size and hash of a checkpoint, without its time.
func root(note string) string {
	var origin, size, hash string
	fmt.Sscan(note, &origin, &size, &hash)
	return size + " " + hash
}
