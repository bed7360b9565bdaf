package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/spec/diag"
)

// A database with overwritten pages is one error that names the file and the way back, wherever the damage begins, and
// gives the directory free.
func TestDamagedDatabase(t *testing.T) {
	metatest.OnlyFile(t)
	for _, offset := range []int64{0, 4096, 8192, 20480} {
		s := newSite(t, nil)
		s.namespace("acme", true)
		s.publish(s.admin, "acme/pdf@1.0.0", "f", "first")
		dir := s.s.cfg.Data
		if err := s.s.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(dir, "meta.db"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(strings.Repeat("\xff", 80_000)), offset); err != nil {
			t.Fatal(err)
		}
		f.Close()
		check := func(err error) {
			t.Helper()
			e, ok := errors.AsType[*diag.Error](err)
			if !ok || e.Code != "corrupt" || !strings.Contains(e.Message, filepath.Join(dir, "meta.db")) || len(e.Hints) != 1 || !strings.Contains(e.Hints[0], "skl registry restore ") {
				t.Errorf("from %d: %+v", offset, err)
			}
		}
		for range 2 { // the second finds the directory unlocked
			if again, err := Open(t.Context(), Config{Data: dir}); err == nil {
				err = again.Registry.Meta.Check(t.Context())
				check(err)
				again.Close()
			} else {
				check(err)
			}
		}
		if beside, err := Attach(t.Context(), dir); err == nil {
			check(beside.Registry.Meta.Check(t.Context()))
			beside.Close()
		} else {
			check(err)
		}
	}
}

// Commands that work beside a server do not upgrade the data of an earlier version under it, and leave it as it is.
func TestAttachOlder(t *testing.T) {
	dir := metatest.Dir(t)
	s, err := Open(t.Context(), Config{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Registry.Meta.Update(t.Context(), func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), "schema", []byte("1")) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds what the first left
		_, err := Attach(t.Context(), dir)
		if !errors.Is(err, diag.Code("older_database")) || diag.ClassOf(err) != diag.Refused || !strings.Contains(err.Error(), "schema 1,") {
			t.Errorf("error %v", err)
		}
	}
}
