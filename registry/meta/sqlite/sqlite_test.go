package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/registrytest"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

func openTest(t testing.TB, path string, o Options) *store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestMeta(t *testing.T) {
	registrytest.Meta(t, func(t testing.TB, dir string) meta.Store {
		return openTest(t, filepath.Join(dir, "meta.db"), Options{})
	})
}

// With one reader and names that need quoting everything is the same.
func TestMetaSmall(t *testing.T) {
	long.Slow(t)
	registrytest.Meta(t, func(t testing.TB, dir string) meta.Store {
		return openTest(t, filepath.Join(dir, "a ?&=%41#ü.db"), Options{Readers: 1})
	})
}

func set(t testing.TB, s *store, key string, size int) error {
	t.Helper()
	return s.Update(t.Context(), func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), key, make([]byte, size)) })
}

func has(t testing.TB, s *store, key string) bool {
	t.Helper()
	err := s.View(t.Context(), func(tx *meta.Tx) error { _, err := tx.Setting(t.Context(), key); return err })
	if err != nil && !errors.Is(err, meta.ErrNotFound) {
		t.Error(err)
	}
	return err == nil
}

func TestFullDatabase(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "meta.db"), Options{MaxBytes: 1 << 20})
	fillUp(t, s)
	if err := s.limit(t.Context(), 1<<30); err != nil {
		t.Fatal(err)
	}
	if err := set(t, s, "after", 100_000); err != nil || !has(t, s, "after") {
		t.Errorf("with space again: %v", err)
	}
}

