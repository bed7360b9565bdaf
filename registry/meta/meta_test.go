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

func openPlain(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestMigrate(t *testing.T) {
	db := openPlain(t)
	var upgraded []int
	var refused error
	migrate := func(sql ...string) error {
		var all = meta.Steps()[:0]
		for _, text := range sql {
			all = append(all, meta.NewStep(text, 0, false))
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := meta.MigrateSteps(t.Context(), tx, plain{}, func(s meta.Schema) error { upgraded = append(upgraded, s.Version); return refused }, all); err != nil {
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
	if !slices.Equal(upgraded, []int{0, 1, 1, 1}) { // the first, the broken one, the refused one, and the one that followed
		t.Errorf("told of upgrades from %v", upgraded)
	}
	err := migrate(one)
	if !errors.Is(err, diag.Code("newer_database")) || diag.ClassOf(err) != diag.Refused {
		t.Errorf("a newer schema: %v", err)
	}
	for _, key := range []string{"schema", "compatible_from"} {
		if _, err := db.Exec("UPDATE settings SET value = 'x' WHERE key = $1", key); err != nil {
			t.Fatal(err)
		}
		if err := migrate(one); !errors.Is(err, diag.Code("corrupt")) {
			t.Errorf("%s is not a number: %v", key, err)
		}
		if _, err := db.Exec("UPDATE settings SET value = '2' WHERE key = $1", key); err != nil {
			t.Fatal(err)
		}
	}
}

// A step that what serves now would not go on with waits until that is gone.
func TestMigrateTogether(t *testing.T) {
	now := meta.Version()
	db := openPlain(t)
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.Exec(statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	migrate := func(upgrading func(meta.Schema) error, known int) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		all := meta.Steps(meta.NewStep("CREATE TABLE more (x TEXT)", now, false), meta.NewStep("DROP TABLE more", now+1, true), meta.NewStep("CREATE TABLE other (x TEXT)", 0, false))
		if err := meta.MigrateSteps(t.Context(), tx, plain{}, upgrading, all[:known]); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
	is := func(version, from int) {
		t.Helper()
		s, err := meta.SchemaOf(t.Context(), db, plain{}, meta.Steps(meta.NewStep("", 0, false), meta.NewStep("", 0, false), meta.NewStep("", 0, false)))
		if err != nil || s.Version != version || s.From != from {
			t.Errorf("schema %+v, %v, want %d from %d", s, err, version, from)
		}
	}
	if err := migrate(nil, 9); err != nil {
		t.Fatal(err)
	}
	is(9, 9)
	exec("DELETE FROM settings WHERE key = 'compatible_from'") // as the versions left it that did not write it
	is(9, 9)
	exec("INSERT INTO leases (name, holder, epoch, until) VALUES ('replica one X', 'one X', 1, 9), ('gc', 'three Z', 1, 9), ('replica two Y', 'two Y', 1, -1)")
	if err := migrate(nil, now); err != nil {
		t.Fatal(err)
	}
	is(now, 9)
	exec("UPDATE leases SET version = $1", now)
	exec("UPDATE leases SET version = 9 WHERE until < 0")
	var told []meta.Schema
	tell := func(s meta.Schema) error { told = append(told, s); return nil }
	for range 2 { // what is added is; what is removed waits, also the second time
		if err := migrate(tell, now+2); err != nil {
			t.Fatal(err)
		}
		is(now+1, now)
	}
	if len(told) != 2 || told[0].Next != now+1 || told[1].Version != now+1 || !slices.Equal(told[1].Waits, []string{"one"}) {
		t.Errorf("told of %+v", told)
	}
	if err := migrate(nil, now); err != nil { // as the version before starts again
		t.Error(err)
	}
	err := migrate(nil, now+3)
	if !errors.Is(err, diag.Code("older_replicas")) || !strings.Contains(err.Error(), ": one") || diag.ClassOf(err) != diag.Refused {
		t.Errorf("a schema that another does not go on with: %v", err)
	}
	is(now+1, now)

	exec("UPDATE leases SET version = $1", now+1)
	no := errors.New("not now")
	if err := migrate(func(meta.Schema) error { return no }, now+2); err != nil { // this one works without the step that is late
		t.Error(err)
	}
	is(now+1, now)
	if err := migrate(nil, now+2); err != nil {
		t.Fatal(err)
	}
	is(now+2, now+1)
	for what, err := range map[string]error{"open": migrate(nil, now), "update": meta.MayUpdate(t.Context(), db, plain{})} {
		if !errors.Is(err, diag.Code("newer_database")) {
			t.Errorf("%s, of a version that is too old: %v", what, err)
		}
	}
	exec("DELETE FROM leases")
	if err := migrate(func(meta.Schema) error { return no }, now+3); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := migrate(nil, now+3); err != nil {
		t.Fatal(err)
	}
	is(now+3, now+3)
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
