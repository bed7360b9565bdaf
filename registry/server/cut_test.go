package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta/metatest"
)

// A log that lost its last record is said by readyz without log.head too, by backup, and by the server of what was restored.
func TestCutLog(t *testing.T) {
	metatest.OnlyFiles(t)                      // with a bucket heads are there, and what was cut comes back: TestReplicasGoBack
	for _, keep := range []bool{true, false} { // log.head
		s := newSite(t, nil)
		s.namespace("acme", true)
		s.publish(s.admin, "acme/pdf@1.0.0", "f", "first")
		s.publish(s.admin, "acme/pdf@2.0.0", "f", "second")
		s.must(200, "", "GET", "/readyz", nil)
		dir := s.s.cfg.Data
		if err := s.s.Close(); err != nil {
			t.Fatal(err)
		}
		db := metatest.SQL(t, dir)
		if _, err := db.Exec("DELETE FROM log_records WHERE id = (SELECT max(id) FROM log_records)"); err != nil {
			t.Fatal(err)
		}
		db.Close()
		if !keep {
			if err := os.Remove(filepath.Join(dir, "log.head")); err != nil {
				t.Fatal(err)
			}
		}
		again, url := start(t, func(c *Config) { c.Data = dir })
		a := (&site{t: t, s: again, url: url}).must(503, "", "GET", "/readyz", nil)
		if !strings.Contains(string(a.body), "log: it was cut: it has 1 entries") {
			t.Errorf("readyz, log.head %v: %s", keep, a.body)
		}
		backup, data := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
		copied, err := again.Backup(t.Context(), backup, nil)
		if err != nil || len(copied.Problems) != 1 || copied.Problems[0].Code != "log" {
			t.Errorf("backup, log.head %v: %v %+v", keep, err, copied.Problems)
		}
		if _, err := Restore(t.Context(), data, backup); err != nil {
			t.Fatal(err)
		}
		restored, url := start(t, func(c *Config) { c.Data = data })
		(&site{t: t, s: restored, url: url}).must(503, "", "GET", "/readyz", nil)
	}
	// A whole log is copied with its head.
	s := newSite(t, nil)
	s.must(200, "", "GET", "/readyz", nil)
	backup := filepath.Join(t.TempDir(), "backup")
	var copied registry.Copied
	var err error
	if copied, err = s.s.Backup(t.Context(), backup, nil); err != nil || len(copied.Problems) > 0 {
		t.Errorf("%v %+v", err, copied.Problems)
	}
	if _, err := os.Stat(filepath.Join(backup, "log.head")); err != nil {
		t.Error(err)
	}
}
