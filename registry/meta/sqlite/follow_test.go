package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/search"
)

// counted counts the lists that are asked for.
type counted struct {
	words
	lists *int
}

func (c counted) Lists(ctx context.Context, q meta.Querier, lists []search.Terms, visit func(int, int64)) error {
	*c.lists += len(lists)
	return c.words.Lists(ctx, q, lists, visit)
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
	if err := p.store.Update(t.Context(), func(tx *meta.Tx) error {
		return tx.CreateRelease(t.Context(), meta.Release{Namespace: "acme", Name: name, Version: version, Description: description, State: meta.Approved})
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
	compare := func(p place) (asked int) {
		t.Helper()
		before := lists
		for _, text := range []string{"common", "common usual", "usual rare of wombats and common things"} {
			got, err := cache.Search(t.Context(), p.db, counted{lists: &lists}, meta.Search{Text: text})
			if err != nil {
				t.Fatal(err)
			}
			want, err := (*search.Cache)(nil).Search(t.Context(), p.db, words{}, meta.Search{Text: text})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%q finds %+v, want %+v", text, got, want)
			}
		}
		return lists - before
	}
	for i := range 30 {
		p.put(t, fmt.Sprint("s-", i), "1.0.0", []string{"common", "usual common", "usual", "else"}[i%4])
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
	for i := range 250 {
		p.put(t, "often", fmt.Sprintf("1.0.%d", i), []string{"common", "usual"}[i%2])
	}
	same("as many changes as are told", p)
	for i := range 300 {
		p.put(t, "often", fmt.Sprintf("1.1.%d", i), []string{"common", "usual"}[i%2])
	}
	if n := compare(p); n <= rare {
		t.Errorf("after more changes than are told %d lists were asked for", n)
	}

	// One that another program made without a word, and one at a time when that is known again.
	p.run(t, `UPDATE search_ids SET changes = changes + 1`)
	if n := compare(p); n <= rare {
		t.Errorf("after a change that is not told %d lists were asked for", n)
	}
	p.put(t, "told", "1.0.0", "common")
	compare(p)
	p.put(t, "told-again", "1.0.0", "common")
	same("a change that is told", p)

	// A database that went back, and went on otherwise.
	other := filepath.Join(dir, "other.db")
	p.run(t, `VACUUM INTO '`+other+`'`)
	p.put(t, "here", "1.0.0", "common usual")
	compare(p)
	back := openPlace(t, other)
	back.put(t, "there", "1.0.0", "common")
	if n := compare(back); n <= rare {
		t.Errorf("another change in the place of one: %d lists were asked for", n)
	}
	back.put(t, "there-too", "1.0.0", "usual")
	if n := compare(back); n <= rare {
		t.Errorf("a change after another one: %d lists were asked for", n)
	}
	back.put(t, "there-again", "1.0.0", "usual")
	same("a change after it is known", back)
	compare(p) // behind, and never what is kept
	same("what is ahead", back)

	// Ids beyond those for which there was room.
	back.run(t, `UPDATE search_ids SET last = 4090`)
	for i := range 10 {
		back.put(t, fmt.Sprint("beyond-", i), "1.0.0", "common usual")
		compare(back)
	}
}
