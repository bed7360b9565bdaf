package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/search"
)

// counted counts the lists that are asked for.
type counted struct {
	meta.Querier
	lists *int
}

func (c counted) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.Contains(query, "search_postings") {
		*c.lists++
	}
	return c.Querier.QueryContext(ctx, query, args...)
}

// A place is a file with skills, and a connection behind the store's back.
type place struct {
	store *store
	db    *sql.DB
}

func openPlace(t *testing.T, path string) place {
	t.Helper()
	p := place{store: openTest(t, path, Options{})}
	db, err := connect(path, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	p.db = db
	return p
}

func (p place) run(t *testing.T, statement string) {
	t.Helper()
	if _, err := p.db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func (p place) put(t *testing.T, name, version, description string) {
	t.Helper()
	p.putLong(t, name, version, description, "")
}

func (p place) putLong(t *testing.T, name, version, description, text string) {
	t.Helper()
	if err := p.store.Update(t.Context(), func(tx *meta.Tx) error {
		return tx.CreateRelease(t.Context(), meta.Release{Namespace: "acme", Name: name, Version: version, Description: description, Text: text, State: meta.Approved})
	}); err != nil {
		t.Fatal(err)
	}
}

// A cache answers what a search without one answers, whatever happened since. For a change here and there it asks for no list again.
func TestCacheFollows(t *testing.T) {
	dir := t.TempDir()
	p := openPlace(t, filepath.Join(dir, "meta.db"))
	var cache search.Cache
	lists := 0
	var long strings.Builder // as much as is indexed: few such skills are merged
	for i := range uint64(120) {
		fmt.Fprintf(&long, "%x ", sha256.Sum256(binary.LittleEndian.AppendUint64(nil, i)))
	}
	compare := func(p place) (asked int) {
		t.Helper()
		before := lists
		for _, text := range []string{"common", "common usual", "usual rare of wombats and common things"} {
			got, err := cache.Search(t.Context(), counted{p.db, &lists}, dialect{}, meta.Search{Text: text})
			if err != nil {
				t.Fatal(err)
			}
			want, err := (*search.Cache)(nil).Search(t.Context(), p.db, dialect{}, meta.Search{Text: text})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%q finds %+v, want %+v", text, got, want)
			}
		}
		return lists - before
	}
	for i := range 80 { // more than are fresh
		p.putLong(t, fmt.Sprint("s-", i), "1.0.0", []string{"common", "usual common", "usual", "else"}[i%4], long.String())
	}
	compare(p)
	rare := compare(p) // what is asked for each time
	if rare == 0 || rare > 20 {
		t.Errorf("%d lists are not kept", rare)
	}
	same := func(what string, p place) {
		t.Helper()
		if n := compare(p); n != rare {
			t.Errorf("%s: %d lists were asked for, want %d", what, n, rare)
		}
	}
	p.put(t, "s-0", "1.1.0", "usual")
	same("other words", p)
	p.put(t, "new", "1.0.0", "common")
	p.put(t, "newer", "1.0.0", "usual common")
	same("two new ones", p)
	if err := p.store.Update(t.Context(), func(tx *meta.Tx) error { return tx.DeleteRelease(t.Context(), "acme", "new", "1.0.0") }); err != nil {
		t.Fatal(err)
	}
	same("one is gone", p)
	for i := range 20 {
		p.put(t, "often", fmt.Sprintf("1.0.%d", i), []string{"common", "usual"}[i%2])
	}
	same("one skill, often", p)
	for i := range 70 { // with those from before more than are fresh
		p.putLong(t, fmt.Sprint("more-", i), "1.0.0", []string{"common", "usual", "usual common"}[i%3], long.String())
	}
	after := compare(p)
	if rare = compare(p); after <= rare {
		t.Errorf("after a merge %d lists were asked for, and then %d", after, rare)
	}
	p.put(t, "told", "1.0.0", "common")
	same("a change after it", p)

	// A database that went back, and went on otherwise.
	other := filepath.Join(dir, "other.db")
	p.run(t, `VACUUM INTO '`+other+`'`)
	back := openPlace(t, other)
	for i := range 90 {
		p.putLong(t, fmt.Sprint("here-", i), "1.0.0", "common usual", long.String())
		back.putLong(t, fmt.Sprint("there-", i), "1.0.0", []string{"common", "usual"}[i%2], long.String())
		if i%5 == 0 {
			compare(p)
			compare(back)
		}
	}

	// Ids beyond those for which there was room.
	back.run(t, `UPDATE search_ids SET last = 16380`)
	for i := range 10 {
		back.put(t, fmt.Sprint("beyond-", i), "1.0.0", "common usual")
		compare(back)
	}
	if err := search.Rebuild(t.Context(), back.db, dialect{}); err != nil {
		t.Fatal(err)
	}
	compare(back)
}
