// Package metatest opens metadata for tests of what is above it: in SQLite, or with SKL_TEST_STORE=postgres in PostgreSQL, with
// SKL_TEST_STORE=pooler in PostgreSQL behind PgBouncer, and with SKL_TEST_STORE=s3 in PostgreSQL with the blobs of servers in S3.
package metatest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/registry/blob"
	blobfs "github.com/skl-project/skl/registry/blob/fs"
	"github.com/skl-project/skl/registry/blob/s3"
	"github.com/skl-project/skl/registry/blob/s3/s3test"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/postgres"
	"github.com/skl-project/skl/registry/meta/postgres/postgrestest"
	"github.com/skl-project/skl/registry/meta/sqlite"
)

// Postgres reports whether tests use PostgreSQL.
func Postgres() bool { return os.Getenv("SKL_TEST_STORE") != "" }

// pooled reports whether tests reach PostgreSQL through PgBouncer.
func pooled() bool { return os.Getenv("SKL_TEST_STORE") == "pooler" }

// S3 reports whether servers that tests open have their blobs in a bucket.
func S3() bool { return os.Getenv("SKL_TEST_STORE") == "s3" }

// A location is database.json of a registry.
type location struct {
	URL       string `json:"url"`
	Pooler    bool   `json:"pooler,omitempty"`
	Directory string `json:"directory"`
	Blobs     string `json:"blobs,omitempty"`
}

// Dir returns a new directory for the data of a registry: empty, or with the address of an empty schema in database.json.
func Dir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	Prepare(t, dir)
	return dir
}

// Prepare makes dir what Dir returns, if it holds no registry yet.
func Prepare(t testing.TB, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "database.json")); !Postgres() || err == nil {
		return
	}
	at := empty(t)
	if S3() {
		at.Blobs = s3test.Address(t)
	}
	text, err := json.Marshal(at)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "database.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// empty is the location of an empty database.
func empty(t testing.TB) location {
	t.Helper()
	at := location{Directory: "test"}
	if at.Pooler = pooled(); at.Pooler {
		at.URL = postgrestest.PooledURL(t)
	} else {
		at.URL = postgrestest.URL(t)
	}
	return at
}

// Open opens the metadata of a directory as a server does. The caller closes it.
func Open(ctx context.Context, dir string) (meta.Store, error) {
	switch at, err := locate(dir); {
	case err != nil:
		return nil, err
	case at.URL == "":
		return sqlite.Open(ctx, filepath.Join(dir, "meta.db"), sqlite.Options{})
	default:
		return postgres.Open(ctx, at.URL, postgres.Options{Pooler: at.Pooler})
	}
}

// OpenBlobs opens an empty store of blobs for the metadata of db: in dir, or in a bucket, with a cache in dir, where that is what is tested.
func OpenBlobs(ctx context.Context, dir string, db meta.Store) (blob.Store, error) {
	if !S3() {
		return blobfs.Open(dir)
	}
	place, err := s3test.Place()
	if err != nil {
		return nil, err
	}
	at, err := s3.ParseAddress(place)
	if err != nil {
		return nil, err
	}
	return s3.Open(ctx, at, s3.Options{Meta: db, Dir: dir})
}

// SQL opens the database of a directory behind the back of a server, until the end of the test.
func SQL(t testing.TB, dir string) *sql.DB {
	t.Helper()
	at, err := locate(dir)
	if err != nil {
		t.Fatal(err)
	}
	driver, name := "pgx", at.URL+"&default_query_exec_mode=exec" // behind a pooler nothing is prepared
	if at.URL == "" {
		driver, name = "sqlite", filepath.Join(dir, "meta.db")
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// locate is the zero location for a directory with a file of its own.
func locate(dir string) (at location, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "database.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return at, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	return at, err
}

// OnlyFile skips a test that looks into the file of SQLite where there is none.
func OnlyFile(t testing.TB) {
	t.Helper()
	if Postgres() {
		t.Skip("skipped: it is about the file of SQLite")
	}
}

// OnlyFiles skips a test that looks at the files of blobs where they are in a bucket.
func OnlyFiles(t testing.TB) {
	t.Helper()
	if S3() {
		t.Skip("skipped: it is about blobs in files")
	}
}

// Shared returns what makes a directory that of one more process of a registry: each call of it makes a new one. Its metadata are in PostgreSQL
// and its blobs in S3. Without these the test is skipped, and so it is where it would only do again what it does without SKL_TEST_STORE:
// a pooler makes a difference, the other stores are those it has anyway.
func Shared(t testing.TB) (another func() string) {
	t.Helper()
	if Postgres() && !pooled() {
		t.Skip("skipped: several processes use PostgreSQL and S3 without SKL_TEST_STORE too")
	}
	at := empty(t)
	at.Blobs = s3test.Address(t)
	return shared(t, at)
}

// SharedAt is Shared of a database at an address, with the blobs at another. SKL_TEST_STORE changes neither: with it the test is skipped.
func SharedAt(t testing.TB, database, blobs string) (another func() string) {
	t.Helper()
	if Postgres() {
		t.Skip("skipped: the test has stores of its own, whatever SKL_TEST_STORE says")
	}
	return shared(t, location{URL: database, Directory: "test", Blobs: blobs})
}

func shared(t testing.TB, at location) (another func() string) {
	t.Helper()
	text, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	return func() string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "database.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
}
