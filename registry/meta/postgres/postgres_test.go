package postgres

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/postgres/postgrestest"
	"github.com/skl-project/skl/registry/meta/sqlite"
	"github.com/skl-project/skl/registry/registrytest"
	"github.com/skl-project/skl/testdata/long"
)

func openTest(t testing.TB, address string) *store {
	t.Helper()
	return openWith(t, address, Options{})
}

func openWith(t testing.TB, address string, o Options) *store {
	t.Helper()
	s, err := Open(t.Context(), address, o)
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

// TestMeta keeps the address of a store's schema in its directory, where another process finds it.
func TestMeta(t *testing.T) { testMeta(t, postgrestest.URL, Options{}) }

// TestMetaPooled is TestMeta behind a pooler.
func TestMetaPooled(t *testing.T) {
	long.Slow(t)
	testMeta(t, postgrestest.PooledURL, Options{Pooler: true})
}

func testMeta(t *testing.T, empty func(testing.TB) string, o Options) {
	registrytest.Meta(t, func(t testing.TB, dir string) meta.Store {
		file := filepath.Join(dir, "address")
		text, err := os.ReadFile(file)
		if err != nil {
			text = []byte(empty(t))
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return openWith(t, string(text), o)
	})
}

// A change of the schema waits for whoever reads a table, for a while each time, and lets others go on in between.
func TestUpgradeBesideReaders(t *testing.T) {
	address := postgrestest.URL(t)
	s := openTest(t, address)
	undo := func() {
		t.Helper()
		for _, statement := range []string{`ALTER TABLE leases DROP COLUMN version`, `UPDATE settings SET value = '9' WHERE key = 'schema'`} {
			if _, err := s.writers.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	undo()
	reading, end := make(chan struct{}), make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		err := s.View(t.Context(), func(tx *meta.Tx) error {
			_, err := tx.Serving(t.Context())
			close(reading)
			<-end
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-reading
	time.AfterFunc(schemaTime+schemaTime/2, func() { close(end) })
	began := time.Now()
	told := 0
	upgraded, err := Open(t.Context(), address, Options{Upgrading: func(meta.Schema) error { told++; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := upgraded.Close(); err != nil {
		t.Fatal(err)
	}
	if told != 1 {
		t.Errorf("it was told %d times", told)
	}
	if took := time.Since(began); took < schemaTime {
		t.Errorf("it waited %s for a reader of %s", took, schemaTime+schemaTime/2)
	}
	readers.Wait()
	if err := s.View(t.Context(), func(tx *meta.Tx) error {
		now, err := tx.Schema(t.Context())
		if now.Version != meta.Version() {
			t.Errorf("schema %+v", now)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkMeta(b *testing.B) {
	registrytest.BenchMeta(b, func(b testing.TB) meta.Store { return openTest(b, postgrestest.URL(b)) })
}

// TestSearchEqual asks SQLite and PostgreSQL the same: they find the same skills in the same order, with the same scores, counts and
// facets.
func TestSearchEqual(t *testing.T) {
	n, searches := long.Of(300, 1500, 5000), long.Of(100, 600, 2000)
	g := registrytest.NewGenerator()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "meta.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stores := []meta.Store{file, openTest(t, postgrestest.URL(t))}
	for _, s := range stores {
		g.Fill(t, s, n)
	}
	r := rand.New(rand.NewPCG(2, 7))
	queries := append(g.Queries(), g.Sentences()...)
	for len(queries) < searches {
		queries = append(queries, g.Random(r))
	}
	found := 0
	for _, q := range queries {
		var answers [2]meta.Matches
		for i, s := range stores {
			if err := s.View(t.Context(), func(tx *meta.Tx) (err error) { answers[i], err = tx.Search(t.Context(), q); return err }); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(answers[0], answers[1]) {
			t.Fatalf("%+v finds in SQLite\n%+v\nand in PostgreSQL\n%+v", q, answers[0], answers[1])
		}
		if answers[0].Total > 0 {
			found++
		}
	}
	if found < len(queries)/2 {
		t.Errorf("only %d of %d searches found anything", found, len(queries))
	}
}
