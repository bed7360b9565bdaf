package sqlite

import (
	"context"
	"strings"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/search"
)

// words implement [search.Database] with two FTS5 indexes, without the text: "search" has all words of each skill, "search_name"
// those of name and keywords. They know prefixes of up to three characters, so that the first letters of a word are as quick as a
// whole one.
type words struct{}

// Put implements [search.Database].
func (words) Put(ctx context.Context, q meta.Querier, id int64, w search.Fields) error {
	name, keywords := strings.Join(w.Name, " "), strings.Join(w.Keywords, " ")
	if _, err := q.ExecContext(ctx, `INSERT INTO search (rowid, name, keywords, namespace, description, body) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, name, keywords, strings.Join(w.Namespace, " "), strings.Join(w.Description, " "), strings.Join(w.Body, " ")); err != nil {
		return err
	}
	_, err := q.ExecContext(ctx, `INSERT INTO search_name (rowid, name, keywords) VALUES ($1, $2, $3)`, id, name, keywords)
	return err
}

// Remove implements [search.Database].
func (words) Remove(ctx context.Context, q meta.Querier, id int64) error {
	if _, err := q.ExecContext(ctx, `DELETE FROM search WHERE rowid = $1`, id); err != nil {
		return err
	}
	_, err := q.ExecContext(ctx, `DELETE FROM search_name WHERE rowid = $1`, id)
	return err
}

// Lists implements [search.Database].
func (words) Lists(ctx context.Context, q meta.Querier, lists []search.Terms, visit func(list int, id int64)) error {
	for i, t := range lists {
		query, match := `SELECT CAST(group_concat(rowid) AS BLOB) FROM search WHERE search MATCH $1`, match(t.Words)
		switch t.Field {
		case search.Said:
			match = "{name keywords namespace description} : (" + match + ")"
		case search.Named:
			query = `SELECT CAST(group_concat(rowid) AS BLOB) FROM search_name WHERE search_name MATCH $1`
		}
		if err := search.EachID(ctx, q, query, func(id int64) { visit(i, id) }, match); err != nil {
			return err
		}
	}
	return nil
}

// match is an FTS5 query for all words, each as a prefix. A word is letters and digits; its quotes keep AND, OR, NOT and NEAR from
// being operators.
func match(words string) string { return `"` + strings.ReplaceAll(words, " ", `" * "`) + `" *` }

// IDs implements [search.Database]. The driver copies a blob once.
func (words) IDs(query string) string {
	return `SELECT CAST(group_concat(id) AS BLOB) FROM (` + query + `)`
}

// Among implements [search.Database].
func (words) Among(parameter string) string { return `json_each(` + parameter + `) AS j` }
