package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/search"
)

// words implement [search.Database] with GIN indexes of words without positions. PostgreSQL's own reading of text is not used.
type words struct{}

// Put implements [search.Database].
func (words) Put(ctx context.Context, q meta.Querier, id int64, w search.Fields) error {
	named := append(slices.Clone(w.Name), w.Keywords...)
	said := slices.Concat(named, w.Namespace, w.Description)
	_, err := q.ExecContext(ctx, `INSERT INTO search (id, words, said, named) VALUES ($1, array_to_tsvector($2::text[]), array_to_tsvector($3::text[]), array_to_tsvector($4::text[]))`,
		id, array(append(slices.Clone(said), w.Body...)), array(said), array(named))
	return err
}

// array writes words as an array of PostgreSQL. They are letters and digits; the quotes keep NULL from being none.
func array(words []string) string {
	if len(words) == 0 {
		return "{}"
	}
	return `{"` + strings.Join(words, `","`) + `"}`
}

// Remove implements [search.Database].
func (words) Remove(ctx context.Context, q meta.Querier, id int64) error {
	_, err := q.ExecContext(ctx, `DELETE FROM search WHERE id = $1`, id)
	return err
}

var columns = map[search.Field]string{search.All: "words", search.Said: "said", search.Named: "named"}

// Lists implements [search.Database]. All lists are one statement.
func (words) Lists(ctx context.Context, q meta.Querier, lists []search.Terms, visit func(list int, id int64)) error {
	var query strings.Builder
	var args []any
	for i, t := range lists {
		if i > 0 {
			query.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&query, `SELECT %d, convert_to(string_agg(id::text, ','), 'SQL_ASCII') FROM search WHERE %s @@ $%d::tsquery`, i, columns[t.Field], i+1)
		args = append(args, "'"+strings.ReplaceAll(t.Words, " ", "':* & '")+"':*")
	}
	rows, err := q.QueryContext(ctx, query.String(), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var list int
		var raw sql.RawBytes
		if err := rows.Scan(&list, &raw); err != nil {
			return err
		}
		search.EachNumber(raw, func(id int64) { visit(list, id) })
	}
	return rows.Err()
}

// IDs implements [search.Database].
func (words) IDs(query string) string {
	return `SELECT convert_to(string_agg(id::text, ','), 'SQL_ASCII') FROM (` + query + `) AS found`
}

// Among implements [search.Database].
func (words) Among(parameter string) string {
	return `(SELECT value::bigint AS value FROM json_array_elements_text(` + parameter + `::json) AS value) AS j`
}