// fillUp writes from several goroutines until there is no space, and checks that exactly what was acknowledged is there.
func fillUp(t *testing.T, s *store) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprint(w, "-", i)
				err := set(t, s, key, 20_000)
				if has(t, s, key) != (err == nil) {
					t.Errorf("%s after %v: %v", key, err, has(t, s, key))
				}
				if err != nil {
					if !errors.Is(err, meta.ErrFull) {
						t.Errorf("error %v", err)
					}
					return
				}
				if i == 10_000 {
					t.Error("it does not become full")
					return
				}
			}
		})
	}
	wg.Wait()
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode")
	}
	dir := t.TempDir()
	s := openTest(t, filepath.Join(dir, "meta.db"), Options{})
	if err := set(t, s, "k", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "copy.db")); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 4 { // the database, its log and shared memory, the copy
		t.Errorf("%v %v", files, err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

func TestBackupIsAStore(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, filepath.Join(dir, "meta.db"), Options{})
	registrytest.NewGenerator().Fill(t, s, 50)
	copied := filepath.Join(dir, "copy.db")
	if err := s.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	registrytest.NewGenerator().Fill(t, openTest(t, filepath.Join(dir, "other.db"), Options{}), 10)
	c := openTest(t, copied, Options{})
	total := 0
	if err := errors.Join(c.Check(t.Context()), c.View(t.Context(), func(tx *meta.Tx) error {
		m, err := tx.Search(t.Context(), meta.Search{Text: "skill"})
		total = m.Total
		return err
	})); err != nil || total != 50 {
		t.Errorf("%d skills in the copy, %v", total, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(gone, filepath.Join(dir, "gone.db")); err == nil {
		t.Error("a backup after its caller went away")
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".backup*"))
	if _, err := os.Stat(filepath.Join(dir, "gone.db")); err == nil || left != nil {
		t.Errorf("it left something behind: %v", left)
	}
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "meta.db")
	s := openTest(t, path, Options{})
	registrytest.NewGenerator().Fill(t, s, 200)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A tree's page in the middle, whose cells then point anywhere.
	found := 0
	for page := 20; page < 40; page++ {
		b := bytes.Clone(whole)
		copy(b[page*4096:], bytes.Repeat([]byte{0xa5}, 512))
		write(b)
		s, err := Open(t.Context(), path, Options{})
		if err == nil {
			err = s.Check(t.Context())
			s.Close()
		}
		if errors.Is(err, diag.Code("corrupt")) {
			found++
		} else if err != nil {
			t.Errorf("page %d: %v", page, err)
		}
	}
	if found < 18 { // a page may be free or hold only content
		t.Errorf("of 20 damaged pages %d were found", found)
	}
	write([]byte(strings.Repeat("this is something else\n", 1000)))
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, diag.Code("corrupt")) {
		t.Errorf("another file: %v", err)
	}
	write(whole)
	openTest(t, path, Options{})
	if _, err := Open(t.Context(), filepath.Join(dir, "none", "meta.db"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

func TestNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	s := openTest(t, path, Options{})
	put := func(s meta.Store, key string) error {
		return errors.Join(s.Update(t.Context(), func(tx *meta.Tx) error { return tx.PutSetting(t.Context(), key, []byte("9999")) }), s.Close())
	}
	if err := put(s, "schema"); err != nil {
		t.Fatal(err)
	}
	if err := put(openTest(t, path, Options{}), "compatible_from"); err != nil { // one that this version works with opens
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, diag.Code("newer_database")) {
		t.Errorf("error %v", err)
	}
}

// A database whose words are in the indexes of schema 8 finds the same after it was opened, and says that it is upgraded.
func TestUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	g := registrytest.NewGenerator()
	s := openTest(t, path, Options{})
	g.Fill(t, s, 600) // some of them are merged
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var upgraded [][2]int
	find := func() (all []meta.Matches) {
		s, err := Open(t.Context(), path, Options{Upgrading: func(s meta.Schema) error {
			upgraded = append(upgraded, [2]int{s.Version, s.Next})
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, q := range append(g.Queries(), g.Sentences()...) {
			if err := s.View(t.Context(), func(tx *meta.Tx) error {
				m, err := tx.Search(t.Context(), q)
				all = append(all, m)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	before := find()
	db, err := connect(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`DROP TABLE search_skills`, `DROP TABLE search_fresh`, `DROP TABLE search_postings`,
		`ALTER TABLE search_ids DROP COLUMN base`, `ALTER TABLE search_ids DROP COLUMN fresh`,
		`CREATE TABLE search_changes (slot BIGINT PRIMARY KEY, change BIGINT NOT NULL, mark BIGINT NOT NULL, skill BIGINT NOT NULL)`,
		`CREATE VIRTUAL TABLE search USING fts5 (name, keywords, namespace, description, body, content = '', contentless_delete = 1)`,
		`CREATE VIRTUAL TABLE search_name USING fts5 (name, keywords, content = '', contentless_delete = 1)`,
		`ALTER TABLE leases DROP COLUMN version`,
		`DELETE FROM settings WHERE key = 'compatible_from'`,
		`UPDATE settings SET value = '8' WHERE key = 'schema'`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(statement, err)
		}
	}
	if again := find(); !reflect.DeepEqual(again, before) {
		t.Error("searches find something else after the upgrade")
	}
	find()
	if want := [][2]int{{8, meta.Version()}}; !reflect.DeepEqual(upgraded, want) {
		t.Errorf("told of upgrades %v, want %v", upgraded, want)
	}
}

// A command may work on the store of a server that runs.
func TestTwoStoresOfOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	stores := []*store{openTest(t, path, Options{}), openTest(t, path, Options{})}
	var wg sync.WaitGroup
	for i, s := range stores {
		for w := range 4 {
			wg.Go(func() {
				for n := range 10 {
					if err := set(t, s, fmt.Sprint(i, w, n), 10); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for i := range stores {
		if !has(t, stores[1-i], fmt.Sprint(i, 3, 9)) {
			t.Error("one does not see what the other wrote")
		}
	}
}

// While one commit waits for the disk, the next updates gather.
func TestUpdatesShareCommits(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "meta.db"), Options{})
	var wg sync.WaitGroup
	const n = 40
	started := make(chan struct{}, n)
	var before int
	if err := s.writer.sql.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint").Scan(new(int), &before, new(int)); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(tx *meta.Tx) error {
		for i := range n {
			wg.Go(func() {
				started <- struct{}{}
				if err := set(t, s, fmt.Sprint(i), 10); err != nil {
					t.Error(err)
				}
			})
		}
		for range n {
			<-started
		}
		time.Sleep(20 * time.Millisecond)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	// Each commit appends at least one page to the log.
	var pages int
	if err := s.writer.sql.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint").Scan(new(int), &pages, new(int)); err != nil {
		t.Fatal(err)
	}
	if pages-before >= n/2 {
		t.Errorf("%d updates wrote %d pages", n, pages-before)
	}
	for i := range n {
		if !has(t, s, fmt.Sprint(i)) {
			t.Errorf("update %d is missing", i)
		}
	}
}
