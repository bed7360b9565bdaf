package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/testdata/long"
)

func open1(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s.readers.SetMaxOpenConns(100) // views stay open until the end of a test
	t.Cleanup(func() { s.Close() })
	return s
}

// record makes one piece of a text, with its words as terms.
func record(path, text string) Record {
	region := chunk.Region{End: len(text), FirstLine: 1, LastLine: 1 + strings.Count(text, "\n")}
	return Record{File: File{Path: path, Language: "text", Tokens: 1}, Grams: Grams([]byte(text), nil), Terms: [][]byte{[]byte(text)},
		Outline: chunk.Outline{Nodes: []chunk.Part{{Region: region, Type: chunk.Chunk, Parent: -1}}, Pieces: []chunk.Piece{{Region: region}}}}
}

func apply(t testing.TB, s *Store, c Change) uint64 {
	t.Helper()
	g, err := s.Apply(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func view(t testing.TB, s *Store) *View {
	t.Helper()
	v, err := s.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// having returns the paths of the files that have a term.
func having(t testing.TB, v *View, term string) (paths []string) {
	t.Helper()
	rows, err := v.Rows(term)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		paths = append(paths, v.File(r.File()).Path)
	}
	slices.Sort(paths)
	if n, err := v.Count(term); err != nil || n != len(rows) {
		t.Errorf("%q: Count is %d, %v; there are %d rows", term, n, err, len(rows))
	}
	return paths
}

func TestApply(t *testing.T) {
	s := open1(t, t.TempDir())
	first := apply(t, s, Change{Put: []Record{record("b", "one two"), record("a", "two three")}})
	old := view(t, s)
	for _, tt := range []struct {
		what   string
		change Change
		grows  bool
		term   string
		want   []string
	}{
		{"nothing", Change{}, false, "two", []string{"a", "b"}},
		{"a file replaced", Change{Put: []Record{record("a", "four")}}, true, "two", []string{"b"}},
		{"a file added", Change{Put: []Record{record("c/d", "four")}}, true, "four", []string{"a", "c/d"}},
		{"a file removed", Change{Remove: []string{"a"}}, true, "four", []string{"c/d"}},
		{"one removed that is not there", Change{Remove: []string{"a"}}, false, "four", []string{"c/d"}},
		{"all at once", Change{Remove: []string{"b"}, Put: []Record{record("b", "five"), record("a", "five")}}, true, "five", []string{"a", "b"}},
	} {
		before := view(t, s).Generation()
		g := apply(t, s, tt.change)
		if (g > before) != tt.grows || g < before {
			t.Errorf("%s: the generation was %d and is %d", tt.what, before, g)
		}
		v := view(t, s)
		if v.Generation() != g {
			t.Errorf("%s: a view has the generation %d, want %d", tt.what, v.Generation(), g)
		}
		if got := having(t, v, tt.term); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q is in %q, want %q", tt.what, tt.term, got, tt.want)
		}
	}
	// The view that was opened first is still of the first state.
	if got := having(t, old, "two"); !slices.Equal(got, []string{"a", "b"}) || old.Generation() != first {
		t.Errorf("the first view has %q in generation %d, want a and b in %d", got, old.Generation(), first)
	}
	if got := having(t, old, "four"); got != nil {
		t.Errorf("the first view has %q, which came later", got)
	}
}

// The number of a file is never used again, so what was kept under it is never wrong.
func TestNumbersAreNotReused(t *testing.T) {
	s := open1(t, t.TempDir())
	seen := map[int64]bool{}
	for i := range 5 {
		apply(t, s, Change{Put: []Record{record("a", fmt.Sprint("v", i))}})
		f := view(t, s).ByPath("a")
		if seen[f.ID] {
			t.Fatalf("number %d was used before", f.ID)
		}
		seen[f.ID] = true
		apply(t, s, Change{Remove: []string{"a"}})
	}
}

// A touch changes what is known of the file and not the generation.
func TestTouch(t *testing.T) {
	s := open1(t, t.TempDir())
	g := apply(t, s, Change{Put: []Record{record("a", "one"), record("b", "one")}})
	having(t, view(t, s), "one") // so that something is kept
	f := *view(t, s).ByPath("a")
	f.Stamp.MTime, f.Read = 7, 8
	if got := apply(t, s, Change{Touch: []File{f}}); got != g {
		t.Errorf("a touch made generation %d of %d", got, g)
	}
	for name, s := range map[string]*Store{"the same": s, "another": open1(t, s.Dir())} {
		v := view(t, s)
		if got := v.ByPath("a"); *got != f {
			t.Errorf("%s process: %+v, want %+v", name, *got, f)
		}
		if got := having(t, v, "one"); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s process: one is in %q", name, got)
		}
	}
}

