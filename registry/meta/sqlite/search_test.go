package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/search"
	"github.com/skl-project/skl/testdata/long"
)

// FuzzSearch: no text is an error, and what is found has a word of the text.
func FuzzSearch(f *testing.F) {
	s := openTest(f, filepath.Join(f.TempDir(), "meta.db"), Options{})
	if err := s.Update(f.Context(), func(tx *meta.Tx) error {
		return tx.CreateRelease(f.Context(), meta.Release{Namespace: "acme", Name: "pdf-forms", Version: "1.0.0", Description: "Ångström 数据 and or not near", State: meta.Approved})
	}); err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"pdf", `"`, "NEAR(a b)", "a AND", "{name}:x", "数", "\x00", "\xff", "a*b^c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := s.View(t.Context(), func(tx *meta.Tx) error {
			m, err := tx.Search(t.Context(), meta.Search{Text: text})
			if m.Total > 1 || m.Total == 1 && search.Words(text) == nil && strings.TrimSpace(text) != "" {
				t.Errorf("%q finds %d", text, m.Total)
			}
			return err
		}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// FTS5 reads the words of search.Words as they are: what is found does not depend on its tables of letters.
func TestWordsStay(t *testing.T) {
	step := rune(long.Of(397, 61, 1))
	db, err := connect(filepath.Join(t.TempDir(), "words.db"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	run := func(statement string, args ...any) {
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	run(`CREATE VIRTUAL TABLE text USING fts5 (t, content = '', tokenize = 'unicode61 remove_diacritics 2')`)
	run(`CREATE VIRTUAL TABLE word USING fts5vocab (text, instance)`)
	run(`BEGIN`)
	want := map[int64]string{}
	for r := rune(1); r <= unicode.MaxRune; r += step {
		text := "x" + string(r) + "Y " + string(r) + "z"
		want[int64(r)] = strings.Join(search.Words(text), " ")
		run(`INSERT INTO text (rowid, t) VALUES ($1, $2)`, r, want[int64(r)])
	}
	run(`COMMIT`)
	rows, err := db.QueryContext(t.Context(), `SELECT doc, group_concat(term, ' ' ORDER BY offset) FROM word GROUP BY doc`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var r int64
		var got string
		if err := rows.Scan(&r, &got); err != nil {
			t.Fatal(err)
		}
		if got != want[r] {
			t.Errorf("%U: the words %q are read as %q", r, want[r], got)
		}
	}
	if n != len(want) {
		t.Errorf("%d of %d texts have words", n, len(want))
	}
}
