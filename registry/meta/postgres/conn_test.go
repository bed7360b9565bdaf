package postgres

import (
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/meta/postgres/postgrestest"
	"github.com/skl-project/skl/spec/diag"
)

// TestRefusedDatabase opens databases that answer and are none of a registry: each error names the database and a way out, and no password.
func TestRefusedDatabase(t *testing.T) {
	address := postgrestest.URL(t)
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE TABLE releases (name text)", "DROP ROLE IF EXISTS skl_guest", "CREATE ROLE skl_guest LOGIN PASSWORD 'hunter2'"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP ROLE skl_guest"); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	changed := func(change func(*url.URL)) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		return u.String()
	}
	for name, c := range map[string]struct{ address, code, says, hint string }{
		"tables of something else": {address, "other_database", `holds tables of something else: relation "releases" already exists`, "without tables"},
		"not there":                {changed(func(u *url.URL) { u.Path = "/nosuch" }), "unavailable", `database "nosuch" does not exist`, "create it"},
		"a wrong password":         {changed(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "hunter2") }), "unavailable", "password authentication failed", "the user and the password"},
		"of somebody else": {changed(func(u *url.URL) {
			u.User = url.UserPassword("skl_guest", "hunter2")
			u.RawQuery = "sslmode=disable"
		}), "unavailable", "permission denied", "its owner"},
	} {
		_, err := Open(t.Context(), c.address, Options{})
		e, ok := errors.AsType[*diag.Error](err)
		if !ok || e.Code != c.code || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "the database 127.0.0.1:") || !strings.Contains(strings.Join(e.Hints, " "), c.hint) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, %+v", name, err, e)
		}
	}
}
