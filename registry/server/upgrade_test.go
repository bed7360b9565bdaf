package server

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/metatest"
	"github.com/skl-project/skl/spec/diag"
)

// older takes the newest step of the schema back.
func older(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, statement := range []string{
		`ALTER TABLE leases DROP COLUMN version`, `DELETE FROM settings WHERE key = 'compatible_from'`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(`UPDATE settings SET value = $1 WHERE key = 'schema'`, []byte("9")); err != nil {
		t.Fatal(err)
	}
}

func TestMigrateSchema(t *testing.T) {
	dir := metatest.Dir(t)
	db := metatest.SQL(t, dir)
	cfg := Config{Data: dir}
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var told [][2]int
	raise := func(dry bool, want, to int) {
		t.Helper()
		before, after, err := MigrateSchema(t.Context(), cfg, dry, func(have, to int) { told = append(told, [2]int{have, to}) })
		if err != nil || before.Version != want || after.Next != to || dry && after.Version != want {
			t.Errorf("from %+v to %+v, %v", before, after, err)
		}
	}
	_, _, err = MigrateSchema(t.Context(), cfg, false, nil)
	if s.shared {
		if err != nil {
			t.Errorf("beside a replica: %v", err)
		}
	} else if !errors.Is(err, diag.Code("data_in_use")) {
		t.Errorf("beside the server of the directory: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raise(false, meta.Version(), meta.Version())
	older(t, db)
	for range 2 { // nothing happened the first time
		raise(true, 9, meta.Version())
	}
	raise(false, 9, meta.Version())
	raise(true, meta.Version(), meta.Version())
	if want := [][2]int{{9, meta.Version()}}; !slices.Equal(told, want) {
		t.Errorf("told of upgrades %v, want %v", told, want)
	}
	if s, err = Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := MigrateSchema(t.Context(), Config{Data: t.TempDir()}, true, nil); !errors.Is(err, diag.Code("no_registry_data")) {
		t.Errorf("a directory without a registry: %v", err)
	}
}

// A replica that the database became too new for answers nothing, and says why; what it reads may mean something else by now.
func TestOutdated(t *testing.T) {
	sites := newReplicas(t, 1)
	s := sites[0]
	s.namespace("acme", true)
	s.publish(s.admin, "acme/pdf@1.0.0")
	const page = "/api/v1/skills/acme/pdf"
	set := func(value string) {
		t.Helper()
		if _, err := metatest.SQL(t, s.s.cfg.Data).Exec(`UPDATE settings SET value = $1 WHERE key = 'compatible_from'`, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	s.must(200, "", "GET", page, nil)
	set("9999")
	s.must(503, s.admin, "POST", "/api/v1/namespaces", map[string]any{"name": "late"})
	if got := s.do(s.admin, "POST", "/v2/acme/pdf/blobs/uploads/", nil); got.status != 503 || !strings.Contains(string(got.body), `"UNAVAILABLE"`) {
		t.Errorf("an upload: %d %s", got.status, got.body)
	}
	s.s.beat(t.Context())
	for _, path := range []string{page, "/", auth.TokenPath, "/v2/acme/pdf/tags/list", "/log/checkpoint", "/.well-known/agent-skills/index.json"} {
		if got := s.do(s.admin, "GET", path, nil); got.status != 503 || !strings.Contains(string(got.body), "9999") || got.head.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := s.do(s.admin, "GET", "/v2/acme/pdf/tags/list", nil); !strings.Contains(string(got.body), `"UNAVAILABLE"`) {
		t.Errorf("in the words of the OCI protocol: %s", got.body)
	}
	s.must(200, "", "GET", "/healthz", nil)
	s.must(200, "", "GET", "/metrics", nil)
	for limit := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if got := s.do("", "GET", "/readyz", nil); got.status == 503 && strings.Contains(string(got.body), "database: the database is for versions of skl that know schema 9999") {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("readyz: %d %s", got.status, got.body)
		}
	}
	set("9")
	s.s.beat(t.Context())
	s.must(200, "", "GET", page, nil)
	set("9999")
	if err := s.s.Close(); err != nil { // it has nothing to write any more
		t.Error(err)
	}
}