// Two stores of one directory, as of two processes, see each other's changes.
func TestTwoStores(t *testing.T) {
	dir := t.TempDir()
	a, b := open1(t, dir), open1(t, dir)
	for i := range 4 {
		path := fmt.Sprint("f", i)
		apply(t, a, Change{Put: []Record{record(path, "word")}})
		if got := having(t, view(t, b), "word"); len(got) != i+1 {
			t.Errorf("after %d files the other has %q", i+1, got)
		}
		a, b = b, a
	}
}

// Of those who write at once, each waits for the others, and readers for none.
func TestConcurrentStores(t *testing.T) {
	dir := t.TempDir()
	stores := []*Store{open1(t, dir), open1(t, dir)}
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for i := range 10 {
				if _, err := stores[w%2].Apply(context.Background(), Change{Put: []Record{record(fmt.Sprint("f", w), fmt.Sprint("common v", i))}}); err != nil {
					t.Error(err)
					return
				}
			}
		})
		wait.Go(func() {
			last := uint64(0)
			for range 40 {
				v, err := stores[w%2].View(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				rows, err := v.Rows("common")
				if err != nil || len(rows) != len(v.Files()) {
					t.Errorf("%d rows of %d files, %v", len(rows), len(v.Files()), err)
				}
				if v.Generation() < last {
					t.Errorf("generation %d after %d", v.Generation(), last)
				}
				last = v.Generation()
				v.Close()
			}
		})
	}
	wait.Wait()
}

// A context that ends while another writes ends the waiting.
func TestBeginGivesUp(t *testing.T) {
	dir := t.TempDir()
	for name, other := range map[string]func(s *Store) *Store{
		"of this process": func(s *Store) *Store { return s },
		"of another":      func(*Store) *Store { return open1(t, dir) },
	} {
		s := open1(t, dir)
		batch, err := s.Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		start := time.Now()
		if _, err := other(s).Begin(ctx); err != ctx.Err() || err == nil {
			t.Errorf("%s: Begin beside a writer: %v", name, err)
		}
		cancel()
		if d := time.Since(start); d > long.Within(2*time.Second) {
			t.Errorf("%s: gave up after %v", name, d)
		}
		batch.Rollback()
		batch.Rollback() // does nothing
		apply(t, s, Change{Put: []Record{record("a", "x")}})
	}
}

