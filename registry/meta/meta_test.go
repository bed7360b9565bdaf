package meta_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/sqlite"
	"github.com/skl-project/skl/spec/diag"
)

// plain is a dialect without search.
type plain struct{ meta.Dialect }

func (plain) SQL(statement string) string {
	return strings.NewReplacer("{blob}", "BLOB", "{serial}", "INTEGER PRIMARY KEY", "{clustered}", "").Replace(statement)
}
func (plain) Schema(int) []string                              { return nil }
func (plain) Upgrade(context.Context, meta.Querier, int) error { return nil }
func (plain) Now() string                                      { return "0" }
func (plain) Err(err error) error                              { return err }

func TestMigrate(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var upgraded []int
	var refused error
	migrate := func(steps ...string) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := meta.MigrateSteps(t.Context(), tx, plain{}, func(have, _ int) error { upgraded = append(upgraded, have); return refused }, steps...); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
	const one, two = "CREATE TABLE a (x {blob});\nINSERT INTO a VALUES (1)", "ALTER TABLE a ADD COLUMN y TEXT;\nUPDATE a SET y = 'new'"
	for range 2 { // again changes nothing
		if err := migrate(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := migrate(one, two+";\nthis fails"); err == nil {
		t.Error("a broken migration succeeded")
	}
	refused = errors.New("not now")
	if err := migrate(one, two); !errors.Is(err, refused) {
		t.Errorf("an upgrade that is refused: %v", err)
	}
	refused = nil
	if err := migrate(one, two); err != nil {
		t.Fatal(err)
	}
	var x, y string
	if err := db.QueryRow("SELECT x, y FROM a").Scan(&x, &y); err != nil || x != "1" || y != "new" {
		t.Errorf("x %q, y %q, %v", x, y, err)
	}
	if !slices.Equal(upgraded, []int{1, 1, 1}) { // the broken one, the refused one, and the one that followed
		t.Errorf("told of upgrades from %v", upgraded)
	}
	err = migrate(one)
	if !errors.Is(err, diag.Code("newer_database")) || diag.ClassOf(err) != diag.Refused {
		t.Errorf("a newer schema: %v", err)
	}
	if _, err := db.Exec("UPDATE settings SET value = 'x' WHERE key = 'schema'"); err != nil {
		t.Fatal(err)
	}
	if err := migrate(one); !errors.Is(err, diag.Code("corrupt")) {
		t.Errorf("a schema version that is not a number: %v", err)
	}
}

// The law: keys of strict versions sort as the versions do.
func FuzzVersionKey(f *testing.F) {
	f.Add("1.0.0-alpha.1", "1.0.0-alpha.beta")
	f.Add("1.0.0-a", "1.0.0-a-b")
	f.Add("1.0.0--", "1.0.0-0")
	f.Add("18446744073709551615.0.0", "2.0.0-99999999999999999999999999999999999999999999")
	f.Fuzz(func(t *testing.T, a, b string) {
		ka, preA := meta.VersionKey(a)
		kb, _ := meta.VersionKey(b)
		va, errA := semver.StrictNewVersion(a)
		vb, errB := semver.StrictNewVersion(b)
		if errA == nil && preA != (va.Prerelease() != "") {
			t.Errorf("%s is a prerelease: %v", a, preA)
		}
		if errA == nil && errB != nil && ka <= kb {
			t.Errorf("%q is not a version and sorts behind %q", b, a)
		}
		if errA != nil || errB != nil || big(va) || big(vb) {
			return
		}
		if got, want := strings.Compare(ka, kb), va.Compare(vb); got != want {
			t.Errorf("%s %s: keys compare as %d, versions as %d", a, b, got, want)
		}
	})
}

// big reports whether v has a number that the semver package compares as a word.
func big(v *semver.Version) bool {
	for _, id := range strings.Split(v.Prerelease(), ".") {
		if len(id) > 18 && strings.Trim(id, "0123456789") == "" {
			return true
		}
	}
	return false
}

func Example() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Join("data", "meta.db"), sqlite.Options{})
	if err != nil {
		return // for one, there is no such directory
	}
	defer store.Close()
	err = store.Update(ctx, func(tx *meta.Tx) error {
		return tx.CreateNamespace(ctx, meta.Namespace{Name: "acme", Public: true})
	})
	if errors.Is(err, meta.ErrExists) {
		// The name is taken.
	}
}