// So does one that ends while all connections are in use.
func TestViewGivesUp(t *testing.T) {
	s := open1(t, t.TempDir())
	s.readers.SetMaxOpenConns(1)
	v := view(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.View(ctx); err != context.DeadlineExceeded {
		t.Errorf("a view too many: %v", err)
	}
	v.Close()
	v, err := s.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
}

// A process that was killed while it built an index leaves settings that are for that alone.
func TestBulkIsEnded(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	if err := s.Bulk(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	automerge := func(s *Store) (n int) {
		if err := s.writer.QueryRow("SELECT v FROM terms_config WHERE k = 'automerge'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := automerge(s); n != 0 {
		t.Errorf("while it builds, automerge is %d", n)
	}
	s.Close()
	if n := automerge(open1(t, dir)); n != 4 {
		t.Errorf("opened anew, automerge is %d", n)
	}
}

func onlyDatabase(t *testing.T, dir string) string {
	t.Helper()
	list, err := databases(dir)
	if err != nil || len(list) != 1 {
		t.Fatalf("databases: %q, %v", list, err)
	}
	return filepath.Join(dir, list[0])
}

// A store that is of no use is built anew; Open needs no help for that.
func TestOpenAnew(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, path string)
	}{
		{"another format", func(t *testing.T, path string) { pragma(t, path, "user_version = 99") }},
		{"an older format", func(t *testing.T, path string) { pragma(t, path, "user_version = 0") }},
		{"no database", func(t *testing.T, path string) { write(t, path, []byte(strings.Repeat("no database ", 2000))) }},
		{"empty", func(t *testing.T, path string) { write(t, path, nil) }},
		{"only the header", func(t *testing.T, path string) { cut(t, path, 100) }},
		{"half a page", func(t *testing.T, path string) { cut(t, path, 4096) }},
		{"gone", func(t *testing.T, path string) { os.Remove(path) }},
		{"no number", func(t *testing.T, path string) { pragma(t, path, "writable_schema = ON; DELETE FROM meta") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(context.Background(), dir)
			if err != nil {
				t.Fatal(err)
			}
			before := apply(t, s, Change{Put: []Record{record("a", "old")}})
			if err := s.Checkpoint(context.Background()); err != nil {
				t.Fatal(err)
			}
			s.Close()
			tt.spoil(t, onlyDatabase(t, dir))
			s = open1(t, dir)
			v, err := s.View(context.Background())
			if IsDamaged(err) { // noticed now: that is what index.Index does
				s.Close()
				if err := s.Drop(context.Background()); err != nil {
					t.Fatal(err)
				}
				s = open1(t, dir)
				v, err = s.View(context.Background())
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Files()) != 0 || v.Generation()>>32 == before>>32 {
				t.Errorf("%d files in generation %d, which was %d", len(v.Files()), v.Generation(), before)
			}
			v.Close()
			apply(t, s, Change{Put: []Record{record("b", "new")}})
			if got := having(t, view(t, s), "new"); !slices.Equal(got, []string{"b"}) {
				t.Errorf("new is in %q", got)
			}
			onlyDatabase(t, dir)
		})
	}
}

func pragma(t *testing.T, path, statement string) {
	t.Helper()
	s := &Store{dir: filepath.Dir(path), name: filepath.Base(path)}
	db, err := s.connect(1, "immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA " + statement); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func cut(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// A store that is dropped while another process has it open leaves that with what it has, and harms nothing of the new one: the log of a
// database is deleted by its name when the last connection is closed, which here is after the new one was made.
func TestDropBesideAnother(t *testing.T) {
	if os.PathSeparator == '\\' {
		t.Skip("open files cannot be removed here")
	}
	dir := t.TempDir()
	old, err := Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, old, Change{Put: []Record{record("a", "old")}})
	kept, err := old.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := Drop(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	s := open1(t, dir)
	apply(t, s, Change{Put: []Record{record("b", "new")}})
	if got := having(t, kept, "old"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("who had it open finds %q", got)
	}
	kept.Close()
	if v, err := old.View(context.Background()); err == nil {
		v.Close()
	} else if !IsDamaged(err) { // which makes an Index open the new one
		t.Errorf("a connection more to the old one: %v", err)
	}
	old.Close()
	apply(t, s, Change{Put: []Record{record("c", "new")}})
	for name, s := range map[string]*Store{"who made it": s, "who opens it": open1(t, dir)} {
		if got := having(t, view(t, s), "new"); !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("%s finds %q", name, got)
		}
	}
	// The holder of a dropped store cannot drop the one that took its place.
	if err := old.Drop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := having(t, view(t, open1(t, dir)), "new"); len(got) != 2 {
		t.Errorf("after a second drop of the old one: %q", got)
	}
}

// Rows that name no piece are damage, not a crash.
func TestRowsAreChecked(t *testing.T) {
	s := open1(t, t.TempDir())
	apply(t, s, Change{Put: []Record{record("a", "word")}})
	f := view(t, s).ByPath("a")
	for _, row := range []Row{RowOf(f.ID, 1), RowOf(f.ID+1, 0)} {
		if _, err := s.writer.Exec("INSERT INTO terms(rowid, t) VALUES (?, 'stray')", int64(row)); err != nil {
			t.Fatal(err)
		}
		v, err := s.View(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Rows("stray"); !IsDamaged(err) {
			t.Errorf("row %d of file %d: %v", row.Piece(), row.File(), err)
		}
		v.Close()
		if _, err := s.writer.Exec("DELETE FROM terms WHERE rowid = ?", int64(row)); err != nil {
			t.Fatal(err)
		}
	}
}

// Terms are found as they are, whatever the query language of SQLite makes of them.
func TestTerms(t *testing.T) {
	s := open1(t, t.TempDir())
	terms := []string{"plain", "p_path", "h_0a1b2c3d", "and", "or", "not", "near", "größe", "日本", "o_a_b_c", strings.Repeat("x", 64), "__", "e_\xff\xfe"}
	r := record("a", strings.Join(terms, " "))
	apply(t, s, Change{Put: []Record{r, record("b", "other")}})
	v := view(t, s)
	for _, term := range terms {
		if got := having(t, v, term); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%q is in %q", term, got)
		}
	}
	for _, term := range []string{"", `"`, "plain*", "pla", "plain OR other", "t:plain", "^plain", "PLAIN", "x"} {
		if got, err := v.Rows(term); err != nil || len(got) > 0 {
			t.Errorf("%q is in %v, %v", term, got, err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	s := open1(b, b.TempDir())
	var c Change
	for i := range 2000 {
		c.Put = append(c.Put, record(fmt.Sprintf("f%04d", i), "common "+fmt.Sprint("w", i)))
	}
	apply(b, s, c)
	for b.Loop() {
		v, err := s.View(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if rows, err := v.match(`"common"`); err != nil || len(rows) != 2000 {
			b.Fatal(len(rows), err)
		}
		v.Close()
	}
}
